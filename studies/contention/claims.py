"""The slides' claims on contention beside what was measured: each is a test that can fail."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import polars as pl

from studies.contention.found import Bounds, Found, Middle, median_of
from studies.contention.policies import (
    ALWAYS,
    BANDS,
    FINER,
    KEPT,
    LIMIT,
    LOW,
    SLIDES,
    TH1,
    Spread,
    gain,
    outcome,
    policies,
)
from studies.contention.study import AGAIN, LOWEST, NICES, NORMAL
from studies.kit.claims import CONFIRMED, Asked, Claim, Finding
from studies.kit.text import share

HOLDS, PARTLY, FAILS = CONFIRMED
UNCLEAR: Final = "inconclusive"
CPU: Final = "Studies on Resource Contention: CPU"
MEMORY: Final = "Studies on Resource Contention: CPU & Memory"
BETWEEN: Final = (0.2, 0.5)
"""Loads at which the slides found no difference between finer priorities."""
SHORT, ENOUGH = -1.0, 8.0
"""MB of memory left free, below which some is missing, and from which on there is enough."""
NOT_MEASURED: Final = Finding("not measured", UNCLEAR)


def told(one: Middle, digits: int = 1) -> str:
    """Return a median of shares with its interval, in per cent: ``3.1 % (2.0 to 4.2)``."""
    if not math.isfinite(one.low):
        return share(one.middle, digits)
    ends = f"{100 * one.low:.{digits}f} to {100 * one.high:.{digits}f}"
    return f"{share(one.middle, digits)} ({ends})"


def told_mean(one: Spread, digits: int = 1) -> str:
    """Return a mean over loads with its interval, in per cent."""
    return told(Middle(one.mean, one.low, one.high, 1), digits)


def at_most(one: Middle, limit: float = LIMIT) -> str:
    """Return the verdict on "at most the limit"."""
    return HOLDS if one.high <= limit else FAILS if one.low > limit else UNCLEAR


def beyond(one: Middle, limit: float = LIMIT) -> str:
    """Return the verdict on "more than the limit"."""
    return HOLDS if one.low > limit else FAILS if one.high <= limit else UNCLEAR


def _by_program(found: Found, guest: str, loads: Bounds) -> str:
    """Return between which programs the median loss lies."""
    lost = {name: found.middle("lost", guest, loads, name).middle for name in found.programs}
    least, most = min(lost, key=lambda k: lost[k]), max(lost, key=lambda k: lost[k])
    return f"from {share(lost[least])} ({least}) to {share(lost[most])} ({most}) by program"


def light(found: Found) -> Finding:
    """Up to Th1 a guest at default priority takes no more than the limit."""
    lost, slower = (found.middle(what, NORMAL, (0, TH1)) for what in ("lost", "slower"))
    if not lost.number:
        return NOT_MEASURED
    words = f"the owner loses {told(lost)} of its CPU use at loads of 10 and 20 %, "
    words += f"{_by_program(found, NORMAL, (0, TH1))}; its commands take {told(slower)} longer"
    return Finding(words, at_most(lost), f"loses {told(lost)}")


def medium(found: Found) -> Finding:
    """Between the thresholds a guest at lowest priority takes no more than the limit, and one at
    default priority more."""
    low, normal = (found.middle("lost", guest, BANDS["30 to 60 %"]) for guest in (LOWEST, NORMAL))
    if not low.number:
        return NOT_MEASURED
    words = f"at loads of 30 to 60 % the owner loses {told(low)} to a guest at lowest priority and "
    verdicts = {at_most(low), beyond(normal)}
    verdict = HOLDS if verdicts == {HOLDS} else FAILS if at_most(low) == FAILS else UNCLEAR
    return Finding(words + f"{told(normal)} to one at default", verdict)


def heavy(found: Found) -> Finding:
    """Above Th2 a guest takes more than the limit even at lowest priority."""
    lost = found.middle("lost", LOWEST, BANDS["80 and 100 %"])
    if not lost.number:
        return NOT_MEASURED
    got = found.middle("got", LOWEST, BANDS["80 and 100 %"])
    words = f"at loads of 80 and 100 % the owner loses {told(lost)} to a guest at lowest priority, "
    return Finding(words + f"which gets {told(got)} of the core", beyond(lost))


def finer(found: Found) -> Finding:
    """Guests between default and lowest priority cost the owner what those at lowest do."""
    words, same = [], []
    for nice in NICES:
        lost, got = (found.apart(what, f"nice {nice}", LOWEST, BETWEEN) for what in ("lost", "got"))
        words.append(f"nice {nice} {told(lost)} and {told(got)}")
        same.append(not lost.told)
    if not found.chosen(LOWEST, BETWEEN).height:
        return NOT_MEASURED
    start = "beyond what a guest at lowest costs the owner, and what it gets of the core, at loads "
    return Finding(f"{start}of 20 to 50 %: {', '.join(words)}", CONFIRMED.of(same))


def conservative(found: Found) -> Finding:
    """A guest that always runs at lowest priority gets clearly less than with two levels."""
    ratio = found.ratio("got", LOWEST, NORMAL, (0, TH1))
    if not ratio.number:
        return NOT_MEASURED
    chosen = policies(found)
    low, two = (outcome(found, chosen[name]) for name in (LOW, SLIDES))
    words = (
        f"at loads of 10 and 20 %, where two levels give default priority, one at lowest gets "
        f"{told(ratio)} of what one at default gets; over all loads always lowest gives "
        f"{told_mean(low.got)} of the core, two levels {told_mean(two.got)}"
    )
    little = ratio.high < 1 - LIMIT
    return Finding(words, HOLDS if little else FAILS if ratio.low >= 1 - LIMIT else UNCLEAR)


def slowdown(found: Found) -> Finding:
    """There is a load at which a guest at lowest priority takes more than the limit."""
    by_load = {load: found.middle("lost", LOWEST, (load, load)) for load in found.loads}
    if not found.chosen(LOWEST).height:
        return NOT_MEASURED
    most = max(by_load, key=lambda load: by_load[load].middle)
    slower = found.middle("slower", LOWEST)
    words = (
        f"the most is {told(by_load[most])}, at a load of {share(most, 0)}; commands take "
        f"{told(slower)} longer over all loads"
    )
    if any(one.low > LIMIT for one in by_load.values()):
        return Finding(words, HOLDS)
    return Finding(words, FAILS if all(one.high <= LIMIT for one in by_load.values()) else UNCLEAR)


def ours(found: Found) -> Finding:
    """Finer priorities by measured harm give a guest more than two levels, within the limit."""
    if not found.chosen(LOWEST).height:
        return NOT_MEASURED
    chosen = policies(found)
    parts, good = [], []
    for other in (SLIDES, KEPT, LOW):
        more = gain(found, chosen[FINER], chosen[other])
        ends = f"{100 * more.low:+.1f} to {100 * more.high:+.1f}"
        parts.append(f"{100 * more.mean:+.1f} points ({ends}) on {other}")
        good.append(more.low > 0)
    harm = outcome(found, chosen[FINER])
    words = (
        f"of the core a guest gets {', '.join(parts)}; the owner loses {told_mean(harm.lost)} in "
        f"the mean, more than {share(LIMIT, 0)} at {harm.beyond} of {harm.loads} loads; its "
        f"commands take {told_mean(harm.slower)} longer"
    )
    within = harm.beyond == 0
    return Finding(words, CONFIRMED.of((*good, within)) if within else FAILS)


def defaults(found: Found) -> Finding:
    """Always default priority breaks the limit."""
    if not found.chosen(LOWEST).height:
        return NOT_MEASURED
    one = outcome(found, policies(found)[ALWAYS])
    words = (
        f"always at default the owner loses {told_mean(one.lost)} in the mean over loads, more "
        f"than {share(LIMIT, 0)} at {one.beyond} of {one.loads}; its guest gets "
        f"{told_mean(one.got)} of the core"
    )
    return Finding(words, HOLDS if one.lost.low > LIMIT else FAILS)


def held(found: Found, guest: str, low: float, high: float) -> Middle:
    """Return what the owner lost of its speed at so many MB left free."""
    if not found.memory.height:
        return median_of([])
    rows = found.memory.filter(pl.col("guest") == guest, pl.col("free").is_between(low, high))
    return median_of(rows["lost"].to_numpy())


def thrashing(found: Found) -> Finding:
    """Where memory is short the owner thrashes beside a guest at lowest priority, too."""
    normal, low = (held(found, guest, -math.inf, SHORT) for guest in (NORMAL, LOWEST))
    if not low.number:
        return NOT_MEASURED
    words = f"with memory short the owner loses {told(low)} of its speed beside a guest at lowest "
    return Finding(words + f"priority and {told(normal)} beside one at default", beyond(low))


def sufficient(found: Found) -> Finding:
    """Where memory suffices a guest that holds much takes none of the owner's speed."""
    normal, low = (held(found, guest, ENOUGH, math.inf) for guest in (NORMAL, LOWEST))
    if not low.number:
        return NOT_MEASURED
    words = f"with {ENOUGH:g} MB free or more the owner loses {told(normal)} of its speed beside a "
    verdicts = {at_most(normal), at_most(low)}
    words += f"guest at default priority and {told(low)} beside one at lowest"
    return Finding(words, HOLDS if verdicts == {HOLDS} else FAILS if FAILS in verdicts else UNCLEAR)


