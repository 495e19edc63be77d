"""The section on start estimates: what the batch system said, and when jobs really started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, duration, number, percent
from forestall.core.show.report import Section
from forestall.core.show.style import BLUE, INK, SKY, VERMILLION, dress, new_figure
from forestall.core.streams import stream
from forestall.prediction.assess.start_errors import ON_TIME, QUANTILES, start_errors
from forestall.site.losses.amounts import ends_of, error, value_of, with_interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure as Drawn

    from forestall.prediction.assess.start_errors import Errors, StartErrors
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

KEY: Final = "starts"
TITLE: Final = "How good the start estimates were"
POLL: Final = "squeue --start, asked again and again while jobs wait"


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section; see `forestall.prediction.assess.start_errors` for how it is counted."""
    if site.estimates is None or not len(site.estimates):
        return _nothing("there are no records of what the batch system said about starts", POLL)
    if site.accounting is None or not len(site.accounting):
        return _nothing("no accounting tells when jobs started", "sacct's records of jobs")
    found = start_errors(
        site.estimates, site.accounting, stream(asked.seed, "books", "starts"), asked.level
    )
    if found.every is None:
        why = (
            f"none of {counted(found.asked, 'estimates')} predicted the start of a job that was "
            "waiting and is in the accounting"
        )
        return _nothing(why, POLL, found)
    tables = (
        _table(
            "by_horizon", "By how far ahead the estimated start was", found.by_ahead, found.last
        ),
        _table("by_wait", "By how long before the actual start it was asked", found.by_wait, None),
    )
    return Section(
        KEY,
        TITLE,
        _lead(found.every, asked),
        facts=_figures(found, found.every, asked),
        series=_series(found, asked),
        body=(*(one for one in tables if one is not None), _picture(found)),
        notes=_notes(found),
        untold=_untold(found),
    )


def _nothing(why: str, remedy: str, found: StartErrors | None = None) -> Section:
    text = f"The quality of start estimates is unknown: {why}."
    untold = (Untold("Errors of start estimates", why, remedy),)
    return Section(KEY, TITLE, text, untold=untold, notes=_notes(found) if found else ())


def _middle(one: Errors) -> str:
    return error(one.quantiles[2], bounded=one.bounded[2])


def _lead(every: Errors, asked: Asked) -> str:
    text = (
        f"{with_interval(every.late, asked.level)} of {counted(every.estimates, 'estimates')} "
        f"for {counted(every.jobs, 'runs')} were too early: the job started later than "
        f"estimated, by more than {duration(ON_TIME)}. {percent(every.early.value)} started "
        f"earlier. The median estimate was {_middle(every)}."
    )
    if every.one_sided:
        text += f" The errors are one-sided: jobs start {every.one_sided}."
    return text


def _figures(found: StartErrors, every: Errors, asked: Asked) -> tuple[Fact, ...]:
    assumes = f"Later or earlier: by more than {ON_TIME} s."
    return (
        Fact("start_later", "started later than estimated", unit="ratio", records=every.estimates,
             assumes=assumes, **value_of(every.late, asked.level)),
        Fact("start_earlier", "started earlier than estimated", unit="ratio",
             records=every.estimates, assumes=assumes, **value_of(every.early, asked.level)),
        Fact("start_error", "median of estimated minus actual start", unit="seconds",
             records=every.estimates, assumes="Below 0: the job started later than estimated."
             + (" An upper bound: some had not started." if every.bounded[2] else ""),
             labels={"quantile": "0.5"}, **value_of(every.median, asked.level)),
        Fact("start_estimates_withdrawn", "start estimates later withdrawn", found.withdrawn,
             "jobs", found.asked),
        Fact("start_never", "estimated starts that never came", found.never, "jobs",
             every.jobs),
    )  # fmt: skip


def _series(found: StartErrors, asked: Asked) -> tuple[Fact, ...]:
    made = []
    groups = [("ahead", found.by_ahead), ("wait", found.by_wait)]
    groups += [("last", (found.last,))] if found.last is not None else []
    for group, rows in groups:
        for one in rows:
            labels = {"by": group, "horizon": one.label}
            made.append(
                Fact("start_later_by_horizon", f"started later than estimated, {one.label}",
                     unit="ratio", records=one.estimates, labels=labels,
                     **value_of(one.late, asked.level))
            )  # fmt: skip
            made += [
                Fact("start_error_by_horizon", f"estimated minus actual start, {one.label}", value,
                     "seconds", one.estimates, labels=labels | {"quantile": f"{q:g}"})
                for q, value in zip(QUANTILES, one.quantiles, strict=True)
            ]  # fmt: skip
    return tuple(made)


