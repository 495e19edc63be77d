"""The results as sections for people, and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import polars as pl

import forestall as fs
from studies.kit.claims import Claim
from studies.kit.text import Blocks, reasons, table, verdict, whys
from studies.promises.calibration import CALIBRATED, calibration
from studies.promises.inputs import (
    DAY,
    DAYS,
    FOLD,
    FROM,
    SYSTEM,
    Character,
    Inputs,
    bursts,
    characters,
    survival,
)
from studies.promises.study import ABLATION_ACCURACIES, BURSTS, PAPER_LOGS, POINTS, VARIANTS


def spread(values: pl.Series, digits: int, scale: float = 1.0) -> str:
    """Return mean and range of a column as text; only the mean where it never varies."""
    numbers = values.cast(pl.Float64).to_numpy() * scale
    ends = (float(numbers.mean()), float(numbers.min()), float(numbers.max()))
    text, *shown = (f"{round(value, digits) + 0.0:,.{digits}f}" for value in ends)  # no -0
    return text if shown[0] == shown[1] else f"{text} ({shown[0]} to {shown[1]})"


def measures_row(rows: pl.DataFrame) -> list[str]:
    """Return QoS, utilization and lost work of some runs as cells: mean (minimum to maximum)."""
    return [
        spread(rows["qos"], 3),
        spread(rows["utilization"], 3),
        spread(rows["lost_work"], 0, 1 / 3600),
    ]


def inputs_section(inputs: Inputs, runs: pl.DataFrame) -> Blocks:
    """Return what was played: Table 1, the failures, and whether they were enough."""
    grid = runs.filter(pl.col("study") == "grid")
    rows = []
    for c in characters(inputs):
        played = grid.filter(pl.col("log") == c.log)["makespan"]
        rows.append(_character_cells(c, days(played)))
    head = (
        "Log", "Jobs (ids)", "Mean nodes (paper)", "Mean run time, s (paper)",
        "Longest, h (paper)", "Arrive within, days", "Longest replay, days",
    )  # fmt: skip
    notes = (failures_words(inputs), repeat_note(runs))
    return table(head, rows), *map(fs.reports.Prose, notes)


def failures_words(inputs: Inputs) -> str:
    """Return in a few sentences which failures these are and how they come."""
    found = bursts(inputs.failures)
    return (
        f"Failures: LANL system {SYSTEM}, {DAYS} days from {FROM}, node // {FOLD}: "
        f"{len(inputs.failures):,} failures on 128 nodes. {100 * found.close:.1f} % follow another "
        f"within ten minutes. The variance-to-mean ratio is {found.daily:.2f} for daily counts and "
        f"{found.nodes:.1f} for counts by node (1: no pattern)."
    )


def days(makespans: pl.Series) -> float:
    """Return the longest of some replays, in days."""
    return float(makespans.cast(pl.Float64).to_numpy().max()) / DAY


def _character_cells(c: Character, replay: float) -> list[str]:
    size, runtime, longest = c.paper
    empty = f", {c.empty} of 0 s left out" if c.empty else ""
    return [
        c.log,
        f"{c.jobs:,} ({c.first_id} to {c.last_id}{empty})",
        f"{c.mean_size:.2f} ({size:g})",
        f"{c.mean_runtime:,.0f} ({runtime:,.0f})",
        f"{c.longest:.1f} ({longest:g})",
        f"{c.days:.1f}",
        f"{replay:.1f}",
    ]


def claims_section(claims: Sequence[Claim], burst_claims: Sequence[Claim]) -> Blocks:
    """Return each claim beside what was measured, and why."""
    bursts = {(c.name, c.where): f"{c.verdict}: {c.measured}" for c in burst_claims}
    rows = [
        (f"{c.claim} ({c.section})", c.where, c.measured, verdict(c),
         bursts.get((c.name, c.where), ""))
        for c in claims
    ]  # fmt: skip
    head = ("The paper's claim", "Log", "Measured", "Verdict", "With failures in bursts of five")
    return table(head, rows), *reasons(whys(claims))


def as_facts(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Return claims as plain values, each with its findings by log."""
    made: list[dict[str, Any]] = []
    for _, tests in groupby(claims, key=lambda one: one.name):
        mine = list(tests)
        one = mine[0]
        found = {c.where: {"measured": c.measured, "verdict": c.verdict} for c in mine}
        made.append(
            {"name": one.name, "section": one.section, "claim": one.claim, "findings": found,
             "why": one.why}
        )  # fmt: skip
    return made


