"""The fast simulation against the plain one on random cases: events, candidates, decisions, stays
and fates to the last digit, and forecasts to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from forestall.prediction.models.semi_markov.states import host_states
from forestall.sharing.simulation.forecasts import Forecasts
from forestall.sharing.simulation.prepare import prepare_guests, prepare_hosts
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation.cycle_cases import (
    RESTARTS,
    SCHEDULERS,
    Case,
    cycle_cases,
    daily_case,
    difference,
    plain,
    prepared,
    random_case,
    shared,
    tables_of,
)
from sharing.simulation.cycle_reference import World, foresee, kept_jobs, play


def compare(case: Case, *, slots: int = 2) -> None:
    """Play a case both ways; and compare the forecasts of its first slots that were asked for."""
    jobs, hosts, parameters = prepared(case)
    forecasts = Forecasts(hosts, parameters)
    asked = []
    given_tables = shared(forecasts)

    def tables(slot: int) -> object:
        asked.append(slot)
        return given_tables(slot)

    workload = prepare_guests(jobs, hosts, parameters)
    fast = play_cycle(workload, hosts, parameters, forecasts=forecasts, log_events=True)
    slow = play(jobs, hosts, parameters, tables)
    assert not difference(plain(fast), slow), case
    assert fast.events == len(slow.events)
    compare_forecasts(case, forecasts, sorted(set(asked))[:slots])


def compare_forecasts(case: Case, forecasts: Forecasts, slots: list[int]) -> None:
    _, hosts, parameters = prepared(case)
    world = World(hosts, parameters)
    for slot in slots:
        for host, theirs in enumerate(tables_of(forecasts.curves(slot))):
            ours = foresee(world, host, slot)
            for name, one, other in zip(ours._fields, ours, theirs, strict=True):
                close = np.allclose(one, other, rtol=1e-9, atol=1e-9)
                assert np.shape(one) == np.shape(other), (name, slot, host)
                assert close, (name, slot, host, case)


# ------------------------------------------------------------------------------- the same


@given(cycle_cases())
def test_small_cases(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("restart", RESTARTS)
def test_each_scheduler_with_each_restart(scheduler: str, restart: str) -> None:
    @given(cycle_cases(scheduler=scheduler, restart=restart))
    @settings(max_examples=30)
    def same(case: Case) -> None:
        compare(case, slots=1)

    same()


@given(
    cycle_cases(
        restart="checkpoint", checkpoint_interval=7, guest_memory=0.1, hold=0, retry=7, retries=100
    )
)
@settings(max_examples=50)
def test_guests_that_go_on_from_checkpoints(case: Case) -> None:
    compare(case, slots=0)


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_larger_cases(first: int) -> None:
    for seed in range(first, first + 40):
        compare(random_case(seed), slots=1)


@pytest.mark.parametrize("first", range(0, 36, 12))
def test_cases_of_days(first: int) -> None:
    for seed in range(first, first + 12):
        compare(daily_case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1500, 250))
def test_many_more_cases(first: int) -> None:
    for seed in range(first, first + 250):
        compare(random_case(seed), slots=1)
    for seed in range(first, first + 50):
        compare(daily_case(seed))


def test_the_cases_reach_every_corner() -> None:
    """What the comparison is worth: each reason, end and fate comes up often enough."""
    reasons, ends, fates = np.zeros(14, int), np.zeros(6, int), np.zeros(3, int)
    branches = np.zeros(3, int)
    for case in [random_case(seed) for seed in range(160)] + [daily_case(k) for k in range(36)]:
        jobs, hosts, parameters = prepared(case)
        workload = prepare_guests(jobs, hosts, parameters)
        out = play_cycle(workload, hosts, parameters, log_events=True)
        reasons += np.bincount(out.log.decisions["reason"], minlength=14)
        ends += np.bincount(out.stays["ended"], minlength=6)
        fates += np.bincount(out.jobs["outcome"], minlength=3)
        branches[0] += np.sum(out.stays["checkpoints"] > 1)
        branches[1] += np.sum((out.stays["saved"] > 0) & (out.stays["lost"] > 0))
        branches[2] += np.sum(out.jobs["failures"] > 1)
    assert reasons[:11].min() >= 10, reasons
    assert reasons[13] >= 3, reasons
    assert ends[:5].min() >= 20, ends
    assert ends[5] >= 3, ends
    assert fates.min() >= 100, fates
    assert branches.min() >= 5, branches


# ------------------------------------------------------------------------------- the hosts


@given(cycle_cases())
def test_states_and_work_of_hosts(case: Case) -> None:
    jobs, hosts, p = prepared(case)
    world = World(hosts, p)
    runs = prepare_hosts(hosts, p)
    assert (runs.begin, runs.end, runs.period) == (world.begin, world.end, world.period)
    for host, states in enumerate(world.states):
        memory = None if hosts.free_memory is None else hosts.free_memory[host]
        theirs = host_states(
            hosts.load[host], memory, guest_memory=p.guest_memory, period=hosts.period,
            hold=p.hold, thresholds=(p.th1, p.th2), causal=True,
        )  # fmt: skip
        assert theirs.tolist() == states
        done = np.concatenate(([0], np.cumsum(world.rates[host]))) * hosts.period
        assert np.array_equal(runs.done[host], done)
        mine = runs.runs[runs.first[host] : runs.first[host + 1]]
        changed = [k for k in range(len(states)) if k == 0 or states[k] != states[k - 1]]
        assert mine["start"].tolist() == [world.begin + k * hosts.period for k in changed]
        assert mine["state"].tolist() == [states[k] for k in changed]
        assert mine["done"].tolist() == [int(done[k]) for k in changed]
        assert np.all(mine["host"] == host)
    workload = prepare_guests(jobs, hosts, p)
    kept = kept_jobs(jobs, world.end, p)
    assert list(zip(workload.jobs.submit, workload.jobs.runtime, strict=True)) == kept
    assert workload.work.tolist() == [1_000_000 * runtime for _, runtime in kept]
