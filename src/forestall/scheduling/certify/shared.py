"""An independent look at a run whose jobs share nodes: can what its files describe have happened?

As `certifier`, it shares nothing with the simulator: what nodes hold is walked through wherever it
changes, and measures are computed anew. Shares are in millionths of a node, lost work is in
thousandths of a node-second, as files have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.certify import sheet as read
from forestall.core.certify.finding import Certificate, Finding, Rule, Unchecked, certificate
from forestall.core.certify.folder import RunFolder, table
from forestall.core.certify.intervals import (
    Axis,
    Outages,
    firsts,
    inside,
    last_begun,
    lasts,
    levels,
    overlapping,
    spread,
)
from forestall.core.certify.sheet import NONE, Bool, Int, Rows, Sheet
from forestall.core.certify.sums import per, recomputed, spread_of
from forestall.core.model.units import MAX_SECONDS
from forestall.scheduling.certify.files import (
    FINISHED,
    OUTCOMES,
    NodeRanges,
    Texts,
    hostlists,
    probability,
    text_of,
)

Floats = npt.NDArray[np.float64]
MACHINE: Final = "machine.csv"
MEMORY: Final = "memory"
NAMED: Final = ("node", "name", "gpu_type", "features", "partitions")
MILLION, THOUSAND = 10**6, 1000
SLOWDOWN_BOUND: Final = 10
_CHOSEN: Final = (
    "policy", "predictor", "accuracy", "risk", "checkpoint_overhead", "checkpoint_interval",
    "downtime", "placement", "estimates", "overrun", "compression", "requeue", "min_runtime",
    "repeat_failures", "mtbf", "failovers", "seed",
)  # fmt: skip
"""Parameters that decided how jobs were planned: nothing tells whether they were others."""


# ---------------------------------------------------------------------------------------- files


def _amounts(before: str = "") -> Any:
    """Declare what rows have of each resource, int64[n, resources]."""

    def of(sheet: Sheet, _: str) -> Int:
        names = sheet.given.get("resources") or [n for n in sheet.frame.columns if n not in NAMED]
        columns = [
            sheet.whole(f"{before}{name}") if f"{before}{name}" in sheet.frame.columns
            else np.zeros(len(sheet), dtype=np.int64)
            for name in names
        ]  # fmt: skip
        return np.stack(columns, axis=1)

    return read.column(of, there=False)


@dataclass(frozen=True)
class MachineRows(Rows):
    """`machine.csv`: the nodes, and what each has."""

    FILE: ClassVar = MACHINE
    BESIDES: ClassVar = ("cores", MEMORY, "gpus")
    node: Int = read.whole(0, read.MAX_NODES)
    gpu_type: Texts = read.column(text_of)
    features: Texts = read.column(text_of)
    amounts: Int = _amounts()
    resources: Texts = read.column(
        lambda sheet, _: np.array(
            [tuple(n for n in sheet.frame.columns if n not in NAMED)] * len(sheet) or [()],
            dtype=object,
        )[: len(sheet)],
        there=False,
    )  # fmt: skip

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        sheet.refuse(self.node != np.arange(len(self)), "node", "the number of the row, from 0")
        sheet.refuse(self.amounts[:, 0] < 1, "cores", "a whole number from 1 up")


@dataclass(frozen=True)
class SharedJobRows(Rows):
    """`jobs.csv`."""

    FILE: ClassVar = "jobs.csv"
    name: Int = read.number_of_job()
    submit: Int = read.seconds()
    start: Int = read.seconds()
    last_start: Int = read.seconds()
    finish: Int = read.seconds()
    size: Int = read.whole(1, read.MAX_NODES)
    runtime: Int = read.whole(1, MAX_SECONDS)
    restarts: Int = read.whole(0, MAX_SECONDS)
    checkpoints: Int = read.whole(0, MAX_SECONDS)
    skipped: Int = read.whole(0, MAX_SECONDS)
    lost: Int = read.parts(3)
    share: Int = read.parts(6)
    nodes: Texts = read.column(hostlists)
    tasks: Int = read.whole(0, named="asked_tasks")
    exclusive: Int = read.whole(0, 2, "asked_exclusive")
    gpu_type: Texts = read.column(text_of, "asked_gpu_type")
    features: Texts = read.column(text_of, "asked_features")
    amounts: Int = _amounts("asked_")

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        for name in ("deadline", "promise", "kept"):
            sheet.refuse(~sheet.empty(name), name, "empty: such policies promise nothing")

    @property
    def wanted(self) -> Int:
        """The nodes that each job asks for, or its tasks."""
        return np.where((self.tasks > 0) & (self.exclusive == 0), self.tasks, self.size)


@dataclass(frozen=True)
class SharedRunRows(Rows):
    """`runs.csv`; `job` is the position of the job."""

    FILE: ClassVar = "runs.csv"
    job: Int = read.job()
    start: Int = read.seconds()
    end: Int = read.seconds()
    outcome: Int = read.words(OUTCOMES)
    checkpoints: Int = read.whole(0, MAX_SECONDS)
    lost: Int = read.parts(3)
    share: Int = read.parts(6)
    nodes: Texts = read.column(hostlists)
    units: Texts = read.column(text_of)
    amounts: Int = _amounts()

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        text = sheet.frame["units"].fill_null("")
        sheet.refuse(~text.str.contains(r"^(\d{1,9}( \d{1,9})*)?$"), "units", "tasks such as 3 2")
        last = [int(one.replace("-", ",").rsplit(",", 1)[-1]) for one in self.nodes.tolist()]
        high = np.array(last, dtype=np.int64) >= sheet.given["nodes"]
        sheet.refuse(high, "nodes", "a set of nodes of machine.csv")

    @property
    def finished(self) -> Bool:
        """Whether the job was finished."""
        good: Bool = self.outcome == FINISHED
        return good


@dataclass(frozen=True)
class SharedFailureRows(Rows):
    """`failures.csv`; `job` is the position of the first job that was hit, or NONE."""

    FILE: ClassVar = "failures.csv"
    time: Int = read.seconds()
    node: Int = read.whole(0, "nodes")
    downtime: Int = read.whole(0, MAX_SECONDS)
    detectability: Floats = read.column(probability)
    job: Int = read.job(empty=True)
    lost: Int = read.parts(3)
    jobs: Int = read.whole(0)


class SharedRun(RunFolder):
    """The files of a run, and what several rules make of them."""

    machine = table(MachineRows, alone=True)
    jobs = table(SharedJobRows)
    runs = table(SharedRunRows)
    failures = table(SharedFailureRows)

    @property
    def known(self) -> dict[str, Any]:
        """See `RunFolder`."""
        known = {"nodes": len(self.machine), "resources": self.resources}
        return known if "jobs" not in self.__dict__ else {**known, "ids": self.jobs.name}

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The names of the resources."""
        found: tuple[str, ...] = self.machine.resources[0] if len(self.machine) else ()
        return found

    @cached_property
    def checkpoint(self) -> str:
        """The rule of checkpoints."""
        return self.summary.word("parameters.checkpoint", ("none", "risk", "periodic", "daly"))

    def seconds(self, name: str) -> int:
        """Return a parameter of checkpoints, s; 0 where none are written."""
        if self.checkpoint == "none":
            return 0
        return self.summary.whole(f"parameters.{name}", 0, MAX_SECONDS)

    @cached_property
    def held(self) -> tuple[Int, Int, Int]:
        """Each node of each run as (run, node, units), in order; a run with other units than nodes
        has none."""
        ranges = NodeRanges.of(self.runs.nodes)
        place, offset = spread(ranges.stop - ranges.first)
        owner, node = ranges.owner[place], ranges.first[place] + offset
        count, units = per(owner, len(self.runs)), np.ones(len(owner), dtype=np.int64)
        first = np.cumsum(count) - count
        for run in np.flatnonzero(self.runs.units != "").tolist():
            told = [int(one) for one in self.runs.units[run].split()]
            mine = slice(first[run], first[run] + count[run])
            units[mine] = told if len(told) == count[run] else 0
        return owner, node, units

    @cached_property
    def taken(self) -> Int:
        """What each node of each run gives it by what its job asks for, int64[k, resources]."""
        owner, node, units = self.held
        job = self.runs.job[owner]
        asked = self.jobs.amounts[job] * units[:, None]
        whole = self.jobs.exclusive[job] > 0
        return np.where(whole[:, None], self.machine.amounts[node], asked)

    @cached_property
    def size(self) -> Floats:
        """The node equivalents of each run."""
        owner, node, _ = self.held
        capacity = self.machine.amounts[node]
        part = np.where(capacity > 0, self.taken / np.maximum(capacity, 1), 0.0)
        return np.bincount(owner, part.max(axis=1, initial=0.0), minlength=len(self.runs))

    @cached_property
    def in_order(self) -> Int:
        """The runs by job and start."""
        return np.lexsort((self.runs.start, self.runs.job))

    @cached_property
    def down(self) -> Outages:
        """When nodes are down."""
        failures = self.failures
        return Outages.of(failures.node, failures.time, failures.downtime)


