"""What is in a tree of files, read without the vault: by plain system calls, in bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

Described = dict[bytes, tuple[object, ...]]


def described(top: Path) -> Described:
    """Return all that a tree is, by path: kind, rights, owner, time, attributes, device, content or
    target, other names, and whether a file has holes."""
    tree: Described = {}
    names: dict[tuple[int, int], bytes] = {}
    for at, _, files, handle in _folders(os.fsencode(top)):
        tree[at] = _facts(os.fstat(handle), f"/proc/self/fd/{handle}", True)
        for name in sorted(files):
            path = at + b"/" + name
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            first = names.setdefault((found.st_dev, found.st_ino), path)
            beside = f"/proc/self/fd/{handle}/".encode() + name
            content: object = None
            if stat.S_ISLNK(found.st_mode):
                content = os.readlink(name, dir_fd=handle)
            elif stat.S_ISREG(found.st_mode):
                with open(beside, "rb") as file:
                    content = file.read()
            tree[path] = (*_facts(found, beside, False), content, first)
    return tree


def _folders(top: bytes):  # type: ignore[no-untyped-def]
    """Yield folders as `os.fwalk` does, as deep as they go."""
    left = [(b"", os.open(top, os.O_RDONLY))]
    while left:
        at, handle = left.pop()
        with os.scandir(handle) as inside:
            found = [(os.fsencode(one.name), one.is_dir(follow_symlinks=False)) for one in inside]
        yield at, None, [name for name, is_folder in found if not is_folder], handle
        for name, is_folder in found:
            if is_folder:
                opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=handle)
                left.append((at + b"/" + name, opened))
        os.close(handle)


def _facts(found: os.stat_result, path: str | bytes, follow: bool) -> tuple[object, ...]:
    attributes = {}
    for name in os.listxattr(path, follow_symlinks=follow):
        attributes[name] = os.getxattr(path, name, follow_symlinks=follow)
    is_file = stat.S_ISREG(found.st_mode)
    has_holes = is_file and 0 < found.st_blocks * 512 + 65_536 < found.st_size
    return (
        stat.filemode(found.st_mode), found.st_uid, found.st_gid, found.st_mtime_ns,
        tuple(sorted(attributes.items())), found.st_rdev, has_holes,
    )  # fmt: skip
