"""An engine driven from Python with the events of a simulated run, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from forestall.core.engine.kept import parts as snapshot
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.simulation.prepare import rules_of
from forestall.scheduling.simulation.run import Outcome
from scheduling.simulation.cases import Case, prepared, run

FIELDS = ("job", "node", "start", "end", "deadline", "count", "at", "left_out", "left_out_at")
Between = Callable[[Engine, int], None]


def logged(outcome: Outcome) -> Iterator[tuple[Event, list[Decision]]]:
    """Return each event that the compiled loop told its engine, with what that answered."""
    place = used = 0
    for e in outcome.log.events:
        event = Event(int(e["time"]), EventKind(int(e["kind"])), int(e["key"]), int(e["until"]))
        answers = []
        for d in outcome.log.decisions[place : place + int(e["decisions"])]:
            ranges = outcome.log.ranges[used : used + int(d["ranges"])].tolist()
            used += int(d["ranges"])
            answers.append(
                Decision(
                    time=event.time,
                    kind=DecisionKind(int(d["kind"])),
                    reason=Reason(int(d["reason"])),
                    probability=float(d["probability"]),
                    nodes=NodeSet(tuple((a, b) for a, b in ranges)),
                    **{name: int(d[name]) for name in FIELDS},
                )
            )
        place += int(e["decisions"])
        yield event, answers


def decisions_of(outcome: Outcome) -> list[Decision]:
    return [decision for _, answers in logged(outcome) for decision in answers]


def engine_for(case: Case, **settings: Any) -> Engine:
    workload, failures, parameters, foreseen = prepared(case, **settings)
    start = int(workload.jobs.submit[0])
    if len(failures):
        start = min(start, int(failures.time[0]))
    return Engine(parameters.nodes, rules_of(parameters), foreseen, start, validate=True)


def drive(
    engine: Engine, outcome: Outcome, between: Between | None = None
) -> Iterator[tuple[list[Decision], list[Decision]]]:
    """Tell the engine what the simulated world told its own; yield what each of them decided."""
    work = outcome.workload
    for event, answers in logged(outcome):
        if between is not None:
            between(engine, event.time)
        if event.kind is EventKind.SUBMITTED:
            k = event.key
            told = (work.jobs.size[k], work.estimate[k], work.interval[k])
            assert engine.add_job(*(int(x) for x in told), event.time) == k
        yield engine.handle([event], event.time), answers


def check(case: Case, between: Between | None = None, **settings: Any) -> Engine:
    """Assert that both take the same decisions; return the engine as it is at the end."""
    outcome = run(case, log_events=True, **settings)
    engine = engine_for(case, **settings)
    count = 0
    for mine, answers in drive(engine, outcome, between):
        assert mine == answers, (case.seed, settings)
        count += 1
    assert count == len(outcome.log.events)
    assert engine.state.jobs["status"][: len(case.jobs)].tolist() == [3] * len(case.jobs)
    return engine


def bytes_of(engine: Engine) -> list[bytes]:
    """Return the bytes of all of an engine's arrays but those without meaning between calls."""
    held = snapshot(engine.state)
    return [np.asarray(a).tobytes() for name, a in held.items() if not name.startswith("scratch.")]
