"""The fast simulation against the plain one on random cases, and what must hold for every run."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError
from forestall.core.model.virtual import FAR
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.prepare import lead_of, prepare_virtual, transfer_of
from forestall.machines.simulation.run import play_virtual
from machines.simulation.virtual_cases import (
    MIGRATIONS,
    STRATEGIES,
    Case,
    difference,
    long_case,
    plain,
    prepared,
    random_case,
    virtual_cases,
    wide_case,
)
from machines.simulation.virtual_reference import migration_seconds, nodes_of, simulate_plainly

RAN = (Ended.COMPLETED, Ended.MOVED, Ended.ABORTED, Ended.STOPPED, Ended.LATE)


def compare(case: Case) -> None:
    setup = prepared(case)
    assert not difference(plain(play_virtual(*setup)), simulate_plainly(*setup)), case


# ------------------------------------------------------------------------------- the same


@given(virtual_cases())
def test_small_cases(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("migration", MIGRATIONS)
def test_each_strategy_with_each_migration(strategy: str, migration: str) -> None:
    @given(virtual_cases(strategy=strategy, migration=migration, random_stays=False))
    @settings(max_examples=25)
    def same(case: Case) -> None:
        compare(case)

    same()


@given(virtual_cases(migration="pre-copy", checkpoint="periodic", vm_memory=None, lead=20))
def test_live_migrations_of_tasks_that_checkpoint(case: Case) -> None:
    compare(case)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_larger_cases(first: int) -> None:
    for seed in range(first, first + 50):
        compare(random_case(seed))


@pytest.mark.parametrize("seed", range(6))
def test_long_cases(seed: int) -> None:
    case = long_case(seed)
    compare(case)
    # Events and decisions outgrow their tables, too.
    logged = play_virtual(*prepared(case), log_events=True)
    assert len(logged.log.events) == logged.events > 1024
    assert not difference(plain(logged), plain(played(case)))


@pytest.mark.parametrize("seed", range(8))
def test_wide_cases(seed: int) -> None:
    compare(wide_case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1600, 300))
def test_many_more_cases(first: int) -> None:
    for seed in range(first, first + 300):
        compare(random_case(seed))
    for seed in range(first, first + 10):
        compare(long_case(seed))
        compare(wide_case(seed))


@given(virtual_cases())
def test_how_long_a_migration_takes(case: Case) -> None:
    parameters = prepared(case)[-1]
    copy, standstill = migration_seconds(parameters)
    assert (transfer_of(parameters).copy, transfer_of(parameters).standstill) == (copy, standstill)
    told = case.settings["lead"]
    unknown = -1 if parameters.tau == "learned" else copy + standstill
    assert lead_of(parameters) == (unknown if told is None else told)


@given(virtual_cases(least_rate=0.001))
def test_the_jobs_are_prepared_as_the_cases_say(case: Case) -> None:
    workload, _, _, parameters = prepared(case)
    q = round(1000 * parameters.task_processors)  # any sliver of a processor will do
    slots = sum(min(-(-node.free // q), node.holds) for node in nodes_of(parameters))
    fits = workload.jobs.size <= slots
    if not fits.any():
        with pytest.raises(InputError, match="no job can be simulated"):
            prepare_virtual(workload.jobs, parameters)
        return
    ours = prepare_virtual(workload.jobs, parameters)
    assert np.array_equal(ours.jobs.job, workload.jobs.job[fits])
    assert np.array_equal(ours.deadline, workload.deadline[fits])
    assert np.array_equal(ours.work, workload.work[fits])


# ------------------------------------------------------------------------------- what must hold

CASES = st.one_of(virtual_cases(), st.integers(0, 10**6).map(random_case))


def played(case: Case) -> VirtualOutcome:
    return play_virtual(*prepared(case))


@given(CASES)
def test_capacity_is_never_oversold(case: Case) -> None:
    outcome = played(case)
    changes: dict[int, list[tuple[int, int]]] = defaultdict(list)
    nodes = nodes_of(outcome.parameters)
    for run in outcome.runs:
        changes[int(run["node"])] += [
            (int(run["start"]), int(run["rate"])),
            (int(run["end"]), -int(run["rate"])),
        ]
    for number, mine in changes.items():
        held, machines = 0, 0
        for time, rate in sorted(mine):  # of one second, what is given back comes first
            held, machines = held + rate, machines + (1 if rate > 0 else -1)
            assert held <= nodes[number].free, (time, case)
            assert machines <= nodes[number].holds, (time, case)
        assert (held, machines) == (0, 0)


@given(CASES)
def test_no_task_runs_in_two_places(case: Case) -> None:
    stays: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for run in played(case).runs:
        if run["runs_from"] < run["end"] and run["ended"] != Ended.CANCELLED:
            stays[int(run["job"]), int(run["task"])].append(
                (int(run["runs_from"]), int(run["end"]))
            )
    for mine in stays.values():
        mine.sort()
        assert all(end <= start for (_, end), (start, _) in pairwise(mine)), case


@given(CASES)
def test_nothing_runs_on_a_node_that_is_down(case: Case) -> None:
    outcome = played(case)
    log = outcome.failures
    for strike in outcome.struck:
        number = int(strike["number"])
        time, node = int(strike["time"]), int(log.node[number])
        assert time == log.time[number]
        back = time + int(log.downtime[number])
        runs = outcome.runs[outcome.runs["node"] == node]
        assert not np.any((runs["start"] < back) & (runs["end"] > time)), case
        hit = runs[(runs["ended"] == Ended.ABORTED) & (runs["end"] == time)]
        if (
            np.sum((outcome.struck["time"] == time) & (log.node[outcome.struck["number"]] == node))
            < 2
        ):
            assert (len(hit), hit["lost"].sum()) == (strike["tasks"], strike["lost"])
    lost = outcome.runs["lost"].sum()
    assert lost == outcome.struck["lost"].sum()


@given(CASES)
def test_work_adds_up(case: Case) -> None:
    outcome = played(case)
    kept: dict[tuple[int, int], int] = defaultdict(int)
    ends: dict[tuple[int, int], list[int]] = defaultdict(list)
    runs = outcome.runs
    for run in runs:
        key = int(run["job"]), int(run["task"])
        kept[key] += int(run["work"]) - int(run["lost"])
        ends[key].append(int(run["ended"]))
    for (job, task), work in kept.items():
        done = Ended.COMPLETED in ends[job, task] or Ended.LATE in ends[job, task]
        whole = int(outcome.workload.work[job])
        assert work == whole if done else 0 <= work < whole, (job, task, case)
    p = outcome.parameters
    assert np.all(runs["rate"] >= round(1000 * p.least_rate))
    assert np.all(runs["rate"] <= round(1000 * p.task_processors))
    ended = runs[np.isin(runs["ended"], (Ended.COMPLETED, Ended.LATE))]
    pauses = ended["checkpoints"] * p.checkpoint_overhead
    needed = -(-ended["work"] // ended["rate"])
    assert np.array_equal(ended["end"], ended["runs_from"] + needed + pauses)
    assert p.checkpoint == "periodic" or not runs["checkpoints"].any()


@given(CASES)
def test_every_job_comes_to_an_end_that_its_stays_tell(case: Case) -> None:
    outcome = played(case)
    runs, deadlines = outcome.runs, outcome.workload.deadline
    for job, fate in enumerate(outcome.jobs):
        size = int(outcome.workload.jobs.size[job])
        mine = runs[(runs["job"] == job) & np.isin(runs["ended"], RAN)]
        if fate["dropped"]:
            assert len(mine) == 0
            assert fate.tolist() == (-1, -1, 0, 0, 1)
            continue
        assert set(mine["task"].tolist()) == set(range(size))
        assert fate["start"] == mine["start"].min() >= outcome.workload.jobs.submit[job]
        assert fate["finish"] == mine["end"].max()
        for name, ended in (("done", Ended.COMPLETED), ("late", Ended.LATE)):
            assert fate[name] == np.sum(mine["ended"] == ended)
        deadline = deadlines[job]
        assert np.all(mine["end"][mine["ended"] == Ended.COMPLETED] <= deadline)
        assert np.all(mine["end"][mine["ended"] == Ended.LATE] > deadline)
        assert np.all(mine["end"][mine["ended"] == Ended.STOPPED] == deadline)
        if outcome.parameters.past_deadline == "stop":
            assert np.all(mine["end"] <= deadline)


@given(CASES)
def test_every_move_joins_two_stays(case: Case) -> None:
    outcome = played(case)
    runs = outcome.runs
    begun = runs[runs["begun"] == Begun.MIGRATED]
    assert len(begun) == len(outcome.moves)
    keys = ["job", "task", "start", "node", "runs_from"]
    arrivals = sorted(zip(*(begun[name].tolist() for name in keys), begun["end"], strict=True))
    p, moves = outcome.parameters, outcome.moves
    tau = transfer_of(p).whole
    expected = sorted(
        (int(m["job"]), int(m["task"]), int(m["time"]), int(m["target"]), int(m["time"]) + tau)
        for m in moves
    )
    assert [row[:5] for row in arrivals] == expected
    assert np.all(moves["source"] != moves["target"])
    fled = moves["predicted"] < FAR
    assert np.all(fled) or p.overload_limit is not None
    arrived = moves["outcome"] == MoveEnd.ARRIVED
    assert np.array_equal(moves["end"][arrived], moves["time"][arrived] + tau)
    assert np.all(moves["end"][~arrived] <= moves["time"][~arrived] + tau)
    if p.migration == "none" or (p.strategy == "random" and p.random_stays):
        assert len(moves) == 0


@given(CASES)
@example(Case([(0, 1, 5, 9)], settings={"nodes": 1}))
def test_same_inputs_same_bytes(case: Case) -> None:
    first, second = played(case), play_virtual(*prepared(case), log_events=True)
    for name in ("jobs", "runs", "moves", "struck"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()
    assert (first.events, first.end) == (second.events, second.end)


@given(CASES, st.sampled_from([1, 86_400, 1_700_000_000]))
def test_nothing_depends_on_when_the_clock_began(case: Case, later: int) -> None:
    shifted = Case(
        [(submit + later, *rest) for submit, *rest in case.jobs],
        [(time + later, *rest) for time, *rest in case.failures],
        [
            (known + later, node, at if at >= 2**40 else at + later)
            for known, node, at in case.predictions
        ],
        case.settings,
    )
    first, second = played(case), played(shifted)
    for table, times in (
        ("jobs", ("start", "finish")),
        ("runs", ("start", "runs_from", "end")),
        ("moves", ("time", "end", "predicted")),
        ("struck", ("time",)),
    ):
        ours, theirs = getattr(first, table).copy(), getattr(second, table)
        for name in times:
            never = (ours[name] == -1) & (ours["dropped"] == 1) if table == "jobs" else False
            never |= ours[name] == FAR
            ours[name] += np.where(never, 0, later)
        assert ours.tobytes() == theirs.tobytes(), (table, case)
