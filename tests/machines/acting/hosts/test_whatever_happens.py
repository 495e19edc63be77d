"""Random histories of hosts and coordinators: no machine is twice, none is lost that had a host."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ForestallError
from forestall.machines.acting import ledger
from forestall.machines.acting.hosts import records
from forestall.machines.acting.hosts.lease import LeaseTakenError
from forestall.machines.acting.hosts.records import Phase
from forestall.machines.rules.leaving import Foretold
from machines.acting.hosts.fake_pool import Killed
from machines.acting.hosts.fleets import Fleet, machine

HISTORIES = int(os.environ.get("FORESTALL_HISTORIES", "25"))
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # writes that last, but not on a disk
NODES = ("h1", "h2", "h3", "h4")
POSITIONS = ("system", "cluster:a", "cluster:b", "node:h1", "node:h3")
NAMES = ("m1", "m2", "m3", "m4")
EVENTS = st.one_of(
    st.tuples(st.just("step"), st.sampled_from(POSITIONS)),
    st.tuples(st.just("step"), st.sampled_from(POSITIONS)),
    st.tuples(st.just("killed"), st.sampled_from(POSITIONS), st.integers(1, 12)),
    st.tuples(st.just("kill"), st.sampled_from(POSITIONS)),
    st.tuples(st.just("start"), st.sampled_from(NAMES), st.sampled_from(("boot", "checkpoint"))),
    st.tuples(st.just("save"), st.sampled_from(NAMES)),
    st.tuples(st.just("die"), st.sampled_from(NODES)),
    st.tuples(st.just("boot"), st.sampled_from(NODES)),
    st.tuples(st.just("cut"), st.sampled_from(NODES)),
    st.tuples(st.just("mend"), st.sampled_from(NODES)),
    st.tuples(st.just("foresee"), st.sampled_from(NODES), st.integers(0, 200)),
    st.tuples(st.just("drain"), st.sampled_from(NODES)),
    st.tuples(st.just("undrain"), st.sampled_from(NODES)),
    st.tuples(st.just("spoil"), st.sampled_from(NAMES)),
    st.tuples(
        st.just("fault"), st.sampled_from(("target", "source", "broken", "unheard", "killed"))
    ),
    st.tuples(st.just("wait"), st.sampled_from((1, 6, 12))),
)


@contextmanager
def counting(strike: Callable[[], None]) -> Iterator[None]:
    """HostCall `strike` before and after each write that has to last."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((records, "_write"), (ledger, "append_line")):
            plain = getattr(module, name)

            def struck(*words: Any, plain: Any = plain, **more: Any) -> Any:
                strike()
                value = plain(*words, **more)
                strike()
                return value

            patch.setattr(module, name, struck)
        yield


class Countdown:
    """Kills whoever does the n-th thing."""

    def __init__(self) -> None:
        self.left = 0

    def __call__(self) -> None:
        if self.left > 0:
            self.left -= 1
            if self.left == 0:
                raise Killed


def check(fleet: Fleet, events: object = None) -> None:
    for name in NAMES:
        assert len(fleet.pool.running(name)) <= 1, f"{name} is twice after {events}"
    for name, host in fleet.pool.hosts.items():
        there = [one for one in host.domains.values() if one.state.alive and not one.barred]
        assert sum(one.definition.size.processors for one in there) <= host.size.processors, name


def play(fleet: Fleet, event: tuple[Any, ...], countdown: Countdown) -> None:
    kind, what, *more = event
    pool, told = fleet.pool, fleet.told
    if kind in {"step", "killed"}:
        countdown.left = more[0] if more else 0
        try:
            fleet.step(what)
        except LeaseTakenError:
            fleet.kill(what)
        except Killed:
            fleet.kill(what)
        countdown.left = 0
        fleet.pass_time()
    elif kind == "kill":
        fleet.kill(what)
    elif kind in {"start", "save"}:
        try:
            desk = fleet.desk()
            if kind == "start":
                desk.start(machine(what, after_loss=more[0]))
            else:
                desk.checkpoint(what)
        except (ForestallError, Killed):
            pass
    elif kind == "die":
        pool.die(what)
    elif kind == "boot":
        pool.boot(what)
    elif kind in {"cut", "mend"}:
        pool.hosts[what].link = kind == "mend"
    elif kind == "foresee":
        at = int(fleet.now) + more[0]
        told.failures[what] = Foretold(at, at - more[0] // 4, at + 50)
    elif kind == "drain":
        told.empty.add(what)
    elif kind == "undrain":
        told.empty.discard(what)
        told.failures.pop(what, None)
    elif kind == "spoil":
        path = fleet.folder / "machines" / what / "record.json"
        if path.exists() and len(pool.running(what)) == 1:
            path.write_text("{")
    elif kind == "fault":
        pool.fault = what
    else:
        fleet.pass_time(what)


@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(events=st.lists(EVENTS, min_size=8, max_size=40))
def test_no_machine_is_twice_and_none_is_lost(events: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        countdown = Countdown()
        with Fleet(Path(place)) as fleet, counting(countdown):
            fleet.pool.deed = countdown
            for name in NAMES[:2]:
                fleet.desk().start(machine(name, after_loss="boot"))
            for event in events:
                play(fleet, event, countdown)
                check(fleet, events)
            calm(fleet)


def calm(fleet: Fleet) -> None:
    """Faults end: all that should run does, and nothing is where it should not be."""
    fleet.pool.fault = ""
    for host in fleet.pool.hosts.values():
        host.power = host.link = True
    fleet.told.failures.clear()
    fleet.told.empty = {"h1"}
    for name in list(fleet.coordinators):
        fleet.kill(name)
    for _ in range(8):
        fleet.pass_time(11)
        fleet.step()
        check(fleet)
    for name, record in fleet.store.machines().items():
        running = fleet.pool.running(name)
        if record.phase.over:
            assert not running
            has_none = record.phase is Phase.LOST and not record.image
            assert has_none, (name, record)
        else:
            assert record.phase is Phase.RUNNING, record
            assert running == [record.node], record
    assert not fleet.pool.running("m1") or fleet.pool.running("m1") != ["h1"]
