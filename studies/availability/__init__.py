"""Bagchi et al., resource availability prediction for cycle sharing (FALCON and iShare), slides.

Temporal reliability by semi-Markov processes: its relative error by window of 1 to 10 h on weekdays
and weekends, beside five linear models, by size of the training, under noise, and its cost; on
generated hosts with the slides' statistics, and on real traces as far as they serve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

from studies.availability import study
from studies.availability.claims import Found, evaluate
from studies.availability.figures import draw
from studies.availability.inputs import (
    GENERATED_SET,
    GRID,
    GRID_SET,
    PLANETLAB_SET,
    Host,
    generated,
    grid5000,
    planetlab,
)
from studies.availability.monitoring import watched
from studies.availability.report import sections
from studies.availability.study import PLAIN, QUICK, SEMI_MARKOV, Plan
from studies.kit.claims import listed
from studies.kit.planetlab import PLANETLAB
from studies.kit.study import Results, Session, Study
from studies.kit.text import claims_section

__all__ = ["QUICK", "STUDY", "Plan"]

Rows = list[tuple[object, ...]]
Sets = dict[str, tuple[Host, ...]]
TABLES: Final = ("accuracy", "linear", "training", "noise", "cost")


def _read(data: Path | None, plan: Plan) -> Sets:
    """Return the generated hosts, and those of the real traces that there are."""
    sets = {GENERATED_SET: generated(plan.hosts, plan.days, plan.seed, plan.period)}
    if data is not None and (data / GRID).exists():
        sets[GRID_SET] = grid5000(data, plan.real_hosts, plan.seed)
    if data is not None and (data / PLANETLAB).exists():
        sets[PLANETLAB_SET] = planetlab(data, plan.real_hosts, plan.seed)
    return sets


def _play(session: Session[Plan, Sets]) -> Found:
    plan, sets = session.plan, session.inputs
    hosts = sets[GENERATED_SET]
    fewer = replace(plan, lengths=tuple(h for h in (1, 3, 5, 10) if h in plan.lengths))
    accuracy: Rows = []
    training: Rows = []
    linear: Rows = []
    noise: Rows = []
    both = (SEMI_MARKOV, PLAIN)
    todo: list[tuple[Rows, Callable[..., Rows], tuple[object, ...]]] = [
        (accuracy, study.rows_of, (name, k, host, plan, 0.5, both))
        for name, members in sets.items()
        for k, host in enumerate(members)
    ]
    todo += [
        (training, study.rows_of, (GENERATED_SET, k, host, fewer, share, both[:1]))
        for k, host in enumerate(hosts[: plan.share_hosts])
        for share in plan.shares
    ]
    todo += [
        (linear, study.linear_rows, (GENERATED_SET, k, host, plan))
        for k, host in enumerate(hosts[: plan.linear_hosts])
    ]
    todo += [
        (noise, study.noise_rows, (host, k, plan))
        for k, host in enumerate(hosts[: plan.noise_hosts])
    ]
    for done, (found, make, given) in enumerate(todo):
        session.tell(done, len(todo))
        found += make(*given)
    session.tell(len(todo), len(todo))
    rows = study.table(accuracy)
    ours = rows.filter((pl.col("set") == GENERATED_SET) & (pl.col("host") < plan.linear_hosts))
    cost = study.cost_rows(hosts[0], plan)
    watching = watched(plan.watched) if plan.watched else None
    return Found(
        hosts,
        rows,
        study.table(training),
        pl.concat((ours, study.table(linear))),
        study.noise_table(noise),
        pl.DataFrame(cost, schema={"length_h": pl.Float64, "seconds": pl.Float64}, orient="row"),
        watching,
        plan.watched,
    )


def _results(found: Found) -> Results:
    claims = evaluate(found)
    head = ("The slides' claim", "Hosts", "Measured", "Verdict")
    said = claims_section(head, claims, ("claim", "where", "measured"))
    fields = ("claim", "where", "measured", "verdict")
    return Results(
        claims=claims,
        figures=draw(found),
        tables={name: getattr(found, name) for name in TABLES},
        facts={"claims": listed(claims, fields, {"where": "hosts"})},
        sections=sections(found, said),
    )


STUDY: Final = Study(
    paper="S. Bagchi et al.: resource availability prediction in fine-grained cycle sharing "
    "systems (FALCON and iShare), slides",
    title="Availability: the slides and what came out",
    full=Plan(),
    quick=QUICK,
    read=_read,
    play=_play,
    results=_results,
)
