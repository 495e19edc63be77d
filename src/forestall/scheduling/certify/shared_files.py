"""The files of a run whose jobs share nodes, and what several rules make of them.

Shares are in millionths of a node, lost work is in thousandths of a node-second, as files have
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from forestall.core.certify import sheet as read
from forestall.core.certify.folder import RunFolder, table
from forestall.core.certify.intervals import Outages, spread
from forestall.core.certify.sheet import Int, Rows, Sheet
from forestall.core.certify.sums import per
from forestall.core.model.units import MAX_SECONDS
from forestall.scheduling.certify.files import (
    FailureRows,
    JobRows,
    NodeRanges,
    RunRows,
    Texts,
    text_of,
)

Floats = npt.NDArray[np.float64]
MACHINE: Final = "machine.csv"
MEMORY: Final = "memory"
NAMED: Final = ("node", "name", "gpu_type", "features", "partitions")
MILLION, THOUSAND = 10**6, 1000
MOST: Final = 2**32
"""Of a resource in one node, or of tasks: their sums and products stay in 64 bits."""


# ---------------------------------------------------------------------------------------- files


def _resources_of(sheet: Sheet, _: str = "") -> Texts:
    return np.array([n for n in sheet.frame.columns if n not in NAMED], dtype=object)


def _amounts(before: str = "") -> Callable[[Sheet, str], Int]:
    """Return a reader of what rows have of each resource, int64[n, resources]."""

    def of(sheet: Sheet, _: str) -> Int:
        names = sheet.given.get("resources", _resources_of(sheet))
        columns = [
            sheet.whole(f"{before}{name}", 0, MOST) if f"{before}{name}" in sheet.frame.columns
            else np.zeros(len(sheet), dtype=np.int64)
            for name in names
        ]  # fmt: skip
        return np.stack(columns, axis=1)

    return of


@dataclass(frozen=True)
class MachineRows(Rows):
    """`machine.csv`: the nodes, and what each has."""

    FILE: ClassVar = MACHINE
    BESIDES: ClassVar = ("cores", MEMORY, "gpus")
    node: Int = read.whole(0, read.MAX_NODES)
    gpu_type: Texts = read.column(text_of)
    features: Texts = read.column(text_of)
    amounts: Int = read.column(_amounts(), there=False)
    resources: Texts = read.column(_resources_of, there=False)
    """Their names, of which there are as many as `amounts` has columns."""

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        sheet.refuse(self.node != np.arange(len(self)), "node", "the number of the row, from 0")
        sheet.refuse(self.amounts[:, 0] < 1, "cores", "a whole number from 1 up")


@dataclass(frozen=True)
class SharedJobRows(JobRows):
    """`jobs.csv`."""

    lost: Int = read.parts(3)
    share: Int = read.parts(6)
    tasks: Int = read.whole(0, MOST, "asked_tasks")
    exclusive: Int = read.whole(0, 2, "asked_exclusive")
    gpu_type: Texts = read.column(text_of, "asked_gpu_type")
    features: Texts = read.column(text_of, "asked_features")
    amounts: Int = read.column(_amounts("asked_"), there=False)

    @property
    def wanted(self) -> Int:
        """The nodes that each job asks for, or its tasks."""
        return np.where((self.tasks > 0) & (self.exclusive == 0), self.tasks, self.size)


@dataclass(frozen=True)
class SharedRunRows(RunRows):
    """`runs.csv`; `job` is the position of the job."""

    lost: Int = read.parts(3)
    share: Int = read.parts(6)
    units: Texts = read.column(text_of)
    amounts: Int = read.column(_amounts(), there=False)

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        text = sheet.frame["units"].fill_null("")
        sheet.refuse(~text.str.contains(r"^(\d{1,7}( \d{1,7})*)?$"), "units", "tasks such as 3 2")
        last = [int(one.replace("-", ",").rsplit(",", 1)[-1]) for one in self.nodes.tolist()]
        high = np.array(last, dtype=np.int64) >= sheet.given["nodes"]
        sheet.refuse(high, "nodes", "a set of nodes of machine.csv")


@dataclass(frozen=True)
class SharedFailureRows(FailureRows):
    """`failures.csv`; `job` is the position of the first job that was hit, or NONE."""

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
        known = {"nodes": len(self.machine), "resources": self.machine.resources, "stored": False}
        return known if "jobs" not in self.__dict__ else {**known, "ids": self.jobs.name}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the run."""
        held: Mapping[str, Any] = self.summary.value("parameters", (dict,), "an object")
        return held

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
        size: Floats = np.zeros(len(self.runs))
        np.add.at(size, owner, part.max(axis=1, initial=0.0))
        return size

    @cached_property
    def lost(self) -> Floats:
        """What each run lost: whole seconds of its nodes, of which the file has three decimals."""
        unit = np.maximum(THOUSAND * self.size, 1e-12)
        return np.rint(self.runs.lost / unit) * unit

    @cached_property
    def in_order(self) -> Int:
        """The runs by job and start."""
        return np.lexsort((self.runs.start, self.runs.job))

    @cached_property
    def down(self) -> Outages:
        """When nodes are down."""
        failures = self.failures
        return Outages.of(failures.node, failures.time, failures.downtime)
