"""A report that has everything, with a text that plays tricks wherever a text can stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.core.model.cleaning import Cleaning
from forestall.core.show.blocks import (
    Bar,
    Cell,
    Figure,
    Listing,
    Part,
    Prose,
    Step,
    StepGroup,
    Steps,
    Table,
)
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.report import Report, Section
from forestall.core.show.style import BLACK, BLUE, GREEN, INK, SKY, TINTS, dress, legend, new_figure

TRICK = "<script>alert('x')</script>\x1b[31m\u202e\"&|*_`#"
PLAIN = "network"


def drawn(name: str, marks: int = 5) -> Any:
    """Return a figure with ink, white, tints, a hatch and `marks` marks."""
    figure = new_figure((6, 3))
    axes = figure.subplots()
    at = np.linspace(0, 1, marks)
    axes.scatter(at, np.random.default_rng(1).random(marks), s=4, color=BLUE, label="marks")
    axes.plot([0, 1], [0, 1], "--", color=INK, label="$x^2$")
    axes.fill_between([0, 1], [0, 0.5], hatch="////", facecolor="white", edgecolor=BLACK)
    axes.bar([0.5], [1], color=TINTS[0])
    dress(axes, clean(name), "Time (d)", "Share (%)")
    legend(axes)
    return figure


def report(name: str = PLAIN, marks: int = 5, **rest: Any) -> Report:
    """Return a report with `name` wherever a text can stand; `rest` are attributes of it."""
    fact = Fact(
        "lost_work", f"lost to {name}", 12.5, "node_hours", 3, name, 10.0, 15.0,
        labels={"cause": name}, meaning=name,
    )  # fmt: skip
    facts = (
        fact,
        Fact("share", name, 0.25, "ratio", 4),
        Fact("nothing", "Nothing", None, "hours", why=name),
        Fact("far", "Far", float("inf"), "days", 1),
        Fact("written", "Written", 1.0, "number", shown=f"1 {name}"),
    )
    table = Table.of(
        "rows", ("", name), [(name, Cell("1.0", best=True, below=name)), ("b", "2")],
        [{"cause": name, "runs": 1.0}, {"cause": "b", "runs": float("nan")}],
        caption=name, colours=(GREEN, SKY), note=name,
    )  # fmt: skip
    ruled = Table.of("rules", ("Rule", "Text"), [("a", name)], title=name, right=(), folded=True)
    steps = Steps((StepGroup(name, tuple(Step("k", name, name, name) for _ in range(9))),))
    body = (
        steps,
        Bar((Part(name, 0.25, GREEN), Part("b", 0.75, SKY)), name),
        table,
        ruled,
        Figure("drawn", lambda: drawn(name, marks), name, name),
        Prose(name),
        Prose(name, soft=True),
        Listing((name, "b")),
    )
    section = Section(
        "losses", name, name, facts, body, (Fact("runs", name, 7, "count", 7),), (name,),
        (Untold(name, name, name),),
    )  # fmt: skip
    given: dict[str, Any] = {
        "verdict": (name, "It holds."),
        "top": (fact,),
        "sources": (name,),
        "cleaning": Cleaning().plus("odd", "rows that are odd", "changed", [name] * 9),
        "parameters": {name: name},
        "versions": {"forestall": name},
        "contents": True,
        "labels": {"partition": name},
        "currency": "EUR",
    }
    return Report(name, name, (section,), **(given | rest))
