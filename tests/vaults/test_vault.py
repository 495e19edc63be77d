"""A vault as its users meet it: what was saved comes back, or nothing does and it is said why."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults import keys
from forestall.vaults.chunks import Cutting
from forestall.vaults.collecting import Retention, collect, forget, outdated
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.hosts.host import HostError
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save
from forestall.vaults.seals import Key
from forestall.vaults.trees.entries import SavedEntry, checked_entries
from forestall.vaults.upkeep import repair, verify
from vaults.hosts_that_fail import DiedError, Killer, TestHost, hosts

SMALL = VaultRules(Cutting("content", 1024))


def fill(folder: Path, seed: int = 1, size: int = 60_000) -> Path:
    """Make a folder with all that files can be."""
    chance = np.random.default_rng(seed)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "none").write_bytes(b"")
    (folder / "zeros").write_bytes(bytes(20_000))
    (folder / "noise").write_bytes(chance.bytes(size))
    (folder / "deep" / "er" / "text").write_text("checkpoint " * 900)
    os.symlink("../noise", folder / "deep" / "link")
    (folder / "deep" / "read only").write_bytes(b"kept")
    (folder / "deep" / "read only").chmod(0o440)
    os.utime(folder / "noise", ns=(5, 1_234_567_890_123_456_789))
    return folder


def told(folder: Path) -> dict[str, object]:
    """What is in a folder, all of it."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        stat = path.lstat()
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            content = None if path.is_dir() else path.read_bytes()
            found[name] = content, stat.st_mode, stat.st_mtime_ns
    return found


def opened(at: list[TestHost], key: Key | None = None) -> Vault:
    return Vault.open(at, begin=VaultRules(SMALL.cutting, key is not None), key=key)


