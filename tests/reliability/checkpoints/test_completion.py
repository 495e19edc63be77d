"""Completion times: closed forms, a plain step-by-step reference, and a million simulated runs."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.checkpoints.checkpoints import checkpoint_interval, mean_completion
from forestall.reliability.checkpoints.completion import (
    MOST_SEGMENTS,
    CompletionTime,
    completion_of,
    completion_time,
)
from forestall.reliability.checkpoints.completion_grid import Grid, with_memory
from forestall.reliability.checkpoints.completion_simulated import (
    SimulatedTimes,
    simulate_completion,
)
from forestall.reliability.checkpoints.segments import CheckpointPlan, reciprocal, waste
from forestall.reliability.fits.estimate import fit
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.lifetimes.registry import lifetime
from forestall.reliability.systems.ageing import SystemLifetime
from forestall.reliability.systems.equilibrium import Equilibrium
from forestall.reliability.systems.systems import from_mttf

M = 1000.0
EXPONENTIAL = lifetime("exponential", scale=M)
HALF = lifetime("weibull", shape=0.5, scale=M / 2)
SEVEN = lifetime("weibull", shape=0.7, scale=M)
THREE_HALVES = lifetime("weibull", shape=1.5, scale=M)
LOGNORMAL = lifetime("lognormal", mu=6.0, sigma=1.2)
LAWS = {
    "exponential": EXPONENTIAL,
    "weibull 0.5": HALF,
    "weibull 0.7": SEVEN,
    "weibull 1.5": THREE_HALVES,
    "lognormal": LOGNORMAL,
}
ALL = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
MANY = CheckpointPlan(5050.0, 100.0, 10.0, 20.0, 7.0)
NONE = CheckpointPlan(1500.0, math.inf, 10.0, 20.0, 7.0)
LONG_PAUSES = CheckpointPlan(1500.0, 400.0, 150.0, 300.0, 90.0)


def agree(job: CompletionTime, runs: SimulatedTimes) -> None:
    """The mean within 4.5 standard errors, the distribution within the simulation's error."""
    assert abs(job.mean() - runs.mean()) < 4.5 * runs.standard_error()
    count = len(runs.times)
    assert job.sd() == pytest.approx(runs.times.std(), rel=0.005 + 5 * math.sqrt(2 / count))
    t = np.quantile(runs.times, np.linspace(0, 1, 2001)) * (1 + 1e-9)
    apart = float(np.max(np.abs(job.cdf(t) - runs.cdf(t))))
    assert apart < 2.2 / math.sqrt(count) + job.error
    for p in (0.5, 0.9, 0.99):
        kept = float(runs.cdf(job.promise(p) * (1 + 1e-9)))
        assert kept > p - 5 * math.sqrt(p * (1 - p) / count) - job.error


# Closed forms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("segments", [1, 2, 3, 50, 3000])
def test_exponential_mean_is_dalys(segments: int) -> None:
    plan = CheckpointPlan(segments * 100.0, 100.0, 10.0, 20.0, 7.0, last_checkpoint=True)
    closed = math.exp(20 / M) * (M + 7) * math.expm1(110 / M) * segments
    system = SystemLifetime(EXPONENTIAL)
    assert completion_of(plan, system, points=64).mean() == pytest.approx(closed, rel=1e-11)
    by_renewal = plan.unhindered + waste(plan, system, system).mean
    assert by_renewal == pytest.approx(closed, rel=1e-11)
    assert mean_completion(plan, system) == pytest.approx(closed, rel=1e-12)


@ALL
def test_mean_without_checkpoints(law: Lifetime) -> None:
    """With a renewal at each failure: E = work + (downtime F + integral of F-part) / R."""
    work, down = 1500.0, 7.0
    system = SystemLifetime(law)
    alive = float(law.sf(work))
    up = float(system.integral.up_to(work))
    closed = (up + down * (1 - alive)) / alive
    job = completion_of(CheckpointPlan(work, math.inf, 0.0, 0.0, down), system)
    assert job.mean() == pytest.approx(closed, rel=1e-11)


def test_the_two_routes_agree_for_the_exponential() -> None:
    job = completion_of(MANY, SystemLifetime(EXPONENTIAL))
    other = completion_of(MANY, SystemLifetime(lifetime("weibull", shape=1 + 1e-13, scale=M)))
    assert other.method != job.method
    t = np.linspace(5500, 9000, 200)
    assert np.max(np.abs(job.cdf(t) - other.cdf(t))) < 2e-6
    assert other.mean() == pytest.approx(job.mean(), rel=1e-9)
    assert other.sd() == pytest.approx(job.sd(), rel=1e-8)


