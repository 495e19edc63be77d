"""Shifted quantiles: as a plain reference has them, right in the long run, and nothing foreseen."""

from __future__ import annotations

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.prediction.models.heap_kernels import new_heap
from forestall.site.learning.turnaround import shifts_kernels as kernels
from forestall.site.learning.turnaround.learned import LEVELS

COUNT = len(LEVELS)
LOGIT = np.log(np.array(LEVELS) / (1 - np.array(LEVELS)))


def made(rng: np.random.Generator, count: int, spread: float, span: int) -> SimpleNamespace:
    """Return jobs of two users in bursts whose laws are off by `spread` at random."""
    middle = rng.normal(6, 0.5, count)
    laws = (middle[:, None] + spread * LOGIT[None, :] / 2).astype(np.float32)
    actual = middle + rng.logistic(0.3, 0.5, count)
    submit = np.sort(rng.integers(0, span, count) // 200 * 200)
    finish = submit + np.ceil(np.expm1(np.maximum(actual, 0))).astype(np.int64)
    actual = np.log1p((finish - submit).astype(float))
    fate = rng.random(count)
    actual[fate < 0.1] = math.nan
    actual[fate > 0.95] = kernels.AFTER
    ends = np.flatnonzero(rng.random(count) < 0.9)
    return SimpleNamespace(
        laws=laws, actual=actual, submit=submit, finish=finish,
        order=ends[np.argsort(finish[ends], kind="stable")],
        user=rng.integers(2, 4, count), size=rng.integers(0, 2, count),
    )  # fmt: skip


def shifts_of(jobs: SimpleNamespace) -> kernels.Shifts:
    return kernels.Shifts(
        jobs.laws, jobs.submit, jobs.user, jobs.size, np.zeros(len(jobs.submit), np.int64),
        new_heap(len(jobs.submit)), np.array(LEVELS), LOGIT, np.zeros(COUNT), np.zeros((4, COUNT)),
        np.zeros((4, COUNT)), 0.0, 1.0,
    )  # fmt: skip


def compiled(jobs: SimpleNamespace) -> npt.NDArray[np.float32]:
    out = np.empty_like(jobs.laws)
    turn = np.arange(len(jobs.submit))
    kernels.shift_all(shifts_of(jobs), turn, jobs.finish, jobs.order, jobs.actual, out)
    return out


class Plain:
    """The rules, second by second, over all open jobs."""

    def __init__(self, jobs: SimpleNamespace) -> None:
        self.jobs, self.level = jobs, {}
        self.all = [0.0] * COUNT
        self.own = [[0.0] * COUNT for _ in range(4)]
        self.seen = [[0] * COUNT for _ in range(4)]

    def quantile(self, k: int, i: int) -> float:
        law = [float(one) for one in self.jobs.laws[k]]
        place = LOGIT[i] + self.own[self.jobs.user[k]][i] + self.own[self.jobs.size[k]][i]
        if place <= LOGIT[0]:
            found = law[0]
        elif place >= LOGIT[-1]:
            slope = (law[-1] - law[-5]) / (LOGIT[-1] - LOGIT[-5])
            found = law[-1] + min(max(slope, 0.02) * (place - LOGIT[-1]), 2.0)
        else:
            found = float(np.interp(place, LOGIT, law))
        return min(max(found + self.all[i], 0.0), 22.0)

    def move(self, k: int, i: int, under: bool) -> None:
        error = LEVELS[i] - under
        self.all[i] = min(max(self.all[i] + 0.001 * error, -3.0), 3.0)
        user, size = self.jobs.user[k], self.jobs.size[k]
        for group, step in ((user, max(0.01, 10 / (self.seen[user][i] + 100))), (size, 0.002)):
            self.own[group][i] = min(max(self.own[group][i] + step * error, -2.0), 2.0)
            self.seen[group][i] += 1

    def passes(self, k: int, i: int) -> int:
        return int(self.jobs.submit[k]) + math.ceil(math.expm1(self.quantile(k, i)))

    def until(self, now: int) -> None:
        """Move one at a time, always for the quantile that was to pass first, as seen when its
        job was last looked at."""
        while self.level:
            k, (i, seen) = min(self.level.items(), key=lambda one: one[1][1])
            if seen >= now:
                return
            time = self.passes(k, i)
            if time < now:
                self.move(k, i, False)
                i += 1
                if i == COUNT:
                    del self.level[k]
                    continue
                time = self.passes(k, i)
            self.level[k] = (i, time)

    def run(self) -> npt.NDArray[np.float64]:
        jobs, out, done = self.jobs, np.empty(self.jobs.laws.shape), 0
        for k, now in enumerate(jobs.submit.tolist()):
            while done < len(jobs.order) and jobs.finish[jobs.order[done]] < now:
                self.end(int(jobs.order[done]))
                done += 1
            self.until(now)
            out[k] = sorted(self.quantile(k, i) for i in range(COUNT))
            self.level[k] = (0, self.passes(k, 0))
        return out

    def end(self, j: int) -> None:
        self.until(int(self.jobs.finish[j]))
        first, _ = self.level.pop(j, (COUNT, 0))
        if not math.isnan(self.jobs.actual[j]):
            for i in range(first, COUNT):
                self.move(j, i, self.jobs.actual[j] <= self.quantile(j, i) + 1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.3, 1.0]), st.sampled_from([500, 20_000]))