# ---------------------------------------------------------------------------------------- rules


def _asked(run: SharedRun, finding: Finding) -> str:
    """Runs have what their jobs ask for, on nodes that these may have."""
    runs, jobs, machine = run.runs, run.jobs, run.machine
    owner, node, units = run.held
    has = per(owner, len(runs), units)
    text = "job {job} has {has} units, but asks for {wanted}"
    runs.where(finding, has != jobs.wanted[runs.job], text, has=has, wanted=jobs.wanted[runs.job])
    for k, name in enumerate(run.resources):
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
    for k, name in enumerate(run.resources):
        places, level = levels(axis, node, start, end, run.taken[:, k])
        whose = axis.owner(places)
        most = run.machine.amounts[whose, k]
        text = "node {0} holds {1} " + name + " at {2} s, of {3}"
        finding.where(level > most, text, whose, level, axis.time(places), most)
    return f"no node of {len(run.machine)} is overbooked in {', '.join(run.resources)}"


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
    first = {}
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
    lost = per(by[hit], len(failures), runs.lost[hit])
    text = "lost {lost}, but the runs that it ended lost {mine} in all"
    off = np.abs(lost - failures.lost) > np.maximum(count, 1)
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
        ("restarts", per(runs.job, len(jobs)) - 1), ("start", _at(runs.job, runs.start, fresh, jobs)),
        ("last_start", _at(runs.job, runs.start, last, jobs)),
        ("finish", _at(runs.job, runs.end, last, jobs)),
    ):  # fmt: skip
        wrong = ~absent & (getattr(jobs, name) != values)
        jobs.where(finding, wrong, f"job {{name}}: {name} is not that of its runs")
    lost, share = per(runs.job, len(jobs), runs.lost), _at(runs.job, runs.share, last, jobs)
    off = (np.abs(lost - jobs.lost) > jobs.restarts + 1) | (jobs.share != share)
    jobs.where(finding, ~absent & off, "job {name}: lost or share is not that of its runs")
    nodes = {int(job): text for job, text in zip(runs.job[last], runs.nodes[last], strict=True)}
    other = np.array([nodes.get(k, jobs.nodes[k]) != jobs.nodes[k] for k in range(len(jobs))])
    jobs.where(finding, other, "job {name}: nodes are not those of its last run")
    done = per(runs.job, len(jobs), runs.checkpoints)
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
    done = runs.checkpoints
    before = np.cumsum(done) - done
    before -= np.repeat(before[fresh], np.diff(np.append(np.flatnonzero(fresh), len(done))))
    need = run.jobs.runtime[runs.job] - before * interval + done * pause
    length = runs.end - runs.start
    text = "job {job} finishes after {length} s, but its work takes {need} s"
    runs.where(finding, runs.finished & (length != need), text, length=length, need=need)
    kept = done * interval + np.maximum(done - 1, 0) * pause
    lost = np.where(runs.finished, 0.0, (length - kept) * size * THOUSAND)
    text = "job {job} lost {lost}, but {here:.3f} by its last checkpoint"
    off = np.abs(lost - runs.lost) > 1 + np.abs(length) / 1000  # shares have six decimals
    runs.where(finding, off, text, here=lost / THOUSAND)


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
    nodes = run.summary.whole("parameters.nodes", 1, read.MAX_NODES)
    if nodes != len(run.machine):
        finding.wrong("parameters.nodes is {0}, machine.csv has {1}", nodes, len(run.machine))
    return "rows stand in the order of time"