def test_the_grid_keeps_mass_and_mean() -> None:
    system = SystemLifetime(HALF)
    found = waste(NONE, system, system)
    step = (found.mean + 30 * math.sqrt(found.variance)) / 2048
    masses = with_memory(NONE, system, system, Grid(2048, step))
    ended, again = float(system.sf(1500.0)), float(system.sf(1520.0))
    once = (1 - ended) * again
    assert masses.sum() + ended + once == pytest.approx(1, abs=1e-8)
    first = float(system.integral.up_to(1500.0)) - 1500 * ended + 27 * (1 - ended)
    assert masses @ np.arange(2048) * step + first * again == pytest.approx(found.mean, rel=1e-8)


@given(st.lists(st.floats(0.0, 0.3), min_size=1, max_size=40))
def test_reciprocal_of_a_power_series(rest: list[float]) -> None:
    series = np.array([1.0, *rest])
    product = np.convolve(series, reciprocal(np.array(rest)))[: len(series)]
    assert product == pytest.approx([1.0] + [0.0] * len(rest), abs=1e-6 * (1 + max(rest)) ** 40)


# A plain reference, one event after the other ----------------------------------------------------


def plain_run(plan: CheckpointPlan, law: Lifetime, rng: random.Random) -> float:
    """Play one job: phases one by one, a life of the system drawn at each failure."""
    clock, done = 0.0, 0.0
    life = float(law.quantile(rng.random()))
    phases: list[tuple[str, float]] = []
    while True:
        if not phases:
            work = min(plan.interval, plan.work - done)
            phases.append(("work", work))
            if done + work < plan.work - 1e-9:
                phases.append(("checkpoint", plan.cost))
        kind, length = phases[0]
        if life < length:
            clock += life + plan.mean_downtime
            life = float(law.quantile(rng.random()))
            phases = [("restart", plan.restart)]
            continue
        clock, life = clock + length, life - length
        phases.pop(0)
        if kind == "checkpoint":
            done += plan.interval
        elif kind == "work" and not phases:
            return clock


@pytest.mark.parametrize("plan", [LONG_PAUSES, NONE, CheckpointPlan(900.0, 100.0, 30.0, 50.0, 9.0)])
@pytest.mark.parametrize("law", [HALF, THREE_HALVES], ids=["0.5", "1.5"])
def test_against_the_plain_reference(plan: CheckpointPlan, law: Lifetime) -> None:
    rng = random.Random(3)
    times = np.array([plain_run(plan, law, rng) for _ in range(3000)])
    agree(completion_of(plan, SystemLifetime(law)), SimulatedTimes(times, np.zeros(3000, np.int64)))


# A million simulated runs ------------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("plan", [MANY, NONE, LONG_PAUSES], ids=["many", "none", "long pauses"])
def test_simulated(law: Lifetime, plan: CheckpointPlan) -> None:
    system = SystemLifetime(law)
    agree(
        completion_of(plan, system),
        simulate_completion(plan, system, 100_000, np.random.default_rng(11)),
    )


@pytest.mark.slow
@ALL
@pytest.mark.parametrize("plan", [MANY, NONE], ids=["many", "none"])
def test_a_million_runs(law: Lifetime, plan: CheckpointPlan) -> None:
    system = SystemLifetime(law)
    agree(
        completion_of(plan, system),
        simulate_completion(plan, system, 1_000_000, np.random.default_rng(12)),
    )


def test_a_million_runs_of_weibull() -> None:
    system = SystemLifetime(SEVEN)
    agree(
        completion_of(MANY, system),
        simulate_completion(MANY, system, 1_000_000, np.random.default_rng(13)),
    )


@pytest.mark.parametrize("law", [EXPONENTIAL, SEVEN], ids=["exponential", "weibull"])
@pytest.mark.parametrize("plan", [MANY, NONE], ids=["many", "none"])
def test_repair_times_by_chance(law: Lifetime, plan: CheckpointPlan) -> None:
    repair = lifetime("lognormal", mu=4.0, sigma=0.8)
    with_repair = CheckpointPlan(plan.work, plan.interval, plan.cost, plan.restart, repair)
    system = SystemLifetime(law)
    agree(
        completion_of(with_repair, system),
        simulate_completion(with_repair, system, 100_000, np.random.default_rng(14)),
    )


