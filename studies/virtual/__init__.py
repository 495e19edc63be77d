"""Fu and Xu, "Proactive resource management for failure resilient high performance computing
clusters", ARES 2009.

Jobs of many tasks in virtual machines on 256 nodes, nodes chosen by capacity and predicted time to
failure, machines moved before failures: Figures 1 and 2 redrawn at the paper's failure rate and at
3, 10 and 30 times of it, each claim beside what was measured, and where each strategy begins to
pay.
"""

from __future__ import annotations

from typing import Final

from studies.kit.claims import listed
from studies.kit.means import Runs
from studies.kit.study import Results, Session, Study
from studies.virtual.asked import evaluate
from studies.virtual.figures import draw
from studies.virtual.found import Found
from studies.virtual.inputs import Logs, read_logs
from studies.virtual.network import foretold
from studies.virtual.report import sections
from studies.virtual.runs import CHUNK, Given, play_alone
from studies.virtual.study import QUICK, Cell, Plan, cases

__all__ = ["QUICK", "STUDY", "Plan"]

FIELDS: Final = ("name", "section", "claim", "measured", "verdict", "why")


def _play(session: Session[Plan, Logs | None]) -> Found:
    plan, logs = session.plan, session.inputs
    given, said, stamp = Given(plan.days), None, {"days": plan.days, "real": logs is not None}
    if logs is not None:
        said = foretold(logs.real)
        given = Given(plan.days, logs.real.year, said.predictions, logs.jobs)
        stamp |= {} if logs.jobs is None else {"usage": len(logs.jobs)}
    table = session.rows(
        play_alone,
        [(case,) for case in cases(plan, real=logs is not None, usage=given.jobs is not None)],
        given,
        stamp,
        CHUNK,
    )
    return Found(plan, Runs(table, Cell), None if logs is None else logs.real, said, given.jobs)


def _results(found: Found) -> Results:
    claims = evaluate(found)
    return Results(
        claims=claims,
        figures=draw(found),
        tables={"runs": found.runs.table},
        facts={"claims": listed(claims, FIELDS)},
        sections=sections(found, claims),
    )


STUDY: Final = Study(
    paper="S. Fu and C.-Z. Xu: Proactive Resource Management for Failure Resilient High "
    "Performance Computing Clusters, ARES 2009",
    title="Virtual machines: the paper and what came out",
    full=Plan(),
    quick=QUICK,
    read=read_logs,
    play=_play,
    results=_results,
    asked={"usage": lambda path, _quick, _bar: path},
)
