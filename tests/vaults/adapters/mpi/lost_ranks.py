"""Ranks killed in every collective: the rows of the table, their runs, and what must have come of
each. `make ranks` runs all of it, the tests a part."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final, NamedTuple

from vaults.adapters.mpi.starting import start

PROGRAM = Path(__file__).with_name("collectives_program.py")
CALLS = (
    "Barrier", "Bcast", "Reduce", "Allreduce", "Gather", "Gatherv", "Allgather", "Allgatherv",
    "Scatter", "Scatterv", "Alltoall", "Alltoallv", "Scan", "Exscan", "Reduce_scatter",
    "Reduce_scatter_block", "Ibarrier", "Iallreduce", "Sendrecv", "barrier", "bcast", "gather",
    "allgather", "scatter", "alltoall", "reduce", "allreduce", "scan", "exscan", "sendrecv", "Dup",
    "Split", "save", "restore",
)  # fmt: skip
Plan = list[tuple[str, list[int], str]]


class Went(NamedTuple):
    """What became of a run.

    Attributes
    ----------
    wrong : what should not have been, in words
    errors : how often MPI gave which error for a loss
    slowest : s from an error to the state it goes on with, at most
    sources : where each call's loss was recovered from
    """

    wrong: list[str]
    errors: Counter[str]
    slowest: float
    sources: dict[str, str]


def one_by_one(calls: tuple[str, ...], processes: int, first: int = 0) -> Plan:
    """Return a plan in which each call costs one process, alternately inside and before it."""
    order = [(first + 5 * k) % processes for k in range(processes)]
    assert len(set(order)) == processes
    assert len(calls) <= processes - 2
    return [(call, [order[k]], ("in", "before")[k % 2]) for k, call in enumerate(calls)]


CRASHES: Final = 2
"""Runs that Open MPI itself may end: now and then it crashes as a loss becomes known, while nothing
of ours runs."""


def crashed(stderr: str) -> bool:
    """Whether a process died in Open MPI's own code."""
    frames = stderr.partition("Segmentation fault")[2]
    return "libopen-pal" in frames or "libmpi" in frames


def outlived(folder: Path, plan: Plan) -> bool:
    """Whether one that was to die did not: deaths come by the clock, and where one meant for a
    recovery comes after it, in the next call, that call's own does not."""
    ended = {int(one.name.removeprefix("made-")) for one in folder.glob("made-*")}
    return any(ended & set(victims) for _, victims, _ in plan)


def run(folder: Path, count: int, plan: Plan, timeout: float = 120.0, **more: Any) -> Went:
    """Run a plan, and look at what every process that was left restored."""
    for attempt in range(CRASHES + 1):
        place = folder / str(attempt)
        place.mkdir(parents=True)
        stores = (
            {"stores": [f"{one}-{attempt}" for one in more["stores"]]} if "stores" in more else {}
        )
        told = {"folder": str(place), "plan": plan, **more, **stores}
        done = start(PROGRAM, count, told, timeout)
        if not (crashed(done.stderr) or outlived(place, plan)) or attempt == CRASHES:
            break
    return went(place, count, plan, done)


def went(folder: Path, count: int, plan: Plan, done: CompletedProcess[str]) -> Went:
    """Return what became of a run."""
    victims = {victim for _, dead, _ in plan for victim in dead}
    made = {int(one.name[5:]): one.read_text() for one in folder.glob("made-*")}
    wrong = []
    if {rank for rank, text in made.items() if text == str(len(plan))} != (
        set(range(count)) - victims
    ):
        wrong.append(f"ended: {made}; {done.stdout[-500:]} {done.stderr[-2000:]}")
    errors: Counter[str] = Counter()
    slowest, sources, seen = 0.0, {}, set()
    for log in folder.glob("log-*"):
        for line in log.read_text().splitlines():
            number, error, _, step, source, _, unequal, took = json.loads(line)
            if unequal:
                wrong.append(f"{log.name}: the states of {unequal} are others: {line}")
            if number >= 0 and step != number + 1:
                wrong.append(f"{log.name}: an older step than the last one: {line}")
            if number >= 0:
                seen.add(number)
                errors[error] += 1
                slowest = max(slowest, took)
                sources[plan[number][0]] = source
    if missing := [call for k, (call, *_) in enumerate(plan) if k not in seen and call != "agree"]:
        wrong.append(f"no loss was met in {missing}")
    return Went(wrong, errors, slowest, sources)
