"""A learner that is told one event at a time says what the batch says, also after a restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.learner import State
from forestall.site.learning.turnaround import book_state as kinds
from forestall.site.learning.turnaround import learned
from forestall.site.learning.turnaround.book_state import END
from forestall.site.learning.turnaround.learned import (
    LEVELS,
    LearnedQuantiles,
    Quantiles,
    learn_quantiles,
)
from forestall.site.learning.turnaround.learner import TurnaroundLearner
from forestall.site.learning.turnaround.replay import replay
from forestall.site.learning.turnaround.target_learner import LearnedLaw
from forestall.site.learning.turnaround.tasks import Tasks, tasks_of
from forestall.slurm.sources.swf_jobs import accounting_of_swf
from reference.made_jobs import some_jobs

KTH = Path("swf-misc") / "KTH-SP2-1996-2.swf.gz"


@pytest.fixture(autouse=True, scope="module")
def _soon() -> Any:
    """Forests early and small, so that several are fitted, on few jobs."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("FIRST", 60), ("AFTER", 50), ("DELAY", 10), ("LATEST", 150)):
            patch.setattr(learned, name, value)
        patch.setattr(learned, "TREES", replace(learned.TREES, trees=8, rate=0.2))
        yield


def batch(tasks: Tasks) -> tuple[Quantiles, LearnedQuantiles]:
    """Return what like jobs say, s, and what is learned."""
    alike = replay(tasks, None, None, shown=LEVELS).book.alike
    return alike, learn_quantiles(tasks, alike, 1)


def told(
    learner: TurnaroundLearner,
    tasks: Tasks,
    alike: Quantiles,
    between: Callable[[TurnaroundLearner, int], TurnaroundLearner] = lambda one, _: one,
) -> list[LearnedLaw]:
    """Return what a learner says of all jobs; `between` may put another in its place before each
    event."""
    users, names, parts = tasks.user.texts(), tasks.name.texts(), tasks.part.texts()
    found = []
    for at, (now, kind, k) in enumerate(tasks.events.T.tolist()):
        learner = between(learner, at)
        if kind != kinds.SUBMIT:
            learner.happen(kind, k, now)
            continue
        found.append(
            learner.submit(
                k, now, alike[k], size=int(tasks.size[k]), limit=int(tasks.limit[k]),
                user=users[k], name=names[k], partition=parts[k],
            )
        )  # fmt: skip
    return found


def same(found: list[LearnedLaw], expected: LearnedQuantiles) -> None:
    """Compare every bit."""
    quantiles = np.stack([one.quantiles for one in found])
    assert quantiles.tobytes() == expected.corrected.tobytes()
    shares = np.array([one.share for one in found], np.float32)
    assert shares.tobytes() == expected.shares.tobytes()
    laws = np.stack([one.told() for one in found]).astype(np.float32)
    assert laws.tobytes() == expected.told().tobytes()
    assert [one.jobs > 0 for one in found] == (~np.isnan(expected.forest[:, 0])).tolist()


def restored(learner: TurnaroundLearner, **how: Any) -> TurnaroundLearner:
    """Return a learner made of what another one keeps, by way of JSON."""
    values, arrays = learner.state()
    return TurnaroundLearner.from_state(
        json.loads(json.dumps(values)), {name: one.copy() for name, one in arrays.items()}, **how
    )


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 97))
def test_it_says_what_the_batch_says_whenever_it_is_restarted(seed: int, often: int) -> None:
    tasks = tasks_of(some_jobs(330, seed))
    alike, expected = batch(tasks)
    assert expected.fits >= 2
    same(told(TurnaroundLearner(), tasks, alike), expected)

    def again(learner: TurnaroundLearner, at: int) -> TurnaroundLearner:
        return restored(learner) if at % (6 * often) == often else learner

    same(told(TurnaroundLearner(), tasks, alike, again), expected)


def test_on_a_real_log(data: Path) -> None:
    accounting = accounting_of_swf(data / KTH, 1, strict=False)
    tasks = tasks_of(accounting.take(np.arange(3000)))
    alike, expected = batch(tasks)
    assert expected.fits > 10
    same(told(TurnaroundLearner(), tasks, alike), expected)


