"""Rules of runs and their nodes: how many, in which order, one job at a time, what ended each, and
the work done in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import (
    Axis,
    firsts,
    inside,
    last_begun,
    lasts,
    merged,
    overlapping,
    touches,
)
from forestall.core.certify.sheet import Bool, Int
from forestall.core.certify.sums import per, ratio, recomputed
from forestall.scheduling.certify.files import NodeRanges, PromiseRun

EXACT: Final = 1e-12
BLOCK = 4_000_000
"""Node intervals looked at together: bounds the memory, whatever the size of the machine."""


@dataclass
class Sweep:
    """What the walk over all nodes finds.

    `down` and `covered` are node-seconds between the first submission and the last finish: those
    of outages, and those of outages and runs together, each second of a node counted once.
    """

    two_jobs: Finding = field(default_factory=Finding)
    while_down: Finding = field(default_factory=Finding)
    survived: Finding = field(default_factory=Finding)
    down: int = 0
    covered: int = 0


def sweep(run: PromiseRun) -> Sweep:
    """Look at every node from its first run to its last."""
    runs, failures, found = run.runs, run.failures, Sweep()
    begin, end = int(run.jobs.submit.min()), int(run.jobs.finish.max())
    axis = Axis.over(runs.start, runs.end, failures.time, np.array([begin, end]))
    failing = axis.key(failures.node, failures.time)
    back = axis.key(failures.node, failures.time + failures.downtime)
    down = merged(failing, back)
    failing.sort()
    down_node = axis.owner(down[0])
    low, high = (axis.key(down_node, np.full(len(down_node), at)) for at in (begin, end))
    out = [np.clip(one, low, high) for one in down]  # within the account
    found.down = int((out[1] - out[0]).sum())
    for first, stop, row, node in _blocks(run.nodes, run.given.nodes):
        order = np.argsort(axis.key(node, runs.start[row]), kind="stable")
        row, node = row[order], node[order]
        start, until, name = runs.start[row], runs.end[row], run.jobs.name[runs.job[row]]
        starts, ends = axis.key(node, start), axis.key(node, until)
        text = "node {0} runs job {1} at {2}, before job {3} has ended"
        twice = overlapping(starts, ends)
        found.two_jobs.where(twice, text, node, name, start, np.roll(name, 1))
        text, labels = "job {0} runs on node {1} from {2} to {3}, ", (name, node, start, until)
        is_down = touches(*down, starts, ends)
        found.while_down.where(is_down, text + "while the node is down", *labels)
        past = inside(failing, starts, ends, at_start=False)
        found.survived.where(past, text + "past a failure of the node", *labels)
        mine = (down_node >= first) & (down_node < stop)
        held = (axis.key(node, np.clip(one, begin, end)) for one in (start, until))
        union = merged(*(np.append(a, b[mine]) for a, b in zip(held, out, strict=True)))
        found.covered += int((union[1] - union[0]).sum())
    return found


def _blocks(nodes: NodeRanges, machine: int) -> Iterator[tuple[int, int, Int, Int]]:
    """Yield [low, high) of node numbers with owner and node of each interval on them."""
    total = int((np.minimum(nodes.stop, machine) - np.minimum(nodes.first, machine)).sum())
    width = max(1, machine // max(1, -(-total // BLOCK)))
    for low in range(0, machine, width):
        high = min(low + width, machine)
        first, stop = np.maximum(nodes.first, low), np.minimum(nodes.stop, high)
        count = np.maximum(stop - first, 0)
        owner = np.repeat(nodes.owner, count)
        begins = np.cumsum(count) - count
        yield low, high, owner, np.arange(len(owner)) + np.repeat(first - begins, count)


# ---------------------------------------------------------------------------------------- nodes


def sizes(run: PromiseRun, finding: Finding) -> str:
    """Each run has exactly as many distinct nodes as its job asked for, all of the machine."""
    runs, nodes, count = run.runs, run.nodes, run.given.nodes
    order = np.lexsort((nodes.first, nodes.owner))
    owner, first, stop = nodes.owner[order], nodes.first[order], nodes.stop[order]
    of_range = runs.take(owner)
    text = f"job {{job}} has node {{node}}, but the machine has {count} nodes"
    of_range.where(finding, stop > count, text, node=stop - 1)
    twice = ~firsts(owner)
    twice[1:] &= first[1:] < stop[:-1]
    of_range.where(finding, twice, "job {job} has node {node} twice", node=first)
    have, size = per(owner, len(runs), stop - first), run.jobs.size[runs.job]
    text = "job {job} asked for {size} nodes and ran on {have} from {start} on"
    runs.where(finding, have != size, text, size=size, have=have)
    return f"{len(have)} runs, each on as many nodes as requested"


def spares(run: PromiseRun, finding: Finding) -> str:
    """A job runs on a spare node only once it has lost a node: in a run or, where it counts on
    spares, by an outage between its submission and its first start; and the measures of spares."""
    runs, nodes, failures = run.runs, run.nodes, run.failures
    first = run.given.nodes - run.given.spares
    before = firsts(runs.job) if run.is_complete else run.jobs.restarts[runs.job] == 0
    waited = np.zeros(len(runs), dtype=np.bool_)
    if run.given.parameters.get("failovers"):
        order = np.argsort(failures.time, kind="stable")
        until = np.maximum.accumulate((failures.time + failures.downtime)[order])
        by_start = np.searchsorted(failures.time[order], runs.start, side="right")
        waited = np.append(-1, until)[by_start] > run.jobs.submit[runs.job]
    early = (before & ~waited)[nodes.owner] & (nodes.stop > first)
    text = "job {job} runs on spare node {node}, but has lost no node before"
    runs.take(nodes.owner).where(finding, early, text, node=nodes.stop - 1)
    took = np.unique(nodes.owner[nodes.stop > first])
    if run.is_complete:
        here, said = np.flatnonzero(~firsts(runs.job)), run.summary.held.get("spares")
        at_once = runs.start[here] == runs.end[here - 1]
        mine = {"restarts": len(here), "at_once": int(at_once.sum()), "on_spares": len(took)}
        if mine != said:
            finding.wrong("spares are {0} in summary.json, {1} recomputed", said, mine)
    return f"{len(took)} runs used some of the {run.given.spares} spares, each after a failure"


def nearness(run: PromiseRun, finding: Finding) -> str:
    """The measures of how near each other the nodes of runs were, anew."""
    where, count = run.given.topology or "", run.given.nodes
    sets = [_numbers(text) for text in run.runs.nodes.tolist()]
    if where == "contiguous":
        most, places = count, [sum(node - 1 not in mine for node in mine) for mine in sets]
    else:
        at = _switch_of(where, count)
        most, places = max(map(at.count, at)), [len({at[node] for node in mine}) for mine in sets]
    able = [count for count, mine in zip(places, sets, strict=True) if 2 <= len(mine) <= most]
    near, places_mean = ratio(able.count(1), len(able)), ratio(sum(able), len(able))
    mine = {"could": len(able), "near": near, "places_mean": places_mean}
    recomputed(lambda _: mine, "topology", EXACT)(run, finding)
    return f"{able.count(1)} of {len(able)} runs that could have nodes near each other do"


def _numbers(text: str) -> set[int]:
    """Return the nodes of a list such as 0-3,7."""
    ends = [(int(low), int(high or low)) for low, high in re.findall(r"(\d+)(?:-(\d+))?", text)]
    return {node for low, high in ends for node in range(low, high + 1)}


def _switch_of(where: str, nodes: int) -> list[int]:
    """Return the switch of the lowest level that each node is at; each its own where it has
    none."""
    if where.isdigit():
        return [node // int(where) for node in range(nodes)]
    at = [-1 - node for node in range(nodes)]
    for number, word in enumerate(where.split(";", maxsplit=1)[0].split()):
        for node in _numbers(word.partition("=")[2]):
            at[node] = number
    return at


# ----------------------------------------------------------------------------------------- order


def order(run: PromiseRun, finding: Finding) -> str:
    """The runs of a job follow each other and agree with what the jobs say."""
    jobs, runs = run.jobs, run.runs
    runs.where(finding, runs.end <= runs.start, "job {job} runs from {start} to {end}")
    jobs.where(finding, jobs.start < jobs.submit, "job {name} starts before its submission")
    text = "job {name} has its last start before its first"
    jobs.where(finding, jobs.last_start < jobs.start, text)
    again = (jobs.restarts > 0) != (jobs.last_start > jobs.start)
    jobs.where(finding, again, "job {name}: restarts contradict first and last start")
    if not run.is_complete:
        return "starts and finishes of the jobs in order"
    count = per(runs.job, len(jobs))
    wrong = count != jobs.restarts + 1
    jobs.where(finding, wrong, "job {name}: {restarts} restarts, {count} runs", count=count)
    first = firsts(runs.job)
    last = lasts(first)
    late = ~first
    late[1:] &= runs.start[1:] < runs.end[:-1]
    runs.where(finding, late, "job {job} runs again at {start}, before its previous run has ended")
    text = "job {job} runs on after it finished at {end}"
    runs.where(finding, runs.finished & ~last, text)
    runs.where(finding, ~runs.finished & last, "the last run of job {job} does not finish")
    for rows, mine, name in (
        (first, runs.start, "start"), (last, runs.start, "last_start"), (last, runs.end, "finish"),
    ):  # fmt: skip
        of = jobs.take(runs.job[rows])
        of.compare(finding, "job {name}", {name: mine[rows]}, "in runs.csv")
    of_last, ranges = last[run.nodes.owner], NodeRanges.of(jobs.nodes)
    owner, low, high = (values[of_last] for values in vars(run.nodes).values())
    sets = [
        _canonical(runs.job[owner], low, high),
        _canonical(ranges.owner, ranges.first, ranges.stop),
    ]
    apart = [sets[k].join(sets[1 - k], on=sets[0].columns, how="anti")["owner"] for k in (0, 1)]
    bad = np.isin(np.arange(len(jobs)), pl.concat(apart).to_numpy())
    jobs.where(finding, bad, "job {name}: its nodes are not those of its last run")
    return f"{len(runs)} runs of {len(jobs)} jobs, one at a time per job"


def _canonical(owner: Int, first: Int, stop: Int) -> pl.DataFrame:
    """Return the ranges in order, neighbours joined: equal sets become equal rows."""
    order = np.lexsort((first, owner))
    owner, first, stop = owner[order], first[order], stop[order]
    begins = firsts(owner)
    begins[1:] |= first[1:] != stop[:-1]
    columns = {"owner": owner[begins], "first": first[begins], "stop": stop[lasts(begins)]}
    return pl.DataFrame(columns)


def sorted_rows(run: PromiseRun, finding: Finding) -> str:
    """Jobs stand in the order of their submission, runs of their start, failures of their time."""
    run.jobs.in_order(finding, run.jobs.submit)
    run.failures.in_order(finding, run.failures.time)
    if run.is_complete:
        runs = run.runs.take(np.argsort(run.runs.line))
        runs.in_order(finding, runs.start)
    return "jobs, runs and failures in order of time"


# -------------------------------------------------------------------------------- failed runs


def kills(run: PromiseRun, finding: Finding) -> str:
    """Every failed run has its failure, and every failure that names a job has its failed run."""
    jobs, failures = run.jobs, run.failures
    hits = failures.take(failures.hit)
    times_hit = per(hits.job, len(jobs))
    text = "job {name}: {restarts} restarts, but hit by {hit} failures"
    jobs.where(finding, times_hit != jobs.restarts, text, hit=times_hit)
    text = "a failure at {time} hit no job and lost {lost}"
    failures.where(finding, ~failures.hit & (failures.lost != 0), text)
    lost = per(hits.job, len(jobs), hits.lost) + run.of_jobs(run.runs.unrecovered)
    jobs.compare(finding, "job {name}", {"lost": lost}, "in failures.csv")
    if not run.is_complete:
        job = hits.job
        early = (hits.time <= jobs.start[job]) | (hits.time > jobs.last_start[job])
        hits.where(finding, early, "job {job} was not running at {time}, when hit")
        return f"{len(hits)} failures hit jobs as often as they restarted"
    runs = run.runs
    killed = np.flatnonzero(~runs.finished)
    failed = runs.take(killed)
    text = "the end of a run that failed"
    failed.match(finding, text, {"job": hits.job, "end": hits.time}, "failures.csv")
    ended = {"job": failed.job, "time": failed.end, "run": killed}
    both = pl.DataFrame(ended).join(
        pl.DataFrame({"job": hits.job, "time": hits.time, "hit": np.arange(len(hits))}),
        on=["job", "time"],
    )
    of, hit = runs.take(both["run"].to_numpy()), hits.take(both["hit"].to_numpy())
    of.compare(finding, "job {job}, its run until {end}", {"lost": hit.lost}, "in failures.csv")
    away = ~_on_node(run.nodes, both["run"].to_numpy(), hit.node)
    hit.where(finding, away, "job {job}: failed at {time} by a node that it did not run on")
    return f"{len(failed)} failed runs, each with its failure"


def _on_node(nodes: NodeRanges, owner: Int, node: Int) -> Bool:
    """Return, for each pair, whether that owner has that node (its ranges being disjoint)."""
    order = np.lexsort((nodes.first, nodes.owner))
    at = last_begun(nodes.owner[order], nodes.first[order], owner, node)
    found: Bool = (at >= 0) & (node < nodes.stop[order][at])
    return found


# ------------------------------------------------------------------------------------------ work


def work(run: PromiseRun, finding: Finding) -> str:
    """Busy time is useful time, lost time and the pauses of checkpoints, job by job."""
    jobs, runs, pause, size = run.jobs, run.runs, run.pause, run.jobs.size
    if run.is_complete:
        busy = run.of_jobs(runs.end - runs.start) * size
        need = jobs.runtime * size + jobs.lost + pause * size * run.of_jobs(runs.paid)
        need += run.recovery * size * run.of_jobs(runs.fetched)
    else:  # the last run only: all of a job without restarts, at most the rest of one with them
        busy = (runs.end - runs.start) * size
        need = (jobs.runtime + pause * jobs.checkpoints) * size
        unknown = (jobs.restarts > 0) & (jobs.checkpoints > 0)
        need = np.where(unknown, np.minimum(need, busy), need)
    text = (
        "job {name} was busy for {busy} node-seconds, but useful, lost and checkpoint time sum to "
        "{need}"
    )
    jobs.where(finding, busy != need, text, busy=busy, need=need)
    if run.given.checkpoint == "none":
        jobs.where(finding, jobs.checkpoints > 0, "job {name} has checkpoints, but they were off")
    if run.is_complete:
        _losses(run, finding)
    return f"useful, lost and checkpoint time of {len(jobs)} jobs fill their runs"


def _losses(run: PromiseRun, finding: Finding) -> None:
    """What each run lost, and what the jobs say of their runs."""
    jobs, runs = run.jobs, run.runs
    pause, recovery, size = run.pause[runs.job], run.recovery[runs.job], jobs.size[runs.job]
    length, failed = runs.end - runs.start, ~runs.finished
    text = "job {job} lost work in a run that finished"
    runs.where(finding, runs.finished & (runs.lost != 0), text)
    all_lost = failed & (runs.completed == 0) & (runs.lost != length * size)
    text = "job {job} lost {lost} in a run without checkpoints of {length} s on {size} nodes"
    runs.where(finding, all_lost, text, length=length, size=size)
    most = (length - pause * (runs.completed - 1) - recovery * runs.fetched) * size
    off = (runs.lost < pause * size) | (runs.lost > most) | (runs.lost % size != 0)
    text = "job {job} cannot have lost {lost} after a checkpoint"
    runs.where(finding, failed & (runs.completed > 0) & off, text)
    lost = run.of_jobs(runs.lost + runs.unrecovered)
    jobs.compare(finding, "job {name}", {"lost": lost}, "in runs.csv")
    completed = run.of_jobs(runs.completed)
    broken = jobs.checkpoints - completed  # those in progress when a run failed
    text = "job {name}: {checkpoints} checkpoints performed, {completed} completed"
    odd = (broken < 0) | (broken > jobs.restarts)
    jobs.where(finding, odd, text, completed=completed)
