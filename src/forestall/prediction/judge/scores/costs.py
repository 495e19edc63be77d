"""What it brings to act on scores, where it is known what acting costs and failures destroy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.blocks import Column, Table
from forestall.core.show.report import Section
from forestall.core.show.words import NOTHING, Summary, count, figure
from forestall.core.streams import stream
from forestall.prediction.assess.benefit import (
    MONTH_HOURS,
    Occasions,
    Worth,
    fair_threshold,
    in_words,
    net_benefit,
    of_probabilities,
    worth,
)
from forestall.prediction.assess.calibration import is_probability

if TYPE_CHECKING:
    from forestall.prediction.judge.questions import ScoreQuestion

RULE: Final = (
    "Acting costs {action_cost}; before a failure it saves {effect} of {loss}. Intervals are a "
    "bootstrap over groups, or cases. The best threshold is chosen on the same cases, so its "
    "benefit is optimistic."
)


def costs_of(
    value: Any, failed: Any, grouped: Any, threshold: float, asked: ScoreQuestion
) -> dict[str, Any]:
    """Return what acting brings at the threshold, at the best one, by the probabilities, always,
    and with a perfect predictor; node-hours over all cases. Nothing without a loss."""
    if asked.loss is None:
        return {}
    occasions = of_probabilities(
        value, failed, cost=asked.action_cost, loss=asked.loss, effect=asked.effect, group=grouped
    )
    curve = net_benefit(occasions)
    fair = fair_threshold(asked.action_cost, asked.loss, asked.effect)
    named = {
        "alarms": threshold,
        "best": float(curve.threshold[curve.best()]),
        **({"right probabilities": fair} if is_probability(value) else {}),
        "always": float(value.min()),
    }
    return {
        "costs": [
            {"chosen_for": name, **_told(_worth(occasions, at, asked))}
            for name, at in named.items()
        ],
        "costs_perfect_node_hours": float(occasions.net[occasions.hit].clip(0).sum()),
        "costs_verdict": in_words_of(_worth(occasions, named["best"], asked)),
    }


def _worth(occasions: Occasions, threshold: float, asked: ScoreQuestion) -> Worth:
    rng = stream(asked.seed, "assess", "costs")
    return worth(occasions, threshold, MONTH_HOURS, rng, level=asked.level)


def in_words_of(found: Worth) -> str:
    """Return what the best threshold brings in a sentence."""
    told = in_words(found, "the score").replace(" a month", "")
    return f"{told[0].upper()}{told[1:]}."


def _told(one: Worth) -> dict[str, Any]:
    return {
        "threshold": one.threshold,
        "acted": one.acted,
        "needless": one.needless,
        "missed": one.missed,
        "net_node_hours": one.net,
        "net_ci_node_hours": [one.low, one.high],
    }


def _between(ends: Any) -> str:
    return f"{figure(ends[0], 3)} to {figure(ends[1], 3)}"


COSTS: Final[tuple[Column, ...]] = (
    ("Act from", "threshold", lambda at: "never" if at is None else figure(at, 3)),
    ("", "chosen_for", str),
    ("Acted", "acted", count),
    ("Needless", "needless", count),
    ("Missed", "missed", count),
    ("Net, node-hours", "net_node_hours", lambda value: figure(value, 3)),
    ("Interval", "net_ci_node_hours", _between),
)


def section(summary: Summary) -> Section:
    """Return what acting brings as a part of a report; nothing where costs are not known."""
    if "costs" not in summary:
        return Section("costs", "")
    perfect = summary["costs_perfect_node_hours"]
    table = Table.by("costs", COSTS, summary["costs"], right=(0, 2, 3, 4, 5))
    most = f"The perfect predictor would save {figure(perfect, 3) if perfect else NOTHING}."
    return Section(
        "costs", "Does acting on them pay?", lead=summary["costs_verdict"], body=(table,),
        notes=(RULE, most),
    )  # fmt: skip