COLUMNS: Final[tuple[Column, ...]] = (
    ("Horizon", "horizon", str),
    ("Estimates", "estimates", number),
    ("Runs", "runs", number),
    ("Later", "later_share", percent),
    ("Earlier", "earlier_share", percent),
    ("Worst tenth", lambda row: _error(row, 10)),
    ("Middle", lambda row: _error(row, 50)),
)


def _error(row: Mapping[str, Any], percentile: int) -> str:
    bounded = row[f"error_{percentile}_or_later"]
    return error(row[f"error_{percentile}_seconds"], bounded=bounded)


def _table(key: str, title: str, rows: tuple[Errors, ...], last: Errors | None) -> Table | None:
    shown = [*rows, *([last] if last is not None else [])]
    if not shown:
        return None
    records = []
    for one in shown:
        told: dict[str, object] = {
            "horizon": one.label,
            "estimates": one.estimates,
            "runs": one.jobs,
            "not_started": one.waiting,
            **ends_of(one.late, "later_share"),
            **ends_of(one.early, "earlier_share"),
            "one_sided": one.one_sided,
        }
        for q, value, bounded in zip(QUANTILES, one.quantiles, one.bounded, strict=True):
            told |= {f"error_{100 * q:g}_seconds": value, f"error_{100 * q:g}_or_later": bounded}
        records.append(told)
    note = (
        "Late: how much later than estimated the job started. Worst tenth: a tenth of the "
        "estimates were at least this late."
    )
    return Table.by(key, COLUMNS, records, title=title, note=note, right=(1, 2, 3, 4))


def _notes(found: StartErrors) -> tuple[str, ...]:
    notes = [
        f"{counted(found.asked, 'estimates')} were read: {found.silent:,} named no start, "
        f"{found.begun:,} concerned runs that had already started or ended, {found.unknown:,} "
        "concern jobs that are not in the accounting.",
        f"A start within {ON_TIME} s of the estimate is on time. An estimate belongs to the "
        "next run of its job that starts after it was asked.",
        f"{counted(found.pending, 'runs')} had not started when the records end, and "
        f"{counted(found.never, 'runs')} ended without a start; they count as at least as late as "
        'they were by then ("or more").',
        "Jobs that wait long are asked about more often, and count more; the last estimate "
        "before the start counts each run once. The breakdown by wait counts only jobs that "
        "started.",
        f"Intervals: bootstrap over whole {found.blocks.word}s ({found.blocks.count:,} of "
        "them); none is given for fewer than 4.",
    ]
    return tuple(notes)


def _untold(found: StartErrors) -> tuple[Untold, ...]:
    if not found.unknown:
        return ()
    why = f"{counted(found.unknown, 'estimates')} concern jobs that are not in the accounting"
    return (Untold("The outcome of some estimates", why, "accounting of the same period"),)


def _picture(found: StartErrors) -> Figure:
    told = ", ".join(f"{one.label}: {_middle(one)}" for one in found.by_ahead)
    return Figure(
        "start_errors",
        lambda: _draw(found.by_ahead),
        f"Errors of start estimates by how far ahead they were: {told}.",
        "Left of 0: the job started later than estimated. Thick bars hold the middle half of "
        "the estimates, thin bars four in five; dots are medians.",
    )


def _draw(rows: tuple[Errors, ...]) -> Drawn:
    figure = new_figure((8.4, 1.7 + 0.42 * len(rows)))
    axes = figure.subplots()
    place = np.arange(len(rows))[::-1]
    values = np.array([one.quantiles for one in rows]) / 3600
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.hlines(place, values[:, 0], values[:, 4], color=SKY, linewidth=3)
    axes.hlines(place, values[:, 1], values[:, 3], color=BLUE, linewidth=8)
    axes.plot(values[:, 2], place, "o", color=VERMILLION, markersize=6)
    far = float(np.abs(values).max(initial=0))
    if far > 4:
        axes.set_xscale("symlog", linthresh=1)
        ticks = [tick for tick in (-1000, -100, -10, -1, 0, 1, 10, 100, 1000)
                 if abs(tick) <= 10 * far]  # fmt: skip
        axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_yticks(place, [f"{one.label}\n{one.estimates:,} estimates" for one in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    dress(
        axes, "Estimated minus actual start, by how far ahead", "Hours (below 0: started later)", ""
    )
    return figure
