"""Tables of a run of virtual machines: columns, values that print as they are, nothing that was
not."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.virtual import FAR
from forestall.machines.simulation import tables
from forestall.machines.simulation.outcome import VirtualOutcome
from forestall.machines.simulation.run import play_virtual
from machines.simulation import virtual_by_hand as by_hand
from machines.simulation.virtual_cases import prepared, random_case


def tables_of(outcome: VirtualOutcome) -> dict[str, pl.DataFrame]:
    fates = tables.task_fates(outcome)
    return {
        "jobs": tables.jobs_table(outcome, fates),
        "tasks": tables.tasks_table(outcome, fates),
        "runs": tables.runs_table(outcome),
        "migrations": tables.migrations_table(outcome),
        "failures": tables.failures_table(outcome),
    }


@pytest.mark.parametrize("name", by_hand.FILES)
def test_a_run_by_hand(name: str) -> None:
    assert tables_of(by_hand.stop_and_copy())[name].write_csv() == by_hand.FILES[name]


def test_restarts_and_checkpoints() -> None:
    table = tables_of(by_hand.checkpoints())
    assert table["tasks"].rows()[0] == (
        *(1, 0, 0, 0, 29, 1.0, 20.0, 20.0, "completed", 1, 1, 4, 3.0),
    )
    assert table["tasks"]["outcome"].to_list() == ["completed", "completed", "late"]
    assert table["jobs"]["outcome"].to_list() == ["completed", "completed", "late"]
    assert table["jobs"]["completed"].to_list() == [1, 1, 0]
    assert table["jobs"]["tasks_completed"].to_list() == [1, 1, 0]
    assert table["runs"]["begun"].to_list()[-1] == "restarted"


def test_reservations_count_for_nothing() -> None:
    table = tables_of(by_hand.pre_copy())
    assert table["tasks"].select("node", "start", "end", "outcome", "migrations").rows() == [
        (1, 0, 21, "completed", 1),
        (2, 0, 22, "aborted", 2),
        (0, 23, 26, "completed", 1),
    ]
    assert table["runs"]["outcome"].to_list().count("cancelled") == 3
    assert table["migrations"]["outcome"].to_list() == [
        *("target failed", "arrived", "source failed", "ended first"),
    ]


def test_nothing_at_all_happened() -> None:
    whole = by_hand.stop_and_copy()
    outcome = replace(
        whole,
        runs=whole.runs[:0], moves=whole.moves[:0], struck=whole.struck[:0],
        jobs=np.array([(-1, -1, 0, 0, 1)] * 6, dtype=whole.jobs.dtype),
    )  # fmt: skip
    table = tables_of(outcome)
    assert table["tasks"]["outcome"].unique().to_list() == ["dropped"]
    assert table["tasks"]["node"].null_count() == 18
    assert [len(table[name]) for name in ("jobs", "runs", "migrations", "failures")] == [6, 0, 0, 0]
    full = tables_of(whole)
    for name, one in table.items():
        assert one.schema == full[name].schema


@given(st.lists(st.integers(0, 2**50), min_size=1))
def test_thousandths_print_with_three_decimals_at_most(values: list[int]) -> None:
    column = tables.thousandths(np.array(values))
    text = pl.DataFrame({"x": column}).write_csv(include_header=False).split()
    for value, said in zip(values, text, strict=True):
        whole, _, rest = said.partition(".")
        assert 1000 * int(whole) + int(rest.ljust(3, "0")) == value
    read = pl.read_csv(io.StringIO("x\n" + "\n".join(text)))["x"].to_numpy()
    assert np.rint(read * 1000).tolist() == values


# A prediction of the failure's own second speaks of the next; one from before the node's last
# failure is gone.
def test_predictions_in_force() -> None:
    outcome = by_hand.made(
        [(1, 0, 1, 100, 200)],
        [(10, 0, 1, 0, 0), (10, 1, 1, 0, 0), (20, 0, 1, 0, 0), (20, 0, 1, 0, 0), (30, 0, 1, 0, 0),
         (40, 0, 1, 0, 0), (50, 0, 1, 0, 0)],
        [(5, 0, 11), (9, 0, 12), (10, 0, 21), (10, 1, 99), (20, 0, 31), (25, 0, FAR), (40, 0, 51),
         (40, 0, 52)],
        [(0, 100, 1, 0, 0)], [], [], 100, nodes=2,
    )  # fmt: skip
    assert tables.foretold(outcome).tolist() == [12, FAR, 21, FAR, FAR, FAR, 52]
    assert tables.failures_table(outcome)["predicted"].to_list() == [
        *(12, None, 21, None, None, None, 52),
    ]


# The plain way: walk over the stays in order of their ends.
@pytest.mark.parametrize("seed", range(12))
def test_tasks_are_what_their_stays_tell(seed: int) -> None:
    outcome = play_virtual(*prepared(random_case(seed)))
    jobs = outcome.workload.jobs
    tasks = {(j, i): [] for j in range(len(jobs)) for i in range(int(jobs.size[j]))}
    names = outcome.runs.dtype.names
    for row in outcome.runs.tolist():
        stay = dict(zip(names, row, strict=True))
        if stay["ended"] != by_hand.CANCELLED:
            tasks[stay["job"], stay["task"]].append(stay)
    table = tables_of(outcome)["tasks"]
    assert len(table) == len(tasks)
    for (key, stays), row in zip(tasks.items(), table.iter_rows(named=True), strict=True):
        assert (row["job"], row["task"]) == (int(jobs.job[key[0]]), key[1])
        assert row["work"] * 1000 == pytest.approx(int(outcome.workload.work[key[0]]))
        if not stays:
            assert row["outcome"] == "dropped"
            assert row["node"] is None
            continue
        last, lost = stays[-1], sum(stay["lost"] for stay in stays)
        done = sum(stay["work"] for stay in stays) - lost
        assert (row["node"], row["start"], row["end"]) == (
            *(last["node"], stays[0]["start"], last["end"]),
        )
        assert row["outcome"] == tables.ENDED[last["ended"]]
        assert (row["rate"], row["done"], row["lost"]) == (
            *(last["rate"] / 1000, done / 1000, lost / 1000),
        )
        assert row["checkpoints"] == sum(stay["checkpoints"] for stay in stays)
        assert row["restarts"] == sum(stay["begun"] == by_hand.RESTARTED for stay in stays)
