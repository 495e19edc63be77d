"""Bagchi et al., fine-grained cycle sharing: checkpoints on shared storage hosts, slides.

Storing and recovery overhead, makespans, shared bandwidth, simultaneous clients, storage failures
and what each component contributes: simulated on generated and real hosts, and measured with real
storage daemons in network namespaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from studies.cycle_sharing.inputs import real_sets
from studies.kit.claims import listed
from studies.kit.study import Results, Session, Study
from studies.vault import found as finding
from studies.vault.claims import evaluate
from studies.vault.figures import draw
from studies.vault.found import Found, Measured, left_out
from studies.vault.plan import QUICK, Plan, batches
from studies.vault.report import sections
from studies.vault.simulated import Given, play_batch

__all__ = ["QUICK", "STUDY", "Plan"]

FIELDS: Final = ("name", "claim", "where", "measured", "verdict", "why")


@dataclass(frozen=True)
class Inputs:
    """The folder of the real traces, the sets in it that can be played, and what was measured."""

    data: Path | None
    real: tuple[str, ...]
    measured: Measured


def _read(data: Path | None, plan: Plan, network: Measured | None = None) -> Inputs:
    """Return the real sets that there are; nothing is read before it is played."""
    return Inputs(data, real_sets(data), network or left_out("it was not asked for (--network)"))


def _play(session: Session[Plan, Inputs]) -> Found:
    plan, given = session.plan, session.inputs
    table = session.rows(
        play_batch,
        batches(plan, given.real),
        Given(plan.days, plan.hosts, given.data if given.real else None),
        {"days": plan.days, "hosts": plan.hosts, "real": bool(given.real)},
    )
    return Found(plan, table, given.measured)


def _results(found: Found) -> Results:
    claims = evaluate(found)
    tables = {"runs": found.runs}
    if found.measured.there:
        tables["network"] = found.measured.rows
    return Results(
        claims=claims,
        figures=draw(found),
        tables=tables,
        facts={"claims": listed(claims, FIELDS, {"where": "hosts"})},
        sections=sections(found, claims),
    )


STUDY: Final = Study(
    paper="S. Bagchi et al.: efficient checkpointing on shared grid resources (FALCON), slides",
    title="Checkpoints on shared hosts: the slides and what came out",
    full=Plan(),
    quick=QUICK,
    read=_read,
    play=_play,
    results=_results,
    asked={"network": finding.asked},
)
