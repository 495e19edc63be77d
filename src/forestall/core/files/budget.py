"""How much memory may be taken, and what would take more: refused before it is begun.

The one place that asks the machine. What is free is `MemAvailable`, or what a control group leaves
(containers, batch jobs), whichever is less; 80 % of it may be taken, or so much that the process
has no more than `FORESTALL_MAX_MEMORY` says (`forestall --max-memory`).
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from forestall.core.model.errors import MemoryLimitError
from forestall.core.model.units import parse_size, told_bytes

VARIABLE: Final = "FORESTALL_MAX_MEMORY"
MORE: Final = f"allow more with {{max_memory}} ({VARIABLE})"
SHARE: Final = 0.8
"""Of what is free."""
SLACK: Final = 2 << 30
"""Bytes of address space that libraries take and never touch."""
_PROC: Final = Path("/proc")
_GROUPS: Final = Path("/sys/fs/cgroup")
_UNKNOWN: Final = 1 << 62
_NAMES: Final = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files of control groups of version 2 and 1: limit, use, and of that what can be given back."""


def left() -> int:
    """Return how many bytes may be taken beside those that this process has."""
    given = os.environ.get(VARIABLE)
    if given:
        return max(0, parse_size(given, "max_memory") - held())
    return int(SHARE * free())


def require(
    needed: float,
    what: str,
    *,
    count: int = 0,
    of: str = "",
    hint: str = "",
    source: str | Path = "",
) -> None:
    """Raise MemoryLimitError where `needed` bytes are more than may be taken.

    Parameters
    ----------
    needed : an estimate of what it takes at once
    what : what would take it, in words; parameters that it names stand in braces
    count, of : how many of what that is, where fewer take less in proportion: what fits is told
    hint : what else would help
    source : the file that asks for it, where it is one
    """
    allowed = left()
    if needed > allowed:
        fits = f"at most {int(count * (allowed / needed)):,} {of} fit" if count else ""
        raise refusal(needed, allowed, what, fits, hint, source=source)


def refusal(
    needed: float, allowed: int, what: str, *more: str, source: str | Path = ""
) -> MemoryLimitError:
    """Return the error for what would take more than is allowed; see `require`."""
    takes = f"{what} would take {told_bytes(int(needed))} of memory"
    most = f"{told_bytes(allowed)} may be used"
    told = "; ".join(filter(None, (f"{takes}, and {most}", *more, MORE)))
    return MemoryLimitError(told, needed, allowed, before=f"{source}: " if source else "")


def held() -> int:
    """Return the bytes of memory that this process has, 0 where the system does not tell."""
    try:
        pages = int((_PROC / "self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def free(proc: Path = _PROC, groups: Path = _GROUPS) -> int:
    """Return the bytes that this process could still take; very many where nobody tells.

    `proc` and `groups` are where the system tells of itself and of its control groups.
    """
    found = [_UNKNOWN]
    found += _told(proc, "MemAvailable")
    with suppress(OSError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            number, names, path = line.split(":", 2)
            if number == "0":
                found += _free_of(groups, path, _NAMES[0])
            elif "memory" in names.split(","):
                found += _free_of(groups / "memory", path, _NAMES[1])
    return max(0, min(found))


def _free_of(root: Path, path: str, names: tuple[str, str, str]) -> Iterator[int]:
    """Yield what the limits of a control group and of those around it leave."""
    place = root / path.lstrip("/")
    for folder in (place, *place.parents):
        with suppress(OSError, ValueError):  # no such file, or "max": no limit
            limit, used = (int((folder / name).read_text()) for name in names[:2])
            words = (folder / "memory.stat").read_text().split()
            spare = dict(zip(words[::2], words[1::2], strict=False)).get(names[2], "0")
            yield limit - used + int(spare)
        if folder == root:
            return


@contextmanager
def limited(given: str | None = None, *, held_to_it: bool = True) -> Iterator[None]:
    """Hold what runs within to a limit, and undo that afterwards.

    `given` is a limit as people write it, for this process and those that it starts; None: as the
    environment says. With `held_to_it` the system refuses what is more than all that is free, so
    that an estimate that was wrong ends in a MemoryError and not in the death of some process;
    not for those that start other people's programs, which would be held to it, too.
    """
    before = os.environ.get(VARIABLE)
    if given is not None:
        parse_size(given, "max_memory")
        os.environ[VARIABLE] = given
    try:
        with _backstop() if held_to_it else nullcontext():
            yield
    finally:
        if given is not None:
            os.environ.pop(VARIABLE, None)
            os.environ.update({} if before is None else {VARIABLE: before})


@contextmanager
def _backstop() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = held() + free() + sum(_told(_PROC, "SwapFree")) + SLACK
    lower = most < _UNKNOWN and (soft == resource.RLIM_INFINITY or most < soft)
    if lower:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        if lower:
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _told(proc: Path, name: str) -> list[int]:
    """Return the bytes that the system tells of its memory under a name; none where it does not."""
    with suppress(OSError, ValueError, IndexError):
        lines = (proc / "meminfo").read_text().splitlines()
        return [1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:")]
    return []
