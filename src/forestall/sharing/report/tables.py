"""The tables of the report of a run of cycle sharing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from forestall.core.kit.report import hours_of
from forestall.core.kit.shares import between
from forestall.core.kit.tables import ENDS, MOST, Column, bar_of, parts_table, tabled, worst_of
from forestall.core.proportions import wilson
from forestall.core.show import words as plain
from forestall.core.show.blocks import Block, Prose
from forestall.core.show.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, TRACK, VERMILLION
from forestall.sharing.report import counts, words
from forestall.sharing.report.told import ToldRun

WHOLE_SPACE: Final = "\N{NO-BREAK SPACE}"
"""Keeps an interval on one line of its column."""
STATE_COLOURS: Final = {
    "S1": TRACK, "S2": SKY, "S3": ORANGE, "S4": PURPLE, "S5": "#4d555e",
}  # fmt: skip
STATE_WORDS: Final = {
    "S1": "S1: owner idle or nearly so",
    "S2": "S2: owner at work, guest at lowest priority",
    "S3": "S3: owner needs the processor",
    "S4": "S4: too little free memory",
    "S5": "S5: away",
}
GUEST_COLOUR: Final = GREEN
FATES: Final = (
    ("straight", "Completed on the first host", GREEN),
    ("after", "Completed after losing hosts", BLUE),
    ("unscheduled", "Unscheduled: no host was free", VERMILLION),
    ("unfinished", "Not done when the traces ended", GREY),
)
STAY_ENDS: Final = (
    ("completed", "The guest's work was done", GREEN),
    ("contention", "The owner's load: S3", ORANGE),
    ("thrashing", "Too little free memory: S4", PURPLE),
    ("away", "The host went away: S5", STATE_COLOURS["S5"]),
    ("moved", "The guest moved before its host left", BLUE),
    ("unfinished", "The traces ended", GREY),
)
HOST_TIME: Final = (
    ("guest", "Available, with a guest", GUEST_COLOUR),
    *(
        (slug, f"{text}, without a guest" if slug in ("S1", "S2") else text, STATE_COLOURS[slug])
        for slug, text in STATE_WORDS.items()
    ),
)
TIMES: Final = ("Never", "Once", "Twice", "3 times", "4 times", "5 times or more")


def length_name(one: counts.LengthClass) -> str:
    """Return a class of run times in words: ``2 h``, ``1 to 2 h``."""
    low, high = words.round_time(one.low), words.round_time(one.high)
    if one.low == one.high:
        return high
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def length_table(found: Sequence[counts.LengthClass]) -> tuple[Block, ...]:
    """Return makespan, failures and unscheduled jobs by run time."""
    names = {(one.low, one.high): length_name(one) for one in found}
    columns: list[Column] = [
        (("runtime_low_s", "runtime_high_s"), "Run time", lambda ends: names[ends]),
        ("jobs", "Jobs", plain.count),
        *_mean_columns("makespan", "_s", "Makespan", words.lasted),
        ("stretch_mean", "Stretch", words.plain),
        *_mean_columns("failures", "", "Failures per job", words.plain),
        ("unscheduled_share", "Unscheduled", plain.percent),
    ]
    values = [
        ((one.low, one.high), one.count, *_mean(one.makespan),
         one.stretch.value if one.stretch else None, *_mean(one.failures),
         one.unscheduled / one.count)
        for one in found
    ]  # fmt: skip
    over = {one.makespan.over for one in found if one.makespan is not None}
    drawn = " or ".join(sorted(over))
    caption = "Makespan and stretch are means of completed jobs"
    caption += f"; intervals of means over {drawn}." if drawn else ""
    return (tabled("lengths", columns, values, caption=caption),) if values else ()


def failure_table(jobs: pl.DataFrame) -> tuple[Block, ...]:
    """Return how often jobs lost their hosts."""
    told = jobs.group_by(pl.col("failures").cast(pl.Int64).clip(0, 5)).agg(
        n=pl.len(), lost=pl.col("lost").cast(pl.Float64).sum()
    )
    rows = told.sort("failures").rows()
    if all(times == 0 for times, _, _ in rows):
        return ()
    columns: list[Column] = [
        ("times", "Lost its host", lambda times: TIMES[times]),
        ("jobs", "Jobs", plain.count),
        ("share", "Share", plain.percent),
        ("lost_host_s", "Work lost", words.host_hours),
    ]
    values = [(times, n, n / len(jobs), lost) for times, n, lost in rows]
    return (tabled("failures", columns, values),)


def stays(run: ToldRun) -> tuple[Block, ...]:
    """Return why stays of guests ended, and how often jobs lost their hosts."""
    return *end_table(run.stays), *failure_table(run.jobs)


def end_table(stays: pl.DataFrame) -> tuple[Block, ...]:
    """Return the bar and the table of why stays of guests ended."""
    found = {row[0]: row[1:] for row in counts.stay_ends(stays).iter_rows()}
    if not found:
        return ()
    named = [one for one in STAY_ENDS if one[0] in found]
    names = {slug: name for slug, name, _ in named}
    columns: list[Column] = [
        ("ended", "Why stays ended", lambda slug: names[slug]),
        ("stays", "Stays", plain.count),
        ("share", "Share", plain.percent),
        (ENDS, "95 % interval", between),
        ("length_mean_s", "Mean length", plain.duration),
        (
            "lost_host_s",
            "Work lost",
            lambda lost: words.host_hours(lost) if lost else plain.NOTHING,
        ),
    ]
    values = [
        (slug, n, n / len(stays), wilson(n, len(stays)), time / n, lost)
        for slug, (n, time, lost) in ((slug, found[slug]) for slug in names)
    ]
    colours = tuple(colour for *_, colour in named)
    return (
        bar_of((name, found[slug][0] / len(stays), colour) for slug, name, colour in named),
        tabled("ends", columns, values, colours=colours),
    )


def promise_table(run: ToldRun) -> tuple[Block, ...]:
    """Return what was said of stays as they began, and what came of it, by tenths."""
    name = "Promised" if run.said_in == "promise" else "Foreseen"
    columns: list[Column] = [
        (ENDS, f"{name} probability", lambda tenth: f"{tenth[0]:.1f} to {tenth[1]:.1f}"),
        ("stays", "Stays", plain.count),
        ("said_mean", f"{name} on average", plain.percent),
        ("kept_share", "Ended there", plain.percent),
        (("kept_low", "kept_high"), "95 % interval", between),
    ]
    values = [
        ((one.low, one.high), one.stays, one.said, one.kept, (one.kept_low, one.kept_high))
        for one in run.promised
    ]
    caption = (
        "The probability that a job ends on the host where it begins a stay. If the interval "
        "includes the average stated probability, the forecast is consistent with it."
    )
    return (tabled("promises", columns, values, caption=caption),) if values else ()


def time_table(run: ToldRun) -> tuple[Block, ...]:
    """Return where the hosts' time went, and how long hosts stay available."""
    amount = ("host_s", "Host time", words.host_hours)
    told = parts_table("host_time", amount, HOST_TIME, run.time, sum(run.time.values()))
    return (*told, *lasting_table(run.lasting)) if told else ()


