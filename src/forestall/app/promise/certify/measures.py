"""The certifier's rules of `summary.json`: every measure of a run, anew from the tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sums import differences, spread_of
from forestall.app.promise.certify.files import PromiseRun

TOLERANCE: Final = 1e-9
SHORT: Final = 10
"""Run times count as this many seconds at least in the bounded slowdown."""
OTHERS: Final = frozenset(
    {
        *("policy", "seed", "parameters", "predictor", "own_rules", "repeat_period", "sources"),
        *("skipped", "versions", "planned_outages", "qos", "utilization", "lost_work"),
        *("node_seconds", "users", "spares", "vault", "topology", "promised_mean"),
        *("promises_kept", "promises_below_wanted", "brier", "calibration"),
    }
)
"""What stands in the summary beside `_counts` and `_times`."""


def group(name: str) -> Callable[[PromiseRun, Finding], str]:
    """Return the rule of a group of measures, see `GROUPS`."""
    measures = GROUPS[name]

    def check(run: PromiseRun, finding: Finding) -> str:
        mine, said = measures(run), run.summary.held
        for one, here in mine.items():
            finding.each(differences(one, said.get(one, "nothing"), here, TOLERANCE))
        return f"{len(mine)} measures"

    return check


def _counts(run: PromiseRun) -> dict[str, Any]:
    jobs, failures = run.jobs, run.failures
    return {
        "jobs_count": len(jobs),
        "makespan": int(jobs.finish.max() - jobs.submit.min()),
        "restarts": int(jobs.restarts.sum()),
        "checkpoints": int(jobs.checkpoints.sum()),
        "skipped_checkpoints": int(jobs.skipped.sum()),
        "failures_played": len(failures),
        "failures_hit": int(failures.hit.sum()),
    }


def _times(run: PromiseRun) -> dict[str, Any]:
    jobs = run.jobs
    response = jobs.finish - jobs.submit
    slowdown = np.maximum(response / np.maximum(jobs.runtime, SHORT), 1.0)
    return {
        "wait": spread_of(jobs.start - jobs.submit),
        "response": spread_of(response),
        "bounded_slowdown": spread_of(slowdown),
    }


def _promises(run: PromiseRun) -> dict[str, Any]:
    jobs = run.jobs
    if not bool(jobs.promised.any()):
        return {"promises_kept": None, "brier": None, "calibration": None}
    said, kept = jobs.promise.tolist(), (jobs.finish <= jobs.deadline).tolist()
    below = {}
    if "users" not in run.summary.held:  # who have a least promise of their own, see `users`
        risk = run.summary.number("parameters.risk", 0, 1 + TOLERANCE)
        below = {"promises_below_wanted": int((jobs.promise < risk).sum())}
    return {
        **below,
        "promises_kept": _mean([float(one) for one in kept]),
        "promised_mean": _mean(said),
        "brier": _mean([(chance - one) ** 2 for chance, one in zip(said, kept, strict=True)]),
        "calibration": [_tenth(k, said, kept) for k in range(10)],
    }


def _tenth(k: int, said: list[float], kept: list[bool]) -> dict[str, Any]:
    """Return what is told of the promises in a tenth of the probabilities."""
    mine = [(p, q) for p, q in zip(said, kept, strict=True) if min(int(p * 10), 9) == k]
    return {
        "low": k / 10,
        "high": (k + 1) / 10,
        "count": len(mine),
        "promised_mean": _mean([p for p, _ in mine]),
        "kept_share": _mean([float(q) for _, q in mine]),
    }


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


GROUPS: Final[Mapping[str, Callable[[PromiseRun], dict[str, Any]]]] = {
    "counts": _counts,
    "times of jobs": _times,
    "what promises were worth": _promises,
}
"""The measures by the check that they belong to."""


def given(run: PromiseRun, finding: Finding) -> str:
    """What the parameters say of the machine is in the files: down times, shortest jobs, and what
    the summary tells of only where it was asked for."""
    said, jobs, failures = run.summary, run.jobs, run.failures
    parameters = said.value("parameters", (dict,), "parameters")
    downtime, least = parameters.get("downtime"), parameters.get("min_runtime", 1)
    if isinstance(downtime, int):
        odd = (failures.downtime != downtime) & ~failures.planned
        text = "the failure of node {0} at {1} lasts {2} s instead of {3} s"
        every = np.full(len(failures), downtime)
        finding.where(odd, text, failures.node, failures.time, failures.downtime, every)
    if isinstance(least, int):
        text = "job {0} runs {1} s, less than min_runtime, {2} s"
        labels = (jobs.name, jobs.runtime, np.full(len(jobs), least))
        finding.where(jobs.runtime < least, text, *labels)
    if "repeat_failures" in parameters and "repeat_period" in said.held:
        repeats, period = parameters["repeat_failures"], said.held["repeat_period"]
        if bool(repeats) != bool(period):
            finding.wrong(
                "failures repeat after {0} s, but repeat_failures is {1}", period, repeats
            )
    for name in ("vault", "topology", "spares", "users"):
        if (parameters.get(name) is not None) != (name in said.held):
            finding.wrong("{0} is in only one of the parameters and the measures", name)
    known = {*OTHERS, *_counts(run), *_times(run)}
    if "policy" not in said.held and "seed" in said.held:
        finding.wrong("summary.json has no policy")
    for name in said.held.keys() - known:
        finding.wrong("summary.json has {0}, which no run has", name)
    if not bool(jobs.promised.any()) and {"promised_mean", "promises_below_wanted"} & set(
        said.held
    ):
        finding.wrong("summary.json has a mean of promises, but none was made")
    _predictor(run, parameters, finding)
    return "down times, run times and options agree with the parameters"


def _predictor(run: PromiseRun, parameters: Mapping[str, Any], finding: Finding) -> None:
    told = run.summary.held.get("predictor")
    if not isinstance(told, dict):
        if "predictor" not in run.summary.held and "versions" in run.summary.held:
            finding.wrong("summary.json has no predictor")
        return
    kind, name = parameters.get("predictor"), told.get("name", "nothing")
    learned = kind == "learned" and told.get("kind") == "learned"
    own = kind in ("trace", "hazard") and name == "own"
    if not (name == kind or learned or own):
        finding.wrong("the predictor is {0}, but {1} in the parameters", name, kind)
    if kind == "trace" and name == "trace" and told.get("accuracy") != parameters.get("accuracy"):
        text = "the predictor's accuracy is {0}, but {1} in the parameters"
        finding.wrong(text, told.get("accuracy"), parameters.get("accuracy"))


def sorted_rows(run: PromiseRun, finding: Finding) -> str:
    """Jobs stand in the order of their submission, runs of their start, failures of their time."""
    jobs, failures = run.jobs, run.failures
    runs = run.runs.take(np.argsort(run.runs.line)) if run.complete else run.runs
    tables = [("jobs.csv", jobs.submit), ("failures.csv", failures.time)]
    tables += [("runs.csv", runs.start)] if run.complete else []
    for name, times in tables:
        back = np.zeros(len(times), dtype=np.bool_)
        back[1:] = times[1:] < times[:-1]
        text = name + ", line {0}: out of order, after a later row"
        finding.where(back, text, np.arange(len(times)) + 2)
    return "jobs, runs and failures in order of time"
