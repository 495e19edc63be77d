"""What only real hosts do, and an engine taken up from a snapshot."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestall.core.engine import kept
from forestall.core.model.cycle import ESTIMATE, GuestDecision, GuestEvent, GuestEventKind
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.streams import stream
from forestall.sharing.engine.engine import CycleEngine

K = GuestEventKind


def engine(hosts: int = 3) -> CycleEngine:
    made = CycleEngine(hosts, scheduler="condor", generator=stream(3, "test"), validate=True)
    made.handle([GuestEvent(0, K.HOST_STATE, host, state=0) for host in range(hosts)], 0)
    return made


def tried(one: CycleEngine, now: int, *jobs: int) -> list[GuestDecision]:
    alike = np.zeros(3, dtype=ESTIMATE)
    alike["host"] = range(3)  # of more hosts than are free: the others are passed over
    return one.handle([GuestEvent(now, K.TRY, job, estimates=alike) for job in jobs], now)


def test_guests_that_were_not_started_here() -> None:
    one = engine()
    first, second = one.add_job(), one.add_job()
    assert one.handle([GuestEvent(5, K.STARTED, first, host=2)], 5) == []
    assert one.candidates().tolist() == [0, 1]
    with pytest.raises(TransitionError, match="a host in S1 or S2 without another guest"):
        one.handle([GuestEvent(6, K.STARTED, second, host=2)], 6)
    assert one.handle([GuestEvent(7, K.REQUEUED, first)], 7) == []
    assert one.candidates().tolist() == [0, 1, 2]
    assert one.handle([GuestEvent(8, K.CANCELLED, first)], 8) == []
    with pytest.raises(TransitionError, match=r"WAITING at 7 s .REQUEUED., then DONE at 8 s"):
        tried(one, 9, first)


def test_a_drained_host_takes_no_guest() -> None:
    one = engine()
    jobs = [one.add_job() for _ in range(3)]
    one.handle([GuestEvent(1, K.HOST_DRAINED, host) for host in (0, 2)], 1)
    started = tried(one, 2, *jobs)
    assert [(d.kind.name, d.host) for d in started] == [("START", 1), ("WAIT", -1), ("WAIT", -1)]
    one.handle([GuestEvent(3, K.HOST_RETURNED, 0)], 3)
    assert tried(one, 4, jobs[1])[0].host == 0
    assert one.handle([GuestEvent(5, K.START_REFUSED, jobs[1])], 5) == []
    assert tried(one, 6, jobs[1])[0].host == 0


def test_a_restart_changes_no_decision() -> None:
    told = []
    for restarted in (False, True):
        one, answers = engine(), []
        for now in range(1, 200):
            if restarted and now == 90:
                one = CycleEngine.restore(
                    json.loads(json.dumps(one.snapshot())), generator=np.random.default_rng()
                )
            answers.append(tried(one, now, one.add_job()))
            if answers[-1][0].host >= 0 and now % 3:
                one.handle([GuestEvent(now, K.GUEST_ENDED, answers[-1][0].job)], now)
            if now % 40 == 0:
                back = [GuestEvent(now, K.HOST_STATE, host, state=4) for host in range(3)]
                answers.append(one.handle(back, now))
                one.handle([GuestEvent(now, K.HOST_STATE, h, state=0) for h in range(3)], now)
        told.append(answers)
    assert told[0] == told[1]


def _kept() -> dict[str, Any]:
    one = engine()
    tried(one, 1, one.add_job(), one.add_job())
    one.handle([GuestEvent(2, K.HOST_DRAINED, 2)], 2)
    return json.loads(json.dumps(one.snapshot()))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ("jobs", "host", 10**6), ("jobs", "status", 7), ("hosts", "guest", 10**6),
        ("hosts", "state", -1), ("estimates", "host", 10**6), ("draws", None, 2.0),
        ("at", None, -1),
    ],
)  # fmt: skip
def test_what_points_outside_is_refused(path: str, name: str | None, value: float) -> None:
    plain = _kept()
    array = kept._unpacked(plain["state"][path], {})
    array = np.ones(1) if not len(array) else array
    (array if name is None else array[name])[0] = value
    plain["state"][path] = kept.packed(array)
    with pytest.raises(ParameterError, match=path):
        CycleEngine.restore(plain, generator=np.random.default_rng())


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain.update(now=2**70), lambda plain: plain.update(jobs=10**6),
        lambda plain: plain.update(drained=[3]), lambda plain: plain.update(drained=["a"]),
        lambda plain: plain["state"]["rules"].update(scheduler=3, own=4096),
        lambda plain: plain["state"]["rules"].update(retry=0),
        lambda plain: plain["state"].pop("hosts"), lambda plain: plain.pop("draws"),
    ],
)  # fmt: skip
def test_what_is_no_snapshot_is_refused(change: Callable[[Any], Any]) -> None:
    plain = _kept()
    CycleEngine.restore(plain, generator=np.random.default_rng())
    change(plain)
    with pytest.raises(ParameterError):
        CycleEngine.restore(plain, generator=np.random.default_rng())
