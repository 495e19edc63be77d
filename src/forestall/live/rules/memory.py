"""What the rules remember: jobs that failed at once, nodes that went down, what we did to nodes
before, and how often predictors were right.

Bounded: what is older than a rule looks back is forgotten; what we did is read from the ledger, so
that a restart knows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.core.model.live.intents import Action, IntentState
from forestall.live.ledger.rows import IntentRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.rules.settings import RuleSettings
from forestall.live.slurm.outlook import is_ours
from forestall.prediction.watching.foreseen import NodeForecast, parts_of
from forestall.slurm.cluster.nouns import ClusterView

FAILED: Final = frozenset({"FAILED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY"})
"""States of a run that failed."""
PRIOR: Final = 2.0
"""Failures that a predictor is taken to have foretold, and rightly, before it is known."""


class QuickFailure(NamedTuple):
    """A run that failed soon after it began: when it ended, where, and whose it was (user and name
    of the job)."""

    at: int
    node: str
    job: int
    whose: tuple[str, str]


class _Said(NamedTuple):
    """A failure that was foretold: by whom, how probable, and until when it must come, s."""

    by: str
    probability: float
    until: int


@dataclass
class Record:
    """How often failures came that a predictor foretold: the sum of what it said, and how many
    came."""

    said: float = 0.0
    came: int = 0

    @property
    def trust(self) -> float:
        """By what its probabilities are to be multiplied: (came + 2) / (said + 2), at most 1."""
        return min((self.came + PRIOR) / (self.said + PRIOR), 1.0)


@dataclass
class NodeMemory:
    """What is remembered of nodes, from looks and from the ledger.

    Attributes
    ----------
    records : of predictors, by name
    drains : when we drained each node, s, oldest first
    """

    settings: RuleSettings
    records: dict[str, Record] = field(default_factory=dict)
    drains: dict[str, list[int]] = field(default_factory=dict)
    _quick: deque[QuickFailure] = field(default_factory=deque)
    _met: dict[tuple[int, int], int] = field(default_factory=dict)
    _down: frozenset[str] | None = None
    _said: dict[str, _Said] = field(default_factory=dict)
    _read: int = 0

    def look(self, seen: ClusterView, outlook: Mapping[str, NodeForecast], now: int) -> None:
        """Take in what a look shows, and what was foreseen at it."""
        self._take_runs(seen, now)
        down = frozenset(name for name, node in seen.nodes.items() if node.down)
        fell = down - self._down if self._down is not None else frozenset()
        self._down = down
        self._score(fell, now)
        for name, one in parts_of(outlook):
            ahead = one.curve or one.at > now
            if name not in self._said and name not in down and ahead and not is_ours(one):
                until = one.over(now)
                self._said[name] = _Said(one.by, one.risk(now, until), until)

    def _score(self, fell: frozenset[str], now: int) -> None:
        """Settle what was foretold: it came, or its time is over."""
        for name, said in list(self._said.items()):
            if name not in fell and now <= said.until:
                continue
            del self._said[name]
            record = self.records.setdefault(said.by, Record())
            record.said += said.probability
            record.came += name in fell

    def trust(self, by: str) -> float:
        """Return by what a predictor's probabilities are to be multiplied, from 0 to 1."""
        return self.records.get(by, Record()).trust

    def learned(self) -> dict[str, list[float]]:
        """Return the records as plain data: what was said, and what came."""
        return {by: [one.said, float(one.came)] for by, one in sorted(self.records.items())}

    def take_over(self, learned: Mapping[str, Iterable[float]]) -> None:
        """Go on from the records that `learned` returned."""
        for by, told in learned.items():
            said, came = told
            self.records[by] = Record(float(said), int(came))

    # ------------------------------------------------------------------- jobs that fail at once

    def _take_runs(self, seen: ClusterView, now: int) -> None:
        for one in _failures(seen, self.settings.quick):
            key = (one.job, one.at)
            if key not in self._met and one.at > now - self.settings.eats_within:
                self._met[key] = one.at
                self._quick.append(one)
        least = now - self.settings.eats_within
        self._quick = deque(one for one in self._quick if one.at > least)
        self._met = {key: at for key, at in self._met.items() if at > least}

    def eaten(self) -> dict[str, list[QuickFailure]]:
        """Return the jobs that failed at once on each node lately, and that is the node's doing:
        the same user's job of the same name did not fail so on two other nodes or more."""
        where: dict[tuple[str, str], set[str]] = {}
        for one in self._quick:
            where.setdefault(one.whose, set()).add(one.node)
        found: dict[str, list[QuickFailure]] = {}
        for one in self._quick:
            if len(where[one.whose]) <= 2:
                found.setdefault(one.node, []).append(one)
        return found

    # ------------------------------------------------------------------- what we did before

    def read(self, ledger: LiveLedger, now: int) -> None:
        """Take in the drains that took effect since the ledger was read last."""
        for row in ledger.read(StateRow, after=self._read):
            self._read += 1
            recent = row.at > now - self.settings.repeats_within
            if row.state == IntentState.CONFIRMED and recent:
                self._drained(ledger.one(IntentRow, row.intent), row.at)
        least = now - self.settings.repeats_within
        self.drains = {
            name: kept for name, times in self.drains.items()
            if (kept := [at for at in times if at > least])
        }  # fmt: skip

    def _drained(self, intent: IntentRow | None, at: int) -> None:
        if intent is not None and intent.action == Action.DRAIN:
            self.drains.setdefault(intent.target, []).append(at)


def _failures(seen: ClusterView, quick: int) -> Iterator[QuickFailure]:
    """Yield runs on one node that failed sooner than in `quick` seconds, of the queue and of
    accounting."""
    names = {job.id: job.name for job in seen.jobs.values()}
    rows: Iterable[tuple[int, str, str, str, int | None, int | None, tuple[str, ...]]] = [
        *((job.id, job.user, job.name, job.state, job.start, job.end, job.nodes)
          for job in seen.jobs.values()),
        *((run.job, run.user, names.get(run.job, ""), run.state, run.start, run.end, run.nodes)
          for run in seen.runs),
    ]  # fmt: skip
    for job, user, name, state, start, end, nodes in rows:
        if state not in FAILED or len(nodes) != 1 or start is None or end is None:
            continue
        if 0 <= end - start < quick:
            yield QuickFailure(end, nodes[0], job, (user, name or f"job {job}"))
