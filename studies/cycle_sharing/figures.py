"""The slides' figures redrawn: makespan, failures and unscheduled jobs against job length, and the
runs that tell why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall import style
from studies.cycle_sharing.cells import Cell, GuestRuns
from studies.cycle_sharing.claims import IMPROVED, RESTART_WORDS, Found
from studies.cycle_sharing.inputs import GENERATED
from studies.cycle_sharing.study import (
    CHECKPOINT,
    CONDOR,
    FALCON,
    HOURLY,
    LEARNINGS,
    OMNISCIENT,
    RESTARTS,
    SCHEDULERS,
    SCRATCH,
    SEEN,
    SLIDES,
)
from studies.kit.figures import Look, band, error_bars, headed, legend_below
from studies.kit.means import Mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI: Final = 110
LOOKS: Final = {
    CONDOR: Look(style.VERMILLION, "s", "--", "Condor-style"),
    SLIDES: Look(style.PURPLE, "D", "-", "Falcon as in the slides"),
    FALCON: Look(style.BLUE, "o", "-", "Falcon here"),
    OMNISCIENT: Look(style.GREEN, "^", "-.", "omniscient"),
}
LENGTH: Final = "Job length (hours)"
BAND: Final = "Bands and bars: 95 % intervals over seeds of hosts and jobs."
SHORTER: Final = "Makespan shorter than\nCondor-style's (%)"
NAMES: Final = {
    SEEN: "as Falcon does here",
    "alone": "each host by its own past alone",
    "law": "law of the host known",
    "truth": "future known",
    "5 days": "last 5 like days",
    "1 day": "last like day",
    "no failures": "as if no host ever left",
    "usual load": "without the present load",
    "present load": "present load fades over 30 min",
    "fine steps": "steps of 1 min, 24 h",
}


def draw(found: Found) -> dict[str, Figure]:
    """Return all figures, by the names of their files."""
    drawn: dict[str, Figure] = {}
    if found.contention.points:
        drawn["contention.png"] = found.contention.figure()
    for name in found.runs.sets:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        drawn[f"by-length-{slug}.png"] = by_length(found.runs, name)
    drawn["gains.png"] = gains(found.runs)
    if any(_learnings(found.runs, name, SCRATCH) for name in GENERATED):
        drawn["forecasts.png"] = forecasts(found.runs)
    if len(found.plan.loads) > 1:
        drawn["load-and-hosts.png"] = load_and_hosts(found)
    return drawn


def _band(
    axes: Axes, at: Sequence[float], means: Sequence[Mean], scheduler: str, scale: float = 1.0
) -> None:
    band(axes, at, means, LOOKS[scheduler], scale, 0.15)


def by_length(runs: GuestRuns, name: str) -> Figure:
    """Draw makespan, gains over Condor-style, failures and unscheduled jobs against job length."""
    figure = style.new_figure((11.4, 8.4), DPI)
    grid = figure.subplots(3, 4, sharex=True)
    lengths = runs.lengths()
    at = [length / 3600 for length in lengths]
    for row, restart in zip(grid, RESTARTS, strict=True):
        cells = {one: Cell(name, one, restart) for one in SCHEDULERS}
        for one, cell in cells.items():
            for axes, measure, scale in (
                (row[0], "makespan", 1.0), (row[2], "failures", 1.0), (row[3], "unscheduled", 100.0)
            ):  # fmt: skip
                _band(axes, at, [runs.mean(cell, measure, x) for x in lengths], one, scale)
            if one != CONDOR:
                gain = [runs.shorter(cell, cells[CONDOR], x) for x in lengths]
                _band(row[1], at, gain, one, 100)
        row[1].axhline(0, color=style.VERMILLION, linewidth=1.2, linestyle="--")
        row[1].axhspan(100 * IMPROVED[0], 100 * IMPROVED[1], color=style.FAINT, alpha=0.5, zorder=0)
        below = LENGTH if restart == CHECKPOINT else ""
        style.dress(row[0], _title(restart), below, "Mean makespan (hours)")
        style.dress(row[1], "", below, SHORTER)
        style.dress(row[2], "", below, "Failures per job (count)")
        style.dress(row[3], "", below, "Unscheduled jobs (%)")
        for axes in (row[0], row[2], row[3]):
            axes.set_ylim(bottom=0)
        if row[3].get_ylim()[1] < 0.1:
            row[3].set_ylim(0, 1)
    _together(figure, grid[0][0], f"{name}: gray is the slides' 4 to 14 %. {BAND}")
    return figure


def _together(figure: Figure, axes: Axes, title: str) -> None:
    many = len(axes.get_legend_handles_labels()[0])
    legend_below(figure, axes, ncols=min(many, 5), handlelength=3.0)
    headed(figure, title, "normal")


def _title(restart: str) -> str:
    words = RESTART_WORDS[restart]
    return words[0].upper() + words[1:]


def gains(runs: GuestRuns) -> Figure:
    """Draw what Falcon and the omniscient scheduler gain over Condor-style on every set."""
    figure = style.new_figure((12.4, 3.8), DPI)
    panels = figure.subplots(1, 3, sharey=True)
    place = range(len(runs.sets))
    for axes, restart in zip(panels, RESTARTS, strict=True):
        axes.axhspan(100 * IMPROVED[0], 100 * IMPROVED[1], color=style.FAINT, alpha=0.5, zorder=0)
        axes.axhline(0, color=style.VERMILLION, linewidth=1.2, linestyle="--", label="Condor-style")
        for k, scheduler in enumerate((SLIDES, FALCON, OMNISCIENT)):
            colour, marker, _, label = LOOKS[scheduler]
            means = [
                runs.shorter(Cell(name, scheduler, restart), Cell(name, CONDOR, restart))
                for name in runs.sets
            ]
            error_bars(
                axes, [x + 0.2 * (k - 1) for x in place], means, fmt=marker, color=colour,
                markersize=6, elinewidth=1.4, label=label,
            )  # fmt: skip
        style.dress(axes, _title(restart), "", SHORTER if restart == SCRATCH else "")
        axes.set_xticks(place, runs.sets)
        axes.set_xlim(-0.5, len(place) - 0.5)
        axes.tick_params(axis="x", labelsize=8)
    _together(figure, panels[0], f"Jobs of all lengths; gray is the slides' 4 to 14 %. {BAND}")
    return figure


def _learnings(runs: GuestRuns, name: str, restart: str) -> list[str]:
    """Return the forecasts that were tried on a set besides Falcon's own."""
    return [
        one for one in LEARNINGS
        if one != SEEN and runs.has(Cell(name, FALCON, restart, learning=one))
    ]  # fmt: skip


