"""All that a save of files can meet: each kind saved, verified, restored and compared; and what
cannot be kept is named."""

from __future__ import annotations

import ctypes
import os
import pickle
import shutil
import socket
import stat
import struct
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.chunks import WINDOW, Cutting
from forestall.vaults.envelopes import enveloped
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.manifests import Manifest
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import RecoveryTold, restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save
from forestall.vaults.trees.folders import OpenFolder
from forestall.vaults.trees.restored import RestoredTree
from forestall.vaults.upkeep import verify
from vaults.earlier_manifests import old_content
from vaults.hosts_that_fail import TestHost, hosts
from vaults.trees.described_trees import Described, described

pytestmark = pytest.mark.skipif(not hasattr(os, "listxattr"), reason="Linux only")
RULES = VaultRules(Cutting("content", 1024))
PLAIN = SaveSettings(code=Code(1, 0))
SECOND = 10**9
IS_ROOT = os.getuid() == 0
SOMEBODY = 41_234
DAY = 86_400


def opened(at: list[TestHost]) -> Vault:
    return Vault.open(at, begin=RULES)


def again(source: Path, to: Path) -> tuple[Manifest, RecoveryTold]:
    """Save a tree, verify it and restore it."""
    told: list[RecoveryTold] = []
    with opened(hosts(1)) as vault:
        made = save(vault, [source], PLAIN)
        checked = verify(vault, made, deep=True)
        assert checked.recoverable
        assert not checked.wrong
        restore(vault, made.name, to, tell=told.append)
    return made, told[-1]


# ------------------------------------------------------------------------------- what there is


def _names(top: Path) -> None:
    odd = [b"\xff\xfe", b"a\nb", b" ", b"-rf", b"\xc3\x28", b"\xed\xa0\x80", b"a\\b", b"*", b"...",
           b"\x01\x1b[31m", "é".encode(), "e\u0301".encode(), b"~", b"x" * 255,
           b"\xff" * 255]  # fmt: skip
    for number, name in enumerate(odd):
        (top / os.fsdecode(name)).write_bytes(b"%d" % number)
        (top / f"in{number}").mkdir()
        (top / f"in{number}" / os.fsdecode(name)).mkdir()


def _targets(top: Path) -> None:
    odd = [b"\xff/\xfe", b"..", b"/", b"self", b"x" * 4095, b"a\nb", b" ", b"/etc/passwd"]
    for number, target in enumerate(odd):
        os.symlink(target, os.fsencode(top / f"link{number}"))
    os.symlink("self", top / "self")


TIMES = [-2_177_452_800, -1, 0, 2**31 - 1, 2**31, 2**32, 9_223_372_036, 9_223_372_037,
         15_032_385_535]  # fmt: skip
"""s since 1970: 1901, ..., both sides of 2262-04-11T23:47:17, and the last that ext4 has."""


def _times(top: Path) -> None:
    for number, seconds in enumerate(TIMES):
        for name in (f"file{number}", f"folder{number}/in"):
            (top / name).parent.mkdir(exist_ok=True)
            (top / name).write_bytes(b"x")
        os.symlink("file0", top / f"link{number}")
        for name in (f"file{number}", f"folder{number}", f"link{number}"):
            at = seconds * SECOND + 123_456_789
            os.utime(top / name, ns=(at, at), follow_symlinks=False)


def _modes(top: Path) -> None:
    for mode in (0o600, 0o400, 0o4755, 0o2755, 0o6711, 0o1644, 0o777, 0o2660):
        (top / f"file{mode:o}").write_bytes(b"x" * 3000)
        (top / f"file{mode:o}").chmod(mode)
    for mode in (0o700, 0o1777, 0o2775, 0o500, 0o3755):
        (top / f"folder{mode:o}").mkdir()
        (top / f"folder{mode:o}" / "in").write_bytes(b"")
        (top / f"folder{mode:o}").chmod(mode)


def _links(top: Path) -> None:
    (top / "one").write_bytes(b"one" * 2000)
    (top / "none").write_bytes(b"")
    (top / "a").mkdir()
    os.symlink("one", top / "symbolic")
    os.mkfifo(top / "pipe")
    for name in ("one", "none", "symbolic", "pipe"):
        os.link(top / name, top / "a" / name, follow_symlinks=False)
    os.link(top / "one", top / "three")


