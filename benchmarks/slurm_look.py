"""One look at a large cluster: from Slurm's answers to a snapshot, without Slurm's own time.

The answers are those that real clusters gave (`tests/slurm/recorded`), with their entries
repeated under other names. A first look reads all of it; the next one, in which a third of the
nodes and a tenth of the jobs tell something new, reads only these.

`python -m benchmarks.slurm_look [NODES] [JOBS]`
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from itertools import cycle, islice
from typing import Any

from benchmarks.common import ROOT
from forestall.slurm.cluster.looks import LookAnswers, snapshot
from forestall.slurm.control import documents, entries
from forestall.slurm.control.lines import nodes_of_lines

RECORDED = ROOT / "tests/slurm/recorded"
TIMES = 5


def many(path: str, under: str, key: str, count: int, name: Any) -> bytes:
    """Return a recorded answer with so many entries."""
    whole = json.loads((RECORDED / path).read_bytes())
    found = islice(cycle(whole[under]), count)
    whole[under] = [one | {key: name(k)} for k, one in enumerate(found, 1)]
    return json.dumps(whole, indent=2).encode()


def lines(path: str, count: int) -> bytes:
    """Return recorded lines of nodes, so many."""
    found = islice(cycle((RECORDED / path).read_text().splitlines()), count)
    told = (f"NodeName=n{k} {line.split(' ', 1)[1]}" for k, line in enumerate(found, 1))
    return ("\n".join(told) + "\n").encode()


def look(queue: bytes, nodes: bytes) -> None:
    """Read both answers into a snapshot, and compare it with the one before."""
    told = documents.document(queue, "queue")
    if nodes.startswith(b"{"):
        found = documents.nodes_of(documents.document(nodes, "nodes").value)
    else:
        found = nodes_of_lines(documents.decoded(nodes)[0])
    jobs = documents.jobs_of(told.value)
    answers = LookAnswers(2_000_000_000, 2_000_000_000, told.told_at, jobs, found, [], [], None, "")
    snapshot(answers, snapshot(answers, None))


def changed(raw: bytes, under: str, key: str, each: int) -> bytes:
    """Return an answer in which each so many-th entry tells something new."""
    whole = json.loads(raw)
    for one in whole[under][::each]:
        one[key] = 77
    return json.dumps(whole, indent=2).encode()


def next_look(queue: bytes, nodes: bytes) -> float:
    """Return the s of the processor that it takes to read a look after another one."""
    readers = (entries.remembered_jobs(), entries.remembered_nodes())
    queue_then = changed(queue, "jobs", "priority", 10)
    nodes_then = changed(nodes, "nodes", "cpu_load", 3)
    answers = ((queue, nodes), (queue_then, nodes_then))
    start = 0.0
    for told in answers:
        start = time.process_time()
        for reader, raw in zip(readers, told, strict=True):
            reader.read(raw, lambda _: None)
    return time.process_time() - start


def main() -> None:
    """Print a line for each version."""
    count, jobs = [int(word) for word in sys.argv[1:3]] or [10_000, 5_000]
    for version in ("22.05", "24.11", "26.05"):
        queue = many(f"{version}/squeue.json", "jobs", "job_id", jobs, int)
        if version == "22.05":
            nodes = lines(f"{version}/scontrol.node.epoch.txt", count)
        else:
            path = f"{version}/scontrol.node.json"
            nodes = many(path, "nodes", "name", count, lambda k: f"n{k}")
        spent = []
        for _ in range(TIMES):
            start = time.process_time()
            look(queue, nodes)
            spent.append(time.process_time() - start)
        size = (len(queue) + len(nodes)) / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        what = f"Slurm {version}: {count:,} nodes, {jobs:,} jobs, {size:.0f} MB"
        time_spent = statistics.median(spent)
        print(f"{what}: {time_spent:.2f} s of processor time, peak {peak:.0f} MiB")
        if nodes.startswith(b"{"):
            after = statistics.median(next_look(queue, nodes) for _ in range(TIMES))
            print(f"  the next look: {after:.2f} s of processor time")


if __name__ == "__main__":
    main()
