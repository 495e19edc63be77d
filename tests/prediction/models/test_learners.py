"""What every predictor in the registry must keep to, whatever it learns."""

from __future__ import annotations

import functools
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.prediction.models.base import Predictor
from forestall.prediction.models.entries import LEARNERS, TRIVIAL
from forestall.prediction.models.learner import Learner, hazards_of
from forestall.prediction.models.registry import learner_class, new_learner

HOUR, DAY = 3600, 86_400
NODES, DAYS = 12, 60
TRAINED = 40 * DAY
MONDAY = 345_600 + 1_900 * 7 * DAY
"""Unix seconds of a midnight that begins a Monday, in 2006."""
QUICK: dict[str, dict[str, Any]] = {"boosted": {"trees": 10, "rows": 2000}}
"""Settings with which the slow ones are trained here, but for the test of their calibration."""
KINDS = ("fan", "ecc", "link", "boot", "login")


@pytest.fixture(params=list(LEARNERS))
def name(request: pytest.FixtureRequest) -> str:
    """Return the name of each predictor; skips one whose extra is not there."""
    kind = learner_class(request.param)
    if kind.extra == "learn":
        pytest.importorskip("sklearn", reason=f"{request.param} needs the extra learn")
    return str(request.param)


def quick(name: str, **settings: Any) -> Learner:
    """Return an untrained predictor that does not take long to train."""
    return new_learner(name, **QUICK.get(name, {}), **settings)


# ------------------------------------------------------------------------------------ the machines


def events_of(rng: np.random.Generator, nodes: int, end: int, number: int) -> RasLog:
    time = np.sort(rng.integers(0, max(end, 1), number))
    return RasLog(
        time,
        rng.integers(-1, nodes, number).astype(np.int32),
        rng.integers(1, 8, number).astype(np.int8),
        rng.integers(0, len(KINDS), number).astype(np.int32),
        tuple(str(n) for n in range(nodes)),
        KINDS,
        span=end,
        origin=MONDAY,
    )


