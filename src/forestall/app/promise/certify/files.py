"""The files of a run's folder as the certifier reads them, sharing nothing with what wrote them:
`jobs.csv`, `failures.csv`, `summary.json` and, where it is there, `runs.csv`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.sheet import NONE, Bool, Int, Reals, Rows, Sheet, Summary
from forestall.app.kit.certify.sums import per
from forestall.app.promise.certify.pieces import Pieces, outages_of
from forestall.model.cluster.topology import Topology
from forestall.model.errors import TraceError
from forestall.model.failures import PLANNED
from forestall.model.units import MAX_SECONDS
from forestall.model.vault.stores import Stores

OUTCOMES = ("finished", "failed")
FINISHED = 0
ACCOUNT = ("useful", "lost", "checkpoint_overhead", "idle", "down", "total")
MAX_WORK = 2**60
Texts = npt.NDArray[np.object_]


def probability(sheet: Sheet, name: str) -> Reals:
    """Return probabilities, 0 where a field is empty."""
    text = sheet.frame[name].fill_null("0").str.strip_chars()
    chance = text.cast(pl.Float64, strict=False)
    sheet.refuse(chance.is_null() | ~chance.is_between(0.0, 1.0), name, "a probability")
    return chance.to_numpy()


def _truth(sheet: Sheet, name: str) -> Bool:
    """Return truth values, false where a field is empty."""
    said = sheet.frame[name].fill_null("false").str.strip_chars().str.to_lowercase()
    sheet.refuse(~said.is_in(["true", "false", "1", "0"]), name, "true or false")
    return said.is_in(["true", "1"]).to_numpy()


def hostlists(sheet: Sheet, name: str) -> Texts:
    """Return node sets as they are written, such as 0-3,7; each is one."""
    text = sheet.frame[name].fill_null("")
    part = r"\s*\d{1,9}(-\d{1,9})?\s*"
    sheet.refuse(~text.str.contains(f"^{part}(,{part})*$"), name, "a hostlist such as 0-3,7")
    backwards = NodeRanges.of(text.to_numpy())
    odd = per(backwards.owner, len(sheet), (backwards.stop <= backwards.first).astype(np.int64))
    sheet.refuse(odd > 0, name, "a hostlist such as 0-3,7")
    return text.to_numpy()


@dataclass(frozen=True)
class NodeRanges:
    """Node ranges [first, stop) of many owners, which are rows of some table."""

    owner: Int
    first: Int
    stop: Int

    @classmethod
    def of(cls, texts: Texts) -> Self:
        """Return the ranges of node sets as they are written."""
        parts = (
            pl.DataFrame({"nodes": pl.Series(texts, dtype=pl.String).str.split(",")})
            .with_row_index("owner")
            .explode("nodes")
            .with_columns(pl.col("nodes").str.split_exact("-", 1).alias("ends"))
            .unnest("ends")
            .with_columns(pl.col("field_0", "field_1").str.strip_chars().cast(pl.Int64))
        )
        last = parts["field_1"].fill_null(parts["field_0"])
        owner = parts["owner"].to_numpy().astype(np.int64)
        return cls(owner, parts["field_0"].to_numpy(), last.to_numpy() + 1)


@dataclass(frozen=True)
class JobRows(Rows):
    """`jobs.csv`; `deadline` is NONE where nothing is promised."""

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
    lost: Int = read.whole(0, MAX_WORK)
    deadline: Int = read.seconds(empty=True)
    promise: Reals = read.column(probability)
    kept: Bool = read.column(_truth)
    nodes: Texts = read.column(hostlists)

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        for name in ("promise", "kept"):
            halved = sheet.empty(name) == self.promised
            sheet.refuse(halved, name, "consistent with deadline (both or neither are set)")

    @property
    def promised(self) -> Bool:
        """Whether there is a promise."""
        made: Bool = self.deadline != NONE
        return made


@dataclass(frozen=True)
class RunRows(Rows):
    """`runs.csv`, in order of (job, start); `job` is the position of the job."""

    FILE: ClassVar = "runs.csv"
    job: Int = read.job()
    start: Int = read.seconds()
    end: Int = read.seconds()
    outcome: Int = read.words(OUTCOMES)
    completed: Int = read.whole(0, MAX_SECONDS, "checkpoints")
    lost: Int = read.whole(0, MAX_WORK)
    nodes: Texts = read.column(hostlists)
    line: Int = read.line()

    @property
    def finished(self) -> Bool:
        """Whether the job was finished."""
        good: Bool = self.outcome == FINISHED
        return good

    @classmethod
    def last_of(cls, jobs: JobRows) -> Self:
        """Return what the jobs alone tell of the runs: their last ones."""
        count = len(jobs)
        none = np.zeros(count, dtype=np.int64)
        completed = np.where(jobs.restarts == 0, jobs.checkpoints, 0)
        order, ends = np.arange(count), (jobs.last_start, jobs.finish)
        return cls(order, *ends, none + FINISHED, completed, none, jobs.nodes, order + 2)


@dataclass(frozen=True)
class StoredRunRows(RunRows):
    """`runs.csv` of a run with a vault: also the work that each began with, s, and what had been
    saved beyond it and could not be had, node-s."""

    resumed: Int = read.whole(0, MAX_SECONDS)
    unrecovered: Int = read.whole(0, MAX_WORK)


SAVE, LOST = range(2)


def _flags(sheet: Sheet, name: str) -> Bool:
    flags: Bool = sheet.words(name, ("false", "true")) == 1
    return flags


@dataclass(frozen=True)
class SaveRows(Rows):
    """`checkpoints.csv`, as it stands; `job` is the position of the job."""

    FILE: ClassVar = "checkpoints.csv"
    job: Int = read.job()
    kind: Int = read.words(("save", "lost"))
    start: Int = read.seconds()
    until: Int = read.seconds()
    complete: Bool = read.column(_flags)
    work: Int = read.whole(0, MAX_SECONDS)
    line: Int = read.line()


def _planned(sheet: Sheet) -> Bool:
    """Return which failures were planned outages."""
    return (sheet.frame["kind"] == PLANNED).fill_null(value=False).to_numpy()


@dataclass(frozen=True)
class FailureRows(Rows):
    """`failures.csv`: every failure that was played; `job` is the position of the job that was hit,
    or NONE."""

    FILE: ClassVar = "failures.csv"
    time: Int = read.seconds()
    node: Int = read.whole(0, "nodes")
    downtime: Int = read.whole(0, MAX_SECONDS)
    job: Int = read.job(empty=True)
    lost: Int = read.whole(0, MAX_WORK)
    detectability: Reals = read.column(probability)
    planned: Bool = read.column(lambda sheet, _: _planned(sheet), "kind")

    @property
    def hit(self) -> Bool:
        """Whether it hit a job."""
        some: Bool = self.job != NONE
        return some


@dataclass(frozen=True)
class Given:
    """What the certifier looks at in `summary.json`; `overhead` is s of a checkpoint, or what is
    added to it where it goes to `stores`; `vault` what is measured of those; `topology` which nodes
    are near each other, and `near` what is measured of that; `spares` the nodes of the highest
    numbers that only jobs get that have lost a node, `spared` what is measured of them."""

    nodes: int
    overhead: int
    checkpoint: str
    qos: float | None
    utilization: float
    lost_work: float
    node_seconds: dict[str, int]
    stores: Stores | None = None
    vault: Any = None
    topology: str | None = None
    near: Any = None
    spares: int = 0
    spared: Any = None

    @classmethod
    def of(cls, said: Summary) -> Self:
        """Return what the summary says."""
        number = (int, float)
        nodes = said.whole("parameters.nodes", 1, read.MAX_NODES)
        spared = said.value("parameters", (dict,), "an object").get("spares") is not None

        def topology(text: str) -> str:
            Topology.of(text).units(nodes)
            return text

        account: dict[str, Any] = {
            name: said.value(f"node_seconds.{name}", (int,), "a whole number") for name in ACCOUNT
        }
        return cls(
            nodes=nodes,
            overhead=said.whole("parameters.checkpoint_overhead", 0, MAX_SECONDS),
            checkpoint=said.value("parameters.checkpoint", (str,), "a checkpoint policy"),
            qos=said.value("qos", (*number, type(None)), "a number or null"),
            utilization=said.measure("utilization"),
            lost_work=said.measure("lost_work"),
            node_seconds=account,
            stores=said.stores(),
            vault=said.held.get("vault"),
            topology=said.parameter("topology", topology),
            near=said.held.get("topology"),
            spares=said.whole("parameters.spares", 0, read.MAX_NODES) if spared else 0,
            spared=said.held.get("spares"),
        )


@dataclass(frozen=True)
class PromiseRun:
    """All files of a run's folder; `complete` where `runs.csv` is one of them, which it is with a
    vault; `saves` only there."""

    jobs: JobRows
    runs: RunRows
    failures: FailureRows
    given: Given
    complete: bool
    summary: Summary
    saves: SaveRows | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return what the files of this folder say."""
        if not folder.is_dir():
            raise TraceError(folder, "not a folder of a run")
        summary = Summary.of(folder)
        given = Given.of(summary)
        jobs = JobRows.read(folder)
        failures = FailureRows.read(folder, ids=jobs.name, nodes=given.nodes)
        stored = given.stores is not None
        complete = stored or (folder / RunRows.FILE).exists()
        rows = StoredRunRows if stored else RunRows
        runs = rows.read(folder, ids=jobs.name) if complete else RunRows.last_of(jobs)
        runs = runs.take(np.lexsort((runs.start, runs.job)))
        saves = SaveRows.read(folder, ids=jobs.name) if stored else None
        return cls(jobs, runs, failures, given, complete, summary, saves)

    @cached_property
    def nodes(self) -> NodeRanges:
        """The nodes of the runs."""
        return NodeRanges.of(self.runs.nodes)

    @property
    def names(self) -> Int:
        """The job of each run."""
        return self.jobs.name[self.runs.job]

    def of_jobs(self, values: Int) -> Int:
        """Return the sum of values of runs for each job."""
        return per(self.runs.job, len(self.jobs), values)

    @cached_property
    def pieces(self) -> Pieces:
        """What the stores of a run with a vault say."""
        assert self.given.stores is not None, "only runs with a vault are asked"
        failures = self.failures
        told = (failures.node.tolist(), failures.time.tolist(), failures.downtime.tolist())
        return Pieces(self.given.stores, self.given.nodes, self.given.overhead, outages_of(*told))

    @cached_property
    def _costs(self) -> Int:
        """What a checkpoint of each job takes, and going on from one, s; int64[jobs, 2]."""
        if self.given.stores is None:
            return np.tile(np.array([self.given.overhead, 0], dtype=np.int64), (len(self.jobs), 1))
        kinds, which = np.unique(self.jobs.size, return_inverse=True)
        told = [self.pieces.costs(one) for one in kinds.tolist()]
        costs: Int = np.array(told, dtype=np.int64)[which]
        return costs

    @property
    def pause(self) -> Int:
        """What a checkpoint of each job takes, s."""
        return self._costs[:, 0]

    @property
    def recovery(self) -> Int:
        """What going on from a checkpoint takes each job, s."""
        return self._costs[:, 1]

    @property
    def resumed(self) -> Int:
        """The work that each run began with, s; 0 where it does not matter."""
        runs = self.runs
        return runs.resumed if isinstance(runs, StoredRunRows) else np.zeros(len(runs), np.int64)

    @property
    def unrecovered(self) -> Int:
        """What had been saved before each run and could not be had, node-s."""
        runs = self.runs
        if isinstance(runs, StoredRunRows):
            return runs.unrecovered
        return np.zeros(len(runs), np.int64)

    @property
    def fetched(self) -> Int:
        """Whether each run began with a recovery that is not part of what was lost: 0 or 1."""
        runs = self.runs
        return ((self.resumed > 0) & (runs.finished | (runs.completed > 0))).astype(np.int64)

    @property
    def paid(self) -> Int:
        """The completed checkpoints of each run whose pause is not part of what was lost."""
        runs = self.runs
        return np.where(runs.finished, runs.completed, np.maximum(runs.completed - 1, 0))
