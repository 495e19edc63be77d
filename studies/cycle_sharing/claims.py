"""The slides' claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from studies.cycle_sharing.cells import LONG, Cell, GuestRuns
from studies.cycle_sharing.contention import PAPER, Contention
from studies.cycle_sharing.inputs import GENERATED, GOOGLE_SET, THREE_MONTHS
from studies.cycle_sharing.reasons import WHY
from studies.cycle_sharing.runs import ALL
from studies.cycle_sharing.statistics import accuracy_of, summary
from studies.cycle_sharing.study import (
    CHECKPOINT,
    CONDOR,
    FALCON,
    HOURLY,
    OMNISCIENT,
    RESTARTS,
    SCRATCH,
    Plan,
)
from studies.kit.claims import CONFIRMED, Claim, Finding
from studies.kit.means import Mean
from studies.kit.text import share

HOLDS, PARTLY, FAILS = CONFIRMED
UNCLEAR: Final = "not told apart"

OCCURRENCES: Final = (405, 453)
SHARES: Final = {"s3": (0.69, 0.79), "s4": (0.19, 0.30), "s5": (0.0, 0.03)}
KINDS: Final = {"s3": "CPU", "s4": "memory", "s5": "revocation"}
IMPROVED: Final = (0.04, 0.14)
ACCURACY: Final = 0.86
"""What the slides say."""
SAME: Final = 0.005
"""Shares of unscheduled jobs count as the same where they differ by less."""
POINT: Final = 0.01
"""What was promised counts as kept where the two differ by less."""


@dataclass(frozen=True)
class Found:
    """What the experiments gave.

    Attributes
    ----------
    plan, runs : what was played, and all runs
    states : how often and why hosts were not available, see `statistics.SCHEMA`
    telling : temporal reliability foretold and observed, see `statistics.telling`
    contention : the contention study
    """

    plan: Plan
    runs: GuestRuns
    states: pl.DataFrame
    telling: pl.DataFrame
    contention: Contention

    def trio(self, name: str, restart: str, **more: object) -> tuple[Cell, Cell, Cell]:
        """Return the cells of Condor, Falcon and the omniscient scheduler."""
        condor, falcon, omniscient = (
            Cell(name, s, restart).at(**more) for s in (CONDOR, FALCON, OMNISCIENT)
        )
        return condor, falcon, omniscient


RESTART_WORDS: Final = {
    SCRATCH: "from scratch",
    HOURLY: "from hourly checkpoints",
    CHECKPOINT: "saved as the owner comes back",
}


def told_as(name: str, restart: str) -> str:
    """Return a set and how jobs restart, in words."""
    return f"{name}, {RESTART_WORDS[restart]}"


def points(mean: Mean, digits: int = 1) -> str:
    """Return a difference of shares with its interval: ``+7.1 % (+6.0 to +8.2)``."""
    ends = f"{100 * mean.low:+.{digits}f} to {100 * mean.high:+.{digits}f}"
    return f"{100 * mean.mean:+.{digits}f} % ({ends})"


def plain(mean: Mean, unit: str = "", digits: int = 3) -> str:
    """Return a difference with its interval."""
    ends = f"{mean.low:+.{digits}f} to {mean.high:+.{digits}f}"
    return f"{mean.mean:+.{digits}f}{unit} ({ends})"


# Contention, states, prediction -------------------------------------------------------------------


def contention(study: Contention) -> Iterator[Claim]:
    """There are two thresholds."""
    claim = "two thresholds Th1 and Th2 in the owner's load: below Th1 a guest does no harm, up to "
    claim += "Th2 one at lowest priority does none (20 and 60 % in the model)"
    if not study.points:
        yield Claim("thresholds", claim, f"left out: {study.why}", UNCLEAR, where="this host")
        return
    first, second = study.threshold("normal"), study.threshold("lowest")
    words = []
    for name, one in (("Th1", first), ("Th2", second)):
        low, high = map(share, one.interval or (0.0, 0.0))
        ends = "" if one.interval is None else f" ({low} to {high})"
        tell = {"crossed": share(one.value), "never": "never reached", "always": "below all loads"}
        words.append(f"{name} {tell[one.kind]}{ends}")
    good = first.value < second.value
    verdict = (HOLDS if first.kind == "crossed" else PARTLY) if good else FAILS
    yield Claim(
        "thresholds",
        claim,
        f"{'; '.join(words)}; the model takes {share(PAPER['normal'], 0)} and "
        f"{share(PAPER['lowest'], 0)}",
        verdict,
        where=study.source,
        why="" if verdict == HOLDS else WHY["thresholds"],
    )


def statistics(rows: pl.DataFrame) -> Iterator[Claim]:
    """How often machines are not available, and why."""
    for one in summary(rows).iter_rows(named=True):
        if one["hosts_of"] == GOOGLE_SET:
            continue
        low, high = OCCURRENCES
        good = [low <= one["least"], one["most"] <= high]
        words = f"{one['least']:,.0f} to {one['most']:,.0f} (median {one['middle']:,.0f}) a machine"
        words += "" if one["days"] >= THREE_MONTHS else " in 91 days, if they went on like this"
        for kind, (least, most) in SHARES.items():
            a, b = one[f"{kind}_low"] or 0.0, one[f"{kind}_high"] or 0.0
            words += f"; {KINDS[kind]} {share(a, 0)} to {share(b, 0)}"
            good += [least - 0.005 <= a, b <= most + 0.005]
        made = one["hosts_of"] in GENERATED
        yield Claim(
            "statistics",
            "405 to 453 unavailabilities a machine in 3 months: 69 to 79 % CPU, 19 to 30 % memory, "
            "0 to 3 % revocation",
            words,
            HOLDS if all(good) else FAILS,
            where=f"{one['hosts_of']}, {one['hosts']} machines, {one['days']:g} days",
            why=WHY["made"] if made else WHY["other hosts"],
        )


def accuracy(rows: pl.DataFrame) -> Iterator[Claim]:
    """The mean accuracy of temporal reliability."""
    for name in rows["set"].unique(maintain_order=True).to_list():
        told = accuracy_of(rows, name)
        words = (
            f"{share(told.each)} of each host and hour, windows of 1 to 10 h; "
            f"{share(told.together)} of all hosts together; chance alone leaves "
            f"{share(told.chance)} of each"
        )
        if told.in_seldom is not None:
            words += (
                f"; {share(told.in_others)} but for the {told.seldom} of {told.cells} cells in "
                f"which hosts stay in at most a quarter of the windows ({share(told.in_seldom)})"
            )
        good = [told.each > ACCURACY, told.together > ACCURACY]
        verdict = CONFIRMED.of(good)
        yield Claim(
            "accuracy",
            "the availability of a machine is foretold with a mean accuracy above 86 %",
            words,
            verdict,
            where=name,
            why="" if verdict == HOLDS else WHY["accuracy"],
        )


# Schedulers ---------------------------------------------------------------------------------------


def between(found: Found, name: str, restart: str) -> Finding:
    """Falcon lies between Condor-style and omniscient in makespan."""
    condor, falcon, omniscient = found.trio(name, restart)
    ahead = found.runs.shorter(falcon, condor)
    behind = found.runs.shorter(omniscient, falcon)
    words = (
        f"makespan {points(ahead)} shorter than Condor-style; the omniscient's is "
        f"{points(behind)} shorter than Falcon's"
    )
    verdict = HOLDS if ahead.above and behind.above else UNCLEAR
    verdict = FAILS if ahead.below or behind.below else verdict
    return Finding(words, verdict)


def long_lengths(runs: GuestRuns) -> list[int]:
    """Return the run times of long jobs."""
    return [length for length in runs.lengths() if length >= LONG]


def improved(found: Found, name: str, restart: str) -> Finding:
    """Falcon is 4 to 14 % ahead of Condor-style for long jobs."""
    condor, falcon, omniscient = found.trio(name, restart)
    each = [(length, found.runs.shorter(falcon, condor, length)) for length in found.runs.lengths()]
    long = [gain for length, gain in each if length >= LONG]
    whole = found.runs.shorter_by_seed(falcon, condor, long_lengths(found.runs))
    most = found.runs.shorter_by_seed(omniscient, condor, long_lengths(found.runs))
    low, high = IMPROVED
    inside = [low <= gain.mean <= high for gain in long]
    verdict = HOLDS if all(inside) and whole.low > 0 else PARTLY if any(inside) else FAILS
    words = f"jobs of 4 to 6 h: {points(whole)}; by length: "
    words += ", ".join(f"{length / 3600:g} h {points(gain)}" for length, gain in each)
    words += f"; what the omniscient gains there: {points(most)}"
    return Finding(words, verdict)


def grows(found: Found, name: str, restart: str) -> Finding:
    """The difference to the omniscient scheduler grows with job length."""
    _, falcon, omniscient = found.trio(name, restart)
    hours = found.runs.slope(falcon, omniscient)
    relative = found.runs.slope(falcon, omniscient, relative=True)
    verdict = HOLDS if hours.above else FAILS if hours.below else UNCLEAR
    words = (
        f"{plain(hours, ' h')} more makespan for each hour of run time; as a share of the "
        f"omniscient's makespan {points(relative, 2)} an hour"
    )
    return Finding(words, verdict)


def unscheduled(found: Found, name: str, restart: str) -> Finding:
    """The fraction of unscheduled jobs is the same."""
    words, same = [], []
    for load in found.plan.loads:
        condor, falcon, omniscient = found.trio(name, restart, load=load)
        if not found.runs.has(condor):
            continue
        mine = found.runs.mean(condor, "unscheduled")
        gaps = [found.runs.gain(falcon, other, "unscheduled") for other in (condor, omniscient)]
        same += [gap.low < 0 < gap.high or abs(gap.mean) < SAME for gap in gaps]
        words.append(
            f"load {load:g}: {share(mine.mean, 2)} with Condor-style, Falcon "
            f"{points(gaps[0], 2)}, against omniscient {points(gaps[1], 2)}"
        )
    verdict = CONFIRMED.of(same)
    return Finding("; ".join(words), verdict)


def fewer_failures(found: Found, name: str, restart: str) -> Finding:
    """Long jobs fail less under Falcon than under Condor-style."""
    condor, falcon, _ = found.trio(name, restart)
    words, above, below = [], [], []
    for length in found.runs.lengths():
        gap = found.runs.gain(falcon, condor, "failures", length)
        base = found.runs.mean(condor, "failures", length)
        words.append(f"{length / 3600:g} h {base.mean:.3f} {plain(gap)}")
        if length >= LONG:
            above.append(gap.above)
            below.append(gap.below)
    verdict = HOLDS if all(below) else FAILS if any(above) else PARTLY if any(below) else UNCLEAR
    return Finding(
        "failures a job under Condor-style, and Falcon's difference: " + ", ".join(words), verdict
    )


def promises(found: Found, name: str, restart: str) -> Finding:
    """What Falcon says of a stay comes true as often as it says. Not a claim of the slides."""
    _, falcon, _ = found.trio(name, restart)
    said, kept, foreseen, brier = (
        found.runs.mean(falcon, column) for column in ("said", "kept", "foreseen", "brier")
    )
    gap = found.runs.gain_of(falcon, "kept", "said")
    alike = kept.mean * (1 - kept.mean)
    verdict = HOLDS if gap.low <= 0 <= gap.high or abs(gap.mean) < POINT else FAILS
    words = (
        f"promised {share(said.mean)} on average (foreseen {share(foreseen.mean)}), "
        f"{share(kept.mean)} of stays ended their jobs: {points(gap, 2)}; Brier score "
        f"{brier.mean:.4f}, where the same promise for every stay would score {alike:.4f}"
    )
    return Finding(words, verdict)


class Scheduling(NamedTuple):
    """A claim on schedulers: its name and words, how it is tested on a set of hosts and a restart,
    and the restarts that it is about."""

    name: str
    claim: str
    test: Callable[[Found, str, str], Finding]
    restarts: tuple[str, ...] = RESTARTS


SCHEDULING: Final = (
    Scheduling("between", "Falcon between Condor-style and omniscient in makespan", between),
    Scheduling("improved", "4 to 14 % ahead of Condor-style in makespan for long jobs", improved),
    Scheduling(
        "grows", "the difference between Falcon and omniscient grows with job length",
        grows, (SCRATCH,),
    ),
    Scheduling(
        "unscheduled", "the fraction of unscheduled jobs is the same", unscheduled, (SCRATCH,)
    ),
    Scheduling("failures", "for long jobs fewer failures than under Condor-style", fewer_failures),
    Scheduling(
        "promises", "(not in the slides) stays end their jobs as often as Falcon promised",
        promises, (SCRATCH,),
    ),
)  # fmt: skip


def scheduled(asked: Scheduling, found: Found, hosts: str, restart: str) -> Claim:
    """Return a claim on schedulers as it comes out for a set of hosts and a restart."""
    name, told = asked.name, asked.test(found, hosts, restart)
    why = WHY.get(f"{name}, {hosts}, {restart}") or WHY.get(f"{name}, {hosts}", "")
    where = told_as(hosts, restart)
    return Claim(name, asked.claim, *told, where=where, why="" if told.verdict == HOLDS else why)


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims in the order of the slides."""
    return (
        *contention(found.contention),
        *statistics(found.states),
        *accuracy(found.telling),
        *(
            scheduled(asked, found, hosts, restart)
            for asked in SCHEDULING
            for hosts in found.runs.sets
            for restart in asked.restarts
        ),
    )


def headline(found: Found) -> dict[str, object]:
    """Return the few numbers that tell most, as plain values, for programs."""
    made: dict[str, object] = {}
    for name in found.runs.sets:
        for restart in RESTARTS:
            condor, falcon, omniscient = found.trio(name, restart)
            ahead = found.runs.shorter(falcon, condor, ALL)
            most = found.runs.shorter(omniscient, condor, ALL)
            made[told_as(name, restart)] = {
                "falcon_over_condor": _plain(ahead), "omniscient_over_condor": _plain(most),
            }  # fmt: skip
    return made


def _plain(mean: Mean) -> list[float | None]:
    ends = (mean.mean, mean.low, mean.high)
    return [round(value, 6) if np.isfinite(value) else None for value in ends]
