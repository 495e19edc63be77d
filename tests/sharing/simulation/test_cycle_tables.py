"""Tables of a run of cycle sharing: columns, values that print as they are, no more than there
was."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.prediction.models.semi_markov.states import NAMES
from forestall.sharing.simulation import tables
from forestall.sharing.simulation.outcome import CycleOutcome
from forestall.sharing.simulation.prepare import prepare_guests
from forestall.sharing.simulation.run import play_cycle
from sharing.simulation import cycle_by_hand as by_hand
from sharing.simulation.cycle_cases import prepared, random_case


def tables_of(outcome: CycleOutcome) -> dict[str, pl.DataFrame]:
    span = tables.availability(outcome)
    return {
        "jobs": tables.jobs_table(outcome),
        "stays": tables.stays_table(outcome),
        "hosts": tables.hosts_table(outcome, span),
        "availability": tables.availability_table(span),
    }


@pytest.mark.parametrize("name", by_hand.FILES)
def test_a_run_by_hand(name: str) -> None:
    assert tables_of(by_hand.scratch())[name].write_csv() == by_hand.FILES[name]


@pytest.mark.parametrize("make", [by_hand.scratch, by_hand.checkpoints])
def test_the_simulator_agrees(make: Callable[[], CycleOutcome]) -> None:
    mine = make()
    played = by_hand.played(mine)
    assert played.stays.tolist() == mine.stays.tolist()
    assert played.jobs.tolist() == mine.jobs.tolist()
    assert (played.end, played.events) == (mine.end, mine.events)
    assert np.array_equal(played.states.done, mine.states.done)
    assert np.array_equal(played.states.runs, mine.states.runs)


def test_checkpoints() -> None:
    table = tables_of(by_hand.checkpoints())
    assert table["jobs"].row(0) == (1, 0, 95, 0, 170, 170, "completed", 6, 2, 1.0, 11)
    assert table["stays"].select("ended", "work", "saved", "lost", "checkpoints").rows() == [
        ("contention", 34.8, 34.8, 0.0, 5),
        ("away", 31.0, 64.8, 1.0, 3),
        ("completed", 30.2, 95.0, 0.0, 3),
    ]
    assert table["hosts"].select("useful", "lost", "guest_seconds").row(0) == (95.0, 1.0, 140)


def test_what_a_scheduler_says_of_stays() -> None:
    outcome = by_hand.scratch()
    stays = outcome.stays.copy()
    stays["chance"] = [0, 500_000, 123_456, 1_000_000, 1, -1]
    stays["promise"] = stays["chance"][::-1]
    table = tables.stays_table(replace(outcome, stays=stays))
    assert table["promise"].to_list() == table["chance"].to_list()[::-1]
    assert table["chance"].to_list() == [0.0, 0.5, 0.123456, 1.0, 0.000001, None]


def test_a_run_without_time() -> None:
    # No host at 0, and none at once again: the run is over in its first second.
    case = random_case(0)
    jobs, hosts, given_parameters = prepared(case)
    parameters = given_parameters.model_copy(update={"retries": 0, "guest_memory": 0.0})
    gone = replace(hosts, load=np.full_like(hosts.load, np.nan))
    first = jobs.take(np.arange(1))
    outcome = play_cycle(prepare_guests(first, gone, parameters), gone, parameters)
    assert tables.span_of(outcome) == (int(first.submit[0]),) * 2
    table = tables_of(outcome)
    assert table["jobs"]["outcome"].to_list() == ["unscheduled"]
    assert len(table["availability"]) == len(table["stays"]) == 0
    assert table["hosts"]["share_s5"].to_list() == [0.0] * len(hosts)


@pytest.mark.parametrize("seed", range(16))
def test_availability_covers_the_run(seed: int) -> None:
    setup = prepared(random_case(seed))
    outcome = play_cycle(prepare_guests(*setup), *setup[1:])
    span, (begin, end) = tables.availability(outcome), tables.span_of(outcome)
    states = outcome.states
    sampled = np.full((len(setup[1]), end - begin), -1)
    for host, state, since, until in zip(span.host, span.state, span.start, span.end, strict=True):
        assert (sampled[host, since - begin : until - begin] == -1).all()
        sampled[host, since - begin : until - begin] = state
    for host in range(len(setup[1])):
        # Second by second, from the runs as they were played.
        mine = states.runs[states.first[host] : states.first[host + 1]]
        at = np.searchsorted(mine["start"], np.arange(begin, end), side="right") - 1
        assert (sampled[host] == mine["state"][at]).all()
        assert tables.states_at(states, begin)[host] == mine["state"][
            np.searchsorted(mine["start"], begin, side="right") - 1
        ]  # fmt: skip
        whole = tables.done_by(states, np.array([host] * 2), np.array([begin, end]))
        assert span.work[span.host == host].sum() == whole[1] - whole[0]
    table = tables.hosts_table(outcome, span)
    shares = table.select(f"share_{name.lower()}" for name in NAMES).sum_horizontal().to_numpy()
    assert np.allclose(shares, float(end > begin))
    useful = table["useful"].sum() + table["lost"].sum()
    assert useful <= span.work.sum() / 1e6 + 1e-6


@given(st.lists(st.integers(0, 2**52)))
def test_work_survives_a_file(values: list[int]) -> None:
    text = pl.DataFrame({"x": tables.millionths(np.array(values, dtype=np.int64))}).write_csv()
    read = pl.read_csv(io.StringIO(text), schema={"x": pl.Float64})["x"].to_numpy()
    assert np.rint(read * 1e6).astype(np.int64).tolist() == values