def test_forests_fitted_in_the_background_are_the_same() -> None:
    tasks = tasks_of(some_jobs(500, 3))
    alike, expected = batch(tasks)
    with ThreadPoolExecutor(1) as pool:

        def later(work: Any) -> Any:
            return pool.submit(work).result

        same(told(TurnaroundLearner(fitting=later), tasks, alike), expected)
        half = tasks.events.shape[1] // 2
        found = told(
            TurnaroundLearner(fitting=later), tasks, alike,
            lambda one, at: restored(one, fitting=later) if at == half else one,
        )  # fmt: skip
        same(found, expected)


def test_forests_that_nobody_asks_for_are_never_fitted() -> None:
    fitted: list[int] = []

    def counting(work: Any) -> Any:
        place = len(fitted)
        fitted.append(0)

        def now() -> Any:
            fitted[place] += 1
            return work()

        return now

    learner = TurnaroundLearner(fitting=counting)
    row = np.linspace(10, 1000, len(LEVELS)).astype(np.float32)
    for k in range(400):
        learner.submit(k, 0, row, size=1)
        learner.happen(kinds.START, k, 1)
    for k in range(400):
        learner.happen(END, k, 2)
    assert learner.ended == 400
    assert fitted == [0] * 7
    law = learner.submit("next", 3, row, size=1)
    assert fitted == [0, 0, 0, 0, 0, 0, 1]
    assert law.jobs == 150


def test_before_the_first_forest_quotes_rest_on_like_jobs() -> None:
    learner = TurnaroundLearner()
    row = np.linspace(10, 1000, len(LEVELS)).astype(np.float32)
    law = learner.submit("a", 5, row, size=2, user="ann")
    assert (law.share, law.jobs) == (0.0, 0)
    assert law.quantiles.tobytes() == np.log1p(row).tobytes()
    assert (law.told() == -1).all()


@pytest.fixture(scope="module")
def kept(_soon: None) -> State:
    tasks = tasks_of(some_jobs(300, 7))
    learner = TurnaroundLearner()
    alike = batch(tasks)[0]
    many = 2 * tasks.events.shape[1] // 3  # some jobs wait, some run
    told(learner, replace(tasks, events=tasks.events[:, :many]), alike)
    values, arrays = learner.state()
    return json.loads(json.dumps(values)), arrays


def test_state_is_small_and_plain(kept: State) -> None:
    values, arrays = kept
    assert len(json.dumps(values)) < 20_000
    assert all(array.dtype.hasobject is False for array in arrays.values())


def damaged(arrays: dict[str, npt.NDArray[Any]], name: str) -> list[dict[str, npt.NDArray[Any]]]:
    """Return states of which one array is missing, too short, of another type."""
    one = arrays[name]
    without = {key: array for key, array in arrays.items() if key != name}
    other = np.zeros(one.shape if one.dtype.names is None else len(one), np.float16)
    return [without, {**arrays, name: one[:-1]}, {**arrays, name: other}]


@pytest.mark.parametrize("often", range(3))
def test_states_that_do_not_fit_together_are_refused(kept: State, often: int) -> None:
    values, arrays = kept
    growing = {f"watch.{name}" for name in ("users", "likes", "parts", "cells", "names")}
    for name in arrays:
        if often == 1 and (name in growing or not len(arrays[name])):
            continue  # room to spare, or nothing to cut off
        with pytest.raises((ValueError, KeyError, IndexError)):
            TurnaroundLearner.from_state(values, damaged(arrays, name)[often])


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    [
        ("watch.jobs", "user", 1 << 40),
        ("watch.jobs", "after", -1),
        ("watch.queue", "free", 1 << 20),
        ("watch.slots", None, -3),
        ("watch.open", None, 1 << 20),
        ("open.group", None, 1 << 20),
        ("shifts.user", None, 1 << 20),
        ("shifts.open", None, 99),
        ("shifts.due.ids", None, -1),
        ("forest0.feature", None, 999),
    ],
)
def test_places_outside_are_refused(kept: State, name: str, field: str | None, wrong: int) -> None:
    values, arrays = kept
    bad = arrays[name].copy()
    if field is None:
        bad.flat[-1] = wrong
    else:
        bad[field][-1] = wrong
    with pytest.raises(ValueError, match="outside"):
        TurnaroundLearner.from_state(values, {**arrays, name: bad})


def test_jobs_are_called_by_text_or_number() -> None:
    learner = TurnaroundLearner()
    learner.submit((1, 2), 5, np.ones(len(LEVELS), np.float32), size=1)
    with pytest.raises(ParameterError, match="a text or a whole number"):
        learner.state()
