"""The Lublin-Feitelson generator: its laws, its load, its requests, and what a seed fixes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.logs import describe, read_jobs
from forestall.logs.generate import generate_jobs
from forestall.logs.generate.lublin import MODELS, clock, daily_weights, gaps, runtimes, sizes

COLUMNS = ("job", "submit", "size", "runtime", "estimate")


@pytest.mark.parametrize("model", MODELS)
def test_sizes_follow_their_law(model: str) -> None:
    law, count = MODELS[model], 200_000
    size = sizes(law, 128, count, stream(1))
    high = 7 - law.beyond
    medium = high - law.below
    error = 4 * 0.5 / math.sqrt(count)
    # One node is also what a small log2(size) rounds to.
    assert np.mean(size == 1) >= law.serial - error
    powers = np.isin(size, 2 ** np.arange(8))
    assert np.mean(powers) > law.serial + law.pow2 - error
    edge = 2**medium
    parallel = 1 - law.serial
    assert np.mean(size > edge + 0.5) == pytest.approx(parallel * (1 - law.first), abs=0.05)
    assert size.max() == max(2 ** round(high - 1e-9), round(2**high))


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 100, 1000])
def test_sizes_fit_any_machine(nodes: int) -> None:
    size = sizes(MODELS["all"], nodes, 5_000, stream(2))
    assert size.min() == 1
    assert size.max() <= nodes


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("size", [1, 64])
def test_runtimes_follow_their_law(model: str, size: int) -> None:
    from scipy import stats

    law = MODELS[model]
    runtime = runtimes(law, np.full(100_000, size), stream(3))
    chance = min(1.0, max(0.0, law.pa * size + law.pb))

    def below(x: float) -> float:
        first = stats.gamma.cdf(x, law.a1, scale=law.b1)
        return float(chance * first + (1 - chance) * stats.gamma.cdf(x, law.a2, scale=law.b2))

    # Draws above the bound are drawn again within their own branch of the mixture or another.
    for exponent in (3.0, 5.0, 8.0, 10.0):
        share = np.mean(np.log(runtime) <= exponent)
        assert share == pytest.approx(below(exponent) / below(12.0), abs=0.02), exponent
    assert runtime.min() >= 1
    assert runtime.max() <= round(math.exp(12))


def test_gaps_follow_their_law() -> None:
    from scipy import stats

    law = MODELS["all"]
    exponent = np.log(gaps(law, 100_000, stream(4)))
    gamma = stats.gamma(law.aarr * law.arar, scale=law.barr)
    test = stats.kstest(exponent, lambda x: gamma.cdf(x) / gamma.cdf(13.0))
    assert test.pvalue > 0.001
    assert exponent.max() <= 13


def test_the_day_has_its_rush_hours() -> None:
    weights = daily_weights(MODELS["all"])
    assert weights.mean() == pytest.approx(1)
    assert 26 <= int(np.argmax(weights)) <= 30  # early in the afternoon
    assert 4 <= int(np.argmin(weights)) <= 14  # before the day starts at 5:30, and just after
    points = np.linspace(0, 5 * 86_400, 2_000_001)
    times = clock(MODELS["all"], points)
    assert bool(np.all(np.diff(times) >= 0))
    assert times[-1] == pytest.approx(5 * 86_400)
    arrivals = np.histogram(times % 86_400, bins=48, range=(0, 86_400))[0]
    assert arrivals / arrivals.mean() == pytest.approx(weights, rel=0.01, abs=0.01)


def test_as_the_published_model(data: Path) -> None:
    """Ten thousand jobs of the authors' own program, 256 nodes."""
    theirs = describe(read_jobs(data / "swf-misc/lublin_256.swf.gz"))
    many = [describe(generate_jobs(256, seed, count=10_000)) for seed in range(8)]
    for part in ("size", "runtime"):
        means = [getattr(info, part).mean for info in many]
        assert getattr(theirs, part).mean == pytest.approx(np.mean(means), rel=0.05)
        medians = [getattr(info, part).median for info in many]
        assert getattr(theirs, part).median == pytest.approx(np.mean(medians), rel=0.15)
    spans = [info.span for info in many]
    assert abs(theirs.span - np.mean(spans)) < 4 * np.std(spans)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("load", [0.3, 0.9, 1.5])
def test_the_load_is_what_was_asked_for(model: str, load: float) -> None:
    jobs = generate_jobs(128, 5, count=3_000, load=load, model=model)
    assert describe(jobs).load == pytest.approx(load, rel=1e-3)
    free = generate_jobs(128, 5, count=3_000, model=model)
    assert jobs.runtime.tolist() == free.runtime.tolist()
    days = generate_jobs(128, 5, days=20, load=load, model=model)
    assert describe(days).load == pytest.approx(load, rel=0.02)
    assert days.submit[-1] < 21 * 86_400


def test_days() -> None:
    jobs = generate_jobs(64, 6, days=30)
    assert jobs.submit[-1] < 30 * 86_400
    more = generate_jobs(64, 6, days=60)
    assert more.submit[: len(jobs)].tolist() == jobs.submit.tolist()


def test_as_many_jobs_a_day_as_the_gaps_imply() -> None:
    mean = gaps(MODELS["all"], 1_000_000, stream(5)).mean()
    many = np.array([len(generate_jobs(64, seed, days=30)) for seed in range(30)])
    assert abs(many.mean() - 30 * 86_400 / mean) < 4 * many.std() / math.sqrt(len(many))


def test_a_seed_fixes_everything_and_a_longer_log_starts_the_same() -> None:
    one, two = generate_jobs(100, 7, count=500), generate_jobs(100, 7, count=9_000)
    for name in COLUMNS:
        assert getattr(one, name).tolist() == getattr(two, name)[:500].tolist()
    other = generate_jobs(100, 8, count=500)
    assert other.runtime.tolist() != one.runtime.tolist()


def test_requested_times() -> None:
    jobs = generate_jobs(128, 9, count=50_000)
    assert bool(np.all(jobs.estimate >= jobs.runtime))
    assert bool(np.all(jobs.estimate % 300 == 0))
    popular = np.sort(np.unique(jobs.estimate, return_counts=True)[1])[::-1]
    assert popular[:20].sum() / len(jobs) == pytest.approx(0.92, abs=0.04)
    used = jobs.runtime / jobs.estimate
    assert np.median(used) < 0.5
    assert 0.1 < used.mean() < 0.5


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nodes": 0, "count": 5}, "nodes: 0"),
        ({"nodes": 4}, "count: is missing"),
        ({"nodes": 4, "count": 5, "days": 2}, "count: 5"),
        ({"nodes": 4, "count": 0}, "count: 0"),
        ({"nodes": 4, "days": float("nan")}, "days: nan"),
        ({"nodes": 4, "count": 5, "load": 0}, "load: 0"),
        ({"nodes": 4, "count": 5, "load": float("inf")}, "load: inf"),
        ({"nodes": 4, "count": 5, "model": "x"}, "model: 'x'"),
    ],
)
def test_bad_parameters(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        generate_jobs(seed=1, **parameters)  # type: ignore[arg-type]
