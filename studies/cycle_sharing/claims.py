"""The slides' claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from studies.cycle_sharing.cells import LONG, Cell, GuestRuns
from studies.cycle_sharing.contention import PAPER, Contention
from studies.cycle_sharing.inputs import GENERATED, GOOGLE_SET, THREE_MONTHS
from studies.cycle_sharing.reasons import WHY
from studies.cycle_sharing.statistics import accuracy_of, summary
from studies.cycle_sharing.study import (
    CHECKPOINT,
    CONDOR,
    FALCON,
    HOURLY,
    MOVING,
    OMNISCIENT,
    RESTARTS,
    SCRATCH,
    SLIDES,
    TRUTH,
    Plan,
)
from studies.kit.claims import CONFIRMED, Claim, Finding
from studies.kit.means import Mean
from studies.kit.text import share

HOLDS, PARTLY, FAILS = CONFIRMED
UNCLEAR: Final = "inconclusive"

OCCURRENCES: Final = (405, 453)
SHARES: Final = {"s3": (0.69, 0.79), "s4": (0.19, 0.30), "s5": (0.0, 0.03)}
KINDS: Final = {"s3": "CPU", "s4": "memory", "s5": "revocation"}
IMPROVED: Final = (0.04, 0.14)
AROUND: Final = (2, 3, 4)
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

    def trio(
        self, name: str, restart: str, by: str = SLIDES, **more: object
    ) -> tuple[Cell, Cell, Cell]:
        """Return the cells of Condor, Falcon (`by`: which) and the omniscient scheduler."""
        condor, falcon, omniscient = (
            Cell(name, s, restart).at(**more) for s in (CONDOR, by, OMNISCIENT)
        )
        return condor, falcon, omniscient


RESTART_WORDS: Final = {
    SCRATCH: "from scratch",
    HOURLY: "from hourly checkpoints",
    CHECKPOINT: "saved as the owner comes back",
    **{
        one: f"{'hourly checkpoints and ' if base == HOURLY else ''}moves below {chance:g}"
        for one, (base, chance) in MOVING.items()
    },
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


_CONTENTION: Final = "Studies on Resource Contention: CPU"


# Contention, states, prediction -------------------------------------------------------------------


def contention(study: Contention) -> Iterator[Claim]:
    """There are two thresholds."""
    claim = "two thresholds Th1 and Th2 in the owner's load: below Th1 a guest does no harm, up to "
    claim += "Th2 a guest at lowest priority does no harm (20 and 60 % in the model)"
    if not study.points:
        yield Claim(
            "thresholds", claim, f"left out: {study.why}", UNCLEAR, where="this host",
            section=_CONTENTION, rests="nothing: it was not measured",
        )  # fmt: skip
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
        section=_CONTENTION,
        where=study.source,
        why="" if verdict == HOLDS else WHY["thresholds"],
        rests="one host, three repeats of each point, intervals by bootstrap",
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
            section="Evaluation of Availability Prediction",
            where=f"{one['hosts_of']}, {one['hosts']} machines, {one['days']:g} days",
            why=WHY["made"] if made else WHY["other hosts"],
            rests="one draw of hosts; generated hosts are built to give this",
        )


def accuracy(rows: pl.DataFrame) -> Iterator[Claim]:
    """The mean accuracy of temporal reliability."""
    for name in rows["set"].unique(maintain_order=True).to_list():
        told = accuracy_of(rows, name)
        words = (
            f"{share(told.each)} per host and hour, windows of 1 to 10 h; "
            f"{share(told.together)} for all hosts together; chance alone leaves "
            f"{share(told.chance)} per host and hour"
        )
        if told.in_seldom is not None:
            words += (
                f"; {share(told.in_others)} without the {told.seldom} of {told.cells} cells in "
                f"which hosts stay in at most a quarter of the windows ({share(told.in_seldom)})"
            )
        good = [told.each > ACCURACY, told.together > ACCURACY]
        verdict = CONFIRMED.of(good)
        yield Claim(
            "accuracy",
            "the availability of a machine is predicted with a mean accuracy above 86 %",
            words,
            verdict,
            section="Prediction Accuracy",
            where=name,
            why="" if verdict == HOLDS else WHY["accuracy"],
            rests="hosts of one seed, half of the days for learning, the rest for testing",
        )


# Schedulers ---------------------------------------------------------------------------------------


def signed(mean: Mean, digits: int = 1) -> str:
    """Return a difference of shares without its interval: ``+7.1 %``."""
    return f"{100 * mean.mean:+.{digits}f} %"


def between(found: Found, name: str, restart: str, by: str) -> Finding:
    """Falcon lies between Condor-style and omniscient in makespan."""
    condor, falcon, omniscient = found.trio(name, restart, by)
    ahead = found.runs.shorter(falcon, condor)
    behind = found.runs.shorter(omniscient, falcon)
    words = (
        f"makespan {points(ahead)} shorter than Condor-style; the omniscient's is "
        f"{points(behind)} shorter than Falcon's"
    )
    verdict = HOLDS if ahead.above and behind.above else UNCLEAR
    verdict = FAILS if ahead.below or behind.below else verdict
    brief = (
        f"{signed(ahead)} shorter than Condor-style, the omniscient {signed(behind)} than Falcon"
    )
    return Finding(words, verdict, brief)


def improved(found: Found, name: str, restart: str, by: str) -> Finding:
    """Falcon is 4 to 14 % ahead of Condor-style, for jobs of each length."""
    condor, falcon, omniscient = found.trio(name, restart, by)
    lengths = found.runs.lengths()
    each = [(length, found.runs.shorter(falcon, condor, length)) for length in lengths]
    whole = found.runs.shorter(falcon, condor)
    most = found.runs.shorter(omniscient, condor)
    low, high = IMPROVED
    inside = [low <= gain.mean <= high for _, gain in each]
    verdict = HOLDS if all(inside) and whole.above else PARTLY if any(inside) else FAILS
    words = f"all jobs: {points(whole)}; by length: "
    words += ", ".join(f"{length / 3600:g} h {points(gain)}" for length, gain in each)
    words += f"; what the omniscient gains of all: {points(most)}"
    brief = ", ".join(f"{length / 3600:g} h {signed(gain)}" for length, gain in each)
    return Finding(words, verdict, brief)


def grows(found: Found, name: str, restart: str, by: str) -> Finding:
    """The difference to the omniscient scheduler grows with job length: in hours, and as a share
    of the makespan, since a gap in proportion to it grows in hours whatever the scheduler does."""
    _, falcon, omniscient = found.trio(name, restart, by)
    hours = found.runs.slope(falcon, omniscient)
    relative = found.runs.slope(falcon, omniscient, relative=True)
    verdict = FAILS if hours.below else UNCLEAR
    if hours.above:
        verdict = HOLDS if relative.above else PARTLY
    words = (
        f"{plain(hours, ' h')} more makespan for each hour of run time; as a share of the "
        f"omniscient's makespan {points(relative, 2)} an hour"
    )
    brief = f"{plain(hours, ' h')} for each hour of run time; of the makespan "
    return Finding(words, verdict, f"{brief}{points(relative, 2)}")


def unscheduled(found: Found, name: str, restart: str, by: str) -> Finding:
    """The fraction of unscheduled jobs is the same."""
    words, same, brief = [], [], []
    for load in found.plan.loads:
        condor, falcon, omniscient = found.trio(name, restart, by, load=load)
        if not found.runs.has(condor):
            continue
        mine = found.runs.mean(condor, "unscheduled")
        gaps = [found.runs.gain(falcon, other, "unscheduled") for other in (condor, omniscient)]
        same += [gap.low < 0 < gap.high or abs(gap.mean) < SAME for gap in gaps]
        words.append(
            f"load {load:g}: {share(mine.mean, 2)} with Condor-style, Falcon "
            f"{points(gaps[0], 2)}, against omniscient {points(gaps[1], 2)}"
        )
        brief.append(f"load {load:g}: {share(mine.mean, 2)} and {signed(gaps[0], 2)}")
    return Finding("; ".join(words), CONFIRMED.of(same), "; ".join(brief))


def fewer_failures(found: Found, name: str, restart: str, by: str) -> Finding:
    """Long jobs fail less under Falcon than under Condor-style."""
    condor, falcon, _ = found.trio(name, restart, by)
    words, above, below, brief = [], [], [], []
    for length in found.runs.lengths():
        gap = found.runs.gain(falcon, condor, "failures", length)
        base = found.runs.mean(condor, "failures", length)
        words.append(f"{length / 3600:g} h {base.mean:.3f} {plain(gap)}")
        if length >= LONG:
            above.append(gap.above)
            below.append(gap.below)
            brief.append(f"{length / 3600:g} h {base.mean:.3f} {gap.mean:+.3f}")
    verdict = HOLDS if all(below) else FAILS if any(above) else PARTLY if any(below) else UNCLEAR
    told = "failures a job under Condor-style, and Falcon's difference: " + ", ".join(words)
    return Finding(told, verdict, ", ".join(brief))


def kink(found: Found, name: str, restart: str, by: str) -> Finding:
    """Failures a job do not grow with job length throughout: from 2 to 3 h they change one way, and
    from 3 to 4 h the other."""
    words, turns, rises, brief = [], [], [], []
    for told, cell in zip(("Condor-style", "Falcon"), found.trio(name, restart, by), strict=False):
        means = [found.runs.mean(cell, "failures", hours * 3600).mean for hours in AROUND]
        first, second = (
            found.runs.rise(cell, "failures", one * 3600, two * 3600)
            for one, two in itertools.pairwise(AROUND)
        )
        turns.append((first.above and second.below) or (first.below and second.above))
        rises.append(first.above and second.above)
        three = ", ".join(f"{mean:.3f}" for mean in means)
        words.append(f"{told} {three} ({plain(first)} from 2 to 3 h, {plain(second)} to 4 h)")
        brief.append(f"{told} {three}")
    verdict = HOLDS if any(turns) else FAILS if all(rises) else UNCLEAR
    start = "failures a job at 2, 3 and 4 h: "
    return Finding(start + "; ".join(words), verdict, "; ".join(brief))


def added(found: Found, name: str, restart: str, by: str) -> Finding:
    """Falcon as it is here is quicker than the slides'. Not a claim of the slides."""
    gain = found.runs.shorter(Cell(name, by, restart), Cell(name, SLIDES, restart))
    verdict = HOLDS if gain.above else FAILS if gain.below else UNCLEAR
    return Finding(f"makespan {points(gain)} shorter", verdict, signed(gain))