def _times(run: SharedRun) -> Mapping[str, Any]:
    jobs, failures = run.jobs, run.failures
    response = jobs.finish - jobs.submit
    slowdown = np.maximum(1.0, response / np.maximum(jobs.runtime, SLOWDOWN_BOUND))
    return {
        "jobs_count": len(jobs),
        "makespan": int(jobs.finish.max() - jobs.submit.min()),
        "wait": spread_of(jobs.start - jobs.submit),
        "response": spread_of(response),
        "bounded_slowdown": spread_of(slowdown),
        "restarts": int(jobs.restarts.sum()),
        "checkpoints": int(jobs.checkpoints.sum()),
        "skipped_checkpoints": int(jobs.skipped.sum()),
        "failures_played": len(failures),
        "failures_hit": int((failures.job != NONE).sum()),
        **dict.fromkeys(("qos", "promises_kept", "brier", "calibration")),
    }


def _account(run: SharedRun) -> Mapping[str, Any]:
    jobs, runs, size = run.jobs, run.runs, run.size
    first, last = int(jobs.submit.min()), int(jobs.finish.max())
    total = len(run.machine) * (last - first)
    useful = float((jobs.runtime[runs.job] * size)[runs.finished].sum())
    lost = run.summary.measure("lost_work")
    busy = float(((runs.end - runs.start) * size).sum())
    down = run.down.held(first, last, np.ones(len(run.machine), dtype=np.int64))
    seconds = {
        "useful": useful, "lost": lost, "checkpoint_overhead": busy - useful - lost,
        "idle": total - busy - down, "down": down, "total": total,
    }  # fmt: skip
    return {"node_seconds": seconds, "utilization": useful / total if total else 0.0}


