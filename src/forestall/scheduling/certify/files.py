"""The files of a run's folder as the certifier reads them, sharing nothing with what wrote them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.certify import sheet as read
from forestall.core.certify.folder import RunFolder, Summary, table
from forestall.core.certify.intervals import Outages
from forestall.core.certify.sheet import NONE, Bool, Int, Reals, Rows, Sheet
from forestall.core.certify.sums import per
from forestall.core.model.decisions import DecisionKind, Reason
from forestall.core.model.events import EventKind
from forestall.core.model.failures import PLANNED
from forestall.core.model.stores import Stores
from forestall.core.model.topology import Topology
from forestall.core.model.units import MAX_SECONDS
from forestall.scheduling.certify.stored import Pieces

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
    text = sheet.frame[name].fill_null("false").str.strip_chars().str.to_lowercase()
    sheet.refuse(~text.is_in(["true", "false", "1", "0"]), name, "true or false")
    return text.is_in(["true", "1"]).to_numpy()


def amount(sheet: Sheet, name: str) -> Reals:
    """Return numbers from 0 up, 0 where a field is empty."""
    numbers = sheet.frame[name].fill_null("0").str.strip_chars().cast(pl.Float64, strict=False)
    good = numbers.is_finite() & (numbers >= 0)
    sheet.refuse(~good.fill_null(value=False), name, "a number from 0 up")
    return numbers.to_numpy()


def text_of(sheet: Sheet, name: str) -> Texts:
    """Return what stands in a column, "" where a field is empty."""
    return sheet.frame[name].fill_null("").to_numpy().astype(object)


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


def _of_vault(sheet: Sheet, name: str) -> Int:
    there = sheet.given["stored"]
    return sheet.whole(name, 0, MAX_WORK) if there else np.zeros(len(sheet), dtype=np.int64)


@dataclass(frozen=True)
class RunRows(Rows):
    """`runs.csv`, in order of (job, start); `job` is the position of the job. Of a run with a vault
    also the work that each began with, s, and what had been saved beyond it and could not be had,
    node-s."""

    FILE: ClassVar = "runs.csv"
    job: Int = read.job()
    start: Int = read.seconds()
    end: Int = read.seconds()
    outcome: Int = read.words(OUTCOMES)
    completed: Int = read.whole(0, MAX_SECONDS, "checkpoints")
    lost: Int = read.whole(0, MAX_WORK)
    nodes: Texts = read.column(hostlists)
    resumed: Int = read.column(_of_vault, there="stored")
    unrecovered: Int = read.column(_of_vault, there="stored")

    @property
    def finished(self) -> Bool:
        """Whether the job was finished."""
        good: Bool = self.outcome == FINISHED
        return good

    @property
    def fetched(self) -> Int:
        """Whether each run began with a recovery that is not part of what was lost: 0 or 1."""
        return ((self.resumed > 0) & (self.finished | (self.completed > 0))).astype(np.int64)

    @property
    def paid(self) -> Int:
        """The completed checkpoints of each run whose pause is not part of what was lost."""
        return np.where(self.finished, self.completed, np.maximum(self.completed - 1, 0))


class LastRunRows(RunRows):
    """What the jobs alone tell of the runs: their last ones."""

    FILE: ClassVar = JobRows.FILE

    @classmethod
    def of(cls, jobs: JobRows) -> Self:
        """Return the last runs of jobs."""
        none = np.zeros(len(jobs), dtype=np.int64)
        completed = np.where(jobs.restarts == 0, jobs.checkpoints, 0)
        order, ends = np.arange(len(jobs)), (jobs.last_start, jobs.finish)
        return cls(
            jobs.line, order, *ends, none + FINISHED, completed, none, jobs.nodes, none, none
        )


@dataclass(frozen=True)
class SaveRows(Rows):
    """`checkpoints.csv`, as it stands; `job` is the position of the job."""

    FILE: ClassVar = "checkpoints.csv"
    job: Int = read.job()
    kind: Int = read.words(("save", "lost"))
    start: Int = read.seconds()
    until: Int = read.seconds()
    complete: Bool = read.flag()
    work: Int = read.whole(0, MAX_SECONDS)


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
    planned: Bool = read.column(
        lambda sheet, name: (sheet.frame[name] == PLANNED).fill_null(value=False).to_numpy(), "kind"
    )

    @property
    def hit(self) -> Bool:
        """Whether it hit a job."""
        some: Bool = self.job != NONE
        return some


@dataclass(frozen=True)
class PlannedRows(Rows):
    """`maintenance.csv`: nodes that were planned to be out of service in [time, until)."""

    FILE: ClassVar = "maintenance.csv"
    time: Int = read.seconds()
    until: Int = read.seconds()
    node: Int = read.whole(0, "nodes")


@dataclass(frozen=True)
class UserRows(Rows):
    """`users.csv`; `row`, `deadline` NONE and `probability`, `worth` 0 where the user left."""

    FILE: ClassVar = "users.csv"
    name: Int = read.number_of_job()
    submit: Int = read.seconds()
    size: Int = read.whole(1, read.MAX_NODES)
    runtime: Int = read.whole(1, MAX_SECONDS)
    kind: Texts = read.column(text_of)
    least: Reals = read.column(amount)
    value: Reals = read.column(amount)
    soonest: Int = read.seconds()
    latest: Int = read.seconds()
    asked: Int = read.whole(1, 1000)
    shown_rows: Int = read.whole(0, 1000, "shown")
    row: Int = read.whole(1, 1000, empty=True)
    deadline: Int = read.seconds(empty=True)
    probability: Reals = read.column(amount)
    worth: Reals = read.column(amount)

    @property
    def took(self) -> Bool:
        """Whether an offer was taken."""
        took: Bool = self.row != NONE
        return took


# ---------------------------------------------------------------------------------------- the log


OF_NODES: Final = (EventKind.NODE_FAILED, EventKind.NODE_RECOVERED)


def _wanted(sheet: Sheet, name: str) -> Reals:
    return amount(sheet, name) if sheet.given["users"] else np.zeros(len(sheet))


def _has_wanted(sheet: Sheet, _: str) -> Bool:
    there = ~sheet.empty("wanted") if sheet.given["users"] else np.zeros(len(sheet), np.bool_)
    return there


@dataclass(frozen=True)
class PromiseEventRows(Rows):
    """`events.csv`; fields that an event does not tell of are NONE; `wanted` is the probability
    that a user took, 0 where there is none."""

    FILE: ClassVar = "events.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(EventKind), "event")
    job: Int = read.job(empty=True)
    node: Int = read.whole(0, "nodes", empty=True)
    until: Int = read.seconds(empty=True)
    size: Int = read.whole(1, read.MAX_NODES, empty=True)
    estimate: Int = read.whole(1, MAX_SECONDS, empty=True)
    interval: Int = read.whole(0, MAX_SECONDS, empty=True)
    decisions: Int = read.whole()
    wanted: Reals = read.column(_wanted, there="users")
    has_wanted: Bool = read.column(_has_wanted, there=False)

    def refused(self, sheet: Sheet) -> None:
        """See `Rows`."""
        of_node = np.isin(self.kind, OF_NODES)
        submitted = self.kind == EventKind.SUBMITTED
        sheet.only_where(
            {
                "job": ~of_node & (self.kind != EventKind.PASS),
                "node": of_node,
                "until": self.kind == EventKind.NODE_FAILED,
                **dict.fromkeys(("size", "estimate", "interval"), submitted),
            }
        )


@dataclass(frozen=True)
class PromiseDecisionRows(Rows):
    """`decisions.csv`; fields that are empty are NONE."""

    FILE: ClassVar = "decisions.csv"
    time: Int = read.seconds()
    kind: Int = read.words(read.spelled(DecisionKind), "decision")
    job: Int = read.job()
    start: Int = read.seconds(empty=True)
    end: Int = read.seconds(empty=True)
    deadline: Int = read.seconds(empty=True)
    reason: Int = read.words(read.spelled(Reason))
    probability: Reals = read.column(probability)
    nodes: Texts = read.column(text_of)


@dataclass(frozen=True)
class ForeseenRows(Rows):
    """`foreseen.csv`."""

    FILE: ClassVar = "foreseen.csv"
    time: Int = read.seconds()
    node: Int = read.whole(0, "nodes")
    downtime: Int = read.whole(0, MAX_SECONDS)
    detectability: Reals = read.column(probability)


# --------------------------------------------------------------------------------------- the run


@dataclass(frozen=True)
class Given:
    """What the certifier takes from `summary.json`; `overhead` is s of a checkpoint, or what is
    added to it where it goes to `stores`; `topology` which nodes are near each other; `spares` the
    nodes of the highest numbers that only jobs get that have lost a node."""

    nodes: int
    overhead: int
    checkpoint: str
    node_seconds: dict[str, int]
    stores: Stores | None
    topology: str | None
    spares: int
    parameters: dict[str, Any]

    @classmethod
    def of(cls, summary: Summary) -> Self:
        """Return what the summary says; measures that have to be there are looked for."""
        for name in ("utilization", "lost_work"):
            summary.measure(name)
        summary.value("qos", (int, float, type(None)), "a number or null")
        nodes = summary.whole("parameters.nodes", 1, read.MAX_NODES)
        parameters = summary.value("parameters", (dict,), "an object")

        def topology(text: str) -> str:
            Topology.of(text).units(nodes)
            return text

        return cls(
            nodes=nodes,
            overhead=summary.whole("parameters.checkpoint_overhead", 0, MAX_SECONDS),
            checkpoint=summary.value("parameters.checkpoint", (str,), "a checkpoint policy"),
            node_seconds={
                name: summary.value(f"node_seconds.{name}", (int,), "a whole number")
                for name in ACCOUNT
            },
            stores=summary.stores(),
            topology=summary.parameter("topology", topology),
            spares=0 if parameters.get("spares") is None
            else summary.whole("parameters.spares", 0, read.MAX_NODES),
            parameters=parameters,
        )  # fmt: skip


class PromiseRun(RunFolder):
    """The files of a run; `runs.csv` is always there in one with a vault."""

    jobs = table(JobRows, alone=True)
    failures = table(FailureRows)
    saves = table(SaveRows)
    planned = table(PlannedRows)
    users = table(UserRows, alone=True)
    events = table(PromiseEventRows)
    decisions = table(PromiseDecisionRows)
    foreseen = table(ForeseenRows)

    @cached_property
    def given(self) -> Given:
        """What the summary gives."""
        return Given.of(self.summary)

    @property
    def known(self) -> dict[str, Any]:
        """See `RunFolder`."""
        ids, nodes, stored = self.jobs.name, self.given.nodes, self.is_stored
        return {"ids": ids, "nodes": nodes, "stored": stored, "users": self.bargained}

    @property
    def is_stored(self) -> bool:
        """Whether checkpoints went to a vault."""
        return self.given.stores is not None

    @property
    def is_complete(self) -> bool:
        """Whether all runs are known."""
        return self.is_stored or self.has(RunRows.FILE)

    @property
    def is_planned(self) -> bool:
        """Whether there were planned outages."""
        return "planned_outages" in self.summary.held or self.has(PlannedRows.FILE)

    @property
    def bargained(self) -> bool:
        """Whether there were users who bargain."""
        return "users" in self.summary.held or self.has(UserRows.FILE)

    @property
    def has_spares(self) -> bool:
        """Whether there were spare nodes."""
        asked = self.given.parameters.get("spares") is not None
        return asked or self.summary.held.get("spares") is not None

    @property
    def is_foreseen(self) -> bool:
        """Whether what was foreseen is logged."""
        return self.is_logged and self.given.parameters.get("predictor") == "trace"

    @cached_property
    def runs(self) -> RunRows:
        """The runs in order of (job, start)."""
        of_jobs = LastRunRows.of(self.jobs)
        runs = RunRows.read(self.folder, **self.known) if self.is_complete else of_jobs
        return runs.take(np.lexsort((runs.start, runs.job)))

    @cached_property
    def nodes(self) -> NodeRanges:
        """The nodes of the runs."""
        return NodeRanges.of(self.runs.nodes)

    def of_jobs(self, values: Int) -> Int:
        """Return the sum of values of runs for each job."""
        return per(self.runs.job, len(self.jobs), values)

    @cached_property
    def pieces(self) -> Pieces:
        """What the stores of a run with a vault say."""
        assert self.given.stores is not None, "only runs with a vault are asked"
        failures = self.failures
        down = Outages.of(failures.node, failures.time, failures.downtime)
        return Pieces(self.given.stores, self.given.nodes, self.given.overhead, down)

    @cached_property
    def _costs(self) -> Int:
        """What a checkpoint of each job takes, and going on from one, s; int64[jobs, 2]."""
        if self.given.stores is None:
            return np.tile(np.array([self.given.overhead, 0], dtype=np.int64), (len(self.jobs), 1))
        kinds, which = np.unique(self.jobs.size, return_inverse=True)
        costs = [self.pieces.costs(size) for size in kinds.tolist()]
        return np.array(costs, dtype=np.int64)[which]

    @property
    def pause(self) -> Int:
        """What a checkpoint of each job takes, s."""
        return self._costs[:, 0]

    @property
    def recovery(self) -> Int:
        """What going on from a checkpoint takes each job, s."""
        return self._costs[:, 1]