@pytest.mark.parametrize("code", [Code(3, 2), Code(1, 2), Code(2, 0), Code(4, 1), Code(1, 0)])
@pytest.mark.parametrize("encrypted", [False, True])
def test_all_sets_of_lost_hosts(code: Code, encrypted: bool, tmp_path: Path) -> None:
    """Any k hosts may go, byte for byte; with one more nothing comes back, and it is said."""
    there = hosts(code.pieces)
    key = Key.new() if encrypted else None
    source = fill(tmp_path / "data")
    with opened(there, key) as vault:
        name = save(vault, [source], SaveSettings(code=code)).name
        for count in range(code.pieces + 1):
            for lost in combinations(there, count):
                for one in lost:
                    one.away = True
                to = tmp_path / "again"
                if count <= code.parity:
                    restore(vault, name, to)
                    assert told(to / "data") == told(source)
                    _remove(to)
                else:
                    with pytest.raises((LostError, HostError)):
                        restore(vault, name, to)
                    assert sorted(tmp_path.iterdir()) == [source]
                for one in lost:
                    one.away = False


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.rmdir()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_no_fault_goes_undetected(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Flips, cuts, swaps, stale and foreign pieces, on up to k hosts or on more of them."""
    folder = tmp_path_factory.mktemp("faults")
    chance = random.Random(seed)
    there = hosts(5)
    source = fill(folder / "data", seed % 100, 30_000)
    with opened(there) as vault:
        older = save(vault, [source]).name
        (source / "noise").write_bytes(chance.randbytes(30_000))
        name = save(vault, [source]).name
        for one in chance.sample(there, chance.randint(1, 5)):
            for _ in range(chance.randint(1, 6)):
                _spoil(one, chance)
        try:
            restore(vault, name, folder / "again")
        except InputError:
            assert not (folder / "again").exists()
        else:
            assert told(folder / "again" / "data") == told(source)
        assert older != name


def _spoil(host: TestHost, chance: random.Random) -> None:
    key = chance.choice(sorted(host.objects))
    data = bytearray(host.objects[key])
    kind = chance.randrange(6)
    if kind == 0 and data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del data[chance.randrange(len(data) + 1) :]
    elif kind == 2:
        data = bytearray(host.objects[chance.choice(sorted(host.objects))])
    elif kind == 3:
        data += chance.randbytes(chance.randrange(1, 50))
    elif kind == 4:
        data = bytearray(len(data))
    else:
        del host.objects[key]
        return
    host.objects[key] = bytes(data)


def test_versions_share_chunks(tmp_path: Path) -> None:
    there = hosts(5)
    source = fill(tmp_path / "data", size=300_000)
    with opened(there) as vault:
        first = save(vault, [source])
        data = bytearray((source / "noise").read_bytes())
        data[100_000:100_000] = b"inserted"
        (source / "noise").write_bytes(data)
        second = save(vault, [source])
        same = save(vault, [source])
        assert first.figures["new"] > 300_000
        assert 0 < second.figures["new"] < 20_000
        assert same.figures["new"] == same.figures["stored"] == 0
        forget(vault, first.name)
        collect(vault)
        restore(vault, second.name, tmp_path / "again")
        assert told(tmp_path / "again" / "data") == told(source)


def test_the_same_files_give_the_same_packs(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=200_000)
    packs = []
    for _ in range(2):
        there = hosts(5)
        with opened(there) as vault:
            save(vault, [source])
        packs.append([
            sorted((key.rpartition("/")[2], data) for key, data in one.objects.items()
                   if key.startswith("packs/")) for one in there
        ])  # fmt: skip
    assert packs[0] == packs[1]


def test_killed_at_every_write(tmp_path: Path) -> None:
    """Of save, repair and collection: the last complete checkpoint is always there, and what was
    half-written goes."""
    source = fill(tmp_path / "data", size=40_000)
    before = told(source)
    at = 0
    while at is not None:
        killer = Killer()
        there = hosts(5, killer)
        (source / "noise").write_bytes(b"x" * 40_000)
        with opened(there) as vault:
            first = save(vault, [source]).name
            first_told = told(source)
        there[1].objects.clear()
        (source / "noise").write_bytes(np.random.default_rng(at).bytes(40_000))
        killer.count, killer.at = 0, at
        ended = _killed(there, source)
        killer.at = None
        with opened(there) as vault:
            names = vault.names()
            assert first in names or ended > 1
            for name in names:
                restore(vault, name, tmp_path / "again")
                assert told(tmp_path / "again" / "data") in (first_told, told(source))
                _remove(tmp_path / "again")
            for lease in [key for key in there[0].objects if key.startswith("leases/")]:
                vault.pool.delete_everywhere(lease)
            collect(vault)
            collect(vault)
            for name in names:
                restore(vault, name, tmp_path / "again")
                _remove(tmp_path / "again")
            used = {one for name in names for one in vault.manifest(name).directories}
            left = {key for one in there for key in one.objects if key.startswith("directories/")}
            assert left == {f"directories/{one}" for one in used}
        at = None if ended == 4 else at + 1
    assert before


def _killed(there: list[TestHost], source: Path) -> int:
    """Save, repair, forget and collect until the end; return how many of these came to theirs."""
    done = 0
    try:
        with opened(there) as vault:
            name = save(vault, [source]).name
            done = 1
            assert repair(vault, vault.manifest(name)).recoverable
            done = 2
            forget(vault, next(one for one in vault.names() if one != name))
            done = 3
            collect(vault)
            done = 4
    except DiedError:
        pass
    return done


def test_a_full_disk_and_a_host_that_goes(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=60_000)
    there = hosts(5)
    with opened(there) as vault:
        there[0].room = there[1].room = 10_000
        with pytest.raises(HostError, match="No space"):
            save(vault, [source], SaveSettings(strict=True))
        with pytest.raises(HostError, match="No space"):
            save(vault, [source])  # two pieces have no place: it would survive nothing
        there[1].room = None
        made = save(vault, [source])
        assert made.figures["missing"] == 1
        assert verify(vault, made).spare == 1
        there[0].room = None
        mended = repair(vault, made)
        assert mended.mended > 0
        assert verify(vault, made, deep=True).spare == 2
        assert not verify(vault, made).wrong


_DIES = """\
import os, signal, sys
from pathlib import Path
from forestall.vaults.trees.entries import SavedEntry, checked_entries
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault
top = Path(sys.argv[1])
with Vault.open([FolderHost(top / f"host{k}") for k in range(3)]) as vault:
    restore(vault, "latest", top / "again", tell=lambda told: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_recovery_that_was_killed_is_gone_on_with(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=30_000_000)
    there = [FolderHost(tmp_path / f"host{k}") for k in range(3)]
    with Vault.open(there, begin=VaultRules()) as vault:
        name = save(vault, [source], SaveSettings(code=Code(2, 1))).name
    assert subprocess.run([sys.executable, "-c", _DIES, tmp_path], check=False).returncode < 0
    (beside,) = tmp_path.glob(".again-*")
    with Vault.open(there) as vault:
        made: list[int] = []
        restore(vault, name, tmp_path / "again", tell=lambda told: made.append(told.made))
        moved = sum(one.moved for one in vault.pool.seen)
    assert told(tmp_path / "again" / "data") == told(source)
    assert moved < 0.85 * 30_000_000
    assert made[-1] == vault_size(source)
    assert not beside.exists()


def test_a_folder_that_others_may_write_to_is_not_gone_on_with(tmp_path: Path) -> None:
    source = fill(tmp_path / "data")
    with opened(hosts(5)) as vault:
        name = save(vault, [source]).name
        beside = tmp_path / f".again-{name}"
        beside.mkdir()
        beside.chmod(0o777)
        with pytest.raises(InputError, match="may be another user's; remove it"):
            restore(vault, name, tmp_path / "again")
        beside.chmod(0o755)
        with _locked(beside), pytest.raises(InputError, match="another recovery is writing it"):
            restore(vault, name, tmp_path / "again")
        restore(vault, name, tmp_path / "again")
    assert told(tmp_path / "again" / "data") == told(source)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    yield
    os.close(handle)


def vault_size(folder: Path) -> int:
    files = [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]
    return sum(one.stat().st_size for one in files)


def test_repair_brings_back_what_two_hosts_lost(tmp_path: Path) -> None:
    source = fill(tmp_path / "data")
    there = hosts(6)
    with opened(there) as vault:
        made = save(vault, [source])
        there[0].objects.clear()
        there[3].objects = dict.fromkeys(there[3].objects, b"spoilt")
        found = verify(vault, made)
        assert found.wrong
        assert found.spare is not None
        assert 0 <= found.spare < 2
        repair(vault, made)
        assert verify(vault, made).spare == 2
    with opened([there[k] for k in (0, 3, 5, 1)]) as vault:
        restore(vault, made.name, tmp_path / "again")
        assert told(tmp_path / "again" / "data") == told(source)


def test_what_is_left_of_a_save_that_died_serves_the_next(tmp_path: Path) -> None:
    source = tmp_path / "data"
    source.mkdir()
    (source / "noise").write_bytes(np.random.default_rng(1).bytes(40_000_000))
    (source / "z-pipe").write_bytes(b"")
    there = hosts(5)
    big = VaultRules(Cutting("content", 65_536))
    with Vault.open(there, begin=big) as vault:
        killer = Killer()
        for one in there:
            one.on_write = killer
        (source / "z-pipe").chmod(0o000)
        made = save(vault, [source / "noise"], SaveSettings(label="a"))
        for one in there:  # its manifest was never written
            del one.objects[f"manifests/{made.name}"]
        again = save(vault, [source / "noise"], SaveSettings(label="a"))
        assert again.figures["new"] == 0


def test_a_collection_waits_for_saves_and_saves_mind_collections(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=50_000)
    there = hosts(5)
    with opened(there) as vault, opened(there) as other:
        first = save(vault, [source]).name
        forget(vault, first)
        during: list[str] = []

        def meanwhile(_: object) -> None:
            if not during:
                during.append("now")
                found = collect(other)
                assert "under way" in found.said[0]
                assert found.objects == 0

        second = save(vault, [source], tell=meanwhile)
        assert during
        restore(vault, second.name, tmp_path / "again")
        assert collect(vault).objects >= 0
        restore(vault, second.name, tmp_path / "more")


def test_retention_goes_by_label(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=3000)
    now = [1_800_000_000.0]
    there = hosts(3)
    with Vault.open(there, begin=SMALL, clock=lambda: now[0]) as vault:
        names = []
        for k in range(8):
            now[0] += 3600
            label = "ab"[k % 2]
            names.append(save(vault, [source], SaveSettings(label=label, code=Code(2, 1))).name)
        gone = outdated(vault.manifests(), Retention(last=2), now[0])
        assert [one.name for one in gone] == names[:4]
        gone = outdated(vault.manifests(), Retention(last=1, within=7201), now[0])
        assert [one.name for one in gone] == names[:5]
        assert vault.manifest("latest").name == names[-1]
        with pytest.raises(InputError, match="8 checkpoints"):
            vault.manifest("2")
        with pytest.raises(InputError, match="no checkpoint"):
            vault.manifest("nothing")


def test_a_key_is_needed_and_the_right_one(tmp_path: Path) -> None:
    source = fill(tmp_path / "data")
    there, key = hosts(3), Key.new()
    with opened(there, key) as vault:
        name = save(vault, [source], SaveSettings(code=Code(2, 1))).name
    held = b"".join(data for one in there for data in one.objects.values())
    assert b"noise" not in held
    assert b"checkpoint checkpoint" not in held
    for wrong in (None, Key.new()):
        with pytest.raises(InputError, match="key"):
            Vault.open(there, key=wrong)
    with Vault.open(there, key=key) as vault:
        restore(vault, name, tmp_path / "again")
    plain = hosts(3)
    opened(plain).close()
    with pytest.raises(ParameterError, match="no key"):
        Vault.open(plain, key=key)


def test_other_rules_than_the_vault_has(tmp_path: Path) -> None:
    there = hosts(2)
    opened(there).close()
    with pytest.raises(ParameterError, match="content:1024"):
        Vault.open(there, agree=VaultRules(Cutting("content", 4096)))
    with pytest.raises(InputError, match="there is no vault"):
        Vault.open(hosts(2))
    with pytest.raises(ParameterError, match="once"):
        Vault.open([there[0], there[0]])


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../out", "a/../../out", "", ".", "a//b", "a/", "a\0b", "file/inside"]
)
def test_no_path_leads_out(path: str) -> None:
    entries = [SavedEntry("file", "file", 0o600, 0), SavedEntry(path, "file", 0o600, 0)]
    with pytest.raises(InputError, match="cannot be restored"):
        checked_entries(entries)


def test_a_link_in_the_way_is_not_followed() -> None:
    entries = [
        SavedEntry("a", "link", 0o777, 0, target="/etc"),
        SavedEntry("a/b", "file", 0o600, 0),
    ]
    with pytest.raises(InputError, match="cannot be restored"):
        checked_entries(entries)


def test_what_cannot_be_saved_is_counted(tmp_path: Path) -> None:
    source = fill(tmp_path / "data", size=100)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(source / "socket"))
    with opened(hosts(3)) as vault:
        made = save(vault, [source], SaveSettings(code=Code(2, 1)))
        assert made.remarks == {"left out: a socket": ("data/socket",)}
        with pytest.raises(InputError, match="cannot be saved"):
            save(vault, [tmp_path / "nothing"])
        with pytest.raises(ParameterError, match="one path with the name"):
            save(vault, [source, source])