def moves(found: Found, name: str, restart: str, by: str) -> Finding:
    """Guests that move before their hosts leave are done earlier."""
    base, _ = MOVING[restart]
    moving, staying = Cell(name, by, restart), Cell(name, by, base)
    if not found.runs.has(moving):
        return Finding("not played", UNCLEAR)
    gain = found.runs.shorter(moving, staying)
    fewer = found.runs.gain(moving, staying, "failures")
    lost = found.runs.gain(moving, staying, "lost")
    count = found.runs.mean(moving, "moves").mean
    told = found.runs.values(moving, "needed").values()
    needed = [one for one in told if one is not None]
    verdict = HOLDS if gain.above else FAILS if gain.below else UNCLEAR
    words = (
        f"makespan {points(gain, 2)} shorter; {count:.3f} moves a job, "
        + (f"{share(float(np.mean(needed)), 0)} of them needed; " if needed else "")
        + f"failures a job {plain(fewer)}, lost work {plain(lost, ' h')} a job"
    )
    known = replace(moving, learning=TRUTH)
    if found.runs.has(known):
        best = found.runs.shorter(known, replace(staying, learning=TRUTH))
        words += f"; by the true future {points(best, 2)} shorter"
    return Finding(words, verdict, f"{signed(gain, 2)} ({count:.3f} moves a job)")


