"""The certifier's rules of runs: their nodes, their order, and what ended them."""

from __future__ import annotations

import numpy as np
import polars as pl

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import firsts, lasts
from forestall.app.kit.certify.sheet import Bool, Int
from forestall.app.kit.certify.sums import Said, per, unlike
from forestall.app.promise.certify.files import NodeRanges, PromiseRun


def sizes(run: PromiseRun, finding: Finding) -> str:
    """Each run has exactly as many distinct nodes as its job asked for, all of the machine."""
    runs, nodes, names = run.runs, run.nodes, run.names
    order = np.lexsort((nodes.first, nodes.owner))
    owner, first, stop = nodes.owner[order], nodes.first[order], nodes.stop[order]
    text = f"job {{0}} has node {{1}}, but the machine has {run.given.nodes} nodes"
    finding.where(stop > run.given.nodes, text, names[owner], stop - 1)
    twice = ~firsts(owner)
    twice[1:] &= first[1:] < stop[:-1]
    finding.where(twice, "job {0} has node {1} twice", names[owner], first)
    have = per(owner, len(runs), stop - first)
    size = run.jobs.size[runs.job]
    text = "job {0} asked for {1} nodes and ran on {2} from {3} on"
    finding.where(have != size, text, names, size, have, runs.start)
    return f"{len(have)} runs, each on as many nodes as requested"


def spares(run: PromiseRun, finding: Finding) -> str:
    """A job runs on a spare node only once it has lost a node; and the measures of spares."""
    runs, nodes = run.runs, run.nodes
    first = run.given.nodes - run.given.spares
    before = firsts(runs.job) if run.complete else run.jobs.restarts[runs.job] == 0
    early = before[nodes.owner] & (nodes.stop > first)
    text = "job {0} runs on spare node {1}, but has lost no node before"
    finding.where(early, text, run.names[nodes.owner], nodes.stop - 1)
    took = np.unique(nodes.owner[nodes.stop > first])
    if run.complete:
        here = np.flatnonzero(~firsts(runs.job))
        at_once = runs.start[here] == runs.end[here - 1]
        mine = {"restarts": len(here), "at_once": int(at_once.sum()), "on_spares": len(took)}
        if mine != run.given.spared:
            finding.all([f"spares are {run.given.spared} in summary.json, {mine} recomputed"])
    return f"{len(took)} runs used some of the {run.given.spares} spares, each after a failure"


def order(run: PromiseRun, finding: Finding) -> str:
    """The runs of a job follow each other and agree with what the jobs say."""
    jobs, runs, ids, names = run.jobs, run.runs, run.jobs.name, run.names
    ends = (names, runs.start, runs.end)
    finding.where(runs.end <= runs.start, "job {0} runs from {1} to {2}", *ends)
    finding.where(jobs.start < jobs.submit, "job {0} starts before its submission", ids)
    finding.where(jobs.last_start < jobs.start, "job {0} has its last start before its first", ids)
    again = (jobs.restarts > 0) != (jobs.last_start > jobs.start)
    finding.where(again, "job {0}: restarts contradict first and last start", ids)
    if not run.complete:
        return "starts and finishes of the jobs in order"
    runs_of = per(runs.job, len(jobs))
    finding.where(runs_of == 0, "job {0} has no run", ids)
    wrong = (runs_of > 0) & (runs_of != jobs.restarts + 1)
    finding.where(wrong, "job {0}: {1} restarts, {2} runs", ids, jobs.restarts, runs_of)
    late = np.zeros(len(runs), dtype=np.bool_)
    late[1:] = (runs.job[1:] == runs.job[:-1]) & (runs.start[1:] < runs.end[:-1])
    text = "job {0} runs again at {1}, before its previous run has ended"
    finding.where(late, text, names, runs.start)
    first = firsts(runs.job)
    last = lasts(first)
    finding.where(
        runs.finished & ~last, "job {0} runs on after it finished at {1}", names, runs.end
    )
    finding.where(~runs.finished & last, "the last run of job {0} does not finish", names)
    for rows, mine, name in (
        (first, runs.start, "start"),
        (last, runs.start, "last_start"),
        (last, runs.end, "finish"),
    ):
        said = Said(name, getattr(jobs, name)[runs.job][rows], mine[rows])
        text = "job {2}: {column} is {0} in jobs.csv, {1} in runs.csv"
        unlike(finding, text, [said], names[rows])
    _same_nodes(run, finding, last)
    return f"{len(names)} runs of {len(ids)} jobs, one at a time per job"


