"""An independent look at a run whose jobs share nodes: can what its files describe have happened?

As `certifier`, it shares nothing with the simulator: what nodes hold is walked through wherever it
changes, and measures are computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core.certify import sheet as read
from forestall.core.certify.finding import Certificate, Finding, Rule, Unchecked, certificate
from forestall.core.certify.intervals import (
    Axis,
    firsts,
    inside,
    last_begun,
    lasts,
    levels,
    overlapping,
)
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import per, recomputed
from forestall.scheduling.certify import measures
from forestall.scheduling.certify.shared_files import (
    MACHINE,
    MEMORY,
    MILLION,
    THOUSAND,
    Floats,
    MachineRows,
    SharedJobRows,
    SharedRun,
    SharedRunRows,
)

ROUNDED: Final = 0.75
"""Thousandths: a number in a file is off by half of its last decimal, and by how floats add up."""
_ASKED: Final = ("cores", MEMORY, "gpus", "gpu_type", "features", "tasks")
_CHOSEN: Final = (
    "policy", "predictor", "accuracy", "risk", "checkpoint_overhead", "checkpoint_interval",
    "downtime", "placement", "estimates", "overrun", "compression", "requeue", "min_runtime",
    "repeat_failures", "mtbf", "failovers", "seed",
)  # fmt: skip
"""Parameters that decided how jobs were planned: nothing tells whether they were others."""


def _asked(run: SharedRun, finding: Finding) -> str:
    """Runs have what their jobs ask for, on nodes that these may have."""
    runs, jobs, machine = run.runs, run.jobs, run.machine
    owner, node, units = run.held
    has = per(owner, len(runs), units)
    text = "job {job} has {has} units, but asks for {wanted}"
    runs.where(finding, has != jobs.wanted[runs.job], text, has=has, wanted=jobs.wanted[runs.job])
    for k, name in enumerate(run.machine.resources):
        here, told = per(owner, len(runs), run.taken[:, k]), runs.amounts[:, k]
        text = f"job {{job}} has {{told}} {name}, but its nodes give it {{here}}"
        runs.where(finding, here != told, text, here=here, told=told)
    here = np.rint(run.size * MILLION).astype(np.int64)
    text = "job {job} has share {share}, but {here:.6f} by its nodes"
    runs.where(finding, np.abs(here - runs.share) > 1, text, here=here / MILLION)
    fits: dict[tuple[str, str, int], bool] = {}
    keys = zip(jobs.gpu_type[runs.job[owner]], jobs.features[runs.job[owner]], node, strict=True)
    for row, (gpu_type, features, number) in zip(owner.tolist(), keys, strict=True):
        key = (gpu_type, features, int(number))
        if key not in fits:
            fits[key] = _may_have(machine, *key)
        if not fits[key]:
            text = "job {job} may not have node {node} by its GPU types and features"
            runs.wrong(finding, row, text, node=int(number))
    return f"{len(runs)} runs have what their jobs ask for"


def _may_have(machine: MachineRows, gpu_type: str, features: str, node: int) -> bool:
    types = [one for one in gpu_type.split("|") if one]
    ways = [set(way.split("&")) for way in features.split("|") if way]
    have = set(str(machine.features[node]).split())
    of_type = not types or machine.gpu_type[node] in types
    return of_type and (not ways or any(way <= have for way in ways))


def _capacity(run: SharedRun, finding: Finding) -> str:
    """No node is overbooked in any resource at any time."""
    owner, node, _ = run.held
    start, end = run.runs.start[owner], run.runs.end[owner]
    axis = Axis.over(start, end)
    for k, name in enumerate(run.machine.resources):
        places, level = levels(axis, node, start, end, run.taken[:, k])
        whose = axis.owner(places)
        most = run.machine.amounts[whose, k]
        text = "node {0} holds {1} " + name + " at {2} s, of {3}"
        finding.where(level > most, text, whose, level, axis.time(places), most)
    return f"no node of {len(run.machine)} is overbooked in {', '.join(run.machine.resources)}"


def _down(run: SharedRun, finding: Finding) -> str:
    """No run begins on a node that is down, or goes on past a failure of its nodes."""
    owner, node, _ = run.held
    runs, down, failures = run.runs, run.down, run.failures
    start, end = runs.start[owner], runs.end[owner]
    at = last_begun(down.node, down.start, node, start)
    dead = (at >= 0) & (down.end[np.maximum(at, 0)] > start) if len(down.node) else at >= 0
    for row in np.flatnonzero(dead).tolist():
        text = "job {job} starts on node {node}, which is down"
        runs.wrong(finding, int(owner[row]), text, node=int(node[row]))
    axis = Axis.over(start, end, failures.time)
    struck = np.sort(axis.key(failures.node, failures.time))
    past = inside(struck, axis.key(node, start), axis.key(node, end), at_start=False)
    for row in np.flatnonzero(past).tolist():
        text = "job {job} goes on past a failure of node {node}"
        runs.wrong(finding, int(owner[row]), text, node=int(node[row]))
    return "no job runs on a node that is down"


def _kills(run: SharedRun, finding: Finding) -> str:
    """Each failed run ends with a failure of one of its nodes; failures tell whom they hit."""
    owner, node, _ = run.held
    runs, failures = run.runs, run.failures
    first: dict[tuple[int, int], int] = {}
    for row, key in enumerate(zip(failures.time.tolist(), failures.node.tolist(), strict=True)):
        first.setdefault(key, row)
    by = np.full(len(runs), len(failures), dtype=np.int64)
    for run_, number in zip(owner.tolist(), node.tolist(), strict=True):
        row = first.get((int(runs.end[run_]), number), len(failures))
        by[run_] = min(by[run_], row)
    failed = ~runs.finished
    runs.where(finding, failed & (by == len(failures)), "job {job} failed, but none of its nodes")
    hit = failed & (by < len(failures))
    count = per(by[hit], len(failures))
    text = "{jobs} jobs hit, but {count} runs ended with it"
    failures.where(finding, failures.jobs != count, text, count=count)
    lost = np.bincount(by[hit], run.lost[hit], minlength=len(failures))
    text = "lost {lost}, but the runs that it ended lost {mine:.3f} in all"
    off = np.abs(lost - failures.lost) > _unsure(by[hit], run.size[hit], len(failures))
    failures.where(finding, off, text, mine=lost / THOUSAND)
    whom = np.full(len(failures), 2**62, dtype=np.int64)
    np.minimum.at(whom, by[hit], runs.job[hit])
    whom = np.where(count > 0, whom, NONE)
    failures.where(finding, failures.job != whom, "another job was hit first")
    return f"{len(failures)} failures and the runs that they ended"


def _work(run: SharedRun, finding: Finding) -> str:
    """Runs of a job follow each other, the last one finishes, and all do the job's work."""
    jobs, order = run.jobs, run.in_order
    runs, size = run.runs.take(order), run.size[order]
    fresh = firsts(runs.job)
    last = lasts(fresh)
    axis = Axis.over(runs.start, runs.end, jobs.submit)
    early = runs.start < jobs.submit[runs.job]
    early |= overlapping(axis.key(runs.job, runs.start), axis.key(runs.job, runs.end))
    runs.where(finding, early | (runs.end < runs.start), "job {job} starts before it can")
    runs.where(finding, runs.finished != last, "job {job} has a run that does not end as it should")
    absent = per(runs.job, len(jobs)) == 0
    jobs.where(finding, absent, "job {name} has no run")
    if run.checkpoint in {"none", "periodic"}:
        _progress(run, runs, size, fresh, finding)
    for name, values in (
        ("restarts", per(runs.job, len(jobs)) - 1),
        ("start", _at(runs.job, runs.start, fresh, jobs)),
        ("last_start", _at(runs.job, runs.start, last, jobs)),
        ("finish", _at(runs.job, runs.end, last, jobs)),
    ):  # fmt: skip
        wrong = ~absent & (getattr(jobs, name) != values)
        jobs.where(finding, wrong, f"job {{name}}: {name} is not that of its runs")
    exact = run.lost[order]
    text = "job {job} lost {lost}, which is no whole number of seconds of {share} nodes"
    runs.where(finding, np.abs(exact - runs.lost) > ROUNDED, text)
    lost = np.bincount(runs.job, exact, minlength=len(jobs))
    off = np.abs(lost - jobs.lost) > _unsure(runs.job, size, len(jobs))
    off |= jobs.share != _at(runs.job, runs.share, last, jobs)
    jobs.where(finding, ~absent & off, "job {name}: lost or share is not that of its runs")
    nodes = {int(job): text for job, text in zip(runs.job[last], runs.nodes[last], strict=True)}
    other = np.array([nodes.get(k, jobs.nodes[k]) != jobs.nodes[k] for k in range(len(jobs))])
    jobs.where(finding, other, "job {name}: nodes are not those of its last run")
    done = per(runs.job, len(jobs), runs.completed)
    odd = (jobs.checkpoints < done) | (jobs.checkpoints > done + jobs.restarts)
    jobs.where(finding, odd, "job {name}: checkpoints are not those of its runs")
    if run.checkpoint != "risk":
        jobs.where(
            finding, jobs.skipped > 0, "job {name} skips checkpoints by a rule without risks"
        )
    return f"the work of {len(jobs)} jobs is done in their runs"


