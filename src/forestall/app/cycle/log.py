"""The log of a run of cycle sharing, and its replay through an engine that Python drives."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.app.kit.checked import checked
from forestall.app.kit.log import csv_lines, read_log, write_lines
from forestall.decide.cycle.entries import SCHEDULERS
from forestall.decide.cycle.own import HostScheduler, OwnScheduler
from forestall.model.cycle import (
    ESTIMATE,
    FAR,
    MILLION,
    GuestDecision,
    GuestDecisionKind,
    GuestEvent,
    GuestEventKind,
    GuestReason,
)
from forestall.model.errors import ParameterError, TraceError
from forestall.predict.semi_markov.states import NAMES
from forestall.simulate.cycle.parameters import CycleParameters
from forestall.simulate.cycle.tables import states_at

if TYPE_CHECKING:
    from forestall.simulate.cycle.outcome import CycleOutcome

Int = npt.NDArray[np.int64]

EVENTS = ("time", "event", "job", "host", "state", "decisions", "candidates")
DECISIONS = (
    *("time", "decision", "job", "host", "at", "tries", "candidates"),
    *("jct", "mttf", "etl", "jctf", "rank", "chance", "reason", "why"),
)
CANDIDATES = ("time", "job", "host", "jct", "mttf", "etl", "jctf", "rank", "chance")
_FIELDS = (
    *("kind", "reason", "job", "host", "at", "tries", "candidates"),
    *("jct", "mttf", "etl", "jctf", "rank", "chance"),
)
_FIGURES = ("jct", "mttf", "etl", "jctf", "rank", "chance")
_PARTS = ("rank", "chance")


def write_guest_log(outcome: CycleOutcome, folder: Path) -> None:
    """Write `events.csv` (what the engine was told), `candidates.csv` (what it was told of the free
    hosts at each try) and `decisions.csv` (what it answered)."""
    ids = outcome.workload.jobs.job
    write_lines(folder / "events.csv", csv_lines(EVENTS, _event_rows(outcome)))
    write_lines(folder / "candidates.csv", csv_lines(CANDIDATES, _candidate_rows(outcome)))
    lines = decision_lines(_decisions(outcome), ids.tolist(), outcome.parameters.scheduler)
    write_lines(folder / "decisions.csv", lines)


def _event_rows(outcome: CycleOutcome) -> Iterator[tuple[Any, ...]]:
    """Yield the hosts' states when the first job comes, and then the events."""
    log, ids = outcome.log.events, outcome.workload.jobs.job.tolist()
    begin = int(log["time"][0])
    for host, state in enumerate(states_at(outcome.states, begin).tolist()):
        yield (begin, "host_state", "", host, NAMES[state], 0, 0)
    for time, code, key, state, decisions, candidates in log.tolist():
        kind = GuestEventKind(code)
        about = ("", key, NAMES[state]) if kind.about_host else (ids[key], "", "")
        yield (time, kind.name.lower(), *about, decisions, candidates)


def figure(name: str, value: int, scheduler: str) -> int | float | str:
    """Return a figure of a host as the files have it: empty where the time never comes, or where
    the scheduler does not look at it; ranks in units of a host of speed 1, chances from 0 to 1."""
    if name not in SCHEDULERS[scheduler].looks_at or value >= FAR:
        return ""
    return value / MILLION if name in _PARTS else value


def _candidate_rows(outcome: CycleOutcome) -> Iterator[tuple[Any, ...]]:
    events, found = outcome.log.events, outcome.log.estimates
    times = np.repeat(events["time"], events["candidates"]).tolist()
    jobs = outcome.workload.jobs.job[np.repeat(events["key"], events["candidates"])].tolist()
    scheduler = outcome.parameters.scheduler
    columns = (
        [figure(name, value, scheduler) for value in found[name].tolist()] for name in _FIGURES
    )
    return zip(times, jobs, found["host"].tolist(), *columns, strict=True)


def _decisions(outcome: CycleOutcome) -> Iterator[GuestDecision]:
    log = outcome.log
    times = np.repeat(log.events["time"], log.events["decisions"]).tolist()
    columns = (log.decisions[name].tolist() for name in _FIELDS)
    for time, kind, reason, *numbers in zip(times, *columns, strict=True):
        yield GuestDecision(time, GuestDecisionKind(kind), GuestReason(reason), *numbers)


def decision_lines(
    decisions: Iterable[GuestDecision], ids: Sequence[int], scheduler: str
) -> Iterator[str]:
    """Return the lines of `decisions.csv`. Figures of a host are there where a job is started."""

    def blank(value: int) -> int | str:
        return "" if value < 0 else value

    def rows() -> Iterator[tuple[Any, ...]]:
        for d in decisions:
            told: tuple[Any, ...] = ("",) * len(_FIGURES)
            if d.kind is GuestDecisionKind.START:
                told = tuple(figure(name, getattr(d, name), scheduler) for name in _FIGURES)
            where = (ids[d.job], blank(d.host), blank(d.at))
            why = (d.reason.name.lower(), d.why)
            yield (d.time, d.kind.name.lower(), *where, d.tries, d.candidates, *told, *why)

    return csv_lines(DECISIONS, rows())


