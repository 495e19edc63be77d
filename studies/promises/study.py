"""What is played: the paper's grid, which part does what, and checks on why results differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from studies.promises.inputs import GENERATED, LOGS, NASA, SDSC, UNCUT
from studies.promises.runs import Case

TENTHS: Final = tuple(i / 10 for i in range(11))
"""0, 0.1, ..., 1, each the double nearest to its decimal."""

SEEDS: Final = tuple(range(1, 11))
FEW: Final = 5
"""Seeds for what is beside the paper: logs that were made, and failures gathered into bursts."""

BURSTS: Final = "grid, bursts"
ABLATION_ACCURACIES: Final = (0.7, 1.0)
ABLATION_RISK: Final = 0.9
NOTHING, WITHOUT_ROOM, PERIODIC, DALY = (
    "nothing",
    "nothing, no room for checkpoints",
    "periodic checkpoints",
    "Daly's checkpoints",
)
ALL_THREE: Final = "all three"
MECHANISMS: Final[dict[str, tuple[bool, bool, bool]]] = {
    "placement": (True, False, False),
    "negotiation": (False, True, False),
    "checkpointing": (False, False, True),
    "placement + negotiation": (True, True, False),
    "placement + checkpointing": (True, False, True),
    "negotiation + checkpointing": (False, True, True),
    ALL_THREE: (True, True, True),
}
"""Which of fault-aware placement, negotiation and risk-based checkpointing each variant has."""

WITH_FIXED: Final[dict[str, str]] = {
    "placement + negotiation, periodic": "periodic",
    "placement + negotiation, Daly's": "daly",
}
VARIANTS: Final = (NOTHING, WITHOUT_ROOM, PERIODIC, DALY, *MECHANISMS, *WITH_FIXED)
PAPER_LOGS: Final = (NASA, SDSC)
MOMENTS: Final = (UNCUT, GENERATED)
"""Logs made to have the moments of the paper's; played in the grid only."""
SHORT_SDSC: Final = 8_000
SHIFTS: Final = tuple(range(30, 360, 30))
POINTS: Final = ((0.0, 0.0), (1.0, 0.9))
"""Without prediction, and with perfect prediction and careful users: (a, U)."""
EARLY: Final = (0.1, 0.9)
"""The lowest accuracy above 0, for which a single log tells little: (a, U)."""


SIZES: Final = "sizes"
SIZES_ACCURACIES: Final = (0.1, 0.3, 1.0)
SIZES_RISK: Final = 0.5
LEAST, NEAR, OFFERS = "least together", "near each other", "offers"
RISKS: Final = (0.0, 0.5, 0.9)
LOOKED_AT: Final = 3
"""Seeds of runs in which each offer is looked at in Python."""
NEAR_RISKS: Final = (0.5, 0.9)
WHERE: Final = {"contiguous": "numbers in a row", "16": "16 nodes at a switch"}
SLACKS: Final[dict[str, float | None]] = {
    "no preference": None,
    "among equal risks": 0.0,
    "whatever users take": 1.0,
}
"""How much nodes near each other count: the probability that is given up for them."""


@dataclass(frozen=True)
class Plan:
    """Which seeds, logs and settings are played; the default is all of them."""

    seeds: Sequence[int] = SEEDS
    logs: Sequence[str] = LOGS
    accuracies: Sequence[float] = TENTHS
    risks: Sequence[float] = TENTHS
    controls: bool = True


def cases(plan: Plan) -> list[Case]:
    """Return all runs of a plan, the paper's grid first."""
    found = list(grid(plan))
    if plan.controls:
        found += [*burst_grid(plan), *ablation(plan), *controls(plan), *placements(plan)]
        found += sizes(plan)
    return found


def grid(plan: Plan) -> Iterator[Case]:
    """Give the paper's sweep: a and U, for each log and each draw of the detectabilities."""
    for log in plan.logs:
        for seed in _seeds(plan, log):
            for accuracy in plan.accuracies:
                for risk in plan.risks:
                    yield Case("grid", log, accuracy, risk, seed)


def _seeds(plan: Plan, log: str) -> Sequence[int]:
    return plan.seeds if log in PAPER_LOGS else plan.seeds[:FEW]


