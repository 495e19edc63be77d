"""An independent look at a finished run: can what its files describe have happened?

It shares nothing with the simulator that wrote them. All times are whole seconds, intervals are
half-open, work is counted in node-seconds.

A failure at x takes from a run what it did since c, the start of its last completed checkpoint (or
its own start): that is lost, the pause of that checkpoint included. The pauses of its earlier
completed checkpoints, and of all of those of the run that finished, are checkpoint overhead.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from forestall.app.kit.finding import Certificate, Check, Finding
from forestall.app.kit.sheet import Int
from forestall.app.promise.certify.files import ACCOUNT, Folder, read_folder
from forestall.app.promise.certify.nodes import Sweep, sweep
from forestall.app.promise.certify.runs import check_kills, check_runs, check_sizes, names_of

TOLERANCE = 1e-12


def _overhead_runs(given: Folder) -> Int:
    """Return the completed checkpoints of each run whose pause is not part of what was lost."""
    runs = given.runs
    return np.where(runs.finished, runs.completed, np.maximum(runs.completed - 1, 0))


def _sums(given: Folder, values: Int) -> Int:
    total = np.zeros(len(given.jobs.ids), dtype=np.int64)
    np.add.at(total, given.runs.job, values)
    return total


def _check_work(given: Folder) -> Check:
    """Busy time is useful time, lost time and the pauses of checkpoints, job by job."""
    jobs, runs, pause = given.jobs, given.runs, given.summary.overhead
    finding = Finding("work of each job")
    ids = np.array(jobs.ids, dtype=object)
    size = jobs["size"]
    if given.complete:
        busy = _sums(given, runs.end - runs.start) * size
        need = (
            jobs["runtime"] * size
            + jobs["lost"]
            + pause * size * _sums(given, _overhead_runs(given))
        )
    else:  # the last run only: all of a job without restarts, at most the rest of one with them
        busy = (runs.end - runs.start) * size
        need = (jobs["runtime"] + pause * jobs["checkpoints"]) * size
        unknown = (jobs["restarts"] > 0) & (jobs["checkpoints"] > 0)
        need = np.where(unknown, np.minimum(need, busy), need)
    text = "job {0} was busy for {1} node-seconds, and useful, lost and checkpoint time are {2}"
    finding.where(busy != need, text, ids, busy, need)
    if given.summary.checkpoint == "none":
        finding.where(jobs["checkpoints"] > 0, "job {0} has checkpoints, which were off", ids)
    if given.complete:
        _check_losses(given, finding)
    return finding.check(f"useful, lost and checkpoint time of {len(ids)} jobs fill their runs")


def _check_losses(given: Folder, finding: Finding) -> None:
    """What each run lost, and what the jobs say of their runs."""
    jobs, runs, pause = given.jobs, given.runs, given.summary.overhead
    names, ids = names_of(jobs, runs.job), np.array(jobs.ids, dtype=object)
    size = jobs["size"][runs.job]
    length = runs.end - runs.start
    failed = ~runs.finished
    finding.where(
        runs.finished & (runs.lost != 0), "job {0} lost work in a run that finished", names
    )
    all_lost = failed & (runs.completed == 0) & (runs.lost != length * size)
    text = "job {0} lost {1} in a run without checkpoints of {2} s on {3} nodes"
    finding.where(all_lost, text, names, runs.lost, length, size)
    some = failed & (runs.completed > 0)
    most = (length - pause * (runs.completed - 1)) * size
    off = some & ((runs.lost < pause * size) | (runs.lost > most) | (runs.lost % size != 0))
    finding.where(off, "job {0} cannot have lost {1} after a checkpoint", names, runs.lost)
    lost = _sums(given, runs.lost)
    text = "job {0}: lost {1} in jobs.csv, {2} in runs.csv"
    finding.where(lost != jobs["lost"], text, ids, jobs["lost"], lost)
    completed = _sums(given, runs.completed)
    broken = jobs["checkpoints"] - completed  # those in progress when a run failed
    text = "job {0}: {1} checkpoints performed, {2} completed"
    odd = (broken < 0) | (broken > jobs["restarts"])
    finding.where(odd, text, ids, jobs["checkpoints"], completed)


def _account(given: Folder, walk: Sweep) -> tuple[dict[str, int | None], Check]:
    """The node-seconds, by the jobs' work and the walk over the nodes, beside the summary's."""
    jobs, said = given.jobs, given.summary.node_seconds
    size = jobs["size"]
    total = given.summary.nodes * int(jobs["finish"].max() - jobs["submit"].min())
    useful, lost = int((jobs["runtime"] * size).sum()), int(jobs["lost"].sum())
    mine: dict[str, int | None] = {"useful": useful, "lost": lost}
    paused = given.summary.overhead * size
    restarted = jobs["restarts"] > 0
    if given.complete:
        mine["checkpoint_overhead"] = int((paused * _sums(given, _overhead_runs(given))).sum())
        mine["idle"] = total - walk.covered
    elif not bool(np.any(restarted & (jobs["checkpoints"] > 0))):
        # Runs that failed without a checkpoint have lost all that they did.
        mine["checkpoint_overhead"] = int((paused * jobs["checkpoints"]).sum())
        mine["idle"] = total - walk.covered - lost
    else:
        mine["checkpoint_overhead"] = mine["idle"] = None
    mine["down"], mine["total"] = walk.down, total
    parts = [value for name, value in mine.items() if name != "total"]
    wrong = [
        f"{name} is {said[name]} in summary.json, {value} here"
        for name, value in mine.items()
        if value is not None and value != said[name]
    ]
    if None not in parts and sum(value or 0 for value in parts) != total:
        wrong.append(
            f"the parts sum to {sum(value or 0 for value in parts)}, nodes x time is {total}"
        )
    if sum(said[name] for name in ACCOUNT[:-1]) != said["total"]:
        wrong.append("the parts in summary.json do not sum to its total")
    most = int((paused * jobs["checkpoints"]).sum())
    if not 0 <= said["checkpoint_overhead"] <= most:
        wrong.append(
            f"checkpoint_overhead {said['checkpoint_overhead']} is not within 0 and {most}"
        )
    good = f"useful + lost + checkpoint overhead + idle + down = {total} node-seconds"
    return mine, Check("account of node-seconds", not wrong, "; ".join(wrong) or good)


# ------------------------------------------------------------------------------------- measures


def _check_promises(given: Folder) -> Check:
    jobs = given.jobs
    finding = Finding("promises")
    ids = np.array(jobs.ids, dtype=object)
    kept = jobs["finish"] <= jobs.deadline
    wrong = jobs.promised & (kept != jobs.kept)
    text = "job {0} finished at {1}, promised for {2}, and kept says otherwise"
    finding.where(wrong, text, ids, jobs["finish"], jobs.deadline)
    if bool(jobs.promised.any()):
        finding.where(~jobs.promised, "job {0} has no promise, and others have", ids)
    share = f"{int(jobs.kept.sum())} of {int(jobs.promised.sum())} kept"
    return finding.check(share if bool(jobs.promised.any()) else "none were made")


def _check_measures(given: Folder) -> list[Check]:
    jobs, said = given.jobs, given.summary
    work = (jobs["runtime"] * jobs["size"]).astype(np.float64)
    span = int(jobs["finish"].max() - jobs["submit"].min())
    kept = jobs.promised & (jobs["finish"] <= jobs.deadline)
    qos = None
    if bool(jobs.promised.any()):
        qos = math.fsum((work * jobs.promise)[kept]) / math.fsum(work)
    utilization = math.fsum(work) / (span * said.nodes) if span > 0 else 0.0
    lost = int(given.failures.lost.sum())
    return [
        _equal("qos", qos, said.qos),
        _equal("utilization", utilization, said.utilization),
        _equal("lost work", lost, said.lost_work),
    ]


def _equal(name: str, here: float | None, said: float | None) -> Check:
    if here is None or said is None:
        same = here is None and said is None
    else:
        same = math.isclose(here, said, rel_tol=TOLERANCE, abs_tol=0.0)
    return Check(name, same, f"{said} in summary.json" + ("" if same else f", {here} here"))


_WITHOUT_RUNS = (
    "nodes and lengths of the runs that failed (runs.csv is not there)",
    "whether a node ran two jobs, or a job while down, during runs that failed",
    "whether every failure of a busy node ended a run that failed later",
)


def certify_promise(folder: Path) -> Certificate:
    """Check the folder of a run of the promise model or a classic policy."""
    given = read_folder(folder)
    walk = sweep(given)
    account, balanced = _account(given, walk)
    checks = [
        check_sizes(given),
        check_runs(given),
        walk.two_jobs.check("no node has two jobs at once"),
        walk.while_down.check("no job runs while its node is down"),
        walk.survived.check("no run goes on past a failure of its nodes"),
        check_kills(given),
        _check_work(given),
        _check_promises(given),
        balanced,
        *_check_measures(given),
    ]
    unknown = list(() if given.complete else _WITHOUT_RUNS)
    if account["idle"] is None:
        unknown.append("checkpoint overhead and idle time: restarted jobs have checkpoints")
    return Certificate(tuple(checks), account, tuple(unknown))
