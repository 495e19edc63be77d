"""Jobs of an SWF log as accounting: what the format tells, and nothing that it does not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files.places import placed
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.core.show.quantities import counted
from forestall.logs.jobs.swf import Swf, read_swf_file
from forestall.slurm.records.accounting import UNKNOWN, UNLIMITED, Accounting

if TYPE_CHECKING:
    from forestall.core.model.cleaning import Cleaning

Long = npt.NDArray[np.int64]

READ: Final = (
    "job", "submit", "wait", "run", "allocated", "processors", "request", "status", "user", "group",
    "application", "queue", "partition",
)  # fmt: skip
"""What is read of SWF's 18 columns."""
STATES: Final = {0: "FAILED", 1: "COMPLETED", 5: "CANCELLED"}
"""Slurm's words for SWF's status; all others leave open how a job ended."""
_NAMED = re.compile(r"\s*;\s*(Queue|Partition)\s*:\s*(\d+)\s+(\S+)\s*")
NO_WAIT: Final = "no_wait"
"""Kind of the remark on jobs whose wait is not told."""


def accounting_of_swf(path: str | Path, per_node: int = 1, *, strict: bool = False) -> Accounting:
    """Return the jobs of an SWF file: start is submit plus wait, dated by UnixStartTime.

    Sizes are processors over `per_node`, rounded up. A job that was cancelled before it had
    processors never started. Jobs whose run time is not told are left out; those whose wait is not
    told are taken to start when they were submitted, and named (`NO_WAIT`). The partition is the
    queue where the log has any, else the partition; the name is the number of the program.

    Raises TraceError if the file cannot be used, ParameterError for a `per_node` below 1.
    """
    if per_node < 1:
        raise ParameterError("processors-per-node", per_node, "at least 1")
    log = read_swf_file(path, strict=strict, wanted=READ)
    order = np.lexsort((log.columns["job"], log.columns["submit"]))
    timed = log.columns["run"][order] >= 0
    never = _never(log)[order]
    cleaning = _remark(
        log.cleaning,
        "no_run_time",
        "jobs without a run time",
        "left out",
        log.line[order][~timed & ~never],
    )
    order = order[timed | never]
    never = _never(log)[order]
    waits = log.columns["wait"][order]
    untold = (waits < 0) & ~never
    text = "jobs without a wait (assumed to start when submitted)"
    cleaning = _remark(cleaning, NO_WAIT, text, "changed", log.line[order][untold])
    return _accounting(log, order, never, per_node, placed(cleaning, Path(log.source).name))


def waits_told(accounting: Accounting) -> bool:
    """Return whether at least half of the jobs have a wait that was recorded."""
    missing = accounting.cleaning.counts().get(NO_WAIT, 0)
    return 2 * missing < max(len(accounting), 1)


def _never(log: Swf) -> npt.NDArray[np.bool_]:
    """Return which jobs were cancelled before they started."""
    columns = log.columns
    return np.asarray(
        (columns["status"] == 5) & (columns["run"] <= 0) & (columns["allocated"] <= 0)
    )


def _remark(
    cleaning: Cleaning, kind: str, text: str, action: Any, lines: npt.NDArray[np.int64]
) -> Cleaning:
    return cleaning.plus(kind, text, action, (f"line {line}" for line in np.sort(lines).tolist()))