def _attributes(top: Path) -> None:
    (top / "folder").mkdir()
    (top / "file").write_bytes(b"x" * 5000)
    for path in (top / "file", top / "folder"):
        os.setxattr(path, "user.text", b"text")
        os.setxattr(path, "user.empty", b"")
        os.setxattr(path, b"user.\xff\xfe", bytes(range(256)))
        os.setxattr(path, "user.long", b"\0" * 2000)
    (top / "file").chmod(0o400)


def access_list(named: int, rights: int = 6) -> bytes:
    """Return an access control list that gives rights to one user more, as the system has it."""
    nobody = 2**32 - 1
    rows = [(1, 7, nobody), (2, rights, named), (4, 4, nobody), (16, 7, nobody), (32, 4, nobody)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)


def _lists(top: Path) -> None:
    (top / "file").write_bytes(b"x")
    (top / "plain").write_bytes(b"x")
    (top / "folder").mkdir()
    (top / "folder" / "before").write_bytes(b"x")
    os.setxattr(top / "file", "system.posix_acl_access", access_list(SOMEBODY))
    os.setxattr(top / "folder", "system.posix_acl_access", access_list(SOMEBODY, 5))
    os.setxattr(top / "folder", "system.posix_acl_default", access_list(SOMEBODY, 7))
    (top / "folder" / "after").write_bytes(b"x")
    (top / "folder" / "inner").mkdir()


def _holes(top: Path) -> None:
    with open(top / "all", "wb") as file:
        file.truncate(10_000_000)
    for name, at in (("middle", 4_000_000), ("begin", 0), ("odd", 1_234_567), ("end", 8_000_000)):
        with open(top / name, "wb") as file:
            file.truncate(8_100_000)
            file.seek(at)
            file.write(b"data" * 300)
    (top / "zeros").write_bytes(bytes(5000))


def _pipes(top: Path) -> None:
    os.mkfifo(top / "pipe")
    (top / "pipe").chmod(0o622)
    os.utime(top / "pipe", ns=(5, 5))


def _deep(top: Path) -> None:
    """Paths of 12,000 bytes, and folders 1,200 deep."""
    for name, levels in (("é" * 100, 60), ("d", 1200)):
        handle = os.open(top, os.O_RDONLY)
        for level in range(levels):
            os.mkdir(name, dir_fd=handle)
            below = os.open(name, os.O_RDONLY, dir_fd=handle)
            os.close(handle)
            handle = below
            if level % 50 == 9:
                os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
        end = os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=handle)
        os.write(end, b"x" * 9000)
        os.close(end)
        os.symlink("end", "link", dir_fd=handle)
        os.link("end", "other", src_dir_fd=handle, dst_dir_fd=handle)
        os.close(handle)


def _many(top: Path) -> None:
    """More than are waited for one by one."""
    for number in range(300):
        (top / f"{number % 7}").mkdir(exist_ok=True)
        (top / f"{number % 7}" / f"{number}").write_bytes(b"%d" % number * (number % 50))


def _nothing(top: Path) -> None:
    (top / "folder").mkdir()
    (top / "file").write_bytes(b"")


def _owners(top: Path) -> None:
    (top / "folder").mkdir()
    (top / "file").write_bytes(b"x")
    (top / "big").write_bytes(b"x" * 100_000)
    os.symlink("file", top / "link")
    os.mkfifo(top / "pipe")
    for number, name in enumerate(("folder", "file", "big", "link", "pipe"), 1):
        os.chown(top / name, SOMEBODY + number, 2**32 - 2 - number, follow_symlinks=False)
    (top / "big").chmod(0o6755)