def lasting_table(found: Sequence[counts.Lasting]) -> tuple[Block, ...]:
    """Return how likely an available host is to stay available."""
    columns: list[Column] = [
        ("hours", "Stays available for", lambda hours: plain.counted(round(hours), "hour")),
        ("probability", "Probability", plain.percent),
        (ENDS, "95 % interval", lambda ends: words.shares(*ends) if ends else plain.NOTHING),
    ]
    values = [
        (one.hours, one.share,
         None if one.low is None or one.high is None else (one.low, one.high))
        for one in found
    ]  # fmt: skip
    caption = "For a host that is available at some moment of the run; intervals over hosts."
    return (tabled("lasting", columns, values, caption=caption),) if values else ()


def extremes(run: ToldRun) -> tuple[Block, ...]:
    """Return the hosts that are available most and least, and how many stays each ended."""
    return host_table(with_left(run.hosts, run.stays))


def host_table(hosts: pl.DataFrame) -> tuple[Block, ...]:
    """Return the hosts that are available most and least."""
    if hosts.is_empty():
        return ()
    free = pl.col("share_s1").cast(pl.Float64) + pl.col("share_s2").cast(pl.Float64)
    told = hosts.with_columns(free=free).sort("free", "host", descending=[True, False])
    if len(told) <= 2 * MOST:
        return (_hosts("hosts", told, "All hosts, most available first."),)
    of = f"{MOST} of {len(told):,} hosts."
    return (
        _hosts("best_hosts", told.head(MOST), f"Most available: {of}"),
        _hosts("worst_hosts", told.tail(MOST), f"Least available: {of}"),
    )