def promises(found: Found, name: str, restart: str, by: str) -> Finding:
    """What Falcon says of a stay comes true as often as it says. Not a claim of the slides."""
    _, falcon, _ = found.trio(name, restart, by)
    said, kept, foreseen, brier = (
        found.runs.mean(falcon, column) for column in ("said", "kept", "foreseen", "brier")
    )
    gap = found.runs.gain_of(falcon, "kept", "said")
    alike = kept.mean * (1 - kept.mean)
    verdict = HOLDS if gap.low <= 0 <= gap.high or abs(gap.mean) < POINT else FAILS
    words = (
        f"promised {share(said.mean)} on average (raw probability {share(foreseen.mean)}), "
        f"{share(kept.mean)} of stays ended their jobs: {points(gap, 2)}; Brier score "
        f"{brier.mean:.4f}, where the same promise for every stay would score {alike:.4f}"
    )
    return Finding(words, verdict, f"promised {share(said.mean)}, kept {share(kept.mean)}")


class Scheduling(NamedTuple):
    """A claim on schedulers: its name and words, how it is tested on a set of hosts and a restart,
    where the slides say it, the restarts that it is about, and by which Falcon."""

    name: str
    claim: str
    test: Callable[[Found, str, str, str], Finding]
    section: str = "Results from Scheduler Experiments"
    restarts: tuple[str, ...] = RESTARTS
    by: str = SLIDES