def _progress(
    run: SharedRun, runs: SharedRunRows, size: Floats, fresh: Bool, finding: Finding
) -> None:
    """Each run takes as long as the work left and its checkpoints, and loses the rest."""
    interval, pause = run.seconds("checkpoint_interval"), run.seconds("checkpoint_overhead")
    done = runs.completed
    before = np.cumsum(done) - done
    before -= np.repeat(before[fresh], np.diff(np.append(np.flatnonzero(fresh), len(done))))
    need = run.jobs.runtime[runs.job] - before * interval + done * pause
    length = runs.end - runs.start
    text = "job {job} finishes after {length} s, but its work takes {need} s"
    runs.where(finding, runs.finished & (length != need), text, length=length, need=need)
    kept = done * interval + np.maximum(done - 1, 0) * pause
    lost = np.where(runs.finished, 0.0, (length - kept) * size * THOUSAND)
    text = "job {job} lost {lost}, but {here:.3f} by its last checkpoint"
    off = np.abs(lost - runs.lost) > ROUNDED
    runs.where(finding, off, text, here=lost / THOUSAND)


def _unsure(owner: Int, size: Floats, count: int) -> Floats:
    """Return how far sums of lost work may be off, in thousandths of a node-second: as rounded, and
    by half a second of each run whose second is worth less than the last decimal."""
    blurred = np.where(size * THOUSAND < 1, size * THOUSAND / 2, 0.0)
    unsure = np.full(count, ROUNDED)
    np.add.at(unsure, owner, blurred)
    return unsure


