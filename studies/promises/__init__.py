"""Oliner et al., "Probabilistic QoS Guarantees for Supercomputing Systems", DSN 2005.

Two job logs of 10,000 jobs on 128 nodes, a year of 1,021 failures, prediction accuracy a and user
risk strategy U from 0 to 1: Figures 1 to 12 redrawn, each claim beside what was measured, what
each mechanism does, and whether the promises are honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

import forestall as fs
from studies.kit.study import Results, Session, Study
from studies.kit.text import report as told
from studies.promises import placements, report
from studies.promises.asked import evaluate
from studies.promises.figures import draw
from studies.promises.inputs import SDSC, Inputs, read_inputs
from studies.promises.runs import play_all, promises_table, runs_table
from studies.promises.sizes import size_claims
from studies.promises.study import BURSTS, EARLY, PAPER_LOGS, Plan, cases
from studies.promises.surface import gains_elsewhere, surface

__all__ = ["STUDY", "Found", "Plan"]

PAPER: Final = (
    "Oliner, Rudolph, Sahoo, Moreira, Gupta: Probabilistic QoS Guarantees for Supercomputing "
    "Systems, DSN 2005"
)


@dataclass(frozen=True)
class Found:
    """What was played, the tidy table of all runs, and the promises of the grid, counted by how
    high they were."""

    inputs: Inputs
    runs: pl.DataFrame
    promises: pl.DataFrame


def _play(session: Session[Plan, Inputs]) -> Found:
    played = play_all(
        cases(session.plan),
        session.inputs,
        workers=session.workers,
        on=session.on,
        folder=session.folder,
        progress=session.progress,
    )
    return Found(session.inputs, runs_table(played), promises_table(played))


def _results(found: Found) -> Results:
    inputs, runs, promises = found.inputs, found.runs, found.promises
    surfaces = {log: surface(runs, log) for log in inputs.jobs}
    bursts = {log: surface(runs, log, BURSTS) for log in PAPER_LOGS}
    claims = evaluate(surfaces, gains_elsewhere(runs, SDSC, EARLY))
    claims += (*placements.least_claims(runs), *size_claims(runs))
    burst_claims = evaluate(bursts)
    claimed = report.claims_section(claims, burst_claims)
    return Results(
        claims=claims,
        figures=draw(surfaces, bursts, runs, promises),
        tables={"runs": runs, "promises": promises},
        facts={"claims": report.as_facts(claims), "bursts": report.as_facts(burst_claims)},
        texts={"claims.md": fs.reports.markdown(told("Claims", f"{PAPER}.", {"": claimed}))},
        sections={
            "Inputs": report.inputs_section(inputs, runs),
            "Claims": claimed,
            "Which part does what": report.ablation_section(runs),
            "Why the effects are larger": report.controls_section(inputs, runs),
            "Are the promises honest?": report.calibration_section(inputs, promises),
            "The set of least risk": placements.least_section(runs),
            "Nodes near each other": placements.near_section(runs),
        },
    )


STUDY: Final = Study(
    paper=PAPER,
    title="Promises: the paper and what came out",
    full=Plan(),
    read=read_inputs,
    play=_play,
    results=_results,
)
