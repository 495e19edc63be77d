"""The report of one run: what the promises were worth, in words, figures and tables.

Each section is a function of the run and an entry in `SECTIONS`; the renderers of
`forestall.core.show` make text, page and JSON of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import polars as pl

from forestall.core.kit.report import measured, measures_by, run_report
from forestall.core.kit.tables import ENDS, Column, parts_table, tabled
from forestall.core.model.cleaning import Cleaning
from forestall.core.proportions import wilson
from forestall.core.show import words as say_
from forestall.core.show.blocks import Figure, Prose, Table
from forestall.core.show.report import Report, Section
from forestall.core.show.style import GREEN, GREY, ORANGE, SKY, VERMILLION
from forestall.scheduling.report import digest, figures, shared, words
from forestall.scheduling.report.gantt import gantt
from forestall.scheduling.simulation.parameters import Parameters
from forestall.vaults.api.vaulted import sections_of, vault_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

    from forestall.core.show.facts import Fact
    from forestall.core.show.words import Summary

NODE_TIME: Final = (
    ("useful", "Useful work", GREEN),
    ("checkpoint_overhead", "Checkpoints", SKY),
    ("lost", "Lost to failures", VERMILLION),
    ("down", "Down", ORANGE),
    ("idle", "Idle", GREY),
)


@dataclass(frozen=True)
class ToldRun:
    """A run as its report tells it.

    Attributes
    ----------
    summary : what `summary.json` holds
    jobs, failures : the tables of `jobs.csv` and `failures.csv`
    runs : ``job,start,end,outcome,checkpoints,lost,nodes``, a row for each time a job was started
    gantt_span : window [start, end) of the Gantt chart, s; three eventful days without it
    cleaning : what was left out or changed in the logs
    users : the table of `users.csv`, None where users do not bargain
    """

    summary: Summary
    jobs: pl.DataFrame
    runs: pl.DataFrame
    failures: pl.DataFrame
    gantt_span: tuple[int, int] | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    users: pl.DataFrame | None = None

    @cached_property
    def span(self) -> tuple[int, int]:
        """The first submission and the last end of a run, s."""
        return figures.span_of(self.jobs, self.runs)

    @cached_property
    def happened(self) -> pl.DataFrame:
        """The failures until the last end of a run."""
        return self.failures.filter(pl.col("time") < self.span[1])

    @property
    def made(self) -> int:
        """How many promises were made."""
        return words.promises_made(self.summary)[0]

    def drawn(self, figure: Figure, *, also: bool = True) -> tuple[Figure, ...]:
        """Return a figure where there are runs to draw and `also` something that it shows."""
        return (figure,) if also and not (self.jobs.is_empty() or self.runs.is_empty()) else ()


def report(run: ToldRun) -> Report:
    """Return the report of a run."""
    summary, has_resources = run.summary, bool(digest.resources_in(run.summary))
    sections = [one for one in SECTIONS if has_resources or one is not shared.section]
    return run_report(
        summary,
        Parameters,
        parameters=parameters_shown(summary),
        title="How well the promises held" if run.made else "How the jobs fared",
        headline=headline(summary),
        sections=sections_of(run, sections),
        verdict=(words.on_promises(summary), words.on_work(summary), words.on_waiting(summary)),
        top=top(summary),
        cleaning=run.cleaning,
    )


def headline(summary: Summary) -> str:
    """Return the line below the title."""
    parameters = summary.get("parameters") or {}
    parts = [
        say_.counted(summary.get("jobs_count"), "job"),
        say_.counted(parameters["nodes"], "node") if "nodes" in parameters else "",
        f"{say_.duration(summary.get('makespan'))} from first submission to last finish",
        f"policy {summary['policy']}" if "policy" in summary else "",
        promised_by(summary),
        f"seed {summary['seed']}" if "seed" in summary else "",
    ]
    return " · ".join(part for part in parts if part)


def promised_by(summary: Summary) -> str:
    """Return which predictor stands behind the promises, where it is not the trace predictor."""
    name = (summary.get("predictor") or {}).get("name", "trace")
    if name == "trace" or not words.promises_made(summary)[0]:
        return ""
    return "a predictor of your own" if name == "own" else f"predictor {name}"


def top(summary: Summary) -> tuple[Fact, ...]:
    """Return the facts that matter most."""
    wait = summary.get("wait") or {}
    useful = say_.number((summary.get("node_seconds") or {}).get("useful"))
    lost = say_.number(summary.get("lost_work"))
    hours = say_.node_hours(lost).removesuffix(say_.NODE_HOURS)
    share = f", {say_.percent(lost / useful)} of the useful work" if useful and lost else ""
    skipped = say_.number(summary.get("skipped_checkpoints")) or 0
    return (
        *_promises_kept(summary),
        measured("utilization", "Utilization", summary.get("utilization"), "ratio",
                 "of node time did useful work", say_.percent),
        measured("lost_work", "Lost work", None if lost is None else lost / 3600, "node_hours",
                 f"node-hours lost to failures{share}", lambda _: hours),
        measured("wait_median", "Median wait", wait.get("median"), "seconds",
                 f"mean {say_.duration(wait.get('mean'))}, 95 % within "
                 f"{say_.duration(wait.get('p95'))}", say_.duration),
        measured("restarts", "Restarts", summary.get("restarts"), "count",
                 "of jobs stopped by a failure", say_.count),
        measured("checkpoints", "Checkpoints", summary.get("checkpoints"), "count",
                 f"performed; {skipped:,.0f} skipped because they did not pay", say_.count),
    )  # fmt: skip


def _promises_kept(summary: Summary) -> tuple[Fact, ...]:
    made, promised = words.promises_made(summary)
    kept = say_.number(summary.get("promises_kept"))
    if not made or kept is None:
        return ()
    meaning = f"{say_.in_words(kept)}; {say_.percent(promised)} promised on average"
    return (
        measured("promises_kept", "Promises kept", kept, "ratio", meaning, say_.percent),
        measured("qos", "Quality of service (QoS)", summary.get("qos"), "number",
                 "of 1: work finished by its deadline, weighted by its promise", say_.ratio),
    )  # fmt: skip


# Sections -----------------------------------------------------------------------------------------


def node_time(run: ToldRun) -> Section:
    """Return what became of all node-seconds."""
    seconds = run.summary.get("node_seconds") or {}
    amount = ("node_s", "Node time", say_.node_hours)
    total = say_.number(seconds.get("total"))
    body = parts_table("node_time", amount, NODE_TIME, seconds, total)
    return Section("node_time", "Where the node time went", body=body)


def promises(run: ToldRun) -> Section:
    """Return promises by decile, with counts and 95 % intervals."""
    alt = "Share of promises kept, by promised probability. " + words.on_promises(run.summary)
    figure = Figure("calibration", lambda: figures.calibration(run.jobs), alt)
    columns: list[Column] = [
        (ENDS, "Promised probability", lambda tenth: f"{tenth[0]:.1f} to {tenth[1]:.1f}"),
        ("count", "Promises", say_.count),
        ("promised_mean", "Promised on average", say_.percent),
        ("kept_share", "Kept", say_.percent),
        (("kept_low", "kept_high"), "95 % interval", lambda ends: _to(*ends)),
    ]
    values = [
        ((one["low"], one["high"]), *(one[name] for name, _, _ in columns[1:4]),
         wilson(round(one["kept_share"] * one["count"]), one["count"]))
        for one in run.summary.get("calibration") or [] if one["count"]
    ]  # fmt: skip
    caption = (
        "If the interval includes the promised probability, the promises are consistent with it."
    )
    told: Table | Prose = Prose("This policy makes no promises.")
    if values:
        told = tabled("calibration", columns, values, caption=caption)
    return Section("promises", "Promises", body=(*run.drawn(figure, also=run.made > 0), told))


def _to(low: float, high: float) -> str:
    return f"{say_.percent(low)} to {say_.percent(high)}"


def levels(run: ToldRun) -> Section:
    """Return nodes and queue over time."""

    def draw() -> Drawn:
        return figures.utilization_and_queue(
            run.jobs, run.runs, machine_size(run.summary), run.happened
        )

    alt = (
        "Share of busy and down nodes, waiting jobs and the nodes they request, over time. "
        + words.on_work(run.summary)
    )
    return Section(
        "levels", "Nodes and queue over time", body=run.drawn(Figure("levels", draw, alt))
    )


def chart(run: ToldRun) -> Section:
    """Return the Gantt chart."""

    def draw() -> Drawn:
        start, end = run.gantt_span or (None, None)
        return gantt(
            run.runs, run.happened, machine_size(run.summary), start, end, origin=run.span[0]
        )

    alt = "Gantt chart of the runs of jobs on nodes, with failures and outages."
    alone = not digest.resources_in(run.summary)  # jobs side by side cannot be told apart
    caption = "" if run.gantt_span else "The part of the log in which failures hit the most jobs."
    return Section(
        "gantt",
        "Which job ran where",
        body=run.drawn(Figure("gantt", draw, alt, caption), also=alone),
    )


def lost_work(run: ToldRun) -> Section:
    """Return the work lost to failures over time."""

    def draw() -> Drawn:
        start, end = run.span
        return figures.lost_work_over_time(run.happened, start=start, end=end)

    lost = say_.node_hours(run.summary.get("lost_work"))
    figure = Figure("lost", draw, f"Cumulative work lost to failures: {lost}.")
    body = run.drawn(figure, also=len(run.happened) > 0)
    return Section("lost", "Work lost over time", body=body)


def times(run: ToldRun) -> Section:
    """Return waits, responses and slowdowns as mean, median and 95th percentile."""
    rows, records = [], []
    for slug, name, tell in (
        ("wait", "Wait until the first start", say_.duration),
        ("response", "Response", say_.duration),
        ("bounded_slowdown", "Bounded slowdown (10 s)", lambda value: say_.ratio(value, 2)),
    ):
        three = run.summary.get(slug) or {}
        values = {one: three.get(one) for one in ("mean", "median", "p95")}
        rows.append((name, *(tell(value) for value in values.values())))
        unit = "" if slug == "bounded_slowdown" else "_s"
        records.append({"what": slug, **{f"{one}{unit}": v for one, v in values.items()}})
    heads = ("", "Mean", "Median", "95th percentile")
    table = Table.of("times", heads, rows, records)
    return Section("times", "Waiting, response and slowdown", body=(table,))


def users(run: ToldRun) -> Section:
    """Return what came of users who bargain, by kind; nothing where none do."""
    kinds = (run.summary.get("users") or {}).get("kinds") or {}
    columns: list[Column] = [
        ("kind", "Users", str),
        ("jobs", "Jobs", say_.count),
        ("took", "Submitted", say_.count),
        ("asked_again", "Asked again", say_.count),
        ("taken_mean", "Mean promise accepted", say_.percent),
        ("value", "Value if done at once", say_.figure),
        ("value_promised", "Promised", say_.figure),
        ("value_kept", "Kept", say_.figure),
    ]
    values = [(name, *(one[slug] for slug, _, _ in columns[1:])) for name, one in kinds.items()]
    caption = "Values are in the units of the population. Promised is value times probability."
    table = tabled("users", columns, values, caption=caption)
    return Section("users", "Users who bargain", body=(table,) if values else ())


SECTIONS: Final[tuple[Callable[[ToldRun], Section], ...]] = (
    measures_by(digest.measures),
    node_time,
    shared.section,
    promises,
    users,
    vault_section,
    levels,
    chart,
    lost_work,
    times,
)
"""In the order of the report; what has nothing to show is left out."""


def parameters_shown(summary: Summary) -> dict[str, object]:
    """Return the parameters, and the numbers of a predictor that has learned in place of the
    accuracy, which it has none of."""
    parameters = dict(summary.get("parameters") or {})
    told = dict(summary.get("predictor") or {"name": "trace"})
    if told.pop("name") != "trace":
        parameters.pop("accuracy", None)
        parameters |= {f"predictor_{name}": value for name, value in told.items()}
    return parameters


def machine_size(summary: Summary) -> int:
    """Return the nodes of the machine: as the parameters say, else as its node time tells."""
    nodes = say_.number((summary.get("parameters") or {}).get("nodes"))
    if nodes:
        return int(nodes)
    total = say_.number((summary.get("node_seconds") or {}).get("total")) or 0
    return max(round(total / max(say_.number(summary.get("makespan")) or 1, 1)), 1)
