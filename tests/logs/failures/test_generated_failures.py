"""Generated failures: count, mean, spread and shape of when, which node and how long."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.logs.generate import (
    PRESETS,
    Bursts,
    ConstantTimes,
    LognormalTimes,
    Seeds,
    WeibullTimes,
    generate_failures,
    preset_failures,
)
from forestall.logs.generate.times import Lifetimes

NONE = Bursts()
RUNS = 60


def counts(**parameters: object) -> np.ndarray:
    return np.array([len(generate_failures(50, 365, s, **parameters)) for s in range(RUNS)])


def close(values: np.ndarray, mean: float) -> bool:
    """Whether a sample's mean lies within four standard errors."""
    return abs(values.mean() - mean) < 4 * values.std() / np.sqrt(len(values))


def test_followers_stay_in_their_rack() -> None:
    """Of 200 nodes in racks of 16, the last of which has 8: a burst is one rack's, all racks have
    some, and times without racks are as they were."""
    bursts = Bursts(share=0.4, size=4, rack=16)
    made = generate_failures(200, 3000, 5, rate_per_year=400, bursts=bursts, heterogeneity=0)
    together = np.array(made.kind) == "burst"
    assert together.mean() > 0.3
    rack = made.node // 16
    near = (np.diff(made.time) < 30) & together[1:] & together[:-1]
    assert near.sum() > 300
    assert (rack[1:] == rack[:-1])[near].mean() > 0.95
    assert set(rack[together].tolist()) == set(range(13))
    even = generate_failures(192, 30, 5, rate_per_year=4000, bursts=bursts)
    assert even.node.dtype == np.int64
    assert set((even.node // 16).tolist()) == set(range(12))
    anywhere = generate_failures(
        200, 3000, 5, rate_per_year=400, bursts=Bursts(share=0.4, size=4), heterogeneity=0
    )
    other = anywhere.node // 16
    close = (np.diff(anywhere.time) < 30) & (np.array(anywhere.kind) == "burst")[1:]
    assert (other[1:] == other[:-1])[close].mean() < 0.3


def test_poisson_counts_have_the_mean_and_the_dispersion_of_poisson() -> None:
    many = counts(rate_per_year=200, shape=1.0, heterogeneity=0.0, bursts=NONE)
    assert close(many, 200)
    # The dispersion index of n Poisson counts has standard deviation sqrt(2 / n).
    assert many.var() / many.mean() == pytest.approx(1, abs=4 * np.sqrt(2 / RUNS))


@pytest.mark.parametrize("shape", [0.6, 0.7, 1.0, 1.5])
def test_the_rate_is_kept_from_the_first_second(shape: float) -> None:
    law = Lifetimes(mtbf=1000.0, shape=shape, frailty=0.0)
    time, _ = law.draw(2_000, 10_000.0, 1)
    tenths = np.histogram(time, bins=10, range=(0, 10_000))[0]
    assert len(time) == pytest.approx(20_000, rel=0.05)
    assert tenths == pytest.approx(np.full(10, 2_000), rel=0.15)


@pytest.mark.parametrize("shape", [0.6, 0.8, 1.0])
def test_times_between_failures_of_a_node_are_weibull(shape: float) -> None:
    from scipy import stats

    law = Lifetimes(mtbf=100.0, shape=shape, frailty=0.0)
    time, slot = law.draw(200, 10_000.0, 2)
    order = np.lexsort((time, slot))
    gaps = np.diff(time[order])[np.diff(slot[order]) == 0]
    gaps = gaps[gaps > 0]
    fitted, _, scale = stats.weibull_min.fit(gaps, floc=0)
    assert fitted == pytest.approx(shape, rel=0.05)
    assert stats.weibull_min.mean(fitted, scale=scale) == pytest.approx(100, rel=0.1)


def test_nodes_differ_as_asked_for() -> None:
    for frailty in (0.0, 0.5, 1.0):
        rates = Lifetimes(1000.0, 1.0, frailty).rates(20_000, 3)
        assert rates.mean() == pytest.approx(1, rel=0.05)
        assert rates.var() == pytest.approx(frailty, rel=0.1, abs=1e-9)
    alike = generate_failures(
        200, 3650, 4, rate_per_year=400, shape=1, heterogeneity=0, bursts=NONE
    )
    apart = generate_failures(
        200, 3650, 4, rate_per_year=400, shape=1, heterogeneity=1, bursts=NONE
    )
    spread = [np.bincount(f.node, minlength=200) for f in (alike, apart)]
    assert spread[0].var() / spread[0].mean() == pytest.approx(1, abs=0.4)
    # Mean m and frailty v give counts of variance m + v m^2.
    assert spread[1].var() / spread[1].mean() == pytest.approx(1 + spread[1].mean(), rel=0.4)


def test_bursts_keep_the_rate_and_come_together() -> None:
    bursts = Bursts(share=0.5, size=4, spread=60)
    many = counts(rate_per_year=200, shape=1.0, heterogeneity=0.0, bursts=bursts)
    assert close(many, 200)
    assert many.var() / many.mean() > 2
    one = generate_failures(50, 3650, 1, rate_per_year=200, bursts=bursts, shape=1.0)
    assert one.kind is not None
    followers = 0.5 * len(one)
    leaders = followers / 4
    assert one.kind.count("burst") == pytest.approx(followers + leaders, rel=0.1)
    gaps = np.diff(one.time)
    assert np.mean(gaps <= 300) == pytest.approx(0.5, abs=0.06)
    close_by = np.flatnonzero(gaps <= 60)
    assert np.mean(one.node[close_by] != one.node[close_by + 1]) > 0.9


def test_the_default_is_near_lanl_system_20() -> None:
    logs = [generate_failures(256, 365, seed) for seed in range(30)]
    assert np.mean([len(log) for log in logs]) == pytest.approx(307, rel=0.05)
    assert np.mean([len(set(log.node.tolist())) for log in logs]) == pytest.approx(150, abs=10)


@pytest.mark.parametrize(
    ("law", "median", "deviation"),
    [
        (ConstantTimes(600.0), 600, 0),
        (LognormalTimes(3600.0, 1800.0), 1800, 3600 * np.sqrt((3600 / 1800) ** 2 - 1)),
        (WeibullTimes(3600.0, 1.0), 3600 * np.log(2), 3600),
    ],
)
def test_repair_times(law: ConstantTimes, median: float, deviation: float) -> None:
    drawn = law.draw(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(law.mean, rel=0.02)
    assert np.median(drawn) == pytest.approx(median, rel=0.02)
    assert drawn.std() == pytest.approx(deviation, rel=0.1)
    assert drawn.min() >= 1


def test_each_axis_has_its_own_seed() -> None:
    base = generate_failures(50, 365, 1)
    same = generate_failures(50, 365, Seeds(1, 1, 1))
    assert base.time.tolist() == same.time.tolist()
    assert base.downtime.tolist() == same.downtime.tolist()
    moved = generate_failures(50, 365, Seeds(1, 2, 1))
    assert moved.time.tolist() == base.time.tolist()
    assert moved.node.tolist() != base.node.tolist()
    # The nodes are only renamed: their numbers of failures stay.
    numbers = [np.sort(np.bincount(f.node, minlength=50)).tolist() for f in (base, moved)]
    assert numbers[0] == numbers[1]
    slower = generate_failures(50, 365, Seeds(1, 1, 2))
    assert slower.time.tolist() == base.time.tolist()
    assert slower.node.tolist() == base.node.tolist()
    assert slower.downtime.tolist() != base.downtime.tolist()
    constant = generate_failures(50, 365, 1, repair="constant")
    assert constant.node.tolist() == base.node.tolist()


def test_unpredictable_ones_are_foreseen_by_nobody_but_the_perfect() -> None:
    log = generate_failures(50, 3650, 1, rate_per_year=300, unpredictable=0.3)
    assert np.mean(log.detectability > 1 - 1e-12) == pytest.approx(0.3, abs=0.04)
    assert log.detectability.max() < 1
    assert bool(np.all(np.isnan(generate_failures(50, 365, 1).detectability)))


def test_none_and_one() -> None:
    none = generate_failures(10, 5, 1, rate_per_year=0)
    assert (len(none), none.nodes, none.span) == (0, 10, 432_000)
    one = generate_failures(1, 3650, 1, rate_per_year=20, bursts=Bursts(0.5))
    assert set(one.node.tolist()) == {0}
    many = [len(generate_failures(1, 365, s, rate_per_year=20)) for s in range(RUNS)]
    assert close(np.array(many), 20)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_keep_the_mean_that_they_say(name: str) -> None:
    preset = PRESETS[name]
    assert preset.keep == "sample"
    assert preset.citation
    days = 400 * (preset.sample_up + preset.sample_down) / 24 / 50
    log = preset_failures(name, 500, days, 1)
    expected = 500 * days * 24 / (preset.sample_up + preset.sample_down)
    assert len(log) == pytest.approx(expected, rel=0.15)
    assert log.downtime.mean() / 3600 == pytest.approx(preset.sample_down, rel=0.3)


def test_what_fits_imply() -> None:
    assert PRESETS["g5k06"].fit_down == pytest.approx(2.4, abs=0.1)
    with pytest.raises(ParameterError, match="preset: 'x' is not allowed; expected one of lanl05"):
        preset_failures("x", 5, 5, 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nodes": 0}, "nodes: 0"),
        ({"days": float("inf")}, "days: inf"),
        ({"seed": -1}, "seed: -1"),
        ({"shape": 0}, "shape: 0"),
        ({"shape": float("nan")}, "shape: nan"),
        ({"heterogeneity": -1}, "heterogeneity: -1"),
        ({"mttf_hours": 0}, "mttf-hours: 0"),
        ({"rate_per_year": -1}, "rate-per-year: -1"),
        ({"rate_per_year": 1, "mttf_hours": 1}, "rate-per-year: 1"),
        ({"mttf_hours": 1e-9}, "mttf: "),
        ({"repair": "never"}, "repair: 'never'"),
        ({"unpredictable": 1.5}, "unpredictable: 1.5"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        generate_failures(**({"nodes": 5, "days": 10, "seed": 1} | parameters))  # type: ignore[arg-type]


def test_bad_laws() -> None:
    for make, name in (
        (lambda: Bursts(share=1), "burst-share"),
        (lambda: Bursts(share=0.9, size=2), "burst-size"),
        (lambda: Bursts(spread=0), "burst-spread"),
        (lambda: LognormalTimes(1, 2), "repair-median"),
        (lambda: ConstantTimes(-1), "repair-mean"),
        (lambda: WeibullTimes(1, 0), "repair-shape"),
    ):
        with pytest.raises(ParameterError, match=name):
            make()