@pytest.mark.parametrize("days", [-4000, -3, 0, 3, 4000])
def test_names_sort_by_what_saves_saw_whatever_clocks_say(tmp_path: Path, days: float) -> None:
    """Saves within a second, and a machine whose clock is ahead or behind, by years."""
    source, there, made = fill(tmp_path / "data"), hosts(3), []
    begin = 1_700_000_000.0
    for now in (begin, begin, begin + days * 86_400, begin + 3):
        with Vault.open(there, begin=SMALL, clock=lambda now=now: now) as vault:
            made.append(save(vault, [source], SaveSettings(code=Code(2, 1))).name)
            assert vault.manifest("latest").name == made[-1]
            assert vault.names() == made
    gone = outdated(vault_at(there).manifests(), Retention(last=1), 1e11)
    assert [one.name for one in gone] == made[:-1]


def vault_at(there: list[TestHost]) -> Vault:
    return Vault.open(there, begin=SMALL)


def test_names_of_older_versions_come_first(tmp_path: Path) -> None:
    source, there = fill(tmp_path / "data"), hosts(3)
    with vault_at(there) as vault:
        made = save(vault, [source], SaveSettings(code=Code(2, 1)))
        for name in ("20991231T235959999999Z-abcdef", "20200101T000000000000Z-abcdef"):
            older = replace(made, name=name)
            vault.pool.put_everywhere(older.key, vault.envelope(older), 3)
        vault.forget(made.name)
        made = save(vault, [source], SaveSettings(code=Code(2, 1)))
        assert vault.names() == [
            "20200101T000000000000Z-abcdef", "20991231T235959999999Z-abcdef", made.name
        ]  # fmt: skip
        assert vault.manifest("latest").name == made.name
        assert vault.manifest("2099").name == "20991231T235959999999Z-abcdef"
        assert verify(vault, vault.manifest("2020")).recoverable


