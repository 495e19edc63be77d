"""The files of a run's folder as the certifier reads them, sharing nothing with what wrote them.

`jobs.csv`, `failures.csv`, `summary.json` and, where it is there, `runs.csv`; whatever cannot be
what it should be is a TraceError that names the file, the line and the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.app.kit.sheet import MAX_NODES, Bool, Int
from forestall.model.errors import TraceError
from forestall.model.units import MAX_SECONDS

JOB_COLUMNS = (
    *("job", "submit", "size", "runtime", "start", "last_start", "finish", "deadline", "promise"),
    *("kept", "restarts", "checkpoints", "skipped", "lost", "nodes"),
)
RUN_COLUMNS = ("job", "start", "end", "outcome", "checkpoints", "lost", "nodes")
FAILURE_COLUMNS = ("time", "node", "downtime", "detectability", "kind", "job", "lost")
ACCOUNT = ("useful", "lost", "checkpoint_overhead", "idle", "down", "total")
MAX_WORK = 2**60


@dataclass(frozen=True)
class NodeRanges:
    """Node ranges [first, stop) of many owners, which are rows of some table."""

    owner: Int
    first: Int
    stop: Int


@dataclass(frozen=True)
class JobTable:
    """`jobs.csv`: whole numbers by the name of their column, and what may be empty apart."""

    ids: list[str]
    column: dict[str, Int]
    deadline: Int  # -1 where `promised` is not set
    promise: npt.NDArray[np.float64]
    kept: Bool
    promised: Bool
    nodes: NodeRanges

    def __getitem__(self, name: str) -> Int:
        return self.column[name]


@dataclass(frozen=True)
class RunTable:
    """Runs in order of (job, start); without `runs.csv` only the last ones, as the jobs say."""

    job: Int
    start: Int
    end: Int
    finished: Bool
    completed: Int
    lost: Int
    nodes: NodeRanges


@dataclass(frozen=True)
class FailureTable:
    """`failures.csv`: every failure that was played."""

    time: Int
    node: Int
    downtime: Int
    job: Int  # position of the job that was hit, or -1
    lost: Int


@dataclass(frozen=True)
class Summary:
    """What the certifier looks at in `summary.json`."""

    nodes: int
    overhead: int
    checkpoint: str
    qos: float | None
    utilization: float
    lost_work: float
    node_seconds: dict[str, int]


@dataclass(frozen=True)
class Folder:
    """All files of a run's folder."""

    jobs: JobTable
    runs: RunTable
    failures: FailureTable
    summary: Summary
    complete: bool  # `runs.csv` is there


