"""The tables of the report of a run of cycle sharing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from forestall.app.cycle import counts, words
from forestall.app.kit import series
from forestall.app.kit.shares import between, shared_fate
from forestall.reliability.shares import wilson
from forestall.show import words as plain
from forestall.show.html_pieces import EMPTY, Html, Text, html, key, paragraph, stacked_bar, table
from forestall.show.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

WHOLE_SPACE: Final = "\N{NO-BREAK SPACE}"
"""Keeps an interval on one line of its column."""
MOST: Final = 10
"""Rows of the tables of hosts and of jobs that lost most."""
STATE_COLOURS: Final = {
    "S1": "#e9eef2", "S2": SKY, "S3": ORANGE, "S4": PURPLE, "S5": "#4d555e",
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
ENDS: Final = (
    ("completed", "The guest's work was done", GREEN),
    ("contention", "The owner's load: S3", ORANGE),
    ("thrashing", "Too little free memory: S4", PURPLE),
    ("away", "The host went away: S5", STATE_COLOURS["S5"]),
    ("unfinished", "The traces ended", GREY),
)


def fate_table(jobs: pl.DataFrame) -> Html:
    """Return the bar and the table of how jobs ended, with intervals; with fates."""
    found = fates_of(jobs)
    count = len(jobs)
    if not count:
        return EMPTY
    rows: list[Sequence[Text]] = []
    over_days = False
    for slug, name, colour in FATES:
        if not found[slug]:
            continue
        shared = shared_fate(jobs, pl.col("fate") == slug)
        over_days |= shared is not None
        ends = [between(wilson(found[slug], count, shared=f or 1.0)) for f in (1.0, shared)]
        cells = [plain.count(found[slug]), plain.percent(found[slug] / count), *ends]
        rows.append((key(colour) + Html(html(name)), *cells))
    heads = ["Jobs", "Count", "Share", "95 % interval", "… over days"]
    last = 5 if over_days else 4
    shares = [(name, found[slug] / count, colour) for slug, name, colour in FATES]
    return bar(shares) + table(heads[:last], [row[:last] for row in rows])


def fates_of(jobs: pl.DataFrame) -> dict[str, int]:
    """Return how many jobs ended how; with fates."""
    told = dict(jobs["fate"].value_counts().iter_rows())
    return {name: told.get(name, 0) for name in counts.FATES}


def bar(shares: Sequence[tuple[str, float, str]]) -> Html:
    """Return a stacked bar that says what it shows."""
    alt = ", ".join(f"{name}: {plain.percent(share)}" for name, share, _ in shares)
    return stacked_bar(shares, alt)


def length_name(one: counts.LengthClass) -> str:
    """Return a class of run times in words: ``2 h``, ``1 to 2 h``."""
    low, high = words.round_time(one.low), words.round_time(one.high)
    if one.low == one.high:
        return high
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}')} to {high}"


def length_table(found: Sequence[counts.LengthClass]) -> Html:
    """Return makespan, failures and unscheduled jobs by run time."""
    rows = [
        (
            length_name(one), plain.count(one.count), *_mean(one.makespan, words.lasted),
            words.plain(one.stretch.value) if one.stretch else plain.NOTHING,
            *_mean(one.failures, words.plain), plain.percent(one.unscheduled / one.count),
        )
        for one in found
    ]  # fmt: skip
    heads = (
        "Run time", "Jobs", "Makespan", "95 % interval", "Stretch", "Failures per job",
        "95 % interval", "Unscheduled",
    )  # fmt: skip
    over = {one.makespan.over for one in found if one.makespan is not None}
    drawn = " or ".join(sorted(over))
    caption = "Makespan and stretch are means of jobs completed"
    return table(heads, rows, f"{caption}; intervals of means over {drawn}." if drawn else caption)


def _mean(mean: counts.Mean | None, tell: Any) -> tuple[str, str]:
    if mean is None:
        return plain.NOTHING, plain.NOTHING
    return tell(mean.value), words.ends_of(mean, tell).replace(" ", WHOLE_SPACE)


def failure_table(jobs: pl.DataFrame) -> Html:
    """Return how often jobs lost their hosts."""
    told = jobs.group_by(pl.col("failures").cast(pl.Int64).clip(0, 5)).agg(
        n=pl.len(), lost=pl.col("lost").cast(pl.Float64).sum()
    )
    found = {row[0]: row[1:] for row in told.sort("failures").iter_rows()}
    if not found or set(found) == {0}:
        return EMPTY
    names = ("Never", "Once", "Twice", "3 times", "4 times", "5 times or more")
    rows = [
        (names[k], plain.count(n), plain.percent(n / len(jobs)), words.host_hours(lost))
        for k, (n, lost) in found.items()
    ]
    return table(("Lost its host", "Jobs", "Share", "Work lost"), rows)


def end_table(stays: pl.DataFrame) -> Html:
    """Return the bar and the table of why stays of guests ended."""
    found = {row[0]: row[1:] for row in counts.stay_ends(stays).iter_rows()}
    if not found:
        return EMPTY
    rows = []
    for slug, name, colour in ENDS:
        if slug in found:
            n, time, lost = found[slug]
            rows.append(
                (key(colour) + Html(html(name)), plain.count(n), plain.percent(n / len(stays)),
                 between(wilson(n, len(stays))), plain.duration(time / n),
                 words.host_hours(lost) if lost else plain.NOTHING)
            )  # fmt: skip
    shares = [(name, found[slug][0] / len(stays), c) for slug, name, c in ENDS if slug in found]
    heads = ("Why stays ended", "Stays", "Share", "95 % interval", "Mean length", "Work lost")
    return bar(shares) + table(heads, rows)


def promise_table(stays: pl.DataFrame) -> Html:
    """Return what was said of stays as they began, and what came of it, by tenths."""
    column = said_in(stays)
    rows = [
        (
            f"{one.low:.1f} to {one.high:.1f}", plain.count(one.stays), plain.percent(one.said),
            plain.percent(one.kept), between((one.kept_low, one.kept_high)),
        )
        for one in counts.promised(stays, column)
    ]  # fmt: skip
    name = PROMISED if column == "promise" else FORESEEN
    heads = (f"{name} probability", "Stays", f"{name} on average", "Ended there", "95 % interval")
    caption = (
        "That a job ends on the host on which it begins a stay. Where the interval holds what was "
        "said on average, it cannot be faulted."
    )
    return table(heads, rows, caption)


PROMISED, FORESEEN = "Promised", "Foreseen"


def said_in(stays: pl.DataFrame) -> str:
    """Return the column with what was said last of stays."""
    return "promise" if "promise" in stays.columns else "chance"


def time_table(time: Mapping[str, float], found: Sequence[counts.Lasting]) -> Html:
    """Return where the hosts' time went, and how long hosts stay available."""
    total = sum(time.values())
    if not total:
        return EMPTY
    free = "without a guest"
    named = [
        ("guest", "Available, with a guest", GUEST_COLOUR),
        *(
            (slug, f"{text}, {free}" if slug in ("S1", "S2") else text, STATE_COLOURS[slug])
            for slug, text in STATE_WORDS.items()
        ),
    ]
    rows = [
        (key(colour) + Html(html(name)), words.host_hours(time[slug]),
         plain.percent(time[slug] / total))
        for slug, name, colour in named
    ]  # fmt: skip
    rows.append((Html("All"), words.host_hours(total), "100 %"))
    shares = [(name, time[slug] / total, colour) for slug, name, colour in named]
    return bar(shares) + table(("", "Host time", "Share"), rows) + lasting_table(found)


