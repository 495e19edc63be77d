"""Rules of `summary.json`: every measure, computed anew from the tables."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from forestall.core.certify.finding import Finding, Rule
from forestall.core.certify.sheet import NONE, Bool, Int, spelled
from forestall.core.certify.sums import calibration, mean, quantile_of, ratio, recomputed, total
from forestall.core.model.cycle import Fate, StayEnd
from forestall.sharing.certify.facts import Facts
from forestall.sharing.certify.files import PARTS, SHARES

DAY, HOUR = 86_400, 3600
DAYS, LENGTHS = 20, 12
GROUPS = {
    "counts": (
        *("scheduler", "seed", "jobs_simulated", "jobs_started", "jobs_completed"),
        *("jobs_unscheduled", "jobs_unfinished", "failures", "tries", "checkpoints"),
        *("stays_count", "stays_ended", "hosts_count", "unavailable"),
    ),
    "times of jobs": (
        *("makespan", "makespan_interval", "makespan_median", "makespan_p95", "stretch", "wait"),
        *("span", "interval_over"),
    ),
    "failures of jobs": (
        *("failures_per_job", "failures_per_job_interval", "jobs_failed_share"),
        *("unscheduled_share", "unfinished_share"),
    ),
    "work": (
        *("useful_work", "lost_work", "unfinished_work", "offered_work", "harvested"),
        *("guest_seconds", "occupied"),
    ),
    "states of hosts": (*("state_shares", "unavailable_per_host", "uec_per_host", "urr_per_host"),),
    "promises": (
        *("stays_promised", "promised_mean", "foreseen_mean", "kept_share", "brier"),
        *("foreseen_brier", "calibration"),
    ),
    "measures by length": ("by_length",),
}
"""The measures by the check that they belong to."""
LENGTH_MEASURES = (
    *("makespan", "makespan_interval", "stretch", "failures_per_job", "failures_per_job_interval"),
    *("unscheduled_share", "unfinished_share"),
)


def _interval(values: Int, unit: Int) -> list[float] | None:
    """Return the 95 % interval of a mean, units being drawn."""
    if len(values) < 2 or (values == values[0]).all():
        return None
    names = np.unique(unit)
    place = np.searchsorted(names, unit)
    if len(names) < 2:
        return None
    mean = total(values) / len(values)
    off = np.bincount(place, values - mean)
    scale = len(names) / (len(names) - 1)
    half = stdtrit(len(names) - 1, 0.975) * math.sqrt(scale * float(off @ off)) / len(values)
    return [max(mean - half, 0.0), mean + half]


def _units(run: Facts) -> tuple[str, Int]:
    day = run.jobs.submit // DAY
    many = len(np.unique(day)) >= DAYS
    return ("days", day) if many else ("jobs", np.arange(len(day)))


def _of_jobs(run: Facts, mine: Bool) -> dict[str, Any]:
    """Return the measures of some of the jobs."""
    jobs, unit = run.jobs, _units(run)[1]
    count = int(mine.sum())
    done = mine & (jobs.fate == Fate.COMPLETED) & (jobs.finish != NONE)
    ran = mine & (jobs.start != NONE)
    made = (jobs.finish - jobs.submit)[done]
    stretch = made / jobs.runtime[done]
    by = np.bincount(jobs.fate[mine], minlength=3).tolist()
    return {
        "jobs_simulated": count,
        "jobs_started": int(ran.sum()),
        "jobs_completed": by[Fate.COMPLETED],
        "jobs_unscheduled": by[Fate.UNSCHEDULED],
        "jobs_unfinished": by[Fate.UNFINISHED],
        "makespan": mean(made),
        "makespan_interval": _interval(made, unit[done]),
        "makespan_median": quantile_of(made, 0.5),
        "makespan_p95": quantile_of(made, 0.95),
        "stretch": mean(stretch),
        "wait": mean((jobs.start - jobs.submit)[ran]),
        "failures_per_job": mean(jobs.failures[mine]),
        "failures_per_job_interval": _interval(jobs.failures[mine], unit[mine]),
        "jobs_failed_share": ratio(int((mine & (jobs.failures > 0)).sum()), count),
        "unscheduled_share": ratio(by[Fate.UNSCHEDULED], count),
        "unfinished_share": ratio(by[Fate.UNFINISHED], count),
        "failures": total(jobs.failures[mine]),
        "tries": total(jobs.tries[mine]),
        "checkpoints": total(jobs.checkpoints[mine]),
    }


def _by_length(run: Facts) -> list[dict[str, Any]]:
    jobs = run.jobs
    runtime = jobs.runtime
    key = runtime
    if len(np.unique(runtime)) > LENGTHS:
        key = np.ceil(np.log2(np.maximum(runtime, 60) / HOUR) - 1e-12)
    found = []
    for one in np.unique(key):
        mine = key == one
        told, lengths = _of_jobs(run, mine), runtime[mine]
        found.append(
            {
                "length": mean(lengths),
                "shortest": int(lengths.min()),
                "longest": int(lengths.max()),
                "jobs": len(lengths),
                **{name: told[name] for name in LENGTH_MEASURES},
            }
        )
    return found


def _of_promises(run: Facts) -> dict[str, Any]:
    """Return how far the chances that were said came true."""
    stays = run.stays
    if not run.given.entry.foretells:
        return dict.fromkeys(GROUPS["promises"])
    over = stays.take(stays.ended != StayEnd.UNFINISHED)
    said, kept = over.promise / PARTS, (over.ended == StayEnd.COMPLETED).astype(np.float64)
    foreseen, tenth = over.chance / PARTS, np.minimum(over.promise // (PARTS // 10), 9)
    return {
        "stays_promised": len(said),
        "promised_mean": mean(said),
        "foreseen_mean": mean(foreseen),
        "kept_share": mean(kept),
        "brier": mean((said - kept) ** 2),
        "foreseen_brier": mean((foreseen - kept) ** 2),
        "calibration": calibration(tenth, said, kept, ("stays", "said", "kept")),
    }


def _of_hosts(run: Facts) -> dict[str, Any]:
    spans, stays, count = run.spans, run.stays, len(run.hosts)
    seconds = spans.end - spans.start
    entered = [int((spans.leaves & (spans.state == k)).sum()) for k in range(5)]
    whole = count * (run.end - run.start)
    useful, lost = total(run.useful_work), total(stays.lost)
    offered, held = total(spans.work), total(stays.end - stays.start)
    shares = [ratio(total(seconds[spans.state == k]), whole) for k in range(5)]
    kinds = len(StayEnd) if run.given.every else int(StayEnd.MOVED)
    ended = np.bincount(stays.ended, minlength=kinds).tolist()
    return {
        "stays_count": len(stays),
        "stays_ended": dict(zip(spelled(StayEnd)[:kinds], ended, strict=True)),
        "useful_work": useful / PARTS,
        "lost_work": lost / PARTS,
        "unfinished_work": (total(stays.work) - useful - lost) / PARTS,
        "offered_work": offered / PARTS,
        "harvested": ratio(useful, offered),
        "guest_seconds": held,
        "occupied": ratio(held, total(seconds[spans.available])),
        "hosts_count": count,
        "state_shares": {name[6:]: one for name, one in zip(SHARES, shares, strict=True)},
        "unavailable": {f"s{k + 1}": entered[k] for k in (2, 3, 4)},
        "unavailable_per_host": ratio(sum(entered), count),
        "uec_per_host": ratio(entered[2] + entered[3], count),
        "urr_per_host": ratio(entered[4], count),
    }


class Measured(Facts):
    """The files of a run, and what they give as its measures."""

    @cached_property
    def measures(self) -> dict[str, Any]:
        """Every measure of the summary, computed from the tables."""
        return {
            "scheduler": self.given.scheduler,
            "seed": self.given.seed,
            **_of_jobs(self, np.ones(len(self.jobs), dtype=np.bool_)),
            **_of_hosts(self),
            **_of_promises(self),
            "interval_over": _units(self)[0],
            "span": self.end - self.start,
            "by_length": _by_length(self),
        }


def _rule(name: str, names: tuple[str, ...]) -> Rule[Measured]:
    """Return the rule of a group of measures."""
    check = recomputed(lambda run: {name: run.measures[name] for name in names})

    def checked(run: Measured, finding: Finding) -> str:
        good, mine = check(run, finding), run.measures
        if name == "promises" and mine["stays_promised"] is None:
            return "nothing was promised"
        return f"{len(mine['by_length'])} lengths of jobs" if names == ("by_length",) else good

    return Rule(name, checked)


RULES = tuple(_rule(*group) for group in GROUPS.items())
