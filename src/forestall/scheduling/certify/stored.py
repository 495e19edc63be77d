"""Checkpoints in a vault: what they cost and where their pieces are, as `docs/models/vault-in-runs`
has it, from the files alone; and the rule that follows every job through its runs."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import Outages
from forestall.core.certify.sums import mean
from forestall.core.model.stores import Stores

if TYPE_CHECKING:
    from forestall.scheduling.certify.files import PromiseRun, SaveRows

MICRO = 1_000_000
SAVE, LOST = range(2)
"""Kinds of rows of `checkpoints.csv`."""


@dataclass(frozen=True)
class Pieces:
    """The stores of a run on so many nodes; `overhead` is s that a checkpoint takes beside its
    transfer."""

    stores: Stores
    nodes: int
    overhead: int
    outages: Outages

    @cached_property
    def made(self) -> int:
        """Pieces of a checkpoint of one node, or copies on a ring."""
        if self.stores.layout == "ring":
            return 1 + self.stores.parity
        return self.stores.data + self.stores.parity if self.stores.layout == "code" else 1

    def copies(self, size: int) -> int:
        """Return the pieces of a node of a job on `size` nodes: on a ring no more than nodes."""
        return min(self.made, size) if self.stores.layout == "ring" else self.made

    @cached_property
    def needed(self) -> int:
        """Pieces that give it back."""
        return self.stores.data if self.stores.layout == "code" else 1

    @cached_property
    def piece(self) -> int:
        """Bytes of a piece."""
        return -(-math.ceil(self.stores.size / self.stores.ratio) // self.needed)

    @cached_property
    def keepers(self) -> frozenset[int]:
        """The nodes that keep pieces."""
        return frozenset(self.stores.numbers(self.nodes))

    # ------------------------------------------------------------------------------------ costs

    def costs(self, size: int) -> tuple[int, int]:
        """Return what a checkpoint of a job on `size` nodes takes, and a recovery, s."""
        times = sorted(self.piece * MICRO // rate for rate in self._rates(size))
        coding = self.stores.size * MICRO // self.stores.speed

        def seconds(sending: int) -> int:
            return max(-(-max(coding, sending) // MICRO), 1)

        slowest = times[len(times) - self.needed :]
        return self.overhead + seconds(sum(times)), seconds(sum(slowest))

    def _rates(self, size: int) -> list[int]:
        s = self.stores
        if s.layout == "local":
            return [s.disk]
        if s.layout == "ring":
            sent = self.copies(size) - 1
            return [s.disk] + [max(min(s.near, s.host // sent), 1) for _ in range(sent)]
        path = {
            "server": (s.near, s.server), "remote": (s.far, s.server), "submitter": (s.far, s.line)
        }.get(s.layout)  # fmt: skip
        if path is not None:
            return [max(min(path[0], path[1] // size), 1)]
        each = s.host // math.ceil(size / len(self.keepers))
        paths = [s.near if k % s.sites == 0 else s.far for k in range(self.made)]
        return [max(min(path, each), 1) for path in paths]

    # ----------------------------------------------------------------------------------- places

    @cached_property
    def _down(self) -> dict[int, tuple[list[int], list[int]]]:
        """When each node that failed went, and came back, ascending."""
        found: dict[int, tuple[list[int], list[int]]] = {}
        down = self.outages
        columns = (down.node.tolist(), down.start.tolist(), down.end.tolist())
        for node, start, end in zip(*columns, strict=True):
            gone, back = found.setdefault(node, ([], []))
            gone.append(start)
            back.append(end)
        return found

    def is_down(self, node: int, time: int) -> bool:
        """Return whether a node is down in a second."""
        gone, back = self._down.get(node, ([], []))
        k = bisect.bisect_right(gone, time) - 1
        return k >= 0 and time < back[k]

    @cached_property
    def _sites(self) -> list[list[int]]:
        sites = self.stores.sites
        numbers = range(self.nodes)
        return [[n for n in numbers if n * sites // self.nodes == site] for site in range(sites)]

    def places(self, node: int, time: int) -> list[int]:
        """Return the stores of the pieces that a node sends from a time on; of those that find no
        store there is nothing."""
        own = node * self.stores.sites // self.nodes
        offset = self._sites[own].index(node)
        found: list[int] = []
        for piece in range(self.made):
            there = self._sites[(own + piece) % self.stores.sites]
            turned = (there[(offset + step) % len(there)] for step in range(1, len(there) + 1))
            for store in turned:
                free = store != node and store in self.keepers and store not in found
                if free and not self.is_down(store, time):
                    found.append(store)
                    break
        return found

    def holders(self, nodes: list[int], k: int) -> list[int]:
        """Return the nodes that have copies of what the k-th node of a job saved: it, and by turns
        its next ones to the right and to the left, around the end."""
        ring = sorted(nodes)
        turns = range(self.copies(len(ring)))
        return [ring[(k + ((i + 1) // 2 if i % 2 else -(i // 2))) % len(ring)] for i in turns]

    def is_there(self, nodes: list[int], saved: int, time: int) -> bool:
        """Return whether what these nodes saved, from one time on, can be had at another."""
        if self.stores.layout == "local":
            return not any(self.is_down(node, time) for node in nodes)
        if self.stores.layout == "ring":
            return all(
                any(not self.is_down(store, time) for store in self.holders(nodes, k))
                for k in range(len(nodes))
            )
        return self.stores.layout != "code" or all(
            sum(not self.is_down(store, time) for store in self.places(node, saved)) >= self.needed
            for node in nodes
        )


# ----------------------------------------------------------------------------- job by job


@dataclass
class _Job:
    """A job as it is followed through its runs.

    Attributes
    ----------
    rows : its rows of `checkpoints.csv` that are still to come
    held : what is kept of it, the oldest first: work, when the save began, and nodes
    owed : work that was saved, could not be had, and stands in no run yet
    """

    job: int
    rows: list[int]
    held: list[tuple[int, int, list[int]]] = field(default_factory=list)
    owed: int = 0

    @property
    def saved(self) -> int:
        """Work in the newest that is kept."""
        return self.held[-1][0] if self.held else 0

    def next(self, rows: SaveRows, kind: int, before: int) -> int | None:
        """Take the next row where it is of this kind and begins before a time."""
        here = self.rows and rows.kind[self.rows[0]] == kind and rows.start[self.rows[0]] < before
        return self.rows.pop(0) if here else None


def stored(run: PromiseRun, finding: Finding) -> str:
    """How long saves take, what each run goes on from, and what cannot be had."""
    rows, runs = run.saves, run.runs
    order = np.argsort(rows.job, kind="stable")
    cuts = np.searchsorted(rows.job[order], np.arange(len(run.jobs) + 1))
    jobs = [_Job(j, order[cuts[j] : cuts[j + 1]].tolist()) for j in range(len(run.jobs))]
    nodes: list[list[int]] = [[] for _ in range(len(runs))]
    ranges = run.nodes
    for owner, first, stop in zip(ranges.owner, ranges.first, ranges.stop, strict=True):
        nodes[owner] += range(first, stop)
    for k in range(len(runs)):
        _run(run, rows, jobs[runs.job[k]], k, nodes[k], finding)
    left = rows.take(np.array([row for job in jobs for row in job.rows], dtype=np.int64))
    left.where(finding, np.ones(len(left), np.bool_), "belongs to no run of job {job}")
    begun = np.bincount(rows.job[rows.kind == SAVE], minlength=len(run.jobs))
    run.jobs.compare(finding, "job {name}", {"checkpoints": begun}, "in checkpoints.csv")
    return f"{len(rows)} rows of {len(jobs)} jobs, each consistent with its size, paths and stores"


def _run(
    run: PromiseRun, rows: SaveRows, mine: _Job, k: int, nodes: list[int], finding: Finding
) -> None:
    """Follow a job through one run, from what it found lost before it."""
    runs = run.runs
    start, end = int(runs.start[k]), int(runs.end[k])
    while (row := mine.next(rows, LOST, start + 1)) is not None:
        _lost(run, rows, mine, row, finding)
    if mine.held and not run.pieces.is_there(mine.held[-1][2], mine.held[-1][1], start):
        text = "job {job} resumes at {start} from a checkpoint that cannot be recovered"
        runs.wrong(finding, k, text)
    said = (int(runs.resumed[k]), int(runs.unrecovered[k]))
    here = (mine.saved, mine.owed * int(run.jobs.size[mine.job]))
    if said != here:
        text = "job {job}, from {start} on: resumed and unrecovered are {said} instead of {here}"
        runs.wrong(finding, k, text, said=str(said), here=str(here))
    mine.owed = 0
    pause, recovery = int(run.pause[mine.job]), int(run.recovery[mine.job])
    work, since, done = mine.saved, start + (recovery if mine.saved else 0), 0
    while (row := mine.next(rows, SAVE, end)) is not None:
        begin, until, over = int(rows.start[row]), int(rows.until[row]), bool(rows.complete[row])
        work += begin - since
        if begin < since or work != rows.work[row]:
            text = "job {job}: a checkpoint of {work} s of work, but {here} s were done"
            rows.wrong(finding, row, text, here=work)
        cut = not over and not runs.finished[k] and end < begin + pause
        if until != (end if cut else begin + pause) or over == cut:
            text = "job {job}: a save from {start} to {until}, but it takes {pause} s"
            rows.wrong(finding, row, text, pause=pause)
        since = until
        if over:
            done += 1
            mine.held = [*mine.held, (work, begin, nodes)][-run.pieces.stores.keep :]
    if done != runs.completed[k]:
        text = "job {job}: {completed} checkpoints completed in its run from {start} on, {done} in "
        runs.wrong(finding, k, text + "checkpoints.csv", done=done)
    if runs.finished[k] and work + end - since != run.jobs.runtime[mine.job]:
        text = "job {job} finishes with {done} s of work done, of {runtime} s"
        labels = {"done": work + end - since, "runtime": run.jobs.runtime[mine.job]}
        runs.wrong(finding, k, text, **labels)


def _lost(run: PromiseRun, rows: SaveRows, mine: _Job, row: int, finding: Finding) -> None:
    """Follow a job that falls back to the newest checkpoint that can be had."""
    now, before, count = int(rows.start[row]), mine.saved, len(mine.held)
    while mine.held and not run.pieces.is_there(mine.held[-1][2], mine.held[-1][1], now):
        mine.held = mine.held[:-1]
    if len(mine.held) == count:
        text = "job {job} falls back although the newest checkpoint is recoverable"
        rows.wrong(finding, row, text)
    mine.owed += before - mine.saved
    if rows.work[row] != mine.saved or rows.until[row] != now or rows.complete[row]:
        text = "job {job} falls back to {work} s of work, but {here} s are recoverable"
        rows.wrong(finding, row, text, here=mine.saved)


def measures(run: PromiseRun) -> dict[str, Any]:
    """Return the measures of the vault."""
    rows, resumed = run.saves, run.runs.resumed > 0
    over = rows.complete
    copies = [run.pieces.copies(size) * size for size in run.jobs.size[rows.job[over]].tolist()]
    return {
        "saves": int(over.sum()),
        "broken_saves": int(((rows.kind == SAVE) & ~over).sum()),
        "recoveries": int(resumed.sum()),
        "fallbacks": int((rows.kind == LOST).sum()),
        "unrecovered": int(run.runs.unrecovered.sum()),
        "save_seconds": mean((rows.until - rows.start)[over]),
        "recovery_seconds": mean(run.recovery[run.runs.job[resumed]]),
        "bytes_saved": sum(copies) * run.pieces.piece,
    }
