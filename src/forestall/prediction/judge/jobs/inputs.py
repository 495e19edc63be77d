"""Jobs and a metric of their nodes, brought to one clock and one numbering of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import FINAL_STATES, NEVER, JobRecords, base_state
from forestall.core.model.metrics import Metrics
from forestall.logs.metrics.read import read_metrics
from forestall.slurm.job_records import read_job_records

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SHOWN: Final = 12


@dataclass(frozen=True)
class JobInputs:
    """What is judged.

    Attributes
    ----------
    records : the jobs, on the clock and with the node numbers of the metrics
    time, node, value : the samples in order of (node, time)
    metric : its name
    nodes : number of nodes; names : theirs, where known
    begin, close : the window [begin, close) in which both were observed, s
    origin : Unix seconds of time 0, where known
    metrics_source, remarks : the file of the metrics; what was odd in either, counted
    """

    records: JobRecords
    time: Ints
    node: Ints
    value: Floats
    metric: str
    nodes: int
    names: tuple[str, ...] | None
    begin: int
    close: int
    origin: int | None
    metrics_source: str
    remarks: tuple[Mapping[str, Any], ...]

    def fates(self, failed: Iterable[str] | None, ignored: Iterable[str]) -> tuple[Flags, Flags]:
        """Return which jobs failed, and which count at all: those that ended within the window; see
        `fates_of`."""
        return fates_of(self.records, failed, ignored, self.close)

    def name_of(self, node: int) -> str:
        """Return a node's name, or its number."""
        return str(node) if self.names is None else self.names[node]

    def cores(self) -> int | None:
        """Return the cores of a node: the median over the jobs whose records tell."""
        records = self.records
        told = (records.cores > 0) & (records.size > 0)
        if not told.any():
            return None
        return max(1, round(float(np.median(records.cores[told] / records.size[told]))))


def fates_of(
    records: JobRecords, failed: Iterable[str] | None, ignored: Iterable[str], close: int
) -> tuple[Flags, Flags]:
    """Return which jobs failed, and which count at all: those that ended by `close` in a known
    state that is not ignored. Without `failed` every end but COMPLETED is a failure.

    Raises ParameterError for a state that no job has and Slurm does not know.
    """
    states = np.array(records.base(), dtype=object)
    known = FINAL_STATES | set(records.base())
    bad = FINAL_STATES - {"COMPLETED"}
    if failed is not None:
        bad = _states(failed, known, "failed_states")
    out = _states(ignored, known, "ignored_states")
    ended = np.isin(states, sorted((FINAL_STATES | bad) - out))
    return np.isin(states, sorted(bad)), ended & (records.end < NEVER) & (records.end <= close)


def _states(given: Iterable[str], known: Iterable[str], option: str) -> frozenset[str]:
    wanted = frozenset(base_state(state) for state in given)
    strange = sorted(wanted - set(known))
    if strange:
        raise ParameterError(option, strange[0], "one of " + ", ".join(sorted(known)))
    return wanted


def read_inputs(
    jobs: Path, metrics: Path, metric: str | None, reading: Mapping[str, Any]
) -> JobInputs:
    """Read accounting records and metrics; see `joined`.

    `reading` may hold ``from``, ``days`` and ``strict``.
    """
    start, days = reading.get("from"), reading.get("days")
    strict = bool(reading.get("strict", False))
    records = read_job_records(jobs, start=start, days=days, strict=strict)
    names = None if metric is None else (metric,)
    samples = read_metrics(metrics, names=names, start=start, days=days, strict=strict)
    return joined(records, samples, metric)


def joined(records: JobRecords, samples: Metrics, metric: str | None = None) -> JobInputs:
    """Return jobs and one metric on the clock and the numbering of the metrics.

    The window is that of the samples. Nodes are joined by their names where both have names, by
    their numbers where neither has.

    Raises ParameterError for a metric that is not there, TraceError where clocks or nodes do not
    fit.
    """
    name = _metric(samples, metric)
    if (records.origin is None) != (samples.origin is None):
        jobs_count = records.origin is None
        dated, other = (samples, records) if jobs_count else (records, samples)
        said = f"counts seconds, but {dated.source} has dates; expected one clock"
        raise TraceError(other.source, said)
    if records.origin is not None and samples.origin is not None:
        records = records.moved(records.origin - samples.origin)
    records, names, nodes = _numbered(records, samples)
    value = samples.column(name)
    good = np.flatnonzero(np.isfinite(value))
    if not len(good):
        raise TraceError(samples.source, f"has no value of {name}")
    step = max(samples.period, 1)
    return JobInputs(
        records=records,
        time=samples.time[good],
        node=samples.node[good],
        value=value[good],
        metric=name,
        nodes=nodes,
        names=names,
        begin=int(samples.time[good].min()),
        close=int(samples.time[good].max()) + step,
        origin=samples.origin,
        metrics_source=samples.source,
        remarks=tuple((records.cleaning + samples.cleaning).told()),
    )


def _metric(samples: Metrics, metric: str | None) -> str:
    names = samples.names
    if metric is None and len(names) == 1:
        return names[0]
    if metric in names:
        return str(metric)
    more = "" if len(names) <= SHOWN else f" and {len(names) - SHOWN} more"
    listed = ", ".join(names[:SHOWN]) + more
    if metric is None:
        raise TraceError(
            samples.source,
            f"has {len(names):,} metrics: {listed}; say which one with {{metric}} NAME",
        )
    raise ParameterError("metric", metric, f"one of {listed}")


def _numbered(
    records: JobRecords, samples: Metrics
) -> tuple[JobRecords, tuple[str, ...] | None, int]:
    """Return the jobs with the node numbers of the metrics, the names, and how many there are."""
    ours, theirs = samples.node_names, records.node_names
    if ours is None and theirs is None:
        nodes = max(samples.nodes, records.nodes)
        if not np.isin(records.node, samples.node).any():
            raise TraceError(samples.source, f"has no node of the jobs in {records.source}")
        return records, None, nodes
    if ours is None:
        ours = tuple(str(k) for k in range(samples.nodes))
    if theirs is None:
        theirs = tuple(str(k) for k in range(records.nodes))
    place = {name: k for k, name in enumerate(ours)}
    if not any(name in place for name in theirs):
        said = (
            f"names nodes such as {ours[0]}, but {records.source} such as {theirs[0]}; "
            "expected the same names"
        )
        raise TraceError(samples.source, said)
    more = tuple(name for name in theirs if name not in place)
    place |= {name: len(ours) + k for k, name in enumerate(more)}
    renumber = np.array([place[name] for name in theirs], dtype=np.int64)
    names = ours + more
    moved = replace(records, node=renumber[records.node], nodes=len(names), node_names=names)
    return moved, names, len(names)