def forecasts(runs: GuestRuns) -> Figure:
    """Draw what other forecasts give Falcon over Condor-style, on the seeds that they share."""
    names = [name for name in runs.sets if _learnings(runs, name, SCRATCH)]
    figure = style.new_figure((2.6 + 2.4 * len(names), 4.6), DPI)
    panels = np.atleast_1d(figure.subplots(1, len(names), sharey=True))
    order = [SEEN, *(one for one in LEARNINGS if one != SEEN)]
    for axes, name in zip(panels, names, strict=True):
        for restart, colour, marker, aside in (
            (SCRATCH, style.BLUE, "o", 0.2),
            (HOURLY, style.PURPLE, "^", 0.0),
            (CHECKPOINT, style.ORANGE, "D", -0.2),
        ):
            rows = [SEEN, *_learnings(runs, name, restart)]
            means = [_over(runs, name, restart, one) for one in rows]
            at = [len(order) - 1 - order.index(one) + aside for one in rows]
            label = RESTART_WORDS[restart]
            error_bars(
                axes, at, means, upright=False, fmt=marker, color=colour, markersize=5.5,
                elinewidth=1.3, label=label,
            )  # fmt: skip
            best = runs.shorter(Cell(name, OMNISCIENT, restart), Cell(name, CONDOR, restart))
            axes.axvline(
                100 * best.mean, color=colour, linewidth=1.0, linestyle="-.",
                label=f"omniscient, {label}",
            )  # fmt: skip
        axes.axvline(0, color=style.VERMILLION, linewidth=1.2, linestyle="--", label="Condor-style")
        style.dress(axes, name, "Makespan shorter (%)", "")
        axes.set_yticks(range(len(order)), [NAMES[one] for one in reversed(order)])
    _together(figure, panels[0], "What Falcon's forecasts are made from")
    return figure


def _over(runs: GuestRuns, name: str, restart: str, learning: str) -> Mean:
    return runs.shorter(Cell(name, FALCON, restart, learning=learning), Cell(name, CONDOR, restart))


def load_and_hosts(found: Found) -> Figure:
    """Draw what Falcon and the omniscient scheduler gain over the load and the number of hosts."""
    runs = found.runs
    figure = style.new_figure((9.6, 3.9), DPI)
    left, right = figure.subplots(1, 2, sharey=True)
    colours = (style.BLUE, style.ORANGE, style.PURPLE, style.GREEN, style.VERMILLION)
    for name, colour in zip(runs.sets, colours, strict=False):
        loads = [x for x in found.plan.loads if runs.has(Cell(name, FALCON, load=x))]
        if len(loads) > 1:
            _lines(left, runs, name, colour, "load", loads)
        counts = [n for n in runs.counts(name) if runs.has(Cell(name, FALCON, hosts=n))]
        if len(counts) > 1:
            _lines(right, runs, name, colour, "hosts", counts)
    for axes in (left, right):
        axes.axhline(0, color=style.VERMILLION, linewidth=1.2, linestyle="--")
    style.dress(left, "Load", "Run times of jobs over time of hosts (%)", SHORTER)
    style.dress(right, "Number of hosts", "Hosts (count)", "")
    _together(
        figure, left, f"Solid: Falcon as in the slides; dashed: here; dotted: omniscient. {BAND}"
    )
    return figure


def _lines(
    axes: Axes, runs: GuestRuns, name: str, colour: str, what: str, values: Sequence[float]
) -> None:
    at = [100 * x if what == "load" else x for x in values]
    for scheduler, dash, marker in (
        (SLIDES, "-", "D"),
        (FALCON, "--", "o"),
        (OMNISCIENT, ":", "^"),
    ):
        mine, base = (
            [Cell(name, one).at(**{what: x}) for x in values] for one in (scheduler, CONDOR)
        )
        means = [runs.shorter(*pair) for pair in zip(mine, base, strict=True)]
        error_bars(
            axes, at, means, color=colour, linestyle=dash, marker=marker, markersize=5,
            elinewidth=1.0, label=name if scheduler == SLIDES else None,
        )  # fmt: skip
