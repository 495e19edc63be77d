"""The learner: what it says of nodes, that it never looks ahead, and that it survives all logs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.logs.read import read_failures
from forestall.prediction.models.semi_markov.learner import SemiMarkovPredictor

HOUR, DAY = 3600, 86_400


def machine(seed: int, nodes: int = 30, days: int = 200, shape: float = 0.6) -> Observations:
    rng = np.random.default_rng(seed)
    rate = rng.gamma(1.0, 1.0, nodes) + 0.1
    time, node, down = [], [], []
    for n in range(nodes):
        at = 0.0
        while True:
            at += 12 * DAY / rate[n] * rng.weibull(shape)
            if at >= days * DAY:
                break
            time.append(int(at))
            node.append(n)
            down.append(int(rng.exponential(2 * HOUR)))
            at += down[-1]
    log = Failures.build(time, node, down)
    return Observations.of(log, begin=0, end=days * DAY, nodes=nodes)


def hosts(seed: int, nodes: int = 6, days: int = 28) -> Observations:
    """Hosts that fail some minutes after their load goes up, mostly in the afternoon."""
    rng = np.random.default_rng(seed)
    time = np.arange(0, days * DAY, 300)
    value = np.full((nodes, len(time)), 0.05)
    fails = []
    for n in range(nodes):
        for day in range(days):
            if rng.random() < 0.5:
                at = day * 288 + int(rng.integers(13, 16) * 12 + rng.integers(0, 12))
                value[n, at : at + 12] = 0.9
                fails.append((int(time[at + 6]), n))
    value[rng.random(value.shape) < 0.01] = np.nan
    keep = np.isfinite(value)
    metrics = Metrics(
        np.concatenate([time[keep[n]] for n in range(nodes)]),
        np.repeat(np.arange(nodes), keep.sum(axis=1)),
        value[keep][:, None],
        ("cpu",),
        nodes,
        period=300,
    )
    log = Failures.build(*zip(*fails, strict=True), [900] * len(fails))
    return Observations.of(log, begin=0, end=days * DAY, nodes=nodes, metrics=metrics)


def shuffled(seen: Observations, cut: int, seed: int) -> Observations:
    """The same past, and another future."""
    rng = np.random.default_rng(seed)
    log = seen.failures
    late = np.flatnonzero(log.time >= cut)
    time, node, down = log.time.copy(), log.node.copy(), log.downtime.copy()
    time[late] = np.sort(rng.integers(cut, seen.end, len(late)))
    node[late] = rng.integers(0, seen.nodes, len(late))
    running = log.time + log.downtime >= cut  # how long these stay down is not known yet
    down[running] = rng.integers(0, 10 * DAY, int(running.sum()))
    down[running & (log.time < cut)] += cut - log.time[running & (log.time < cut)]
    metrics = seen.metrics
    if metrics is not None:
        value = metrics.value.copy()
        value[metrics.time >= cut] = rng.random((int((metrics.time >= cut).sum()), 1))
        metrics = Metrics(metrics.time, metrics.node, value, metrics.names, metrics.nodes,
                          period=metrics.period)  # fmt: skip
    made = Failures.build(time, node, down)
    return Observations.of(made, begin=seen.begin, end=seen.end, nodes=seen.nodes, metrics=metrics)


@pytest.mark.parametrize("make", [machine, hosts])
@pytest.mark.parametrize("downtimes", ["use", "ignore", "auto"])
def test_futures_change_nothing(make, downtimes: str) -> None:
    seen = make(1)
    cut = seen.end * 2 // 3
    learner = SemiMarkovPredictor(downtimes=downtimes)
    learner.learn(seen.until(cut))
    times = np.linspace(cut // 2, cut, 40).astype(np.int64)
    told = learner.chances(seen, times)
    assert told.shape == (40, seen.nodes, 4)
    assert np.all(np.diff(told, axis=-1) >= 0)
    assert np.all((told >= 0) & (told <= 1))
    np.testing.assert_array_equal(learner.chances(shuffled(seen, cut, 5), times), told)
    np.testing.assert_array_equal(learner.chances(seen.until(cut), times), told)
    for k in (0, 17, 39):
        np.testing.assert_allclose(learner.chances(seen, times[k : k + 1])[0], told[k], rtol=1e-9)


def area(score: np.ndarray, failed: np.ndarray) -> float:
    from scipy.stats import rankdata

    ranks, positive = rankdata(score), int(failed.sum())
    negative = failed.size - positive
    return float((ranks[failed].sum() - positive * (positive + 1) / 2) / (positive * negative))


def came(seen: Observations, times: np.ndarray, ahead: int) -> np.ndarray:
    made = np.zeros((len(times), seen.nodes), dtype=bool)
    for row, t in enumerate(times):
        inside = (seen.failures.time >= t) & (seen.failures.time < t + ahead)
        made[row, seen.failures.node[inside]] = True
    return made


def test_it_tells_bad_nodes_from_good_ones_and_keeps_the_level() -> None:
    seen = machine(3, nodes=60, days=300)
    learner = SemiMarkovPredictor()
    learner.learn(seen.until(200 * DAY))
    times = np.arange(200 * DAY, 293 * DAY, 7 * HOUR)
    told = learner.chances(seen, times)
    for k, ahead in enumerate(learner.horizons):
        failed = came(seen, times, ahead)
        assert area(told[..., k].ravel(), failed.ravel()) > 0.65
        assert told[..., k].mean() == pytest.approx(failed.mean(), rel=0.25)


def test_load_tells_of_a_failure_that_is_near() -> None:
    seen = hosts(2)
    cut = 21 * DAY
    times = np.arange(cut, 27 * DAY, 1800)
    failed = came(seen, times, HOUR)
    areas = {}
    for form in ("load", "updown"):
        learner = SemiMarkovPredictor(form=form)
        learner.learn(seen.until(cut))
        areas[form] = area(learner.chances(seen, times)[..., 0].ravel(), failed.ravel())
    assert areas["load"] > 0.9
    assert areas["load"] > areas["updown"]


def test_a_node_that_is_down_must_be_back_before_it_fails() -> None:
    seen = machine(4)
    learner = SemiMarkovPredictor(downtimes="use")
    learner.learn(seen)
    log = Failures.build([190 * DAY], [3], [5 * DAY])
    down = Observations.of(log, begin=0, end=200 * DAY, nodes=30)
    back = Observations.of(Failures.build([190 * DAY], [3], [60]), begin=0, end=200 * DAY, nodes=30)
    at = np.array([190 * DAY + 2 * HOUR])
    assert learner.chances(down, at)[0, 3, 0] < learner.chances(back, at)[0, 3, 0]


@pytest.mark.parametrize("downtimes", ["auto", "use"])
@pytest.mark.parametrize(
    ("times", "nodes", "width"),
    [([], [], 5), ([100], [0], 1), ([100, 100], [0, 0], 1), ([5, 9, 9], [2, 0, 2], 20_000)],
)
def test_it_survives(times: list[int], nodes: list[int], width: int, downtimes: str) -> None:
    log = Failures.build(times, nodes, [50] * len(times))
    seen = Observations.of(log, begin=0, end=30 * DAY, nodes=width)
    learner = SemiMarkovPredictor(downtimes=downtimes)
    learner.fit(seen)
    told = learner.chances(seen, np.array([0, 100, 101, 30 * DAY]))
    assert told.shape == (4, width, 4)
    assert np.all(np.isfinite(told))
    assert np.all((told >= 0) & (told <= 1))
    assert learner.chances(seen, np.empty(0, dtype=np.int64)).shape == (0, width, 4)


@pytest.mark.parametrize("make", [machine, hosts])
def test_to_a_state_and_back(make) -> None:
    seen = make(6)
    learner = SemiMarkovPredictor(horizons=[HOUR, 2 * DAY])
    learner.fit(seen.until(seen.end // 2))
    values, arrays = learner.state()
    again = SemiMarkovPredictor.from_state(json.loads(json.dumps(values)), arrays)
    times = np.array([seen.end // 2, seen.end // 2 + 3 * HOUR])
    np.testing.assert_array_equal(again.chances(seen, times), learner.chances(seen, times))
    np.testing.assert_array_equal(again.hazards(), learner.hazards())


def test_the_clock_may_be_moved() -> None:
    seen = machine(7)
    learner = SemiMarkovPredictor()
    learner.fit(seen)
    week = 7 * DAY
    moved = learner.moved(week)
    times = np.array([100 * DAY, 150 * DAY])
    np.testing.assert_allclose(
        moved.chances(seen.moved(week), times + week), learner.chances(seen, times), rtol=1e-9
    )


def test_bad_settings() -> None:
    for wrong in ({"downtimes": "maybe"}, {"form": "other"}, {"thresholds": [0.7, 0.1]},
                  {"horizons": [5, 5]}):  # fmt: skip
        with pytest.raises(ParameterError):
            SemiMarkovPredictor(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="form"):
        SemiMarkovPredictor(form="load").learn(machine(1))


@pytest.mark.slow
def test_on_a_real_log_it_is_ahead_of_rates(data: Path) -> None:
    from forestall.prediction.models.registry import new_learner

    log = read_failures(
        data / "lanl-failures-1996-2005/LA-UR-05-7318-failure-data-1996-2005.csv.gz", system=2
    )
    seen = Observations.of(log)
    cut = seen.begin + (seen.end - seen.begin) * 2 // 3
    times = np.arange(cut, seen.end - 7 * DAY, 11 * HOUR)
    failed = came(seen, times, DAY).ravel()
    areas = []
    for learner in (SemiMarkovPredictor(), new_learner("rate")):
        learner.learn(seen.until(cut))
        areas.append(area(learner.chances(seen, times)[..., 2].ravel(), failed))
    assert areas[0] > 0.65
    assert areas[0] > areas[1] + 0.04
