"""Checkpoint intervals: golden values, the optimum against brute force, ages, and schedules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import (
    best_long_run,
    checkpoint_interval,
    daly,
    daly_first_order,
    long_run_efficiency,
    mean_completion,
    nodes_for_interval,
    young,
)
from forestall.reliability.checkpoints.completion_simulated import simulate_completion
from forestall.reliability.checkpoints.schedules import best_schedule
from forestall.reliability.checkpoints.segments import CheckpointPlan
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.ageing import SystemLifetime
from forestall.reliability.systems.systems import from_mttf

# Golden values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("hours", "minutes"), [(24, 116.69), (6, 56.71), (0.25, 9.14)])
def test_dalys_higher_order_form(hours: float, minutes: float) -> None:
    assert daly(5.0, 60 * hours) == pytest.approx(minutes, abs=0.005)


def test_closed_forms() -> None:
    assert young(5.0, 1440.0) == pytest.approx(120.0)
    assert daly_first_order(5.0, 1440.0) == pytest.approx(115.0)
    assert daly_first_order(5.0, 10.0) is None
    assert daly_first_order(5.0, 10.1) is not None
    assert daly(20.0, 10.0) == 10.0
    assert daly(19.999, 10.0) != 10.0


def test_nodes_for_a_wanted_interval() -> None:
    assert nodes_for_interval(10.0, 0.25, 100_000.0, 0.7) == pytest.approx(74.86, abs=0.005)
    slip = nodes_for_interval(10.0, 0.25, 100_000.0, 0.7, as_published=True)
    assert slip == pytest.approx(80.29, abs=0.005)
    assert round(slip + 0.5) == 81
    count = nodes_for_interval(3.0, 0.1, 5000.0)
    assert daly_first_order(0.1, 5000.0 / count) == pytest.approx(3.0)


def test_fresh_nodes_and_nodes_a_year_old() -> None:
    """1000 nodes of shape 0.5 and MTTF 1000 d, checkpoints of 5 min, 30 d of work. All nodes new at
    the start, ages carried along, Young with the long-run MTTF / N: the best period is 0.35 of
    Young's and the makespan 12 % better. With nodes a year old Young's is right."""
    base = {"shape": 0.5, "nodes": 1000, "work": "30d"}
    fresh = checkpoint_interval("1000d", "5m", ages=0.0, **base)  # type: ignore[arg-type]
    assert fresh.young == pytest.approx(7200)
    assert fresh.optimal / fresh.young == pytest.approx(0.35, abs=0.005)
    assert fresh.choice("young").loss == pytest.approx(0.12, abs=0.005)  # type: ignore[union-attr]
    old = checkpoint_interval("1000d", "5m", ages="365d", **base)  # type: ignore[arg-type]
    assert old.choice("young").loss < 0.002  # type: ignore[union-attr]
    assert 0.8 < old.optimal / old.young < 1
    settled = checkpoint_interval("1000d", "5m", **base)  # type: ignore[arg-type]
    assert settled.optimal / settled.young == pytest.approx(1, abs=0.04)


def test_fresh_nodes_by_simulation() -> None:
    system = SystemLifetime(from_mttf(1000.0, 0.5), 1000, 0.0)
    best = checkpoint_interval("1000d", "5m", shape=0.5, nodes=1000, ages=0.0, work="30d")
    means = []
    for seconds in (best.young, best.optimal):
        plan = CheckpointPlan(30.0, seconds / 86_400, 5 / 1440)
        means.append(simulate_completion(plan, system, 1500, np.random.default_rng(8)).mean())
    assert means[0] / means[1] - 1 == pytest.approx(0.12, abs=0.01)


# The efficiency of a job without end -------------------------------------------------------------

SHAPES = st.sampled_from([0.3, 0.5, 0.7, 1.0, 2.0, 5.0])


@given(st.floats(1e-3, 5.0), st.floats(1e-4, 2.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_efficiency_of_the_exponential(
    interval: float, cost: float, restart: float, downtime: float
) -> None:
    system = SystemLifetime(lifetime("exponential", scale=1.0))
    closed = interval / (1 + downtime) * math.exp(-restart) / math.expm1(interval + cost)
    found = float(long_run_efficiency(system, interval, cost, restart, downtime))
    assert found == pytest.approx(closed, rel=1e-9)


@settings(max_examples=40)
@given(SHAPES, st.floats(0.02, 3.0), st.floats(1e-3, 0.5), st.floats(0.0, 0.5))
def test_efficiency_by_adding_up(
    shape: float, interval: float, cost: float, restart: float
) -> None:
    law = from_mttf(1.0, shape)
    times = restart + (interval + cost) * np.arange(1, 400_000)
    added = interval * float(law.sf(times).sum())
    found = float(long_run_efficiency(SystemLifetime(law), interval, cost, restart))
    assert found == pytest.approx(added, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("shape", [0.6, 1.0, 2.0])
def test_a_long_job_has_that_efficiency(shape: float) -> None:
    system = SystemLifetime(from_mttf(50.0, shape))
    plan = CheckpointPlan(50_000.0, 10.0, 0.5, 1.0, 2.0)
    long_run = float(long_run_efficiency(system, 10.0, 0.5, 1.0, 2.0))
    assert plan.work / mean_completion(plan, system) == pytest.approx(long_run, rel=2e-3)


# The optimum -------------------------------------------------------------------------------------


@given(st.floats(1e-4, 3.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_optimum_of_the_exponential_is_lamberts(cost: float, restart: float, down: float) -> None:
    """Daly, Equation 20: whatever restart and downtime are."""
    best = best_long_run(SystemLifetime(lifetime("exponential", scale=1.0)), cost, restart, down)
    closed = 1 + float(lambertw(-math.exp(-1 - cost)).real)
    assert best == pytest.approx(closed, rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(SHAPES, st.floats(1e-3, 0.5), st.floats(0.0, 0.3), st.sampled_from(["new", "steady"]))
def test_nothing_beats_the_optimum(shape: float, cost: float, restart: float, ages: str) -> None:
    found = checkpoint_interval(
        100.0, cost, shape=shape, nodes=20, ages=ages, restart=restart  # type: ignore[arg-type]
    )  # fmt: skip
    assert [one.name for one in found.choices][-1] == "optimal"
    law = found.system.after_failure()
    tries = np.geomspace(0.01, 100, 60) * found.optimal
    others = long_run_efficiency(law, tries, cost, restart)
    assert float(others.max()) <= found.efficiency * (1 + 1e-6)
    for one in found.choices:
        assert one.efficiency <= found.efficiency * (1 + 1e-9)
        assert one.ratio == pytest.approx(one.interval / found.optimal)
        if one.efficiency > 0:
            assert (1 + one.overhead) * one.efficiency == pytest.approx(1)
            assert one.loss == pytest.approx(max(0, found.efficiency / one.efficiency - 1))


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.5, 6.0])
@pytest.mark.parametrize("ages", ["new", "steady"])
@pytest.mark.parametrize("work", [30.0, 250.0])
def test_optimum_for_a_work_length_by_brute_force(shape: float, ages: str, work: float) -> None:
    found = checkpoint_interval(
        100.0, 1.0, shape=shape, ages=ages, restart=2.0, downtime=1.0, work=work  # type: ignore[arg-type]
    )  # fmt: skip
    system = SystemLifetime(from_mttf(100.0, shape), 1, ages)  # type: ignore[arg-type]
    means = [
        mean_completion(CheckpointPlan(work, work / n, 1.0, 2.0, 1.0), system) for n in range(1, 80)
    ]
    assert work / found.efficiency == pytest.approx(min(means), rel=1e-9)
    assert found.optimal == pytest.approx(work / (1 + int(np.argmin(means))))
    assert found.plan is not None
    assert found.plan.interval == found.optimal


def test_a_short_job_takes_no_checkpoint() -> None:
    found = checkpoint_interval("1000d", "5m", work="1h")
    assert found.optimal == 3600
    assert found.plan is not None
    assert found.plan.segments == 1


def test_a_very_long_job_with_memory() -> None:
    found = checkpoint_interval("1h", "1s", shape=0.7, work="2000w")
    assert found.optimal == pytest.approx(checkpoint_interval("1h", "1s", shape=0.7).optimal)


def test_which_mean_each_assumption_takes() -> None:
    node = {"shape": 0.7, "nodes": 1000}
    new = checkpoint_interval("1000d", "1s", ages="new", **node)  # type: ignore[arg-type]
    steady = checkpoint_interval("1000d", "1s", **node)  # type: ignore[arg-type]
    assert new.mttf / 3600 == pytest.approx(1.24, abs=0.005)
    assert steady.mttf / 3600 == pytest.approx(24.0)
    assert new.assumes != steady.assumes
    assert "steady" in steady.assumes
    assert "every failure" in new.assumes
    now = checkpoint_interval("1000d", "1s", ages="100d", **node)  # type: ignore[arg-type]
    assert now.optimal < steady.optimal
    memoryless = checkpoint_interval("1000d", "1s", nodes=1000, ages="100d")
    assert memoryless.optimal == pytest.approx(checkpoint_interval("1d", "1s").optimal)


def test_increasing_hazard_has_many_summits() -> None:
    """Lives of nearly one length: one checkpoint just before their end is best for a high cost."""
    system = SystemLifetime(from_mttf(1.0, 50.0))
    best = best_long_run(system, 0.1)
    tries = np.linspace(0.01, 1.5, 20_000)
    assert float(long_run_efficiency(system, best, 0.1)) >= float(
        long_run_efficiency(system, tries, 0.1).max()
    ) * (1 - 1e-7)


def test_text_and_numbers_are_alike() -> None:
    text = checkpoint_interval("4d", "5m", restart="5m", downtime="00:02:00", work="30d")
    plain = checkpoint_interval(345_600, 300, restart=300, downtime=120, work=2_592_000)
    assert text.choices == plain.choices
    law = checkpoint_interval(cost=300, lifetime=lifetime("exponential", scale=345_600.0))
    assert law.optimal == pytest.approx(checkpoint_interval("4d", "5m").optimal, rel=1e-6)
    table = plain.table()
    assert table["name"].to_list() == ["young", "daly_first", "daly", "optimal"]
    assert table["interval"].to_list() == [
        plain.young, plain.daly_first, plain.daly, plain.optimal
    ]  # fmt: skip


def test_first_order_form_may_not_exist() -> None:
    found = checkpoint_interval(10.0, 6.0)
    assert math.isnan(found.daly_first)
    assert found.choice("daly_first") is None


@pytest.mark.parametrize(
    ("name", "given_"),
    [
        ("cost", {"cost": 0.0}),
        ("cost", {"cost": math.nan}),
        ("cost", {"cost": 1e9}),
        ("restart", {"restart": -1.0}),
        ("downtime", {"downtime": math.inf}),
        ("work", {"work": 0.0}),
        ("mttf", {"mttf": None}),
        ("mttf", {"mttf": 0.0}),
        ("shape", {"shape": math.nan}),
        ("nodes", {"nodes": 0}),
        ("ages", {"ages": 0.0, "shape": 0.5, "nodes": 3}),
        ("ages", {"ages": -3.0}),
        ("lifetime", {"mttf": None, "lifetime": lifetime("loglogistic", shape=0.8, scale=1.0),
                      "ages": "new"}),
    ],
)  # fmt: skip
def test_what_cannot_be(name: str, given_: dict[str, object]) -> None:
    with pytest.raises(ParameterError) as caught:
        checkpoint_interval(**{"mttf": 100.0, "cost": 1.0, **given_})  # type: ignore[arg-type]
    assert caught.value.name == name


@pytest.mark.parametrize("given_", [(0.0, 1, 1, 1), (1, math.inf, 1, 1), (1, 1, 1, -1)])
def test_nodes_cannot_be_told(given_: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError):
        nodes_for_interval(*given_)


# Schedules that follow the hazard ----------------------------------------------------------------


def test_schedule_of_the_exponential_is_equidistant() -> None:
    schedule = best_schedule(SystemLifetime(lifetime("exponential", scale=1.0)), 0.05, 0.1)
    closed = 1 + float(lambertw(-math.exp(-1.05)).real)
    assert schedule.intervals[:20] == pytest.approx(np.full(20, closed), rel=1e-5)
    assert schedule.gain == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("shape", [0.5, 0.7, 2.0, 5.0])
def test_schedule_follows_the_hazard(shape: float) -> None:
    law = SystemLifetime(from_mttf(1.0, shape))
    cost, restart = 0.05, 0.02
    schedule = best_schedule(law, cost, restart, 0.1)
    ends = restart + np.cumsum(schedule.intervals + cost)
    rising = np.diff(schedule.intervals[:8]) * (1 if shape < 1 else -1)
    assert np.all(rising > 0)
    assert schedule.gain > 1e-4
    reward = float(schedule.intervals @ law.sf(ends))
    assert schedule.efficiency == pytest.approx(reward / (law.mean() + 0.1))
    # The condition for each end: sf(t) - sf(next) = work * pdf(t).
    sf = law.sf(ends)
    pdf = law.hazard(ends) * sf
    assert sf[:8] - sf[1:9] == pytest.approx(schedule.intervals[:8] * pdf[:8], rel=1e-5)


def test_schedule_by_playing_it() -> None:
    law = SystemLifetime(from_mttf(1.0, 0.5))
    schedule = best_schedule(law, 0.1, 0.02, 0.1)
    lives = law.draw(np.random.default_rng(6), 1_000_000)
    ends = 0.02 + np.cumsum(schedule.intervals + 0.1)
    saved = np.concatenate([[0.0], np.cumsum(schedule.intervals)])
    done = saved[np.searchsorted(ends, lives, side="right")]
    share = float(done.mean() / (lives.mean() + 0.1))
    assert schedule.efficiency == pytest.approx(share, rel=0.005)


@pytest.mark.parametrize("cost", [0.0, -1.0])
def test_a_schedule_needs_a_cost(cost: float) -> None:
    with pytest.raises(ParameterError, match="cost"):
        best_schedule(SystemLifetime(from_mttf(1.0)), cost)
