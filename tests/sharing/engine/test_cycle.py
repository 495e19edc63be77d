"""The engine for guests on shared hosts, driven from Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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
from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.sharing.engine.engine import CycleEngine

TRY, STATE, ENDED = GuestEventKind.TRY, GuestEventKind.HOST_STATE, GuestEventKind.GUEST_ENDED


def estimates(*rows: tuple[int, ...]) -> np.ndarray:
    return np.array(list(rows), dtype=ESTIMATE)


def engine(hosts: int = 2, **more: object) -> CycleEngine:
    made = CycleEngine(hosts, validate=True, **more)  # type: ignore[arg-type]
    made.state.hosts["state"] = 0
    return made


def tell(e: CycleEngine, event: GuestEvent, known: np.ndarray | None = None) -> list[GuestDecision]:
    return e.handle([replace(event, estimates=known)], event.time)


def test_a_guest_comes_and_goes() -> None:
    e = engine()
    job = e.add_job()
    assert e.candidates().tolist() == [0, 1]
    known = estimates((0, 100, 50, 50, FAR, 0, 7), (1, 100, 500, 400, 120, 0, 900_000))
    [start] = tell(e, GuestEvent(10, TRY, job), known)
    assert (start.kind, start.reason) == (GuestDecisionKind.START, GuestReason.ENDS_FIRST)
    assert (start.host, start.candidates, start.tries) == (1, 2, 1)
    assert (start.jct, start.mttf, start.etl, start.jctf) == (100, 500, 400, 120)
    assert start.chance == 900_000
    assert e.state.jobs["host"][job] == 1
    assert e.candidates().tolist() == [0]
    assert tell(e, GuestEvent(50, STATE, 1, state=1)) == []
    [end] = tell(e, GuestEvent(60, STATE, 1, state=3))
    assert (end.kind, end.reason, end.job) == (GuestDecisionKind.END, GuestReason.THRASHING, job)
    assert e.state.jobs["host"][job] == -1
    [again] = tell(e, GuestEvent(60, TRY, job), known[:1])
    assert (again.host, again.reason) == (0, GuestReason.LONGEST_LEFT)
    assert tell(e, GuestEvent(160, ENDED, job)) == []
    assert e.candidates().tolist() == [0]


@pytest.mark.parametrize(
    ("state", "reason"),
    [(2, GuestReason.CONTENTION), (3, GuestReason.THRASHING), (4, GuestReason.AWAY)],
)
def test_why_a_guest_is_ended(state: int, reason: GuestReason) -> None:
    e = engine(1)
    job = e.add_job()
    tell(e, GuestEvent(0, TRY, job), estimates((0, 1, 2, 2, 1, 0, 0)))
    assert [one.reason for one in tell(e, GuestEvent(1, STATE, 0, state=state))] == [reason]


def test_unscheduled_after_so_many_tries_and_never_once_started() -> None:
    e = engine(1, retry=300, retries=2)
    first, second = e.add_job(), e.add_job()
    tell(e, GuestEvent(0, TRY, first), estimates((0, 1, 2, 2, 1, 0, 0)))
    kinds = []
    for time in (0, 300, 600):
        [one] = tell(e, GuestEvent(time, TRY, second))
        kinds.append((one.kind, one.at, one.tries))
    wait, up = GuestDecisionKind.WAIT, GuestDecisionKind.GIVE_UP
    assert kinds == [(wait, 300, 1), (wait, 600, 2), (up, -1, 3)]
    with pytest.raises(ParameterError, match="a job that is WAITING, not DONE"):
        tell(e, GuestEvent(900, TRY, second))
    tell(e, GuestEvent(900, STATE, 0, state=4))
    for time in range(900, 9000, 300):
        [one] = tell(e, GuestEvent(time, TRY, first))
        assert one.kind is wait
        assert one.reason is GuestReason.NO_HOST


def test_ties_are_drawn_one_draw_a_start() -> None:
    """200 starts, each among three alike: the n-th draw of the stream decides the n-th."""
    e = engine(3, scheduler="condor", generator=stream(5, "test"))
    draws = stream(5, "test").random(200)
    alike = estimates(*((host, 0, 0, 0, 0, MILLION, 0) for host in range(3)))
    for n in range(200):
        job = e.add_job()
        [one] = tell(e, GuestEvent(n, TRY, job), alike)
        assert one.host == int(draws[n] * 3)
        tell(e, GuestEvent(n, ENDED, job))


def test_the_omniscient_waits_where_all_is_in_vain_unless_work_is_kept() -> None:
    doomed = estimates((0, 0, 0, 40, FAR, 0, 0), (1, 0, 0, 50, FAR, 0, 0))
    for restart, reason, host in (
        ("scratch", GuestReason.DOOMED, -1),
        ("checkpoint", GuestReason.TRUE_LONGEST, 1),
    ):
        e = engine(2, scheduler="omniscient", restart=restart, retries=0)
        [one] = tell(e, GuestEvent(0, TRY, e.add_job()), doomed)
        assert (one.reason, one.host) == (reason, host)
    e = engine(2, scheduler="omniscient")
    sure = estimates((0, 0, 0, 40, 90, 0, 0), (1, 0, 0, 50, 80, 0, 0))
    [one] = tell(e, GuestEvent(0, TRY, e.add_job()), sure)
    assert (one.reason, one.host) == (GuestReason.TRUE_END, 1)


def test_what_cannot_have_happened_is_refused() -> None:
    e = engine()
    job = e.add_job()
    wrong = [
        (GuestEvent(0, TRY, 1), None, "a job from 0 to 0"),
        (GuestEvent(0, STATE, 2, state=0), None, "a host from 0 to 1"),
        (GuestEvent(0, STATE, 0, state=5), None, "S5"),
        (GuestEvent(0, ENDED, job), None, "a job that is RUNNING, not WAITING"),
        (GuestEvent(0, TRY, job), estimates((1, 0, 0, 0, 0, 0, 0)), "one of each of hosts"),
        (GuestEvent(0, TRY, job), None, "one of each of hosts"),
    ]
    for event, known, text in wrong:
        with pytest.raises(ParameterError, match=text):
            tell(e, event, known)
    tell(e, GuestEvent(5, STATE, 0, state=1))
    with pytest.raises(ParameterError, match="no earlier than 5"):
        tell(e, GuestEvent(4, STATE, 0, state=1))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"scheduler": "best"}, "scheduler"),
        ({"restart": "never"}, "restart"),
        ({"scheduler": "condor"}, "generator"),
        ({"retry": 0}, "retry"),
        ({"retries": -1}, "retries"),
        ({"hosts": 0}, "hosts"),
    ],
)
def test_settings_that_cannot_be(more: dict[str, object], text: str) -> None:
    with pytest.raises(ParameterError, match=text):
        CycleEngine(**{"hosts": 2, **more})  # type: ignore[arg-type]