def _at(owner: Int, values: Int, which: Bool, jobs: SharedJobRows) -> Int:
    """Return the value of one row of each job, 0 where it has none."""
    found = np.zeros(len(jobs), dtype=np.int64)
    found[owner[which]] = values[which]
    return found


def _order(run: SharedRun, finding: Finding) -> str:
    """First come, first served: jobs that were never stopped start in the order of the queue."""
    jobs = run.jobs.take(run.jobs.restarts == 0)
    jobs.in_order(finding, jobs.start)
    return "jobs start in the order in which they came"


def _rows(run: SharedRun, finding: Finding) -> str:
    """Rows stand in the order of time."""
    run.jobs.in_order(finding, run.jobs.submit)
    run.runs.in_order(finding, run.runs.start)
    run.failures.in_order(finding, run.failures.time)
    return "rows stand in the order of time"


def _quality(run: SharedRun) -> Mapping[str, Any]:
    jobs = run.jobs
    last = lasts(firsts(run.runs.job[run.in_order]))
    size = np.zeros(len(jobs))
    size[run.runs.job[run.in_order][last]] = run.size[run.in_order][last]
    return measures.quality(jobs, jobs.runtime * size)


def _account(run: SharedRun) -> Mapping[str, Any]:
    jobs, runs, size = run.jobs, run.runs, run.size
    first, last = int(jobs.submit.min()), int(jobs.finish.max())
    total = len(run.machine) * (last - first)
    useful = float((jobs.runtime[runs.job] * size)[runs.finished].sum())
    lost = float(run.lost.sum()) / THOUSAND
    busy = float(((runs.end - runs.start) * size).sum())
    down = run.down.held(first, last, np.ones(len(run.machine), dtype=np.int64))
    seconds = {
        "useful": useful, "lost": lost, "checkpoint_overhead": busy - useful - lost,
        "idle": total - busy - down, "down": down, "total": total,
    }  # fmt: skip
    return {
        "lost_work": lost,
        "node_seconds": seconds,
        "utilization": useful / total if total else 0.0,
    }


