"""What is known of a format that is fuzzed, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz.judge import REFUSED, USABLE
from fuzz.mutate import Mutator


@dataclass(frozen=True)
class Format:
    """A kind of file, a good one, and who reads it.

    Attributes
    ----------
    name : of the format
    make : writes a good example, and what stands beside it, into an empty folder
    files : which of these files are damaged (paths within the folder, or patterns of `Path.glob`)
    mutator : what damages one
    commands : lines of `forestall` that read it, with the folder as the working directory;
        ``{file}`` is the damaged file
    made : lines that are run after `make`, to have files that commands write
    codes : exit codes that are documented for damaged files
    slow : more such lines, whose kernels take long to compile: `make test` leaves them out
    writes : whether its commands change what stands in the folder
    heavy : whether a command takes so long that `make test` leaves the format out
    """

    name: str
    make: Callable[[Path], object]
    files: tuple[str, ...]
    mutator: Mutator
    commands: tuple[str, ...]
    made: tuple[str, ...] = ()
    codes: tuple[int, ...] = (USABLE, REFUSED)
    slow: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All command lines."""
        return (*self.commands, *self.slow)

    writes: bool = False
    heavy: bool = False


def by_name(*tables: tuple[Format, ...]) -> dict[str, Format]:
    """Return formats by name; each has one of its own."""
    found = [one for table in tables for one in table]
    names = {one.name: one for one in found}
    assert len(names) == len(found), "two formats have one name"
    return names
