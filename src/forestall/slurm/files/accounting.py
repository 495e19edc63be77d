"""A site's records as Parquet: runs of jobs, outages of nodes, nodes, and estimates of starts.

`runs.parquet` is also what `read_job_records` takes: its columns job, nodes (a hostlist), start,
end, state and cores are named for that. Times are Unix seconds where the records are dated; what
has not happened, and what is not told, is null. A time limit of -1 is none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import check_columns
from forestall.core.files.parquet import (
    coded,
    parquet_columns,
    read_parquet,
    schema_names,
    text_column,
    told_by,
    whole,
    whole_column,
    write_parquet,
)
from forestall.core.files.pipes import is_there
from forestall.core.model.coded import Coded
from forestall.core.model.errors import TraceError
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED, Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.node_events import NATURES, NodeEvents
from forestall.slurm.records.start_estimates import StartEstimates

with lazily():
    import polars as pl


Long = npt.NDArray[np.int64]
T = TypeVar("T")

NAMES: Final = {
    "job": "job", "which": "which", "attempt": "attempt", "submit": "submit",
    "eligible": "eligible", "start": "start", "end": "end", "suspended": "suspended",
    "limit": "limit", "nodes": "node_count", "asked": "asked_nodes", "cpus": "cores",
    "gpus": "gpus", "exit_code": "exit_code", "signal": "signal", "state": "state",
    "reason": "reason", "user": "user", "account": "account", "partition": "partition",
    "qos": "qos", "name": "name", "nodelist": "nodes", "excluded": "excluded",
    "failed_node": "failed_node", "task": "task", "at_once": "at_once", "het": "het_job",
    "memory": "memory_mib",
}  # fmt: skip
"""Columns of `Accounting`, and what they are called in the file."""
_TIMES: Final = ("start", "end")
_SURE: Final = ("job", "which", "attempt", "submit", "suspended")
_OPTIONAL: Final = ("task", "at_once", "het", "memory")
"""Columns that are left out where there is nothing of them: arrays, heterogeneous jobs, memory."""
_NO_LIMIT: Final = -1


def write_accounting(runs: Accounting, path: str | Path) -> None:
    """Write runs; all but the remarks comes back. The file appears whole or not at all."""
    columns = []
    for ours, theirs in NAMES.items():
        column = getattr(runs, ours)
        if ours in _OPTIONAL and bool(np.all(column == UNKNOWN)):
            continue
        if isinstance(column, Coded):
            columns.append(text_column(theirs, column))
            continue
        missing = None if ours in _SURE else column == (NEVER if ours in _TIMES else UNKNOWN)
        if ours == "limit":
            column = np.where(column == UNLIMITED, _NO_LIMIT, column)
        columns.append(whole_column(theirs, column, missing))
    told = {
        "kind": "runs",
        "begin": runs.begin,
        "until": runs.until,
        "dated": runs.dated,
        "machine_nodes": runs.machine_nodes,
        "cores_per_node": runs.cores_per_node,
        "source": runs.source,
    }
    write_parquet(pl.DataFrame(columns), path, told)


def read_accounting(path: str | Path) -> Accounting:
    """Read runs that `write_accounting` wrote. Raises TraceError where the file is none."""
    told = _told(path, "runs")
    columns: dict[str, Any] = {}
    texts = {"state", "reason", "user", "account", "partition", "qos", "name", "nodelist",
             "excluded", "failed_node"}  # fmt: skip
    shorts = {"attempt", "nodes", "asked", "cpus", "gpus", "exit_code", "signal", "at_once",
              "memory"}  # fmt: skip
    there = parquet_columns(Path(path))
    for ours, theirs in NAMES.items():  # one at a time: they do not lie in memory twice
        if ours in _OPTIONAL and theirs not in there:
            continue
        table = _columns(path, theirs)
        if ours in texts:
            columns[ours] = coded(table[theirs])
            continue
        missing = NEVER if ours in _TIMES else UNKNOWN
        if ours == "limit":
            columns[ours] = _limits(table, path)
        else:
            columns[ours] = whole(
                table, theirs, missing, np.int32 if ours in shorts else np.int64, path
            )
    return _built(
        path,
        lambda: Accounting(
            **columns,
            begin=int(told["begin"]),
            until=int(told["until"]),
            dated=bool(told["dated"]),
            machine_nodes=_number(told["machine_nodes"]),
            cores_per_node=_number(told["cores_per_node"]),
            source=str(told["source"]),
        ),
    )


def _limits(table: pl.DataFrame, path: str | Path) -> Long:
    none = (table[NAMES["limit"]] == _NO_LIMIT).fill_null(False).to_numpy()
    limit = whole(table, NAMES["limit"], UNKNOWN, np.int64, path)
    return np.where(none, UNLIMITED, limit)


def write_events(events: NodeEvents, path: str | Path) -> None:
    """Write outages; all but the remarks comes back."""
    nature = Coded(events.nature.astype(np.int32), NATURES)
    columns = [
        text_column("node", Coded(events.node.astype(np.int32), events.names)),
        whole_column("begin", events.begin),
        whole_column("end", events.end, events.end == NEVER),
        text_column("nature", nature),
        text_column("state", events.state),
        text_column("reason", events.reason),
        text_column("user", events.user),
    ]
    told = {
        "kind": "events",
        "names": list(events.names),
        "begin": events.span[0],
        "until": events.span[1],
        "dated": events.dated,
        "source": events.source,
    }
    write_parquet(pl.DataFrame(columns), path, told)


def read_events(path: str | Path) -> NodeEvents:
    """Read outages that `write_events` wrote. Raises TraceError where the file is none."""
    told = _told(path, "events")
    table = _columns(path, "node", "begin", "end", "nature", "state", "reason", "user")
    node, nature = coded(table["node"]), coded(table["nature"])

    def build() -> NodeEvents:
        names = tuple(map(str, told["names"]))
        place = {name: number for number, name in enumerate(names)}
        return NodeEvents(
            np.array([place[word] for word in node.words], dtype=np.int64)[node.code]
            if len(node)
            else np.empty(0, dtype=np.int64),
            whole(table, "begin", UNKNOWN, np.int64, path),
            whole(table, "end", NEVER, np.int64, path),
            coded(table["state"]),
            coded(table["reason"]),
            coded(table["user"]),
            np.array([NATURES.index(word) for word in nature.words], dtype=np.int8)[nature.code]
            if len(nature)
            else np.empty(0, dtype=np.int8),
            names,
            (int(told["begin"]), int(told["until"])),
            dated=bool(told["dated"]),
            source=str(told["source"]),
        )

    return _built(path, build)


def write_inventory(nodes: Inventory, path: str | Path) -> None:
    """Write nodes; all but the remarks comes back."""
    columns = [
        text_column("node", Coded.of(nodes.names)),
        whole_column("cpus", nodes.cpus, nodes.cpus < 0),
        whole_column("gpus", nodes.gpus, nodes.gpus < 0),
        whole_column("memory_mb", nodes.memory_mb, nodes.memory_mb < 0),
        text_column("partitions", Coded.of([",".join(some) for some in nodes.partitions])),
        text_column("hardware", Coded.of(nodes.hardware)),
        text_column("state", Coded.of(nodes.state)),
        text_column("reason", Coded.of(nodes.reason)),
        whole_column("boot", nodes.boot, nodes.boot < 0),
    ]
    limits = {
        name: None if limit == NEVER else limit for name, limit in nodes.partition_limits.items()
    }
    told = {
        "kind": "nodes",
        "partition_limits": limits,
        "partitions": list(nodes.partition_limits),
        "seen": nodes.seen,
        "source": nodes.source,
    }
    write_parquet(pl.DataFrame(columns), path, told)


def read_inventory(path: str | Path) -> Inventory:
    """Read nodes that `write_inventory` wrote. Raises TraceError where the file is none."""
    told = _told(path, "nodes")
    wholes, texts = ("cpus", "gpus", "memory_mb", "boot"), ("hardware", "state", "reason")
    table = _columns(path, "node", "partitions", *wholes, *texts)
    numbers: dict[str, Any] = {name: whole(table, name, UNKNOWN, np.int64, path) for name in wholes}
    words: dict[str, Any] = {name: tuple(coded(table[name]).texts()) for name in texts}
    limits = told.get("partition_limits", {})
    names = tuple(coded(table["node"]).texts())
    if len(set(names) - {""}) < len(names):
        raise TraceError(path, "names a node twice, or a node without a name", field="node")
    return _built(
        path,
        lambda: Inventory(
            names=names,
            partitions=tuple(
                tuple(part for part in text.split(",") if part)
                for text in coded(table["partitions"]).texts()
            ),
            partition_limits={
                name: NEVER if limits[name] is None else int(limits[name])
                for name in told["partitions"]
            },
            seen=_number(told["seen"]),
            source=str(told["source"]),
            **numbers,
            **words,
        ),
    )


def write_estimates(estimates: StartEstimates, path: str | Path) -> None:
    """Write estimates of starts; all but the remarks comes back."""
    columns = [
        whole_column("asked", estimates.asked),
        whole_column("job", estimates.job),
        whole_column("submit", estimates.submit, estimates.submit < 0),
        whole_column("start", estimates.start, estimates.start == NEVER),
    ]
    told = {"kind": "estimates", "source": estimates.source}
    write_parquet(pl.DataFrame(columns), path, told)


def read_estimates(path: str | Path) -> StartEstimates:
    """Read estimates that `write_estimates` wrote. Raises TraceError where the file is none."""
    told = _told(path, "estimates")
    table = _columns(path, "asked", "job", "submit", "start")
    return _built(
        path,
        lambda: StartEstimates(
            whole(table, "asked", UNKNOWN, np.int64, path),
            whole(table, "job", UNKNOWN, np.int64, path),
            whole(table, "submit", UNKNOWN, np.int64, path),
            whole(table, "start", NEVER, np.int64, path),
            source=str(told["source"]),
        ),
    )


def write_jobs(runs: Accounting, path: str | Path, zero: int) -> int:
    """Write each job once, as it would be submitted to a simulation, as a job table; return how
    many were submitted before `zero`, which is time 0.

    A job has the time of its first submission (0 where that lies before time 0: it was waiting
    then), and nodes and run time of its longest run, the last one among equals. The run time of a
    job of which no run ended is null; so is a limit that is not told, or none. Where a run had no
    nodes, the number that was asked for stands. Order: by submission.
    """
    elapsed = np.where(runs.ran, runs.elapsed, UNKNOWN)
    order = np.lexsort((runs.attempt, elapsed, runs.which))
    which = runs.which[order]
    last = np.ones(len(order), dtype=np.bool_)
    last[:-1] = which[1:] != which[:-1]
    chosen = order[last]
    del order, which
    first = np.full(int(runs.which.max(initial=-1)) + 1, NEVER)
    np.minimum.at(first, runs.which, runs.submit)
    submit = first[runs.which[chosen]]
    sequence = np.lexsort((runs.which[chosen], submit))
    chosen, submit = chosen[sequence], submit[sequence]
    size = np.where(runs.nodes[chosen] > 0, runs.nodes[chosen], runs.asked[chosen])
    limit, length = runs.limit[chosen], elapsed[chosen]
    columns = [
        whole_column("job", runs.job[chosen]),
        whole_column("submit", np.maximum(submit - zero, 0)),
        whole_column("size", size, size <= 0),
        whole_column("runtime", length, length < 0),
        whole_column("estimate", limit, (limit < 0) | (limit == UNLIMITED)),
        text_column("user", runs.user.take(chosen)),
        text_column("queue", runs.partition.take(chosen)),
    ]
    write_parquet(pl.DataFrame(columns), path, {"kind": "jobs", "origin": zero})
    return int(np.count_nonzero(submit < zero))


def _told(path: str | Path, kind: str) -> Mapping[str, Any]:
    """Return the metadata; TraceError where it is not that of such a file."""
    if not is_there(path):
        raise TraceError(path, "cannot be read: no such file")
    told = told_by(path)
    if told.get("kind") != kind:
        read_parquet(path, [])  # says so where the file is damaged
        raise TraceError(path, f"not a table of {kind} that forestall import wrote")
    return told


def _columns(path: str | Path, *names: str) -> pl.DataFrame:
    check_columns(path, schema_names(path), names)
    return read_parquet(path, list(names))


def _built(path: str | Path, build: Callable[[], T]) -> T:
    try:
        return build()
    except (AssertionError, KeyError, TypeError, ValueError, IndexError) as error:
        raise TraceError(path, f"is not as forestall import wrote it ({error})") from None


def _number(value: Any) -> int | None:
    return None if value is None else int(value)
