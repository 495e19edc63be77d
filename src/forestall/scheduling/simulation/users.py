"""Users who bargain in a run: each is shown offers, takes one, asks again, or leaves.

Paper 000 (Oliner et al., DSN 2005), Section 4, has one strategy U for all users: the first offer
that is probable enough. Here each has a least probability, patience and a value of its own, and
asks by deadlines, as in its Section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of, records
from forestall.core._lazy import lazily
from forestall.core.model.quotes import Quote
from forestall.core.model.users import Population
from forestall.core.streams import stream
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.plugin import Plugin
from forestall.scheduling.engine.state import State
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.prepare import Workload

with lazily():
    from forestall.scheduling.engine import promise_entry_kernels, reserved_entry_kernels

BARGAIN: Final = record_of(
    "kind least:f8 soonest latest value:f8 asked shown row deadline probability:f8 worth:f8"
)
"""A user's job: kind of user; least probability taken; deadline of a job
that starts at once, and the latest that would do, s; value of
the job done at once; how often offers were asked for, and how many were shown last; which of them
was taken, from 1 (0: none, the user left); its deadline (-1), probability; what is left of the
value at that deadline."""


@dataclass(frozen=True)
class User:
    """A user with a job: least probability taken, s that it may end later than at once, value of
    the job done at once, and how often offers are asked for at most."""

    least: float
    slack: int
    value: float
    rounds: int

    def left_of_value(self, late: int) -> float:
        """Return what the job is worth where it ends so many s later than at once."""
        return self.value * (1.0 - late / self.slack) if late else self.value


@dataclass(frozen=True)
class Deal:
    """What came of it; see `BARGAIN`. `offer` is None where the user left."""

    asked: int
    shown: int
    row: int = 0
    offer: Quote | None = None
    worth: float = 0.0


def bargain(user: User, soonest: int, ask: Callable[[int], list[Quote]]) -> Deal:
    """Let a user bargain, who is shown by `ask` the offers that end by a deadline.

    `soonest` is when the job ends that starts at once, s. The first deadline asked for leaves a
    small part of the slack, and each later one twice as much, up to all of it. Of the offers that
    are probable enough the user takes that with the highest expected value, of equal ones the
    first; where there is none, the user asks again, and leaves in the end.
    """
    asked, before, shown = 0, -1, 0
    for left in range(user.rounds - 1, -1, -1):
        extra = user.slack >> left
        if extra == before:
            continue  # the same question
        before, asked = extra, asked + 1
        found = ask(soonest + extra)
        shown = len(found)
        best: Deal | None = None
        for row, one in enumerate(found, 1):
            worth = user.left_of_value(one.deadline - soonest)
            enough = one.probability >= user.least
            if enough and (best is None or worth * one.probability > _expected(best)):
                best = Deal(asked, shown, row, one, worth)
        if best is not None:
            return best
    return Deal(asked, shown)


def _expected(deal: Deal) -> float:
    assert deal.offer is not None
    return deal.worth * deal.offer.probability


@dataclass(frozen=True)
class Traits:
    """What is drawn of each job's user: kind, least probability, patience in lengths of the job,
    value of a node-hour, rounds; arrays[n]."""

    kind: npt.NDArray[np.int64]
    least: npt.NDArray[np.float64]
    patience: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]
    rounds: npt.NDArray[np.int64]


def traits_of(population: Population, workload: Workload, seed: int) -> Traits:
    """Draw the users of all jobs. Those whose names a log tells are the same in all their jobs;
    each trait is drawn from a stream of its own, in order of the users' first jobs."""
    names = workload.jobs.user
    who = np.arange(len(workload.jobs))
    if names is not None:
        numbers: dict[str, int] = {}
        who = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    people = int(who.max()) + 1
    kinds = population.kinds
    ends = np.cumsum([one.share for one in kinds])
    place = stream(seed, "users", "kind").random(people) * ends[-1]
    kind = np.minimum(np.searchsorted(ends, place, side="right"), len(kinds) - 1).astype(np.int64)

    def drawn(name: str) -> npt.NDArray[np.float64]:
        low, high = np.array([getattr(one, name) for one in kinds], np.float64).T
        part = stream(seed, "users", name).random(people)
        found: npt.NDArray[np.float64] = (low[kind] + (high - low)[kind] * part)[who]
        return found

    rounds = np.array([one.rounds for one in kinds], np.int64)[kind]
    return Traits(kind[who], drawn("least"), drawn("patience"), drawn("value"), rounds[who])


class Bargains:
    """The bargains of a run, one after the other."""

    def __init__(
        self, population: Population, workload: Workload, seed: int, plugin: Plugin | None
    ) -> None:
        self._traits = traits_of(population, workload, seed)
        self._work, self._plugin = workload, plugin
        self._engine: Engine | None = None
        self.made: npt.NDArray[Any] = records(len(workload.jobs), BARGAIN)

    def meet(self, state: State, world: worlds.World) -> State:
        """Show offers to the user whose job is about to be submitted. Return the state in which
        the next submission gets what was taken; where the user leaves, the job never comes."""
        at, j = world.at, int(world.at[worlds.ARRIVED])
        jobs, traits = self._work.jobs, self._traits
        now, size, runtime = int(jobs.submit[j]), int(jobs.size[j]), int(jobs.runtime[j])
        told = int(self._work.estimate[j]), int(self._work.interval[j])
        pause = int(self._work.pause[j])
        if self._engine is None:
            self._engine = Engine.over(state, plugin=self._plugin)
        engine = self._engine
        engine.state = state
        reserved_entry_kernels.move_on(state, now)
        length = int(promise_entry_kernels.length_for(*told, pause, state.rules.checkpoint))
        worth = float(traits.value[j]) * size * runtime / 3600
        slack = round(float(traits.patience[j]) * length)
        user = User(float(traits.least[j]), slack, worth, int(traits.rounds[j]))
        deal = bargain(
            user, now + length, lambda by: engine.offers(size, *told, now, by=by, pause=pause)
        )
        kept = self.made[j]
        kept["kind"], kept["least"] = traits.kind[j], user.least
        kept["soonest"], kept["latest"] = now + length, now + length + slack
        kept["value"] = worth
        kept["asked"], kept["shown"], kept["row"] = deal.asked, deal.shown, deal.row
        kept["deadline"], world.clock[worlds.MEETS] = -1, j + 1
        if deal.offer is None:
            at[worlds.ARRIVED] += 1
            at[worlds.LEFT] -= 1
            return state
        chance = deal.offer.probability
        kept["deadline"], kept["probability"] = deal.offer.deadline, chance
        kept["worth"] = deal.worth
        # An offer is the first that is so probable: who wants no less gets just that.
        return state._replace(rules=state.rules._replace(wanted=chance))