def burst_grid(plan: Plan) -> Iterator[Case]:
    """Give the same sweep with as many failures gathered into bursts."""
    few = replace(plan, seeds=plan.seeds[:FEW], logs=[x for x in plan.logs if x in PAPER_LOGS])
    return (replace(case, study=BURSTS, failures="gathered") for case in grid(few))


def ablation(plan: Plan) -> Iterator[Case]:
    """Give the three mechanisms apart and together, and what is used without prediction.

    All reserve room for checkpoints, whether they take them or not, so that only the mechanisms
    differ; only `WITHOUT_ROOM` does not. Runs without prediction do not depend on the seed.
    """
    for log in (log for log in PAPER_LOGS if log in plan.logs):
        base = Case("ablation", log, 0.0, 0.0, plan.seeds[0], placement="first", room=True)
        yield replace(base, variant=NOTHING, checkpoint="none")
        yield replace(base, variant=WITHOUT_ROOM, checkpoint="none", room=False)
        yield replace(base, variant=PERIODIC, checkpoint="periodic", room=False)
        yield replace(base, variant=DALY, checkpoint="daly", room=False)
        for accuracy in ABLATION_ACCURACIES:
            for seed in plan.seeds:
                yield from _mechanisms(replace(base, accuracy=accuracy, seed=seed))


def _mechanisms(base: Case) -> Iterator[Case]:
    for variant, (placed, negotiated, checkpointed) in MECHANISMS.items():
        placement: str = "fault-aware" if placed else "first"
        checkpoint: str = "risk" if checkpointed else "none"
        yield replace(
            base,
            variant=variant,
            placement=placement,
            risk=ABLATION_RISK if negotiated else 0.0,
            checkpoint=checkpoint,
            room=not checkpointed,
        )
    for variant, checkpoint in WITH_FIXED.items():
        yield replace(
            base,
            variant=variant,
            placement="fault-aware",
            risk=ABLATION_RISK,
            checkpoint=checkpoint,
            room=False,
        )


def controls(plan: Plan) -> Iterator[Case]:
    """Give the runs that tell why: fewer jobs, a repeated log, and other failures of the same
    number."""
    for accuracy, risk in POINTS:
        for seed in plan.seeds if SDSC in plan.logs else ():
            short = Case("8,000 jobs", SDSC, accuracy, risk, seed, jobs=SHORT_SDSC)
            yield short
            yield replace(short, study="8,000 jobs, first at 0", from_zero=True)
        for log in (log for log in plan.logs if log not in MOMENTS):
            for seed in _seeds(plan, log):
                case = Case("repeated", log, accuracy, risk, seed)
                yield replace(case, repeat=True)
                yield replace(case, study="scattered", failures="scattered")
            for shift in SHIFTS:
                case = Case("rolled", log, accuracy, risk, plan.seeds[0])
                yield replace(case, failures="rolled", shift=shift)
    for log in (log for log in plan.logs if log == SDSC):
        for shift in SHIFTS:
            for seed in plan.seeds[:FEW]:
                case = Case("rolled", log, *EARLY, seed)
                yield replace(case, failures="rolled", shift=shift)


def sizes(plan: Plan) -> Iterator[Case]:
    """Give SDSC with its own sizes and with powers of two: without failures, without prediction,
    and with some."""
    for shape in ("log", "powers of two") if SDSC in plan.logs else ():
        base = Case(SIZES, SDSC, 0.0, SIZES_RISK, plan.seeds[0], sizes=shape)
        yield replace(base, failures="none")
        yield base
        for accuracy in SIZES_ACCURACIES:
            for seed in plan.seeds:
                yield replace(base, accuracy=accuracy, seed=seed)


def placements(plan: Plan) -> Iterator[Case]:
    """Give the runs with the set of least risk, those in which each offer is looked at, and those
    with nodes near each other."""
    for log in (log for log in PAPER_LOGS if log in plan.logs):
        for accuracy in ABLATION_ACCURACIES:
            for risk in RISKS:
                for seed in plan.seeds:
                    yield Case(LEAST, log, accuracy, risk, seed, "least", placement="least")
                for seed in plan.seeds[:LOOKED_AT]:
                    yield Case(OFFERS, log, accuracy, risk, seed, watched=True)
            for risk in NEAR_RISKS:
                for seed in plan.seeds[:FEW]:
                    base = Case(NEAR, log, accuracy, risk, seed)
                    for topology in WHERE:
                        for name, slack in SLACKS.items():
                            yield replace(base, variant=name, topology=topology, slack=slack)