def _devices(top: Path) -> None:
    os.mknod(top / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(top / "disk", stat.S_IFBLK | 0o660, os.makedev(250, 70_000))
    os.link(top / "null", top / "other")


def _privileged(top: Path) -> None:
    os.symlink("nothing", top / "link")
    (top / "file").write_bytes(b"x")
    os.setxattr(top / "link", "trusted.x", b"1", follow_symlinks=False)
    os.setxattr(top / "file", "trusted.x", b"2")
    may_bind = struct.pack("<5I", 0x0200_0001, 1 << 10, 0, 0, 0)
    os.setxattr(top / "file", "security.capability", may_bind)


Make = Callable[[Path], None]
CELLS: list[Make] = [_names, _targets, _times, _modes, _links, _attributes, _lists, _holes, _pipes,
                     _deep, _many, _nothing]  # fmt: skip
ROOT_CELLS: list[Make] = [_owners, _devices, _privileged]


@pytest.fixture
def top() -> Iterator[Path]:
    """A folder for trees that pytest could not remove."""
    folder = Path(tempfile.mkdtemp(prefix="trees-"))
    try:
        yield folder
    finally:
        with OpenFolder(folder) as inside:
            inside.clear()
        folder.rmdir()


def made(cell: Make, top: Path) -> Path:
    source = top / "data"
    source.mkdir()
    cell(source)
    return source


@pytest.mark.parametrize("cell", [*CELLS, *ROOT_CELLS])
def test_what_is_saved_comes_back(cell: Make, top: Path) -> None:
    if cell in ROOT_CELLS and not IS_ROOT:
        pytest.skip("only root can make these")
    source = made(cell, top)
    before = described(source)
    manifest, told = again(source, top / "again")
    assert described(top / "again" / "data") == before
    assert not manifest.remarks
    assert not told.remarks


# -------------------------------------------------------------------------- an ordinary user


def as_somebody(work: Callable[[], Any]) -> Any:
    """Return what work gives in a process of an ordinary user."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(SOMEBODY)
            os.setuid(SOMEBODY)
            ctypes.CDLL(None).prctl(4, 1)  # /proc/self is its own again (PR_SET_DUMPABLE)
            result: tuple[Any, str] = (work(), "")
        except BaseException:
            result = (None, traceback.format_exc())
        with os.fdopen(writing, "wb") as file:
            pickle.dump(result, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        value, error = pickle.load(file)
    os.waitpid(child, 0)
    assert not error, error
    return value


@pytest.mark.skipif(not IS_ROOT, reason="only root can become somebody else")
def test_an_ordinary_user_gets_back_what_is_theirs(top: Path) -> None:
    _warm(top)

    def work() -> list[tuple[str, Described, Described, Any]]:
        found = []
        for cell in CELLS:
            inside = top / "theirs" / cell.__name__
            inside.mkdir()
            source = made(cell, inside)
            before = described(source)
            manifest, told = again(source, inside / "again")
            after = described(inside / "again" / "data")
            found.append((cell.__name__, before, after, (manifest.remarks, told.remarks)))
        return found

    for name, before, after, remarks in as_somebody(work):
        assert after == before, name
        assert remarks == ({}, {}), name


def _warm(top: Path) -> None:
    """Load what a child could not, and make a folder for it."""
    top.chmod(0o755)
    (top / "theirs").mkdir()
    os.chown(top / "theirs", SOMEBODY, SOMEBODY)
    (top / "warm").mkdir()
    again(top / "warm", top / "warmed")


@pytest.mark.skipif(not IS_ROOT, reason="only root can become somebody else")
def test_what_an_ordinary_user_cannot_get_back_is_named(top: Path) -> None:
    source = top / "data"
    source.mkdir()
    for cell in ROOT_CELLS:
        (source / cell.__name__).mkdir()
        cell(source / cell.__name__)
    _warm(top)
    there = hosts(1)
    with opened(there) as vault:
        save(vault, [source], PLAIN)

    def work() -> tuple[dict[str, list[str]], Described]:
        told: list[RecoveryTold] = []
        with opened(there) as vault:
            restore(vault, "latest", top / "theirs" / "again", tell=told.append)
        return told[-1].remarks, described(top / "theirs" / "again" / "data")

    remarks, after = as_somebody(work)
    refused = "Operation not permitted"
    assert set(remarks[f"owner not restored: {refused}"]) == {
        "data", *(f"data/{cell.__name__}" for cell in ROOT_CELLS),
        "data/_privileged/link", "data/_privileged/file",
        *(f"data/_owners/{name}" for name in ("folder", "file", "big", "link", "pipe")),
    }  # fmt: skip
    assert remarks["setuid or setgid left out, as its owner or group is"] == ["data/_owners/big"]
    assert remarks[f"character device not restored: {refused}"] == ["data/_devices/null"]
    assert remarks[f"block device not restored: {refused}"] == ["data/_devices/disk"]
    assert remarks["hard link not restored: its other name is not"] == ["data/_devices/other"]
    assert remarks[f"attribute security.capability not restored: {refused}"] == [
        "data/_privileged/file"
    ]
    assert after[b"/_owners/big"][0] == "-rwxr-xr-x"
    assert after[b"/_owners/big"][7] == b"x" * 100_000
    assert b"/_devices/null" not in after


@pytest.mark.skipif(not IS_ROOT, reason="only root can become somebody else")
def test_a_user_goes_on_with_a_recovery_that_was_killed_at_its_end(top: Path) -> None:
    """Files and folders have their rights by then: some cannot be written any more."""
    _warm(top)

    def killed() -> None:
        source = made(_modes, top / "theirs")
        _links(source)
        place = top / "theirs" / "host"
        Vault.open([FolderHost(place)], begin=RULES).close()  # by one of the two
        child = os.fork()
        with Vault.open([FolderHost(place)]) as vault:
            if not child:
                RestoredTree._flush = lambda self: os._exit(7)  # type: ignore[method-assign]
                save(vault, [source], PLAIN)
                restore(vault, "latest", top / "theirs" / "again")
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
            assert not (top / "theirs" / "again").exists()
            restore(vault, "latest", top / "theirs" / "again")
        assert described(top / "theirs" / "again" / "data") == described(source)

    as_somebody(killed)
    assert not list((top / "theirs").glob(".again*"))


# --------------------------------------------------------------------- what is not as it was


def test_what_is_left_out_is_named(top: Path) -> None:
    source = made(_nothing, top)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(source / "socket"))
    manifest, _ = again(source, top / "again")
    assert manifest.remarks == {"left out: a socket": ("data/socket",)}
    assert sorted(path.name for path in (top / "again/data").iterdir()) == ["file", "folder"]


def test_a_time_that_the_disk_does_not_have_is_named(top: Path) -> None:
    """A disk in memory has all times; ext4 ends in 2446."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or os.stat(shared).st_dev == os.stat(top).st_dev:
        pytest.skip("two kinds of file systems are needed")
    source = Path(tempfile.mkdtemp(dir=shared))
    try:
        for name, at in (("far", 2**62 * SECOND + 5), ("near", 16_725_225_600 * SECOND)):
            (source / name).write_bytes(b"x")
            os.utime(source / name, ns=(at, at))
        _, told = again(source, shared / f"{source.name}-again")
        assert not told.remarks
        back = described(shared / f"{source.name}-again" / source.name)
        assert back == described(source)
        _, told = again(source, top / "again")
        changed = described(top / "again" / source.name) != described(source)
        assert bool(told.remarks) == changed
    finally:
        shutil.rmtree(source)
        shutil.rmtree(shared / f"{source.name}-again", ignore_errors=True)


@pytest.mark.parametrize(("changes", "torn"), [(1, False), (9, True)])
def test_a_file_that_changes_while_it_is_read(top: Path, changes: int, torn: bool) -> None:
    """It is read again; where it never rests, it is named."""
    source = top / "data"
    source.mkdir()
    (source / "log").write_bytes(bytes(WINDOW + 5))
    left = [changes]

    def tell(_: object) -> None:
        if left[0]:
            left[0] -= 1
            with open(source / "log", "ab") as file:
                file.write(b"more")

    with opened(hosts(1)) as vault:
        manifest = save(vault, [source], PLAIN, tell=tell)
        restore(vault, manifest.name, top / "again")
    assert manifest.remarks == ({"changed while it was read": ("data/log",)} if torn else {})
    size = (top / "again/data/log").stat().st_size
    assert size == manifest.size
    assert size == WINDOW + 9 or torn


def test_a_file_that_goes_while_others_are_read_is_named(top: Path) -> None:
    source = top / "data"
    (source / "z").mkdir(parents=True)
    for name in ("a", "b", "c", "z/in"):
        (source / name).write_bytes(b"x")

    def tell(_: object) -> None:
        shutil.rmtree(source / "z", ignore_errors=True)
        (source / "b").unlink(missing_ok=True)
        if not (source / "c").is_symlink():
            (source / "c").unlink()
            os.symlink("a", source / "c")

    with opened(hosts(1)) as vault:
        manifest = save(vault, [source], PLAIN, tell=tell)
    gone = {"left out: gone before it could be read": ("data/b", "data/z")}
    assert manifest.remarks == gone
    assert [entry.kind for entry in manifest.entries] == ["folder", "file", "link"]


def test_a_path_that_is_a_link_is_followed(top: Path) -> None:
    source = made(_links, top)
    os.symlink("data", top / "link")
    os.symlink("data/one", top / "file")
    with opened(hosts(1)) as vault:
        manifest = save(vault, [top / "link", top / "file"], PLAIN)
        restore(vault, manifest.name, top / "again")
    assert described(top / "again" / "link") == described(source)
    assert (top / "again" / "file").read_bytes() == (source / "one").read_bytes()
    os.symlink("nothing", top / "broken")
    with opened(hosts(1)) as vault, pytest.raises(InputError, match="No such file"):
        save(vault, [top / "broken"], PLAIN)


def test_the_folder_above(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = made(_links, top)
    monkeypatch.chdir(source / "a")
    with opened(hosts(1)) as vault:
        for path in ("..", "../../data", "../a/.."):
            manifest = save(vault, [Path(path)], PLAIN)
            restore(vault, manifest.name, top / "again")
            assert described(top / "again" / "data") == described(source)
            shutil.rmtree(top / "again")
        with pytest.raises(ParameterError, match="a file or folder with a name"):
            save(vault, [Path("/")], PLAIN)


def test_a_store_in_the_folder_is_left_out(top: Path) -> None:
    source = made(_nothing, top)
    (source / "store").mkdir()
    os.symlink(source / "store", top / "elsewhere")
    os.symlink("../store", source / "folder" / "to-the-store")
    with Vault.open([FolderHost(top / "elsewhere")], begin=RULES) as vault:
        for _ in range(2):
            manifest = save(vault, [source], PLAIN)
            assert manifest.remarks == {"left out: a storage host of this vault": ("data/store",)}
            assert [entry.path for entry in manifest.entries] == [
                "data", "data/file", "data/folder", "data/folder/to-the-store"
            ]  # fmt: skip
        for path in (source / "store", source / "store" / "manifests", top / "elsewhere"):
            with pytest.raises(ParameterError, match="a path outside the storage hosts"):
                save(vault, [path], PLAIN)


@pytest.mark.skipif(not IS_ROOT, reason="only root can mount")
def test_a_store_that_is_mounted_in_the_folder_is_left_out(top: Path) -> None:
    source = made(_nothing, top)
    (top / "store").mkdir()
    if os.system(f"mount --bind {top / 'store'} {source / 'folder'} 2>/dev/null"):
        pytest.skip("no right to mount")
    try:
        with Vault.open([FolderHost(top / "store")], begin=RULES) as vault:
            manifest = save(vault, [source], PLAIN)
    finally:
        os.system(f"umount -l {source / 'folder'}")
    assert manifest.remarks == {"left out: a storage host of this vault": ("data/folder",)}


# --------------------------------------------------------------- what earlier versions saved


@pytest.mark.parametrize("old", ["names", "times", "parent", "rights"])
def test_what_earlier_versions_saved_comes_back(old: str, top: Path) -> None:
    cell = {"names": _names, "times": _times, "parent": _nothing, "rights": _modes}[old]
    source, there, told = made(cell, top), hosts(1), list[RecoveryTold]()
    os.symlink(b"\xff", os.fsencode(source / "link"))
    far = 2**62 * SECOND + 1
    with opened(there) as vault:
        new = save(vault, [source], PLAIN)
        entries = new.entries
        if old == "parent":
            entries = tuple(replace(one, path=one.path.replace("data", "..", 1)) for one in entries)
        if old == "times":
            entries = (*entries[:-1], replace(entries[-1], changed=far))
        there[0].objects[new.key] = enveloped(*old_content(new, entries))
        assert [one.name for one in vault.manifests()] == [new.name]
        found = vault.manifest("latest")
        if old == "times":
            assert found.entries[-1].changed == far
        restore(vault, "latest", top / "again", tell=told.append)
        moved = Manifest.from_content(found.content())
        assert moved.entries == found.entries
    before, after = described(source), described(top / "again" / ("parent" if old == "parent"
                                                                  else "data"))  # fmt: skip
    if old == "rights":
        assert "setuid or setgid left out: the checkpoint has no owner" in told[-1].remarks
        assert after[b"/folder1777"][0] == "drwxrwxrwt"
        assert after[b"/file4755"][0] == "-rwxr-xr-x"
    elif old == "times":
        assert {path: one[3] for path, one in after.items()} | {b"/link8": 0} == {
            path: one[3] for path, one in before.items()
        } | {b"/link8": 0}
    else:
        assert after == before


# ------------------------------------------------------------------------------ random trees

NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda name: not {0, 47} & set(name) and name not in (b".", b"..")
)
CONTENTS = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.one_of(st.binary(min_size=1, max_size=9), st.integers(1, 30_000).map(bytes)), max_size=5
    ).map(b"".join),
)
FACTS = st.fixed_dictionaries({
    "name": NAMES,
    "in": st.integers(0, 5),
    "kind": st.sampled_from(["file", "file", "folder", "link", "hardlink", "fifo"]),
    "content": CONTENTS,
    "holes": st.booleans(),
    "mode": st.integers(0, 0o7777),
    "time": st.integers(-2_177_452_800 * SECOND, 16_725_225_600 * SECOND),
    "attributes": st.dictionaries(NAMES, st.binary(max_size=40), max_size=2),
})  # fmt: skip


