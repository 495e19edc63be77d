"""What files have beside their bytes: rights, owners, extended attributes (access control lists
among them) and times; read when they are saved, and given back when they are restored."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from contextlib import suppress
from typing import Final

from forestall.vaults.trees.entries import Attributes, SavedEntry, printable
from forestall.vaults.trees.folders import Place

Remarks = dict[str, list[str]]
"""What is not as it was: paths, as they are shown, by why."""
_GET_FLAGS: Final = 0x80086601
"""FS_IOC_GETFLAGS where a long has 64 bits."""
_FLAGS: Final = {0x04: "c", 0x08: "S", 0x10: "i", 0x20: "a", 0x40: "d", 0x80: "A", 0x800000: "C"}
"""Of chattr, those that people set."""
_NONE: Final = frozenset({errno.ENODATA, errno.ENOTSUP, errno.ENOENT, errno.EINVAL})
_ACL_DEFAULT: Final = "system.posix_acl_default"
_SPECIAL: Final = stat.S_ISUID | stat.S_ISGID
_PLAIN_TIMES: Final = range(0, 2**31 * 10**9)
"""ns since 1970 that every file system has."""
_NEAR: Final = 3 * 10**9
"""ns by which a file system may round a time."""


def note(remarks: Remarks, why: str, path: str) -> None:
    """Take down that a path is not as it was."""
    remarks.setdefault(why, []).append(printable(path))


def saved_attributes(at: int | Place, path: str, remarks: Remarks) -> Attributes:
    """Return the extended attributes of an open file or folder, or of what is at a place."""
    if not hasattr(os, "listxattr"):
        return ()
    target, follow = (at, True) if isinstance(at, int) else (at.path, False)
    try:
        names = os.listxattr(target, follow_symlinks=follow)
    except OSError:  # a file system without any
        return ()
    found = []
    for name in sorted(names):
        try:
            found.append((name, os.getxattr(target, name, follow_symlinks=follow)))
        except OSError as error:
            if error.errno not in _NONE:
                note(remarks, f"attribute {printable(name)} cannot be read: {error.strerror}", path)
    return tuple(found)


def note_flags(handle: int, path: str, remarks: Remarks) -> None:
    """Name the flags of an open file or folder that are not kept."""
    try:
        (flags,) = struct.unpack("=q", fcntl.ioctl(handle, _GET_FLAGS, bytes(8)))
    except OSError:
        return
    for flag, letter in _FLAGS.items():
        if flags & flag:
            note(remarks, f"flag {letter} of chattr is not kept", path)


def give(at: int | Place, entry: SavedEntry, remarks: Remarks) -> None:
    """Give an open file or folder, or what is at a place, all that its entry has beside its bytes;
    what cannot be given is noted. Raises OSError where the disk is at fault."""
    now = os.fstat(at) if isinstance(at, int) else _stat(at)
    mode = entry.mode & ~_unowned(at, entry, now, remarks)
    _give_attributes(at, entry, remarks)
    if entry.kind != "link":
        if isinstance(at, int):
            os.fchmod(at, mode)
        else:
            os.chmod(at.name, mode, dir_fd=at.folder)
    _give_time(at, entry, remarks)


def _stat(at: Place) -> os.stat_result:
    return os.stat(at.name, dir_fd=at.folder, follow_symlinks=False)


def _unowned(at: int | Place, entry: SavedEntry, now: os.stat_result, remarks: Remarks) -> int:
    """Give an entry its owner; return the rights that it must not have: those of an owner who it
    could not be given."""
    if entry.owner is None:
        if entry.mode & _SPECIAL and entry.kind != "link":
            note(remarks, "setuid or setgid left out: the checkpoint has no owner", entry.path)
        return _SPECIAL
    user, group = entry.owner
    if (now.st_uid, now.st_gid) == (user, group):
        return 0
    try:
        _own(at, user, group)
        return 0
    except OSError as error:
        why, without = error.strerror or str(error), 0
    if group != now.st_gid:
        try:
            _own(at, -1, group)
        except OSError:
            note(remarks, f"group not restored: {why}", entry.path)
            without |= stat.S_ISGID
    if user != now.st_uid:
        note(remarks, f"owner not restored: {why}", entry.path)
        without |= stat.S_ISUID
    if entry.mode & without and entry.kind != "link":
        note(remarks, "setuid or setgid left out, as its owner or group is", entry.path)
    return without


def _own(at: int | Place, user: int, group: int) -> None:
    if isinstance(at, int):
        os.chown(at, user, group)
    else:
        os.chown(at.name, user, group, dir_fd=at.folder, follow_symlinks=False)


def _give_attributes(at: int | Place, entry: SavedEntry, remarks: Remarks) -> None:
    target, follow = (at, True) if isinstance(at, int) else (at.path, False)
    for name, value in entry.attributes:
        try:
            if _value(target, name, follow) != value:
                os.setxattr(target, name, value, follow_symlinks=follow)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            why = f"attribute {printable(name)} not restored: {error.strerror}"
            note(remarks, why, entry.path)
        except AttributeError:  # a system without extended attributes
            note(remarks, f"attribute {printable(name)} not restored", entry.path)


def _value(target: int | str, name: str, follow: bool) -> bytes | None:
    try:
        return os.getxattr(target, name, follow_symlinks=follow)
    except OSError:
        return None


def _give_time(at: int | Place, entry: SavedEntry, remarks: Remarks) -> None:
    times = entry.changed, entry.changed
    try:
        if isinstance(at, int):
            os.utime(at, ns=times)
        else:
            os.utime(at.name, ns=times, dir_fd=at.folder, follow_symlinks=False)
        if entry.changed in _PLAIN_TIMES:
            return
        now = os.fstat(at) if isinstance(at, int) else _stat(at)
        if abs(now.st_mtime_ns - entry.changed) < _NEAR:
            return
    except (OverflowError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EINVAL, errno.EOVERFLOW):
            raise
    note(remarks, "time not restored: the file system has none so early or late", entry.path)


def drop_default_list(handle: int) -> None:
    """Take from an open folder the access control list that what is made in it would get."""
    with suppress(OSError, AttributeError):
        os.removexattr(handle, _ACL_DEFAULT)
