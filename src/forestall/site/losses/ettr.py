"""The section on effective training time (ETTR): how much of jobs' time was productive, by size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, number, percent
from forestall.core.show.report import Section
from forestall.core.show.style import BLUE, VERMILLION, dress, legend, new_figure
from forestall.core.streams import stream
from forestall.prediction.assess.goodput import Blocks
from forestall.prediction.assess.job_ettr import study as study_of_jobs
from forestall.reliability.report.failure_rate import measured
from forestall.site.losses.amounts import (
    HOUR,
    NONE,
    ends_of,
    every,
    share_columns,
    value_of,
    with_interval,
)
from forestall.site.losses.goodput import assumed_of, assuming
from forestall.site.shared import how_ended
from forestall.slurm.records.run_ends import tells_interruptions
from forestall.slurm.sources.swf_jobs import waits_told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure as Drawn

    from forestall.prediction.assess.goodput import Assumed
    from forestall.prediction.assess.job_ettr import EttrClass, JobEttr
    from forestall.reliability.report.failure_rate import MeasuredRate
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "ettr"
TITLE: Final = "Effective training time of jobs (ETTR)"
DAY: Final = 86_400
PER: Final = 1000
"""Rates are failures per so many node-days."""
FEWEST: Final = 10
"""Classes of fewer jobs are shown, but not said to differ from the model."""


@dataclass(frozen=True)
class EttrStudy:
    """What was found.

    Attributes
    ----------
    every, jobs : all jobs together; jobs in classes
    rate : failures of nodes, for the model; None where nothing tells it
    waits : whether the records tell when jobs waited
    blocks, assumed : what was drawn anew, and the checkpoints
    """

    every: EttrClass
    jobs: JobEttr
    rate: MeasuredRate | None
    waits: bool
    blocks: Blocks
    assumed: Assumed


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section; see `forestall.prediction.assess.job_ettr` for how it is counted."""
    records = site.accounting
    if records is None:
        return _nothing("no accounting of jobs was given", "sacct's records of jobs")
    if len(records) and not tells_interruptions(records):
        why = "the records do not distinguish runs stopped by a failure from runs that failed"
        return _nothing(why, "Slurm's own states of jobs")
    found = _study(site, records, asked)
    if found is None:
        return _nothing("no job ran on a known number of nodes", "runs of jobs with their nodes")
    tables = [
        _table("by_nodes", "ETTR of jobs by number of nodes", found.jobs.classes, found),
        _model_table(found),
        _table("by_gpus", "ETTR of jobs by number of GPUs", found.jobs.gpus, found),
    ]
    return Section(
        KEY,
        TITLE,
        _lead(found, asked),
        facts=_figures(found, asked),
        series=_series(found, asked),
        body=(*(one for one in tables if one is not None), _picture(found, asked)),
        notes=_notes(found),
        untold=_untold(found),
    )


def _study(site: SiteRecords, records: Accounting, asked: Asked) -> EttrStudy | None:
    ends = how_ended(site)
    assumed = assumed_of(asked)
    blocks = Blocks.over(asked.begin, asked.until)
    weights = blocks.weights(stream(asked.seed, "books", "ettr"))
    rate = measured(site, asked, least=1)
    per_day = rate.rate * DAY if rate is not None else None
    found = study_of_jobs(
        records, assumed, blocks, weights, rate=per_day, ends=ends, level=asked.level
    )
    if found.every is None:
        return None
    return EttrStudy(found.every, found, rate, waits_told(records), blocks, assumed)


def _nothing(why: str, remedy: str) -> Section:
    text = f"The effective training time of jobs is unknown: {why}."
    return Section(KEY, TITLE, text, untold=(Untold("ETTR of jobs", why, remedy),))


def _lead(found: EttrStudy, asked: Asked) -> str:
    one = found.every
    text = (
        f"{with_interval(one.ettr_running, asked.level)} of the node-hours in which "
        f"{counted(one.jobs, 'jobs')} ran were productive"
    )
    if found.waits:
        text += f"; counting all waits for nodes, {percent(one.ettr.value)} of their total time"
    text += f". {counted(one.stops, 'runs')} of them were stopped early."
    compared = [row for row in found.jobs.long if row.differs is not None and row.jobs >= FEWEST]
    off = [row for row in compared if row.differs]
    if compared:
        many = str(len(off)) if off else "none"
        text += (
            f" Of {counted(len(compared), 'size classes')} of jobs of a day or more, {many} "
            f"{'differ' if len(off) > 1 else 'differs'} from the model by more than chance."
        )
    return text.replace("1 size class", "1 class")


