"""Figures of virtual machines: labels, units, legends; true levels; odd runs; the same bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.show import svg as files
from machines.report.virtual_synthetic import (
    FAILURE_TYPES,
    MOVE_TYPES,
    RUN_TYPES,
    MadeVirtual,
    accuracies,
)

pytest.importorskip("matplotlib")

from forestall.machines.report import counts
from forestall.machines.report import figures as drawing
from forestall.machines.report.marks import FATES

UNIT = re.compile(r"\((count|days|hours|minutes|number|%[^)]*)\)")


@pytest.fixture(scope="module")
def made() -> MadeVirtual:
    return MadeVirtual(200, 60)


def drawn(made: MadeVirtual) -> dict[str, Any]:
    runs, moves, failures = made.runs, made.migrations, made.failures
    machine = {"processors_per_node": made.processors}
    return {
        "capacity": drawing.capacity_over_time(
            runs, failures, made.nodes, made.processors, made.jobs
        ),
        "bare": drawing.capacity_over_time(runs, failures, made.nodes, made.processors),
        "map": drawing.migration_map(runs, moves, failures, made.nodes, **machine),
        "overview": drawing.migration_overview(runs, moves, failures, made.nodes, **machine),
        "sizes": drawing.completion_by_size(made.jobs),
    }


def legends(figure: Any) -> list[str]:
    found = [axes.get_legend() for axes in figure.axes] + list(figure.legends)
    return [text.get_text() for one in found if one for text in one.get_texts()]


def test_axes_have_labels_with_units_and_legends(made: MadeVirtual) -> None:
    for name, figure in (drawn(made) | {"rates": drawing.accuracy_lines(accuracies())}).items():
        assert any(UNIT.search(axes.get_xlabel()) for axes in figure.axes), name
        for axes in figure.axes:
            assert UNIT.search(axes.get_ylabel()), (name, axes.get_ylabel())
        assert len(legends(figure)) >= 2, name


@pytest.mark.parametrize(
    "made",
    [MadeVirtual(1, 0), MadeVirtual(0, 0), MadeVirtual(0, 5),
     MadeVirtual(40, 20, nodes=1, processors=8, missed=1.0)],
    ids=["one job", "nothing", "no jobs", "one node, no predictions"],
)  # fmt: skip
def test_odd_runs_are_drawn(made: MadeVirtual) -> None:
    for figure in drawn(made).values():
        figure.draw_without_rendering()
        assert figure.axes[0].get_ylabel()


def test_the_same_input_gives_the_same_bytes(made: MadeVirtual) -> None:
    tables = (made.runs, made.migrations, made.failures)
    first, second = (files.png(drawing.migration_map(*tables, made.nodes)) for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")


# Levels ------------------------------------------------------------------------------------------


def test_the_area_of_capacity_is_what_stays_held(made: MadeVirtual) -> None:
    start, end = counts.span_of(made.runs, made.jobs)
    assert start == int(made.jobs["submit"].min())
    edges = np.linspace(start, end, 401)
    held = float(np.sum(counts.processors_held(made.runs, edges) * np.diff(edges)))
    stays = float(((made.runs["end"] - made.runs["start"]) * made.runs["rate"]).sum())
    assert held == pytest.approx(stays, rel=1e-9)


def test_the_map_shades_nodes_by_what_is_held_there() -> None:
    runs = pl.DataFrame(
        [(1, 0, 0, 0, 0, 100, 1.0, 100.0, "placed", "completed", 0.0, 0),
         (1, 1, 2, 50, 50, 100, 0.5, 25.0, "placed", "completed", 0.0, 0)],
        schema=RUN_TYPES, orient="row",
    )  # fmt: skip
    none = {"migrations": pl.DataFrame(schema=MOVE_TYPES),
            "failures": pl.DataFrame(schema=FAILURE_TYPES)}  # fmt: skip
    figure = drawing.migration_map(runs, nodes=3, processors_per_node=2, start=0, end=100, **none)
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (3, 100)
    assert image[0].tolist() == pytest.approx([50.0] * 100)
    assert image[1].tolist() == pytest.approx([0.0] * 100)
    assert image[2].tolist() == pytest.approx([0.0] * 50 + [25.0] * 50)


def test_many_nodes_share_rows() -> None:
    made = MadeVirtual(50, 10, nodes=1300, processors=1, largest=9)
    figure = drawing.migration_overview(made.runs, made.migrations, made.failures, 1300)
    axes = figure.axes[0]
    assert axes.images[0].get_array().shape[0] == 512
    assert axes.get_ylim() == (-0.5, 1299.5)
    assert float(axes.images[0].get_array().max()) <= 100 + 1e-9


# The map -----------------------------------------------------------------------------------------


def moves(*rows: tuple[Any, ...]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=MOVE_TYPES, orient="row")


def test_each_migration_is_a_line_marked_by_its_fate(made: MadeVirtual) -> None:
    table = moves(
        (40_000, 1, 0, 3, 9, 40_012, 40_000, "arrived"),
        (40_000, 1, 1, 3, 7, 40_012, 40_000, "target failed"),
        (41_000, 2, 0, 5, 7, 41_006, 41_000, "ended first"),
        (99_999_999, 3, 0, 5, 7, 99_999_999, 41_000, "arrived"),
    )
    figure = drawing.migration_map(
        made.runs, table, made.failures, made.nodes, 39_000, 45_000, origin=39_000
    )
    lines = [
        segment.tolist()
        for collection in figure.axes[0].collections
        for segment in getattr(collection, "get_segments", list)()
        if segment[0][1] != segment[-1][1]
    ]
    ends = [np.round(np.array(line) * [60, 1]).astype(int).tolist() for line in lines]
    assert sorted(ends) == [[[1000, 3], [1012, 7]], [[1000, 3], [1012, 9]], [[2000, 5], [2006, 7]]]
    said = legends(figure)
    assert "migration: arrived" in said
    assert "migration: broken by a failure" in said
    assert "migration: the task ended or was stopped first" in said
    assert figure.axes[0].get_xlabel() == "Time since the first submission (minutes)"


def test_every_fate_of_a_migration_has_a_mark(made: MadeVirtual) -> None:
    table = moves(*((40_000 + i, 1, i, 3, 9, 40_012, 40_000, name) for i, name in enumerate(FATES)))
    for draw in (drawing.migration_map, drawing.migration_overview):
        figure = draw(made.runs, table, made.failures, made.nodes)
        shown = [text for text in legends(figure) if text.startswith(("migration", "tasks"))]
        assert len(shown) == 3  # arrived, broken, overtaken


def test_the_window_is_where_most_happens_and_readable(made: MadeVirtual) -> None:
    window = drawing.eventful_window(made.runs, made.migrations, made.failures)
    inside = made.migrations.filter(pl.col("time").is_between(*window, closed="left"))
    assert window[1] - window[0] <= drawing.WINDOW
    assert 0 < len(inside) <= drawing.MOST_MOVES
    many = pl.concat([made.migrations] * 20)
    low, high = drawing.eventful_window(made.runs, many, made.failures)
    assert len(many.filter(pl.col("time").is_between(low, high, closed="left"))) <= 300
    assert high - low < drawing.WINDOW
    chosen = (made.runs, made.migrations, made.failures)
    assert drawing.eventful_window(*chosen, 10, 20) == (10, 20)
    assert drawing.eventful_window(*chosen, 10) == (10, 10 + drawing.WINDOW)
    assert drawing.eventful_window(*chosen, None, drawing.WINDOW) == (0, drawing.WINDOW)


def test_the_window_finds_a_single_event() -> None:
    made = MadeVirtual(400, 0, seed=3)
    late = int(made.last) - 1000
    table = moves((late, 1, 0, 3, 9, late + 12, late, "arrived"))
    low, high = drawing.eventful_window(made.runs, table, made.failures)
    assert low <= late < high


def test_tables_of_csv_files_without_rows_are_drawn(made: MadeVirtual) -> None:
    empty = pl.read_csv(pl.DataFrame(schema=MOVE_TYPES).write_csv().encode())
    none = pl.read_csv(pl.DataFrame(schema=FAILURE_TYPES).write_csv().encode())
    for draw in (drawing.migration_map, drawing.migration_overview):
        figure = draw(made.runs, empty, none, made.nodes)
        figure.draw_without_rendering()
        assert legends(figure) == []
        assert figure.axes[0].get_title(loc="left") == "Use of nodes"


def test_ticks_of_nodes_and_tasks_are_whole_numbers() -> None:
    made = MadeVirtual(12, 3, nodes=2)
    tables = (made.runs, made.migrations, made.failures)
    node_axes = drawing.migration_map(*tables, 2).axes[0]
    shown = [t for t in node_axes.get_yticks() if -0.5 <= t <= 1.5]
    assert shown == [0, 1]
    jobs = made.jobs.with_columns(submit=pl.col("start").fill_null(0) - 10, size=pl.lit(1)).head(1)
    waiting = drawing.capacity_over_time(made.runs, made.failures, 2, 4, jobs).axes[1]
    assert waiting.get_ylabel() == "Tasks waiting,\nmaximum (count)"
    assert [t for t in waiting.get_yticks() if 0 <= t <= 1] == [0, 1]


def test_down_stands_in_the_legend_where_something_is_down(made: MadeVirtual) -> None:
    first = int(made.failures["time"].min())
    tables = (made.runs, made.migrations, made.failures)
    assert "down" in legends(drawing.migration_map(*tables, made.nodes, first, first + 60))
    early = drawing.migration_map(*tables, made.nodes, first - 60, first)
    assert "down" not in legends(early)


# Sizes and accuracies ----------------------------------------------------------------------------


def test_completion_by_size_has_counts_and_intervals() -> None:
    jobs = pl.DataFrame({"size": [1, 1, 2, 3, 4, 5, 256], "completed": [1, 0, 1, 0, 1, 1, 0]})
    above, below = drawing.completion_by_size(jobs).axes
    names = [text.get_text() for text in below.get_xticklabels()]
    assert names == ["1", "2", "3–4", "5–8", "129–256"]  # noqa: RUF001
    assert above.lines[0].get_ydata().tolist() == pytest.approx([50, 100, 50, 100, 0])
    assert [text.get_text() for text in below.texts] == ["2", "1", "2", "1", "1"]


def test_many_classes_of_size_do_not_overlap() -> None:
    size = [2**k for k in range(12)] * 2
    figure = drawing.completion_by_size(pl.DataFrame({"size": size, "completed": [1] * 24}))
    figure.draw_without_rendering()
    above, below = figure.axes
    assert {text.get_rotation() for text in below.get_xticklabels()} == {35}
    assert max(above.get_yticks()) == 100


def test_a_line_for_each_strategy_with_bands_over_seeds() -> None:
    figure = drawing.accuracy_lines(accuracies(seeds=5))
    assert legends(figure) == ["random", "first-fit", "best-fit", "omniscient", drawing.BAND]
    jobs, tasks = figure.axes
    assert len(jobs.collections) == len(tasks.collections) == 4
    table = accuracies(seeds=5)
    best = table.filter((pl.col("strategy") == "best-fit") & (pl.col("prediction_accuracy") == 1))
    assert jobs.lines[2].get_ydata()[-1] == pytest.approx(100 * best["job_completion_rate"].mean())


def test_bands_are_intervals_of_the_mean() -> None:
    rates = [0.5, 0.6, 0.7]
    table = pl.DataFrame(
        {"prediction_accuracy": [0.5] * 3, "strategy": ["random"] * 3, "seed": [1, 2, 3],
         "job_completion_rate": rates, "task_completion_rate": rates}
    )  # fmt: skip
    (band,) = drawing.accuracy_lines(table).axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    half = 4.302653 * 10 / 3**0.5  # Student's t with 2 degrees of freedom, standard deviation 0.1
    assert heights.min() == pytest.approx(60 - half, abs=1e-4)
    assert heights.max() == pytest.approx(60 + half, abs=1e-4)


def test_no_bands_where_rows_differ_in_more_than_seeds() -> None:
    assert not drawing.accuracy_lines(accuracies(seeds=2)).axes[0].collections
    doubled = pl.concat([accuracies(seeds=3)] * 2)
    assert not drawing.accuracy_lines(doubled).axes[0].collections
    assert not drawing.accuracy_lines(accuracies(seeds=3).drop("seed")).axes[0].collections


def test_best_fit_has_a_line_for_each_alpha() -> None:
    one = accuracies(seeds=1)
    mixed = pl.concat([one.with_columns(alpha=pl.lit(a)) for a in ("0.5", "dynamic")])
    assert legends(drawing.accuracy_lines(mixed)) == [
        "random", "first-fit", "best-fit, alpha 0.5", "best-fit, alpha dynamic", "omniscient"
    ]  # fmt: skip
    alike = one.with_columns(alpha=pl.lit(0.5))
    assert "best-fit" in legends(drawing.accuracy_lines(alike))