def _same_nodes(run: PromiseRun, finding: Finding, last: Bool) -> None:
    """The nodes of a job are those of its last run."""
    nodes, runs = run.nodes, run.runs
    mine = last[nodes.owner]
    of_runs = _canonical(runs.job[nodes.owner[mine]], nodes.first[mine], nodes.stop[mine])
    said = NodeRanges.of(run.jobs.nodes)
    of_jobs = _canonical(said.owner, said.first, said.stop)
    columns = of_jobs.columns
    apart = (
        of_runs.join(of_jobs, on=columns, how="anti"),
        of_jobs.join(of_runs, on=columns, how="anti"),
    )
    bad = np.zeros(len(run.jobs), dtype=np.bool_)
    bad[pl.concat(apart)["owner"].unique().to_numpy()] = True
    text = "job {0}: nodes in jobs.csv are not those of its last run"
    finding.where(bad, text, run.jobs.name)


def _canonical(owner: Int, first: Int, stop: Int) -> pl.DataFrame:
    """Return the ranges in order, neighbours joined: equal sets become equal rows."""
    order = np.lexsort((first, owner))
    owner, first, stop = owner[order], first[order], stop[order]
    begins = firsts(owner)
    begins[1:] |= first[1:] != stop[:-1]
    return pl.DataFrame(
        {"owner": owner[begins], "first": first[begins], "stop": stop[lasts(begins)]}
    )


def kills(run: PromiseRun, finding: Finding) -> str:
    """Every failed run has its failure, and every failure that names a job has its failed run."""
    jobs, failures, ids = run.jobs, run.failures, run.jobs.name
    hits = failures.take(failures.hit)
    times_hit = per(hits.job, len(ids))
    text = "job {0}: {1} restarts, but hit by {2} failures"
    finding.where(times_hit != jobs.restarts, text, ids, jobs.restarts, times_hit)
    idle_loss = ~failures.hit & (failures.lost != 0)
    text = "a failure at {0} hit no job and lost {1}"
    finding.where(idle_loss, text, failures.time, failures.lost)
    taken = per(hits.job, len(ids), hits.lost) + run.of_jobs(run.unrecovered)
    lost = Said("lost", jobs.lost, taken)
    unlike(finding, "job {2}: {column} {0} in jobs.csv, {1} in failures.csv", [lost], ids)
    if not run.complete:
        early = (hits.time <= jobs.start[hits.job]) | (hits.time > jobs.last_start[hits.job])
        text = "job {0} was not running at {1}, when hit"
        finding.where(early, text, ids[hits.job], hits.time)
        return f"{len(hits)} failures hit jobs as often as they restarted"
    _match_kills(run, finding)
    return f"{int((~run.runs.finished).sum())} failed runs, each with its failure"


def _match_kills(run: PromiseRun, finding: Finding) -> None:
    """Failed runs and failures that hit a job are the same, told twice."""
    runs, hits = run.runs, run.failures.take(run.failures.hit)
    killed = np.flatnonzero(~runs.finished)
    ended = {"job": runs.job[killed], "time": runs.end[killed]}
    left = pl.DataFrame({**ended, "run": killed, "lost": runs.lost[killed]})
    right = pl.DataFrame({"job": hits.job, "time": hits.time, "node": hits.node, "said": hits.lost})
    keys, ids = ["job", "time"], run.jobs.name
    alone = left.join(right, on=keys, how="anti")
    _note(finding, alone, ids, "job {0}: a run failed at {1} without a failure")
    alone = right.join(left, on=keys, how="anti")
    _note(finding, alone, ids, "job {0}: a failure at {1} ended no run of it")
    both = left.join(right, on=keys)
    differ = both.filter(pl.col("lost") != pl.col("said"))
    _note(finding, differ, ids, "job {0}: runs.csv and failures.csv differ in the loss at {1}")
    at = _on_node(run.nodes, both["run"].to_numpy(), both["node"].to_numpy())
    elsewhere = both.filter(pl.Series(~at, dtype=pl.Boolean))
    _note(finding, elsewhere, ids, "job {0}: failed at {1} by a node that it did not run on")


def _note(finding: Finding, rows: pl.DataFrame, ids: Int, text: str) -> None:
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