def _table(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Return these columns as text (null where empty)."""
    try:
        frame = pl.read_csv(path, infer_schema_length=0, null_values=[""])
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except pl.exceptions.NoDataError:
        raise TraceError(path, f"is empty; expected a header with {','.join(columns)}") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        said = (str(error).splitlines() or ["unreadable"])[0]
        raise TraceError(path, f"is no comma-separated table ({said})") from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise TraceError(path, f"lacks column {', '.join(missing)}")
    return frame.select(columns)


def _first_bad(path: Path, bad: pl.Series, text: pl.Series, expected: str) -> None:
    """Raise TraceError for the first row in which `bad` holds."""
    where = bad.arg_true()
    if len(where):
        row = where[0]
        said = "an empty field" if text[row] is None else repr(text[row])
        raise TraceError(path, f"{said} is not {expected}", line=row + 2, field=text.name)


def _whole(path: Path, frame: pl.DataFrame, name: str, least: int, below: int) -> Int:
    numbers = frame[name].str.strip_chars().cast(pl.Int64, strict=False)
    _first_bad(path, numbers.is_null(), frame[name], "a whole number")
    _first_bad(path, numbers < least, frame[name], f"a whole number from {least} up")
    _first_bad(path, numbers >= below, frame[name], f"a whole number below {below}")
    return numbers.to_numpy()


def _times(path: Path, frame: pl.DataFrame, name: str) -> Int:
    return _whole(path, frame, name, 1 - MAX_SECONDS, MAX_SECONDS)


def _hostlists(path: Path, frame: pl.DataFrame) -> NodeRanges:
    parts = (
        frame.select(pl.col("nodes").fill_null("").str.split(","))
        .with_row_index("owner")
        .explode("nodes")
        .with_columns(
            pl.col("nodes").str.extract(r"^\s*(\d{1,9})(?:-\d{1,9})?\s*$", 1).alias("first"),
            pl.col("nodes").str.extract(r"^\s*\d{1,9}-(\d{1,9})\s*$", 1).alias("last"),
        )
        .with_columns(pl.col("first").cast(pl.Int64), pl.col("last").cast(pl.Int64))
        .with_columns(pl.col("last").fill_null(pl.col("first")))
    )
    bad = parts.filter(pl.col("first").is_null() | (pl.col("last") < pl.col("first")))
    if len(bad):
        row = int(bad["owner"][0])
        said = frame["nodes"][row]
        raise TraceError(
            path, f"{said!r} is not a hostlist such as 0-3,7", line=row + 2, field="nodes"
        )
    return NodeRanges(
        parts["owner"].to_numpy().astype(np.int64),
        parts["first"].to_numpy(),
        parts["last"].to_numpy() + 1,
    )


def _read_jobs(path: Path) -> JobTable:
    frame = _table(path, JOB_COLUMNS)
    if not len(frame):
        raise TraceError(path, "holds no jobs")
    _first_bad(path, frame["job"].is_null(), frame["job"], "a job")
    _first_bad(path, ~frame["job"].is_first_distinct(), frame["job"], "a job of its own")
    times = ("submit", "start", "last_start", "finish")
    columns = {name: _times(path, frame, name) for name in times}
    columns["size"] = _whole(path, frame, "size", 1, MAX_NODES)
    columns["runtime"] = _whole(path, frame, "runtime", 1, MAX_SECONDS)
    for name in ("restarts", "checkpoints", "skipped"):
        columns[name] = _whole(path, frame, name, 0, MAX_SECONDS)
    columns["lost"] = _whole(path, frame, "lost", 0, MAX_WORK)
    promised = frame["deadline"].is_not_null()
    for name in ("promise", "kept"):
        halved = frame[name].is_not_null() != promised
        _first_bad(path, halved, frame[name], "there just where a deadline is")
    filled = frame.with_columns(pl.col("deadline").fill_null("-1"))
    deadline = _times(path, filled, "deadline")
    promise = frame["promise"].fill_null("0").str.strip_chars().cast(pl.Float64, strict=False)
    outside = promise.is_null() | ~promise.is_between(0.0, 1.0)
    _first_bad(path, outside, frame["promise"], "a probability")
    said = frame["kept"].fill_null("false").str.strip_chars().str.to_lowercase()
    _first_bad(path, ~said.is_in(["true", "false", "1", "0"]), frame["kept"], "true or false")
    return JobTable(
        frame["job"].str.strip_chars().to_list(),
        columns,
        deadline,
        promise.to_numpy(),
        said.is_in(["true", "1"]).to_numpy(),
        promised.to_numpy(),
        _hostlists(path, frame),
    )


def _positions(path: Path, frame: pl.DataFrame, ids: list[str]) -> Int:
    """Return the position of each row's job, -1 where the field is empty."""
    known = pl.DataFrame({"job": ids, "position": range(len(ids))})
    asked = frame.select(pl.col("job").str.strip_chars())
    found = asked.join(known, on="job", how="left", maintain_order="left")["position"]
    strange = found.is_null() & frame["job"].is_not_null()
    _first_bad(path, strange, frame["job"], "a job of jobs.csv")
    return found.fill_null(-1).to_numpy().astype(np.int64)


def _read_runs(path: Path, ids: list[str]) -> RunTable:
    frame = _table(path, RUN_COLUMNS)
    _first_bad(path, frame["job"].is_null(), frame["job"], "a job")
    outcome = frame["outcome"]
    known = outcome.is_in(["finished", "failed"]).fill_null(value=False)
    _first_bad(path, ~known, outcome, "finished or failed")
    job, start = _positions(path, frame, ids), _times(path, frame, "start")
    nodes = _hostlists(path, frame)
    order = np.lexsort((start, job))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return RunTable(
        job[order],
        start[order],
        _times(path, frame, "end")[order],
        (outcome == "finished").to_numpy()[order],
        _whole(path, frame, "checkpoints", 0, MAX_SECONDS)[order],
        _whole(path, frame, "lost", 0, MAX_WORK)[order],
        NodeRanges(rank[nodes.owner], nodes.first, nodes.stop),
    )


def _last_runs(jobs: JobTable) -> RunTable:
    """Return what the jobs alone tell of the runs: their last ones."""
    count = len(jobs.ids)
    return RunTable(
        np.arange(count),
        jobs["last_start"],
        jobs["finish"],
        np.ones(count, dtype=np.bool_),
        np.where(jobs["restarts"] == 0, jobs["checkpoints"], 0),
        np.zeros(count, dtype=np.int64),
        jobs.nodes,
    )


def _read_failures(path: Path, ids: list[str], nodes: int) -> FailureTable:
    frame = _table(path, FAILURE_COLUMNS)
    node = _whole(path, frame, "node", 0, nodes)
    return FailureTable(
        _times(path, frame, "time"),
        node,
        _whole(path, frame, "downtime", 0, MAX_SECONDS),
        _positions(path, frame, ids),
        _whole(path, frame, "lost", 0, MAX_WORK),
    )


def _value(path: Path, summary: Any, keys: str, kinds: tuple[type, ...], expected: str) -> Any:
    for key in keys.split("."):
        if not isinstance(summary, dict) or key not in summary:
            raise TraceError(path, "is not there", field=keys)
        summary = summary[key]
    bad_number = isinstance(summary, float) and not math.isfinite(summary)
    if isinstance(summary, bool) or not isinstance(summary, kinds) or bad_number:
        raise TraceError(path, f"{summary!r} is not {expected}", field=keys)
    return summary


def _read_summary(path: Path) -> Summary:
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"is not JSON ({str(error).splitlines()[0]})") from None
    number = (int, float)
    nodes = _value(path, summary, "parameters.nodes", (int,), "a number of nodes")
    overhead = _value(path, summary, "parameters.checkpoint_overhead", number, "seconds")
    if not 1 <= nodes < MAX_NODES:
        raise TraceError(path, f"{nodes} is not a number of nodes", field="parameters.nodes")
    if not 0 <= overhead < MAX_SECONDS or overhead != int(overhead):
        raise TraceError(
            path, f"{overhead!r} is not whole seconds", field="parameters.checkpoint_overhead"
        )
    return Summary(
        nodes,
        int(overhead),
        _value(path, summary, "parameters.checkpoint", (str,), "a checkpoint policy"),
        _value(path, summary, "qos", (*number, type(None)), "a number or null"),
        _value(path, summary, "utilization", number, "a number"),
        _value(path, summary, "lost_work", number, "a number"),
        {
            name: _value(path, summary, f"node_seconds.{name}", (int,), "a whole number")
            for name in ACCOUNT
        },
    )


def read_folder(folder: Path) -> Folder:
    """Return what the files of this folder say."""
    if not folder.is_dir():
        raise TraceError(folder, "is no folder of a run")
    summary = _read_summary(folder / "summary.json")
    jobs = _read_jobs(folder / "jobs.csv")
    failures = _read_failures(folder / "failures.csv", jobs.ids, summary.nodes)
    complete = (folder / "runs.csv").exists()
    runs = _read_runs(folder / "runs.csv", jobs.ids) if complete else _last_runs(jobs)
    return Folder(jobs, runs, failures, summary, complete)