def _hosts(key: str, hosts: pl.DataFrame, caption: str) -> Block:
    columns: list[Column] = [
        ("host", "Host", str),
        ("speed", "Speed", lambda speed: f"{speed:.2f}"),
        ("available", "Available", plain.percent),
        ("left", "Left", plain.count),
        *((state, state.upper(), plain.count) for state in ("s3", "s4", "s5")),
        ("guests", "Guests", plain.count),
        ("ended", "Ended", plain.count),
        ("guest_s", "Guest time", hours_of),
        ("useful_host_s", "Useful", hours_of),
        ("lost_host_s", "Lost", hours_of),
    ]
    names = ("free", "unavailable", "s3", "s4", "s5", "guests", "left", "guest_seconds", "useful",
             "lost")  # fmt: skip
    values = [
        (row["name"] or row["host"], float(row["speed"]), *(row[name] for name in names))
        for row in hosts.iter_rows(named=True)
    ]
    note = (
        " Left: departures from S1 and S2, and to which state. Ended: stays of guests that these "
        "cut short. Times and work are in host-hours."
    )
    return tabled(key, columns, values, caption=caption + note)


def with_left(hosts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return the hosts with a column `left`: stays of guests that they ended."""
    left = stays.filter(pl.col("ended").is_in(counts.LEFT)).group_by("host").agg(left=pl.len())
    return hosts.join(left, on="host", how="left", maintain_order="left").with_columns(
        pl.col("left").fill_null(0)
    )


def jobs_that_lost(run: ToldRun) -> tuple[Block, ...]:
    """Return the jobs that lost most work."""
    worst, caption = worst_of(run.jobs, "lost work")
    columns: list[Column] = [
        ("job", "Job", str),
        ("submitted_after_s", "Submitted after", plain.duration),
        ("runtime_s", "Run time", plain.duration),
        ("makespan_s", "Makespan", plain.duration),
        ("failures", "Hosts lost", plain.count),
        ("lost_host_s", "Work lost", words.host_hours),
        ("outcome", "The job", str),
    ]
    values = [
        (row["job"], row["submit"] - run.span[0], row["runtime"], row["makespan"], row["failures"],
         float(row["lost"]), row["outcome"])
        for row in worst.iter_rows(named=True)
    ]  # fmt: skip
    return (tabled("lost_most", columns, values, caption=caption),) if values else ()


def wait_table(run: ToldRun) -> tuple[Block, ...]:
    """Return how long jobs waited for their first start, and for a host in all."""
    waits = run.waits
    if not len(waits):
        return ()
    mean = counts.mean_of(run.jobs, pl.col("start") - pl.col("submit"))
    columns: list[Column] = [
        ("what", "", lambda _: "Wait until the first start"),
        *_mean_columns("", "_s", "Mean", words.lasted),
        ("median_s", "Median", plain.duration),
        ("p95_s", "95th percentile", plain.duration),
        ("longest_s", "Longest", plain.duration),
    ]
    row = ("wait", *_mean(mean), waits.median(), waits.quantile(0.95, "linear"), waits.max())
    note = (
        f"{plain.percent(int((waits == 0).sum()) / len(waits))} of started jobs began at "
        f"once; jobs were tried {plain.ratio(counts.reals(run.jobs, 'tries').mean(), 2)} times on "
        "average, restarts included."
    )
    return tabled("waiting", columns, [row]), Prose(note, soft=True)


def _mean_columns(
    name: str, unit: str, head: str, tell: Callable[..., str]
) -> tuple[Column, Column]:
    """Return the columns of a mean and of its interval."""
    before = f"{name}_" if name else ""

    def between_them(ends: tuple[float | None, float | None]) -> str:
        return words.ends_of(ends, tell).replace(" ", WHOLE_SPACE)

    return (
        (f"{before}mean{unit}", head, tell),
        ((f"{before}low{unit}", f"{before}high{unit}"), "95 % interval", between_them),
    )


def _mean(mean: counts.Mean | None) -> tuple[float | None, tuple[float | None, float | None]]:
    """Return a mean and its interval, for such columns."""
    return (None, (None, None)) if mean is None else (mean.value, (mean.low, mean.high))
