"""Whether an engine, driven one event at a time, decides as the simulation did."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from forestall.app.kit.log import DECISION_LOG
from forestall.app.promise.own_policy import own_policy
from forestall.app.runs.compare import read_summary
from forestall.app.runs.models import model_in
from forestall.decide.cycle.own import HostScheduler
from forestall.decide.virtual.own import Strategy
from forestall.engine.promise.own import Policy
from forestall.model.errors import ParameterError, TraceError
from forestall.show.blocks import Table
from forestall.show.facts import Fact
from forestall.show.quantities import titled
from forestall.show.report import Report, Section
from forestall.show.shown import Shown


@dataclass(frozen=True)
class Replayed:
    """What a replay gave: decisions compared, and the first line that differs (None: none does).

    `line` counts from 1, the header included; `logged` and `replayed` are None past the end.
    """

    decisions: int
    line: int | None = None
    logged: str | None = None
    replayed: str | None = None

    @property
    def same(self) -> bool:
        """Whether every byte is the same."""
        return self.line is None

    @property
    def verdict(self) -> str:
        """Whether decisions are the same, in words."""
        if self.same:
            return f"{self.decisions:,} decisions, every byte the same"
        return f"decisions differ, first in line {self.line} of {DECISION_LOG}"

    @property
    def report(self) -> Shown:
        """It as text, page, JSON or Markdown; a notebook shows it."""
        return Shown(Report("Replay", f"{titled(self.verdict)}.", (self._lines(),), closing=()))

    def _lines(self) -> Section:
        """Return the line that differs as it was logged and as it came out."""
        lines = {"logged": self.logged, "replayed": self.replayed}
        rows = [(name, "(nothing)" if line is None else line) for name, line in lines.items()]
        fact = Fact("decisions", "Decisions compared", self.decisions, "count")
        table = Table.of("line", ("", "Line"), rows, right=())
        return Section("decisions", "Decisions", facts=(fact,), body=() if self.same else (table,))


def replay(
    folder: str | Path,
    *,
    policy: str | Policy | None = None,
    strategy: Strategy | None = None,
    scheduler: HostScheduler | None = None,
) -> Replayed:
    """Replay a run's event log and compare the decisions with `decisions.csv`, byte for byte.

    A log cannot hold what was decided in Python: such a run needs its `policy` (or the spelling of
    its class), `strategy` or `scheduler` again. Raises TraceError where the folder holds no run
    with an event log, or what decided is missing, and ParameterError for another than the run's.
    """
    folder = Path(folder)
    summary, given = read_summary(folder), own_policy(policy)
    if policy is not None and given is None:
        raise ParameterError("policy", policy, "a policy in Python, spelled module:Class")
    own = _own(str(summary.get("model", "promise")), given, strategy, scheduler)
    path = folder / DECISION_LOG
    try:
        logged = path.read_bytes().decode("utf-8").splitlines(keepends=True)
    except OSError as error:
        why = f"cannot be read: {error.strerror}; simulate with {{log_events}} writes it"
        raise TraceError(path, why) from None
    except UnicodeDecodeError:
        raise TraceError(path, "is no text") from None
    replayed = model_in(summary).replayed(folder, own)
    for number, (a, b) in enumerate(zip_longest(logged, replayed), 1):
        if a != b:
            return Replayed(len(replayed) - 1, number, a and a.rstrip("\n"), b and b.rstrip("\n"))
    return Replayed(len(replayed) - 1)


def _own(
    model: str, policy: Policy | None, strategy: Strategy | None, scheduler: HostScheduler | None
) -> Policy | Strategy | HostScheduler | None:
    """Return what decided a run in Python; ParameterError for what its model does not have."""
    by_model = {"promise": policy, "virtual": strategy, "cycle": scheduler}
    names = {"promise": "policy", "virtual": "strategy", "cycle": "scheduler"}
    for other, one in by_model.items():
        if one is not None and other != model:
            said = type(one).__name__
            raise ParameterError(names[other], said, f"none, for a run of the model {model}")
    return by_model.get(model)
