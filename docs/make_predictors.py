"""Judge every predictor on the held-out last third of every real failure log, and write the tables
of ``docs/predictors/*.md``.

    FORESTALL_DATA=... python docs/make_predictors.py [SET ...|-]

Results of each set are kept in ``docs/predictors/SET.json``; the pages are written from all
that are there (``-``: only the pages). Takes some minutes a set.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forestall as fs
from forestall.core.model.observations import Observations
from forestall.logs.observed import observed
from forestall.prediction.judge.predictors import judge as judging
from forestall.prediction.judge.predictors.judge import JudgedPredictor, Task, task_of
from forestall.prediction.judge.predictors.report import rows as table_rows
from forestall.prediction.judge.predictors.study import PredictorStudy, summary_of
from forestall.prediction.judge.questions import How, Stakes
from forestall.runs.value import ReplayedWorkload, held_out, replayed

HERE = Path(__file__).parent
RESULTS = HERE / "predictors"
MARK = "<!-- tables: written by docs/make_predictors.py -->"
DATA = Path(os.environ.get("FORESTALL_DATA", HERE.parents[1] / "shared" / "data"))
DAYS, LOAD, SEEDS, MOST_NODES = 30, 0.7, (1, 2, 3), 256
LANL = "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz"


@dataclass(frozen=True)
class Set:
    """A failure log: how it is read, and whether its nodes can run jobs (disks cannot)."""

    title: str
    read: Callable[[], Observations]
    jobs: bool = True
    most: int = 500_000


def lanl(system: int) -> Set:
    """Return a system of LANL's log."""
    return Set(
        f"LANL, system {system}",
        lambda: observed(fs.read_failures(DATA / LANL, system=system)),
    )


def plain(path: str) -> Callable[[], Observations]:
    """Return the reader of a failure log."""
    return lambda: observed(fs.read_failures(DATA / path))


def marconi() -> Observations:
    """Return Marconi100's restarts and daily metrics."""
    from forestall.logs.metrics.read import read_metrics

    path = DATA / "m100-node-daily" / "m100_node_daily.csv.xz"
    return observed(fs.read_failures(path), metrics=read_metrics(path))


def backblaze() -> Observations:
    """Return Backblaze's failed drives and SMART values."""
    from forestall.logs.metrics.read import read_metrics

    path = next((DATA / "backblaze-2013q2").glob("*.csv.xz"))
    return observed(fs.read_failures(path), metrics=read_metrics(path))


def ras(path: str, level: str) -> Callable[[], Observations]:
    """Return the reader of an event log, filtered to failures of places of a level."""

    def read() -> Observations:
        from forestall.logs.ras.pipeline import pipeline
        from forestall.logs.ras.read import read_ras

        log = read_ras(DATA / path)
        return observed(pipeline(log).failures(level))

    return read


SETS = {
    **{f"lanl-{system}": lanl(system) for system in (2, 16, 18, 19, 20)},
    "grid5000": Set("Grid'5000", plain("fta-grid5000")),
    "bluegene-l": Set(
        "Blue Gene/L, midplanes", ras("bluegene-l-fatal/Best.all-fail.xz", "midplane")
    ),
    "mira": Set("Mira, midplanes", ras("mira-ras/mira_fatal_events_sim0.0.cor.gz", "midplane")),
    "marconi100": Set("Marconi100, restarts", marconi),
    "titan": Set("Titan, GPUs by location", plain("titan-gpu/gc_full.csv.gz"), jobs=False),
    "alpine": Set(
        "Alpine, disks", plain("disk-failures-hpc/alpine_formatted_data.csv"), jobs=False
    ),
    "campaign": Set(
        "Campaign, disks", plain("disk-failures-hpc/camp_formatted_data.csv"), jobs=False
    ),
    "backblaze": Set("Backblaze, drives", backblaze, jobs=False),
}


PAGES = {
    "lanl-2-16-18": ("lanl-2", "lanl-16", "lanl-18"),
    "lanl-19-20": ("lanl-19", "lanl-20"),
    "grid5000-blue-gene": ("grid5000", "bluegene-l", "mira"),
    "marconi100-titan": ("marconi100", "titan"),
    "disks": ("alpine", "campaign", "backblaze"),
}
"""Which sets stand on which page, below its mark."""