@pytest.mark.parametrize("nodes", [1, 20])
def test_steady_state(nodes: int) -> None:
    system = SystemLifetime(from_mttf(M * nodes, 0.7), nodes, "steady")
    runs = simulate_completion(MANY, system, 100_000, np.random.default_rng(15))
    agree(completion_of(MANY, system), runs)


def test_steady_state_against_nodes_that_carry_their_ages() -> None:
    """Each node renewed alone, at first as old as in a machine long in use: the mean is that of
    like and independent times between failures within 1 % where there are 50 nodes."""
    law, rng = from_mttf(M * 50, 0.7), np.random.default_rng(16)
    ages = tuple(np.asarray(Equilibrium(law).quantile((np.arange(50) + 0.5) / 50)).tolist())
    runs = simulate_completion(MANY, SystemLifetime(law, 50, ages), 10_000, rng)
    job = completion_of(MANY, SystemLifetime(law, 50, "steady"))
    assert job.mean() == pytest.approx(runs.mean(), rel=0.01)


@pytest.mark.parametrize("law", [EXPONENTIAL, THREE_HALVES], ids=["exponential", "weibull"])
def test_hundreds_of_failures(law: Lifetime) -> None:
    """All that counts lies far from the time without failures: the grid begins late."""
    plan = CheckpointPlan(150_000.0, 100.0, 10.0, 20.0, 7.0)
    system = SystemLifetime(law)
    job = completion_of(plan, system)
    assert job.error < 2e-3
    assert float(job.cdf(job.mean() - 9.5 * job.sd())) < 1e-6
    assert float(job.sf(job.mean() + 9 * job.sd())) < 1e-6
    agree(job, simulate_completion(plan, system, 50_000, np.random.default_rng(23)))


# Nodes of given ages -----------------------------------------------------------------------------


def test_one_node_of_given_age_is_exact() -> None:
    system = SystemLifetime(SEVEN, 1, 400.0)
    runs = simulate_completion(MANY, system, 100_000, np.random.default_rng(17))
    agree(completion_of(MANY, system), runs)


@pytest.mark.parametrize("age", [0.0, 365.0])
def test_many_nodes_of_given_age(age: float) -> None:
    """Days: the approximation's mean, and both simulations, within 1 %."""
    plan = CheckpointPlan(30.0, 42 / 1440, 5 / 1440, 5 / 1440)
    system = SystemLifetime(from_mttf(1000.0, 0.5), 1000, age)
    job = completion_of(plan, system)
    runs = simulate_completion(plan, system, 2000, np.random.default_rng(18))
    assert math.isnan(job.error)
    assert job.mean() == pytest.approx(runs.mean(), rel=0.01)
    assert job.promise(0.9) == pytest.approx(float(runs.quantile(0.9)), rel=0.02)


def test_given_ages_by_simulation() -> None:
    rng = np.random.default_rng(19)
    options = {"shape": 0.5, "nodes": 8, "ages": 100.0, "interval": 50.0, "cost": 3.0}
    job = completion_time(500.0, 5000.0, rng=rng, **options)  # type: ignore[arg-type]
    plan = CheckpointPlan(500.0, 50.0, 3.0)
    system = SystemLifetime(from_mttf(5000.0, 0.5), 8, 100.0)
    runs = simulate_completion(plan, system, 100_000, np.random.default_rng(20))
    assert "simulated" in job.method
    agree(job, runs)


