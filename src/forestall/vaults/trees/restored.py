"""The files of a checkpoint on their way back: made below a folder that nobody else uses yet, each
given its rights and times as soon as it is whole."""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from forestall.vaults.trees.attributes import Remarks, drop_default_list, give, note
from forestall.vaults.trees.entries import SavedEntry
from forestall.vaults.trees.folders import OpenFolder

ONE_BY_ONE: Final = 64
"""Files and folders up to which the disk is waited for one by one; for more, all of a file system
at once, which takes as long as one of many."""
_NODES: Final = {"fifo": stat.S_IFIFO, "char": stat.S_IFCHR, "block": stat.S_IFBLK}
_WORDS: Final = {"link": "link", "hardlink": "hard link", "fifo": "pipe",
                 "char": "character device", "block": "block device"}  # fmt: skip
_NEW: Final = os.O_RDWR | os.O_CREAT


class RestoredTree:
    """Files, folders and links below a folder.

    Parameters
    ----------
    top : the folder
    entries : checked ones (`checked_entries`)

    Attributes
    ----------
    remarks : what could not be given back
    """

    def __init__(self, top: Path, entries: Sequence[SavedEntry]) -> None:
        self.remarks: Remarks = {}
        self._entries = entries
        self._fresh = True
        self._folder = OpenFolder(top)
        self._made: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._folder.__exit__(kind, error, trace)

    def make_folders(self, *, fresh: bool) -> None:
        """Make all folders, for their owner alone; unless all is `fresh`, let what an earlier try
        left be written again. Raises OSError."""
        self._fresh, self._made = fresh, []
        drop_default_list(self._folder.handle)
        known = {""}
        for entry in self._entries:
            inner = entry.path if entry.kind == "folder" else entry.path.rpartition("/")[0]
            missing = []
            while inner not in known:
                known.add(inner)
                missing.append(inner)
                inner = inner.rpartition("/")[0]
            for path in reversed(missing):
                self._make_folder(path)
            if entry.kind == "file" and not self._fresh:
                self._open_up(entry.path)

    def open(self, entry: SavedEntry) -> int:
        """Open a file, which is made where it is not there. Raises OSError."""
        return self._folder.open(entry.path, _NEW)

    def give(self, handle: int, entry: SavedEntry) -> None:
        """Give an open file that is whole its rights, times and all else. Raises OSError."""
        give(handle, entry, self.remarks)

    def finish(self) -> None:
        """Make what has no chunks, give folders their rights and times, and wait for the disk.
        Links come last: nothing is ever written through one. Raises OSError."""
        for entry in self._entries:
            if entry.kind == "file" and not entry.count:
                handle = self.open(entry)
                try:
                    os.ftruncate(handle, 0)
                    self.give(handle, entry)
                finally:
                    os.close(handle)
        for entry in self._entries:
            if entry.kind not in ("file", "folder"):
                self._make_other(entry)
        own = {entry.path: entry for entry in self._entries if entry.kind == "folder"}
        for path in reversed(self._made):  # what is in a folder before the folder
            handle = self._folder.folder(path)
            try:
                if path in own:
                    self.give(handle, own[path])
                else:
                    os.fchmod(handle, 0o755)
            finally:
                os.close(handle)
        self._flush()

    def clear(self) -> None:
        """Remove all that was made. Raises OSError."""
        self._folder.clear()

    def _make_folder(self, path: str) -> None:
        name, folder = self._folder.at(path)
        try:
            os.mkdir(name, 0o700, dir_fd=folder)
        except FileExistsError:
            os.chmod(name, 0o700, dir_fd=folder)
            handle = self._folder.folder(path)
            drop_default_list(handle)
            os.close(handle)
        self._made.append(path)

    def _open_up(self, path: str) -> None:
        """Let a file be written that an earlier try made; one that it linked is made anew."""
        name, folder = self._folder.at(path)
        try:
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_nlink == 1:
                os.chmod(name, 0o600, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            pass

    def _make_other(self, entry: SavedEntry) -> None:
        """Make what is neither file nor folder."""
        if not self._fresh:
            self._folder.remove(entry.path)
        try:
            if entry.kind == "hardlink":
                self._link(entry)
                return
            at = self._folder.at(entry.path)
            if entry.kind == "link":
                os.symlink(entry.target, at.name, dir_fd=at.folder)
            else:
                mode = _NODES[entry.kind] | 0o600
                os.mknod(at.name, mode, entry.device, dir_fd=at.folder)
        except (PermissionError, FileNotFoundError) as error:
            what = _WORDS[entry.kind]
            why = error.strerror if isinstance(error, PermissionError) else "its other name is not"
            note(self.remarks, f"{what} not restored: {why}", entry.path)
            return
        give(at, entry, self.remarks)

    def _link(self, entry: SavedEntry) -> None:
        name, folder = self._folder.at(entry.target)
        handle = os.dup(folder)  # what `at` returns holds until it is called again
        try:
            at = self._folder.at(entry.path)
            os.link(name, at.name, src_dir_fd=handle, dst_dir_fd=at.folder, follow_symlinks=False)
        finally:
            os.close(handle)

    def _flush(self) -> None:
        """Wait until all is on the disk. Raises OSError."""
        files = [entry.path for entry in self._entries if entry.kind == "file"]
        if len(files) + len(self._made) > ONE_BY_ONE and flush_all(self._folder.handle):
            return
        for path in [*files, *reversed(self._made)]:
            self._flush_one(path)
        os.fsync(self._folder.handle)

    def _flush_one(self, path: str) -> None:
        try:
            handle = self._folder.open(path, os.O_RDONLY)
        except PermissionError:  # its owner may not read it either: all at once, then
            if not flush_all(self._folder.handle):
                os.sync()
            return
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some file systems have no such thing for folders
                raise
        finally:
            os.close(handle)


def flush_all(handle: int) -> bool:
    """Wait until everything of an open file's file system is on the disk; return whether the system
    can do that. Raises OSError where the disk could not take it."""
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    if syncfs(handle):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return True
