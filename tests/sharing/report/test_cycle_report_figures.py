"""Figures of cycle sharing: labels, units, legends; true levels; odd runs; the same bytes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.show import svg as files
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.sharing.report.result import CycleResult
from sharing.report.test_cycle_report import DAY, HOUR, availability, jobs_of, played, stays

pytest.importorskip("matplotlib")

from forestall.core.show.style import AxisClock, new_figure
from forestall.sharing.report import figures as drawing
from forestall.sharing.report.map import DONE, ENDED, GUEST, cells, draw_map

UNIT = re.compile(r"\((count|days|hours|minutes|number|name|ratio|%[^)]*)\)")


@pytest.fixture(scope="module")
def run() -> CycleResult:
    return played()


def drawn(result: CycleResult) -> dict[str, Any]:
    jobs, stays, hosts = result.jobs, result.stays, result.hosts
    held = result.availability
    return {
        "overview": drawing.states_over_time(held, stays, jobs, len(hosts)),
        "map": drawing.host_map(held, stays, jobs, hosts),
        "hours": drawing.hours_of_day(held, stays, len(hosts), result.summary["origin"]),
        "makespan": drawing.makespans(jobs),
    }


def sweep(seeds: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        (length, name, seed, length * gain + 60 * rng.random(), gain - 1, 0.01 * rng.random())
        for length in (1800, 7200, 21_600)
        for name, gain in (("condor", 1.3), ("falcon", 1.2), ("omniscient", 1.0))
        for seed in range(seeds)
    ]
    names = ["job_length", "scheduler", "seed", "makespan", "failures_per_job",
             "unscheduled_share"]  # fmt: skip
    return pl.DataFrame(rows, schema=names, orient="row")


def legends(figure: Any) -> list[str]:
    found = [axes.get_legend() for axes in figure.axes] + list(figure.legends)
    return [text.get_text() for one in found if one for text in one.get_texts()]


def test_axes_have_labels_with_units_and_legends(run: CycleResult) -> None:
    for name, figure in (drawn(run) | {"lengths": drawing.length_lines(sweep())}).items():
        assert all(UNIT.search(axes.get_xlabel()) for axes in figure.axes), name
        assert any(UNIT.search(axes.get_ylabel()) for axes in figure.axes), name
        assert len(legends(figure)) >= 3, name
        figure.draw_without_rendering()


@pytest.mark.parametrize(
    "given",
    [{"jobs": 1, "days": 4}, {"count": 1, "jobs": 60, "days": 5},
     {"count": 80, "days": 5, "jobs": 400},
     {"jobs": 60, "lengths": tuple(range(600, 9000, 411))}],
    ids=["one job", "one host", "many hosts", "many run times"],
)  # fmt: skip
def test_odd_runs_are_drawn(given: dict[str, Any]) -> None:
    given = dict(given)
    lengths = given.pop("lengths", None)
    result = played(**given)
    if lengths:
        runtime = pl.Series(np.resize(lengths, len(result.jobs)))
        result.__dict__["jobs"] = result.jobs.with_columns(runtime=runtime)
    for figure in drawn(result).values():
        figure.draw_without_rendering()
        assert figure.axes[0].get_ylabel()


def test_no_job_completed_is_said() -> None:
    figure = drawing.makespans(jobs_of((0, 60, None, "unscheduled", 0)))
    assert "No job was completed" in [text.get_text() for text in figure.axes[0].texts]


def test_the_same_input_gives_the_same_bytes(run: CycleResult) -> None:
    given = (run.availability, run.stays, run.jobs, run.hosts)
    first, second = (files.png(drawing.host_map(*given)) for _ in range(2))
    assert first == second
    assert first.startswith(b"\x89PNG")


# What is drawn -----------------------------------------------------------------------------------


def test_a_crowded_cell_shows_what_prevails() -> None:
    """Two hosts a row, two cells: S1 and S3 for 60 and 40 s, then a guest on both."""
    held = availability(
        *((h, 0, 60, "S1") for h in (0, 1)), *((h, 60, 100, "S3") for h in (0, 1)),
        *((h, 100, 200, "S1") for h in (0, 1)), *((h, 0, 90, "S5") for h in (2, 3)),
    )  # fmt: skip
    guests = stays((0, 110, 200, "completed"), (1, 100, 170, "away"))
    got = cells(guests, 4, 2, np.array([0.0, 100, 200]))
    assert got == pytest.approx(np.array([[0, 1.6], [0, 0]]))
    figure = new_figure()
    axes = figure.subplots()
    said = draw_map(axes, held, guests, 4, (0, 200), AxisClock(0, "s", 1), crowded=True)
    assert said == ["S1", "S3", "S5", GUEST]
    image = axes.images[0].get_array()
    assert image.shape == (4, 200)
    assert image[0, :60].tolist() == [0] * 60
    assert image[0, 60:100].tolist() == [2] * 40
    assert image[0, 100:110].tolist() == [0] * 10
    assert image[0, 110:].tolist() == [5] * 90
    assert image[2, :90].tolist() == [4] * 90
    assert np.ma.getmaskarray(np.ma.masked_invalid(image[2, 90:])).all()  # nothing is known


def test_marks_are_where_stays_ended() -> None:
    held = availability((0, 0, 100, "S1"), (0, 100, 200, "S3"), (1, 0, 200, "S2"))
    guests = stays((0, 10, 100, "contention"), (1, 20, 150, "completed"), (1, 160, 400, "away"))
    axes = new_figure().subplots()
    said = draw_map(axes, held, guests, 2, (0, 200), AxisClock(0, "s", 1), crowded=False)
    assert said == ["S1", "S2", "S3", GUEST, DONE, ENDED]
    done, left = axes.lines
    assert done.get_xydata().tolist() == [[150, 1]]
    assert left.get_xydata().tolist() == [[100, 0]]  # the one at 400 is beyond the window


def test_the_window_is_where_hosts_ended_most() -> None:
    many = stays(*((0, 20 * DAY, 20 * DAY + k, "contention") for k in range(9)),
                 *((0, DAY, DAY + k, "completed") for k in range(50)))  # fmt: skip
    begin, end = drawing.eventful_window(many, 0, 60 * DAY, 7 * DAY)
    assert end - begin == 7 * DAY
    assert begin <= 20 * DAY < end
    quiet = many.filter(pl.col("ended") == "completed")
    assert drawing.eventful_window(quiet, 0, 60 * DAY, 7 * DAY)[0] <= DAY
    assert drawing.eventful_window(many, 0, DAY, 7 * DAY) == (0, DAY)


def test_a_chosen_window_is_drawn(run: CycleResult) -> None:
    start = int(run.jobs["submit"].min())
    given = (run.availability, run.stays, run.jobs, run.hosts)
    figure = drawing.host_map(*given, start + DAY, start + 2 * DAY)
    assert figure.axes[0].get_xlim() == (24, 48)  # hours since the first submission
    assert len(figure.axes[0].lines) == 2


def test_long_runs_are_told_by_days() -> None:
    edges = drawing.overview_edges(100, 100 + 40 * DAY + 7)
    assert len(edges) == 41
    assert edges[1] - edges[0] == DAY
    assert edges[-1] == 100 + 40 * DAY + 7
    assert len(drawing.overview_edges(0, DAY)) == 1501


def test_bars_of_hours_add_up_to_all_hosts() -> None:
    held = availability((0, 0, 2 * DAY, "S1"), (1, 0, DAY, "S3"), (1, DAY, 2 * DAY, "S2"))
    figure = drawing.hours_of_day(held, stays(), 2, MONDAY)
    bars = figure.axes[0].patches
    assert len(bars) == 5 * 24
    noon = [bar.get_height() for bar in bars if bar.get_x() == pytest.approx(12)]
    assert noon == pytest.approx([50, 25, 25, 0, 0])


def test_boxes_show_quartiles_and_means() -> None:
    table = jobs_of(*((k, 3600, 3600 + 36 * k, "completed", 0) for k in range(101)))
    figure = drawing.makespans(table)
    axes = figure.axes[0]
    box = axes.patches[0]
    assert (box.get_y(), box.get_height()) == pytest.approx((1.25, 0.5))
    assert axes.get_xlim()[0] == 0
    assert "mean, with 95 % interval" in legends(figure)


def test_what_was_said_is_drawn_beside_what_came() -> None:
    table = stays(*((0, 0, 1, "completed"),) * 3, (0, 0, 1, "away")).with_columns(
        chance=pl.Series([0.95, 0.95, 0.25, 0.25]), promise=pl.Series([0.85, 0.85, 0.45, 0.45])
    )
    figure = drawing.promises_kept(table)
    told = [
        line.get_xydata().tolist() for line in figure.axes[0].lines if line.get_marker() in "so"
    ]
    assert told == [[[25, 50], [95, 100]], [[45, 50], [85, 100]]]
    assert [bar.get_height() for bar in figure.axes[1].patches] == [50, 50, 50, 50]
    said = legends(figure)
    assert f"foreseen (Brier {(2 * 0.05**2 + 0.75**2 + 0.25**2) / 4:.3f})" in said
    assert len(drawing.promises_kept(table.drop("promise")).axes[1].patches) == 2


def test_lines_of_a_sweep_have_bands_over_seeds() -> None:
    figure = drawing.length_lines(sweep())
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names == ["omniscient", "Falcon", "Condor-style"]
    bands = [len(axes.collections) for axes in figure.axes]
    assert bands == [3, 0, 3]  # as many failures with every seed: no band
    assert "band: 95 % interval of the mean over seeds" in legends(figure)
    at = figure.axes[0].lines[1].get_xdata()
    assert at.tolist() == pytest.approx([0.5, 2, 6])
    mean = sweep().filter((pl.col("scheduler") == "falcon") & (pl.col("job_length") == 7200))
    assert figure.axes[0].lines[1].get_ydata()[1] == pytest.approx(mean["makespan"].mean() / HOUR)
    alone = drawing.length_lines(sweep(1), title="One seed")
    assert not alone.axes[0].collections
    drawing.length_lines(sweep().head(0)).draw_without_rendering()