def test_what_is_no_manifest_does_not_count(tmp_path: Path) -> None:
    source, there = fill(tmp_path / "data"), hosts(3)
    with vault_at(there) as vault:
        made = save(vault, [source], SaveSettings(code=Code(2, 1)))
        for key in ("manifests/nonsense", "manifests/20200101T000000000000Z-abcdef-x"):
            there[0].objects[key] = b""
        assert vault.names() == [made.name]


def test_names_of_saves() -> None:
    first = keys.save_name(1_700_000_003.0, "abc", bytes(8))
    made = [keys.save_name(0.0, "abc", bytes([k] * 8), [first]) for k in range(20)]
    assert [keys.sequence_of(one) for one in (first, *made[:2])] == [1, 2, 2]
    assert min(made, key=keys.order_of) != first == min([first, *made], key=keys.order_of)
    assert {keys.tag_of(one) for one in made} == {"abc"}
    assert all(keys.SAVE.fullmatch(one) for one in made)
    ten = keys.save_name(0.0, "abc", bytes(8), ["20200101T000000000000Z-abcdef-9"])
    assert keys.order_of(ten) > keys.order_of("20990101T000000000000Z-abcdef-9")


def test_only_checkpoints_of_a_label_are_read_in_search_of_it(tmp_path: Path) -> None:
    source, there = fill(tmp_path / "data"), hosts(3)
    with opened(there) as vault:
        for k in range(12):
            save(vault, [source], SaveSettings(f"run {k}", Code(2, 1)))
    with opened(there) as vault:
        read = [count_reads(one, "manifests/") for one in there]
        assert [one.label for one in vault.manifests("run 7")] == ["run 7"]
        assert sum(map(len, read)) == 1
        assert len(vault.manifests()) == 12
        assert sum(map(len, read)) == 13


def count_reads(host: TestHost, prefix: str) -> list[str]:
    """Return a list of what is fetched from a host from now on."""
    read: list[str] = []
    get = host.get

    def noted(key: str) -> bytes:
        if key.startswith(prefix):
            read.append(key)
        return get(key)

    host.get = noted  # type: ignore[method-assign]
    return read
