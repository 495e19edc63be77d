"""Whether an engine, driven one event at a time, decides as the simulation did."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from forestall.core.kit.folder import RUN_FOLDER
from forestall.core.kit.log import DECISION_LOG
from forestall.core.kit.output import changed_files
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.own import Own, is_own
from forestall.core.show.blocks import Listing, Table
from forestall.core.show.facts import Fact, taken
from forestall.core.show.quantities import titled
from forestall.core.show.report import Report, Section
from forestall.core.show.result import ShownResult
from forestall.machines.rules.own import Strategy
from forestall.runs.compare import read_summary
from forestall.runs.models import MODELS, model_in
from forestall.scheduling.engine.own import Policy
from forestall.sharing.rules.own import HostScheduler

OF_LOG = frozenset({"events", "decisions", "candidates", "failures foreseen"})
"""The certifiers' checks of what was logged."""


@dataclass(frozen=True, repr=False)
class Replayed(ShownResult):
    """What a replay gave: decisions compared, and the first line that differs (None: none does).

    `line` counts from 1, the header included; `logged` and `replayed` are None past the end.
    `unlike` tells, in words, where the log is not what the tables beside it tell, and which files
    changed since they were written.
    """

    decisions: int
    line: int | None = None
    logged: str | None = None
    replayed: str | None = None
    unlike: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every byte is the same, and the log is that of the tables beside it."""
        return self.same and not self.unlike

    @property
    def same(self) -> bool:
        """Whether every byte is the same."""
        return self.line is None

    @property
    def verdict(self) -> str:
        """Whether decisions are the same, in words."""
        if self.same:
            also = ", but the other files disagree" if self.unlike else ""
            return f"{self.decisions:,} decisions, every byte the same{also}"
        return f"decisions differ, first in line {self.line} of {DECISION_LOG}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as ``forestall replay --json`` prints it."""
        told = taken(self, "same", "decisions", "line", "logged", "replayed")
        return told | {"unlike": list(self.unlike)}

    def _as_report(self) -> Report:
        sections: tuple[Section, ...] = (self._lines(),)
        if self.unlike:
            body = (Listing(self.unlike),)
            sections = (*sections, Section("unlike", "What the other files say", body=body))
        return Report("Replay", f"{titled(self.verdict)}.", sections, closing=())

    def _lines(self) -> Section:
        """Return the line that differs as it was logged and as it came out."""
        lines = {"logged": self.logged, "replayed": self.replayed}
        rows = [(name, "(nothing)" if line is None else line) for name, line in lines.items()]
        fact = Fact("decisions", "Decisions compared", self.decisions, "count")
        table = Table.of("line", ("", "Line"), rows, right=())
        return Section("decisions", "Decisions", facts=(fact,), body=() if self.same else (table,))


def is_ledger(target: str) -> bool:
    """Whether what is to be replayed is the ledger of a live controller, rather than a run's
    folder: a URL, or a file."""
    return "://" in target or Path(target).is_file()


def replay(
    folder: str | Path,
    *,
    policy: str | Policy | None = None,
    strategy: str | Strategy | None = None,
    scheduler: str | HostScheduler | None = None,
) -> Replayed:
    """Replay a run's event log and compare the decisions with `decisions.csv`, byte for byte; and
    check the log against the tables beside it, and all files against their checksums.

    A log cannot hold Python code: a run with its own `policy`, `strategy` or `scheduler` needs it
    again, or its class as "module:Class". Raises TraceError if the folder holds no run with an
    event log, or the code is missing, and ParameterError for any other than the run's.
    """
    folder = Path(folder)
    own = {"policy": policy, "strategy": strategy, "scheduler": scheduler}
    return dataclasses.replace(decided_again(folder, own), unlike=tuple(_unlike(folder)))


def _unlike(folder: Path) -> list[str]:
    """Return where files are not as they were written, or the log not as the tables have it."""
    changed = changed_files(folder, RUN_FOLDER) or {}
    checks = model_in(read_summary(folder)).certified(folder).checks
    failed = [
        f"{one.name}: {one.detail}" for one in checks if one.name in OF_LOG and not one.passed
    ]
    return [*(f"{name} {how}" for name, how in changed.items()), *failed]


def decided_again(folder: Path, given: Mapping[str, Any] | None = None) -> Replayed:
    """Return what a replay of the event log gives; `given` is who decided in Python, by the
    parameter. Nothing but the log is looked at; see `replay` for errors."""
    none = dict.fromkeys(model.decides for model in MODELS.values())
    summary = read_summary(folder)
    own = _own(folder, summary, {**none, **(given or {})})
    path = folder / DECISION_LOG
    try:
        logged = path.read_bytes().decode("utf-8").splitlines(keepends=True)
    except OSError as error:
        why = f"cannot be read: {error.strerror}; simulate with {{log_events}} writes it"
        raise TraceError(path, why) from None
    except UnicodeDecodeError:
        raise TraceError(path, "not text") from None
    replayed = model_in(summary).replayed(folder, own)
    for number, (a, b) in enumerate(zip_longest(logged, replayed), 1):
        if a != b:
            return Replayed(len(replayed) - 1, number, a and a.rstrip("\n"), b and b.rstrip("\n"))
    return Replayed(len(replayed) - 1)


def _own(folder: Path, summary: Mapping[str, Any], asked: Mapping[str, Any]) -> Own | None:
    """Return what decided a run in Python, of what was asked by parameter; TraceError where it is
    missing, and ParameterError where it is another, or of another model."""
    model, own = model_in(summary), None
    made = str(summary["parameters"].get(model.decides, ""))
    for other in MODELS.values():
        what, given = other.decides, asked[other.decides]
        found = other.own(given)
        if given is not None and found is None:
            raise ParameterError(what, given, f"a {what} in Python, spelled module:Class")
        if found is not None and other is not model:
            raise ParameterError(what, found.name, f"none, for a run of the model {model.name}")
        if found is not None and found.name != made:
            allowed = made if is_own(made) else f"none, for a run with the {what} {made}"
            raise ParameterError(what, found.name, allowed)
        own = own or found
    if own is None and is_own(made):
        what = f"the {model.decides} {made} in Python"
        raise TraceError(
            folder, f"was made with {what}, which a log cannot contain; give it to the replay"
        )
    return own
