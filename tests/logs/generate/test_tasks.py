"""Jobs of many tasks: the paper's statements on its year, the load, and bad parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.logs.generate.tasks import JOBS, RUN_TIMES, generate_task_jobs

HOUR, DAY = 3600, 86_400


def above(hours: float) -> float:
    """The share of run times above, by the normal law."""

    def tail(median: float, spread: float) -> float:
        return math.erfc(math.log(hours / median) / spread / math.sqrt(2)) / 2

    law = RUN_TIMES
    short, long = tail(law.median, law.spread), tail(law.long_median, law.long_spread)
    return (1 - law.long_share) * short + law.long_share * long


def test_the_law_of_run_times_meets_all_three_statements_of_the_paper() -> None:
    law = RUN_TIMES
    means = [m * math.exp(s**2 / 2) for m, s in
             ((law.median, law.spread), (law.long_median, law.long_spread))]  # fmt: skip
    mean = (1 - law.long_share) * means[0] + law.long_share * means[1]
    assert mean == pytest.approx(8.28, abs=0.005)
    assert 1 - above(9) == pytest.approx(0.90, abs=0.0005)
    assert above(168) < 0.01


def test_a_year_has_the_papers_numbers() -> None:
    jobs = generate_task_jobs(1)
    hours = jobs.runtime / HOUR
    assert len(jobs) == JOBS == 112_454
    assert (jobs.size.min(), jobs.size.max()) == (1, 256)
    assert jobs.submit[0] >= 0
    assert 364 * DAY < jobs.submit[-1] < 365 * DAY
    assert hours.mean() == pytest.approx(8.28, rel=0.03)
    assert (hours <= 9).mean() == pytest.approx(0.9, abs=0.003)
    assert (hours > 168).mean() < 0.01
    assert hours.max() < 100 * 24
    assert (jobs.estimate >= jobs.runtime).all()
    night, noon = (((jobs.submit % DAY) // HOUR == hour).sum() for hour in (4, 13))
    assert noon > 3 * night


@pytest.mark.parametrize("load", [0.3, 0.7, 1.5])
def test_the_load_is_met_and_shifts_nothing_but_sizes(load: float) -> None:
    jobs = generate_task_jobs(3, count=5_000, days=16, load=load)
    work = float(np.dot(jobs.size, jobs.runtime))
    assert work / (1024 * 16 * DAY) == pytest.approx(load, rel=0.02)
    other = generate_task_jobs(3, count=5_000, days=16, load=0.5)
    for name in ("submit", "runtime", "estimate"):
        assert np.array_equal(getattr(jobs, name), getattr(other, name))


def test_seeds_and_repetition() -> None:
    one, again, other = (generate_task_jobs(s, count=500, days=2) for s in (1, 1, 2))
    for name in ("submit", "runtime", "size", "estimate"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_requests_of_long_jobs() -> None:
    """With the generator's limit of 48 h alone they exceed the run time by less than 5 min."""
    long, short = (
        generate_task_jobs(1, count=20_000, days=60, long_limit=limit) for limit in (28.0, None)
    )
    days = long.runtime > 48 * HOUR
    assert days.sum() > 500
    assert np.array_equal(long.estimate[~days], short.estimate[~days])
    assert (short.estimate - short.runtime)[days].max() < 300
    used = (long.runtime / long.estimate)[days & (long.estimate < 28 * DAY)]
    assert (long.estimate[days] % 300 == 0).all()
    assert (long.estimate >= long.runtime).all()
    assert 0.4 < np.median(used) < 0.75
    assert long.estimate[days & (long.runtime < 27 * DAY)].max() <= 28 * DAY


@pytest.mark.parametrize(
    ("name", "value"),
    [("count", 0), ("days", 0.0), ("load", float("nan")), ("largest", 0), ("capacity", 0),
     ("long_limit", 1.0)],
)  # fmt: skip
def test_bad_parameters(name: str, value: float) -> None:
    with pytest.raises(ParameterError) as info:
        generate_task_jobs(1, **{name: value})  # type: ignore[arg-type]
    assert name.replace("_", "-") in str(info.value)


def test_the_smallest_machine() -> None:
    jobs = generate_task_jobs(1, count=3, days=1, largest=1, capacity=1)
    assert jobs.size.tolist() == [1, 1, 1]
