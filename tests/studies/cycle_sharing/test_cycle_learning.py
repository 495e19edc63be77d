"""Forecasts that no scheduler could make: what will happen, the law of a host, and no failures."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.hosts import HostTraces
from forestall.prediction.models.semi_markov.learning import MONDAY
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.parameters import CycleParameters
from studies.cycle_sharing.learning import LawForecasts, OtherwiseTaken, TrueForecasts

DAY, HOUR = 86_400, 3600


def hosts_of(days: int, busy: dict[int, float], origin: int = MONDAY) -> HostTraces:
    """One host, idle but for loads from some seconds on for an hour each; samples of 300 s."""
    load = np.full((1, days * DAY // 300), 0.1)
    for second, level in busy.items():
        load[0, second // 300 : (second + HOUR) // 300] = level
    return HostTraces(load, None, 300, np.array([0.5]), ("one",), origin)


def settings(**more: int) -> CycleParameters:
    given = {"warm_up": DAY, "predict_step": 300, "horizon": 4 * HOUR, "load_memory": 0}
    return CycleParameters(**(given | more))  # type: ignore[arg-type]


def test_what_will_happen_is_told() -> None:
    hosts = hosts_of(3, {DAY + 7200: 0.95, DAY + 14_400: 0.4})
    known = TrueForecasts(hosts, settings(predict_every=300))
    told = known.curves((DAY + 3600) // 300)  # an hour before the owner comes
    # The hold time has passed with the first sample: 300 s > 60 s. It leaves after 12 steps.
    assert told.reliability[0, 0].tolist() == [1.0] * 13 + [0.0] * 36
    assert told.reliability[0, 1].tolist() == told.reliability[0, 0].tolist()
    rate = 0.5 * 0.9 * 300
    assert told.work[0, 0, :13] == pytest.approx(rate * np.arange(13))
    assert told.work[0, 0, 24] == pytest.approx(12 * rate)  # nothing while the owner works
    assert told.work[0, 0, 48] - told.work[0, 0, 36] == pytest.approx(0.5 * 0.6 * 3600)
    later = known.curves((DAY + 7200) // 300)
    assert later.reliability[0, 0, 0] == 1.0
    assert later.reliability[0, 0, 1:].tolist() == [0.0] * 48
    last = known.curves((3 * DAY - 600) // 300)  # beyond the end nothing is done
    assert last.work[0, 0, -1] == pytest.approx(2 * rate)


def test_the_law_is_that_of_other_weeks_by_kind_of_day_and_hour() -> None:
    """In the weeks to learn from the owner comes at 9:00 every workday; in those played, never."""
    hosts = hosts_of(15, {})
    others = hosts_of(
        28, {d * DAY + 9 * HOUR: 0.95 for d in range(28) if d % 7 < 5}, MONDAY + 91 * DAY
    )
    known = LawForecasts(hosts, settings(), others)
    eight, monday = [known.curves(d * 24 + 8) for d in (1, 7)]
    assert np.array_equal(eight.reliability, monday.reliability)  # two workdays, one hour
    assert eight.reliability[0, 0, 11] == pytest.approx(1.0)
    assert eight.reliability[0, 0, 13] == pytest.approx(0.0)
    saturday = known.curves(5 * 24 + 8)
    assert saturday.reliability[0, 0].tolist() == pytest.approx([1.0] * 49)
    evening = known.curves(24 + 18)
    assert evening.reliability[0, 0].tolist() == pytest.approx([1.0] * 49)
    assert known.made == 3
    assert eight.work[0, 0, 12] == pytest.approx(0.5 * 0.9 * 3600)


@pytest.mark.parametrize("memory", [0, 1800])
def test_without_failures_the_loads_stay(memory: int) -> None:
    hosts = hosts_of(10, {d * DAY + 9 * HOUR: 0.95 for d in range(10)})
    parameters = settings(load_memory=memory)
    own = Forecasts(hosts, parameters)
    seen = own.curves(8 * 24 + 8)
    safe = OtherwiseTaken(own, parameters, safe=True).curves(8 * 24 + 8)
    assert seen.reliability.min() < 0.5
    assert safe.reliability.min() == 1.0
    assert safe.work == pytest.approx(seen.work)
    assert safe.sure == pytest.approx(safe.work)
    assert safe.present_work == pytest.approx(seen.present_work)


def test_another_memory_is_that_of_other_parameters() -> None:
    hosts = hosts_of(10, {d * DAY + 9 * HOUR: 0.95 for d in range(10)})
    own = Forecasts(hosts, settings(load_memory=1800))
    taken = OtherwiseTaken(own, settings(load_memory=0)).curves(8 * 24 + 8)
    plain = Forecasts(hosts, settings(load_memory=0)).curves(8 * 24 + 8)
    assert taken.work == pytest.approx(plain.work)
    assert taken.sure == pytest.approx(plain.sure)
    assert taken.present_work == pytest.approx(0 * plain.present_work)
