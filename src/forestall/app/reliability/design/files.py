"""The folder of a design: its figures as JSON and tables, and the trade-off drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from forestall._lazy import lazily
from forestall.app.kit.folder import check_folder, fill_folder, holds
from forestall.app.reliability.design.design import Design
from forestall.app.reliability.design.search import SearchResult, structure_told
from forestall.show.drawings import figure_files
from forestall.show.figure_files import save
from forestall.show.style import (
    BLACK,
    DASHES,
    INK,
    LINES,
    MARKERS,
    VERMILLION,
    dress,
    has_matplotlib,
    legend,
    new_figure,
)

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUMMARY = "design.json"
TRADEOFF = "tradeoff"
FILES = ("changes.csv", "tradeoff.csv", *figure_files((TRADEOFF,)), SUMMARY)


def is_design_folder(folder: Path) -> bool:
    """Return whether a folder holds a design of ours."""
    return holds(folder, ("job_failure_probability",), SUMMARY)


def check_design_folder(folder: Path, *, force: bool) -> None:
    """Raise InputError where the folder cannot be written to, or holds something else."""
    check_folder(folder, force=force, ours=is_design_folder)


def save_design(design: Design, folder: Path) -> Path:
    """Write design.json and changes.csv, and after a search tradeoff.csv, .png and .svg."""

    def write(fresh: Path) -> None:
        told = design.json
        text = json.dumps(told, indent=2, allow_nan=False) + "\n"
        (fresh / SUMMARY).write_text(text, encoding="utf-8")
        pl.DataFrame(told["changes"], infer_schema_length=None).write_csv(fresh / "changes.csv")
        if design.found is None:
            return
        _write_curve(design.found, fresh / "tradeoff.csv")
        if has_matplotlib():
            drawn = tradeoff(design.found)
            for name in figure_files((TRADEOFF,)):
                save(drawn, fresh / name)

    return fill_folder(folder, write, FILES)


def _write_curve(found: SearchResult, path: Path) -> None:
    rows = [
        {
            "queues_at_most": k,
            "job_failure_probability": one.failure,
            "capacity_node_hours_per_hour": one.capacity,
            "turnaround_s": structure_told(one)["turnaround_s"],
            "structure": "; ".join(
                f"{queue.nodes}x{queue.limit:.0f}s x{queue.slots}" for queue in one.queues
            ),
        }
        for k, curve in enumerate(found.curves, 1)
        for one in curve.structures
    ]
    pl.DataFrame(rows, infer_schema_length=None).write_csv(path)


def tradeoff(found: SearchResult) -> Figure:
    """Draw F_job over capacity for each number of queues, and over the largest work admitted."""
    figure = new_figure((9.6, 4.4))
    left, right = figure.subplots(1, 2)
    for i, curve in enumerate(found.curves):
        points = sorted((one.capacity, 100 * one.failure) for one in curve.structures)
        left.plot(
            [x for x, _ in points], [y for _, y in points], color=LINES[i % len(LINES)],
            marker=MARKERS[i % len(MARKERS)], linestyle=DASHES[i % len(DASHES)], linewidth=1.3,
            markersize=4, label="1 queue" if i == 0 else f"at most {i + 1}",
        )  # fmt: skip
    own = 100 * found.admitted[0].own
    left.axhline(own, color=INK, linestyle=":", linewidth=1.2, label="the jobs' own")
    left.axvline(found.wanted, color=INK, linestyle="--", linewidth=0.8, label="wanted capacity")
    if found.now is not None:
        left.plot(
            [found.now.capacity], [100 * found.now.failure], "*", color=BLACK, markersize=12,
            linestyle="none", label="the queues now",
        )  # fmt: skip
    parts = [one for one in found.admitted if one.best is not None]
    x = [float(one.nodes) for one in parts]
    right.plot(
        x, [100 * one.best.failure for one in parts if one.best is not None], color=LINES[0],
        marker="o", linewidth=1.4, label="as the best queues promise",
    )  # fmt: skip
    right.plot(
        x, [100 * one.own for one in parts], color=VERMILLION, marker="s", linestyle=":",
        linewidth=1.4, label="the jobs' own",
    )  # fmt: skip
    for one in parts:
        if one.best is not None:
            right.annotate(
                f"{100 * one.work:.0f} %", (one.nodes, 100 * one.best.failure), (-3, 7),
                textcoords="offset points", fontsize=8, color=INK, ha="right",
            )  # fmt: skip
    right.set_xscale("log")
    right.set_xticks(x, [f"{value:,.0f}" for value in x])
    right.minorticks_off()
    for axes in (left, right):
        axes.margins(x=0.12, y=0.15)
        axes.set_ylim(bottom=0)
    dress(left, "", "Capacity (node-hours per hour)", "F_job: jobs that meet a failure (%)")
    dress(
        right,
        "",
        "Largest job admitted (nodes); beside it the work admitted",
        "F_job at that capacity (%)",
    )
    legend(left, ncols=3)
    legend(right, ncols=2)
    return figure
