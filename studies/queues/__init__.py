"""Hacker and Meglicki, "Using Queue Structures to Improve Job Reliability", HPDC 2007.

The failures of LANL's system of 49 nodes by year of operation, the reliability of nodes, machines
and queues, nodes for a checkpoint interval, spares: Tables 1 to 5 and Figures 1 to 9 redone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

import forestall as fs
from studies.kit.study import Reproduction, Results, Session, Study
from studies.kit.text import Blocks, table
from studies.queues.claims import every_claim
from studies.queues.figures import CAPTIONS, draw
from studies.queues.inputs import Inputs, read_inputs
from studies.queues.paper import PAPER
from studies.queues.tables import every_table
from studies.queues.values import Table, Value

__all__ = ["STUDY"]

HEADS: Final = ("", "paper", "ours", "the paper's way", "unit")
LEAD: Final = (
    "Ours are computed consistently; the paper's way reproduces how its number must have been "
    "computed, where that differs. Like the paper, every law here assumes that all nodes are new "
    "at time 0."
)


@dataclass(frozen=True)
class Plan:
    """All is done: there is nothing to choose."""


@dataclass(frozen=True)
class Found:
    """The log, and the paper's tables redone."""

    inputs: Inputs
    tables: tuple[Table, ...]


def _play(session: Session[Plan, Inputs]) -> Found:
    return Found(session.inputs, every_table(session.inputs))


def cells(value: Value) -> tuple[str, str, str, str, str]:
    """Return item, paper, ours, the paper's way and the unit as text."""

    def shown(number: float | None) -> str:
        return "" if number is None else f"{number:,.{value.digits}f}"

    return value.item, shown(value.paper), shown(value.ours), shown(value.paper_way), value.unit


def values_table(tables: tuple[Table, ...]) -> pl.DataFrame:
    """Return every number as a row ``table,item,paper,ours,paper_way,unit``."""
    rows = [
        (one.name, v.item, v.paper, v.ours, v.paper_way, v.unit) for one in tables
        for v in one.values
    ]  # fmt: skip
    schema = {
        "table": pl.String, "item": pl.String, "paper": pl.Float64, "ours": pl.Float64,
        "paper_way": pl.Float64, "unit": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _section(one: Table) -> Blocks:
    rows = [cells(value) for value in one.values]
    kept = [k for k in range(len(HEADS)) if k == 0 or any(row[k] for row in rows)]
    body = ([row[k] for k in kept] for row in rows)
    numbers = table([HEADS[k] for k in kept], body, right=range(1, len(kept)))
    return numbers, fs.reports.Listing(one.why)


def _results(found: Found) -> Results:
    figures = draw(found.inputs.years[0])
    return Results(
        claims=every_claim(found.tables),
        figures=figures,
        captions=dict(zip(figures, CAPTIONS, strict=True)),
        tables={"values": values_table(found.tables)},
        sections={f"{one.name}: {one.title}": _section(one) for one in found.tables},
        lead=LEAD,
    )


def _say(made: Reproduction[Any]) -> None:
    for k, one in enumerate(made.found.tables):
        if k > 0:
            fs.screen.say()
        fs.screen.say(f"{one.name}: {one.title}")
        fs.screen.show([cells(v) for v in one.values], HEADS, right=(1, 2, 3), wrap=(0,))
        for reason in one.why:
            fs.screen.say(reason, indent=2)


STUDY: Final = Study(
    paper=PAPER,
    title=PAPER,
    full=Plan(),
    read=read_inputs,
    play=_play,
    results=_results,
    pictures="Figures 1 to 9",
    say=_say,
)
