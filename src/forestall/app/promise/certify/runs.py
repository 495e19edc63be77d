"""The certifier's checks of runs: their nodes, their order, and what ended them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.app.kit.finding import Check, Finding
from forestall.app.kit.sheet import Bool, Int
from forestall.app.promise.certify.files import Folder, JobTable, NodeRanges


def names_of(jobs: JobTable, positions: Int) -> npt.NDArray[np.object_]:
    """Return the names of the jobs at these positions."""
    return np.array(jobs.ids, dtype=object)[positions]


def check_sizes(given: Folder) -> Check:
    """Each run has exactly as many distinct nodes as its job asked for, all of the machine."""
    jobs, runs, nodes = given.jobs, given.runs, given.runs.nodes
    finding = Finding("nodes of a run")
    names = names_of(jobs, runs.job)
    order = np.lexsort((nodes.first, nodes.owner))
    owner, first, stop = nodes.owner[order], nodes.first[order], nodes.stop[order]
    text = "job {0} has node {1}, and the machine has " + str(given.summary.nodes)
    finding.where(stop > given.summary.nodes, text, names[owner], stop - 1)
    twice = (owner[1:] == owner[:-1]) & (first[1:] < stop[:-1])
    finding.where(twice, "job {0} has node {1} twice", names[owner[1:]], first[1:])
    have = np.zeros(len(runs.job), dtype=np.int64)
    np.add.at(have, owner, stop - first)
    size = jobs["size"][runs.job]
    text = "job {0} asked for {1} nodes and ran on {2} from {3} on"
    finding.where(have != size, text, names, size, have, runs.start)
    return finding.check(f"{len(have)} runs on as many nodes as asked for")


def check_runs(given: Folder) -> Check:
    """The runs of a job follow each other and agree with what the jobs say."""
    jobs, runs = given.jobs, given.runs
    finding = Finding("order of runs")
    names, ids = names_of(jobs, runs.job), np.array(jobs.ids, dtype=object)
    finding.where(
        runs.end <= runs.start, "job {0} runs from {1} to {2}", names, runs.start, runs.end
    )
    finding.where(jobs["start"] < jobs["submit"], "job {0} starts before its submission", ids)
    finding.where(jobs["last_start"] < jobs["start"], "job {0} starts last before first", ids)
    again = (jobs["restarts"] > 0) != (jobs["last_start"] > jobs["start"])
    finding.where(again, "job {0}: restarts do not go with first and last start", ids)
    if not given.complete:
        return finding.check("starts and finishes of the jobs in order")
    runs_of = np.bincount(runs.job, minlength=len(ids))
    finding.where(runs_of == 0, "job {0} has no run", ids)
    wrong = (runs_of > 0) & (runs_of != jobs["restarts"] + 1)
    finding.where(wrong, "job {0}: {1} restarts, {2} runs", ids, jobs["restarts"], runs_of)
    same = runs.job[1:] == runs.job[:-1]
    overlap = same & (runs.start[1:] < runs.end[:-1])
    finding.where(
        overlap, "job {0} runs again at {1}, before a run has ended", names[1:], runs.start[1:]
    )
    last = np.append(~same, True) if len(names) else np.zeros(0, dtype=np.bool_)
    first = np.append(True, ~same) if len(names) else last
    finding.where(
        runs.finished & ~last, "job {0} runs on after it finished at {1}", names, runs.end
    )
    finding.where(~runs.finished & last, "the last run of job {0} does not finish", names)
    for rows, mine, name in (
        (first, runs.start, "start"),
        (last, runs.start, "last_start"),
        (last, runs.end, "finish"),
    ):
        said = jobs[name][runs.job]
        text = "job {0}: " + name + " is {1} in jobs.csv, {2} in runs.csv"
        finding.where(rows & (mine != said), text, names, said, mine)
    _same_nodes(given, finding, last)
    return finding.check(f"{len(names)} runs of {len(ids)} jobs follow each other")


def _same_nodes(given: Folder, finding: Finding, last: Bool) -> None:
    """The nodes of a job are those of its last run."""
    runs = given.runs
    mine = last[runs.nodes.owner]
    of_runs = _canonical(
        runs.job[runs.nodes.owner[mine]], runs.nodes.first[mine], runs.nodes.stop[mine]
    )
    nodes = given.jobs.nodes
    of_jobs = _canonical(nodes.owner, nodes.first, nodes.stop)
    columns = of_jobs.columns
    apart = (
        of_runs.join(of_jobs, on=columns, how="anti"),
        of_jobs.join(of_runs, on=columns, how="anti"),
    )
    unlike = pl.concat(apart)["owner"].unique()
    bad = np.zeros(len(given.jobs.ids), dtype=np.bool_)
    bad[unlike.to_numpy()] = True
    ids = np.array(given.jobs.ids, dtype=object)
    finding.where(bad, "job {0}: nodes in jobs.csv are not those of its last run", ids)


def _canonical(owner: Int, first: Int, stop: Int) -> pl.DataFrame:
    """Return the ranges in order, neighbours joined: equal sets become equal rows."""
    order = np.lexsort((first, owner))
    owner, first, stop = owner[order], first[order], stop[order]
    begins = np.ones(len(owner), dtype=np.bool_)
    begins[1:] = (owner[1:] != owner[:-1]) | (first[1:] != stop[:-1])
    ends = np.append(begins[1:], True) if len(owner) else begins
    return pl.DataFrame({"owner": owner[begins], "first": first[begins], "stop": stop[ends]})


def check_kills(given: Folder) -> Check:
    """Every failed run has its failure, and every failure that names a job has its failed run."""
    jobs, failures = given.jobs, given.failures
    finding = Finding("failures and failed runs")
    ids = np.array(jobs.ids, dtype=object)
    hit = failures.job >= 0
    times_hit = np.bincount(failures.job[hit], minlength=len(ids))
    text = "job {0}: {1} restarts, hit by {2} failures"
    finding.where(times_hit != jobs["restarts"], text, ids, jobs["restarts"], times_hit)
    idle_loss = ~hit & (failures.lost != 0)
    finding.where(
        idle_loss, "a failure at {0} hit no job and lost {1}", failures.time, failures.lost
    )
    lost = np.zeros(len(ids), dtype=np.int64)
    np.add.at(lost, failures.job[hit], failures.lost[hit])
    text = "job {0}: lost {1} in jobs.csv, {2} in failures.csv"
    finding.where(lost != jobs["lost"], text, ids, jobs["lost"], lost)
    if not given.complete:
        mine, time = failures.job[hit], failures.time[hit]
        early = (time <= jobs["start"][mine]) | (time > jobs["last_start"][mine])
        finding.where(early, "job {0} was not running at {1}, when hit", ids[mine], time)
        return finding.check(f"{int(hit.sum())} failures hit jobs as often as they restarted")
    _match_kills(given, finding)
    return finding.check(f"{int((~given.runs.finished).sum())} failed runs, each with its failure")


def _match_kills(given: Folder, finding: Finding) -> None:
    """Failed runs and failures that hit a job are the same, told twice."""
    runs, failures = given.runs, given.failures
    ids = np.array(given.jobs.ids, dtype=object)
    killed = np.flatnonzero(~runs.finished)
    ended = {"job": runs.job[killed], "time": runs.end[killed]}
    left = pl.DataFrame({**ended, "run": killed, "lost": runs.lost[killed]})
    hit = failures.job >= 0
    hits = {"job": failures.job[hit], "time": failures.time[hit]}
    right = pl.DataFrame({**hits, "node": failures.node[hit], "said": failures.lost[hit]})
    keys = ["job", "time"]
    alone = left.join(right, on=keys, how="anti")
    _note(finding, alone, ids, "job {0}: a run failed at {1} without a failure")
    alone = right.join(left, on=keys, how="anti")
    _note(finding, alone, ids, "job {0}: a failure at {1} ended no run of it")
    both = left.join(right, on=keys)
    unlike = both.filter(pl.col("lost") != pl.col("said"))
    _note(finding, unlike, ids, "job {0}: runs.csv and failures.csv differ in the loss at {1}")
    at = _on_node(runs.nodes, both["run"].to_numpy(), both["node"].to_numpy())
    elsewhere = both.filter(pl.Series(~at, dtype=pl.Boolean))
    _note(finding, elsewhere, ids, "job {0}: failed at {1} by a node that it did not run on")


def _note(finding: Finding, rows: pl.DataFrame, ids: npt.NDArray[np.object_], text: str) -> None:
    every = np.ones(len(rows), dtype=np.bool_)
    finding.where(every, text, ids[rows["job"].to_numpy()], rows["time"].to_numpy())


def _on_node(nodes: NodeRanges, owner: Int, node: Int) -> Bool:
    """Return, for each pair, whether that owner has that node (its ranges being disjoint)."""
    width = int(max(nodes.stop.max(initial=1), node.max(initial=0) + 1)) + 1
    key = nodes.owner * width + nodes.first
    order = np.argsort(key)
    at = np.searchsorted(key[order], owner * width + node, side="right") - 1
    found = order[np.maximum(at, 0)]
    result: Bool = (at >= 0) & (nodes.owner[found] == owner) & (node < nodes.stop[found])
    return result
