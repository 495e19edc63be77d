"""What actions cost and saved, from the ledger, against doing nothing; node-seconds.

- A drain costs its node from when its effect was seen, and its job was to end, until we brought the
  node back or rebooted it (until now, where we did not), times the share of the nodes that worked
  when it was decided on; less the outage that was foreseen, as far as that was probable, and, once
  it is known whether it came, all of it or nothing. It is expected to save what its figures say.
- A reboot costs what its figures expected.
- What is done to a promised job costs the cost that was expected of it, and saves that of nothing;
  once the job has ended, what it cost without the risk that was left.

What each came to in the end: `forestall.live.rules.turned_out`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from forestall.core.model.live.desk import CostTold
from forestall.core.model.live.intents import ACTING, ROLE_OF, Action, IntentState
from forestall.live.ledger.failures import LedgerFailures
from forestall.live.ledger.rows import IntentRow, OutcomeRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.turned_out import (
    CHOSEN,
    NOTHING,
    Judged,
    TurnedOut,
    judgeable,
    of_drain,
    of_job,
)


@dataclass
class _Sum:
    proposed: int = 0
    done: int = 0
    spent: float = 0.0
    saved: float = 0.0
    judged: Judged = field(default_factory=Judged)


@dataclass
class _Drain:
    """A drain that took effect at `since`: until when it was of use (`closed`: a reboot or return
    was sent), until when it cost (`back`; -1: that is not known), and what it came to."""

    row: IntentRow
    since: int
    closed: int | None = None
    back: int | None = None
    came_to: TurnedOut | None = None

    def spent(self, now: int) -> float:
        """Return the node-seconds that it cost by `now`, against doing nothing."""
        if self.back == -1:
            return 0.0
        figures: Mapping[str, float] = self.row.figures
        until = now if self.back is None else self.back
        seconds = until - max(self.since, figures.get("free", 0.0))
        outage = max(figures.get("until", 0.0) - figures.get("fails at", 0.0), 0.0)
        share = figures.get("probability", 0.0)
        if self.came_to is not None:
            share = float(self.came_to.came)
        return figures.get("busy", 1.0) * max(seconds - share * outage, 0.0)


@dataclass
class CostBook:
    """Sums over a ledger's intents that read only what is new since they were asked last."""

    ledger: LiveLedger
    failures: LedgerFailures
    _sums: dict[str, _Sum] = field(default_factory=dict)
    _out: dict[str, _Drain] = field(default_factory=dict)
    _drains: list[_Drain] = field(default_factory=list)
    _jobs: dict[str, tuple[IntentRow, int]] = field(default_factory=dict)
    _intents: int = 0
    _states: int = 0

    def told(self, now: int, out: Collection[str] | None = None) -> list[CostTold]:
        """Return the sums of each kind of action that was proposed, by role and action.

        Parameters
        ----------
        now : s since 1970, up to which nodes count that are out of service still
        out : nodes that are out of service by us, as seen; where it is given, nodes that a person
            brought back cost nothing that is not known, and save nothing from then on
        """
        for row in self.ledger.read(IntentRow, after=self._intents):
            self._intents += 1
            self._sums.setdefault(row.action, _Sum()).proposed += 1
        for state in self.ledger.read(StateRow, after=self._states):
            self._states += 1
            self._take(state)
        if out is not None:
            for name in [name for name in self._out if name not in out]:
                drain = self._out.pop(name)
                drain.back, drain.closed = -1, now if drain.closed is None else drain.closed
        self.failures.read()
        self._judge_drains(now)
        self._judge_jobs()
        still = sum(one.spent(now) for one in self._drains)
        return [self._cost(action, still) for action in ACTING if action in self._sums]

    def _cost(self, action: Action, still: float) -> CostTold:
        one = self._sums[action]
        spent = one.spent + (still if action is Action.DRAIN else 0)
        judged, (least, most) = one.judged, one.judged.interval()
        return CostTold(
            str(ROLE_OF[action]), str(action), one.proposed, one.done, round(spent, 1),
            round(one.saved, 1), judged.count, judged.came, round(judged.expected, 1),
            round(judged.saved, 1), round(least, 1), round(most, 1),
        )  # fmt: skip

    def _take(self, state: StateRow) -> None:
        """Take in a state that an intent came into."""
        written = state.state == IntentState.WRITTEN
        if not written and state.state != IntentState.CONFIRMED:
            return
        row = self.ledger.one(IntentRow, state.intent)
        if row is None:
            return
        drain = self._out.get(row.target)
        if drain is not None and row.action in (Action.RESUME, Action.REBOOT):
            drain.closed = state.at if drain.closed is None else drain.closed
        if not written:
            self._took_effect(row, state.at)

    def _took_effect(self, row: IntentRow, at: int) -> None:
        one = self._sums[row.action]
        one.done += 1
        if row.action == Action.DRAIN:
            if row.target in self._out:  # somebody brought it back meanwhile
                before = self._out[row.target]
                before.back, before.closed = -1, at if before.closed is None else before.closed
            self._out[row.target] = _Drain(row, at)
            self._drains.append(self._out[row.target])
        elif row.action in (Action.RESUME, Action.REBOOT) and row.target in self._out:
            self._out.pop(row.target).back = at
        elif judgeable(row):
            self._jobs[row.id] = row, at
        spent, saved = _expected(row)
        one.spent, one.saved = one.spent + spent, one.saved + saved

    def _judge_drains(self, now: int) -> None:
        """Judge drains of which it is known what they came to; those that are over are summed."""
        left = []
        for one in self._drains:
            sums = self._sums[Action.DRAIN]
            if one.came_to is None:
                one.came_to = of_drain(one.row, one.since, one.closed, self.failures)
                if one.came_to is not None:
                    sums.judged.add(one.came_to)
            if one.came_to is not None and one.back is not None:
                sums.spent += one.spent(now)
            else:
                left.append(one)
        self._drains = left

    def _judge_jobs(self) -> None:
        """Judge actions on jobs that have ended."""
        for name, (row, at) in list(self._jobs.items()):
            outcome = self.ledger.one(OutcomeRow, row.promise)
            if outcome is None:
                continue
            del self._jobs[name]
            found = of_job(row, at, outcome, self.ledger, self.failures)
            if found is None:
                continue
            sums = self._sums[row.action]
            sums.judged.add(found)
            if found.spent is not None:
                sums.spent += found.spent - _expected(row)[0]


def _expected(row: IntentRow) -> tuple[float, float]:
    """Return what an intent's figures expected it to spend and to save, node-seconds."""
    figures: Mapping[str, float] = row.figures
    if row.action in CHOSEN:
        return figures.get(CHOSEN[row.action], 0.0), figures.get(NOTHING, 0.0)
    if row.action == Action.DRAIN:  # its time out of service is counted as it passes
        return 0.0, figures.get("saved", 0.0)
    return figures.get("spent", 0.0), figures.get("saved", 0.0)


def costs(ledger: LiveLedger, now: int) -> list[CostTold]:
    """Return what each kind of action cost and saved so far, from a whole ledger."""
    return CostBook(ledger, LedgerFailures(ledger)).told(now)
