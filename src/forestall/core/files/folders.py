"""Folders whose files go together: after a kill or a power cut all are old ones, or all new ones.

    FOLDER/.new-XXXX/   files in the making, and what they replace (`.plan`); all on the disk
    FOLDER/.whole/      the same, renamed: from here on the folder is the new one
    FOLDER/             the files, each renamed into its place; `.whole` goes last

What dies before the rename leaves the old files and litter; what dies after it leaves a journal,
which the next command that reads or writes the folder carries out (`mend`). Between the two the
file that says that all others are there is missing, so nobody reads a mixture.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final

from forestall.core.files.atomic import NEW, abandoned, flush, held, is_beside
from forestall.core.model.errors import TraceError, UnwritableError

WHOLE: Final = ".whole"
PLAN: Final = ".plan"
PATIENCE: Final = 10.0
"""s that a command waits for another that puts its files into the same folder."""


def is_left_over(path: Path) -> bool:
    """Return whether this is what a command that was killed left of a folder, or of a file."""
    return path.name.startswith(NEW) or path.name == WHOLE or is_beside(path.name)


@contextmanager
def filling(folder: Path, names: Sequence[str], *, locked: bool = False) -> Iterator[Path]:
    """Give an empty folder; on a clean exit all its files take their places in `folder`, or none.

    A file of `names` that was there before and is not among the new ones goes away. The last of
    `names` is the one that says that all others are there. On an error nothing is left behind.
    `locked`: the caller holds the folder's lock (flock) already.
    Raises UnwritableError, which names the file as it would have stood in `folder`.
    """
    made: list[Path] = []
    try:
        fresh, handle = _fresh(folder, made)
    except OSError as error:
        _remove_empty(made)
        raise TraceError(folder, f"cannot be a folder for results: {error.strerror}") from None
    try:
        if not locked:
            mend(folder)
        _tidy(folder)
        yield fresh
        with nullcontext() if locked else _locked(folder):
            _commit(folder, fresh, names)
        _flush_up(made)
    except OSError as error:
        raise UnwritableError(_asked_for(error, fresh, folder), error) from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        os.close(handle)
        _remove_empty([*made, folder])


def mend(folder: Path) -> None:
    """Carry out what a command that died in the middle of it had begun; who reads a folder of files
    that go together calls it first.

    Raises TraceError where that is needed and cannot be done, as where the folder is another's.
    """
    whole = folder / WHOLE
    if not os.path.lexists(whole):
        return
    try:
        _check_ours(whole)
        with _locked(folder):
            _carry_out(folder)
    except OSError as error:
        why = error.strerror or error
        message = f"was left half-written, and cannot be put right: {why}; its owner's next command"
        raise TraceError(folder, f"{message} does so") from None


def _tidy(folder: Path) -> None:
    """Remove what processes that died had in the making."""
    for path in [one for one in folder.iterdir() if one.name.startswith(NEW)]:
        with abandoned(path) as dead:
            if dead:
                shutil.rmtree(path, ignore_errors=True)


def _check_ours(whole: Path) -> None:
    """Raise PermissionError for a journal of somebody else: it says what is to be removed."""
    with suppress(FileNotFoundError):  # who was at work has finished
        found = whole.lstat()
        if found.st_uid != os.geteuid():
            raise PermissionError(errno.EPERM, "it is another user's")


def _fresh(folder: Path, made: list[Path]) -> tuple[Path, int]:
    """Return a new folder in a folder, and a handle with its lock; `made` takes what was made."""
    while True:
        made += [one for one in (folder, *folder.parents) if not one.exists() and one not in made]
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{NEW}{secrets.token_hex(4)}"
        try:
            fresh.mkdir(mode=0o700)
            handle = os.open(fresh, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # another command gave up, and took the empty folder with it
            continue
        except FileExistsError:
            continue
        if held(fresh, handle):
            return fresh, handle
        os.close(handle)


def _commit(folder: Path, fresh: Path, names: Sequence[str]) -> None:
    there = {path.relative_to(fresh).as_posix() for path in fresh.rglob("*") if not path.is_dir()}
    plan = {"last": names[-1], "gone": [name for name in names if name not in there]}
    (fresh / PLAN).write_text(json.dumps(plan), encoding="utf-8")
    for place, _, files in os.walk(fresh):
        for name in (*files, ""):
            flush(Path(place, name))
    _check_ours(folder / WHOLE)
    _carry_out(folder)  # of one who died since
    os.rename(fresh, folder / WHOLE)
    try:
        _carry_out(folder)
    except OSError:
        raise
    except BaseException:
        _carry_out(folder)  # whoever interrupts leaves a whole folder
        raise


def _carry_out(folder: Path) -> None:
    """Put the files of a journal into their places. It can be broken off and begun again anywhere:
    what is done already is not there any more."""
    whole = folder / WHOLE
    plan = _plan(whole)
    if plan is not None:
        flush(folder)
        last = plan["last"]
        if os.path.lexists(whole / last):
            (folder / last).unlink(missing_ok=True)
        for name in plan["gone"]:
            (folder / name).unlink(missing_ok=True)
        files = [p.relative_to(whole).as_posix() for p in whole.rglob("*") if not p.is_dir()]
        for name in sorted({*files} - {PLAN}, key=lambda name: (name == last, name)):
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(whole / name, folder / name)
        for place in {(folder / name).parent for name in files} | {folder}:
            flush(place)
        (whole / PLAN).unlink()
    shutil.rmtree(whole, ignore_errors=True)


def _plan(whole: Path) -> dict[str, Any] | None:
    """Return what a journal says; None where it is carried out, or is none."""
    try:
        plan = json.loads((whole / PLAN).read_text(encoding="utf-8"))
        names = [plan["last"], *plan["gone"]]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise OSError(errno.EIO, f"{PLAN} cannot be read ({error})") from None
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise OSError(errno.EIO, f"{PLAN} names {name}")
    return dict(plan)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder against others that put files into it. Raises OSError after a while."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    late = time.monotonic() + PATIENCE
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= late:
                    message = "another command is writing there"
                    raise OSError(errno.EBUSY, message) from None
                time.sleep(0.02)
            except OSError:  # no locks here
                break
        yield
    finally:
        os.close(handle)


def _flush_up(made: Sequence[Path]) -> None:
    """Bring the names of folders that were made onto the disk."""
    for one in made:
        flush(one.parent)


def _asked_for(error: OSError, fresh: Path, folder: Path) -> Path:
    """Return the file that an error is about, where it would stand in the end."""
    place = Path(error.source) if isinstance(error, UnwritableError) else fresh
    return folder / place.relative_to(fresh) if place.is_relative_to(fresh) else place


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()  # only an empty one can go
