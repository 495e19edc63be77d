"""The section on waiting: how long jobs waited, what to expect now, whether such bounds hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.show.blocks import Column, Figure, Table
from forestall.core.show.clean import clean
from forestall.core.show.facts import Fact, Untold
from forestall.core.show.quantities import counted, duration, number, percent
from forestall.core.show.report import Section
from forestall.core.show.style import BLUE, GREY, VERMILLION, dress, legend, new_figure
from forestall.core.streams import stream
from forestall.prediction.assess.coverage import (
    WEEK,
    Outcomes,
    blocks_of,
    coverage,
    held_share,
    in_burst,
    shares,
)
from forestall.site.learning.waits.online import BoundRule, WaitHistory, classes_of, replay
from forestall.site.waits.section import NOTES, table_of, trust
from forestall.site.waits.study import learned_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.figure import Figure as Drawn

    from forestall.prediction.assess.coverage import Coverage, CoverageShare
    from forestall.site.learning.waits.online import QuotedBounds
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.asked import Asked

Ints = npt.NDArray[np.int64]

KEY: Final = "waits"
TITLE: Final = "How long jobs wait"
MOST: Final = 500_000
"""The latest so many jobs are replayed: more would say little more, and cost seconds."""
PARTITIONS: Final = 12
"""Partitions in the table, those with most jobs."""
QUANTILE: Final = 0.95
STATED: Final = f"{100 * QUANTILE:g} %"
FEWEST: Final = 20
"""Bounds in a week, at least, for a point in the picture."""
NEEDED: Final = 59
"""Waits that a 95 % bound with 95 % confidence needs."""
NO_PARTITION: Final = "(unknown)"
RESTS: Final = "jobs wait as recent ones of the same partition, size and requested time did"


@dataclass(frozen=True)
class WaitStudy:
    """What the section is made from.

    Attributes
    ----------
    accounting, waits : all runs, and those that were replayed
    found : the bounds
    outcomes : what came of the bounds
    told, told_adapted : what they were worth, and those whose level adapts
    partition : int32[n], code of each job's partition, the number of partitions where not told
    names : of the partitions, NO_PARTITION last
    jobs : jobs that are no run after a requeue, of which the latest were replayed
    """

    accounting: Accounting
    waits: WaitHistory
    found: QuotedBounds
    outcomes: Outcomes
    told: Coverage
    told_adapted: Coverage
    partition: npt.NDArray[np.int32]
    names: tuple[str, ...]
    jobs: int

    @cached_property
    def median(self) -> float:
        """Median wait of the jobs that started, s; at least one did."""
        return float(np.median(self.waits.waited[self.waits.started]))


@dataclass(frozen=True)
class PartitionWaits:
    """A partition: jobs that waited and started, their median wait, s; bounds for a job submitted
    at the end of the records, s; how its bounds did."""

    name: str
    jobs: int
    median: float
    bound: float
    half: float
    known: int
    held: CoverageShare


def section(site: SiteRecords, asked: Asked) -> Section:
    """Return the section."""
    accounting = site.accounting
    if accounting is None or len(accounting) == 0:
        return _nothing("there are no records of jobs", "accounting records (sacct)")

    waits = WaitHistory.of(accounting, MOST)
    if len(waits) == 0 or not waits.started.any():
        return _nothing("no job of these records started", "records of jobs that ran")
    if not (waits.left > waits.ready).any():
        why = "every job starts in the second of its submission: waits were not recorded"
        return _nothing(why, "records with submit and start times")
    found = _study(accounting, waits, asked)
    if found.told.held.made == 0:
        why = "no class of jobs had the 59 waits needed for a 95 % bound with 95 % confidence"
        return _nothing(why, "a longer period of records ({since})", _median(found, asked))
    rows = _rows(found, asked)
    learned = learned_of(site, asked)
    return Section(
        key=KEY,
        title=TITLE,
        lead=" ".join((*(trust(one) for one in learned), _lead(found, rows))),
        facts=_figures(found, asked),
        series=_series(rows, found, asked),
        body=(*map(table_of, learned), _partitions(rows, found), _ways(found, asked),
              _picture(found)),
        notes=(*_notes(found), *(NOTES if learned else ())),
        untold=_untold(rows),
    )  # fmt: skip


def _nothing(why: str, remedy: str, *facts: Fact) -> Section:
    return Section(
        KEY, TITLE, f"No bound on waiting times: {why}.", facts,
        untold=(Untold("How long jobs will wait", why, remedy),),
    )  # fmt: skip


def _study(accounting: Accounting, waits: WaitHistory, asked: Asked) -> WaitStudy:
    classes = classes_of(accounting, waits)
    found = replay(waits, classes, BoundRule(QUANTILE))
    adapted = replay(waits, classes, BoundRule.adaptive(QUANTILE))
    waited = waits.waited
    outcomes = Outcomes(found.bound, waited, waits.started, waits.ready)
    other = Outcomes(adapted.bound, waited, waits.started, waits.ready)
    words = accounting.partition.words
    code = accounting.partition.code[waits.row]
    return WaitStudy(
        accounting,
        waits,
        found,
        outcomes,
        coverage(outcomes, stream(asked.seed, KEY), nominal=QUANTILE, level=asked.level),
        coverage(other, stream(asked.seed, KEY, "adaptive"), nominal=QUANTILE, level=asked.level),
        np.where(code >= 0, code, len(words)).astype(np.int32),
        (*words, NO_PARTITION),
        int(np.count_nonzero(accounting.attempt == 0)),
    )


def _lead(found: WaitStudy, rows: tuple[PartitionWaits, ...]) -> str:
    told = found.told
    held = told.held
    text = (
        f"{STATED} bounds on the wait: {counted(held.made, 'bounds')} made, "
        f"{held.held:,} held, {percent(held.share)} "
        f"({100 * held.level:g} % interval {percent(held.low)} to {percent(held.high)}). "
        f"Half of the jobs that started waited {_time(found.median)} or less; half of the bounds "
        f"were {_time(told.median_bound)} or less."
    )
    if told.short:
        text += (
            f" That is below the stated {STATED} by more than its interval: treat them as "
            f"{percent(held.share)} bounds."
        )
    sure = [row for row in rows if row.held.made >= NEEDED]
    if len(sure) > 1:
        worst = min(sure, key=lambda row: row.held.share)
        text += (
            f" That is over all jobs, not in every partition: in {worst.name} only "
            f"{percent(worst.held.share)} of the bounds held."
        )
    return text


def _median(found: WaitStudy, asked: Asked) -> Fact:
    return Fact(
        "waiting_time_median", "Median wait of jobs that started", found.median, "seconds",
        int(np.count_nonzero(found.waits.started)),
        "the wait begins when a job could first start", level=asked.level,
    )  # fmt: skip


def _figures(found: WaitStudy, asked: Asked) -> tuple[Fact, ...]:
    told, adapted = found.told, found.told_adapted
    held, other = told.held, adapted.held
    apart = "weeks (days in short records) differ from each other by chance only"
    return (
        _median(found, asked),
        Fact(
            "waiting_bound_coverage", f"Share of {STATED} bounds on the wait that held",
            held.share, "ratio", held.made, apart, held.low, held.high, held.level,
        ),
        Fact(
            "waiting_bound_median", f"Median of the {STATED} bounds",
            told.median_bound, "seconds", held.made, RESTS, level=asked.level,
        ),
        Fact(
            "waiting_bound_coverage_adaptive",
            "Share held with a level that adapts to earlier misses",
            other.share if other.made else None, "ratio", other.made, apart,
            other.low, other.high, other.level, why="" if other.made else "no bounds",
        ),
        Fact(
            "waiting_bound_none", "Jobs without a bound",
            told.unbounded / max(told.jobs, 1), "ratio", told.jobs,
            "a class needs 59 waits, and few jobs that wait longer than their bound",
        ),
        Fact(
            "waiting_bound_misses_in_a_row", "Longest run of misses", told.longest, "count",
            held.made, "in order of submission",
        ),
    )  # fmt: skip


def _rows(found: WaitStudy, asked: Asked) -> tuple[PartitionWaits, ...]:
    """Return the partitions with most jobs, the largest first."""
    groups = len(found.names)
    jobs = np.bincount(found.partition, minlength=groups)
    order = np.argsort(-jobs, kind="stable")[:PARTITIONS]
    # A partition with few jobs has neither bounds nor an interval; the only one is shown anyway.
    order = order[jobs[order] >= min(NEEDED, int(jobs.max()))]
    place = np.full(groups, len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    row = place[found.partition]
    some = np.flatnonzero(found.outcomes.decided & (row < len(order)))
    held = shares(
        ~found.outcomes.missed[some], found.outcomes.when[some], row[some], len(order),
        stream(asked.seed, KEY), asked.level,
    )  # fmt: skip
    classes = found.found.classes
    code = np.where(classes.partition >= 0, classes.partition, groups - 1)
    started = np.flatnonzero(found.waits.started)
    waited, where = found.waits.waited[started], row[started]
    out = []
    for each, group in enumerate(order.tolist()):
        number_of = int(classes.parent[2, np.argmax(code == group)])
        mine = waited[where == each]
        out.append(
            PartitionWaits(
                clean(found.names[group]),
                int(jobs[group]),
                float(np.median(mine)) if len(mine) else math.nan,
                found.found.now(number_of),
                found.found.now(number_of, 0.5),
                len(found.found.latest(number_of)),
                held[each],
            )
        )
    return tuple(out)


def _series(rows: tuple[PartitionWaits, ...], found: WaitStudy, asked: Asked) -> tuple[Fact, ...]:
    out = []
    for row in rows:
        labels = {"partition": row.name}
        for quantile, value in ((QUANTILE, row.bound), (0.5, row.half)):
            finite = math.isfinite(value)
            out.append(
                Fact(
                    "waiting_bound",
                    f"Bound on the wait of a job submitted at the end of the records, {row.name}",
                    value if finite else None, "seconds", row.known, RESTS, level=asked.level,
                    labels={**labels, "quantile": f"{quantile:g}", "confidence": "0.95"},
                    why="" if finite else _why_none(row),
                )
            )  # fmt: skip
        if row.held.made:
            held = row.held
            out.append(
                Fact(
                    "waiting_bound_coverage", f"Share of bounds held, {row.name}", held.share,
                    "ratio", held.made, "", held.low, held.high, held.level, labels,
                )
            )  # fmt: skip
    told = found.told
    out.append(Fact("waiting_bounds_made", "Bounds made", told.held.made, "jobs", told.jobs))
    out.append(Fact("waiting_bounds_held", "Bounds held", told.held.held, "jobs", told.jobs))
    return tuple(out)


def _time(seconds: float) -> str:
    return duration(seconds) if math.isfinite(seconds) else "-"


def _ends(low: str, high: str) -> Callable[[Mapping[str, Any]], str]:
    """Return how an interval of shares is written; a dash where no bound was made."""

    def text(row: Mapping[str, Any]) -> str:
        return f"{percent(row[low])} to {percent(row[high])}" if row["bounds_made"] else "-"

    return text


def _share_record(held: CoverageShare) -> dict[str, Any]:
    return {
        "bounds_made": held.made,
        "bounds_held": held.held,
        "held_ratio": held.share,
        "held_low_ratio": held.low,
        "held_high_ratio": held.high,
    }


def _partitions(rows: tuple[PartitionWaits, ...], found: WaitStudy) -> Table:
    records = [
        {
            "partition": row.name,
            "jobs": row.jobs,
            "wait_median_seconds": row.median,
            "bound_50_seconds": row.half,
            "bound_95_seconds": row.bound,
            **_share_record(row.held),
            "short": bool(row.held.short_of(QUANTILE)),
        }
        for row in rows
    ]
    columns: tuple[Column, ...] = (
        ("Partition", "partition", str),
        ("Jobs", "jobs", number),
        ("Median wait", "wait_median_seconds", _time),
        ("50 % bound now", "bound_50_seconds", _time),
        ("95 % bound now", "bound_95_seconds", _time),
        ("95 % bounds made", "bounds_made", number),
        ("Held", "held_ratio", percent),
        (
            f"{100 * found.told.held.level:g} % interval",
            _ends("held_low_ratio", "held_high_ratio"),
        ),
        ("Falls short", "short", lambda short: "yes" if short else ""),
    )
    others = int(np.count_nonzero(np.bincount(found.partition))) - len(rows)
    note = (
        "Bounds now are for a job submitted at the end of the records, by the whole partition, "
        "with 95 % confidence."
    )
    if others > 0:
        note += f" {counted(others, 'partitions')} with fewer jobs not shown."
    return Table.by(
        "waits_by_partition", columns, records, title="Waits and bounds by partition", note=note,
        right=range(1, 8),
    )  # fmt: skip


WAYS: Final[tuple[Column, ...]] = (
    ("Jobs", "jobs", str),
    ("Bounds made", "bounds_made", number),
    ("Held", "held_ratio", percent),
    ("Interval", _ends("held_low_ratio", "held_high_ratio")),
    ("As if independent", _ends("naive_low_ratio", "naive_high_ratio")),
    ("Median bound", "bound_median_seconds", _time),
)


def _ways(found: WaitStudy, asked: Asked) -> Table:
    """Return how the bounds did for jobs of bursts and others, and what adapting costs."""
    user = found.accounting.user.code[found.waits.row]
    inside = in_burst(user, found.outcomes.when)
    decided, missed = found.outcomes.decided, found.outcomes.missed
    shown: list[tuple[str, CoverageShare, float]] = []
    for name, mask in (("in bursts of their user", inside), ("other jobs", ~inside)):
        some = np.flatnonzero(decided & mask)
        held = held_share(
            ~missed[some], found.outcomes.when[some], stream(asked.seed, KEY, name),
            level=asked.level,
        )  # fmt: skip
        median = float(np.median(found.outcomes.bound[some])) if len(some) else math.nan
        shown.append((name, held, median))
    told, adapted = found.told, found.told_adapted
    shown = [
        ("all jobs", told.held, told.median_bound),
        *(one for one in shown if (user >= 0).any()),
        ("all jobs, adaptive level", adapted.held, adapted.median_bound),
    ]
    records = [
        {
            "jobs": name,
            **_share_record(held),
            "naive_low_ratio": held.naive_low,
            "naive_high_ratio": held.naive_high,
            "bound_median_seconds": median,
        }
        for name, held, median in shown
    ]
    note = (
        "A burst is jobs of one user, each within 60 s of the previous one. The interval is a "
        "bootstrap over whole weeks or days; the one beside it assumes independent jobs, which "
        "they are not."
    )
    title = "Where bounds hold, and at what length"
    return Table.by("waits_held", WAYS, records, title=title, note=note)


def _picture(found: WaitStudy) -> Figure:
    held = found.told.held
    return Figure(
        "waits_coverage",
        lambda: _draw(found),
        f"Share of {STATED} bounds that held, by week; {percent(held.share)} overall.",
        f"Each point is a week with at least {FEWEST} bounds. In weeks far below the line the "
        "queue changed, or one user's burst waited long.",
    )


def _draw(found: WaitStudy) -> Drawn:
    made, held, begin = _weeks(found)
    some = np.flatnonzero(made >= FEWEST)
    when = begin[some]
    figure = new_figure((8.4, 3.4))
    axes = figure.subplots()
    if found.accounting.dated:
        at: npt.NDArray[np.generic] = when.astype("datetime64[s]")
        xlabel = "Week of submission"
    else:
        at, xlabel = (when - found.accounting.begin) / 86_400, "Time since the records begin [d]"
    axes.axhline(100 * QUANTILE, color=VERMILLION, linewidth=1.4, label="stated")
    share = 100 * found.told.held.share
    axes.axhline(share, color=GREY, linewidth=1.2, linestyle="--", label="over all")
    axes.plot(
        at, 100 * held[some] / made[some], color=BLUE, marker="o", markersize=3.5, linewidth=0.9,
        label="held in the week",
    )  # fmt: skip
    axes.set_ylim(min(80.0, float(np.min(100 * held[some] / made[some], initial=80.0))) - 2, 101)
    dress(axes, "Do the bounds on waiting hold?", xlabel, "Bounds that held [%]")
    legend(axes)
    return figure


def _weeks(found: WaitStudy) -> tuple[Ints, Ints, Ints]:
    """Return how many bounds were made and held in each week, and when it began."""
    some = np.flatnonzero(found.outcomes.decided)
    when = found.outcomes.when[some]
    made, held = blocks_of(
        ~found.outcomes.missed[some], when, np.zeros(len(some), dtype=np.int32), 1, WEEK
    )
    return made[0], held[0], when[0] + WEEK * np.arange(made.shape[1])


def _notes(found: WaitStudy) -> tuple[str, ...]:
    told, adapted = found.told, found.told_adapted
    ratio = adapted.mean_bound / told.mean_bound if told.mean_bound > 0 else math.nan
    notes = [
        "Each job gets its bound from what was known at its submission: the latest 1,000 waits "
        "of jobs of its class that had started. The class is partition, size and requested "
        "time; with fewer than 59 waits it is partition and size, then the partition, then all "
        "jobs.",
        "A run of misses that is too long for the autocorrelation of a class's waits counts as "
        "a change: only its latest 59 waits are kept. "
        f"{counted(found.found.changes, 'changes')} were found. Jobs that wait longer than "
        "their bound count as the longest waits; if there are too many, no bound is given.",
        f"With an adaptive level, bounds are {number(ratio)} times as long on average; "
        f"{percent(adapted.held.share)} hold.",
        "A single bound for all jobs that holds as often as stated, known only in hindsight, "
        f"would be {_time(told.constant)}; by the quantile loss the bounds made are "
        f"{percent(told.skill) + ' better' if told.skill > 0 else 'no better'}.",
    ]
    if told.undecided:
        notes.append(
            f"{counted(told.undecided, 'jobs')} left the queue without starting, or still wait, "
            "within their bound: they count neither as held nor as missed."
        )
    if found.jobs > len(found.waits):
        notes.append(
            f"Of {found.jobs:,} jobs, the latest {len(found.waits):,} were replayed: earlier "
            "ones count neither as waits nor as bounds."
        )
    return tuple(notes)


def _untold(rows: tuple[PartitionWaits, ...]) -> tuple[Untold, ...]:
    return tuple(
        Untold(f"A bound on waiting in partition {row.name}", _why_none(row), "more records")
        for row in rows
        if not math.isfinite(row.bound)
    )


def _why_none(row: PartitionWaits) -> str:
    if row.known < NEEDED:
        return f"{counted(row.known, 'waits')} known where {NEEDED} are needed"
    return "too many jobs wait longer than the bound that they were given"
