"""What a save says of lost hosts holds, whatever happened to the pieces of earlier saves."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.vaults import keys
from forestall.vaults.chunks import Cutting
from forestall.vaults.hosts.host import HostError
from forestall.vaults.layouts import losses
from forestall.vaults.manifests import NOBODY
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save
from vaults.hosts_that_fail import TestHost, hosts


@given(st.lists(st.sampled_from([0, 1, 2, 3, NOBODY]), min_size=1, max_size=7), st.integers(1, 4))
def test_losses_beside_all_sets_of_hosts(placed: list[int], data: int) -> None:
    """The most hosts of which any set may go, one set after the other."""

    def left(lost: tuple[int, ...]) -> bool:
        return sum(one != NOBODY and one not in lost for one in placed) >= data

    there = sorted(set(placed) - {NOBODY})
    counts = [k for k in range(len(there) + 1) if all(map(left, combinations(there, k)))]
    assert losses(placed, data) == max(counts, default=-1)


@given(st.integers(1, 5), st.integers(0, 3), st.integers(1, 2000))
def test_the_sizes_of_pieces(data: int, parity: int, length: int) -> None:
    code = Code(data, parity)
    made = [sum(map(len, one)) for one in code.encode(bytes(length))]
    assert made == [code.piece_size(place, length) for place in range(code.pieces)]


def _spoil(there: list[TestHost], chance: np.random.Generator) -> None:
    """Remove or cut some pieces and directories, or all of a host's, and have hosts away."""
    for one in there:
        kind = chance.integers(0, 5)
        for key in [key for key in one.objects if key.startswith((keys.PACKS, keys.DIRECTORIES))]:
            if kind == 1 or (kind == 2 and chance.random() < 0.3):
                del one.objects[key]
            elif kind == 3 and chance.random() < 0.3:
                one.objects[key] = one.objects[key][:-1]
        one.away = bool(kind == 4 and chance.random() < 0.5)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(0, 2), st.integers(2, 6))
def test_what_is_said_of_lost_hosts_holds(
    tmp_path_factory: pytest.TempPathFactory, seed: int, data: int, parity: int, count: int
) -> None:
    folder, chance = tmp_path_factory.mktemp("told"), np.random.default_rng(seed)
    (folder / "x").write_bytes(chance.bytes(9_000))
    there, code = hosts(count), SaveSettings(code=Code(data, parity))
    with Vault.open(there, begin=VaultRules(Cutting("content", 1024))) as vault:
        save(vault, [folder / "x"], code)
        (folder / "x").write_bytes(chance.bytes(3_000) + (folder / "x").read_bytes())
        save(vault, [folder / "x"], code)
    _spoil(there, chance)
    try:
        with Vault.open(there) as vault:
            made = save(vault, [folder / "x"], code)
    except HostError:
        return  # too few hosts answer
    up = [one for one in there if not one.away]
    survives = int(made.figures["survives"])
    assert survives >= 0
    for number, lost in enumerate(combinations(up, survives)):
        for one in lost:
            one.away = True
        with Vault.open(there) as vault:
            restore(vault, made.name, folder / f"back{number}")
        assert (folder / f"back{number}" / "x").read_bytes() == (folder / "x").read_bytes()
        for one in lost:
            one.away = False


def test_hosts_that_are_away_do_not_have_all_stored_again(tmp_path: Path) -> None:
    """What lies there is as safe as what would be stored now, and safer once they are back."""
    (tmp_path / "x").write_bytes(np.random.default_rng(1).bytes(20_000))
    there = hosts(5)
    with Vault.open(there, begin=VaultRules()) as vault:
        assert save(vault, [tmp_path / "x"]).figures["survives"] == 2
        there[4].away = True
        made = save(vault, [tmp_path / "x"])
        assert (made.figures["new"], made.figures["survives"]) == (0, 1)
        (tmp_path / "y").write_bytes(np.random.default_rng(2).bytes(20_000))
        made = save(vault, [tmp_path / "y"])  # without the fifth piece
        assert (made.figures["new"], made.figures["survives"]) == (20_000, 1)
        made = save(vault, [tmp_path / "y"])
        assert (made.figures["new"], made.figures["survives"]) == (0, 1)
        there[4].away = False
        made = save(vault, [tmp_path / "y"])  # a piece that is nowhere can be stored now
        assert (made.figures["new"], made.figures["survives"]) == (20_000, 2)


def test_lengths_alone_show_what_was_cut_and_a_sample_what_rots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One piece of several; of what is damaged in the sample's host all is read."""
    there, code = hosts(2), SaveSettings(code=Code(1, 1))
    data = np.random.default_rng(1).bytes(6_000)
    with Vault.open(there, begin=VaultRules(Cutting("content", 1024))) as vault:
        for end in range(1_000, 6_001, 1_000):  # a pack each
            (tmp_path / "x").write_bytes(data[:end])
            save(vault, [tmp_path / "x"], code)

        def new() -> int:
            return int(save(vault, [tmp_path / "x"], code).figures["new"])

        def pieces() -> list[str]:
            return sorted(key for key in there[1].objects if key.startswith(keys.PACKS))

        assert new() == 0
        assert len(pieces()) == 6
        monkeypatch.setattr("forestall.vaults.stores.presence.SAMPLE", 0)
        there[1].objects[pieces()[-1]] = there[1].objects[pieces()[-1]][:-1]
        assert 0 < new() < 6_000
        assert new() == 0
        for key in pieces():
            there[1].objects[key] = there[1].objects[key][:-1] + b"!"
        assert new() == 0, "no piece was read"
        monkeypatch.setattr("forestall.vaults.stores.presence.SAMPLE", 1)
        assert new() == 6_000