def _figures(found: EttrStudy, asked: Asked) -> tuple[Fact, ...]:
    one, assumes = found.every, assuming(found.assumed)
    made = [
        Fact("ettr", "ETTR without waits", unit="ratio", records=one.jobs, assumes=assumes,
             labels={"waits": "no"}, **value_of(one.ettr_running, asked.level)),
    ]  # fmt: skip
    if found.waits:
        made += [
            Fact("ettr", "ETTR with all waits", unit="ratio", records=one.jobs, assumes=assumes,
                 labels={"waits": "yes"}, **value_of(one.ettr, asked.level)),
            Fact("ettr_mean", "mean ETTR of jobs with all waits", unit="ratio", records=one.jobs,
                 assumes=assumes, **value_of(one.mean, asked.level)),
        ]  # fmt: skip
    if found.rate is not None:
        rate, low, high = (PER * DAY * one for one in (found.rate.rate, *found.rate.ends()))
        made.append(
            Fact(
                "ettr_failure_rate", "failures used by the model", rate, "per_1000_node_days",
                found.rate.failures,
                f"From {found.rate.what} over {number(found.rate.node_days)} node-days.",
                low, high, found.rate.level,
            )
        )  # fmt: skip
    return tuple(made)


def _series(found: EttrStudy, asked: Asked) -> tuple[Fact, ...]:
    made = []
    for rows, unit in ((found.jobs.classes, "nodes"), (found.jobs.gpus, "gpus")):
        for row in rows:
            labels = {unit: row.label.replace(",", "")}
            made.append(
                Fact("ettr_by_size", f"ETTR without waits, {row.label} {unit}", unit="ratio",
                     records=row.jobs, labels=labels, **value_of(row.ettr_running, asked.level))
            )  # fmt: skip
            if found.waits:
                made.append(
                    Fact("ettr_by_size_with_waits", f"ETTR, {row.label} {unit}", unit="ratio",
                         records=row.jobs, labels=labels, **value_of(row.ettr, asked.level))
                )  # fmt: skip
    made += [
        Fact("ettr_expected", f"ETTR that the model expects, {row.label} nodes",
             row.model.time.exact, "ratio", row.jobs,
             "Failures at a constant rate, the same on all nodes.",
             labels={"nodes": row.label.replace(",", "")})
        for row in found.jobs.long
        if row.model is not None
    ]  # fmt: skip
    return tuple(made)


def _modelled(name: str, text: Callable[[Any], str]) -> Callable[[Mapping[str, Any]], str]:
    """Return how what the model expects is written; a dash of classes without a model."""
    return lambda row: text(row[name]) if name in row else NONE


def _sizes(row: Mapping[str, Any]) -> str:
    """Return the sizes of a class in words, as `EttrClass.label` has them."""
    least, most = row["least"], row["most"]
    return f"{least:,}" if least == most else f"{least:,}-{most:,}"


def _linear(value: float) -> str:
    return percent(value) if value > 0 else "below 0"


def _verdict(row: Mapping[str, Any]) -> str:
    if row["differs"] is None:
        return "not told"
    if row["jobs"] < FEWEST:
        return f"under {FEWEST} jobs"
    if not row["differs"]:
        return "no"
    better = row["ettr_without_waits"] > row["expected_exact"]
    return "jobs did better" if better else "jobs did worse"


RUNNING: Final = share_columns("No waits", "ettr_without_waits")


COLUMNS: Final[tuple[Column, ...]] = (
    ("Jobs", "jobs", number),
    ("Stopped", "stopped_runs", number),
    ("Node-hours", "node_hours", number),
    *RUNNING,
)


MODEL: Final[tuple[Column, ...]] = (
    ("Nodes", _sizes),
    ("Jobs", "jobs", number),
    ("Stops", "stopped_runs", number),
    ("Expected", _modelled("expected_stops", number)),
    *RUNNING,
    ("Model", _modelled("expected_exact", percent)),
    ("Linear", _modelled("expected_linear", _linear)),
    ("Differs", lambda row: _verdict(row) if "differs" in row else NONE),
)


def _record(row: EttrClass, waits: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "least": row.least,
        "most": row.most,
        "jobs": row.jobs,
        "stopped_runs": row.stops,
        "node_hours": row.node_seconds / HOUR,
        **ends_of(row.ettr_running, "ettr_without_waits"),
    }
    if waits:
        told |= ends_of(row.ettr, "ettr_with_waits") | ends_of(row.mean, "ettr_mean")
    return told


def _table(key: str, title: str, rows: tuple[EttrClass, ...], found: EttrStudy) -> Table | None:
    if not rows:
        return None
    columns: list[Column] = [("GPUs" if key == "by_gpus" else "Nodes", _sizes), *COLUMNS]
    if found.waits:
        columns += share_columns("With waits", "ettr_with_waits")
    records = [_record(row, found.waits) for row in rows]
    note = "Weighted by node-hours. Stopped: runs stopped from outside or requeued."
    return Table.by(key, columns, records, title=title, note=note, right=(1, 2, 3, 4, 6))


