"""The log of a run of cycle sharing, and its replay through an engine that Python drives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from forestall.core.files.documents import json_of
from forestall.core.files.guard import within
from forestall.core.kit import log as logs
from forestall.core.kit.checked import checked
from forestall.core.kit.log import Column
from forestall.core.model.cycle import (
    ESTIMATE,
    FAR,
    MILLION,
    GuestDecision,
    GuestDecisionKind,
    GuestEvent,
    GuestEventKind,
    GuestReason,
)
from forestall.core.model.errors import TraceError
from forestall.core.streams import stream
from forestall.prediction.models.semi_markov.states import NAMES
from forestall.sharing.engine.engine import CycleEngine
from forestall.sharing.rules.entries import SCHEDULERS
from forestall.sharing.rules.own import HostScheduler, OwnScheduler
from forestall.sharing.simulation.parameters import CycleParameters
from forestall.sharing.simulation.tables import states_at

if TYPE_CHECKING:
    from forestall.sharing.simulation.outcome import CycleOutcome

_FIGURES = ("jct", "mttf", "etl", "jctf", "rank", "chance")
_PARTS = ("rank", "chance")
_MOST = 2**62 // MILLION
_WORDS = {"kind": GuestDecisionKind, "reason": GuestReason}


def _figure(name: str, scheduler: str) -> Callable[[int], int | float | str]:
    """Return how a figure of a host is written: empty where the time never comes, or where the
    scheduler does not look at it; ranks in units of a host of speed 1, chances from 0 to 1."""
    if name not in SCHEDULERS.chosen(scheduler).looks_at:
        return lambda _: ""
    unit = MILLION if name in _PARTS else None
    return lambda value: "" if value >= FAR else value if unit is None else value / unit


def _at_start(name: str) -> Callable[[GuestDecision], int]:
    """Return what a start or a move tells of its host; other decisions tell nothing."""
    placed = (GuestDecisionKind.START, GuestDecisionKind.MOVE)
    return lambda d: getattr(d, name) if d.kind in placed else FAR


def decision_columns(scheduler: str) -> tuple[Column, ...]:
    """Return the columns of `decisions.csv` of a run with this scheduler."""
    return (
        Column("time"),
        Column("decision", "kind", logs.word),
        Column("job", of_jobs=True),
        Column("host", written=logs.blank),
        Column("at", written=logs.blank),
        Column("tries"),
        Column("candidates"),
        *(Column(name, _at_start(name), _figure(name, scheduler)) for name in _FIGURES),
        Column("reason", written=logs.word),
        Column("why"),
    )


def candidate_columns(scheduler: str) -> tuple[Column, ...]:
    """Return the columns of `candidates.csv` of a run with this scheduler."""
    figures = (Column(name, written=_figure(name, scheduler)) for name in _FIGURES)
    return (Column("time"), Column("job"), Column("host"), *figures)


EVENTS = (
    Column("time"),
    Column("event", "kind", logs.word),
    Column("job", lambda event: "" if event.kind.about_host else event.job),
    Column("host", lambda event: event.key if event.kind.about_host else ""),
    Column("state", lambda event: NAMES[event.state] if event.kind.about_host else ""),
    Column("decisions"),
    Column("candidates"),
)
CANDIDATE_LOG: Final = "candidates.csv"


def write_guest_log(outcome: CycleOutcome, folder: Path) -> None:
    """Write `events.csv` (what the engine was told), `candidates.csv` (what it was told of the free
    hosts at each try, and of a guest's own and of free ones where it may move) and `decisions.csv`
    (what it answered)."""
    log, ids, scheduler = outcome.log, outcome.workload.jobs.job, outcome.parameters.scheduler
    events, found = log.events, log.estimates
    logs.write_lines(
        folder / logs.EVENT_LOG, logs.log_lines(EVENTS, chain(_at_first(outcome), _events(outcome)))
    )
    times = np.repeat(events["time"], events["candidates"]).tolist()
    jobs = ids[np.repeat(events["key"], events["candidates"])].tolist()
    candidates = logs.records_of(found, {}, time=times, job=jobs)
    logs.write_lines(
        folder / CANDIDATE_LOG, logs.log_lines(candidate_columns(scheduler), candidates)
    )
    taken = logs.answers_of(GuestDecision, events, log.decisions, _WORDS)
    lines = logs.log_lines(decision_columns(scheduler), taken, ids.tolist())
    logs.write_lines(folder / logs.DECISION_LOG, lines)


def _at_first(outcome: CycleOutcome) -> Iterator[Any]:
    """Return the hosts' states when the first job comes, as events."""
    begin = int(outcome.log.events["time"][0])
    states = states_at(outcome.states, begin).tolist()
    same = {"time": begin, "kind": GuestEventKind.HOST_STATE, "decisions": 0, "candidates": 0}
    every = {name: repeat(value) for name, value in same.items()}
    return logs.records(key=range(len(states)), state=states, job=repeat(""), **every)


def _events(outcome: CycleOutcome) -> Iterator[Any]:
    events, ids = outcome.log.events, outcome.workload.jobs.job
    hosts = [int(kind) for kind in GuestEventKind if kind.about_host]
    about = np.where(np.isin(events["kind"], hosts), 0, events["key"])
    return logs.records_of(events, {"kind": GuestEventKind}, job=ids[about].tolist())


# --------------------------------------------------------------------------------------- replay


def replay_guests(folder: Path, scheduler: HostScheduler | None = None) -> list[str]:
    """Drive an engine from `events.csv` and `candidates.csv` of a run's folder; return the lines of
    `decisions.csv` anew.

    Only the events, the candidates' figures and the parameters go in; a run with a scheduler in
    Python needs it again. Raises TraceError where the
    folder has no event log, or one that an engine cannot have been told.
    """
    path = folder / logs.EVENT_LOG
    summary = json_of((folder / "summary.json").read_text(encoding="utf-8"))
    with within(folder / "summary.json"):
        parameters = checked(CycleParameters, summary["parameters"])
    events = logs.read_log(path, logs.names_of(EVENTS))
    estimates = _estimates(folder / CANDIDATE_LOG, parameters.scheduler)
    made, ids = _event_of()
    guests = list(logs.told(events, path, logs.names_of(EVENTS)[:5], made))
    counts = logs.whole(events, "candidates", path)
    if (counts < 0).any() or int(counts.sum()) != len(estimates):
        said = f"has {len(estimates)} candidates, but events.csv counts {int(counts.sum())}"
        raise TraceError(folder / CANDIDATE_LOG, said)
    numbers = [event.key for event in guests if event.kind.about_host]
    hosts = 1 + max(numbers, default=0)
    if hosts > max(len(numbers), 1):
        raise TraceError(path, f"has host {hosts - 1}, but not all hosts before it")
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
    last = np.cumsum(counts)
    parts = zip(guests, (last - counts).tolist(), last.tolist(), strict=True)

    def handle(part: tuple[GuestEvent, int, int]) -> Iterable[GuestDecision]:
        event, first, end = part
        asks = event.kind in (GuestEventKind.TRY, GuestEventKind.GUEST_AT_RISK)
        known = estimates[first:end] if asks else None
        return engine.handle([replace(event, estimates=known)], event.time)

    taken = logs.driven(path, parts, handle)
    return list(logs.log_lines(decision_columns(parameters.scheduler), taken, list(ids)))


def _estimates(path: Path, scheduler: str) -> npt.NDArray[Any]:
    """Return ESTIMATE[n]: the candidates of all tries and moves."""
    table = logs.read_log(path, logs.names_of(candidate_columns(scheduler)))
    made = np.zeros(len(table), dtype=ESTIMATE)
    made["host"] = logs.whole(table, "host", path)
    for name in SCHEDULERS.chosen(scheduler).looks_at:
        if name not in _PARTS:
            made[name] = logs.whole(table, name, path, empty=FAR)
            continue
        parts = table[name].cast(pl.Float64, strict=False)
        bad = ~parts.is_between(-_MOST, _MOST).fill_null(value=False)
        if bad.any():
            line = int(bad.arg_true()[0]) + 2
            raise TraceError(path, "is not a finite number", line=line, field=name)
        made[name] = np.rint(parts.to_numpy() * MILLION).astype(np.int64)
    return made


def _event_of() -> tuple[Callable[..., GuestEvent], Mapping[int, int]]:
    """Return what makes an event, as the engine is told it, of the cells of a row, and the places
    of the jobs so far: they stand in order of their first try, which is that of their submission.
    """
    place: dict[int, int] = {}

    def made(time: int, name: str, job: int, host: int, state: str) -> GuestEvent:
        kind = GuestEventKind[name.upper()]
        if kind is GuestEventKind.TRY:
            place.setdefault(int(job), len(place))
        key = int(host) if kind.about_host else place[int(job)]
        return GuestEvent(int(time), kind, key, NAMES.index(state) if kind.about_host else -1)

    return made, place