def tell(text: str) -> None:
    """Say what was done, on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def judged(name: str, one: Set) -> dict[str, Any]:
    """Judge every predictor on a set; return what the page needs."""
    begin = time.perf_counter()
    whole = one.read()
    task = task_of(whole, How(most=one.most))
    found = []
    for entry in judging.wanted(None):
        since = time.perf_counter()
        reference = found[0].scores if found else None
        made = judging.trained(entry, task)
        if isinstance(made, JudgedPredictor):
            found.append(made)
        else:
            found.append(judging.judge_one(entry, task, made, reference))
        tell(f"{name}: {entry} in {time.perf_counter() - since:.1f} s")
    base = judging.best_baseline(found)
    summary = summary_of(PredictorStudy(task, tuple(found), base, base, None, {}), Stakes())
    summary["title"] = one.title
    del summary["verdict"]  # no threshold for acting is sought here
    summary["source"] = Path(summary["source"]).name
    summary["value"] = valued(task, found) if one.jobs else None
    summary["seconds"] = round(time.perf_counter() - begin)
    return summary


def valued(task: Task, found: list[JudgedPredictor]) -> list[dict[str, Any]]:
    """Return what each predictor is worth to the system: generated workloads on the first nodes,
    the failures of the first days after the split."""
    nodes = min(task.whole.nodes, MOST_NODES)
    failures = held_out(task.whole, task.split, DAYS + 5, nodes)
    replays = [
        ReplayedWorkload(fs.generate_jobs(nodes, seed, days=DAYS, load=LOAD), failures, nodes, {})
        for seed in SEEDS
    ]
    learners = {one.name: one.learner.moved(-task.split) for one in found if one.learner}
    known = {n: one for n, one in learners.items() if one.seen.end <= 0}

    def progress(done: int, total: int) -> None:
        tell(f"run {done} of {total}")

    return [*replayed(replays, known, progress), {"failures": len(failures), "nodes": nodes}]


def section(summary: dict[str, Any]) -> list[str]:
    """Return the lines of one set."""
    held = summary["held_out"]
    value = {row["predictor"]: row for row in (summary["value"] or [])[:-1]}
    lines = [f"## {summary['title']}", ""]
    text = (
        f"{summary['nodes']:,} nodes, {summary['failures']:,} failures; judged on "
        f"{held['failures']:,} failures in the {held['days']:,.0f} days from "
        f"{held['from'][:10]} on."
    )
    if value:
        last = summary["value"][-1]
        none, best = value["no prediction"], value["perfect"]
        text += (
            f" QoS on {last['nodes']} nodes with {last['failures']} failures: "
            f"{none['qos']:.3f} without prediction, {best['qos']:.3f} with the perfect one; "
            f"{none['lost_node_hours']:,.0f} and {best['lost_node_hours']:,.0f} node-hours lost."
        )
    lines += [text, ""]
    heads = ["Predictor", "AUC", "Brier skill", "Recall 1 h", "6 h", "24 h", "Lead", "Standing"]
    heads += ["QoS regained", "Lost work saved"] if value else []
    lines += ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in table_rows(summary):
        own = value.get(row[0].removesuffix(" *"))
        extra = [shared(own, "regained"), shared(own, "saved")] if value else []
        lines.append("| " + " | ".join(map(spaced, [*row, *extra])) + " |")
    left = [row["name"] for row in summary["predictors"] if row["why"]]
    if left:
        lines += ["", "Left out for lack of data: " + ", ".join(left) + "."]
    return [*lines, ""]


def spaced(cell: str) -> str:
    """Return a cell as pages write numbers: `5 % ±2`."""
    return re.sub(r"(?<=\d)%", " %", cell.replace("+-", "±"))


def shared(row: dict[str, Any] | None, name: str) -> str:
    """Return a share with half the width of its interval."""
    if row is None or row[name] is None:
        return "-"
    half = row[f"{name}_half_width"]
    return f"{100 * row[name]:.0f} %" + ("" if half is None else f" +-{100 * half:.0f}")


def main() -> None:
    """Judge the sets that are named, or all, and write the pages."""
    RESULTS.mkdir(exist_ok=True)
    for name in [one for one in sys.argv[1:] if one != "-"] or (() if "-" in sys.argv else SETS):
        summary = judged(name, SETS[name])
        text = json.dumps(summary, indent=1, sort_keys=True)
        (RESULTS / f"{name}.json").write_text(text + "\n")
    for name, sets in PAGES.items():
        paths = [RESULTS / f"{one}.json" for one in sets]
        lines = [
            line for one in paths if one.exists() for line in section(json.loads(one.read_text()))
        ]
        page = RESULTS / f"{name}.md"
        before = page.read_text().split(MARK)[0]
        page.write_text(before + MARK + "\n\n" + "\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
