"""Saves of all ranks together: what comes back, what is stored once, and what goes wrong."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.vaults.chunks import Cutting
from forestall.vaults.manifests import Manifest
from forestall.vaults.pieces.codes import Code
from forestall.vaults.ranks.names import NameList, merged
from forestall.vaults.ranks.processes import piped
from forestall.vaults.ranks.sharing import RankFile, SharedSave, in_memory
from forestall.vaults.ranks.tree import SharedSaveError
from forestall.vaults.reading import Span, read_file, read_spans
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings
from vaults.hosts_that_fail import TestHost, hosts

RULES = VaultRules(Cutting("content", 1024))


def save_all(
    there: list[TestHost], given: list[list[RankFile]], fanout: int, label: str = ""
) -> tuple[Manifest | None, list[Exception | None], list[dict[str, int]]]:
    """Save as so many ranks as are given, each a thread; return the checkpoint, errors, figures."""
    settings_ = SaveSettings(label=label, code=Code(2, 1))
    errors: list[Exception | None] = [None] * len(given)
    figures: list[dict[str, int]] = [{}] * len(given)
    made: list[Manifest] = []

    def work(rank: int, links: object) -> None:
        try:
            save = SharedSave(
                lambda: Vault.open(there, begin=RULES),
                links,
                settings_,
                fanout=fanout,  # type: ignore[arg-type]
            )
            save.write(given[rank])
            figures[rank] = save.figures
            if save.is_root:
                made.append(save.commit({"more": b"told besides"}))
        except Exception as error:
            errors[rank] = error

    threads = [threading.Thread(target=work, args=(rank, links))
               for rank, links in enumerate(piped(len(given), fanout))]  # fmt: skip
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert not any(one.is_alive() for one in threads)
    return (made[0] if made else None), errors, figures


def of_ranks(size: int, seed: int, shared: int, own: int) -> list[np.ndarray]:
    chance = np.random.default_rng(seed)
    table = chance.integers(0, 256, shared, np.uint8)
    return [np.concatenate((table, chance.integers(0, 256, own, np.uint8))) for _ in range(size)]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 40_000), st.integers(0, 9_000),
       st.integers(0, 99))  # fmt: skip
def test_all_comes_back_and_what_is_alike_stands_once(
    size: int, fanout: int, shared: int, own: int, seed: int
) -> None:
    data = of_ranks(size, seed, shared, own)
    there = hosts(3)
    files = [[in_memory(f"rank-{k}", one)] for k, one in enumerate(data)]
    made, errors, figures = save_all(there, files, fanout)
    assert errors == [None] * size
    assert made is not None
    there[seed % 3].away = True
    with Vault.open(there) as vault:
        for k, one in enumerate(data):
            assert read_file(vault, made, f"rank-{k}") == one.tobytes()
        assert read_file(vault, made, "more") == b"told besides"
    names = {(n, len(d)) for one in data for n, d in _chunks(one)}
    assert made.figures["new"] == sum(length for _, length in names)
    assert made.figures["read"] == sum(map(len, data))
    assert sum(one["new"] for one in figures) == made.figures["new"]


def _chunks(data: np.ndarray) -> list[tuple[bytes, bytes]]:
    from forestall.vaults.chunks import cut_stream

    stream = io.BytesIO(data.tobytes())
    return [
        (name, bytes(part))
        for cuts in cut_stream(stream, RULES.cutting)
        for name, part in zip(*cuts, strict=True)
    ]


def test_the_work_is_shared_and_a_second_save_writes_nothing() -> None:
    data, there = of_ranks(8, 1, 400_000, 0), hosts(3)
    files = [[in_memory(f"rank-{k}", one)] for k, one in enumerate(data)]
    _, _, figures = save_all(there, files, 2, "run")
    shares = [one["new"] for one in figures]
    assert sum(shares) == 400_000
    assert max(shares) < 2.2 * min(shares)
    again, _, figures = save_all(there, files, 3, "run")
    assert again is not None
    assert again.figures["new"] == 0


def test_parts_of_files_and_whole_folders(tmp_path: Path) -> None:
    data, there = of_ranks(3, 2, 30_000, 20_000), hosts(3)
    made, _, _ = save_all(there, [[in_memory(f"r/{k}", d)] for k, d in enumerate(data)], 2)
    assert made is not None
    with Vault.open(there) as vault:
        spans = [Span(f"r/{k % 3}", at, n) for k, (at, n) in enumerate(
            [(0, 0), (0, 1), (49_999, 1), (1_000, 40_000), (50_000, 0), (12_345, 7)])]  # fmt: skip
        for span, found in zip(spans, read_spans(vault, made, spans), strict=True):
            wanted = data[int(span.path[-1])].tobytes()
            assert found == wanted[span.offset : span.offset + span.length]
        restore(vault, made.name, tmp_path / "out")
    for k, one in enumerate(data):
        assert (tmp_path / "out" / "r" / str(k)).read_bytes() == one.tobytes()


@pytest.mark.parametrize("bad", [0, 1, 4])
def test_what_one_rank_cannot_read_is_told_to_all(bad: int) -> None:
    there = hosts(3)

    def broken() -> io.BytesIO:
        raise OSError("the disk is gone")

    files = [[in_memory(f"rank-{k}", one)] for k, one in enumerate(of_ranks(5, 1, 2_000, 10))]
    files[bad] = [RankFile("rank", broken)]
    made, errors, _ = save_all(there, files, 2)
    assert made is None
    assert all(isinstance(one, SharedSaveError) for one in errors)
    assert all(f"rank {bad}: the disk is gone" in str(one) for one in errors)
    with Vault.open(there) as vault:
        assert vault.names() == []
        assert not vault.pool.keys("leases/")[0]


def test_a_file_that_changes_meanwhile_is_no_checkpoint() -> None:
    contents = [b"a" * 5_000, b"b" * 5_000]
    files = [[in_memory("one", np.zeros(9, np.uint8))], [RankFile("two", _taking(contents))]]
    made, errors, _ = save_all(hosts(3), files, 2)
    assert made is None
    assert all("two was changed while it was saved" in str(one) for one in errors)


def _taking(contents: list[bytes]) -> Callable[[], io.BytesIO]:
    left = list(contents)
    return lambda: io.BytesIO(left.pop(0))


def test_hosts_that_are_full_are_told_to_all() -> None:
    there = hosts(3)
    for one in there:
        one.room = 3_000
    files = [[in_memory(f"rank-{k}", one)] for k, one in enumerate(of_ranks(4, 1, 90_000, 10))]
    made, errors, _ = save_all(there, files, 2)
    assert made is None
    assert all("No space left" in str(one) for one in errors)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), max_size=30), min_size=1, max_size=5))
def test_lists_become_one(lists: list[list[int]]) -> None:
    """Against a dictionary: each name once, chosen in one list that has it."""
    made = [NameList.of(b"".join(_name(k) for k in one), [k + 1 for k in one]) for one in lists]
    for one, (found, sequence) in zip(lists, made, strict=True):
        raw = found.names.tobytes()
        assert [raw[32 * p : 32 * p + 32] for p in sequence] == [_name(k) for k in one]
    whole = merged([found for found, _ in made])
    every = sorted({_name(k) for one in lists for k in one})
    raw = whole.whole.names.tobytes()
    assert [raw[32 * k : 32 * k + 32] for k in range(len(every))] == every
    for k, name in enumerate(every):
        holders = sum(any(_name(n) == name for n in one) for one in lists)
        assert whole.whole.holders[k] == holders
        picked = [
            bool(chosen[places == k].any())
            for places, chosen in zip(whole.places, whole.chosen, strict=True)
        ]
        assert sum(picked) == 1


def _name(number: int) -> bytes:
    return np.random.default_rng(number).bytes(32)