def ablation_section(runs: pl.DataFrame) -> fs.reports.Table:
    """Return what each mechanism does apart and together."""
    mine = runs.filter(pl.col("study") == "ablation")
    rows = []
    for log in PAPER_LOGS:
        for accuracy in (0.0, *ABLATION_ACCURACIES):
            for variant in VARIANTS:
                some = mine.filter(
                    (pl.col("log") == log)
                    & (pl.col("accuracy") == accuracy)
                    & (pl.col("variant") == variant)
                )
                if len(some):
                    name = f"{accuracy:g}" if accuracy else "none"
                    kept = spread(some["kept_work"], 3)
                    taken = spread(some["checkpoints"], 0)
                    rows.append((log, name, variant, *measures_row(some), kept, taken))
    head = (
        "Log", "a", "Mechanisms", "QoS", "Utilization", "Lost work, node-hours",
        "Work of jobs in time (share)", "Checkpoints",
    )  # fmt: skip
    return table(head, rows)


def controls_section(inputs: Inputs, runs: pl.DataFrame) -> fs.reports.Table:
    """Return runs with other failures or other jobs, beside those of the grid."""
    names = {
        "grid": "as above",
        "rolled": "the year begun 30, 60, ..., 330 days later",
        "scattered": "as many failures without any pattern",
        BURSTS: "as many failures in bursts of five",
        "repeated": "with --repeat-failures",
        "8,000 jobs": "first 8,000 jobs",
        "8,000 jobs, first at 0": "first 8,000 jobs, the first one submitted at time 0",
    }
    rows = []
    for c in characters(inputs):
        for study, words in names.items():
            mine = runs.filter((pl.col("log") == c.log) & (pl.col("study") == study))
            cells = []
            for accuracy, risk in POINTS:
                some = mine.filter((pl.col("accuracy") == accuracy) & (pl.col("risk") == risk))
                cells += measures_row(some) if len(some) else []
            if cells:
                rows.append((c.log, words, *cells))
        rows.append((c.log, "expected of the jobs' sizes alone", f"{c.survival:.3f}", *[""] * 5))
    head = (
        "Log", "Failures or jobs", "QoS, no prediction", "Utilization", "Lost work, node-hours",
        "QoS, a = 1, U = 0.9", "Utilization", "Lost work, node-hours",
    )  # fmt: skip
    return table(head, rows)


def unforeseen_words(inputs: Inputs, promises: pl.DataFrame) -> tuple[str, ...]:
    """Return how many certain promises broke, beside what unforeseen failures alone would break."""
    lines = []
    for accuracy, risk in CALIBRATED:
        for log in PAPER_LOGS:
            sure = calibration(promises, log, accuracy, risk)[-1]
            count = 1 - survival(inputs.jobs[log], accuracy, by_work=False)
            work = 1 - survival(inputs.jobs[log], accuracy)
            lines.append(
                f"{log}, a = {accuracy:g}, U = {risk:g}: {100 * (1 - sure.kept):.2f} % of the "
                f"promises of exactly 1 were broken, {100 * (1 - sure.kept_work):.1f} % by work; "
                f"unforeseen failures alone would break {100 * count:.2f} % and {100 * work:.1f} %."
            )
    return tuple(lines)


def calibration_section(inputs: Inputs, promises: pl.DataFrame) -> Blocks:
    """Return what was promised beside what was kept."""
    rows = [
        (
            b.log, f"{b.accuracy:g}", f"{b.risk:g}", b.name, f"{b.promises:,}", f"{b.promised:.4f}",
            f"{b.kept:.4f}", f"{b.kept_work:.4f}", f"{b.struck:.4f}",
            "" if b.saved is None else f"{b.saved:.3f}",
        )
        for accuracy, risk in CALIBRATED
        for log in PAPER_LOGS
        for b in calibration(promises, log, accuracy, risk)
    ]  # fmt: skip
    head = (
        "Log", "a", "U", "Promised", "Promises", "Mean promised", "Share kept", "By work",
        "Share struck by a failure", "Of the struck, in time",
    )  # fmt: skip
    return table(head, rows), fs.reports.Listing(unforeseen_words(inputs, promises))


def repeat_note(runs: pl.DataFrame) -> str:
    """Return whether a repeated failure log changes anything."""
    keys = ["log", "accuracy", "risk", "seed"]
    both = runs.filter(pl.col("study") == "repeated").join(
        runs.filter(pl.col("study") == "grid"), on=keys, suffix="_grid"
    )
    names = ("qos", "utilization", "lost_work", "makespan")
    alike = both.filter(pl.all_horizontal(pl.col(n) == pl.col(f"{n}_grid") for n in names))
    return (
        f"The longest of all replays takes {days(runs['makespan']):.0f} of the {DAYS} days, so "
        f"failures never run out; with --repeat-failures {len(alike)} of {len(both)} runs give the "
        "same measures."
    )
