"""A run's event log, replayed by an engine that Python drives: the same decisions to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.kit.log import names_of
from forestall.core.model.errors import TraceError
from forestall.scheduling.report.log import DECISIONS, EVENTS, replay
from scheduling.simulation.cases import (
    CLASSIC,
    Case,
    cases,
    failures_of,
    loaded_case,
    random_case,
    result,
)

POLICIES = ("promise", *CLASSIC)


def replayed(folder: Path, case: Case, **chosen: Any) -> None:
    result(case, log_events=True, **chosen).save(folder, report=False)
    assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes(), (
        case.seed,
        chosen,
    )


@settings(max_examples=60)
@given(case=cases(), policy=st.sampled_from(POLICIES), accuracy=st.sampled_from([0.0, 0.5, 1.0]),
       checkpoint=st.sampled_from(["risk", "none", "periodic", "daly"]))  # fmt: skip
def test_small_cases(
    tmp_path_factory: pytest.TempPathFactory,
    case: Case,
    policy: str,
    accuracy: float,
    checkpoint: str,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    replayed(folder, case, policy=policy, accuracy=accuracy, checkpoint=checkpoint, risk=0.6)


@pytest.mark.parametrize("policy", POLICIES)
def test_larger_cases(tmp_path: Path, policy: str) -> None:
    for seed in range(6):
        case = loaded_case(seed, jobs=120) if seed % 3 == 0 else random_case(seed, 40, 300)
        replayed(
            tmp_path, case, policy=policy, compression=seed % 2 > 0,
            requeue=("now", "original")[seed // 2 % 2],
            placement=("fault-aware", "first")[seed % 2],
        )  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
def test_a_failure_log_that_repeats(tmp_path: Path, policy: str) -> None:
    for seed in range(6):
        case = random_case(seed, 40, 300).with_quiet_end()
        period = failures_of(case.failures).span
        late = [(v + 3 * period, n, e, r) for v, n, e, r in case.jobs]
        moved = Case(case.jobs + late, case.failures, case.nodes, 1, 50, seed)
        replayed(tmp_path, moved, policy=policy, repeat_failures=True, accuracy=1.0)


def test_failures_before_the_epoch(tmp_path: Path) -> None:
    case = random_case(3, 30, 100)
    hits = [(t - 150, node, down, p) for t, node, down, p in case.failures]
    for policy in POLICIES:
        replayed(tmp_path, Case(case.jobs, hits, case.nodes, 1, 5), policy=policy)


def test_what_the_files_hold(tmp_path: Path) -> None:
    case = Case([(0, 1, 10, 10)], [(5, 0, 3, 0.4)], 2)
    result(case, log_events=True, accuracy=0.5).save(tmp_path, report=False)
    events = pl.read_csv(tmp_path / "events.csv")
    assert tuple(events.columns) == names_of(EVENTS)
    assert events["event"].to_list() == [
        "submitted",
        "start_due",
        "node_failed",
        "node_recovered",
        "finished",
    ]
    assert events["time"].to_list() == [0, 0, 5, 8, 10]
    assert events["until"].to_list() == [None, None, 8, None, None]
    assert events.row(0)[5:] == (1, 10, 10, 1)
    decisions = pl.read_csv(tmp_path / "decisions.csv")
    assert tuple(decisions.columns) == names_of(DECISIONS)
    assert (
        decisions["why"][0]
        == "enough nodes are free at once; node 0 left out: predicted to fail at 5"
    )
    assert decisions["nodes"].to_list() == [1, 1]
    assert decisions["reason"].to_list() == ["free_now", "reserved_start"]


def test_nothing_is_logged_unasked(tmp_path: Path) -> None:
    result(Case([(0, 1, 1, 1)], [], 1)).save(tmp_path, report=False)
    assert not (tmp_path / "events.csv").exists()
    with pytest.raises(TraceError, match=r"events.csv.*with log_events"):
        replay(tmp_path)


@pytest.mark.parametrize("name", ["events.csv", "foreseen.csv"])
def test_garbage_is_refused(tmp_path: Path, name: str) -> None:
    result(Case([(0, 1, 1, 1)], [], 1), log_events=True).save(tmp_path, report=False)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(TraceError, match=name):
        replay(tmp_path)
