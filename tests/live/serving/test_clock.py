"""The clock of a simulated cluster: fast, slow while somebody thinks, never far from the look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.live.serving.clock import FREE, LONGEST, THINKING, SimulatedClock


class Wall:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def made(speed: float = 600.0, ahead: int = 10**9) -> tuple[SimulatedClock, Wall]:
    wall = Wall()
    clock = SimulatedClock(1_000_000, speed, ahead, wall)
    clock.looked()
    return clock, wall


def test_it_is_so_many_times_as_fast() -> None:
    clock, wall = made()
    wall.at += 10
    assert clock.now() == 1_000_000 + 6000
    assert clock.speed() == 600


def test_it_waits_for_who_looks() -> None:
    clock, wall = made(ahead=300)
    wall.at += 10
    assert clock.now() == 1_000_300
    clock.looked()
    wall.at += 0.25
    assert clock.now() == 1_000_450


def test_it_is_slow_while_somebody_thinks() -> None:
    clock, wall = made()
    clock.slow()
    wall.at += 20
    assert clock.now() == 1_000_020
    assert clock.speed() == 1
    clock.go()
    wall.at += 1
    assert clock.now() == 1_000_620


def test_nobody_thinks_for_ever() -> None:
    clock, wall = made()
    clock.slow()
    wall.at += THINKING + 2
    assert clock.now() == pytest.approx(1_000_000 + THINKING + 2 * 600, abs=1)
    assert clock.speed() == 600


def test_however_often_it_is_asked_it_goes_on() -> None:
    clock, wall = made()
    speeds = []
    for _ in range(int(LONGEST + FREE / 2)):
        clock.slow()
        speeds.append(clock.speed())
        wall.at += 1
    assert speeds.count(600) >= FREE / 2 - 1
    wall.at += FREE + 1
    clock.slow()
    assert clock.speed() == 1


def test_a_slow_clock_is_not_made_faster() -> None:
    clock, wall = made(speed=0.5)
    clock.slow()
    wall.at += 10
    assert clock.now() == 1_000_005


@given(st.lists(st.tuples(st.sampled_from(["slow", "go", "looked", "now"]), st.floats(0, 100))))
def test_it_never_goes_back(steps: list[tuple[str, float]]) -> None:
    clock, wall = made(ahead=5000)
    last = clock.now()
    for name, seconds in steps:
        wall.at += seconds
        getattr(clock, name)()
        now = clock.now()
        assert last <= now <= last + 600 * seconds + 1
        last = now
