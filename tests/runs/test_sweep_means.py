"""Means of sweeps over seeds: numbers by hand, and what the figures draw of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from forestall.core.figures.sweep_lines import EXTREMES, INTERVAL, spread
from forestall.core.show.style import has_matplotlib
from forestall.core.show.words import NOTHING
from forestall.runs.models import MODELS
from forestall.runs.sweep_figures import sweep_lines, sweep_points
from forestall.runs.sweep_words import extremes, mean_text, means, place

needs_matplotlib = pytest.mark.skipif(not has_matplotlib(), reason="needs the extra plot")
# Mean 2, standard deviation 1, three seeds: t(0.975, 2) = 4.30265, by the square root of 3.
HALF = 4.302652729911275 / 3**0.5
VIRTUAL = MODELS["virtual"]


def table(seeds: int = 3, **axes: list[Any]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [{}]
    for name, values in {**axes, "seed": list(range(1, seeds + 1))}.items():
        rows = [{**row, name: value} for row in rows for value in values]
    for row in rows:
        row["job_completion_rate"] = row["seed"] / 100
        row["migrations"] = 7
    return pl.DataFrame(rows)


def plan(model: str, **axes: list[Any]) -> Any:
    return cast(
        "Any",
        SimpleNamespace(axes={n: tuple(v) for n, v in axes.items()}, model=MODELS[model]),
    )


def test_mean_and_interval() -> None:
    found = spread(table(strategy=["random", "best-fit"]), ["strategy"], "job_completion_rate")
    assert found["strategy"].to_list() == ["random", "best-fit"]
    assert found["m"].to_list() == pytest.approx([0.02, 0.02])
    assert found["half"].to_list() == pytest.approx([HALF / 100] * 2)
    assert found["seeds"].to_list() == [True, True]


def test_two_seeds_have_no_interval() -> None:
    found = spread(table(2, strategy=["random"]), ["strategy"], "job_completion_rate")
    assert found["m"].to_list() == pytest.approx([0.015])
    assert found["half"].to_list() == [None]


def test_runs_that_differ_by_more_than_the_seed_have_no_interval() -> None:
    found = spread(table(strategy=["random"], alpha=["0", "1"]), ["strategy"], "migrations")
    assert found["half"].to_list() == [None]
    assert found["seeds"].to_list() == [False]


def test_table_of_means() -> None:
    axes = ("strategy", "alpha", "seed")
    heads, rows = means(table(strategy=["random", "best-fit"], alpha=["0", "1"]), axes, VIRTUAL)
    assert heads == ("strategy, alpha", "Jobs completed (%)", "Migrations (count)")
    assert rows[0] == ("random, 0", "2.0 ± 2.5", "7.0")
    assert [row[0] for row in rows] == ["random, 0", "random, 1", "best-fit, 0", "best-fit, 1"]
    assert means(table(), ("seed",), VIRTUAL)[1] == [("all", "2.0 ± 2.5", "7.0")]
    assert means(table(), ()) == ((), [])


def test_points_are_told_as_they_can_be_given() -> None:
    row = {"scheduler": "falcon", "job_length": 18_000, "th1": 0.25, "seed": 3, "retry": 90}
    assert place(row, tuple(row), MODELS["cycle"]) == "falcon, 5 h, 0.25, 3, 90 s"
    assert place({"job_length": None}, ("job_length",), MODELS["cycle"]) == "log"
    runs = pl.DataFrame({"job_length": [1800, 5400], "makespan": [3600.0, 7200.0]})
    (least,) = extremes(runs, ("job_length",), MODELS["cycle"])
    assert (least[2], least[4]) == ("30 min", "90 min")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0.93664, 0.00287, 100, 2), "93.66 ± 0.29"),
        ((0.5, 0.123, 100, 2), "50 ± 12"),
        ((1234.56, None, 1, 1), "1,234.6"),
        ((3, 0.0, 1, 1), "3.0"),
        ((36_000, 360.0, 1 / 3600, 1), "10.00 ± 0.10"),
        ((None, None, 1, 1), NOTHING),
    ],
)
def test_mean_text(given: tuple[Any, ...], text: str) -> None:
    assert mean_text(*given) == text


@needs_matplotlib
def test_the_seed_is_no_axis_beside_words() -> None:
    from forestall.runs.sweep_run import figures

    axes: dict[str, list[Any]] = {"alpha": ["0", "0.5", "1", "dynamic"], "seed": [1, 2, 3]}
    drawn = figures(plan("virtual", **axes), table(alpha=axes["alpha"]))
    assert set(drawn) == {"job_completion_rate", "migrations"}
    (one,) = drawn["job_completion_rate"].axes
    assert one.get_xlabel() == "Weight of capacity alpha"
    assert [tick.get_text() for tick in one.get_xticklabels()] == axes["alpha"]
    low, high = one.collections[0].get_segments()[0][:, 1]  # type: ignore[attr-defined]
    assert (low, high) == pytest.approx((0.02 - HALF / 100, 0.02 + HALF / 100))


@needs_matplotlib
def test_two_axes_of_words() -> None:
    made = table(1, backfill=[True, False], alpha=["dynamic", "0.5"])
    (axes,) = sweep_points(made, "backfill", "job_completion_rate", "alpha", VIRTUAL.labels).axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["true", "false"]
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["dynamic", "0.5"]


@needs_matplotlib
def test_bands_say_what_they_are() -> None:
    made = table(prediction_accuracy=[0.0, 1.0], backfill=[True, False])
    said = []
    for by, rows in (("backfill", made), (None, made), (None, made.filter(pl.col("seed") == 9))):
        figure = sweep_lines(rows, "prediction_accuracy", "job_completion_rate", by, VIRTUAL.labels)
        said.append([text.get_text() for one in figure.legends for text in one.get_texts()])
    assert said == [[INTERVAL], [EXTREMES], []]


@needs_matplotlib
def test_rates_are_not_drawn_twice() -> None:
    from forestall.runs.sweep_run import figures

    axes: dict[str, list[Any]] = {"strategy": ["random", "best-fit"], "prediction_accuracy": [0, 1]}
    made = table(3, **axes).with_columns(task_completion_rate=pl.col("job_completion_rate"))
    rates = {"job_completion_rate", "task_completion_rate"}
    assert set(figures(plan("virtual", **axes, seed=[1, 2, 3]), made)) == {"rates", "migrations"}
    more = pl.concat([made.with_columns(nodes=n) for n in (8, 16)])
    drawn = figures(plan("virtual", **axes, nodes=[8, 16], seed=[1, 2, 3]), more)
    assert {"migrations", *rates} <= set(drawn)
    assert "rates" not in drawn


@needs_matplotlib
def test_seeds_alone_are_an_axis() -> None:
    from forestall.runs.sweep_run import figures

    drawn = figures(plan("virtual", seed=[1, 2, 3]), table())
    assert drawn["job_completion_rate"].axes[0].get_xlabel() == "Seed"
