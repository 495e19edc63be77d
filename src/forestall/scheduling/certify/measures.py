"""Rules of `summary.json`: measures anew from the tables, the account of node-seconds, and what
the parameters say; and of `users.csv`, users who bargain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.certify.finding import Finding, Rule
from forestall.core.certify.sheet import NONE, Bool
from forestall.core.certify.sums import (
    TOLERANCE,
    calibration,
    differences,
    mean,
    recomputed,
    spread_of,
)
from forestall.core.model.events import EventKind
from forestall.scheduling.certify.files import ACCOUNT, JobRows, PromiseRun, UserRows
from forestall.scheduling.certify.nodes import EXACT, Sweep, sweep

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
"""What stands in the summary beside `counts` and `times`."""


class Facts(PromiseRun):
    """The files of a run, and what several rules make of them."""

    @cached_property
    def walk(self) -> Sweep:
        """What the walk over the nodes finds."""
        return sweep(self)

    @cached_property
    def account(self) -> dict[str, int | None]:
        """The node-seconds, by the jobs' work and the walk over the nodes; None where they cannot
        be told without `runs.csv`."""
        jobs, walk, paused = self.jobs, self.walk, self.pause * self.jobs.size
        total = self.given.nodes * int(jobs.finish.max() - jobs.submit.min())
        lost = int(jobs.lost.sum())
        overhead, idle = None, None
        if self.is_complete:
            fetched = self.recovery * jobs.size * self.of_jobs(self.runs.fetched)
            overhead = int((paused * self.of_jobs(self.runs.paid) + fetched).sum())
            idle = total - walk.covered
        elif not bool(np.any((jobs.restarts > 0) & (jobs.checkpoints > 0))):
            # Runs that failed without a checkpoint have lost all that they did.
            overhead = int((paused * jobs.checkpoints).sum())
            idle = total - walk.covered - lost
        useful = int((jobs.runtime * jobs.size).sum())
        parts = (useful, lost, overhead, idle, walk.down, total)
        return dict(zip(ACCOUNT, parts, strict=True))


def account(run: Facts, finding: Finding) -> str:
    """The node-seconds as computed here are those of the summary, and add up."""
    mine, said, jobs = run.account, run.given.node_seconds, run.jobs
    parts, total = [mine[name] for name in ACCOUNT[:-1]], mine["total"]
    wrong = [
        f"{name} is {said[name]} in summary.json, {value} recomputed"
        for name, value in mine.items()
        if value is not None and value != said[name]
    ]
    added = sum(value or 0 for value in parts)
    if None not in parts and added != total:
        wrong.append(f"the parts sum to {added}, but nodes x time is {total}")
    if sum(said[name] for name in ACCOUNT[:-1]) != said["total"]:
        wrong.append("the parts in summary.json do not sum to its total")
    most = int((run.pause * jobs.size * jobs.checkpoints).sum())
    most += int((run.recovery * jobs.size * run.of_jobs(run.runs.fetched)).sum())
    overhead = said["checkpoint_overhead"]
    if not 0 <= overhead <= most:
        wrong.append(f"checkpoint_overhead {overhead} is not between 0 and {most}")
    finding.all(wrong)
    return f"useful + lost + checkpoint overhead + idle + down = {total} node-seconds"


def promises(run: Any, finding: Finding) -> str:
    """Whether each promise was kept, and that all jobs have one, or none has."""
    jobs = run.jobs
    wrong = jobs.promised & ((jobs.finish <= jobs.deadline) != jobs.kept)
    text = "job {name} finished at {finish}, promised for {deadline}, but kept says otherwise"
    jobs.where(finding, wrong, text)
    if not bool(jobs.promised.any()):
        return "no promises were made"
    jobs.where(finding, ~jobs.promised, "job {name} has no promise, but other jobs do")
    return f"{int(jobs.kept.sum())} of {int(jobs.promised.sum())} kept"


# ------------------------------------------------------------------------------------- measures


def _qos(run: Facts) -> dict[str, Any]:
    return quality(run.jobs, run.jobs.runtime * run.jobs.size)


def quality(jobs: JobRows, work: npt.NDArray[Any]) -> dict[str, Any]:
    """The quality of service of jobs of so much work (Oliner et al., DSN 2005, Equation 2)."""
    if not bool(jobs.promised.any()):
        return {"qos": None}
    work = work.astype(np.float64)
    kept = jobs.promised & (jobs.finish <= jobs.deadline)
    return {"qos": math.fsum((work * jobs.promise)[kept]) / math.fsum(work)}


def _utilization(run: Facts) -> dict[str, Any]:
    jobs = run.jobs
    span = int(jobs.finish.max() - jobs.submit.min())
    work = math.fsum((jobs.runtime * jobs.size).astype(np.float64))
    return {"utilization": work / (span * run.given.nodes) if span > 0 else 0.0}


def _lost_work(run: Facts) -> dict[str, Any]:
    return {"lost_work": int(run.failures.lost.sum() + run.runs.unrecovered.sum())}


def counts(run: Any) -> dict[str, Any]:
    """Counts of jobs, checkpoints and failures; of a run with `jobs` and `failures`."""
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


def times(run: Any) -> dict[str, Any]:
    """How long jobs waited and were there, s, and how much longer than they ran."""
    jobs = run.jobs
    response = jobs.finish - jobs.submit
    slowdown = np.maximum(response / np.maximum(jobs.runtime, SHORT), 1.0)
    return {
        "wait": spread_of(jobs.start - jobs.submit),
        "response": spread_of(response),
        "bounded_slowdown": spread_of(slowdown),
    }


def worth(run: Any) -> dict[str, Any]:
    """What was promised beside what was kept; nothing where nothing was promised."""
    jobs, below = run.jobs, {}
    if not bool(jobs.promised.any()):
        return {"promises_kept": None, "brier": None, "calibration": None}
    said, kept = jobs.promise, jobs.finish <= jobs.deadline
    if "users" not in run.summary.held:  # who have a least promise of their own, see `users`
        risk = run.summary.number("parameters.risk", 0, 1 + TOLERANCE)
        below = {"promises_below_wanted": int((said < risk).sum())}
    tenth = np.minimum((said * 10).astype(np.int64), 9)
    names = ("count", "promised_mean", "kept_share")
    return {
        **below,
        "promises_kept": mean(kept),
        "promised_mean": mean(said),
        "brier": mean((said - kept) ** 2),
        "calibration": calibration(tenth, said, kept, names),
    }


MEASURES: Final = (
    ("qos", _qos, EXACT),
    ("utilization", _utilization, EXACT),
    ("lost work", _lost_work, EXACT),
    ("counts", counts, TOLERANCE),
    ("times of jobs", times, TOLERANCE),
    ("what promises were worth", worth, TOLERANCE),
)
RULES: Final = tuple(
    Rule[Facts](name, recomputed(of, tolerance=tolerance)) for name, of, tolerance in MEASURES
)


# ----------------------------------------------------------------------------------- parameters


def given(run: Facts, finding: Finding) -> str:
    """What the parameters say of the machine is in the files: down times, shortest jobs, and what
    the summary tells of only where it was asked for."""
    held, parameters = run.summary.held, run.given.parameters
    for name in ("vault", "topology", "spares", "users"):
        if (parameters.get(name) is not None) != (name in held):
            finding.wrong("{0} is in only one of the parameters and the measures", name)
    if "policy" not in held and "seed" in held:
        finding.wrong("summary.json has no policy")
    for name in held.keys() - {*OTHERS, *counts(run), *times(run)}:
        finding.wrong("summary.json has {0}, which no run has", name)
    if (
        not bool(run.jobs.promised.any())
        and {"promised_mean", "promises_below_wanted"} & held.keys()
    ):
        finding.wrong("summary.json has a mean of promises, but none was made")
    return agreed(run, parameters, finding)


def agreed(run: Any, parameters: Mapping[str, Any], finding: Finding) -> str:
    """Of a run with `jobs`, `failures` and `summary`: what parameters tell a second time."""
    held, jobs, failures = run.summary.held, run.jobs, run.failures
    downtime, least = parameters.get("downtime"), parameters.get("min_runtime", 1)
    if isinstance(downtime, int):
        odd = (failures.downtime != downtime) & ~failures.planned
        text = f"the failure of node {{node}} at {{time}} lasts {{downtime}} s, not {downtime} s"
        failures.where(finding, odd, text)
    if isinstance(least, int):
        text = f"job {{name}} runs {{runtime}} s, less than min_runtime, {least} s"
        jobs.where(finding, jobs.runtime < least, text)
    if "repeat_failures" in parameters and "repeat_period" in held:
        repeats, period = parameters["repeat_failures"], held["repeat_period"]
        if bool(repeats) != bool(period):
            text = "failures repeat after {0} s, but repeat_failures is {1}"
            finding.wrong(text, period, repeats)
    _predictor(held, parameters, finding)
    return "down times, run times and options agree with the parameters"


def _predictor(held: Mapping[str, Any], parameters: Mapping[str, Any], finding: Finding) -> None:
    said = held.get("predictor")
    if not isinstance(said, dict):
        if "predictor" not in held and "versions" in held:
            finding.wrong("summary.json has no predictor")
        return
    kind, name = parameters.get("predictor"), said.get("name", "nothing")
    learned = kind == "learned" and said.get("kind") == "learned"
    own = kind in ("trace", "hazard") and name == "own"
    if not (name == kind or learned or own):
        finding.wrong("the predictor is {0}, but {1} in the parameters", name, kind)
    accuracy = said.get("accuracy"), parameters.get("accuracy")
    if kind == "trace" and name == "trace" and accuracy[0] != accuracy[1]:
        finding.wrong("the predictor's accuracy is {0}, but {1} in the parameters", *accuracy)


# ---------------------------------------------------------------------------------------- users


def users(run: Facts, finding: Finding) -> str:
    """What users took is within what they wanted, and is their jobs' promise; and the measures."""
    users, jobs = run.users, run.jobs
    took = users.took
    text = "job {name} was accepted with probability {probability}, below its user's minimum, "
    users.where(finding, took & (users.probability < users.least), text + "{least}")
    late = took & ((users.deadline > users.latest) | (users.deadline < users.soonest))
    text = "job {name} was accepted for {deadline}, outside its user's patience"
    users.where(finding, late, text)
    off = took & ((users.row > users.shown_rows) | (users.deadline == NONE))
    users.where(finding, off, "job {name} accepted an offer that was not shown")
    # The value of a job falls evenly to 0 as patience ends.
    slack = np.maximum(users.latest - users.soonest, 1)
    worth = users.value * (1.0 - (users.deadline - users.soonest) / slack)
    off = took & (np.abs(worth - users.worth) > TOLERANCE * np.maximum(users.value, 1))
    text = "job {name} is worth {worth} at its deadline, {here} recomputed"
    users.where(finding, off, text, here=worth)
    mine = users.take(took)
    if mine.name.tolist() != jobs.name.tolist():
        finding.wrong("the jobs of users who accepted an offer differ from jobs.csv")
    else:
        columns = {name: getattr(jobs, name) for name in ("submit", "size", "runtime", "deadline")}
        columns["probability"] = jobs.promise
        mine.compare(finding, "job {name}", columns, "in jobs.csv")
    if run.has("events.csv"):
        _wanted(run, mine, finding)
    said = run.summary.value("users", (dict,), "measures of users")
    finding.all(differences("users", said, _of_users(run), TOLERANCE))
    recomputed(_below)(run, finding)
    left = int((~took).sum())
    return f"{len(users) - left} of {len(users)} accepted an offer, {left} left"


