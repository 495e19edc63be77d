"""Images of a program on this host's disk: what a checkpoint in the vault is made of, and what is
made of one.

    checkpoint/image.json   how the program is brought back from it
    checkpoint/files/0 ...  files and folders as they were
    checkpoint/process/     the process itself, where it was saved
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from forestall.core.files.atomic import atomic_path, flush
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.acting.held import RunError

FOLDER: Final = "checkpoint"
TOLD, FILES, PROCESS = "image.json", "files", "process"
FORM: Final = 1
TRIES: Final = 5
"""Times that files are copied anew that change meanwhile."""


class ImageError(InputError):
    """A checkpoint that is none of a program, or of another one."""


@dataclass(frozen=True)
class ImageTold:
    """What an image says of itself.

    Attributes
    ----------
    name, words, cwd : the run, its command line and where it works
    method : how it was saved
    paths : where its files belong, in order; "": there was none
    ran : s that the program had run in all
    boot : of the machine when it was made: after another one nobody knows what reached its disk
    after : the newest checkpoint in the vault when it was made
    """

    name: str
    words: tuple[str, ...]
    cwd: str
    method: str
    paths: tuple[str, ...] = ()
    ran: float = 0.0
    boot: str = ""
    after: str = ""

    def write(self, image: Path) -> None:
        """Write it into an image. Raises OSError."""
        text = json.dumps({"form": FORM, **asdict(self)})
        with atomic_path(image / TOLD) as beside:  # from then on it is an image
            beside.write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, image: Path) -> ImageTold:
        """Return what an image says. Raises ImageError."""
        try:
            told = json_of((image / TOLD).read_bytes())
            if not isinstance(told, dict) or told.pop("form", None) != FORM:
                raise ImageError(f"{image} has another format than {FORM}")
            made = record_of(cls, told)
        except (OSError, ValueError, ParameterError) as error:
            raise ImageError(f"{image} is not an image of a program: {error}") from None
        for path in made.paths:
            if (path and os.path.normpath(path) != path) or "\0" in path:
                raise ImageError(f"the image names {path!r}, where nothing can be written")
        return made


def fresh_image(place: Path) -> Path:
    """Return a new empty image below a folder; what lay there is removed. Raises OSError."""
    image = place / FOLDER
    remove_image(place)
    (image / FILES).mkdir(parents=True, mode=0o700)
    return image


def remove_image(place: Path) -> None:
    """Remove the image below a folder, and that; one that is half gone is none."""
    with suppress(OSError):
        (place / FOLDER / TOLD).unlink()
    shutil.rmtree(place, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Return the bytes below a folder."""
    return sum(
        os.lstat(os.path.join(where, name)).st_size
        for where, _, names in os.walk(folder) for name in names
    )  # fmt: skip


def keep_files(paths: Sequence[Path], image: Path) -> tuple[str, ...]:
    """Copy files and folders into an image; return where they belong, "" for those that are not
    there. Raises RunError where one changes all the time, OSError."""
    kept = []
    for number, path in enumerate(paths):
        there = os.path.lexists(path)
        if there:
            _copied(path, image / FILES / str(number))
        kept.append(os.path.normpath(path.absolute()) if there else "")
    return tuple(kept)


def _copied(path: Path, to: Path) -> None:
    for _ in range(TRIES):
        before = signature([path])
        if path.is_dir():
            shutil.copytree(path, to, symlinks=True, copy_function=_copy)
        else:
            _copy(path, to)
        if signature([path]) == before:
            return
        shutil.rmtree(to) if to.is_dir() else to.unlink()
    raise RunError(f"{path} changes while it is copied; the program must leave it alone meanwhile")


def _copy(path: str | Path, to: str | Path) -> None:
    """Copy a file with its rights and times, holes as holes; without copying where the file system
    knows how."""
    with open(path, "rb") as file, open(to, "wb") as copy:
        size, at = os.fstat(file.fileno()).st_size, 0
        copy.truncate(size)
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                end = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            except OSError:
                break  # a hole to the end
            while at < end:
                done = _some(file.fileno(), copy.fileno(), at, end - at)
                if not done:
                    return  # it was cut meanwhile
                at += done
    shutil.copystat(path, to)


def _some(source: int, target: int, at: int, count: int) -> int:
    try:
        return os.copy_file_range(source, target, count, at, at)
    except OSError:
        return os.pwrite(target, os.pread(source, min(count, 1 << 20), at), at)


def printed(told: ImageTold, image: Path, usual: Sequence[Path]) -> list[tuple[Path, int]]:
    """Return the files that a program prints into, and how much had been printed when it was saved.
    It goes on in the folder where it was first begun, which need not be that of the `usual` ones.
    """
    found = {path: (path, 0) for path in usual}
    for number, path in enumerate(map(Path, told.paths)):
        for one in usual:
            if (path.parent.name, path.name) == (told.name, one.name):
                found[one] = path, (image / FILES / str(number)).stat().st_size
    return list(found.values())


def signature(paths: Sequence[Path]) -> tuple[tuple[Any, ...], ...]:
    """Return what changes when files do: their times, sizes and numbers."""
    found: list[tuple[Any, ...]] = []
    for path in paths:
        inside = [path]
        if path.is_dir() and not path.is_symlink():
            inside += sorted(path.rglob("*"))
        for one in inside:
            try:
                seen = one.lstat()
            except OSError:
                found.append((str(one), None))
                continue
            sized = None if stat.S_ISDIR(seen.st_mode) else seen.st_size
            found.append((str(one), seen.st_mtime_ns, sized, seen.st_ino))
    return tuple(found)


def put_back(told: ImageTold, image: Path, to: Sequence[Path] | None = None) -> None:
    """Put the files of an image where they belong, or to other paths; each appears at once.

    Raises RunError where one cannot be put there.
    """
    targets = [Path(path) for path in told.paths] if to is None else list(to)
    if len(targets) != len(told.paths):
        raise ImageError(f"the checkpoint has {len(told.paths)} files and folders, but "
                         f"{len(targets)} are named")  # fmt: skip
    for number, target in enumerate(targets):
        if told.paths[number]:
            beside = target.parent / f".{target.name}-{secrets.token_hex(4)}"
            try:
                _put(image / FILES / str(number), target, beside)
            except OSError as error:
                shutil.rmtree(beside, ignore_errors=True)
                with suppress(OSError):
                    beside.unlink()
                said = error.strerror or error
                raise RunError(f"{target} cannot be put back: {said}") from None


def _put(source: Path, target: Path, beside: Path) -> None:
    """Copy a file or folder beside its place, then take that. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        with atomic_path(target) as new:
            _copy(source, new)
        return
    shutil.copytree(source, beside, symlinks=True, copy_function=_copy)
    if target.exists():
        old = target.parent / f"{beside.name}-old"
        target.rename(old)
        beside.rename(target)
        shutil.rmtree(old)
    else:
        beside.rename(target)
    flush(target.parent)