def _accounting(
    log: Swf, order: Long, never: npt.NDArray[np.bool_], per_node: int, cleaning: Cleaning
) -> Accounting:
    header = log.header
    origin = _number(header.get("UnixStartTime", ""))
    dated = origin is not None and origin > 0
    zero = origin if origin is not None and dated else 0
    columns = {name: log.columns[name][order] for name in log.columns}
    count = len(order)
    submit = columns["submit"] + zero
    began = submit + np.maximum(columns["wait"], 0)
    end = began + np.maximum(columns["run"], 0)
    size = np.where(columns["allocated"] > 0, columns["allocated"], columns["processors"])
    # SWF has requested processors for jobs that never had any.
    processors = np.where(never, 0, np.where(size > 0, size, UNKNOWN))
    unknown = np.full(count, UNKNOWN, dtype=np.int32)
    limit = columns["request"]
    groups = "queue" if bool((columns["queue"] >= 0).any()) else "partition"
    return Accounting(
        job=columns["job"],
        which=np.arange(count),
        attempt=np.zeros(count, dtype=np.int32),
        submit=submit,
        eligible=np.full(count, UNKNOWN, dtype=np.int64),
        start=np.where(never, NEVER, began),
        end=end,
        suspended=np.zeros(count, dtype=np.int64),
        limit=np.where(limit > 0, np.minimum(limit, UNLIMITED), UNKNOWN),
        nodes=_in_nodes(processors, per_node),
        asked=_in_nodes(np.where(columns["processors"] > 0, columns["processors"], size), per_node),
        cpus=processors.astype(np.int32),
        gpus=unknown,
        exit_code=unknown,
        signal=unknown,
        state=_states(columns["status"]),
        reason=Coded.untold(count),
        user=_coded(columns["user"]),
        account=_coded(columns["group"]),
        partition=_coded(columns[groups], _names(log, groups)),
        qos=Coded.untold(count),
        name=_coded(columns["application"]),
        nodelist=Coded.untold(count),
        excluded=Coded.untold(count),
        failed_node=Coded.untold(count),
        begin=int(submit[0]) if count else zero,
        until=max(int(end.max()), int(submit[0]) + 1) if count else zero + 1,
        dated=dated,
        machine_nodes=machine_nodes(header, per_node),
        cores_per_node=per_node if per_node > 1 else None,
        source=_source(log, count, per_node),
        cleaning=cleaning,
    )


def machine_nodes(header: dict[str, str], per_node: int = 1) -> int | None:
    """Return the machine's size as an SWF header has it, in the nodes that jobs are counted in."""
    nodes, processors = _number(header.get("MaxNodes", "")), _number(header.get("MaxProcs", ""))
    if per_node == 1:
        return processors or nodes
    return nodes or (None if not processors else -(-processors // per_node))


def _in_nodes(processors: Long, per_node: int) -> npt.NDArray[np.int32]:
    nodes = np.where(processors > 0, -(-processors // per_node), processors)
    return np.maximum(nodes, UNKNOWN).astype(np.int32)


def _number(text: str) -> int | None:
    match = re.match(r"\d+", text.strip())
    return int(match[0]) if match else None


def _states(status: Long) -> Coded:
    words = tuple(STATES.values())
    code = np.full(len(status), -1, dtype=np.int32)
    for place, number in enumerate(STATES):
        code[status == number] = place
    return Coded(code, words)


def _coded(numbers: Long, names: dict[int, str] | None = None) -> Coded:
    """Return whole numbers as text, negative ones as untold."""
    values, code = np.unique(numbers, return_inverse=True)
    named = names or {}
    column = Coded(
        code.astype(np.int32),
        tuple(named.get(value, str(value)) for value in values.tolist()),
    )
    below = int((values < 0).sum())
    if below:
        shifted = np.where(column.code >= below, column.code - below, -1).astype(np.int32)
        column = Coded(shifted, column.words[below:])
    return column if len(set(column.words)) == len(column.words) else _coded(numbers)


def _names(log: Swf, groups: str) -> dict[int, str]:
    """Return names of queues or partitions that the header gives in one word."""
    found: dict[int, str] = {}
    for _, line in log.comments:
        match = _NAMED.fullmatch(line)
        if match and match[1].lower() == groups:
            found.setdefault(int(match[2]), match[3])
    return found


def _source(log: Swf, count: int, per_node: int) -> str:
    text = f"{Path(log.source).name}: {counted(count, 'jobs')} (SWF)"
    nodes, processors = (_number(log.header.get(name, "")) for name in ("MaxNodes", "MaxProcs"))
    if per_node > 1:
        return f"{text}, {per_node} processors counted as one node"
    if nodes and processors and processors != nodes:
        each = processors / nodes
        text += f"; sizes are processors, taken as nodes (the header says {each:.3g} per node"
        text += "; see {processors_per_node})"
    return text