def lasting_table(found: Sequence[counts.Lasting]) -> Html:
    """Return how likely an available host is to stay available."""
    rows = [
        (plain.counted(round(one.hours), "hour"), plain.percent(one.share),
         plain.NOTHING if one.low is None or one.high is None else words.shares(one.low, one.high))
        for one in found
    ]  # fmt: skip
    caption = "Of a host that is available at some moment of the run; intervals over hosts."
    return table(("Stays available for", "Probability", "95 % interval"), rows, caption)


def host_table(hosts: pl.DataFrame) -> Html:
    """Return the hosts that are available most and least."""
    if hosts.is_empty():
        return EMPTY
    free = pl.col("share_s1").cast(pl.Float64) + pl.col("share_s2").cast(pl.Float64)
    told = hosts.with_columns(free=free).sort("free", "host", descending=[True, False])
    if len(told) > 2 * MOST:
        best, worst = told.head(MOST), told.tail(MOST)
        return _hosts(best, f"Available most: {MOST} of {len(told):,} hosts.") + _hosts(
            worst, f"Available least: {MOST} of {len(told):,} hosts."
        )
    return _hosts(told, "All hosts, those that are available most first.")


def _hosts(hosts: pl.DataFrame, caption: str) -> Html:
    heads = (
        "Host", "Speed", "Available", "Left", "S3", "S4", "S5", "Guests", "Ended", "Guest time",
        "Useful", "Lost",
    )  # fmt: skip
    rows = [
        (
            str(row["name"] or row["host"]), f"{float(row['speed']):.2f}",
            plain.percent(row["free"]), plain.count(row["unavailable"]),
            *(plain.count(row[name]) for name in ("s3", "s4", "s5")), plain.count(row["guests"]),
            plain.count(row.get("left")), hours(row["guest_seconds"]), hours(row["useful"]),
            hours(row["lost"]),
        )
        for row in hosts.iter_rows(named=True)
    ]  # fmt: skip
    note = (
        " Left: how often S1 and S2 were left, and for which state; ended: stays of guests that "
        "this cut short; times and work in host-hours."
    )
    return table(heads, rows, caption + note)


