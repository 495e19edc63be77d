"""Fu and Xu, "Proactive resource management for failure resilient high performance computing
clusters", ARES 2009.

Jobs of many tasks in virtual machines on 256 nodes, nodes chosen by capacity and predicted time to
failure, machines moved before failures: Figures 1 and 2 redrawn at the paper's failure rate and at
3, 10 and 30 times of it, each claim beside what was measured, and where each strategy begins to
pay.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.kit.claims import listed
from studies.kit.means import Runs
from studies.kit.study import Results, Session, Study
from studies.virtual.cells import Cell
from studies.virtual.claims import evaluate
from studies.virtual.figures import draw
from studies.virtual.found import Found
from studies.virtual.inputs import DAYS, Real, read_real
from studies.virtual.network import Foretold, foretold
from studies.virtual.report import sections
from studies.virtual.runs import CHUNK, Given, play_alone
from studies.virtual.study import QUICK, Plan, cases

__all__ = ["QUICK", "STUDY", "Plan", "Played"]

FIELDS: Final = ("name", "section", "claim", "measured", "verdict", "why")


@dataclass(frozen=True)
class Inputs:
    """The real failures, for whole years only, and what the network says of them."""

    real: Real | None = None
    said: Foretold | None = None


@dataclass(frozen=True)
class Played:
    """What was played, with which plan and on which real failures."""

    plan: Plan
    found: Found
    real: Real | None = None


def _read(data: Path | None, plan: Plan) -> Inputs:
    if data is None or plan.days != DAYS:
        return Inputs()
    real = read_real(data)
    return Inputs(real, foretold(real))


def _play(session: Session[Plan, Inputs]) -> Played:
    plan, real, said = session.plan, session.inputs.real, session.inputs.said
    table = session.rows(
        play_alone,
        [(case,) for case in cases(plan, real=real is not None)],
        Given(
            plan.days,
            None if real is None else real.year,
            None if said is None else said.predictions,
        ),
        {"days": plan.days, "real": real is not None},
        CHUNK,
    )
    found = Found(
        Runs(table, Cell),
        tuple(plan.rates),
        tuple(plan.more_rates),
        tuple(plan.loads),
        tuple(plan.accuracies),
        said,
    )
    return Played(plan, found, real)


def _results(played: Played) -> Results:
    found = played.found
    claims = evaluate(found)
    return Results(
        claims=claims,
        figures=draw(found),
        tables={"runs": found.runs.table},
        facts={"claims": listed(claims, FIELDS)},
        sections=sections(played.plan, found, claims, played.real),
    )


STUDY: Final = Study(
    paper="S. Fu and C.-Z. Xu: Proactive Resource Management for Failure Resilient High "
    "Performance Computing Clusters, ARES 2009",
    title="Virtual machines: the paper and what came out",
    full=Plan(),
    quick=QUICK,
    read=_read,
    play=_play,
    results=_results,
)