ASKED: Final = (
    Asked("below Th1", CPU, "up to Th1 = 20 % of the owner's load a guest at default priority "
          "costs it no more than 5 % of its CPU use", light),
    Asked("default harms", CPU, "a guest that always runs at default priority costs its owner more "
          "than 5 %", defaults),
    Asked("between", CPU, "between Th1 and Th2 = 60 % the lowest priority keeps the owner's loss "
          "within 5 %, default does not", medium),
    Asked("above Th2", CPU, "above Th2 a guest costs more than 5 % even at lowest priority and has "
          "to be ended", heavy),
    Asked("finer", CPU, "finer priorities make no significant difference at owner's loads of 20 to "
          "50 %", finer),
    Asked("conservative", CPU, "always lowest priority is too conservative: the guest gets clearly "
          "less than with two levels", conservative),
    Asked("slowdown", CPU, "always lowest priority may cost the owner more than 5 %", slowdown),
    Asked("thrashing", MEMORY, "thrashing persists even if the guest's priority is reduced",
          thrashing),
    Asked("sufficient", MEMORY, "where memory suffices a guest's memory costs the owner nothing",
          sufficient),
    Asked("ours", "not in the slides", "priorities by measured harm give the guest more than two "
          "levels and always lowest, within 5 %", ours),
)  # fmt: skip


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims with what was found."""
    owners = f"{len(found.programs)} programs"
    rests = (
        f"one core of one host, {owners} as owners, {found.plan.repeats} repeats; medians over "
        "turns paired with the owner alone, 95 % intervals by bootstrap"
    )
    return tuple(_of(one, found, rests) for one in ASKED)


def _of(asked: Asked, found: Found, rests: str) -> Claim:
    if asked.section == MEMORY:
        rests = (
            f"one host, {found.plan.memory} repeats, an owner that reads a file at random and a "
            "guest that holds memory; 95 % intervals by bootstrap"
        )
    return replace(asked, rests=rests).of(found)


def noise(found: Found) -> str:
    """Return what an owner alone loses to nobody, in words."""
    low, high = found.spread()
    return (
        f"{told(found.middle('lost', AGAIN))} in the median, from {share(low)} to {share(high)} in "
        "nine of ten turns"
    )
