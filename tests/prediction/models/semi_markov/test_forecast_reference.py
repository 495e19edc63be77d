"""Forecasts of hosts against the plain reference of cycle sharing, and both by hand: windows of
like days, Kaplan and Meier's product, the recursion, and the mean shares that guests got."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.prediction.models.semi_markov.process import SemiMarkov
from forestall.sharing.simulation.forecasts import Forecasts
from sharing.simulation.cycle_cases import NAN, Case, prepared, tables_of
from sharing.simulation.cycle_reference import (
    DAY,
    MONDAY,
    Seen,
    Table,
    World,
    foresee,
    law_of,
    recursion,
    stays_in,
    window_begins,
)

HOUR = 3600
TEN = 600
SLOW, FAST = "slow", "fast"


def table(which: str, case: Case, slot: int, host: int = 0) -> Table:
    _, hosts, parameters = prepared(case)
    if which == SLOW:
        return foresee(World(hosts, parameters), host, slot)
    return tables_of(Forecasts(hosts, parameters).curves(slot))[host]


@pytest.fixture(params=[SLOW, FAST])
def foretell(request: pytest.FixtureRequest) -> Any:
    """Return a function from a host's samples and a slot to what is foreseen of it; samples, steps
    of ten minutes, a horizon of an hour, no hold time."""

    def made(load: list[float], slot: int, *, speed: float = 1.0, **settings: Any) -> Table:
        settings = {
            "hold": 0, "predict_step": TEN, "horizon": HOUR, "load_memory": 0, "warm_up": 0,
            **settings,
        }  # fmt: skip
        origin, period = settings.pop("origin", None), settings.pop("period", TEN)
        case = Case([(0, 1)], [load], None, period, [speed], origin, settings)
        return table(request.param, case, slot)

    return made


def close(one: Any, other: Any) -> bool:
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------------------- the parts


def test_windows_of_like_days() -> None:
    # Two weeks from a Monday on; the window of the second Wednesday, 9:00 to 11:00.
    past = 9 * DAY + 9 * HOUR
    days = [8, 7, 4, 3, 2, 1, 0]
    assert window_begins(past, 2 * HOUR, 99 * DAY, MONDAY, None) == [
        day * DAY + 9 * HOUR for day in days
    ]
    assert len(window_begins(past, 2 * HOUR, 99 * DAY, MONDAY, 3)) == 3
    # Saturday knows the weekend before; Sunday also the day before.
    assert window_begins(12 * DAY, HOUR, 99 * DAY, MONDAY, 20) == [6 * DAY, 5 * DAY]
    assert window_begins(13 * DAY, HOUR, 99 * DAY, MONDAY, 1) == [12 * DAY]
    # A day later in the week is another week.
    assert window_begins(11 * DAY, HOUR, 99 * DAY, MONDAY + DAY, 2) == [5 * DAY, 4 * DAY]
    # Windows of more than a day have to have ended; those of exactly a day just have.
    assert window_begins(2 * DAY, DAY, 99 * DAY, MONDAY, 20) == [DAY, 0]
    assert window_begins(2 * DAY, DAY + 1, 99 * DAY, MONDAY, 20) == [0]
    # What was not seen is no past.
    assert window_begins(2 * DAY, HOUR, DAY, MONDAY, 20) == [0]
    assert window_begins(DAY - 1, HOUR, DAY, MONDAY, 20) == []


def test_stays_in_a_window() -> None:
    states = [0, 0, 0, 1, 1, 4, 0, 0]
    # The window of three steps has four samples; the stay under way counts from its begin.
    assert stays_in(states, 1, 3) == [Seen(0, 1, 2), Seen(1, None, 1)]
    assert stays_in(states, 0, 2) == [Seen(0, None, 2)]
    assert stays_in(states, 4, 9) == [Seen(1, 4, 1), Seen(4, 0, 1), Seen(0, None, 1)]
    assert stays_in(states, 7, 3) == [Seen(0, None, 0)]


def test_masses_of_stays_some_of_which_were_cut_off() -> None:
    # Of five stays one ends after a step in S2, one is cut off after one, one ends after two in S5,
    # one is cut off after two, and one ends after four in S3.
    seen = [Seen(0, 1, 1), Seen(0, None, 1), Seen(0, 4, 2), Seen(0, None, 2), Seen(0, 2, 4)]
    law = law_of(0, [*seen, Seen(1, 0, 9)])
    assert law is not None
    assert close(law[1], [0, 1 / 5, 0, 0, 0])
    assert close(law[4], [0, 0, 4 / 5 / 3, 0, 0])
    assert close(law[2], [0, 0, 0, 0, 4 / 5 * 2 / 3])
    assert close([law[0], law[3]], np.zeros((2, 5)))
    assert law_of(2, seen) is None


def test_the_recursion_by_hand() -> None:
    # S1 goes to S2 after a step, S2 after a step half the time back and else to S3.
    law1 = [[0.0, 0.0], [0.0, 1.0], *[[0.0, 0.0]] * 3]
    law2 = [[0.0, 0.5], [0.0, 0.0], [0.0, 0.5], *[[0.0, 0.0]] * 2]
    assert recursion(law1, law2, 5) == [
        [1, 1, 0.5, 0.5, 0.25, 0.25],
        [1, 0.5, 0.5, 0.25, 0.25, 0.125],
    ]


@st.composite
def laws(draw: st.DrawFn) -> np.ndarray:
    """Draw masses of S1 and S2, float64[2, 5, m]; some is missing now and then."""
    m = draw(st.integers(1, 9))
    made = np.zeros((2, 5, m + 1))
    weight = st.sampled_from([0.0, 0.0, 1.0, 2.0, 7.0])
    for s in (0, 1):
        cells = draw(st.lists(weight, min_size=4 * m, max_size=4 * m))
        others = [j for j in range(5) if j != s]
        made[s, others, 1:] = np.reshape(cells, (4, m))
        made[s] /= max(1.0, made[s].sum() + draw(st.sampled_from([0.0, 1.0])))
    return made


@given(laws(), st.integers(1, 40))
def test_the_recursion_is_what_the_series_give(masses: np.ndarray, n: int) -> None:
    ours = recursion(masses[0].tolist(), masses[1].tolist(), n)
    theirs = SemiMarkov.of_mass(masses).reliability_of_each(n)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------- whole forecasts


def test_a_host_that_left_on_one_of_two_days(foretell: Any) -> None:
    # On Monday it left after three steps, on Tuesday it stayed: on Wednesday half of it is left.
    # On Monday a quarter was taken in the first step, on Tuesday nothing was.
    day = 144
    load = [0.1] + [0.0] * 2 + [NAN] * (day - 3) + [0.0] * (2 * day)
    found = foretell(load, 48, speed=2.0)
    half = [1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    assert close(found.reliability[0], half)
    shares = [0.95, 1, 1, 1, 1, 1]
    assert close(found.work[0], np.cumsum([0, *[1200 * g for g in shares]]))
    means = [1, 1, 0.75, 0.5, 0.5, 0.5]
    weighed = [1200 * g * m for g, m in zip(shares, means, strict=True)]
    assert close(found.expected[0], np.cumsum([0, *weighed]))
    assert found.alive[0] == pytest.approx(600 * sum(means))
    assert found.again[0] == pytest.approx(0.5)
    assert found.step == TEN
    # S2 was never seen: it is never left, and the shares are those of all windows.
    assert close(found.reliability[1], [1] * 7)
    assert close(found.work[1], found.work[0])


def test_days_that_begin_alike(foretell: Any) -> None:
    # Monday begins in S1 with nothing taken, Tuesday in S2 with 0.4 taken.
    day = 144
    load = [0.0] * day + [0.4] * day + [0.0] * day
    found = foretell(load, 48)
    assert close(found.work, [600 * np.arange(7), 360 * np.arange(7)])
    # The last stay of S2 was cut off at the window's end: no host has ever left.
    assert close(found.reliability, np.ones((2, 7)))


def test_steps_without_a_sample_take_the_mean_of_the_others(foretell: Any) -> None:
    # Gaps of ten minutes within a hold time of ten are S1 and have no load; 0.1 and 0.2 are taken
    # in the first and third step, and nothing is known of the others.
    day = 144
    load = [0.1, NAN, 0.2, NAN, 0.0, NAN] + [NAN] * (day - 6) + [0.0] * day
    found = foretell(load, 24, hold=TEN)
    shares = [0.9, 0.9, 0.8, 0.9, 1.0, 0.9]
    assert close(found.work[0], np.cumsum([0, *[600 * g for g in shares]]))
    # The second gap of two samples or more is S5 from its second sample on: at step 6, beyond all
    # that counts but the window's last.
    assert close(found.reliability[0], [1, 1, 1, 1, 1, 1, 0])


def test_coarse_steps_take_the_worst_of_their_samples(foretell: Any) -> None:
    # Samples of five minutes: each third step holds one above th2, which without a hold time is S3.
    half_hours = [0.0] * 5 + [0.9]
    load = half_hours * 48 + [0.0] * 288
    found = foretell(load, 24, period=300)
    assert found.step == TEN
    assert close(found.reliability[0], [1, 1, 0, 0, 0, 0, 0])
    # The samples in S1 are what a guest gets, also of a step that has one in S3.
    assert close(found.work[0], 600 * np.arange(7))
    # Steps of 450 s are of two samples; those of 400 s, too; of 600 s, as well.
    for asked, step in [(450, 600), (300, 300), (600, 600), (900, 900), (3600, 3600)]:
        assert foretell(load, 24, period=300, predict_step=asked).step == step
    assert len(foretell(load, 24, period=300, predict_step=3600).work[0]) == 2


def test_a_host_without_a_past(foretell: Any) -> None:
    for found in (foretell([0.5] * 144, 0), foretell([NAN] * 144, 0)):
        assert close(found.reliability, np.ones((2, 7)))
        assert close(found.work, [600 * np.arange(7)] * 2)
        assert close(found.alive, [HOUR, HOUR])
    # An hour of it is no window, but a past: 0.5 are taken, and S1 is not known at all.
    found = foretell([0.5] * 6 + [0.0] * 138, 1)
    assert close(found.work, [300 * np.arange(7)] * 2)
    # The past of a host that went away after two steps is all there is.
    found = foretell([0.0] * 2 + [NAN] * 4 + [0.0] * 138, 1)
    assert close(found.reliability[0], [1, 1, 0, 0, 0, 0, 0])
    assert close(found.work[0], 600 * np.arange(7))


def test_only_the_last_days_of_history(foretell: Any) -> None:
    # It left on Monday after one step, and on Tuesday after two; Wednesday looks back.
    day = 144
    load = [0.0] + [NAN] * (day - 1) + [0.0] * 2 + [NAN] * (day - 2) + [0.0] * day
    assert close(foretell(load, 48, history=1).reliability[0], [1, 1, 0, 0, 0, 0, 0])
    assert close(foretell(load, 48, history=2).reliability[0], [1, 0.5, 0, 0, 0, 0, 0])
    # On Saturday both count as the past of whole days ... of no weekend: all that was seen.
    friday = 8 * DAY
    found = foretell(load, 48, origin=friday - DAY)
    assert found.reliability[0][1] == pytest.approx(0.5)


def test_what_comes_after_a_failure_does_not_count(foretell: Any) -> None:
    # The host is back after two steps, and leaves again after one: only the first stay counts.
    day = 144
    load = [0.0] * 3 + [NAN] * 2 + [0.0] + [NAN] + [0.0] * (2 * day - 7)
    assert close(foretell(load, 24).reliability[0], [1, 1, 1, 0, 0, 0, 0])


def test_the_weight_of_the_present(foretell: Any) -> None:
    # Steps of ten minutes, T = 20: the mean of exp(-t / T) over a step is 2 (1 - exp(-1/2)) in the
    # first, and exp(-1/2) times the one before in each that follows.
    day = 144
    load = [0.1] * day + [0.0] * day
    found = foretell(load, 24, load_memory=2 * TEN, speed=2.0)
    w = [2 * (1 - math.exp(-0.5)) * math.exp(-0.5 * j) for j in range(6)]
    assert close(found.present, np.cumsum([0, *[1200 * x for x in w]]))
    assert close(found.work[0], np.cumsum([0, *[1200 * 0.9 * (1 - x) for x in w]]))
    assert close(found.present_expected, [found.present] * 2)  # it never leaves
    # Less than half an hour at the full rate, and nearly all of it within an hour.
    assert found.present[-1] / 2 == pytest.approx(2 * TEN * (1 - math.exp(-3)))


# ------------------------------------------------------------------------------- the same


@st.composite
def pasts(draw: st.DrawFn) -> Case:
    """Draw a host of some days, with habits, and how it is foretold."""
    period = draw(st.sampled_from([300, 600, 900]))
    a_day = DAY // period
    levels = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.61, 0.9, NAN])
    runs = st.lists(st.tuples(levels, st.sampled_from([1, 2, 3, 7, 30])), min_size=1, max_size=12)
    load: list[float] = []
    usual = [x for x, many in draw(runs) for _ in range(many)]
    for _ in range(draw(st.integers(1, 9))):
        own = [x for x, many in draw(runs) for _ in range(many)]
        row = usual if draw(st.integers(0, 2)) else own
        load += (row * a_day)[:a_day]
    settings = {
        "hold": draw(st.sampled_from([0, 60, 300, 900])),
        "predict_step": draw(st.sampled_from([300, 600, 900, 3600])),
        "horizon": draw(st.sampled_from([HOUR, 6 * HOUR, DAY])),
        "history": draw(st.sampled_from([20, 1, 3])),
        "load_memory": draw(st.sampled_from([1800, 0, 7, 10**6])),
        "predict_every": draw(st.sampled_from([3600, 1800, 5000, DAY])),
        "spikes": draw(st.sampled_from(["share", "stop"])),
        "warm_up": 0,
    }
    memory = None
    if draw(st.integers(0, 3)) == 0:
        free = st.sampled_from([1.0, 0.1, 0.05, NAN])
        memory = [[x for x in draw(st.lists(free, min_size=5, max_size=9)) for _ in range(50)]]
        memory = [(memory[0] * len(load))[: len(load)]]
    origin = draw(st.sampled_from([None, MONDAY + 3 * DAY, MONDAY + 5 * DAY + 777]))
    speed = [draw(st.sampled_from([1.0, 0.37, 2.0]))]
    return Case([(0, 1)], [load], memory, period, speed, origin, settings)


@given(pasts(), st.lists(st.floats(0, 1), min_size=1, max_size=3))
@settings(max_examples=60)
def test_forecasts_are_those_of_the_plain_reference(case: Case, places: list[float]) -> None:
    _, hosts, parameters = prepared(case)
    world, forecasts = World(hosts, parameters), Forecasts(hosts, parameters)
    for place in places:
        slot = int(place * hosts.end / parameters.predict_every)
        ours, theirs = foresee(world, 0, slot), tables_of(forecasts.curves(slot))[0]
        for name, one, other in zip(ours._fields, ours, theirs, strict=True):
            assert np.shape(one) == np.shape(other), name
            assert np.allclose(one, other, rtol=1e-9, atol=1e-9), (name, slot, case)


@given(pasts(), st.floats(0, 1), st.lists(st.sampled_from([0.0, 0.5, 0.9, NAN]), min_size=1))
@settings(max_examples=60)
def test_nothing_is_known_that_comes_with_the_slot_or_after(
    case: Case, place: float, news: list[float]
) -> None:
    _, hosts, parameters = prepared(case)
    slot = int(place * hosts.end / parameters.predict_every)
    seen = slot * parameters.predict_every // case.period
    row = case.load[0]
    rest = (news * len(row))[: max(0, len(row) - seen)]
    other = prepared(replace(case, load=[row[:seen] + rest], memory=None))[1]
    hosts = prepared(replace(case, memory=None))[1]
    one, two = (Forecasts(each, parameters).curves(slot) for each in (hosts, other))
    assert tables_of(one) == tables_of(two)