_ADDED: Final = "not in the slides"
_AHEAD: Final = "jobs that are moved before their resource becomes unavailable complete earlier"
SCHEDULING: Final = (
    Scheduling("between", "Falcon between Condor-style and omniscient in makespan", between),
    Scheduling("improved", "4 to 14 % ahead of Condor-style in makespan", improved),
    Scheduling(
        "grows", "the difference between Falcon and omniscient grows with job length",
        grows, restarts=(SCRATCH,),
    ),
    Scheduling(
        "unscheduled", "the fraction of unscheduled jobs is the same",
        unscheduled, restarts=(SCRATCH,),
    ),
    Scheduling("failures", "for long jobs fewer failures than under Condor-style", fewer_failures),
    Scheduling(
        "kink", "failures against job length are not monotonic at 3 h", kink, restarts=(SCRATCH,)
    ),
    Scheduling("moves", _AHEAD, moves, "Proactive Approach", tuple(MOVING)),
    Scheduling(
        "moves here", _AHEAD + ", by forestall's Falcon", moves, _ADDED, tuple(MOVING), FALCON
    ),
    Scheduling(
        "added", "forestall's additions make the slides' Falcon faster",
        added, _ADDED, by=FALCON,
    ),
    Scheduling(
        "improved here", "with these additions, 4 to 14 % ahead of Condor-style",
        improved, _ADDED, by=FALCON,
    ),
    Scheduling(
        "promises", "stays complete their jobs as often as forestall's Falcon promised",
        promises, _ADDED, (SCRATCH,), FALCON,
    ),
)  # fmt: skip


def scheduled(asked: Scheduling, found: Found, hosts: str, restart: str) -> Claim:
    """Return a claim on schedulers as it comes out for a set of hosts and a restart."""
    told = asked.test(found, hosts, restart, asked.by)
    name = asked.name.removesuffix(" here")
    why = WHY.get(f"{name}, {hosts}, {restart}") or WHY.get(f"{name}, {hosts}", "")
    return Claim(
        asked.name, asked.claim, *told, section=asked.section, where=told_as(hosts, restart),
        why="" if told.verdict == HOLDS else why,
        rests=f"{found.plan.seeds} seeds of hosts and jobs, the same for all schedulers; 95 % "
        "intervals over seeds",
    )  # fmt: skip


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims in the order of the slides."""
    return (
        *contention(found.contention),
        *statistics(found.states),
        *accuracy(found.telling),
        *(
            scheduled(asked, found, hosts, restart)
            for asked in SCHEDULING
            if asked.test is not moves or found.plan.why
            for hosts in found.runs.sets
            for restart in asked.restarts
        ),
    )


def headline(found: Found) -> dict[str, object]:
    """Return the few numbers that tell most, as plain values, for programs."""
    made: dict[str, object] = {}
    for name in found.runs.sets:
        for restart in RESTARTS:
            condor = Cell(name, CONDOR, restart)
            made[told_as(name, restart)] = {
                f"{one.replace('-', '_')}_over_condor": _plain(
                    found.runs.shorter(Cell(name, one, restart), condor)
                )
                for one in (SLIDES, FALCON, OMNISCIENT)
            }
    return made


def _plain(mean: Mean) -> list[float | None]:
    ends = (mean.mean, mean.low, mean.high)
    return [round(value, 6) if np.isfinite(value) else None for value in ends]
