"""A run of cycle sharing in plain words: every number with its unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from forestall.core.kit.report import hours_of, listed
from forestall.core.kit.shares import between, sureness
from forestall.core.show import words
from forestall.sharing.report.counts import LEFT, Lasting, Mean, Promised
from forestall.sharing.rules.entries import SCHEDULERS

MAP_PARTS: Final = {
    "run": "The whole run.",
    "ended": "The part of the run in which hosts ended the most stays of guests.",
    "began": "The part of the run in which the most stays of guests began; hosts ended none.",
}
WHY: Final = {
    "contention": "the owner's load (S3, {})",
    "thrashing": "too little free memory (S4, {})",
    "away": "the host going away (S5, {})",
}


def host_hours(value: object) -> str:
    """Return seconds of hosts, or of work on a host of speed 1, as host-hours."""
    return hours_of(value, " host-hours")


def scheduler_name(slug: object) -> str:
    """Return a scheduler as people read it."""
    known = SCHEDULERS.get(str(slug))
    return str(slug) if known is None else known.label


def spread(mean: Mean | None, tell: Callable[..., str]) -> str:
    """Return a mean with its interval: ``2.61 h (95 % interval 2.53 to 2.79 h, over days)``."""
    if mean is None:
        return words.NOTHING
    if mean.low is None or mean.high is None:
        return tell(mean.value)
    ends = ends_of((mean.low, mean.high), tell)
    return f"{tell(mean.value)} (95 % interval {ends}, over {mean.over})"


def ends_of(ends: tuple[float | None, float | None], tell: Callable[..., str]) -> str:
    """Return the interval of a mean, both ends in the unit of the upper one: ``1.99 to 2.35 h``; a
    dash where it has none.

    `tell` takes a value, and one whose unit and digits it shall have.
    """
    least, most = ends
    if least is None or most is None:
        return words.NOTHING
    low, high = tell(max(least, 0.0), most), tell(most)
    unit = high.partition(" ")[2]
    return f"{low.removesuffix(f' {unit}') if unit else low} to {high}"


def round_time(seconds: int) -> str:
    """Return a run time without digits that are 0, in the largest unit in which few tell it whole:
    ``2 h``, ``1.5 h``, ``30 min``, ``100 s``; from two hours on to four digits."""
    for size, unit in ((3600, "h"), (60, "min")):
        text = f"{seconds / size:.4g}"
        if seconds >= 7200 or (seconds >= size and float(text) * size == seconds):
            return f"{text} {unit}"
    return f"{seconds:,} s"


def lasted(value: object, like: float | None = None) -> str:
    """Return a makespan in the unit that suits it, or that suits another one (`like`), with three
    digits or so: ``47.3 min``."""
    seconds = words.number(value)
    if seconds is None:
        return words.NOTHING
    size = seconds if like is None else like
    if size < 120:
        return f"{seconds:.1f} s"
    if size < 2 * 3600:
        return f"{seconds / 60:.1f} min"
    if size < 100 * 3600:
        return f"{seconds / 3600:.2f} h"
    return f"{seconds / 86_400:,.2f} d"


def plain(value: object, like: float | None = None) -> str:
    """Return a mean count, with digits that suit it, or that suit another one (`like`)."""
    number = words.number(value)
    if number is None:
        return words.NOTHING
    return f"{number:.3f}" if (number if like is None else like) < 0.1 else f"{number:.2f}"


def on_completion(
    ends: Mapping[str, int],
    shared: tuple[float | None, float | None],
    makespan: Mean | None,
    stretch: Mean | None,
) -> str:
    """Say how many jobs were completed, how sure that is, how long it took, and why others were
    not.

    Parameters
    ----------
    ends : jobs by `fate`, as `forestall.sharing.report.counts.with_fates` has it
    shared : the design effects of days for jobs completed and for jobs unscheduled, or None
    makespan, stretch : of jobs completed
    """
    count = sum(ends.values())
    if not count:
        return "There were no jobs."
    done = ends.get("straight", 0) + ends.get("after", 0)
    text = (
        f"{done:,} of {words.counted(count, 'job')} ({words.percent(done / count)}) were completed;"
        f" {sureness(done, count, shared[0])}."
    )
    if makespan is not None:
        text += f" From submission to completion they took {spread(makespan, lasted)} on average"
        text += f", {spread_times(stretch)}." if stretch is not None else "."
    never, still = ends.get("unscheduled", 0), ends.get("unfinished", 0)
    if never:
        text += (
            f" {words.counted(never, 'job')} found no free host when {_they(never)} asked, and "
            f"{_was(never)} given up as unscheduled: {words.percent(never / count)}, "
            f"{sureness(never, count, shared[1])}."
        )
    if still:
        text += f" {words.counted(still, 'job')} {_was(still)} not done when the traces ended."
    return text


def _they(count: int) -> str:
    return "it" if count == 1 else "they"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def spread_times(stretch: Mean | None) -> str:
    """Return a stretch in words: ``1.31 times their run times``."""
    return words.NOTHING if stretch is None else f"{stretch.value:.2f} times their run times"


def on_failures(
    hit: int, count: int, shared: float | None, failures: Mean | None, ends: Mapping[str, int],
    lost: float, useful: float,
) -> str:  # fmt: skip
    """Say how often hosts left guests, why, and what that took.

    Parameters
    ----------
    hit, count : jobs that lost a host at least once, of all; `shared` is their design effect
    failures : per job
    ends : stays by how they ended
    lost, useful : work, s
    """
    left = {name: ends.get(name, 0) for name in LEFT}
    total = sum(left.values())
    if not count:
        return ""
    if not total:
        return "No host left its guest: no job had to be restarted."
    causes = [WHY[n].format(words.percent(left[n] / total)) for n in LEFT if left[n]]
    share = f", {words.percent(lost / useful)} of the useful work" if useful and lost else ""
    return (
        f"A job lost a host with probability {words.percent(hit / count)}, "
        f"{sureness(hit, count, shared)}; on average it lost {spread(failures, plain)}. "
        f"Hosts ended {words.counted(total, 'stay')} because of {listed(causes)}. "
        f"This destroyed {host_hours(lost)} of work{share}."
    )


def on_promises(
    found: Sequence[Promised], score: float | None, shared: float | None, what: str
) -> str:
    """Say what was said of stays as they began, and what came of it.

    Parameters
    ----------
    found, score : tenths of probability, and the Brier score, of what was said
    shared : the design effect of days for stays that ended well
    what : "promised", or "foresaw" where there is no promise
    """
    count = sum(one.stays for one in found)
    if not count:
        return ""
    said = sum(one.stays * one.said for one in found) / count
    kept = round(sum(one.stays * one.kept for one in found))
    text = (
        f"When a stay began, Falcon {what} the probability that the job would finish on that "
        f"host: {words.percent(said)} on average. {words.percent(kept / count)} did, "
        f"{sureness(kept, count, shared)}."
    )
    if score is not None:
        alike = kept / count * (1 - kept / count)
        text += (
            f" The Brier score is {score:.4f} (0 is perfect; stating "
            f"{words.percent(kept / count)} for every stay would have scored {alike:.4f})."
        )
    return text


def on_hosts(time: Mapping[str, float], found: Sequence[Lasting], harvested: object) -> str:
    """Say how available hosts were, how long that lasts, and how much of it was used.

    Parameters
    ----------
    time : host time by what hosts were, as `forestall.sharing.report.counts.host_hours` has it
    found : how likely an available host is to stay so
    harvested : share of what hosts could have done that became useful work
    """
    total = sum(time.values())
    if not total:
        return ""
    free = time["guest"] + time["S1"] + time["S2"]
    text = (
        f"Hosts were available {words.percent(free / total)} of the time and had a guest "
        f"{words.percent(time['guest'] / total)} of it."
    )
    told = [one for one in found if one.hours in (1.0, 4.0)] or list(found[:1])
    if told:
        text += " A host that is available at some moment stays so "
        text += " and ".join(
            f"for {words.counted(round(one.hours), 'hour')} more with probability "
            f"{words.percent(one.share)}{_ends(one)}"
            for one in told
        )
        text += "."
    part = words.number(harvested)
    if part is not None:
        text += f" {words.percent(part)} of what hosts could have done became useful work."
    return text


def _ends(one: Lasting) -> str:
    if one.low is None or one.high is None:
        return ""
    return f" (95 % interval {shares(one.low, one.high)}, over hosts)"


def shares(low: float, high: float) -> str:
    """Return an interval of shares, kept within 0 and 1."""
    return between((max(low, 0.0), min(high, 1.0)))


def map_caption(hosts: int, few: int, *, shown: str) -> str:
    """Say what the map shows of the run, and of so many hosts.

    `shown` is ``run`` (all of it), ``ended`` or ``began`` (the part with most stays that hosts
    ended, or that began), or ``chosen``, of which nothing has to be said.
    """
    said = [MAP_PARTS[shown]] if shown in MAP_PARTS else []
    if hosts > few:
        said.append("A cell shows the most common state of its hosts.")
    return " ".join(said)
