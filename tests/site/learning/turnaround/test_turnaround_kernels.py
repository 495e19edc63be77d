"""Single kernels of turnaround distributions against plain ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core._compile import records
from forestall.site.learning.turnaround import groups_kernels as groups
from forestall.site.learning.turnaround import law_kernels as laws
from forestall.site.learning.turnaround.book_state import (
    BY_DEADLINE,
    BY_LEVEL,
    DONE,
    LAW,
    LEVELS,
    POINTS,
    VOID,
    new_book,
    pool,
)
from forestall.site.learning.turnaround.classes import calibrated, size_class


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 12))
def test_a_class_keeps_its_latest_values_in_order(values: list[int], depth: int) -> None:
    own = records(1, pool(depth))[0]
    for k, value in enumerate(values, 1):
        laws.take_in(own, float(value))
        assert own.held == min(k, depth)
        assert own.ordered[: own.held].tolist() == sorted(values[max(0, k - depth) : k])


def test_points_of_a_class() -> None:
    sample, count = np.zeros(POINTS), np.zeros(4)
    laws.points_of(3, np.array([1.0, 2.0, 5.0]), sample, count)
    assert sample[:3].tolist() == [1, 2, 5]
    assert count[:2].tolist() == [3, 3]
    laws.points_of(2 * POINTS, np.arange(2.0 * POINTS), sample, count)
    assert sample.tolist() == [2 * k + 1 for k in range(POINTS)]
    assert count[:2].tolist() == [POINTS, 2 * POINTS]


def plain_blend(parts: list[list[float]], sizes: list[int], shrink: float) -> list[float]:
    left, weighted = 1.0, []
    there = [k for k in range(LEVELS) if sizes[k]]
    for k in there:
        weight = left if k == there[-1] else left * sizes[k] / (sizes[k] + shrink)
        weighted += [(value, weight / len(parts[k])) for value in parts[k]]
        left -= weight
    weighted.sort()
    reached = np.cumsum([weight for _, weight in weighted])
    wanted = (np.arange(POINTS) + 0.5) / POINTS
    at = np.minimum(np.searchsorted(reached, wanted - 1e-12), len(weighted) - 1)
    return [weighted[k][0] for k in at]


@given(
    st.lists(st.lists(st.integers(0, 50), max_size=POINTS), min_size=LEVELS, max_size=LEVELS),
    st.sampled_from([1.0, 8.0]),
)
def test_blend_is_the_weighted_mixture(drawn: list[list[int]], shrink: float) -> None:
    samples, counts, out = np.zeros((LEVELS, POINTS)), np.zeros((LEVELS, 4)), np.zeros(POINTS)
    for k, values in enumerate(drawn):
        samples[k, : len(values)] = sorted(values)
        counts[k, :2] = len(values)
    told = laws.blend(samples, counts, shrink, out)
    assert told == any(drawn)
    if told:
        plain = plain_blend(drawn, [len(one) for one in drawn], shrink)
        # A quantile may fall on an edge between two values, where rounding decides.
        assert np.mean(out != np.array(plain)) <= 2 / POINTS
        assert (np.diff(out) >= 0).all()


def law(seed: int, risk: float = 0.0, again: float = 0.0):
    rng = np.random.default_rng(seed)
    made = records(1, LAW)[0]
    made.grid[0, :POINTS] = np.sort(rng.integers(0, 500, POINTS))
    made.grid[1, :POINTS] = np.sort(rng.integers(1, 2000, POINTS))
    laws.close_law(made.grid, made.top, risk, again, 100.0)
    return made


@pytest.mark.parametrize("seed", range(4))
def test_the_law_is_that_of_the_sum(seed: int) -> None:
    made = law(seed)
    waits, runs, reached = made.grid[0, :POINTS], made.grid[1], made.grid[2]
    for time in np.random.default_rng(seed).integers(0, 3000, 50):
        plain = np.mean([np.interp(time - w, runs, reached) if time >= w else 0 for w in waits])
        assert laws.law_below(made.grid, made.top, float(time)) == pytest.approx(plain, abs=1e-12)
    assert made.top[1] == pytest.approx(1)
    assert laws.law_below(made.grid, made.top, made.top[0]) == pytest.approx(1)


@pytest.mark.parametrize(("risk", "again"), [(0.0, 0.0), (1e-4, 0.5)])
def test_times_and_scores_are_inverse(risk: float, again: float) -> None:
    made = law(7, risk, again)
    last = 0
    for score in np.linspace(0.001, made.top[1] + 2, 120):
        time = laws.time_of(made.grid, made.top, float(score))
        assert time >= max(last, 1)
        last = time
        assert laws.score_of(made.grid, made.top, float(time)) >= score - 1e-9
        if time > 1 and score <= made.top[1]:
            assert laws.law_below(made.grid, made.top, float(time - 1)) < score


def test_failures_stop_and_delay() -> None:
    never, always = law(3, 1e-3, 0.0), law(3, 1e-3, 1.0)
    runs = never.grid[1, 1 : POINTS + 1]
    survived = float(np.exp(-1e-3 * runs).mean())
    assert never.top[1] == pytest.approx(survived)
    assert always.top[1] == pytest.approx(1)
    assert always.top[0] == pytest.approx(
        math.ceil(always.grid[0, POINTS - 1] + 2 * always.grid[1, POINTS + 1] + 100)
    )


def book_with(scores: list[float], censored: list[float]):
    book = new_book(64, 4, 20, 4, 1, 3, 1, {})
    own = book.groups[0]
    for k, value in enumerate([*scores, *censored]):
        book.jobs[k].score = value
        book.jobs[k].status = DONE if k < len(scores) else VOID
        groups.join_cohort(book, 0, k)
    for k, value in enumerate(scores):
        groups.add_score(book, 0, k, value)
    groups.estimate(book, 0)
    return book, own


def test_scores_without_censoring_are_steps() -> None:
    _, own = book_with([0.1, 0.3, 0.3, 0.6], [])
    assert own.steps == 3
    assert own.score[:3].tolist() == [0.1, 0.3, 0.6]
    assert own.below[:3].tolist() == pytest.approx([1 / 5, 3 / 5, 4 / 5])


def test_scores_with_censoring_are_the_product_limit() -> None:
    # Six cases and one more at risk: 0.2 of 7; 0.3 censored; 0.5 of 5; 0.7 censored; 0.9 of 3.
    _, own = book_with([0.2, 0.5, 0.9], [0.3, 0.7, 1.5])
    alive = np.cumprod([1 - 1 / 7, 1 - 1 / 5, 1 - 1 / 3])
    assert own.below[:3].tolist() == pytest.approx((1 - alive).tolist())


def test_chances_and_scores_are_inverse() -> None:
    rng = np.random.default_rng(2)
    book, _ = book_with(np.sort(rng.random(50)).tolist(), [])
    for chance in np.linspace(0.02, 0.999, 60):
        score = groups.score_for(book, 0, float(chance))
        assert groups.chance_of(book, 0, score) == pytest.approx(chance, abs=1e-9)


@given(st.lists(st.floats(-5, 5), max_size=60))
def test_sorting(values: list[float]) -> None:
    array = np.array(values, dtype=np.float64)
    groups.sort(array, len(array))
    assert array.tolist() == sorted(values)


def test_debts_move_probabilities_without_bound() -> None:
    book = new_book(4, 4, 20, 4, 1, 3, 1, {})
    own, job = book.groups[0], book.jobs[0]
    own.made[BY_LEVEL, 5] = 1000.0
    seen = []
    for debt in (-40.0, -10.0, 0.0, 5.0, 10.0, 15.0, 40.0):
        own.debt[BY_LEVEL, 5] = debt
        seen.append(groups.moved(0.5, groups.pressure(book, BY_LEVEL, job, 5)))
    assert seen == sorted(seen)
    assert seen[2] == 0.5
    # Half of what is allowed is one logit.
    assert seen[4] == pytest.approx(1 / (1 + math.exp(-1)))
    assert seen[0] < 1e-3
    assert seen[-1] > 0.999


def test_debts_of_a_partition_count_half_where_it_is_one_of_several() -> None:
    book = new_book(4, 4, 20, 4, 1, 3, 1, {})
    job = book.jobs[0]
    job.groups[:] = (0, 1, 2)
    for group, made in enumerate((1000.0, 400.0, 400.0)):
        book.groups[group].made[:, 5] = made
    # Half of what 400 promises are allowed to owe is one logit, of which half counts; of a size
    # nothing does.
    book.groups[1].debt[:, 5] = book.groups[2].debt[:, 5] = 0.5 * 0.02 * 400
    assert groups.pressure(book, BY_LEVEL, job, 5) == pytest.approx(0.5)
    book.groups[1].made[:, 5] = 950.0
    assert groups.pressure(book, BY_LEVEL, job, 5) == 0


def test_the_narrowest_calibration_that_rests_on_enough() -> None:
    book = new_book(4, 4, 20, 4, 1, 3, 1, {"enough": 30.0})
    job = book.jobs[0]
    job.groups[:] = (0, 1, 2)
    for held, by_level, by_deadline in (
        ((90, 29, 0), 0, 0), ((90, 30, 29), 1, 1), ((90, 40, 30), 2, 1),
    ):  # fmt: skip
        book.groups["held"] = held
        assert groups.group_of(book, BY_LEVEL, job) == by_level
        assert groups.group_of(book, BY_DEADLINE, job) == by_deadline


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5000)), min_size=1, max_size=40))
def test_jobs_of_one_partition_and_size_class_are_calibrated_together(
    jobs: list[tuple[int, int]],
) -> None:
    part, size = (np.array(column, dtype=np.int64) for column in zip(*jobs, strict=True))
    alike, count = calibrated(part, size)
    assert (alike[:, 0] == 0).all()
    for level, like in ((1, [(p,) for p, _ in jobs]), (2, [(p, size_class(n)) for p, n in jobs])):
        for a, one in zip(alike[:, level].tolist(), like, strict=True):
            same = [b for b, other in zip(alike[:, level].tolist(), like, strict=True) if b == a]
            assert len(same) == like.count(one)
    assert count == 1 + len({p for p, _ in jobs}) + len({(p, size_class(n)) for p, n in jobs})
    assert sorted(set(alike.ravel().tolist())) == list(range(count))


def test_what_is_said_stays_within_reach_and_pays() -> None:
    book = new_book(4, 4, 20, 4, 1, 3, 1, {})
    job = book.jobs[0]
    for chance in np.linspace(0.001, 0.999, 50):
        assert groups.say(book, BY_DEADLINE, job, float(chance)) == pytest.approx(chance, abs=1e-6)
    own = book.groups[0]
    own.made[BY_DEADLINE, 8], own.debt[BY_DEADLINE, 8] = 1000.0, 19.0
    for chance in (0.81, 0.85, 0.89, 0.93):
        said = groups.say(book, BY_DEADLINE, job, chance)
        assert abs(said - chance) <= 0.2
        assert said < chance or said >= 0.9


def test_bins_of_outcomes_are_pooled_where_they_fall() -> None:
    book = new_book(4, 4, 20, 4, 1, 3, 1, {"fading": 1.0})
    for chance, kept, count in ((0.22, 1, 30), (0.22, 0, 10), (0.42, 1, 10), (0.42, 0, 30)):
        for _ in range(count):
            groups.curve_seen(book, 0, chance, float(kept))
    groups.bend(book, 0)
    own = book.groups[0]
    assert own.bent == 1
    # Ten more in each bin that agree with what was said.
    assert own.curve[0, 1] == pytest.approx((40 + 2.2 + 4.2) / 100)
    assert groups.bent(book, 0, 0.0) == 0
    assert groups.bent(book, 0, 1.0) == pytest.approx(1)
    assert groups.bent(book, 0, float(own.curve[0, 0])) == pytest.approx(own.curve[0, 1])