def metrics_of(rng: np.random.Generator, nodes: int, end: int, period: int) -> Metrics:
    moments = np.arange(period // 2, end, period)
    node = np.repeat(np.arange(nodes), len(moments))
    value = rng.beta(2, 5, (len(node), 2))
    value[rng.random(value.shape) < 0.01] = np.nan
    names = ("cpu_share", "memory_share")
    return Metrics(np.tile(moments, nodes), node, value, names, nodes, period=period, origin=MONDAY)


def in_service(failures: Failures, nodes: int, end: int) -> Failures:
    """Return the failures of a machine of which one node comes late and one leaves early."""
    start = np.zeros(nodes, dtype=np.int64)
    stop = np.full(nodes, end, dtype=np.int64)
    start[-1], stop[0] = end // 8, end - end // 8
    return replace(
        failures, nodes=nodes, span=end, origin=MONDAY, service_start=start, service_end=stop,
        service_new=start > 0,
    )  # fmt: skip


def machine(
    seed: int = 1, nodes: int = NODES, days: int = DAYS, failures: int = 150, parts: bool = True
) -> Observations:
    """Return a machine of uneven nodes whose failures come in bursts, now and then at one second.

    Events and metrics tell nothing of its failures.
    """
    rng, end = np.random.default_rng([seed, nodes, days]), days * DAY
    weights = rng.gamma(0.7, 1.0, nodes) + 1e-3
    time = rng.integers(0, end, failures)
    close = rng.random(failures) < 0.3
    time[close] = np.minimum(
        np.roll(time, 1)[close] + rng.integers(0, 2 * HOUR, close.sum()), end - 1
    )
    node = rng.choice(nodes, failures, p=weights / weights.sum())
    if failures:
        node[close] = np.roll(node, 1)[close]
    log = in_service(Failures.build(time, node, np.full(failures, 1800)), nodes, end)
    return Observations.of(
        log,
        begin=0,
        end=end,
        nodes=nodes,
        events=events_of(rng, nodes, end, 20 * days) if parts else None,
        metrics=metrics_of(rng, nodes, end, 2 * HOUR) if parts else None,
    )


def other_future(seen: Observations, time: int, seed: int = 99) -> Observations:
    """Return observations that are the same strictly before `time`, and all else from there on,
    what happens at that very second, kinds of events and times in service included."""
    past, end = seen.until(time), seen.end + 5 * DAY
    after = machine(seed, seen.nodes, end // DAY, 400).between(time, end)
    events, metrics = after.events, after.metrics
    assert events is not None
    assert metrics is not None
    assert past.events is not None
    strange = np.where(np.arange(len(events)) % 3 == 0, len(KINDS), events.kind)
    events = replace(events, kind=strange.astype(np.int32), kinds=(*KINDS, "strange"))
    many = np.concatenate(([time] * seen.nodes, after.failures.time))
    whose = np.concatenate((np.arange(seen.nodes), after.failures.node))
    failures = replace(
        Failures.build(many, whose, np.full(len(many), 60)), nodes=seen.nodes, origin=MONDAY
    )
    if seen.failures.service_start is not None and seen.failures.service_end is not None:
        start, stop = seen.failures.service_start.copy(), seen.failures.service_end.copy()
        stop[stop > time] += 3 * DAY
        start[start > time] += 3 * DAY
        new = seen.failures.service_new
        failures = replace(failures, service_start=start, service_end=stop, service_new=new)
    later = Observations(failures, time, end, seen.nodes, events, metrics)
    joined = past.then(later)
    assert joined.failures.service_end is not None
    return joined


@functools.cache
def whole() -> Observations:
    return machine()


@functools.cache
def _fitted(name: str) -> Learner:
    made = quick(name)
    made.fit(whole().until(TRAINED))
    return made


def fitted(name: str) -> Learner:
    return _fitted(name).copy()


def moments(begin: int = TRAINED, end: int = DAYS * DAY, step: int = 7 * HOUR) -> Any:
    return np.arange(begin, end, step)


# ----------------------------------------------------------------------------------- what it says


def test_it_is_a_predictor_that_says_what_it_is(name: str) -> None:
    made = quick(name)
    assert isinstance(made, Predictor)
    assert made.name == name
    assert made.summary == LEARNERS[made.name].about
    assert 0 < len(made.summary) <= 60
    assert made.needs <= {"failures", "events", "metrics"}
    assert made.settings == json.loads(json.dumps(made.settings))
    assert type(made)(**made.settings).horizons == made.horizons
    assert type(made).__doc__


@pytest.mark.parametrize("horizons", [(), (0, 5), (7200, 3600), (3600, 3600)])
def test_horizons_must_ascend(name: str, horizons: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError):
        quick(name, horizons=horizons)


def test_untrained_it_says_so(name: str) -> None:
    with pytest.raises(ParameterError, match="untrained"):
        quick(name).failure_probability(np.array([0]), 0, 1)


def test_what_it_needs_must_be_there(name: str) -> None:
    made, bare = quick(name), machine(parts=False).until(TRAINED)
    if made.needs <= {"failures"}:
        made.fit(bare)
        assert made.nodes == NODES
    else:
        with pytest.raises(InputError, match=f"{name} needs"):
            made.fit(bare)


def check(chances: npt.NDArray[np.float64], shape: tuple[int, ...]) -> None:
    assert chances.shape == shape
    assert chances.dtype == np.float64
    assert np.isfinite(chances).all()
    assert chances.min(initial=0) >= 0
    assert chances.max(initial=0) <= 1
    assert np.all(np.diff(chances, axis=-1) >= 0), "less likely within a longer time"


def test_chances_are_probabilities_that_grow_with_the_horizon(name: str) -> None:
    made, times = fitted(name), moments()
    said = made.chances(whole(), times)
    check(said, (len(times), NODES, len(made.horizons)))
    assert np.array_equal(made.risks(whole(), times, made.horizons), said)
    others = (60, 1800, 3 * HOUR, DAY, 30 * DAY)
    check(made.risks(whole(), times[::5], others), (len(times[::5]), NODES, len(others)))
    check(made.chances(whole(), times[:0]), (0, NODES, len(made.horizons)))


def test_windows_that_grow_are_likelier_to_hold_a_failure(name: str) -> None:
    made, nodes = fitted(name), np.arange(NODES)
    before = np.zeros(NODES)
    for ahead in (0, 600, HOUR, 5 * HOUR, DAY, 6 * DAY, 40 * DAY):
        risk = made.failure_probability(nodes, made.now, made.now + ahead)
        assert np.all(risk >= before)
        assert np.all(risk <= 1)
        before = risk
    any_of = made.partition_failure_probability(nodes, made.now, made.now + DAY)
    each = made.failure_probability(nodes, made.now, made.now + DAY)
    assert any_of == pytest.approx(1 - np.prod(1 - each))
    assert np.all(made.time_to_failure(nodes) > 0)


def test_horizons_of_ones_own(name: str) -> None:
    made = quick(name, horizons=[1800, 2 * DAY])
    made.fit(whole().until(TRAINED))
    check(made.chances(whole(), moments(step=3 * DAY)), (7, NODES, 2))


# -------------------------------------------------------------------------- nothing but the past


@pytest.mark.parametrize("time", [TRAINED, TRAINED + 5 * DAY + 1234])
def test_another_future_changes_nothing(name: str, time: int) -> None:
    made, seen = fitted(name), whole()
    times = np.unique(np.append(moments(end=time + 1), [time - 1, time]))
    times = times[times <= time]
    said = made.chances(seen, times)
    assert np.array_equal(made.chances(other_future(seen, time), times), said)
    assert np.array_equal(made.chances(seen.until(time), times), said)


def test_another_future_does_not_reach_its_training(name: str) -> None:
    other = quick(name)
    other.fit(other_future(whole(), TRAINED).until(TRAINED))
    again = other_service(other.seen)
    times = moments(begin=TRAINED, end=TRAINED + 2 * DAY)
    assert np.array_equal(other.chances(again, times), fitted(name).chances(again, times))


def other_service(seen: Observations) -> Observations:
    """Return the same observations with what the whole log says of times in service."""
    log = whole().failures
    told = replace(
        seen.failures, service_start=log.service_start, service_end=log.service_end,
        service_new=log.service_new,
    )  # fmt: skip
    return replace(seen, failures=told)


def test_asking_of_more_moments_changes_no_answer(name: str) -> None:
    made, times = fitted(name), moments()
    said = made.chances(whole(), times)
    some = np.concatenate([made.chances(whole(), times[k : k + 1]) for k in (0, 3, len(times) - 1)])
    assert some == pytest.approx(said[[0, 3, -1]], rel=1e-9, abs=1e-15)


def test_online_it_says_what_the_table_says(name: str) -> None:
    online, table, seen = fitted(name), fitted(name), whole()
    for time in (TRAINED + 1, TRAINED + 3 * DAY, TRAINED + 3 * DAY + 600, DAYS * DAY - 1):
        online.observe(seen.between(online.now, time))
        expected = hazards_of(table.chances(seen, np.array([time]))[0])
        assert online.now == time
        assert online.hazards() == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_failure_by_failure_it_says_what_the_table_says(name: str) -> None:
    if not learner_class(name).needs <= {"failures"}:
        pytest.skip(f"{name} needs more than failures, which is told by observe")
    seen = machine(2, parts=False)
    online = quick(name)
    online.fit(seen.until(TRAINED))
    table, later = online.copy(), seen.between(TRAINED, seen.end).failures
    for k, (time, node) in enumerate(zip(later.time.tolist(), later.node.tolist(), strict=True)):
        online.update(time, node)
        if k % 10 == 0:
            now = online.now + 100 * k
            upcoming = int(later.time[k + 1]) if k + 1 < len(later) else seen.end
            online.advance(min(now, upcoming))
            asked = max(online.now, time + 1)
            if upcoming < asked:
                continue  # more is to come of this very second
            expected = hazards_of(table.chances(seen, np.array([asked]))[0])
            assert online.hazards() == pytest.approx(expected, rel=1e-9, abs=1e-15)


def test_a_copy_learns_by_itself(name: str) -> None:
    made = fitted(name)
    before = made.hazards().copy()
    other = made.copy()
    other.observe(whole().between(TRAINED, TRAINED + 10 * DAY))
    assert made.now == TRAINED
    assert np.array_equal(made.hazards(), before)


def test_two_fits_are_the_same(name: str) -> None:
    again = quick(name)
    again.fit(whole().until(TRAINED))
    first, second = fitted(name).learnt(), again.learnt()
    assert json.dumps(first[0], sort_keys=True) == json.dumps(second[0], sort_keys=True)
    assert first[1].keys() == second[1].keys()
    for key, array in first[1].items():
        assert np.array_equal(array, second[1][key], equal_nan=array.dtype.kind == "f"), key
    said = [one.chances(whole(), moments()) for one in (fitted(name), again)]
    assert np.array_equal(*said)


# ------------------------------------------------------------------------------- clocks and files


@pytest.mark.parametrize("seconds", [12_345, -30 * DAY])
def test_on_another_clock_it_says_the_same(name: str, seconds: int) -> None:
    made, nodes = fitted(name), np.arange(NODES)
    other = made.moved(seconds)
    assert (other.now, made.now) == (TRAINED + seconds, TRAINED)
    assert other.trained_until == made.trained_until + seconds
    here = made.failure_probability(nodes, TRAINED, TRAINED + DAY)
    there = other.failure_probability(nodes, other.now, other.now + DAY)
    assert there == pytest.approx(here, rel=1e-7, abs=1e-12)
    times = moments(step=DAY)
    said = other.chances(whole().moved(seconds), times + seconds)
    assert said == pytest.approx(made.chances(whole(), times), rel=1e-7, abs=1e-12)


def test_trained_to_end_on_the_clock_of_a_run(name: str) -> None:
    made = quick(name)
    made.fit(whole().until(TRAINED), end=0)
    assert (made.now, made.trained_until, made.seen.begin) == (0, 0, -TRAINED)
    nodes = np.arange(NODES)
    expected = fitted(name).failure_probability(nodes, TRAINED, TRAINED + DAY)
    assert made.failure_probability(nodes, 0, DAY) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def through_a_file(made: Learner) -> Learner:
    values, arrays = made.state()
    assert all(array.dtype != np.dtype(object) for array in arrays.values())
    kept = io.BytesIO()
    np.savez(kept, **arrays)  # type: ignore[arg-type]
    kept.seek(0)
    text = json.dumps(values, allow_nan=False)
    with np.load(kept, allow_pickle=False) as back:
        return type(made).from_state(json.loads(text), dict(back))


def test_from_a_file_it_says_the_same(name: str) -> None:
    made = fitted(name)
    back = through_a_file(made)
    assert (back.trained, back.trained_until, back.now, back.nodes) == (
        made.trained, made.trained_until, made.now, made.nodes,
    )  # fmt: skip
    assert np.array_equal(back.hazards(), made.hazards())
    assert np.array_equal(back.chances(whole(), moments()), made.chances(whole(), moments()))
    later = whole().between(TRAINED, TRAINED + 4 * DAY)
    for one in (made, back):
        one.observe(later)
    assert np.array_equal(back.hazards(), made.hazards())


# ---------------------------------------------------------------------------------- little to see


CASES = {
    "no failures": {"failures": 0},
    "one failure": {"failures": 1},
    "two failures": {"failures": 2},
    "one node": {"nodes": 1, "failures": 30},
    "one node, one failure": {"nodes": 1, "failures": 1},
    "one day": {"days": 1, "failures": 3},
    "many nodes, few failures": {"nodes": 200, "failures": 4, "days": 10},
}


@pytest.mark.parametrize("case", CASES)
def test_little_to_learn_from(name: str, case: str) -> None:
    seen = machine(5, **CASES[case])
    made = quick(name)
    made.fit(seen)
    times = np.array([0, 1, seen.end // 2, seen.end, seen.end + 3 * DAY, seen.end + 900 * DAY])
    check(made.chances(seen, times), (len(times), seen.nodes, len(made.horizons)))
    back = through_a_file(made)
    assert np.array_equal(back.chances(seen, times), made.chances(seen, times))


def test_nothing_observed_at_all(name: str) -> None:
    seen = machine(5).until(0)
    made = quick(name)
    made.fit(seen)
    times = np.array([0, 5 * DAY])
    check(made.chances(whole(), times), (2, NODES, len(made.horizons)))


def test_all_failures_at_one_second(name: str) -> None:
    seen = machine(5)
    log = replace(
        seen.failures,
        time=np.full(len(seen.failures), 9 * DAY),
        node=np.sort(seen.failures.node),
    )
    made = quick(name)
    made.fit(replace(seen, failures=log))
    times = np.array([9 * DAY, 9 * DAY + 1, seen.end])
    check(made.chances(made.seen, times), (3, NODES, len(made.horizons)))


def test_a_machine_that_has_grown(name: str) -> None:
    made, more = fitted(name), machine(7, nodes=NODES + 5)
    made.observe(more.between(TRAINED, TRAINED + 5 * DAY))
    assert made.hazards().shape == (NODES + 5, len(made.horizons))
    times = moments(step=2 * DAY)
    check(made.chances(more, times), (len(times), NODES + 5, len(made.horizons)))


def test_twenty_thousand_nodes(name: str) -> None:
    rng, nodes, end = np.random.default_rng(3), 20_000, 10 * DAY
    time, node = rng.integers(0, end, 60), rng.integers(0, nodes, 60)
    log = in_service(Failures.build(time, node), nodes, end)
    metrics = metrics_of(rng, nodes, end, 5 * DAY)
    seen = Observations.of(
        log, begin=0, end=end, events=events_of(rng, nodes, end, 500), metrics=metrics
    )
    made = quick(name)
    made.fit(seen.until(8 * DAY))
    times = np.array([8 * DAY, 9 * DAY])
    check(made.chances(seen, times), (2, nodes, len(made.horizons)))


# ---------------------------------------------------------------------------------- calibration


@functools.cache
def even() -> Observations:
    """Return a machine whose nodes are all alike and fail by Poisson processes of one rate; events
    and metrics are noise."""
    rng, nodes, end = np.random.default_rng(2024), 60, 600 * DAY
    number = rng.poisson(nodes * end / (20 * DAY))
    log = Failures.build(rng.integers(0, end, number), rng.integers(0, nodes, number))
    return Observations.of(
        replace(log, nodes=nodes, span=end, origin=MONDAY),
        begin=0,
        end=end,
        events=events_of(rng, nodes, end, 30_000),
        metrics=metrics_of(rng, nodes, end, 12 * HOUR),
    )


@pytest.mark.slow
def test_of_a_machine_without_pattern_it_says_the_rate(name: str) -> None:
    seen, split = even(), 400 * DAY
    times = np.arange(split, seen.end - DAY, DAY)
    failed = np.zeros((len(times), seen.nodes), dtype=np.bool_)
    later = seen.failures.time >= split
    day = (seen.failures.time[later] - split) // DAY
    inside = day < len(times)
    failed[day[inside], seen.failures.node[later][inside]] = True
    briers = {}
    for one in {name, TRIVIAL[0]}:
        made = new_learner(one)
        made.fit(seen.until(split))
        said = made.risks(seen, times, (DAY,))[..., 0]
        briers[one] = float(np.mean((said - failed) ** 2))
        assert said.mean() == pytest.approx(failed.mean(), rel=0.15), one
    assert 1 - briers[name] / briers[TRIVIAL[0]] >= -0.02
