"""The reproduction as text: Markdown for people, CSV for programs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from studies.queues.paper import PAPER
from studies.queues.tables import Table, Value

FIGURES = (
    "Failures per year of operation, the paper's and ours.",
    "Failures of each node in each year: boxes hold the middle half of the nodes.",
    "Year 1: the Weibull law follows the gaps, the exponential one does not.",
    "Year 5: the same.",
    "Year 7: the same.",
    "One node, all as new at time 0: blades outlast commodity nodes under every law.",
    "256 nodes: by a Weibull law of shape below 1 a new machine fails sooner than by an "
    "exponential law of the same mean.",
    "100 h on machines of up to 500 nodes.",
    "A machine half of blades.",
)
"""What each figure shows."""


def cells(value: Value) -> tuple[str, str, str, str, str]:
    """Return item, paper, ours, the paper's way and the unit as text."""

    def shown(number: float | None) -> str:
        return "" if number is None else f"{number:,.{value.digits}f}"

    return value.item, shown(value.paper), shown(value.ours), shown(value.paper_way), value.unit


HEADS = ("", "paper", "ours", "the paper's way", "unit")


def values_table(tables: Sequence[Table]) -> pl.DataFrame:
    """Return every number as a row ``table,item,paper,ours,paper_way,unit``."""
    rows = [
        (table.name, v.item, v.paper, v.ours, v.paper_way, v.unit)
        for table in tables
        for v in table.values
    ]
    schema = {
        "table": pl.String, "item": pl.String, "paper": pl.Float64, "ours": pl.Float64,
        "paper_way": pl.Float64, "unit": pl.String,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def verdict(tables: Sequence[Table], figures: Sequence[str]) -> str:
    """Return the whole reproduction as one page of Markdown."""
    lines = [
        f"# {PAPER}",
        "",
        "*ours* is computed consistently; *the paper's way* is how its number must have been "
        "computed, where that is another way. Every law here takes all nodes to be as new at time "
        "0, as the paper does.",
    ]
    for table in tables:
        lines += ["", f"## {table.name}: {table.title}", "", _markdown(table)]
        lines += [f"- {reason}" for reason in table.why]
    lines += ["", "## Figures 1 to 9"]
    for name, text in zip(figures, FIGURES, strict=True):
        lines += ["", f"![{text}]({name})", "", text]
    return "\n".join(lines) + "\n"


def _markdown(table: Table) -> str:
    rows = [cells(value) for value in table.values]
    kept = [k for k in range(len(HEADS)) if k == 0 or any(row[k] for row in rows)]
    head = [HEADS[k] for k in kept]
    body = [head, ["---", *("---:" for _ in kept[1:])], *([row[k] for k in kept] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in body) + "\n"
