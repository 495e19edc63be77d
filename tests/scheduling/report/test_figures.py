"""Figures: labels, units and legends; nothing global; the same input, the same bytes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from forestall.core.model.errors import MissingExtraError
from forestall.core.show import style
from forestall.core.show import svg as files
from scheduling.report.synthetic import Made, grid

pytest.importorskip("matplotlib")

from forestall.runs.sweep_figures import sweep_heatmap, sweep_lines
from forestall.scheduling.report.figures import (
    calibration,
    calibration_side_by_side,
    lost_work_over_time,
    utilization_and_queue,
)
from forestall.scheduling.report.gantt import MOST, boxes, chosen_window, gantt

UNIT = re.compile(
    r"\((count|days|hours|minutes|%|machines|node-hours|number)\)|probability|[Ss]hare"
)


@pytest.fixture(scope="module")
def made() -> Made:
    return Made(200, 40)


def drawn(made: Made) -> dict[str, Any]:
    return {
        "calibration": calibration(made.jobs),
        "levels": utilization_and_queue(made.jobs, made.runs, made.nodes, made.failures),
        "lost": lost_work_over_time(made.failures),
        "gantt": gantt(made.runs, made.failures, made.nodes),
    }


def test_axes_have_labels_with_units(made: Made) -> None:
    for name, figure in drawn(made).items():
        *_, last = figure.axes
        assert UNIT.search(last.get_xlabel()), (name, last.get_xlabel())
        for axes in figure.axes:
            assert UNIT.search(axes.get_ylabel()), (name, axes.get_ylabel())


def test_figures_have_legends(made: Made) -> None:
    for name, figure in drawn(made).items():
        legends = [axes.get_legend() for axes in figure.axes] + list(figure.legends)
        texts = [text.get_text() for found in legends if found for text in found.get_texts()]
        assert len(texts) >= 2, name


def test_sweeps_have_labels_and_legends() -> None:
    table = grid(5, seeds=2)
    lines = sweep_lines(table, "accuracy", "lost_work", "risk")
    (axes,) = lines.axes
    assert axes.get_xlabel() == "Prediction accuracy a"
    assert axes.get_ylabel() == "Lost work (node-hours)"
    assert len(axes.get_legend().get_texts()) == 5
    assert axes.lines[0].get_ydata()[0] == pytest.approx(4e7 / 3600)
    heat = sweep_heatmap(table, "accuracy", "risk", "qos")
    assert [a.get_ylabel() for a in heat.axes] == [
        "User risk strategy U",
        "Quality of service (QoS)",
    ]
    unnamed = sweep_lines(table.rename({"qos": "my_measure"}), "accuracy", "my_measure")
    assert unnamed.axes[0].get_ylabel() == "My measure"


def test_runs_side_by_side_have_a_line_each(made: Made) -> None:
    classic = Made(20, 3, promises=False)
    figure = calibration_side_by_side({"a $b$": made.summary(), "easy": classic.summary()})
    (axes,) = figure.axes
    texts = [text.get_text() for text in axes.get_legend().get_texts()]
    assert texts == ["exactly as promised", "a $b$"]
    assert axes.get_xlabel() == "Promised probability"
    assert files.png(figure).startswith(b"\x89PNG")
    assert len(calibration_side_by_side({}).axes[0].lines) == 1


def test_the_heatmap_puts_values_where_they_belong() -> None:
    table = pl.DataFrame({"a": [0.0, 1.0, 1.0], "b": [10, 10, 20], "v": [1.0, 2.0, 3.0]})
    axes = sweep_heatmap(table, "a", "b", "v").axes[0]
    image = axes.images[0].get_array()
    assert image[0, 0] == 1.0
    assert image[0, 1] == 2.0
    assert image[1, 1] == 3.0
    assert {t.get_text() for t in axes.texts} == {"1", "2", "3"}


@pytest.mark.parametrize(
    "made",
    [Made(1, 0), Made(40, 0), Made(0, 0), Made(0, 5), Made(30, 10, promises=False)],
    ids=["one job", "no failures", "nothing", "no jobs", "no promises"],
)
def test_odd_runs_are_drawn(made: Made) -> None:
    for figure in drawn(made).values():
        assert files.png(figure).startswith(b"\x89PNG")


def test_the_same_input_gives_the_same_bytes(made: Made) -> None:
    first, second = (
        {name: files.png(figure) for name, figure in drawn(made).items()} for _ in range(2)
    )
    assert first == second


def test_the_gantt_chart_stays_readable() -> None:
    made = Made(3000, 100, busy=1.2)
    window = chosen_window(made.runs, made.failures, None, None)
    assert len(boxes(made.runs, *window)) <= MOST
    assert chosen_window(made.runs, made.failures, 10, 20) == (10, 20)
    axes = gantt(made.runs, made.failures, made.nodes, 20_000, 30_000, origin=5000).axes[0]
    assert axes.get_xlim() == pytest.approx((15_000 / 3600, 25_000 / 3600))


def test_boxes_are_ranges_cut_at_the_window() -> None:
    runs = pl.DataFrame({"job": [7], "start": [0], "end": [100], "nodes": ["0-3,7"]})
    assert boxes(runs, 10, 50) == [(10, 50, 0, 4, 7), (10, 50, 7, 8, 7)]


@pytest.mark.parametrize(
    ("span", "unit"), [(3600, "minutes"), (86_400, "hours"), (30 * 86_400, "days")]
)
def test_time_axes_use_sensible_units(span: int, unit: str) -> None:
    clock = style.AxisClock.spanning(1000, 1000 + span)
    assert clock.unit == unit
    assert f"({unit})" in clock.label()
    assert float(clock(1000 + clock.seconds)) == 1.0


def test_pyplot_is_never_loaded() -> None:
    script = (
        "import sys; sys.path.insert(0, 'tests')\n"
        "from scheduling.report.synthetic import Made\n"
        "from forestall.scheduling.report.figures import calibration\n"
        "from forestall.core.show.svg import png\n"
        "png(calibration(Made(20, 3).jobs)); assert 'matplotlib.pyplot' not in sys.modules"
    )
    root = Path(__file__).resolve().parents[3]
    subprocess.run([sys.executable, "-c", script], cwd=root, check=True)


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_figures_are_saved_by_suffix(made: Made, tmp_path: Path, suffix: str) -> None:
    path = files.save(calibration(made.jobs), tmp_path / f"figure.{suffix}")
    assert path.stat().st_size > 1000
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [m for m in sys.modules if m.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert not style.has_matplotlib()
    with pytest.raises(MissingExtraError, match=r"forestall\[plot\]"):
        style.new_figure()
