"""Packs of which little is needed go, and nothing that a checkpoint needs goes with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.vaults import keys, recovery
from forestall.vaults.chunks import Cutting
from forestall.vaults.collecting import collect, forget
from forestall.vaults.leases import lease
from forestall.vaults.manifests import Manifest
from forestall.vaults.moving import move, sparse_packs
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save
from forestall.vaults.seals import Key
from forestall.vaults.upkeep import repair, verify
from vaults.hosts_that_fail import DiedError, Killer, TestHost, hosts

SETTINGS = SaveSettings("x", Code(3, 2))
SIZE, KEPT = 60_000, 15_000
HOUR = 3600.0


def opened(at: list[TestHost], key: Key | None = None) -> Vault:
    return Vault.open(at, begin=VaultRules(Cutting("content", 1024), key is not None), key=key)


def saved(there: list[TestHost], folder: Path, key: Key | None = None) -> dict[str, bytes]:
    """Save three versions, of which the first one is forgotten: of its pack a quarter is needed."""
    chance, found = np.random.default_rng(4), {}
    first = chance.bytes(SIZE)
    (folder / "data").write_bytes(first)
    with opened(there, key) as vault:
        old = save(vault, [folder / "data"], SETTINGS).name
        for _ in range(2):
            content = first[:KEPT] + chance.bytes(SIZE - KEPT)
            (folder / "data").write_bytes(content)
            found[save(vault, [folder / "data"], SETTINGS).name] = content
        forget(vault, old)
    return found


def all_there(vault: Vault, versions: dict[str, bytes], folder: Path) -> None:
    for name, content in versions.items():
        restore(vault, name, folder / "again")
        assert (folder / "again" / "data").read_bytes() == content
        (folder / "again" / "data").unlink()
        (folder / "again").rmdir()


def bytes_in(there: list[TestHost]) -> int:
    return sum(len(data) for one in there for key, data in one.objects.items()
               if key.startswith("packs/"))  # fmt: skip


@pytest.mark.parametrize("encrypted", [False, True])
def test_what_little_is_needed_of_goes(encrypted: bool, tmp_path: Path) -> None:
    there = hosts(5)
    key = Key.new() if encrypted else None
    versions = saved(there, tmp_path, key)
    with opened(there, key) as vault:
        before, told = bytes_in(there), collect(vault, share=0)
        assert (told.moved, told.objects) == (0, 0)
        assert bytes_in(there) == before
        told = collect(vault)
        assert told.packs == 1
        assert KEPT * 0.8 < told.moved < KEPT * 1.2
        assert told.said == []
        assert bytes_in(there) < before - (SIZE - KEPT) * 5 / 3 * 0.9
        all_there(vault, versions, tmp_path)
        for name in versions:
            found = verify(vault, vault.manifest(name), deep=True)
            assert found.recoverable
            assert not found.wrong
        again = collect(vault)
        assert (again.moved, again.objects) == (0, 1)  # the directory, which a save may have read
        assert collect(vault).objects == 0
        # What was moved is known, is not stored again, and outlives its last checkpoint but one.
        last = save(vault, [tmp_path / "data"], SETTINGS)
        assert last.figures["new"] == 0
        for name in versions:
            forget(vault, name)
        collect(vault)
        collect(vault)
        all_there(vault, {last.name: (tmp_path / "data").read_bytes()}, tmp_path)
        forget(vault, last.name)
        collect(vault)
        collect(vault)
    left = {key for one in there for key in one.objects}
    assert {key.partition("/")[0] for key in left} == {"vault", "store", "forgotten"}


def test_killed_at_every_write(tmp_path: Path) -> None:
    """All checkpoints stay; the next collection ends what this one began, or takes it back."""
    at, ended = 0, False
    while not ended:
        killer = Killer()
        there = hosts(3, killer)
        versions = saved(there, tmp_path)
        killer.count, killer.at = 0, at
        try:
            with opened(there) as vault:
                collect(vault)
            ended = True
        except DiedError:
            pass
        killer.at = None
        with opened(there) as vault:
            all_there(vault, versions, tmp_path)
            for key in {key for one in there for key in one.objects if key.startswith("leases/")}:
                vault.pool.delete_everywhere(key)
            collect(vault)
            all_there(vault, versions, tmp_path)
            for _ in range(2):  # a directory goes a collection after its packs
                collect(vault)
            used = {one for name in versions for one in vault.manifest(name).directories}
            assert all(len(moves) == 1 for moves in vault.moves().values())
        left = {key for one in there for key in one.objects if key.startswith("directories/")}
        assert left == {f"directories/{one}" for one in used}
        packs = {key.rpartition(".")[0] for one in there for key in one.objects
                 if key.startswith("packs/")}  # fmt: skip
        # Each version's own, and what both have: moved for each where the first move ended between.
        assert len(packs) in (3, 4)
        at += 1
    assert at > 40


def test_a_host_that_was_away_names_what_is_gone(tmp_path: Path) -> None:
    """The manifests that it has do not count once it is back, also where hosts that have the newer
    ones are lost then; a repair gives it those."""
    there = hosts(5)
    versions = saved(there, tmp_path)
    with opened(there) as vault:
        for name in versions:  # such pieces as it has are not missed
            repair(vault, vault.manifest(name))
    there[4].away = True
    with opened(there) as vault:
        assert "could not be moved" in collect(vault).said[0]  # all pieces must find a host
        all_there(vault, versions, tmp_path)
    there[4].away = False
    stale = {key: data for key, data in there[4].objects.items() if key.startswith("manifests/")}
    with opened(there) as vault:
        assert collect(vault).packs == 1
    for key in [key for key in there[4].objects if key.startswith("manifests/")]:
        del there[4].objects[key]
    there[4].objects |= stale
    for lost in ([0, 1], [2, 3]):
        for one in lost:
            there[one].away = True
        with opened(there) as vault:
            all_there(vault, versions, tmp_path)
        for one in lost:
            there[one].away = False
    with opened(there) as vault:
        collect(vault)
        all_there(vault, versions, tmp_path)
        assert all(len(moves) == 1 for moves in vault.moves().values())
        for name in versions:
            assert repair(vault, vault.manifest(name)).mended == 0


def test_a_manifest_that_only_an_absent_host_has(tmp_path: Path) -> None:
    """A move that died when one host had a manifest of it: while that host is away nothing that it
    names goes."""
    there = hosts(5)
    versions = saved(there, tmp_path)
    before = [dict(one.objects) for one in there]
    with opened(there) as vault:
        collect(vault)
        name, _ = versions.keys()
        made = vault.manifest(name)
    for number, one in enumerate(there):
        moved = {
            key: data
            for key, data in one.objects.items()
            if made.move in key and (not number or not key.startswith("manifests/"))
        }
        one.objects = before[number] | moved
    there[0].away = True
    with opened(there) as vault:
        packs = bytes_in(there[1:])
        assert collect(vault).said != []
        assert bytes_in(there[1:]) > packs - SIZE * 5 / 3
        assert any(made.move in key for key in there[1].objects)
        all_there(vault, versions, tmp_path)
    there[0].away = False
    with opened(there) as vault:
        assert vault.manifest(name).move == made.move
        all_there(vault, versions, tmp_path)
        collect(vault)
        all_there(vault, versions, tmp_path)
        assert all(len(moves) == 1 for moves in vault.moves().values())


def test_saves_and_other_moves_are_minded(tmp_path: Path) -> None:
    there = hosts(5)
    versions = saved(there, tmp_path)
    with opened(there) as vault:
        with lease(vault, keys.save_name(vault.clock(), "abc", b"1"), "x"):
            assert "under way" in collect(vault).said[0]
        with lease(vault, keys.move_name(vault.clock(), b"2"), ""):
            told = collect(vault)
            assert "under way" in told.said[0]
            sparse = list(sparse_packs(vault, vault.manifests(), 0.5))
            assert "another collection" in move(vault, sparse).said[0]
        all_there(vault, versions, tmp_path)
        assert collect(vault).packs == 1


def test_a_recovery_follows_what_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its look at the manifest and at the packs these went."""
    there = hosts(5)
    versions = saved(there, tmp_path)
    fill, calls = recovery._fill, list[Manifest]()

    def late(vault: Vault, manifest: Manifest, *rest: object) -> None:
        if not calls:
            with opened(there) as other:
                assert collect(other).packs == 1
        calls.append(manifest)
        fill(vault, manifest, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(recovery, "_fill", late)
    with opened(there) as vault:
        name, content = next(iter(versions.items()))
        made = restore(vault, name, tmp_path / "again")
    assert (tmp_path / "again" / "data").read_bytes() == content
    assert [bool(one.move) for one in calls] == [False, True]
    assert made.move


def test_names_of_moves() -> None:
    save_name = keys.save_name(1e9, "abc", b"nonce")
    name = keys.move_name(1e9, b"nonce")
    assert keys.is_move(name)
    assert not keys.is_move(save_name)
    later = keys.move_name(1e9 - HOUR, b"nonce", [name, ""])
    assert keys.is_move(later)
    assert (
        keys.order_of(later) > keys.order_of(name) > keys.order_of("20990101T000000000000Z-mabcdef")
    )
    for told in ((save_name, ""), (save_name, name)):
        assert keys.manifest_of(keys.manifest_key(*told)) == told
    for key in ("manifests/x", f"manifests/{name}", f"manifests/{save_name}.{save_name}"):
        assert keys.manifest_of(key) is None