def _resources(run: SharedRun) -> Mapping[str, Any]:
    runs, (owner, _, _) = run.runs, run.held
    span = int(run.jobs.finish.max() - run.jobs.submit.min())
    length = (runs.end - runs.start)[owner]
    seconds = runs.lost[owner] / np.maximum(THOUSAND * run.size[owner], 1e-12)
    found = {}
    for k, name in enumerate(run.resources):
        all_of_it = float(run.machine.amounts[:, k].sum()) * span
        if all_of_it:
            unit = 3600 * (1024 if name == MEMORY else 1)
            used = float((run.taken[:, k] * length).sum())
            found[name] = {
                "used_hours": used / unit,
                "lost_hours": float((run.taken[:, k] * np.rint(seconds)).sum()) / unit,
                "total_hours": all_of_it / unit,
                "utilization": used / all_of_it,
            }
    return {"resources": found}


def _lost(run: SharedRun, finding: Finding) -> str:
    said, here = run.summary.measure("lost_work"), float(run.runs.lost.sum()) / THOUSAND
    if abs(said - here) > 0.001 * (len(run.runs) + 1):
        finding.wrong("lost_work is {0} in summary.json, {1} by runs.csv", said, here)
    return f"{said} in summary.json"


def _is_fcfs(run: SharedRun) -> bool:
    parameters = run.summary.value("parameters", (dict,), "an object")
    return parameters.get("policy") == "fcfs" and parameters.get("requeue") != "original"


_RULES: Final[tuple[Rule[SharedRun], ...]] = (
    Rule("what jobs ask for", _asked),
    Rule("no node overbooked", _capacity),
    Rule("no job on a node that is down", _down),
    Rule("failures and failed runs", _kills),
    Rule("work of each job", _work),
    Rule("order of the queue", _order, _is_fcfs),
    Rule("order of rows", _rows),
    Rule("waits, responses and counts", recomputed(_times)),
    Rule("lost work", _lost),
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
    unchecked = (
        Unchecked("summary.json", tuple(f"parameters.{name}" for name in _CHOSEN),
                  "the decisions that rested on them are not logged"),
        Unchecked("failures.csv", ("kind", "detectability"), "the run does not go by them"),
        Unchecked("failures.csv", ("downtime",), "for outages that last beyond the last job"),
        Unchecked(MACHINE, ("name", "partitions", "gpu_type", "features"),
                  "as far as no job ran where it would not have been allowed to"),
    )  # fmt: skip
    return certificate(run, _RULES, unknown, {}, unchecked)
