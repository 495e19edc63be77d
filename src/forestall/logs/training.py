"""What was known when a run began: the failures of a training log up to that moment, no more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from forestall.core.files.guard import reader
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.units import parse_time
from forestall.logs.read import failure_format, read_failures


@dataclass(frozen=True)
class TrainingLog:
    """A log to learn from.

    Attributes
    ----------
    failures : its failures within [0, span), s since the window began
    end : the moment on the clock of the run at which the window ends, s; at most 0
    """

    failures: Failures
    end: int


@reader
def read_training(
    path: str | Path,
    run: Failures,
    *,
    run_start: str | None = None,
    start: str | None = None,
    days: float | None = None,
    system: str | None = None,
    fold_nodes: int = 1,
    format: str | None = None,
    strict: bool = False,
) -> TrainingLog:
    """Return the failures of a log that happened before a run's time 0.

    Logs with dates share one clock, and so do the same log twice (by its path, or by its rows):
    what comes after the run's time 0 is left out, and a window that was asked for and ends later is
    an error. Any other log, that counts seconds of its own, is taken to end where the run begins.

    Parameters
    ----------
    path : the training log
    run : the failures that will be simulated, as read with start `run_start`
    start, days : window of the training log (None: from its first failure; up to the run)
    system, fold_nodes, format, strict : as in `read_failures`; system and format count where both
        logs have one format

    Raises TraceError where nothing is left, ParameterError for a bad parameter.
    """
    alike = format is not None or _format(path) == _format(run.source)
    try:
        log = read_failures(
            path,
            system=system if alike else None,
            start=start,
            days=days,
            fold_nodes=fold_nodes,
            format=format if _same_file(path, run) else None,
            strict=strict,
        )
    except ParameterError as error:
        name = f"train_{error.name}" if error.name in {"from", "days"} else error.name
        raise ParameterError(name, error.value, error.allowed) from None
    offset = _zero(log, start) - _zero(run, run_start)
    begin = 0 if start is not None else int(log.time[0])
    if not _one_clock(log, run, offset, path):
        end = begin + log.span
        return TrainingLog(_moved(log, begin, end), 0)
    if begin + offset >= 0:
        allowed = f"a time before the run begins, {_spoken(run, run_start)}"
        if start is not None:
            raise ParameterError("train_from", start, allowed)
        raise TraceError(path, f"has no failures from {allowed.removeprefix('a time ')}")
    last = int(log.time[-1]) + 1
    end = begin + log.span if days is not None else min(last, -offset)
    if end + offset > 0:
        allowed = f"a window that ends before the run begins, {_spoken(run, run_start)}"
        raise ParameterError("train_days", days, allowed)
    return TrainingLog(_moved(log.take(log.time < end), begin, end), end + offset)


def _format(path: str | Path) -> str:
    place = Path(path)
    return "folder" if place.is_dir() else failure_format(place).name


def _same_file(path: str | Path, run: Failures) -> bool:
    return Path(path).resolve() == Path(run.source).resolve()


def _zero(log: Failures, start: str | None) -> int:
    """Return time 0 of a log in its own count of seconds."""
    if log.origin is not None:
        return log.origin
    return 0 if start is None else parse_time(start, "from")


def _one_clock(log: Failures, run: Failures, offset: int, path: str | Path) -> bool:
    """Return whether the times of both logs can be compared."""
    if _same_file(path, run) or (log.origin is not None and run.origin is not None):
        return True
    if log.origin is not None or run.origin is not None or len(run) == 0:
        return False  # of a run without failures there is nothing to compare with
    mine = {*zip((log.time + offset).tolist(), log.node.tolist(), strict=True)}
    first, last = int(run.time[0]), int(run.time[-1])
    mine = {row for row in mine if first <= row[0] <= last}
    theirs = {*zip(run.time.tolist(), run.node.tolist(), strict=True)}
    return 2 * len(mine & theirs) > len(mine)


def _spoken(run: Failures, run_start: str | None) -> str:
    zero = _zero(run, run_start)
    return f"{zero} s" if run.origin is None else str(np.datetime64(zero, "s"))


def _moved(log: Failures, begin: int, end: int) -> Failures:
    """Return a log with its window [begin, end) as [0, span)."""
    start, stop = log.service_start, log.service_end
    return replace(
        log,
        time=log.time - begin,
        span=end - begin,
        origin=None if log.origin is None else log.origin + begin,
        service_start=None if start is None else start - begin,
        service_end=None if stop is None else stop - begin,
    )