def _resources(run: SharedRun) -> Mapping[str, Any]:
    runs, (owner, _, _) = run.runs, run.held
    span = int(run.jobs.finish.max() - run.jobs.submit.min())
    length = (runs.end - runs.start)[owner]
    seconds = np.rint(run.lost[owner] / np.maximum(THOUSAND * run.size[owner], 1e-12))
    found = {}
    for k, name in enumerate(run.machine.resources):
        all_of_it = float(run.machine.amounts[:, k].sum()) * span
        if all_of_it:
            unit = 3600 * (1024 if name == MEMORY else 1)
            used = float((run.taken[:, k] * length).sum())
            found[name] = {
                "used_hours": used / unit,
                "lost_hours": float((run.taken[:, k] * seconds).sum()) / unit,
                "total_hours": all_of_it / unit,
                "utilization": used / all_of_it,
            }
    return {"resources": found}


def _given(run: SharedRun, finding: Finding) -> str:
    """What the parameters say of the machine is in the files."""
    nodes = run.summary.whole("parameters.nodes", 1, read.MAX_NODES)
    if nodes != len(run.machine):
        finding.wrong("parameters.nodes is {0}, machine.csv has {1}", nodes, len(run.machine))
    return measures.agreed(run, run.parameters, finding)


def _is_fcfs(run: SharedRun) -> bool:
    return run.parameters.get("policy") == "fcfs" and run.parameters.get("requeue") != "original"


_RULES: Final[tuple[Rule[SharedRun], ...]] = (
    Rule("what jobs ask for", _asked),
    Rule("no node overbooked", _capacity),
    Rule("no job on a node that is down", _down),
    Rule("failures and failed runs", _kills),
    Rule("work of each job", _work),
    Rule("order of the queue", _order, _is_fcfs),
    Rule("order of rows", _rows),
    Rule("counts", recomputed(measures.counts)),
    Rule("times of jobs", recomputed(measures.times)),
    Rule("promises", measures.promises),
    Rule("what promises were worth", recomputed(measures.worth)),
    Rule("qos", recomputed(_quality)),
    Rule("parameters and files", _given),
    Rule("account of node-seconds", recomputed(_account, tolerance=1e-6)),
    Rule("resources", recomputed(_resources, tolerance=1e-6)),
)


def is_shared(folder: Path) -> bool:
    """Return whether the folder of a run is of one whose jobs share nodes."""
    return (folder / MACHINE).is_file()


def certify_shared(folder: Path) -> Certificate:
    """Check the folder of a run whose jobs share nodes: `jobs.csv`, `runs.csv`, `failures.csv`,
    `machine.csv` and `summary.json`."""
    run = SharedRun(folder)
    unknown = ["whether jobs could have started earlier: the decisions are not logged"]
    if run.checkpoint not in {"none", "periodic"}:
        unknown.append("the work of each run: when it was saved is not logged")
    promised = bool(run.jobs.promised.any())
    unchecked = (
        *((Unchecked("jobs.csv", ("deadline", "promise", "skipped"),
                     "what was promised is checked only against what was kept"),) * promised),
        Unchecked("summary.json", (*(f"parameters.{name}" for name in _CHOSEN), "repeat_period"),
                  "rules that choose: a change that alters no choice leaves no trace"),
        Unchecked("summary.json", ("own_rules",), "rules in Python leave no trace"),
        Unchecked("failures.csv", ("kind", "detectability"), "the run does not go by them"),
        Unchecked("failures.csv", ("downtime",), "for outages that last beyond the last job"),
        Unchecked("failures.csv", ("time", "node"), "for failures that hit no job"),
        Unchecked("jobs.csv", tuple(f"asked_{one}" for one in _ASKED),
                  "of jobs that take whole nodes; else as far as runs have what they say"),
        Unchecked(MACHINE, ("name", "partitions", "gpu_type", "features"),
                  "as far as no job ran where it would not have been allowed to"),
    )  # fmt: skip
    return certificate(run, _RULES, unknown, {}, unchecked)
