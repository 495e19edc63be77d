"""What may be done for a promise at risk, what each of it costs, and the cheapest.

All costs are expected losses in node-seconds. Source: page "Live", Holding a promise; doing a
checkpoint where p times the work at stake is worth its pause: Oliner et al., DSN 2005, Equation 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from forestall.core.model.live.intents import Action

PAUSE: Final = 60
"""s that a checkpoint is reckoned to take."""

LIKELY: Final = 0.5
"""Of a failure: from this on a job is sent elsewhere also where it may be late there."""


@dataclass(frozen=True)
class AtRisk:
    """A promised job of which a node is foreseen to fail before it ends.

    Attributes
    ----------
    size : nodes
    now, fails_at : s
    probability : of that failure
    start, end : of its run, or of its reservation where it waits, s
    saved : up to when its work is safe, s; `start` where it never did a checkpoint
    running : whether it runs
    delay : s until it could start on other nodes, -1 where nobody knows
    deadline : s
    may : what its owner agreed to
    """

    size: int
    now: int
    fails_at: int
    probability: float
    start: int
    end: int
    saved: int
    running: bool
    delay: int
    deadline: int
    may: frozenset[str]


@dataclass(frozen=True)
class RiskAnswer:
    """Something that may be done, None: nothing; what it is expected to cost, node-seconds; and
    in words."""

    action: Action | None
    cost: float
    words: str


def answers(one: AtRisk) -> list[RiskAnswer]:
    """Return what may be done, the cheapest first; of equal ones what does less."""
    again = max(one.delay, 0)
    risk = one.probability * one.size
    stake = max(one.fails_at - max(one.saved, one.start), 0)
    found = [RiskAnswer(None, risk * (stake + again), "nothing")]
    if not one.running:
        if "exclude" in one.may and one.delay >= 0 and _in_time(one, one.end - one.start):
            later = max(one.now + one.delay - one.start, 0)
            found.append(RiskAnswer(Action.EXCLUDE, float(one.size * later), "other nodes"))
    else:
        if "signal" in one.may and one.now > one.saved:
            left = one.fails_at - one.now
            cost = one.size * PAUSE + risk * (left + again)
            found.append(RiskAnswer(Action.SIGNAL, cost, "a checkpoint now"))
        to_do = one.end - one.saved
        likely = one.probability >= LIKELY
        if "requeue" in one.may and one.delay >= 0 and (likely or _in_time(one, to_do)):
            cost = float(one.size * (one.now - one.saved + one.delay))
            found.append(RiskAnswer(Action.REQUEUE, cost, "start elsewhere from the checkpoint"))
    return sorted(found, key=lambda answer: answer.cost)


def figures(one: AtRisk, all_of_it: list[RiskAnswer]) -> Mapping[str, float]:
    """Return the numbers behind a choice."""
    told = {f"cost of {answer.words}": round(answer.cost, 1) for answer in all_of_it}
    return {**told, "probability": one.probability, "fails at": float(one.fails_at)}


def _in_time(one: AtRisk, to_do: int) -> bool:
    """Whether the job would be done by its deadline on other nodes, or is late in any case."""
    return one.now + one.delay + to_do <= one.deadline or one.end > one.deadline
