"""Files appear whole or not at all: written beside their place, then renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from forestall.model.errors import UnwritableError


@contextmanager
def atomic_path(path: str | Path, *, sync: bool = False) -> Iterator[Path]:
    """Give a new empty file in the folder of `path`; on a clean exit it is renamed to `path`.

    On an error nothing is left behind and what stood at `path` stays. `sync` also waits until the
    bytes are on the disk. The temporary name keeps the suffixes of `path`, by which writers choose
    a format, but for those by which others take files (`_TAKEN`). Raises UnwritableError, which
    names `path`, where it cannot be written.

    >>> with atomic_path("jobs.csv") as beside:  # doctest: +SKIP
    ...     beside.write_text("job,submit\\n")
    """
    target = Path(path)
    try:
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name[:32]}-", suffix=_kept_suffix(target)
        )
    except OSError as error:
        raise UnwritableError(target, error) from None
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        _open_up(beside)
        if sync:
            _flush(beside)
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in {None, name, beside}:
            raise UnwritableError(target, error) from None
        raise  # what has another name was not about this file


_TAKEN: Final = frozenset({".prom"})
"""Collectors read whatever ends so in their folder, hidden or not."""


def _kept_suffix(target: Path) -> str:
    return "" if target.suffix in _TAKEN else "".join(target.suffixes[-2:])


def _umask() -> int:
    """Return the process's mask. It can only be asked by setting it, which two threads must not do
    at once: so it is asked when the module is loaded."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


_MASK: Final = _umask()


def _open_up(path: Path) -> None:
    """Give the file the rights of an ordinary new one; mkstemp lets only its owner read."""
    path.chmod(0o666 & ~_MASK)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
