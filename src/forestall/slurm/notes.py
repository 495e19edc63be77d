"""What is found odd while many files with millions of rows are read: counted and named, in little
memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from os import SEEK_END
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.packed import DAMAGES, Damage, Noted
from forestall.core.files.pipes import readable
from forestall.core.model.cleaning import Action, Cleaning
from forestall.core.model.errors import TraceError
from forestall.slurm.records.task_lists import id_text

MOST_NAMED: Final = 100_000
"""Where more rows than this are of one kind, their files are named with how many each has."""


OPEN: Final = "files that may be cut off (no newline at the end)"
_PACKED: Final = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


def ends_open(path: str | Path) -> bool:
    """Return whether a file, if it is not packed, ends in the middle of a line: what Slurm's
    commands write ends with a newline."""
    with readable(path).open("rb") as file:
        if file.read(6).startswith(_PACKED) or file.seek(0, SEEK_END) == 0:
            return False
        file.seek(-1, SEEK_END)
        return file.read(1) != b"\n"


@dataclass
class _OddKind:
    text: str
    action: Action
    found: list[tuple[str, npt.NDArray[np.int64]]] = field(default_factory=list)
    form: str = "{source} line {number}"

    @property
    def count(self) -> int:
        return sum(len(numbers) for _, numbers in self.found)


@dataclass
class OddNotes:
    """Collects what is odd by kind. With `strict`, the first that changes anything is an error."""

    strict: bool = False
    _kinds: dict[str, _OddKind] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether anything was noted."""
        return bool(self._kinds)

    def lines(
        self,
        kind: str,
        text: str,
        action: Action,
        source: str,
        numbers: Iterable[int] | npt.NDArray[np.int64],
        message: str = "",
    ) -> None:
        """Note lines of a file. `text` names the kind in words that begin with a plural (``rows
        with ...``), `message` is what an error says of one.

        Raises TraceError with `strict`, unless the lines are kept as they are.
        """
        found = np.asarray(numbers, dtype=np.int64)
        if not len(found):
            return
        if self.strict and action != "kept":
            raise TraceError(source, message or f"one of the {text}", line=int(found.min()))
        self._kinds.setdefault(kind, _OddKind(text, action)).found.append((source, found))

    def spoilt(self, source: str) -> Noted:
        """Return what notes lines of a file that are no plain text."""

        def note(damage: Damage, lines: Iterable[int]) -> None:
            text, message = DAMAGES[damage]
            self.lines(damage, text, "changed", source, list(lines), message)

        return note

    def jobs(
        self, kind: str, text: str, action: Action, source: str, jobs: npt.NDArray[np.int64]
    ) -> None:
        """Note jobs by their ids, `source` being all that was read; errors as in `lines`."""
        if not len(jobs):
            return
        if self.strict and action != "kept":
            raise TraceError(source, f"job {id_text(int(jobs[0]))} is one of the {text}")
        here = self._kinds.setdefault(kind, _OddKind(text, action, form="job {job}"))
        here.found.append((source, np.asarray(jobs, dtype=np.int64)))

    def file(self, kind: str, text: str, source: str) -> None:
        """Note a whole file (``files whose ...``) that is kept as it is."""
        here = self._kinds.setdefault(kind, _OddKind(text, "kept", form="{source}"))
        here.found.append((source, np.zeros(1, dtype=np.int64)))

    def cleaning(self) -> Cleaning:
        """Return all of it, kinds in the order in which they were first noted."""
        cleaning = Cleaning()
        for name, kind in self._kinds.items():
            if kind.count > MOST_NAMED:
                cleaning = cleaning.plus(
                    name, f"files with {kind.text}", kind.action, _counted(kind)
                )
            else:
                cleaning = cleaning.plus(name, kind.text, kind.action, _named(kind))
        return cleaning


def _counted(kind: _OddKind) -> list[str]:
    counts: dict[str, int] = {}
    for source, numbers in kind.found:
        counts[source] = counts.get(source, 0) + len(numbers)
    return [f"{source} ({count:,} {kind.text.split()[0]})" for source, count in counts.items()]


def _named(kind: _OddKind) -> list[str]:
    named: list[str] = []
    for source, numbers in kind.found:
        named.extend(kind.form.format(source=source, number=one, job=id_text(one))
                     for one in numbers.tolist())  # fmt: skip
    return named
