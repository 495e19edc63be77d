"""What a checkpoint's manifest has of each file, folder and link: names of any bytes, times of any
year, owners, attributes. Columns of numbers, and names one behind the other: a hundred thousand
entries are read in a fraction of a second."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.files.records import refused
from forestall.core.model.errors import InputError

KINDS: Final = "file", "folder", "link", "hardlink", "fifo", "char", "block"
_TARGETED: Final = "link", "hardlink"
_OLD_KINDS: Final = KINDS[:3]
RIGHTS: Final = 0o7777
_MOST: Final = 2**63 - 1
"""Of sizes in bytes and times in s, as systems have them."""
_SECOND: Final = 10**9
_NO_ID: Final = -1
_MOST_ID: Final = 2**32 - 2
_PARENT: Final = "parent"
"""Stands for ``..``, under which earlier versions saved what was named so."""

Attributes = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class SavedEntry:
    """A file, folder or link of a checkpoint.

    Attributes
    ----------
    path : below the folder that it is restored to, parts joined by slashes; bytes that are no text
        stand as `os.fsdecode` has them
    kind : of `KINDS`
    mode : rights; `changed` : ns since 1970
    size, first, count : of a file: bytes, and its chunks among the checkpoint's
    target : of a link; of a hard link, the path of an entry before it
    owner : user and group, by number; None where that is not known
    attributes : extended ones by name, access control lists among them
    device : number of a device
    sparse : whether a file took less room on the disk than its size
    """

    path: str
    kind: str
    mode: int
    changed: int
    size: int = 0
    first: int = 0
    count: int = 0
    target: str = ""
    owner: tuple[int, int] | None = None
    attributes: Attributes = ()
    device: int = 0
    sparse: bool = False

    def with_chunks(self, size: int, first: int, count: int) -> SavedEntry:
        """Return a file with these chunks (`replace` takes three times as long)."""
        return SavedEntry(
            self.path, self.kind, self.mode, self.changed, size, first, count, self.target,
            self.owner, self.attributes, self.device, self.sparse,
        )  # fmt: skip


def printable(path: str) -> str:
    r"""Return a path as text that can be shown: bytes that are no text stand as ``\xNN``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stored_entries(entries: Sequence[SavedEntry]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return entries as named values and arrays of an envelope."""
    sets: dict[Attributes, int] = {(): 0}
    numbers = [sets.setdefault(entry.attributes, len(sets)) for entry in entries]
    times = [divmod(entry.changed, _SECOND) for entry in entries]
    owners = [entry.owner or (_NO_ID, _NO_ID) for entry in entries]
    named = [[[os.fsencode(name).hex(), value.hex()] for name, value in one] for one in sets]
    columns: dict[str, tuple[type[Any], Iterable[int]]] = {
        "kinds": (np.uint8, map(KINDS.index, (entry.kind for entry in entries))),
        "modes": (np.uint16, (entry.mode for entry in entries)),
        "seconds": (np.int64, (seconds for seconds, _ in times)),
        "nanoseconds": (np.uint32, (rest for _, rest in times)),
        "sizes": (np.uint64, (entry.size for entry in entries)),
        "counts": (np.uint64, (entry.count for entry in entries)),
        "users": (np.int64, (user for user, _ in owners)),
        "groups": (np.int64, (group for _, group in owners)),
        "attributes": (np.uint32, numbers),
        "devices": (np.uint64, (entry.device for entry in entries)),
        "sparse": (np.uint8, (entry.sparse for entry in entries)),
    }
    arrays = {name: np.fromiter(values, dtype, len(entries))
              for name, (dtype, values) in columns.items()}  # fmt: skip
    arrays["paths"] = _joined([entry.path for entry in entries])
    arrays["targets"] = _joined([entry.target for entry in entries if entry.kind in _TARGETED])
    return {"attributes": named}, {f"entries.{name}": array for name, array in arrays.items()}


def entries_of(held: Held) -> tuple[SavedEntry, ...]:
    """Return the entries of a manifest, also of one that an earlier version wrote. Raises
    ParameterError where they are none."""
    if isinstance(held.value("entries"), list):
        return _old_entries(held)
    held = held.part("entries")
    kinds = held.array("kinds", np.uint8, None, most=len(KINDS) - 1)
    count = len(kinds)

    def column(name: str, dtype: type[Any], least: int, most: int) -> list[int]:
        found: list[int] = held.array(name, dtype, count, least=least, most=most).tolist()
        return found

    files = kinds == KINDS.index("file")
    sizes = held.array("sizes", np.uint64, count, most=_MOST)
    counts = held.array("counts", np.uint64, count, most=2**48)
    held.hold("counts", not counts[~files].any() and bool((counts <= sizes).all()), "of files")
    held.hold("sizes", not sizes[~files].any(), "of files")
    firsts = np.where(counts > 0, np.cumsum(counts) - counts, 0)
    sets = [_attributes(held, one) for one in held.listed("attributes")]
    numbers = column("attributes", np.uint32, 0, max(len(sets) - 1, 0))
    held.hold("attributes", bool(sets) or not numbers, "at least the empty set")
    has_target = np.isin(kinds, [KINDS.index(kind) for kind in _TARGETED])
    targets = iter(_split(held, "targets", int(has_target.sum())))
    users = column("users", np.int64, _NO_ID, _MOST_ID)
    groups = column("groups", np.int64, _NO_ID, _MOST_ID)
    columns = zip(
        _split(held, "paths", count), kinds.tolist(), column("modes", np.uint16, 0, RIGHTS),
        column("seconds", np.int64, -_MOST, _MOST),
        column("nanoseconds", np.uint32, 0, _SECOND - 1), sizes.tolist(), firsts.tolist(),
        counts.tolist(), has_target.tolist(), zip(users, groups, strict=True), numbers,
        column("devices", np.uint64, 0, 2**64 - 1), column("sparse", np.uint8, 0, 1), strict=True,
    )  # fmt: skip
    return tuple(
        SavedEntry(
            path, KINDS[kind], mode, seconds * _SECOND + rest, size, first, chunks,
            next(targets) if targeted else "", None if _NO_ID in owner else owner, sets[number],
            device, bool(sparse),
        )
        for path, kind, mode, seconds, rest, size, first, chunks, targeted, owner, number, device,
        sparse in columns
    )  # fmt: skip


def _joined(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(b"".join([os.fsencode(name) + b"\0" for name in names]), np.uint8)


def _split(held: Held, name: str, count: int) -> list[str]:
    """Return so many names out of an array of bytes."""
    names = os.fsdecode(held.array(name, np.uint8, None).tobytes()).split("\0")
    held.hold(name, len(names) == count + 1 and not names[-1], f"{count} names")
    return names[:-1]


def _attributes(held: Held, listed: Any) -> Attributes:
    try:
        return tuple(
            (os.fsdecode(bytes.fromhex(name)), bytes.fromhex(value)) for name, value in listed
        )
    except (TypeError, ValueError):
        raise refused("attributes", held.value("attributes"), "names and values") from None


def _old_entries(held: Held) -> tuple[SavedEntry, ...]:
    """Return entries that are each an object of JSON: those of earlier versions, which let every
    name and time pass when they saved."""
    entries, first = [], 0
    for values in held.listed("entries"):
        one = Held(values)
        top, slash, rest = one.text("path").partition("/")
        path = (_PARENT if top == ".." else top) + slash + rest
        entry = SavedEntry(
            path, one.text("kind", _OLD_KINDS), one.whole("mode", 0, RIGHTS),
            one.whole("changed", -_MOST * _SECOND, _MOST * _SECOND), one.whole("size", 0, _MOST),
            one.whole("first", 0, _MOST), one.whole("count", 0, _MOST), one.text("target"),
        )  # fmt: skip
        one.hold("path", _has_bytes(path), "a name that is bytes")
        one.hold("target", _has_bytes(entry.target), "a name that is bytes")
        if entry.count:
            one.hold("first", entry.first == first, str(first))
            one.hold("count", entry.kind == "file" and entry.count <= entry.size, "of its bytes")
            first += entry.count
        entries.append(entry)
    return tuple(entries)


def _has_bytes(name: str) -> bool:
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def checked_entries(entries: Sequence[SavedEntry]) -> None:
    """Raise InputError unless all paths lie below the folder that is restored to, each once, each
    in a folder that is one, and each hard link names an entry before it that is none."""
    kinds: dict[str, str] = {"": "folder"}
    implied: set[str] = set()
    for entry in entries:
        path, kind = entry.path, entry.kind
        above = path.rpartition("/")[0]
        while above not in kinds and _leads_below(path):
            kinds[above] = "folder"
            implied.add(above)
            above = above.rpartition("/")[0]
        seen = path in kinds and not (path in implied and kind == "folder")
        target = kinds.get(entry.target, "folder") if kind == "hardlink" else ""
        odd = kind not in KINDS or target in ("folder", "hardlink")
        if odd or seen or not _leads_below(path) or kinds[path.rpartition("/")[0]] != "folder":
            raise InputError(f"the checkpoint names {path!r}, which cannot be restored")
        kinds[path] = kind
        implied.discard(path)


def _leads_below(path: str) -> bool:
    """Whether a path stays below the folder that it starts at, and is spelled in one way only."""
    if not path or path[0] == "/" or path[-1] == "/" or "//" in path or "\0" in path:
        return False
    if "/." not in path and path[0] != ".":
        return True
    return not {".", ".."} & set(path.split("/"))