def test_as_the_plain_reference(seed: int, spread: float, span: int) -> None:
    jobs = made(np.random.default_rng(seed), 60, spread, span)
    # Two jobs due in the same second may be looked at in either order: a step of all shifts apart.
    np.testing.assert_allclose(compiled(jobs), Plain(jobs).run(), atol=3e-3)


def test_what_is_too_narrow_and_too_early_becomes_right() -> None:
    rng = np.random.default_rng(3)
    jobs = made(rng, 40_000, 0.4, 40_000_000)
    jobs.actual = np.log1p((jobs.finish - jobs.submit).astype(float))
    jobs.order = np.argsort(jobs.finish, kind="stable")
    late = slice(20_000, None)

    def off(laws: npt.NDArray[np.float32]) -> float:
        kept = (jobs.actual[late, None] <= laws[late]).mean(axis=0)
        return float(np.abs(kept - LEVELS).max())

    assert off(jobs.laws) > 0.15
    assert off(compiled(jobs)) < 0.02


def test_a_burst_whose_ends_are_awaited_moves_nothing_too_far() -> None:
    """Four thousand jobs in an hour, all twice as long as told, then one more: its quantiles are
    beyond the law by the factor that the law was off, not by four thousand steps."""
    count = 4_000
    laws = np.tile(np.linspace(8, 9, COUNT, dtype=np.float32), (count, 1))
    submit = np.sort(np.arange(count) % 3600)
    submit[-1] = 10_000_000
    actual = np.full(count, 9 + math.log(2))
    finish = submit + np.ceil(np.expm1(actual)).astype(np.int64)
    jobs = SimpleNamespace(
        laws=laws, submit=submit, finish=finish, actual=actual, order=np.arange(count - 1),
        user=np.full(count, 2), size=np.zeros(count, np.int64),
    )  # fmt: skip
    last = compiled(jobs)[-1]
    assert 9.3 < last[COUNT // 2] < 10.1
    assert (last < 10.1).all()


def test_quantiles_ascend_and_nothing_of_the_future_is_in_them() -> None:
    jobs = made(np.random.default_rng(9), 3_000, 0.5, 300_000)
    before = compiled(jobs)
    assert all((b >= a).all() for a, b in pairwise(before.T))
    at = 2_000
    later = jobs.finish > jobs.submit[at]
    jobs.finish = jobs.finish + 50_000 * later
    jobs.actual = np.where(later, jobs.actual + 1, jobs.actual)
    jobs.order = jobs.order[np.argsort(jobs.finish[jobs.order], kind="stable")]
    after = compiled(jobs)
    assert before[:at].tobytes() == after[:at].tobytes()
    assert before.tobytes() != after.tobytes()
