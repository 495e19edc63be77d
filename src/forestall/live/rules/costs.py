"""What actions cost and saved, from the ledger, against doing nothing; node-seconds.

- A drain costs its node from when its effect was seen, and its job was to end, until we brought the
  node back or rebooted it (until now, where we did not), less the outage that was expected without
  it, times the share of the nodes that worked when it was decided on. It saves what its figures
  expected.
- A reboot costs what its figures expected.
- What is done to a promised job costs the cost that was expected of it, and saves that of nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from forestall.live.ledger.rows import IntentRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.model.live.desk import CostTold
from forestall.model.live.intents import ACTING, ROLE_OF, Action, IntentState

_CHOSEN: Final[Mapping[str, str]] = {
    Action.SIGNAL: "cost of a checkpoint now",
    Action.REQUEUE: "cost of start elsewhere from the checkpoint",
    Action.EXCLUDE: "cost of other nodes",
}
"""The figure that says what an answer to a risk was expected to cost (`live.slurm.answers`)."""
_NOTHING: Final = "cost of nothing"


@dataclass
class _Sum:
    proposed: int = 0
    done: int = 0
    spent: float = 0.0
    saved: float = 0.0


@dataclass
class CostBook:
    """Sums over a ledger's intents that read only what is new since they were asked last."""

    ledger: LiveLedger
    _sums: dict[str, _Sum] = field(default_factory=dict)
    _out: dict[str, tuple[int, IntentRow]] = field(default_factory=dict)
    _intents: int = 0
    _states: int = 0

    def told(self, now: int, out: Collection[str] | None = None) -> list[CostTold]:
        """Return the sums of each kind of action that was proposed, by role and action.

        Parameters
        ----------
        now : s since 1970, up to which nodes count that are out of service still
        out : nodes that are out of service by us, as seen; where it is given, nodes that a person
            brought back cost nothing from then on that is not known
        """
        for row in self.ledger.read(IntentRow, after=self._intents):
            self._intents += 1
            self._sums.setdefault(row.action, _Sum()).proposed += 1
        for state in self.ledger.read(StateRow, after=self._states):
            self._states += 1
            if state.state == IntentState.CONFIRMED:
                self._took_effect(state)
        if out is not None:
            self._out = {name: one for name, one in self._out.items() if name in out}
        still = sum(_spent(at, now, drain) for at, drain in self._out.values())
        return [self._cost(action, still) for action in ACTING if action in self._sums]

    def _cost(self, action: Action, still: float) -> CostTold:
        one = self._sums[action]
        spent = one.spent + (still if action is Action.DRAIN else 0)
        return CostTold(
            str(ROLE_OF[action]), str(action), one.proposed, one.done, round(spent, 1),
            round(one.saved, 1),
        )  # fmt: skip

    def _took_effect(self, state: StateRow) -> None:
        row = self.ledger.one(IntentRow, state.intent)
        if row is None:
            return
        one = self._sums[row.action]
        one.done += 1
        if row.action == Action.DRAIN:
            self._out[row.target] = state.at, row
        elif row.action in (Action.RESUME, Action.REBOOT) and row.target in self._out:
            since, drain = self._out.pop(row.target)
            drains = self._sums.setdefault(Action.DRAIN, _Sum())
            drains.spent += _spent(since, state.at, drain)
        spent, saved = _expected(row)
        one.spent, one.saved = one.spent + spent, one.saved + saved


def _spent(since: int, until: int, drain: IntentRow) -> float:
    """Return the node-seconds that a node's time out of service cost, against doing nothing."""
    figures: Mapping[str, float] = drain.figures
    seconds = until - max(since, figures.get("free", 0.0))
    outage = figures.get("until", 0.0) - figures.get("fails at", 0.0)
    anyway = figures.get("probability", 0.0) * max(outage, 0.0)
    return figures.get("busy", 1.0) * max(seconds - anyway, 0.0)


def _expected(row: IntentRow) -> tuple[float, float]:
    """Return what an intent's figures expected it to spend and to save, node-seconds."""
    figures: Mapping[str, float] = row.figures
    if row.action in _CHOSEN:
        return figures.get(_CHOSEN[row.action], 0.0), figures.get(_NOTHING, 0.0)
    if row.action == Action.DRAIN:  # its time out of service is counted as it passes
        return 0.0, figures.get("saved", 0.0)
    return figures.get("spent", 0.0), figures.get("saved", 0.0)


def costs(ledger: LiveLedger, now: int) -> list[CostTold]:
    """Return what each kind of action cost and saved so far, from a whole ledger."""
    return CostBook(ledger).told(now)
