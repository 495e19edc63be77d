"""States as samples come: the same as the model says of all samples at once."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.prediction.availability import states
from forestall.prediction.availability.states import StateWatch
from forestall.prediction.models.semi_markov.states import (
    HOLD,
    NAMES,
    PERIOD,
    TH1,
    TH2,
    host_states,
)

LOADS = st.sampled_from([0.0, 0.1, 0.2, 0.21, 0.6, 0.61, 1.0, math.nan, math.nan])
MEMORY = st.sampled_from([0.0, 0.09, 0.1, 0.5, math.nan])


def test_the_constants_are_those_of_the_model() -> None:
    mine = (states.NAMES, states.TH1, states.TH2, states.HOLD, states.PERIOD)
    assert mine == (NAMES, TH1, TH2, HOLD, PERIOD)


@given(
    samples=st.lists(st.tuples(LOADS, MEMORY), max_size=60),
    hold=st.sampled_from([0, 5, 6, 12, 17, 60]),
    need=st.sampled_from([0.0, 0.1]),
    thresholds=st.sampled_from([(0.2, 0.6), (0.0, 1.0), (0.2, 0.2)]),
    late=st.floats(-2.5, 2.5),
)
def test_samples_one_by_one_give_the_states_of_all_at_once(
    samples: list[tuple[float, float]],
    hold: int,
    need: float,
    thresholds: tuple[float, float],
    late: float,
) -> None:
    load, memory = [x for x, _ in samples], [m for _, m in samples]
    wanted = host_states(
        load, memory, guest_memory=need, hold=hold, thresholds=thresholds, causal=True
    ).tolist()
    told = StateWatch(thresholds, hold, need, 6)
    assert [told.see(6 * k, *one) for k, one in enumerate(samples)] == wanted
    # a sample that did not come at all is the same as one without a value
    silent, called = StateWatch(thresholds, hold, need, 6), StateWatch(thresholds, hold, need, 6)
    for k, (cpu, free) in enumerate(samples):
        if math.isnan(cpu):
            assert called.gap() == wanted[k]
            continue
        assert called.see(6 * k + late, cpu, free) == wanted[k]
        if not all(math.isnan(x) for x in load[:k]):
            assert silent.see(6 * k + (late if k % 2 else 0), cpu, free) == wanted[k]
        else:
            assert silent.see(6 * k, cpu, free) == wanted[k]


def test_a_long_gap_is_one_step_and_the_load_before_it_is_forgotten() -> None:
    watch = StateWatch(hold=12)
    assert [watch.see(6 * k, 0.9) for k in range(4)] == [1, 1, 2, 2]
    assert watch.see(10**12, 0.9) == 1  # the heavy load began anew after the gap
    assert StateWatch(hold=12).gap(10**12) == 4


def test_a_short_gap_goes_on_as_before() -> None:
    watch = StateWatch(hold=12)
    assert [watch.see(0, 0.1), watch.see(18, 0.3)] == [0, 1]
    assert watch.gap(2) == 1
    assert watch.gap() == 4
    assert watch.see(18 + 24, 0.1) == 0


def test_a_sample_that_is_not_later_counts_as_the_next() -> None:
    watch = StateWatch(hold=6)
    assert [watch.see(0, 0.9), watch.see(0, 0.9), watch.see(-6, 0.9)] == [1, 2, 2]


@pytest.mark.parametrize(
    "settings",
    [
        {"thresholds": (0.6, 0.2)},
        {"period": 0},
        {"hold": -1},
        {"hold": math.nan},
        {"guest_memory": math.nan},
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(ParameterError):
        StateWatch(**settings)  # type: ignore[arg-type]


def test_the_agents_parts_need_nothing_heavy() -> None:
    parts = (
        "prediction.availability.states", "sharing.agent.sampler", "sharing.agent.guests",
        "core.processes.usage", "sharing.agent.clock",
    )  # fmt: skip
    code = "; ".join(f"import forestall.{part}" for part in parts)
    heavy = {"numba", "numpy", "polars", "scipy", "psutil"}
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print({heavy!r} & set(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "set()"