def grow(top: Path, facts: list[dict[str, Any]]) -> None:
    """Make a tree of these."""
    folders, others, made = [os.fsencode(top)], list[bytes](), list[tuple[bytes, dict[str, Any]]]()
    for one in facts:
        path = folders[one["in"] % len(folders)] + b"/" + one["name"]
        if os.path.lexists(path):
            continue
        made.append((path, one))
        if one["kind"] == "folder":
            os.mkdir(path)
            folders.append(path)
            continue
        if one["kind"] == "hardlink" and others:
            os.link(others[len(one["content"]) % len(others)], path, follow_symlinks=False)
        elif one["kind"] == "link":
            os.symlink(one["name"] + b"/" + one["content"][:50].replace(b"\0", b"."), path)
        elif one["kind"] == "fifo":
            os.mkfifo(path)
        else:
            with open(path, "wb") as file:
                if one["holes"]:
                    file.seek(200_000)
                file.write(one["content"])
        others.append(path)
    for path, one in reversed(made):
        kind = os.lstat(path).st_mode
        if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
            for name, value in one["attributes"].items():
                os.setxattr(path, b"user." + name, value)
        if not stat.S_ISLNK(kind):
            os.chmod(path, one["mode"] | (0 if IS_ROOT else 0o700))
        os.utime(path, ns=(one["time"], one["time"]), follow_symlinks=False)


@settings(max_examples=40, deadline=None)
@given(st.lists(FACTS, max_size=12))
def test_a_random_tree_comes_back_or_its_differences_are_named(facts: list[dict[str, Any]]) -> None:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        source = folder / "data"
        source.mkdir()
        grow(source, facts)
        before = described(source)
        manifest, told = again(source, folder / "again")
        after = described(folder / "again" / "data")
        named = {os.fsencode(path) for remarks in (manifest.remarks, told.remarks)
                 for paths in remarks.values() for path in paths}  # fmt: skip
        differ = {path for path in before.keys() | after.keys()
                  if before.get(path) != after.get(path)}  # fmt: skip
        assert bool(named) == bool(differ), (named, differ)
        assert os.path.isdir("/dev/shm") <= (not differ)
    finally:
        with OpenFolder(folder) as inside:
            inside.clear()
        folder.rmdir()