def test_both_simulations_of_given_ages(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SystemLifetime(from_mttf(60_000.0, 0.8), 60, 10_000.0)
    by_node = simulate_completion(MANY, system, 40_000, np.random.default_rng(21))
    monkeypatch.setattr("forestall.reliability.checkpoints.completion_simulated.MOST_NODES", 1)
    poisson = simulate_completion(MANY, system, 40_000, np.random.default_rng(22))
    assert by_node.mean() == pytest.approx(poisson.mean(), rel=0.005)


# What holds whatever the numbers -----------------------------------------------------------------

TIMES = st.floats(0.01, 3.0)
PAUSES = st.one_of(st.just(0.0), st.floats(1e-3, 0.3))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(LAWS.values())), TIMES, TIMES, PAUSES, PAUSES, PAUSES)
def test_a_distribution(
    law: Lifetime, work: float, interval: float, cost: float, restart: float, downtime: float
) -> None:
    plan = CheckpointPlan(*(M * x for x in (work, interval, cost, restart, downtime)))
    job = completion_of(plan, SystemLifetime(law), points=1024)
    end = job.mean() + 30 * job.sd() + 9 * (plan.period + plan.pause)
    t = np.linspace(0.5 * plan.unhindered, end, 3001)
    cdf = job.cdf(t)
    assert np.all(np.diff(cdf) >= -1e-9)
    assert float(job.cdf(plan.unhindered * (1 - 1e-9))) == 0
    assert float(job.cdf(plan.unhindered)) == pytest.approx(job.no_failure, abs=1e-9)
    assert float(job.sf(end)) < 1e-6
    p = np.array([0.1, 0.5, 0.9, 0.999])
    assert np.all(job.cdf(job.quantile(p)) >= p - 1e-9)
    assert np.all(job.quantile(p) >= plan.unhindered)
    area = float(np.trapezoid(1 - cdf, t)) + t[0]
    slack = (job.error + 1e-6) * (end - t[0]) + 2 * (t[1] - t[0])
    assert area == pytest.approx(job.mean(), abs=slack)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([0.5, 1.0, 1.5]), st.floats(0.05, 1.0), PAUSES)
def test_more_failures_take_longer(shape: float, interval: float, cost: float) -> None:
    plan = CheckpointPlan(2 * M, interval * M, cost * M, 10.0, 10.0)
    means = [mean_completion(plan, SystemLifetime(from_mttf(f * M, shape))) for f in (2, 1, 0.5)]
    assert means == sorted(means)
    nodes = [
        mean_completion(plan, SystemLifetime(from_mttf(30 * M, shape), n, "steady"))
        for n in (2, 8, 32)
    ]
    assert nodes == sorted(nodes)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_an_interval_that_divides_the_work(count: int) -> None:
    plan = CheckpointPlan(0.7 * count, 0.7, 0.1)
    assert plan.segments == count
    assert plan.unhindered == pytest.approx(0.7 * count + 0.1 * (count - 1))


# Jobs that do not end, and nearly so -------------------------------------------------------------


@pytest.mark.parametrize("plan", [CheckpointPlan(1000.0, 100.0), CheckpointPlan(1000.0, math.inf)])
def test_a_job_that_never_ends(plan: CheckpointPlan) -> None:
    system = SystemLifetime(lifetime("weibull", shape=3.0, scale=10.0))
    job = completion_of(plan, system)
    assert not job.finishes
    assert job.mean() == math.inf
    assert job.efficiency == 0
    assert job.promise(0.5) == math.inf
    assert float(job.cdf(1e300)) == 0
    with pytest.raises(ParameterError, match="interval"):
        simulate_completion(plan, system, 10, np.random.default_rng(1))


@pytest.mark.parametrize("law", [EXPONENTIAL, THREE_HALVES], ids=["exponential", "weibull"])
def test_a_job_that_nearly_never_ends_is_exponential(law: Lifetime) -> None:
    """Without checkpoints the number of attempts is geometric: with a tiny chance each, the time is
    exponential."""
    plan = CheckpointPlan(float(law.quantile(1 - 1e-13)), math.inf, 0.0, 1.0, 1.0)
    job = completion_of(plan, SystemLifetime(law))
    assert job.finishes
    assert job.mean() > 1e12 * M
    p = np.array([0.1, 0.5, 0.9, 0.99])
    assert job.quantile(p) == pytest.approx(-job.mean() * np.log1p(-p), rel=1e-3)


def test_a_law_of_rare_failures() -> None:
    system = SystemLifetime(lifetime("weibull", shape=0.7, scale=1e12))
    job = completion_of(MANY, system)
    assert job.mean() == pytest.approx(job.unhindered, rel=1e-5)
    assert job.promise(0.9) == job.unhindered
    assert job.promise(1 - 1e-6) > job.unhindered


# The public function -----------------------------------------------------------------------------


