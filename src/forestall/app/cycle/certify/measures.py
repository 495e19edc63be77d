"""The certifier's rules of `summary.json`: every measure, computed anew from the tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.files import FORETELL, PARTS, SHARES
from forestall.app.cycle.certify.sums import occurrences, useful_work
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Bool, Int, Reals, spelled
from forestall.app.kit.certify.sums import differences, quantile_of, total
from forestall.model.cycle import Fate, StayEnd

TOLERANCE = 1e-9
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


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _mean(values: Int) -> float | None:
    return total(values) / len(values) if len(values) else None


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
    by = {fate: int((mine & (jobs.fate == fate)).sum()) for fate in range(3)}
    return {
        "jobs_simulated": count,
        "jobs_started": int(ran.sum()),
        "jobs_completed": by[Fate.COMPLETED],
        "jobs_unscheduled": by[Fate.UNSCHEDULED],
        "jobs_unfinished": by[Fate.UNFINISHED],
        "makespan": _mean(made),
        "makespan_interval": _interval(made, unit[done]),
        "makespan_median": quantile_of(made, 0.5),
        "makespan_p95": quantile_of(made, 0.95),
        "stretch": math.fsum(stretch) / len(stretch) if len(stretch) else None,
        "wait": _mean((jobs.start - jobs.submit)[ran]),
        "failures_per_job": _mean(jobs.failures[mine]),
        "failures_per_job_interval": _interval(jobs.failures[mine], unit[mine]),
        "jobs_failed_share": _ratio(int((mine & (jobs.failures > 0)).sum()), count),
        "unscheduled_share": _ratio(by[Fate.UNSCHEDULED], count),
        "unfinished_share": _ratio(by[Fate.UNFINISHED], count),
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
                "length": _mean(lengths),
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
    if run.given.rule not in FORETELL:
        return dict.fromkeys(GROUPS["promises"])
    over = stays.ended != StayEnd.UNFINISHED
    said, kept = stays.promise[over] / PARTS, (stays.ended[over] == 0).astype(np.float64)
    foreseen = stays.chance[over] / PARTS
    tenth = np.minimum(stays.promise[over] // (PARTS // 10), 9)

    def part(values: Reals, mine: Bool) -> float | None:
        return _ratio(math.fsum(values[mine]), int(mine.sum()))

    every = np.ones(len(said), dtype=np.bool_)
    return {
        "stays_promised": len(said),
        "promised_mean": part(said, every),
        "foreseen_mean": part(foreseen, every),
        "kept_share": part(kept, every),
        "brier": part((said - kept) ** 2, every),
        "foreseen_brier": part((foreseen - kept) ** 2, every),
        "calibration": [
            {
                "low": k / 10,
                "high": (k + 1) / 10,
                "stays": int((tenth == k).sum()),
                "said": part(said, tenth == k),
                "kept": part(kept, tenth == k),
            }
            for k in range(10)
        ],
    }


def _of_hosts(run: Facts) -> dict[str, Any]:
    spans, stays, count = run.spans, run.stays, len(run.hosts)
    seconds = spans.end - spans.start
    new = occurrences(spans)
    entered = [int((new & (spans.state == k)).sum()) for k in range(5)]
    whole = count * (run.end - run.start)
    useful, lost = total(useful_work(run)), total(stays.lost)
    offered, held = total(spans.work), total(stays.end - stays.start)
    shares = [_ratio(total(seconds[spans.state == k]), whole) for k in range(5)]
    kinds = len(StayEnd) if run.given.every else int(StayEnd.MOVED)
    ended = np.bincount(stays.ended, minlength=kinds).tolist()
    return {
        "stays_count": len(stays),
        "stays_ended": dict(zip(spelled(StayEnd)[:kinds], ended, strict=True)),
        "useful_work": useful / PARTS,
        "lost_work": lost / PARTS,
        "unfinished_work": (total(stays.work) - useful - lost) / PARTS,
        "offered_work": offered / PARTS,
        "harvested": _ratio(useful, offered),
        "guest_seconds": held,
        "occupied": _ratio(held, total(seconds[spans.available])),
        "hosts_count": count,
        "state_shares": {name[6:]: one for name, one in zip(SHARES, shares, strict=True)},
        "unavailable": {f"s{k + 1}": entered[k] for k in (2, 3, 4)},
        "unavailable_per_host": _ratio(sum(entered), count),
        "uec_per_host": _ratio(entered[2] + entered[3], count),
        "urr_per_host": _ratio(entered[4], count),
    }


@dataclass(frozen=True)
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


def group(name: str) -> Callable[[Measured, Finding], str]:
    """Return the rule of a group of measures, see `GROUPS`."""
    measures = GROUPS[name]

    def check(run: Measured, finding: Finding) -> str:
        mine, said = run.measures, run.summary.held
        for one in measures:
            finding.each(differences(one, said.get(one, "nothing"), mine[one], TOLERANCE))
        if measures == ("by_length",):
            return f"{len(mine['by_length'])} lengths of jobs"
        if name == "promises" and mine["stays_promised"] is None:
            return "nothing was promised"
        return f"{len(measures)} measures"

    return check
