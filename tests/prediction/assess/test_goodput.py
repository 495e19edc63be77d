"""Goodput and its parts: by hand, adding up, and named as Google's library does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_cases import accounts
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess import goodput as good
from forestall.slurm.records.run_ends import Ends

HOUR = 3600
ASSUMED = good.Assumed(HOUR, 300, 200)
WINDOW = (0, 70 * 86_400)

BADPUT = (
    "TPU_INITIALIZATION", "TRAINING_PREP", "PROGRAM_STARTUP", "DATA_LOADING_SYNC",
    "DATA_LOADING_ASYNC", "UNPRODUCTIVE_CHECKPOINT_SAVE_TIME",
    "UNPRODUCTIVE_CHECKPOINT_RESTORE_TIME", "WASTED_PROGRESS_FROM_DISRUPTION",
    "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION", "CUSTOM_BADPUT_EVENTS", "OTHER",
)  # fmt: skip


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_names_are_the_librarys() -> None:
    assert {name.upper() for name in good.NAMES} == {"TOTAL", *BADPUT}
    assert all(bool(share.rule) != bool(share.why) for share in good.SHARES)


def test_by_hand() -> None:
    rows = [
        # 2 h + 100 s of work: one checkpoint, nothing lost.
        {"start": 0, "end": 2 * HOUR + 100, "nodes": 2, "state": "COMPLETED"},
        # 3 h: two checkpoints (each after 3900 s), 1950 s lost.
        {"job": 8, "start": 0, "end": 3 * HOUR, "nodes": 4, "state": "NODE_FAIL"},
        # 50 s later: 200 s restart, 1000 s of work, all lost.
        {"job": 8, "submit": 3 * HOUR, "start": 3 * HOUR + 50, "end": 3 * HOUR + 1250,
         "nodes": 4, "state": "PREEMPTED"},
        # Never came back: waits until the records end.
        {"job": 8, "submit": 3 * HOUR + 1250, "state": "PENDING"},
        {"start": 0, "end": 500, "nodes": 3, "state": "FAILED"},
        {"start": 0, "end": 700, "nodes": 9, "state": ""},
        {"start": 0, "nodes": 1, "state": "RUNNING"},
    ]  # fmt: skip
    records = accounts(rows, until=4 * HOUR)
    found = good.goodput(records, ASSUMED, rng(), window=WINDOW)
    assert found.node_seconds == {
        "total": 2 * (2 * HOUR - 200) + 4 * (3 * HOUR - 600 - 1950) + (4 * HOUR - 900),
        "wasted_progress_from_disruption": 4 * (1950 + 1000),
        "infrastructure_recovery_from_disruption": 4 * (50 + HOUR - 1250),
        "unproductive_checkpoint_save_time": 2 * 300 + 4 * 600 + 900,
        "unproductive_checkpoint_restore_time": 4 * 200,
        "other": 3 * 500,
        **dict.fromkeys(
            ("tpu_initialization", "training_prep", "program_startup", "data_loading_sync",
             "data_loading_async", "custom_badput_events")
        ),
    }  # fmt: skip
    assert (found.runs, found.restarts) == (5, 2)
    assert (found.unknown_runs, found.unknown_node_seconds) == (1, 9 * 700)
    assert found.whole == sum(v for v in found.node_seconds.values() if v is not None)
    completed = 2 * (2 * HOUR + 100) + 4 * HOUR
    assert found.bare.value == completed / found.whole


run = st.fixed_dictionaries(
    {
        "job": st.integers(1, 5),
        "submit": st.integers(0, 50),
        "start": st.integers(50, 10**6) | st.just(NEVER),
        "length": st.integers(0, 10**6) | st.none(),
        "nodes": st.integers(-1, 10**5),
        "state": st.sampled_from(["COMPLETED", "NODE_FAIL", "FAILED", "PREEMPTED", "", "X"]),
    }
)


@given(
    rows=st.lists(run, max_size=20),
    interval=st.integers(1, 10**5),
    cost=st.integers(0, 2000),
    restart=st.integers(0, 2000),
)
def test_parts_add_up(rows: list[dict[str, int]], interval: int, cost: int, restart: int) -> None:
    for row in rows:
        length = row.pop("length")
        row["end"] = NEVER if length is None or row["start"] == NEVER else row["start"] + length
    records = accounts(rows, until=2 * 10**6)
    assumed = good.Assumed(interval, cost, restart)
    stopped = np.arange(len(records)) % 2 == 0
    spent = good.parts(records.elapsed, records.attempt, stopped, assumed)
    total = spent.restore + spent.save + spent.lost + spent.kept
    assert total.tolist() == records.elapsed.tolist()
    for one in (spent.restore, spent.save, spent.lost, spent.kept):
        assert not (one < 0).any()
    assert not spent.lost[~stopped].any()
    found = good.goodput(records, assumed, rng(), window=WINDOW)
    waited = found.node_seconds["infrastructure_recovery_from_disruption"]
    assert waited is not None
    assert found.whole + found.unknown_node_seconds == sum(records.node_seconds.tolist()) + waited
    if found.whole:
        assert abs(sum(one.value for one in found.share.values()) - 1) < 1e-12


def test_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        {"job": k // 2, "submit": k, "start": k * 700, "end": k * 700 + 5000 + k, "nodes": k % 7,
         "state": ["COMPLETED", "NODE_FAIL", "FAILED"][k % 3]}
        for k in range(40)
    ]  # fmt: skip
    records = accounts(rows)
    whole = good.goodput(records, ASSUMED, rng(), window=WINDOW)
    monkeypatch.setattr(good, "CHUNK", 7)
    pieces = good.goodput(records, ASSUMED, rng(), window=WINDOW, ends=Ends.of(records))
    assert pieces.node_seconds == whole.node_seconds
    assert pieces.bare.value == whole.bare.value
    np.testing.assert_array_equal(pieces.share["total"].draws, whole.share["total"].draws)


def test_the_interval_holds_the_share() -> None:
    """Failures by week at random: the interval holds the true share about as often as it says."""
    held = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        bad = draw.random(600) < 0.2
        rows = [
            {"start": k * 10_000, "end": k * 10_000 + 1000, "state": "FAILED" if bad[k]
             else "COMPLETED"} for k in range(600)
        ]  # fmt: skip
        found = good.goodput(accounts(rows), ASSUMED, draw, window=(0, 6_000_000))
        assert found.blocks.word == "week"
        assert found.bare.value == pytest.approx(1 - bad.mean())
        held += found.bare.low <= 0.8 <= found.bare.high
    assert 51 <= held <= 60


def test_nothing_ran() -> None:
    found = good.goodput(accounts([{"submit": 5}]), ASSUMED, rng(), window=WINDOW)
    assert (found.whole, found.runs) == (0, 0)
    assert np.isnan(found.share["total"].value)
    assert np.isnan(good.goodput(accounts([]), ASSUMED, rng(), window=WINDOW).bare.value)


@pytest.mark.parametrize("bad", [(0, 1, 1), (10, -1, 1), (10, 1, -1)])
def test_assumptions_are_checked(bad: tuple[int, int, int]) -> None:
    with pytest.raises(ParameterError):
        good.Assumed(*bad)


def test_blocks() -> None:
    weeks = good.Blocks.over(100, 100 + 57 * 86_400)
    assert (weeks.count, weeks.word) == (8, "week")
    times = np.array([0, 100, 100 + 7 * 86_400, NEVER - 5])
    assert weeks.of(times).tolist() == [0, 0, 1, 7]
    assert good.Blocks.over(0, 3 * 86_400).count == 3
    assert good.Blocks.over(5, 5).count == 1


def test_parts_that_never_vary_have_no_interval() -> None:
    """Ten weeks without a restart do not tell that there never is one."""
    rows = [{"submit": 0, "start": k * 604_800, "end": k * 604_800 + 9000 + k, "nodes": 2,
             "state": "FAILED" if k % 3 else "COMPLETED"} for k in range(10)]  # fmt: skip
    found = good.goodput(accounts(rows), ASSUMED, rng(), window=(0, 10 * 604_800))
    none = found.share["unproductive_checkpoint_restore_time"]
    assert none.value == 0
    assert np.isnan(none.low)
    assert np.isnan(none.high)
    assert found.share["other"].low < found.share["other"].value < found.share["other"].high