# --------------------------------------------------------------------------------------- replay


def replay_guests(folder: Path, scheduler: HostScheduler | None = None) -> list[str]:
    """Drive an engine from `events.csv` and `candidates.csv` of a run's folder; return the lines of
    `decisions.csv` anew.

    Only the events, the candidates' figures and the parameters go in; a run with a scheduler in
    Python needs it again. Raises TraceError where the
    folder has no event log, or one that an engine cannot have been told.
    """
    from forestall.engine.cycle.engine import CycleEngine
    from forestall.traces.streams import stream

    path = folder / "events.csv"
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    parameters = checked(CycleParameters, summary["parameters"])
    events = _columns(path, EVENTS)
    estimates = _estimates(folder / "candidates.csv", parameters.scheduler)
    told, ids = _told(events, path)
    counts = _whole(events, "candidates", path)
    if (counts < 0).any() or int(counts.sum()) != len(estimates):
        said = f"tells of {len(estimates)} candidates, events.csv of {int(counts.sum())}"
        raise TraceError(folder / "candidates.csv", said)
    numbers = [event.key for event in told if event.kind.about_host]
    hosts = 1 + max(numbers, default=0)
    if hosts > max(len(numbers), 1):
        raise TraceError(path, f"tells of host {hosts - 1}, and not of all before it")
    engine = CycleEngine(
        hosts,
        scheduler=parameters.scheduler,
        restart=parameters.restart,
        retry=parameters.retry,
        retries=parameters.retries,
        generator=stream(parameters.seed, "cycle", "condor"),
        own=None if scheduler is None else OwnScheduler(scheduler),
    )
    for _ in ids:
        engine.add_job()
    last = np.cumsum(counts).tolist()

    def decide() -> Iterator[GuestDecision]:
        for line, (event, count, end) in enumerate(
            zip(told, counts.tolist(), last, strict=True), 2
        ):
            known = estimates[end - count : end] if event.kind is GuestEventKind.TRY else None
            try:
                yield from engine.handle(event, known)
            except ParameterError as error:
                raise TraceError(path, f"cannot be: {error}", line=line) from None

    return list(decision_lines(decide(), ids, parameters.scheduler))


def _columns(path: Path, names: Sequence[str]) -> pl.DataFrame:
    table = read_log(path)
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TraceError(path, f"lacks column {', '.join(missing)}")
    return table


def _whole(table: pl.DataFrame, name: str, path: Path, empty: int = -1) -> Int:
    """Return a column of whole numbers, `empty` where a field is."""
    numbers = table[name].cast(pl.Int64, strict=False)
    bad = (numbers.is_null() & table[name].is_not_null()).arg_true()
    if len(bad):
        said = f"{table[name][bad[0]]!r} is not a whole number"
        raise TraceError(path, said, line=bad[0] + 2, field=name)
    return numbers.fill_null(empty).to_numpy()


def _estimates(path: Path, scheduler: str) -> npt.NDArray[Any]:
    """Return ESTIMATE[n]: the candidates of all tries."""
    table = _columns(path, CANDIDATES)
    made = np.zeros(len(table), dtype=ESTIMATE)
    made["host"] = _whole(table, "host", path)
    for name in SCHEDULERS[scheduler].looks_at:
        if name not in _PARTS:
            made[name] = _whole(table, name, path, empty=FAR)
            continue
        parts = table[name].cast(pl.Float64, strict=False)
        if parts.null_count():
            line = int(parts.is_null().arg_true()[0]) + 2
            raise TraceError(path, "is not a number", line=line, field=name)
        made[name] = np.rint(parts.to_numpy() * MILLION).astype(np.int64)
    return made


def _told(events: pl.DataFrame, path: Path) -> tuple[list[GuestEvent], list[int]]:
    """Return the events as the engine is told them, and the jobs in order of their first try,
    which is that of their submission."""
    position: dict[int, int] = {}
    made = []
    columns = (events[name].to_list() for name in EVENTS[:5])
    for line, (time, name, job, host, state) in enumerate(zip(*columns, strict=True), 2):
        try:
            kind = GuestEventKind[name.upper()]
            if kind is GuestEventKind.TRY:
                position.setdefault(int(job), len(position))
            key = int(host) if kind.about_host else position[int(job)]
            told = NAMES.index(state) if kind.about_host else -1
            made.append(GuestEvent(int(time), kind, key, told))
        except (AttributeError, KeyError, TypeError, ValueError):
            raise TraceError(path, "is no event of a run", line=line) from None
    return made, list(position)