def _wanted(run: Facts, mine: UserRows, finding: Finding) -> None:
    """Each submission in the event log has the probability that the job's user took."""
    events = run.events
    submitted = events.kind == EventKind.SUBMITTED
    text = "wanted is set without a submission, or missing"
    events.where(finding, events.has_wanted != submitted, text)
    here = dict(zip(mine.name.tolist(), mine.probability.tolist(), strict=True))
    events = events.take(submitted)
    names = run.jobs.name[events.job].tolist()
    wanted = np.array([here.get(name, -1.0) for name in names])
    events.compare(finding, "job {job}", {"wanted": wanted}, "in users.csv")


def _below(run: Facts) -> dict[str, int]:
    below = (run.users.probability < run.users.least)[run.users.took]
    return {"promises_below_wanted": int(below.sum())}


def _of_users(run: Facts) -> dict[str, Any]:
    """Return the measures of all users, and of each kind, those that no user was of among them."""
    users, said = run.users, run.summary.held["users"].get("kinds")
    kinds = {*users.kind.tolist(), *(said if isinstance(said, dict) else ())}
    every = np.ones(len(users), dtype=np.bool_)
    by_kind = {kind: _of(run, users.kind == kind) for kind in sorted(kinds)}
    return {**_of(run, every), "kinds": by_kind}


def _of(run: Facts, mine: Bool) -> dict[str, Any]:
    users, jobs = run.users.take(mine), run.jobs
    took, count = users.took, int(users.took.sum())
    held = took & np.isin(users.name, jobs.name[jobs.finish <= jobs.deadline])
    return {
        "jobs": len(users),
        "took": count,
        "left": len(users) - count,
        "asked": int(users.asked.sum()),
        "asked_again": int((users.asked > 1).sum()),
        "took_first": int((users.row == 1).sum()),
        "taken_mean": mean(users.probability[took]),
        "value": math.fsum(users.value),
        "value_left": math.fsum(users.value[~took]),
        "value_promised": math.fsum((users.probability * users.worth)[took]),
        "value_kept": math.fsum(users.worth[held]),
    }
