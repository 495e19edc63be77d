"""The load of shared hosts on one grid: from metrics of nodes, and from logs of their failures.

Metrics have a column of the owner's CPU load, `cpu` in our own files, and perhaps one of free
memory; a sample that is missing says that the host was away. A failure log tells only when a host
was up, which counts as idle, and when it was down.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.files.delimited import header_names
from forestall.core.files.findings import listed, shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_lines
from forestall.core.files.pipes import is_there
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.hosts import HostTraces
from forestall.core.model.metrics import Metrics
from forestall.core.model.units import MAX_SECONDS
from forestall.logs.host_speeds import Speeds, read_speeds, speed_array
from forestall.logs.info import is_failure_log
from forestall.logs.jobs.table import REQUIRED
from forestall.logs.metrics.read import is_metrics, read_metrics
from forestall.logs.read import job_format, read_failures

Int = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]

FAILURE_PERIOD: Final = 60
"""Seconds of a sample of hosts that a failure log tells of."""
DOWNTIME: Final = 120
"""Seconds that a failure lasts whose log does not tell it."""
COPIES: Final = 4
"""How often a run has what is in a grid, itself among them."""
SPARSE: Final = 1000
"""Most places of a large grid for each sample that there is."""
SPARSE_FROM: Final = 2_000_000
"""Places from which on a grid is large."""
SLACK: Final = 1.1
"""Loads up to this are rounding around 1; larger ones say that these are no shares."""

LOADS: Final = (
    *("cpu", "load", "cpu_load", "cpu_share", "cpu_usage", "cpu_used", "cpu_utilization"),
    *("cpu_util", "utilization", "host_load", "owner_cpu"),
)
FREE: Final = ("memory_free", "free_memory", "mem_free", "memory_available", "mem_available")
USED: Final = ("memory_share", "memory_used", "mem_used", "memory_usage", "mem_usage", "mem_util")
"""Columns of load, of free memory and of memory in use, as shares; in per cent with `_percent`,
`_pct` or `%` after them. Others than letters and digits count as `_`."""
_PERCENT: Final = re.compile(r"_*(percent|pct|perc|%)$")

EXPECTED: Final = (
    "expected samples time,node,cpu[,memory_free], another store of host load, or a failure log"
)


@reader
def read_host_traces(
    path: str | Path,
    *,
    speeds: str | Path | None = None,
    period: int | None = None,
    start: str | int | None = None,
    days: float | None = None,
    system: str | int | None = None,
    fold_nodes: int = 1,
    strict: bool = False,
) -> HostTraces:
    """Read the traces of shared hosts, detected from the content.

    Parameters
    ----------
    path : metrics of nodes of any format that `read_metrics` knows (a file or a folder), or a
        failure log of any that `read_failures` knows
    speeds : a CSV ``host,speed`` of clock rate ratios; hosts that are not in it have 1
    period : seconds of a sample (default: the metrics' own; 60 of a failure log). Of several
        samples in one period the last counts
    start : where the traces begin, as a date such as ``2003-07-18T16:00`` or in the source's own
        seconds; without it at the first sample of a source with dates, the own 0 of another
    days : how much of them is taken from there
    system, fold_nodes : of a failure log, see `read_failures`
    strict : whether a sample that must be left out or changed is an error

    Raises TraceError where nothing can be used, ParameterError for a bad parameter.
    """
    place = Path(path)
    if not is_there(place):
        raise TraceError(place, "cannot be read: No such file or directory")
    given = None if speeds is None else read_speeds(speeds)
    if _holds_metrics(place):
        for name, value in (("system", system), ("fold-nodes", fold_nodes)):
            if value not in (None, 1):
                raise ParameterError(name, value, f"a failure log, and these are metrics: {place}")
        metrics = read_metrics(place, start=start, days=days, strict=strict)
        hosts = host_traces_of_metrics(metrics, speed=given, period=period)
        changed = [r for r in hosts.cleaning.remarks[len(metrics.cleaning.remarks) :] if r.names]
        wrong = next((one for one in changed if one.action != "kept"), None)
        if strict and wrong is not None:
            raise TraceError(place, f"{wrong.counted}: {wrong.names[0]}")
        return hosts
    if not place.is_dir() and not is_failure_log(place):
        said = "is a job log" if _is_job_log(place) else "holds no traces of hosts"
        said = said if place.stat().st_size else "is empty"
        raise TraceError(place, f"{said}; {EXPECTED}")
    failures = read_failures(
        place, start=start, days=days, system=system, fold_nodes=fold_nodes, strict=strict
    )
    return host_traces_of_failures(failures, speed=given, period=period)


def host_traces_of_metrics(
    metrics: Metrics, *, speed: Speeds | None = None, period: int | None = None
) -> HostTraces:
    """Return the hosts of metrics on one grid.

    Parameters
    ----------
    metrics : with a column of load (`LOADS`) and perhaps one of memory (`FREE`, `USED`), as shares,
        or in per cent where their names say so
    speed : clock rate ratios by host, see `forestall.logs.host_speeds`; None: 1
    period : seconds of a sample, at least the metrics' own (None: that)

    The grid begins at time 0 of the metrics and ends with the last sample. Loads below 0 are
    missing, those a little above 1 are 1; hosts without samples are left out. Raises
    ParameterError for a period that the samples do not fill, TraceError
    where there is no load, or one that is no share, and where the grid would be too large.
    """
    source = metrics.source or "metrics"
    name, scale = _column(metrics.names, LOADS) or _no_load(source, metrics.names)
    step = _checked_period(period) or metrics.period
    span = int(metrics.time.max(initial=0))
    if metrics.period and not metrics.period <= step <= max(metrics.period, span):
        allowed = f"from {metrics.period} s, the time between samples, to {span} s, that of all"
        raise ParameterError("period", step, allowed)
    if step == 0:
        raise TraceError(source, "has one sample of each host at most; expected several")
    load, cleaning = _shares(metrics, name, metrics.column(name) / scale)
    known = ~np.isnan(load)
    if not bool(known.any()):
        raise TraceError(source, f"has no sample with a {name}")
    there, number = np.unique(metrics.node[known], return_inverse=True)
    names = _names(metrics.node_names, metrics.nodes)
    silent = sorted(set(range(metrics.nodes)) - set(there.tolist()))
    text = "hosts without samples"
    cleaning = cleaning.plus("silent", text, "left out", (f"host {names[k]}" for k in silent))
    samples = int(metrics.time[known].max()) // step + 1
    memory, cleaning = _memory(metrics, cleaning)
    _sparse(source, metrics.time[known], len(there) * samples, step)
    _fits(source, len(there), samples, step, 1 if memory is None else 2)
    place = number * samples + metrics.time[known] // step
    return HostTraces(
        _gridded(place, load[known], (len(there), samples)),
        None if memory is None else _gridded(place, memory[known], (len(there), samples)),
        step,
        speed_array(speed, names)[there],
        tuple(names[k] for k in there.tolist()),
        metrics.origin,
        source,
        metrics.cleaning + cleaning,
    )


def host_traces_of_failures(
    failures: Failures, *, speed: Speeds | None = None, period: int | None = None
) -> HostTraces:
    """Return the nodes of a failure log as hosts: idle while up, without samples while down.

    Parameters
    ----------
    failures : those of nodes that the log does not tell to be out of service
    speed : clock rate ratios by host; None: 1
    period : seconds of a sample (None: 60)

    A sample is missing where the node was down at any time within it, or not in service all of it.
    A failure whose length is not told lasts 120 s. The grid begins with the first node in service,
    or at time 0, and ends with the last, or the log. Raises TraceError where it would be too large.
    """
    source = failures.source or "failures"
    step = _checked_period(period) or FAILURE_PERIOD
    begin, end, serving = _span(failures)
    nodes = np.flatnonzero(serving)
    samples = (end - begin) // step
    if len(nodes) == 0 or samples == 0:
        raise TraceError(source, "has no node that was in service for a whole sample")
    _fits(source, len(nodes), samples, step, 1)
    lasts = np.where(failures.downtime >= 0, failures.downtime, DOWNTIME)
    load = np.zeros((len(nodes), samples))
    order = np.argsort(failures.node, kind="stable")
    first = np.searchsorted(failures.node[order], np.arange(failures.nodes + 1))
    for row, node in enumerate(nodes.tolist()):
        mine = order[first[node] : first[node + 1]]
        down = _down(failures.time[mine] - begin, lasts[mine], samples, step)
        down |= _out_of_service(failures, node, begin, samples, step)
        load[row, down] = np.nan
    names = _names(failures.names, failures.nodes)
    untold = [f"node {names[k]}" for k in failures.node[failures.downtime < 0].tolist()]
    text = f"failures without a down time (they last {DOWNTIME} s)"
    cleaning = failures.cleaning.plus("no_down_time", text, "changed", untold)
    return HostTraces(
        load,
        None,
        step,
        speed_array(speed, names)[nodes],
        tuple(names[k] for k in nodes.tolist()),
        None if failures.origin is None else failures.origin + begin,
        source,
        cleaning,
    )


# ------------------------------------------------------------------------------------- columns


def _holds_metrics(path: Path) -> bool:
    """Return whether a path holds samples rather than failures; TraceError for a job log."""
    if path.is_dir():
        return not any(path.glob("event_trace*.tab*"))
    return is_metrics(path)


def _is_job_log(path: Path) -> bool:
    try:
        form = job_format(path)
        columns = header_names(head_lines(path)[0]) if form == "table" else ()
    except TraceError:
        return False
    return form in ("swf", "usage") or set(REQUIRED) <= set(columns)


def _column(names: Sequence[str], known: Sequence[str]) -> tuple[str, float] | None:
    """Return the first column of these that is there, and by what it is divided for a share."""
    bare: dict[str, tuple[str, float]] = {}
    for name in names:
        plain = re.sub(r"[^a-z0-9%]+", "_", name.strip().lower()).strip("_")
        cut = _PERCENT.sub("", plain)
        bare.setdefault(cut, (name, 1.0 if cut == plain else 100.0))
    return next((bare[name] for name in known if name in bare), None)


def _no_load(source: str, names: Sequence[str]) -> tuple[str, float]:
    has = listed([shown(name) for name in names], 12)
    raise TraceError(source, f"has no load of hosts; it has {has}; expected a column cpu")


def _memory(metrics: Metrics, cleaning: Cleaning) -> tuple[Floats | None, Cleaning]:
    """Return the free memory as a share, nan where not known (None: there is no such column), and
    what was left out or changed.

    Raises TraceError for values that are no shares (bytes, say).
    """
    free, used = (_column(metrics.names, known) for known in (FREE, USED))
    found = free or used
    if found is None:
        return None, cleaning
    share = metrics.column(found[0]) / found[1]
    if bool(np.any(share > SLACK)):
        raise TraceError(
            metrics.source or "metrics",
            f"{found[0]}: {_worst(metrics, found[0], share)}; expected shares of the memory from 0 "
            "to 1 (the name ends in _percent where they are per cent)",
        )
    if free is None:
        share = 1 - share
    text = "samples with less than no free memory (taken as none)"
    cleaning = cleaning.plus("memory_below_0", text, "changed", _places(metrics, share < 0))
    return np.where(share < 0, 0.0, share), cleaning


def _worst(metrics: Metrics, name: str, share: Floats) -> str:
    """Return the value that is furthest from being a share, and where it is, in words."""
    worst = int(np.nanargmax(np.abs(share - 0.5)))
    names = _names(metrics.node_names, metrics.nodes)
    host, time = names[int(metrics.node[worst])], int(metrics.time[worst])
    return f"{metrics.column(name)[worst]:g} of host {host} at {time} s"


def _shares(metrics: Metrics, name: str, load: Floats) -> tuple[Floats, Cleaning]:
    """Return loads from 0 to 1 and what was changed for that."""
    if bool(np.any(load > SLACK)):
        raise TraceError(
            metrics.source or "metrics",
            f"{name}: {_worst(metrics, name, load)}; expected shares of the machine from 0 to 1 "
            "(the name ends in _percent where they are per cent)",
        )
    below, above = load < 0, load > 1
    cleaning = Cleaning()
    for kind, text, mask in (
        ("load_below_0", "loads below 0 (missing)", below),
        ("load_above_1", "loads above 1 (taken as 1)", above),
    ):
        cleaning = cleaning.plus(kind, text, "changed", _places(metrics, mask))
    return np.where(below, np.nan, np.minimum(load, 1)), cleaning


def _places(metrics: Metrics, mask: Bool) -> list[str]:
    names = _names(metrics.node_names, metrics.nodes)
    rows = np.flatnonzero(mask).tolist()
    return [f"host {names[int(metrics.node[k])]} at {metrics.time[k]} s" for k in rows]


def _names(names: Sequence[str] | None, count: int) -> Sequence[str]:
    return [str(k) for k in range(count)] if names is None else names


# ---------------------------------------------------------------------------------------- grid


def _checked_period(period: int | None) -> int | None:
    if period is None:
        return None
    if isinstance(period, bool) or not 1 <= period < MAX_SECONDS or period != int(period):
        raise ParameterError("period", period, "a whole number of seconds, at least 1")
    return int(period)


def _fits(source: str, hosts: int, samples: int, period: int, columns: int) -> None:
    """Raise MemoryLimitError where a grid is larger than memory should be asked for."""
    size, allowed = COPIES * 8 * hosts * samples * columns, budget.left()
    if size > allowed:
        longer = math.ceil(period * size / max(1, allowed))
        what = f"{hosts:,} hosts with {samples:,} samples of {period} s"
        hint = f"choose fewer days ({{days}}) or a longer period ({{period}} {longer}s)"
        raise budget.refusal(size, allowed, what, hint, source=source)


def _sparse(source: str, times: Int, cells: int, step: int) -> None:
    """Raise TraceError for a large grid that hardly any sample stands in: one wrong time among
    right ones makes it, which no memory is worth."""
    if cells > SPARSE_FROM and cells > SPARSE * len(times):
        last, before = np.sort(times)[[-1, -2]].tolist() if len(times) > 1 else (int(times[0]), 0)
        raise TraceError(
            source,
            f"{len(times):,} samples from 0 to {last} s, one every {step} s, would leave all but 1 "
            f"in {cells // len(times):,} places empty; expected samples throughout (the last two "
            f"times are {before} and {last} s)",
        )


def _gridded(place: Int, value: Floats, shape: tuple[int, int]) -> Floats:
    """Return values at their places in a grid, nan elsewhere; of several the last one counts."""
    grid = np.full(shape[0] * shape[1], np.nan)
    known = ~np.isnan(value)
    grid[place[known]] = value[known]
    return grid.reshape(shape)


def _span(failures: Failures) -> tuple[int, int, Bool]:
    """Return begin and end of what a log covers, s, and which nodes were ever in service."""
    last = int(failures.time[-1]) + 1 if len(failures) else 0
    end = max(failures.span, last)
    if failures.service_start is None or failures.service_end is None:
        return 0, end, np.ones(failures.nodes, dtype=np.bool_)
    serving = failures.service_end > failures.service_start
    if not bool(serving.any()):
        return 0, end, serving
    starts, ends = failures.service_start[serving], failures.service_end[serving]
    return min(0, int(starts.min())), int(ends.max()), serving


def _down(time: Int, lasts: Int, samples: int, period: int) -> Bool:
    """Return bool[samples]: whether a node was down at any time within each of them."""
    first = np.clip(time // period, 0, samples)
    last = np.clip(-(-(time + lasts) // period), 0, samples)
    last = np.maximum(last, np.minimum(first + 1, samples))
    change = np.zeros(samples + 1, dtype=np.int64)
    np.add.at(change, first, 1)
    np.add.at(change, last, -1)
    down: Bool = np.cumsum(change)[:samples] > 0
    return down


def _out_of_service(failures: Failures, node: int, begin: int, samples: int, period: int) -> Bool:
    """Return bool[samples]: whether a node was not in service all of each of them."""
    out = np.zeros(samples, dtype=np.bool_)
    if failures.service_start is not None and failures.service_end is not None:
        start, end = int(failures.service_start[node]), int(failures.service_end[node])
        out[: max(0, -(-(start - begin) // period))] = True
        out[max(0, (end - begin) // period) :] = True
    return out