def _model_table(found: EttrStudy) -> Table | None:
    if not found.jobs.long:
        return None
    records = []
    for row in found.jobs.long:
        per = 1000 * row.stops / (row.node_seconds / DAY)
        told = _record(row, waits=False) | {"stops_per_1000_node_days": per}
        if row.model is not None:
            told |= {
                "expected_exact": row.model.time.exact,
                "expected_linear": row.model.time.linear,
                "expected_for_nodes": row.model.time.nodes,
                "expected_stops": row.model.stops,
                "stopped_runs_low": row.model.low,
                "stopped_runs_high": row.model.high,
                "differs": row.differs,
            }
        records.append(told)
    note = (
        "Differs: the model lies outside the interval, and the number of stops that it expects "
        "lies outside the exact Poisson interval of those observed."
    )
    if found.rate is not None:
        rate = found.rate
        note += (
            f" Model: {number(PER * DAY * rate.rate)} failures per 1000 node-days "
            f"({rate.failures:,} {rate.what}), for the mean size of the class; exact renewal "
            "form, and the usual linear one."
        )
    title = "Jobs that ran a day or more, compared with the model"
    return Table.by("long_jobs", MODEL, records, title=title, note=note, right=(1, 2, 3, 4, 6, 7))


def _notes(found: EttrStudy) -> tuple[str, ...]:
    notes = [
        f"{assuming(found.assumed)} These are assumptions: accounting does not record them.",
        "All runs of a job belong together. Productive: the time of its runs, minus restarts, "
        "checkpoints, and the time since the last checkpoint of each run that was stopped (on "
        "average half of interval and cost; all of a run shorter than these). Runs are stopped "
        "by a node failure, preemption, requeue, boot or launch failure or an operator, or "
        "because the job ran again. Other job endings do not matter here.",
        "Without waits: productive time over running time. With waits: productive time over "
        "all time from when the job could first start to its last end. Both are weighted by "
        "node-hours.",
        "Jobs shorter than an interval write no checkpoint, so the model, which is for long "
        "jobs, is compared with jobs that ran a day or more, as by Kokolis et al. (arXiv "
        "2410.21680). It covers node failures only; jobs that were also preempted or requeued "
        "do worse.",
        f"Intervals: bootstrap over whole {found.blocks.word}s ({found.blocks.count:,} of "
        "them); none is given for fewer than 4. They are never narrower than the exact Poisson "
        "interval of the number of stops implies.",
    ]
    return tuple(notes)


def _untold(found: EttrStudy) -> tuple[Untold, ...]:
    entries = []
    if not found.waits:
        why = "the log does not say how long jobs waited"
        entries.append(Untold("ETTR with waits", why, "submission and start times"))
    if found.rate is None:
        why = "nothing in the records says how often nodes fail"
        entries.append(Untold("The model's ETTR", why, "events of nodes or a failure log"))
    elif found.rate.failures == 0:
        why = f"no failure was seen in {number(found.rate.node_days)} node-days"
        entries.append(Untold("The model's ETTR", why, "a longer window"))
    elif not found.jobs.long:
        why = "no job ran for a day or more, and the model is for long jobs"
        entries.append(Untold("Whether jobs match the model", why, "longer jobs"))
    return tuple(entries)


def _picture(found: EttrStudy, asked: Asked) -> Figure:
    rows = found.jobs.long if found.jobs.long and found.rate is not None else found.jobs.classes
    lasting = rows is found.jobs.long
    which = "jobs that ran a day or more" if lasting else "all jobs"
    told = ", ".join(f"{row.label} nodes {percent(row.ettr_running.value)}" for row in rows[:8])
    caption = (
        f"ETTR without waits of {which}, by number of nodes, with {100 * asked.level:g} % "
        f"intervals; checkpoints every {every(found.assumed.interval)} are assumed."
    )
    if any(row.model is not None for row in rows):
        caption += " The line is what the model expects for the measured rate of failures."
    return Figure("ettr", lambda: _draw(rows), f"ETTR by size: {told}.", caption)


def _draw(rows: tuple[EttrClass, ...]) -> Drawn:
    figure = new_figure()
    axes = figure.subplots()
    place = np.arange(len(rows), dtype=np.float64)
    value = np.array([row.ettr_running.value for row in rows])
    low, high = (
        np.array([end if math.isfinite(end) else row.ettr_running.value
                  for row, end in ((row, getattr(row.ettr_running, name)) for row in rows)])
        for name in ("low", "high")
    )  # fmt: skip
    axes.errorbar(place, value, [np.maximum(value - low, 0), np.maximum(high - value, 0)], fmt="o",
                  color=BLUE, capsize=4, markersize=5, label="measured")  # fmt: skip
    model = np.array([np.nan if row.model is None else row.model.time.exact for row in rows])
    if np.isfinite(model).any():
        axes.plot(place, model, "s--", color=VERMILLION, markersize=4, label="model")
    axes.set_xticks(place, [f"{row.label}\n{row.jobs:,} jobs" for row in rows])
    axes.set_ylim(max(0.0, min(float(np.nanmin([*low, *model])) - 0.05, 0.9)), 1.005)
    dress(axes, "ETTR by job size", "Nodes", "Productive share of run time")
    legend(axes)
    return figure
