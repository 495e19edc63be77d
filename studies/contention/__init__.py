"""Bagchi et al., studies on resource contention: slides.

What a guest at each of several priorities takes from a host's owner who works with real programs,
alone on one core with it, and what the guest gets; and what the policies of the slides, and finer
priorities by measured harm, make of that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import forestall as fs
from studies.contention.claims import evaluate
from studies.contention.figures import draw
from studies.contention.found import Found
from studies.contention.measured import Given, play_batch
from studies.contention.programs import installed
from studies.contention.report import sections
from studies.contention.study import QUICK, Plan, batches
from studies.kit.claims import listed
from studies.kit.study import Results, Session, Study

__all__ = ["QUICK", "STUDY", "Plan"]

FIELDS: Final = ("name", "claim", "where", "measured", "verdict", "why")


@dataclass(frozen=True)
class Inputs:
    """The programs that are there, and the core."""

    there: tuple[str, ...]
    core: int


def _core(value: int | None, _quick: bool, _progress: Callable[[int, int], None]) -> int:
    """Return the core that was asked for, or the last that this process may use."""
    allowed = sorted(os.sched_getaffinity(0))
    if value is None:
        return allowed[-1]
    if value not in allowed:
        raise fs.errors.ParameterError("--core", value, f"one of {', '.join(map(str, allowed))}")
    return value


def _read(_data: Path | None, plan: Plan, core: int | None = None) -> Inputs:
    return Inputs(installed(plan.programs), _core(core, False, lambda *_: None))


def _play(session: Session[Plan, Inputs]) -> Found:
    plan, given = session.plan, session.inputs
    one = replace(session, workers=1)  # two at a time would be in each other's way
    stamp = {"seed": plan.seed, "seconds": plan.seconds, "kernel": os.uname().release}
    table = one.rows(play_batch, batches(plan, given.there), Given(plan, given.core), stamp)
    return Found.of(plan, table, os.uname().release)


def _results(found: Found) -> Results:
    claims = evaluate(found)
    return Results(
        claims=claims,
        figures=draw(found),
        tables=found.tables(),
        facts={"claims": listed(claims, FIELDS, {"where": "owners"})},
        sections=sections(found),
    )


STUDY: Final = Study(
    paper="S. Bagchi et al.: fine-grained cycle sharing, studies on resource contention (FALCON "
    "and iShare), slides",
    title="Contention: the slides and what came out",
    full=Plan(),
    quick=QUICK,
    read=_read,
    play=_play,
    results=_results,
    asked={"core": _core},
)