def test_text_and_numbers_are_alike() -> None:
    one = completion_time("2d", "4d", interval="4h", cost="5m", restart="5m", downtime="2m")
    other = completion_time(172_800, 345_600, interval=14_400, cost=300, restart=300, downtime=120)
    law = completion_time(172_800, lifetime("exponential", scale=345_600), interval=14_400,
                          cost=300, restart=300, downtime=120)  # fmt: skip
    assert one.mean() == other.mean() == law.mean()
    assert one.promise(0.9) == other.promise(0.9)
    table = one.table()
    assert table.columns == ["probability", "deadline", "times_work"]
    assert table["deadline"].to_list() == [one.promise(p) for p in (0.5, 0.9, 0.95, 0.99)]


def test_same_bytes_again() -> None:
    options = {"shape": 0.7, "nodes": 16, "interval": 100.0, "cost": 5.0}
    one, other = (completion_time(2000.0, 9000.0, **options) for _ in range(2))  # type: ignore[arg-type]
    t = np.linspace(2000, 4000, 100)
    assert one.cdf(t).tobytes() == other.cdf(t).tobytes()
    system = SystemLifetime(SEVEN, 16, "steady")
    runs = [simulate_completion(MANY, system, 1000, np.random.default_rng(4)) for _ in range(2)]
    assert runs[0].times.tobytes() == runs[1].times.tobytes()


@pytest.mark.parametrize(
    ("name", "given_"),
    [
        ("work", {"work": 0.0}),
        ("work", {"work": math.inf}),
        ("work", {"work": "soon"}),
        ("interval", {"interval": -1.0}),
        ("interval", {"interval": 1e-9}),
        ("interval", {"interval": 900.0 / (MOST_SEGMENTS + 1), "shape": 0.5}),
        ("cost", {"cost": math.nan}),
        ("restart", {"restart": -1.0}),
        ("downtime", {"downtime": math.inf}),
        ("downtime", {"downtime": lifetime("loglogistic", shape=1.5, scale=1.0)}),
        ("ages", {"ages": "young"}),
    ],
)
def test_what_cannot_be(name: str, given_: dict[str, object]) -> None:
    whole = {"work": 900.0, "mttf": 1000.0, "interval": 100.0, **given_}
    with pytest.raises(ParameterError) as caught:
        completion_time(**whole)  # type: ignore[arg-type]
    assert caught.value.name == name


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_a_promise_is_a_probability(p: float) -> None:
    with pytest.raises(ParameterError, match="p:"):
        completion_time(10.0, 100.0).promise(p)


def test_runs_are_at_least_one() -> None:
    with pytest.raises(ParameterError, match="runs"):
        simulate_completion(MANY, SystemLifetime(SEVEN), 0, np.random.default_rng(1))


def test_a_fitted_law_stands_for_its_lifetime() -> None:
    fitted = fit([12.0, 40.0, 7.0, 90.0, 33.0], "weibull")
    given = {"interval": 4.0, "cost": 0.1, "restart": 0.1}
    one = completion_time(48.0, fitted, **given)  # type: ignore[arg-type]
    other = completion_time(48.0, fitted.lifetime, **given)  # type: ignore[arg-type]
    assert one.mean() == other.mean()
    repaired = completion_time(48.0, 100.0, downtime=fitted, interval=4.0)
    assert repaired.mean() > completion_time(48.0, 100.0, interval=4.0).mean()
    interval = checkpoint_interval(fitted, 0.1).optimal
    assert interval == checkpoint_interval(lifetime=fitted.lifetime, cost=0.1).optimal
    for wrong in (object(), [3.0], None):
        with pytest.raises(ParameterError, match="mttf"):
            completion_time(48.0, wrong)  # type: ignore[arg-type]


def test_a_law_that_cannot_fail_during_the_job() -> None:
    law = lifetime("pareto", shape=0.8, scale=1e6)
    found = completion_time(1e5, law, nodes=4, ages=1e5, interval=1e4, cost=60.0)
    assert found.mean() == pytest.approx(found.unhindered)


def test_what_it_shows_of_itself() -> None:
    found = completion_time(48.0, 100.0, interval=4.0, cost=0.1, restart=0.1)
    assert repr(found) == (
        f"CompletionTime(work=48, mean={found.mean():.6g}, sd={found.sd():.6g}, "
        "method='constant failure rate')"
    )
    shown = repr(checkpoint_interval("4d", "5m"))
    assert shown.startswith("CheckpointInterval(young=14400, daly_first=14100, daly=14200.7,")
    assert " at 0x" not in shown + repr(found)
