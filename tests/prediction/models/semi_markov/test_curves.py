"""Curves that are drawn as far as somebody asks are those that are drawn at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core._compile import entry
from forestall.core.model.hosts import HostTraces
from forestall.prediction.models.semi_markov.curve_kernels import draw, draw_whole
from forestall.prediction.models.semi_markov.forecast import curves
from forestall.prediction.models.semi_markov.learning import DAY, MONDAY
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.parameters import CycleParameters

DRAWN = ("work", "sure", "present_sure")


@entry
def ask(sketch: Any, host: int, state: int, until: int) -> None:
    if until > len(sketch.fresh):
        draw_whole(sketch, host, state)
    else:
        draw(sketch, host, state, until)


def hosts_of(seed: int, days: int, seen: float) -> HostTraces:
    """Return two hosts with loads by turns, of which only part was seen."""
    rng = np.random.default_rng(seed)
    load = np.repeat(rng.random((2, days * 36)), 4, axis=1)
    load[rng.random(load.shape) > seen] = np.nan
    memory, speed = np.full_like(load, np.nan), np.array([1.0, 1.7])
    return HostTraces(load, memory, 600, speed, ("a", "b"), MONDAY, "made up")


@given(
    seed=st.integers(0, 2**32),
    seen=st.sampled_from((1.0, 0.95, 0.3)),
    fades=st.sampled_from((0, 7200)),
    asked=st.lists(
        st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 146)), min_size=1, max_size=9
    ),
)
@settings(max_examples=40, deadline=None)
def test_whatever_is_asked_first(
    seed: int, seen: float, fades: int, asked: list[tuple[int, int, int]]
) -> None:
    hosts = hosts_of(seed, 9, seen)
    parameters = CycleParameters(
        warm_up=DAY, predict_step=600, horizon=DAY, load_memory=fades, history=4
    )
    slots = 8 * 24 + 3, 8 * 24 + 4
    lazy, forecasts = Forecasts(hosts, parameters), Forecasts(hosts, parameters, kept=False)
    # Twice each: the second time what was told before is there, and the room is used again.
    for slot in (*slots, *slots):
        whole, sketch = forecasts.curves(slot), lazy.sketch(slot)
        assert np.array_equal(sketch.curves.reliability, whole.reliability)
        assert np.array_equal(sketch.curves.alive, whole.alive)
        for host, state, until in asked:
            ask(sketch, host, state, until)
            known = slice(0, min(until, 144) + 1)
            for name in DRAWN:
                ours, theirs = getattr(sketch.curves, name), getattr(whole, name)
                assert np.array_equal(ours[host, state, known], theirs[host, state, known]), name
            ours, theirs = sketch.curves.present_work, whole.present_work
            assert np.array_equal(ours[host, known], theirs[host, known])
            if until > 144:
                assert sketch.curves.lasting[host, state] == whole.lasting[host, state]


@pytest.mark.parametrize("steps", [1, 7, 8, 9, 127, 128, 129, 137, 288, 1000, 1440, 9001])
def test_a_mean_life_is_summed_as_numpy_does(steps: int) -> None:
    rng = np.random.default_rng(steps)
    chances = np.sort(rng.random((2, 2, steps + 1)), axis=-1)[..., ::-1]
    told = curves(rng.random((2, 2, steps)), chances, np.ones(2), 60)
    between = (chances[..., :-1] + chances[..., 1:]) / 2
    assert np.array_equal(told.lasting, 60 * between.sum(axis=-1))


def test_curves_of_its_own_are_those_that_a_run_reads() -> None:
    class Own(Forecasts):
        """What is said of others, with hosts that never leave."""

        def curves(self, slot: int) -> Any:
            seen = super().curves(slot)
            share = np.full((2, 2, self.steps), 0.5)
            return curves(share, np.ones_like(seen.reliability), self.hosts.speed, 600)

    own = Own(hosts_of(1, 9, 1.0), CycleParameters(warm_up=DAY, predict_step=600, horizon=DAY))
    sketch = own.sketch(8 * 24)
    for host in range(2):
        ask(sketch, host, 0, 145)
    assert np.all(sketch.curves.alive == 1)
    assert np.array_equal(sketch.curves.lasting, np.full((2, 2), float(DAY)))
