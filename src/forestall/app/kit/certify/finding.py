"""Checks of a run, what each finds (the first case in words, and how many), and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.app.kit.certify.sheet import NONE
from forestall.show.blocks import Column, Listing, Table
from forestall.show.quantities import counted, titled
from forestall.show.report import Report, Section
from forestall.show.result import ShownResult


class Check(NamedTuple):
    """One check: its name, whether it passed, and what was found."""

    name: str
    passed: bool
    detail: str


PARAMETERS: Final = "parameters."
"""Before the keys of parameters."""

WHOLE_ROWS: Final = "[*]"
"""Among the columns of a file: rows that are there or not."""


class Unchecked(NamedTuple):
    """What of a file nothing else in the folder tells of, so that only the manifest would notice
    that it was changed.

    Attributes
    ----------
    file : its name
    fields : columns, or keys with dots between them; `*` stands for any, and alone for all of the
        file
    why : what is not known of them
    """

    file: str
    fields: tuple[str, ...]
    why: str

    def covers(self, file: str, field: str) -> bool:
        """Return whether a column or key is among these, or is a part of one of them."""
        return file == self.file and any(
            fnmatchcase(field, one) or field.startswith(f"{one}.") for one in self.fields
        )

    def __str__(self) -> str:
        given = [one.removeprefix(PARAMETERS) for one in self.fields if one.startswith(PARAMETERS)]
        rest = [one for one in self.fields if not one.startswith(PARAMETERS)]
        rest = ["whole rows" if one == WHOLE_ROWS else one for one in rest]
        told = ", ".join([*rest, *([f"parameters {', '.join(given)}"] if given else ())])
        named = "" if self.fields == ("*",) else f" ({told})"
        return f"{self.file}{named}: {self.why}"


class Told:
    """Values as they stand in a file: empty fields as such, whole parts of a unit in the unit."""

    def __init__(self, values: npt.NDArray[Any], parts: int = 1) -> None:
        self.values, self.parts = values, parts

    def __getitem__(self, row: int) -> str:
        value = self.values[row]
        if value == NONE:
            return "nothing"
        return f"{value}" if self.parts == 1 else f"{value / self.parts}"


class Finding:
    """Collects what is wrong for one check."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.count = 0
        self.first = ""

    def where(self, bad: npt.NDArray[np.bool_], text: str, *labels: Any) -> None:
        """Note every row in which `bad` holds; `labels` fill the placeholders of `text`."""
        rows = np.flatnonzero(bad)
        if rows.size:
            self.count += int(rows.size)
            if not self.first:
                self.first = text.format(*(label[rows[0]] for label in labels))

    def wrong(self, text: str, *values: Any) -> None:
        """Note what is wrong whatever the row."""
        self.where(np.ones(1, dtype=np.bool_), text, *([value] for value in values))

    def take(self, other: Finding) -> None:
        """Note what another finding has found."""
        self.count += other.count
        self.first = self.first or other.first

    def each(self, wrong: Sequence[str]) -> None:
        """Note what is wrong, in words; the first is told, and how many more there are."""
        self.count += len(wrong)
        self.first = self.first or (wrong[0] if wrong else "")

    def all(self, wrong: Sequence[str]) -> None:
        """Note what is wrong, in words, all of which are told."""
        self.each(["; ".join(wrong)] if wrong else [])

    def check(self, good: str) -> Check:
        """Return the check: passed with `good` as its detail, or failed with what was found."""
        if not self.count:
            return Check(self.name, True, good)
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return Check(self.name, False, self.first + more)


@dataclass(frozen=True, repr=False)
class Certificate(ShownResult):
    """What the certifier found.

    Attributes
    ----------
    checks : every check that was made, in order
    node_seconds : the account as computed here (useful, lost, checkpoint_overhead, idle, down,
        total); None where `runs.csv` is missing and the rest does not tell; empty for runs of
        virtual machines and of cycle sharing, which are no matter of whole nodes
    not_checked : what was not checked, for want of `runs.csv` or because files do not tell, in
        words
    unchecked : columns and keys of which nothing else in the folder tells
    """

    checks: tuple[Check, ...]
    node_seconds: dict[str, int | None]
    not_checked: tuple[str, ...] = field(default=())
    unchecked: tuple[Unchecked, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every check that could be made passed."""
        return all(check.passed for check in self.checks)

    @property
    def all_not_checked(self) -> tuple[str, ...]:
        """What was not checked, columns and keys included, in words."""
        return (*self.not_checked, *map(str, self.unchecked))

    @property
    def verdict(self) -> str:
        """Whether all checks passed, in words."""
        failed = sum(not one.passed for one in self.checks)
        return f"{counted(failed, 'check')} failed" if failed else "every check passed"

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``forestall certify --json`` prints it."""
        return {
            "passed": self.passed,
            "checks": [one._asdict() for one in self.checks],
            "not_checked": list(self.all_not_checked),
            "unchecked": [one._asdict() for one in self.unchecked],
        }

    def _as_report(self) -> Report:
        columns: tuple[Column, ...] = (
            ("", "passed", lambda passed: "ok" if passed else "FAILED"),
            ("Check", "name", str), ("What was found", "detail", str),
        )  # fmt: skip
        table = Table.by(
            "checks", columns, [one._asdict() for one in self.checks], right=(), most=0
        )
        sections = (
            Section("checks", "Checks", body=(table,)),
            Section("not_checked", "Not checked", body=(Listing(self.all_not_checked),)),
        )
        told = sections if self.all_not_checked else sections[:1]
        return Report("Certificate", f"{titled(self.verdict)}.", told, closing=())

    def __str__(self) -> str:
        lines = [f"{'ok  ' if c.passed else 'FAIL'} {c.name}: {c.detail}" for c in self.checks]
        return "\n".join([*lines, *(f"not checked: {text}" for text in self.all_not_checked)])
