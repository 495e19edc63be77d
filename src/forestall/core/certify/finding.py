"""Checks of a run: what each looks at, the first case that is wrong in words, and how many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core.show.blocks import Column, Listing, Table
from forestall.core.show.quantities import counted, titled
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult

Run = TypeVar("Run", bound=Any)
PARAMETERS: Final = "parameters."
"""Before the keys of parameters."""
WHOLE_ROWS: Final = "[*]"
"""Among the columns of a file: rows that are there or not."""


class Check(NamedTuple):
    """One check: its name, whether it passed, and what was found."""

    name: str
    passed: bool
    detail: str


class Unchecked(NamedTuple):
    """What nothing else in the folder tells of, so that only the manifest would notice a change.

    Attributes
    ----------
    file : its name
    fields : columns, or keys with dots between them; `*` stands for any, and alone for the file
    why : what is not known of them
    """

    file: str
    fields: tuple[str, ...]
    why: str

    def covers(self, file: str, field: str) -> bool:
        """Return whether a column or key is among these, or is a part of one of them."""
        return file == self.file and any(
            fnmatchcase(field, name) or field.startswith(f"{name}.") for name in self.fields
        )

    def __str__(self) -> str:
        parameters = [f.removeprefix(PARAMETERS) for f in self.fields if f.startswith(PARAMETERS)]
        names = [f for f in self.fields if not f.startswith(PARAMETERS)]
        names = ["whole rows" if name == WHOLE_ROWS else name for name in names]
        names += [f"parameters {', '.join(parameters)}"] if parameters else []
        listed = "" if self.fields == ("*",) else f" ({', '.join(names)})"
        return f"{self.file}{listed}: {self.why}"


class Finding:
    """Collects what is wrong for one check; `jobs` are the names of jobs by their positions."""

    def __init__(self, name: str = "", jobs: npt.NDArray[np.int64] | None = None) -> None:
        self.name, self.jobs = name, jobs
        self.count = 0
        self.first = ""

    def add(self, count: int, text: Callable[[], str]) -> None:
        """Note so many cases, the first of which is told by the text."""
        self.count += count
        if count and not self.first:
            self.first = text()

    def where(self, bad: npt.NDArray[np.bool_], text: str, *labels: Any) -> None:
        """Note every row in which `bad` holds; `labels` fill the placeholders of `text`."""
        rows = np.flatnonzero(bad)
        self.add(rows.size, lambda: text.format(*(label[rows[0]] for label in labels)))

    def wrong(self, text: str, *values: Any) -> None:
        """Note what is wrong whatever the row."""
        self.add(1, lambda: text.format(*values))

    def take(self, other: Finding) -> None:
        """Note what another finding has found."""
        self.add(other.count, lambda: other.first)

    def each(self, wrong: Sequence[str]) -> None:
        """Note what is wrong, in words; the first is shown, and how many more there are."""
        self.add(len(wrong), lambda: wrong[0])

    def all(self, wrong: Sequence[str]) -> None:
        """Note what is wrong, in words, all of which are shown."""
        self.add(bool(wrong), lambda: "; ".join(wrong))

    def check(self, good: str) -> Check:
        """Return the check: passed with `good` as its detail, or failed with what was found."""
        if not self.count:
            return Check(self.name, True, good)
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return Check(self.name, False, self.first + more)


@dataclass(frozen=True)
class Rule(Generic[Run]):
    """Something that holds of every run that can have happened.

    Attributes
    ----------
    name : as the certificate has it
    check : notes in the finding what breaks it, and returns what to say where nothing does
    applies : whether it can be looked at in a run
    """

    name: str
    check: Callable[[Run, Finding], str]
    applies: Callable[[Run], bool] = lambda run: True

    def checked(self, run: Run) -> Check:
        """Return what is found in a run."""
        finding = Finding(self.name, run.jobs.name if hasattr(run, "jobs") else None)
        return finding.check(self.check(run, finding))


@dataclass(frozen=True, repr=False)
class Certificate(ShownResult):
    """What the certifier found.

    Attributes
    ----------
    checks : every check that was made, in order
    node_seconds : the account as computed here (useful, lost, checkpoint_overhead, idle, down,
        total); None where `runs.csv` is missing and the rest does not tell; empty for runs of
        virtual machines and of cycle sharing, which are no matter of whole nodes
    not_checked : what was not checked, for want of `runs.csv` or because files do not tell
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
        failed = sum(not check.passed for check in self.checks)
        return f"{counted(failed, 'check')} failed" if failed else "every check passed"

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``forestall certify --json`` prints it."""
        return {
            "passed": self.passed,
            "checks": [check._asdict() for check in self.checks],
            "not_checked": list(self.all_not_checked),
            "unchecked": [part._asdict() for part in self.unchecked],
        }

    def _as_report(self) -> Report:
        columns: tuple[Column, ...] = (
            ("", "passed", lambda passed: "ok" if passed else "FAILED"),
            ("Check", "name", str), ("What was found", "detail", str),
        )  # fmt: skip
        table = Table.by("checks", columns, self.to_dict()["checks"], right=(), most=0)
        sections = (
            Section("checks", "Checks", body=(table,)),
            Section("not_checked", "Not checked", body=(Listing(self.all_not_checked),)),
        )
        shown = sections if self.all_not_checked else sections[:1]
        return Report("Certificate", f"{titled(self.verdict)}.", shown, closing=())

    def __str__(self) -> str:
        lines = [f"{'ok  ' if c.passed else 'FAIL'} {c.name}: {c.detail}" for c in self.checks]
        return "\n".join([*lines, *(f"not checked: {text}" for text in self.all_not_checked)])


def certificate(
    run: Run,
    rules: Sequence[Rule[Run]],
    not_checked: Iterable[str],
    node_seconds: dict[str, int | None] | None = None,
    unchecked: Iterable[Unchecked] = (),
) -> Certificate:
    """Return what those of the rules find that apply to a run, and what is not checked."""
    checks = tuple(rule.checked(run) for rule in rules if rule.applies(run))
    return Certificate(checks, node_seconds or {}, tuple(not_checked), tuple(unchecked))