def with_left(hosts: pl.DataFrame, stays: pl.DataFrame) -> pl.DataFrame:
    """Return the hosts with a column `left`: stays of guests that they ended."""
    left = stays.filter(pl.col("ended").is_in(counts.LEFT)).group_by("host").agg(left=pl.len())
    return hosts.join(left, on="host", how="left", maintain_order="left").with_columns(
        pl.col("left").fill_null(0)
    )


def hours(value: object) -> str:
    """Return seconds as host-hours without the unit."""
    return words.host_hours(value).removesuffix(words.HOURS)


def jobs_that_lost(jobs: pl.DataFrame) -> Html:
    """Return the jobs that lost most work."""
    worst = jobs.filter(pl.col("lost").cast(pl.Float64) > 0).sort(
        "lost", "job", descending=[True, False]
    )
    if worst.is_empty():
        return EMPTY
    start = int(series.column(jobs, "submit").min())
    rows = [
        (
            str(row["job"]), plain.duration(row["submit"] - start), plain.duration(row["runtime"]),
            plain.duration(row["makespan"]), plain.count(row["failures"]),
            words.host_hours(float(row["lost"])), str(row["outcome"]),
        )
        for row in worst.head(MOST).iter_rows(named=True)
    ]  # fmt: skip
    heads = ("Job", "Submitted after", "Run time", "Makespan", "Hosts lost", "Work lost", "The job")
    most, every = (float(counts.reals(one, "lost").sum()) for one in (worst.head(MOST), worst))
    text = f"{plain.counted(len(worst), 'job')} lost work"
    text += f"; these {MOST} have {plain.percent(most / every)} of it" if len(worst) > MOST else ""
    return table(heads, rows, f"{text}.")


def wait_table(jobs: pl.DataFrame) -> Html:
    """Return how long jobs waited for their first start, and for a host in all."""
    waits = jobs.select(
        v=pl.col("start").cast(pl.Float64) - pl.col("submit").cast(pl.Float64)
    ).drop_nulls()["v"]
    if not len(waits):
        return EMPTY
    mean = counts.mean_of(jobs, pl.col("start") - pl.col("submit"))
    cells = [*_mean(mean, words.lasted), plain.duration(waits.median())]
    cells += [plain.duration(waits.quantile(0.95, "linear")), plain.duration(waits.max())]
    at_once = int((waits == 0).sum())
    heads = ("", "Mean", "95 % interval", "Median", "95th percentile", "Longest")
    note = paragraph(
        f"{plain.percent(at_once / len(waits))} of jobs that were started began at once; they were "
        f"tried {plain.ratio(counts.reals(jobs, 'tries').mean(), 2)} times on average, restarts "
        "included.",
        "soft",
    )
    return table(heads, [("Wait until the first start", *cells)]) + note
