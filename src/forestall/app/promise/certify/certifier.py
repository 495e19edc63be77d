"""An independent look at a finished run: can what its files describe have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in node-seconds.

A failure at x takes from a run what it did since c, the start of its last completed checkpoint (or
its own start): that is lost, the pause of that checkpoint included. The pauses of its earlier
completed checkpoints, and of all of those of the run that finished, are checkpoint overhead; so is
what going on from a vault takes, where it is not part of what was lost. Work that had been saved
and could not be had is lost, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from forestall.app.kit.certify.finding import Certificate, Finding
from forestall.app.kit.certify.rules import Rule, certificate
from forestall.app.kit.certify.sums import Said, close, told, unlike
from forestall.app.promise.certify import kept, measures
from forestall.app.promise.certify import runs as of_runs
from forestall.app.promise.certify.files import ACCOUNT, PromiseRun
from forestall.app.promise.certify.log import LoggedPromises
from forestall.app.promise.certify.near import nearness
from forestall.app.promise.certify.nodes import Sweep, sweep
from forestall.app.promise.certify.planned import PlannedRows
from forestall.app.promise.certify.unknown import unchecked
from forestall.app.promise.certify.users import Bargained

TOLERANCE = 1e-12


@dataclass(frozen=True)
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
        jobs, walk = self.jobs, self.walk
        size = jobs.size
        total = self.given.nodes * int(jobs.finish.max() - jobs.submit.min())
        useful, lost = int((jobs.runtime * size).sum()), int(jobs.lost.sum())
        paused = self.pause * size
        overhead: int | None = None
        idle: int | None = None
        if self.complete:
            fetched = self.recovery * size * self.of_jobs(self.fetched)
            overhead = int((paused * self.of_jobs(self.paid) + fetched).sum())
            idle = total - walk.covered
        elif not bool(np.any((jobs.restarts > 0) & (jobs.checkpoints > 0))):
            # Runs that failed without a checkpoint have lost all that they did.
            overhead = int((paused * jobs.checkpoints).sum())
            idle = total - walk.covered - lost
        return {
            "useful": useful,
            "lost": lost,
            "checkpoint_overhead": overhead,
            "idle": idle,
            "down": walk.down,
            "total": total,
        }


def _two_jobs(run: Facts, finding: Finding) -> str:
    finding.take(run.walk.two_jobs)
    return "no node has two jobs at once"


def _while_down(run: Facts, finding: Finding) -> str:
    finding.take(run.walk.while_down)
    return "no job runs while its node is down"


def _survived(run: Facts, finding: Finding) -> str:
    finding.take(run.walk.survived)
    return "no run continues past a failure of its nodes"


def _work(run: Facts, finding: Finding) -> str:
    """Busy time is useful time, lost time and the pauses of checkpoints, job by job."""
    jobs, runs, pause = run.jobs, run.runs, run.pause
    ids, size = jobs.name, jobs.size
    if run.complete:
        busy = run.of_jobs(runs.end - runs.start) * size
        need = jobs.runtime * size + jobs.lost + pause * size * run.of_jobs(run.paid)
        need += run.recovery * size * run.of_jobs(run.fetched)
    else:  # the last run only: all of a job without restarts, at most the rest of one with them
        busy = (runs.end - runs.start) * size
        need = (jobs.runtime + pause * jobs.checkpoints) * size
        unknown = (jobs.restarts > 0) & (jobs.checkpoints > 0)
        need = np.where(unknown, np.minimum(need, busy), need)
    text = "job {0} was busy for {1} node-seconds, but useful, lost and checkpoint time sum to {2}"
    finding.where(busy != need, text, ids, busy, need)
    if run.given.checkpoint == "none":
        finding.where(jobs.checkpoints > 0, "job {0} has checkpoints, but they were off", ids)
    if run.complete:
        _losses(run, finding)
    return f"useful, lost and checkpoint time of {len(ids)} jobs fill their runs"


def _losses(run: Facts, finding: Finding) -> None:
    """What each run lost, and what the jobs say of their runs."""
    jobs, runs, names = run.jobs, run.runs, run.names
    pause, recovery = run.pause[runs.job], run.recovery[runs.job]
    size, length, failed = jobs.size[runs.job], runs.end - runs.start, ~runs.finished
    text = "job {0} lost work in a run that finished"
    finding.where(runs.finished & (runs.lost != 0), text, names)
    all_lost = failed & (runs.completed == 0) & (runs.lost != length * size)
    text = "job {0} lost {1} in a run without checkpoints of {2} s on {3} nodes"
    finding.where(all_lost, text, names, runs.lost, length, size)
    some = failed & (runs.completed > 0)
    most = (length - pause * (runs.completed - 1) - recovery * run.fetched) * size
    off = some & ((runs.lost < pause * size) | (runs.lost > most) | (runs.lost % size != 0))
    finding.where(off, "job {0} cannot have lost {1} after a checkpoint", names, runs.lost)
    lost = Said("lost", jobs.lost, run.of_jobs(runs.lost + run.unrecovered))
    unlike(finding, "job {2}: {column} {0} in jobs.csv, {1} in runs.csv", [lost], jobs.name)
    completed = run.of_jobs(runs.completed)
    broken = jobs.checkpoints - completed  # those in progress when a run failed
    text = "job {0}: {1} checkpoints performed, {2} completed"
    odd = (broken < 0) | (broken > jobs.restarts)
    finding.where(odd, text, jobs.name, jobs.checkpoints, completed)


def _promises(run: Facts, finding: Finding) -> str:
    jobs, ids = run.jobs, run.jobs.name
    kept = jobs.finish <= jobs.deadline
    wrong = jobs.promised & (kept != jobs.kept)
    text = "job {0} finished at {1}, promised for {2}, but kept says otherwise"
    finding.where(wrong, text, ids, jobs.finish, jobs.deadline)
    if not bool(jobs.promised.any()):
        return "no promises were made"
    finding.where(~jobs.promised, "job {0} has no promise, but other jobs do", ids)
    return f"{int(jobs.kept.sum())} of {int(jobs.promised.sum())} kept"


def _account(run: Facts, finding: Finding) -> str:
    """The node-seconds as computed here are those of the summary, and add up."""
    mine, said, jobs = run.account, run.given.node_seconds, run.jobs
    total = mine["total"]
    parts = [value for name, value in mine.items() if name != "total"]
    wrong = [
        f"{name} is {said[name]} in summary.json, {value} recomputed"
        for name, value in mine.items()
        if value is not None and value != said[name]
    ]
    if None not in parts and sum(value or 0 for value in parts) != total:
        wrong.append(
            f"the parts sum to {sum(value or 0 for value in parts)}, but nodes x time is {total}"
        )
    if sum(said[name] for name in ACCOUNT[:-1]) != said["total"]:
        wrong.append("the parts in summary.json do not sum to its total")
    most = int((run.pause * jobs.size * jobs.checkpoints).sum())
    most += int((run.recovery * jobs.size * run.of_jobs(run.fetched)).sum())
    overhead = said["checkpoint_overhead"]
    if not 0 <= overhead <= most:
        wrong.append(f"checkpoint_overhead {overhead} is not between 0 and {most}")
    finding.all(wrong)
    return f"useful + lost + checkpoint overhead + idle + down = {total} node-seconds"


# ------------------------------------------------------------------------------------- measures


def _qos(run: Facts, finding: Finding) -> str:
    jobs, qos = run.jobs, None
    if bool(jobs.promised.any()):
        work = (jobs.runtime * jobs.size).astype(np.float64)
        kept = jobs.promised & (jobs.finish <= jobs.deadline)
        qos = math.fsum((work * jobs.promise)[kept]) / math.fsum(work)
    return _equal(finding, qos, run.given.qos)


def _utilization(run: Facts, finding: Finding) -> str:
    jobs = run.jobs
    span = int(jobs.finish.max() - jobs.submit.min())
    work = math.fsum((jobs.runtime * jobs.size).astype(np.float64))
    here = work / (span * run.given.nodes) if span > 0 else 0.0
    return _equal(finding, here, run.given.utilization)


def _lost_work(run: Facts, finding: Finding) -> str:
    lost = int(run.failures.lost.sum() + run.unrecovered.sum())
    return _equal(finding, lost, run.given.lost_work)


def _equal(finding: Finding, here: float | None, said: float | None) -> str:
    same = said is here if here is None or said is None else close(said, here, TOLERANCE)
    finding.each([] if same else [told(said, here, same)])
    return told(said, here, same)


RULES: tuple[Rule[Facts], ...] = (
    Rule("nodes of a run", of_runs.sizes),
    Rule("order of runs", of_runs.order),
    Rule("one job on a node", _two_jobs),
    Rule("no job on a node that is down", _while_down),
    Rule("no job survives a failure of its node", _survived),
    Rule("failures and failed runs", of_runs.kills),
    Rule("work of each job", _work),
    Rule("promises", _promises),
    Rule("account of node-seconds", _account),
    Rule("qos", _qos),
    Rule("utilization", _utilization),
    Rule("lost work", _lost_work),
    *(Rule[Facts](name, measures.group(name)) for name in measures.GROUPS),
    Rule("parameters and files", measures.given),
    Rule("order of rows", measures.sorted_rows),
)
_WITH_VAULT: tuple[Rule[Facts], ...] = (
    Rule("checkpoints in the vault", kept.stored),
    Rule("measures of the vault", kept.measures),
)
_WITHOUT_RUNS = (
    "nodes and lengths of the runs that failed (runs.csv is missing)",
    "whether a node ran two jobs, or a job while down, during runs that failed",
    "whether every failure of a busy node ended a run that failed later",
)


def certify_promise(folder: Path) -> Certificate:
    """Check the folder of a run of the promise model or a classic policy: `jobs.csv`,
    `failures.csv`, `summary.json` and, if there, `runs.csv`, `users.csv`, `maintenance.csv` and, of
    a run with a vault, `checkpoints.csv`."""
    run = Facts.read(folder)
    unknown = list(() if run.complete else _WITHOUT_RUNS)
    if run.account["idle"] is None:
        unknown.append("checkpoint overhead and idle time, because restarted jobs have checkpoints")
    rules, bargained = RULES, Bargained.of(folder)
    if bargained is not None:
        agreed = bargained.check
        rules = (*RULES, Rule("users who bargain", lambda run, found: agreed(run.jobs, found)))
    if run.given.spared is not None:
        rules = (*rules, Rule("spares", of_runs.spares))
    if run.given.stores is not None:
        rules = (*rules, *_WITH_VAULT)
    if run.given.topology is not None and run.complete:
        rules = (*rules, Rule("nodes near each other", nearness))
    planned = PlannedRows.of(folder, run.given.nodes)
    if planned is not None:
        rules = (*rules, Rule("planned outages", planned.check))
    logged = LoggedPromises.of(folder, run)
    if logged is not None:
        rules = (*rules, *_of_log(logged))
    told = unchecked(run.summary.held["parameters"], logged=logged is not None)
    return certificate(folder, run, rules, unknown, run.account, told)


def _of_log(logged: LoggedPromises) -> tuple[Rule[Facts], ...]:
    """Return the rules of what was logged."""
    rules: tuple[Rule[Facts], ...] = (
        Rule("events", logged.check_events),
        Rule("decisions", logged.check_decisions),
    )
    foreseen = Rule[Facts]("failures foreseen", logged.check_foreseen)
    return rules if logged.foreseen is None else (*rules, foreseen)
