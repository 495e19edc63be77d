"""What is played: four schedulers on each set of hosts, and runs that tell why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from studies.cycle_sharing.inputs import ALIKE_SET, GENERATED, LANL_SET, OWN_SET, SHAPES

FALCON, SLIDES, CONDOR, OMNISCIENT = "falcon", "falcon-slides", "condor", "omniscient"
SCHEDULERS: Final = (CONDOR, SLIDES, FALCON, OMNISCIENT)
"""Condor-style; Falcon as the slides have it, and as it is here; the omniscient one."""
SCRATCH, HOURLY, CHECKPOINT = "scratch", "hourly", "checkpoint"
RESTARTS: Final = (SCRATCH, HOURLY, CHECKPOINT)
"""Where a job goes on that lost its host: from scratch; from a checkpoint that is made every hour
and costs a minute, as does a restart; from where it was as the owner came back, at no cost (from
the last hour where the host went away)."""

LIKELY, EARLY = 0.5, 0.95
"""Chances to stay for an hour below which guests move: where the host will more likely leave than
not; and at any sign of it."""
MOVING: Final = {
    "hourly, moving": (HOURLY, LIKELY),
    "hourly, moving early": (HOURLY, EARLY),
    "saved to move": (SCRATCH, LIKELY),
    "saved to move early": (SCRATCH, EARLY),
}
"""Restarts with which Falcon's guests move before their hosts leave: the restart that is the same
but for that, and the chance. Those beside "scratch" are saved for a move alone, and start anew
where the owner was quicker; a move costs a minute to save and a minute to restart."""

LOAD: Final = 0.25
LOADS: Final = (0.05, 0.25, 0.5)
"""Run times of all jobs over the time of all hosts: of most runs, and of those over the load."""

SEEN, ALONE, LAW, TRUTH = "as seen", "alone", "law", "truth"
WEEK, ONE = "5 days", "1 day"
SAFE, BLIND, PRESENT, FINE = "no failures", "usual load", "present load", "fine steps"
LEARNINGS: Final = (SEEN, ALONE, LAW, TRUTH, WEEK, ONE, SAFE, BLIND, PRESENT, FINE)
TAKEN: Final = (SAFE, BLIND, PRESENT)
"""What Falcon's forecasts are made from: the last 20 like days of the host, drawn together with the
other hosts'; each host's own past alone; 28 other weeks of the same host, so that
its law is known; what will happen; the last 5 like days or the last one; its own past, but as if no
host ever left; without the present load, or with one that fades over 30 min;
steps of 1 min over a day, the simulator's defaults. Those in `TAKEN` are made of Falcon's own."""
PRESENT_MEMORY: Final = 1800

STEP: Final = 300
HORIZON: Final = 12 * 3600
"""Seconds of a step and of the reach of forecasts, but for `FINE`."""


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes
    ----------
    hosts_of : the set of hosts
    seed : of hosts and jobs
    scheduler, restart, load : see the module
    hosts : how many
    learning : of Falcon as it is here, one of `LEARNINGS`
    """

    hosts_of: str
    seed: int
    scheduler: str
    restart: str = SCRATCH
    load: float = LOAD
    hosts: int = 20
    learning: str = SEEN


@dataclass(frozen=True)
class Plan:
    """How much is played; the default is all of it.

    Attributes
    ----------
    seeds : of hosts and jobs; `few` : how many of them for the runs that tell why
    loads, counts : of jobs; of hosts, beside the sets' own
    days : of generated and up-down hosts; `hosts` : how many at most
    why : whether the runs that tell why are played
    """

    seeds: int = 10
    few: int = 5
    loads: tuple[float, ...] = LOADS
    counts: tuple[int, ...] = (5, 40)
    days: int = 91
    hosts: int = 60
    why: bool = True


QUICK: Final = Plan(seeds=3, few=2, loads=(LOAD,), counts=(), days=35, hosts=6, why=False)


Batch = tuple[Case, ...]
"""Runs that share hosts, and forecasts where they are of the same learning."""


def batches(plan: Plan, real: tuple[str, ...]) -> list[Batch]:
    """Return all runs of a plan, in batches; those of one seed together."""
    found: list[Batch] = []
    for seed in range(1, plan.seeds + 1):
        for name in (*GENERATED, *real):
            base = Case(name, seed, FALCON, hosts=min(SHAPES[name].hosts, plan.hosts))
            found.append((*_main(plan, base), *_moving(plan, base), *_taken(plan, base)))
            if plan.why and seed <= plan.few:
                found += _why(plan, base)
    return found


def _each(base: Case, restarts: tuple[str, ...] = RESTARTS) -> Iterator[Case]:
    """Give a case for each scheduler and restart."""
    for restart in restarts:
        for scheduler in SCHEDULERS:
            yield replace(base, scheduler=scheduler, restart=restart)


def _main(plan: Plan, base: Case) -> Iterator[Case]:
    yield from _each(base)
    if base.seed <= plan.few and base.hosts_of != LANL_SET:
        for load in plan.loads:
            if load != base.load:
                yield from _each(replace(base, load=load), (SCRATCH,))


def _moving(plan: Plan, base: Case) -> Iterator[Case]:
    """Give both Falcons with guests that move."""
    for restart in MOVING if plan.why else ():
        for scheduler in (SLIDES, FALCON):
            yield replace(base, scheduler=scheduler, restart=restart)


def _taken(plan: Plan, base: Case) -> Iterator[Case]:
    """Give Falcon's own forecasts otherwise taken."""
    if plan.why and base.seed <= plan.few and base.hosts_of != LANL_SET:
        for learning in TAKEN:
            for restart in RESTARTS:
                yield replace(base, learning=learning, restart=restart)


def _why(plan: Plan, base: Case) -> Iterator[Batch]:
    """Give other forecasts for Falcon, and other numbers of hosts."""
    name = base.hosts_of
    learnings = [ALONE, TRUTH]
    if name in GENERATED:
        learnings += [LAW, WEEK, ONE]
        learnings += [FINE] if base.seed <= FINE_SEEDS else []
    for learning in learnings:
        moving = [one for one, (_, chance) in MOVING.items() if chance == LIKELY]
        restarts = (*RESTARTS, *(moving if learning == TRUTH else ()))
        yield tuple(replace(base, learning=learning, restart=r) for r in restarts)
    if name in (OWN_SET, ALIKE_SET):
        for count in plan.counts:
            yield tuple(_each(replace(base, hosts=count), (SCRATCH,)))


FINE_SEEDS: Final = 2
"""Seeds with the simulator's own steps, which take five times as long."""
