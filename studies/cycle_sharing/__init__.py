"""Bagchi et al., fine-grained cycle sharing: the Falcon scheduler, slides.

What a guest takes from a host's owner; how often and why hosts are not available; makespan,
failures and unscheduled jobs against job length under Condor-style matchmaking, Falcon and an
omniscient scheduler, on generated hosts with the slides' statistics and on real traces; and runs
that tell why a claim does not hold where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.cycle_sharing import contention as contention_study
from studies.cycle_sharing import statistics
from studies.cycle_sharing.cells import GuestRuns
from studies.cycle_sharing.claims import Found, evaluate, headline
from studies.cycle_sharing.contention import Contention
from studies.cycle_sharing.figures import draw
from studies.cycle_sharing.inputs import real_sets
from studies.cycle_sharing.report import sections
from studies.cycle_sharing.runs import Given, play_batch
from studies.cycle_sharing.study import QUICK, Plan, batches
from studies.kit.claims import listed
from studies.kit.study import Results, Session, Study

__all__ = ["QUICK", "STUDY", "Plan", "contend"]

FIELDS: Final = ("name", "claim", "where", "measured", "verdict", "why")


@dataclass(frozen=True)
class Inputs:
    """The folder of the real traces and the sets in it that can be played, and what contention
    takes."""

    data: Path | None
    real: tuple[str, ...]
    contention: Contention


def contend(asked: str | Path, *, progress: Callable[[int, int], None] | None = None) -> Contention:
    """Return the contention study.

    Parameters
    ----------
    asked : "measure": of this host, which takes some three minutes and all of its cores; left out,
        and told so, where others use them; "none": left out; else a folder of `forestall calibrate`
    progress : called with steps done and steps in all

    Raises TraceError where the folder cannot be used.
    """
    if str(asked) == "none":
        return contention_study.left_out("it was not asked for (--contention)")
    if str(asked) == "measure":
        return contention_study.measured(progress)
    return contention_study.read(Path(asked))


def _asked(value: str | None, quick: bool, progress: Callable[[int, int], None]) -> Contention:
    return contend(value or ("none" if quick else "measure"), progress=progress)


def _read(data: Path | None, plan: Plan, contention: Contention | None = None) -> Inputs:
    """Return the real sets that there are; nothing is read before it is played."""
    return Inputs(data, real_sets(data), contention or contend("none"))


def _play(session: Session[Plan, Inputs]) -> Found:
    plan, given = session.plan, session.inputs
    table = session.rows(
        play_batch,
        batches(plan, given.real),
        Given(plan.days, given.data if given.real else None),
        {"days": plan.days, "real": bool(given.real)},
    )
    return Found(
        plan,
        GuestRuns(table),
        statistics.states_table(plan, given.real, given.data),
        statistics.telling(plan),
        given.contention,
    )


def _results(found: Found) -> Results:
    claims = evaluate(found)
    tables = {"runs": found.runs.table, "states": found.states, "accuracy": found.telling}
    if found.contention.points:
        tables["contention"] = found.contention.table()
    return Results(
        claims=claims,
        figures=draw(found),
        tables=tables,
        facts={
            "makespan_shorter": headline(found),
            "claims": listed(claims, FIELDS, {"where": "hosts"}),
        },
        sections=sections(found, claims),
    )


STUDY: Final = Study(
    paper="S. Bagchi et al.: fine-grained cycle sharing, resource availability prediction and the "
    "Falcon scheduler (FALCON and iShare), slides",
    title="Cycle sharing: the slides and what came out",
    full=Plan(),
    quick=QUICK,
    read=_read,
    play=_play,
    results=_results,
    asked={"contention": _asked},
)
