"""ETTR of jobs: by hand, against the model where the model holds, and golden values."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from books_cases import accounts
from forestall.core.model.job_records import NEVER
from forestall.prediction.assess import job_ettr as ettr
from forestall.prediction.assess.goodput import Assumed, Blocks, ratio
from forestall.reliability.history.rates import poisson_interval
from forestall.slurm.records.run_ends import Ends

HOUR = 3600
ASSUMED = Assumed(HOUR, 300, 200)
BLOCKS = Blocks.over(0, 70 * 86_400)
WEIGHTS = BLOCKS.weights(np.random.default_rng(1))


def test_one_job_by_hand() -> None:
    rows = [
        {"job": 5, "submit": 0, "eligible": 100, "start": 400, "end": 400 + 3 * HOUR, "nodes": 4,
         "state": "NODE_FAIL"},
        {"job": 5, "submit": 400 + 3 * HOUR, "start": 12_000, "end": 12_000 + 2 * HOUR, "nodes": 4,
         "state": "FAILED", "gpus": 8},
        {"job": 6, "submit": 1, "start": NEVER},
        {"job": 7, "submit": 2, "start": 50, "end": 50, "state": "COMPLETED"},
        {"job": 8, "submit": 3, "start": 50, "end": 90, "nodes": -1, "state": "COMPLETED"},
    ]  # fmt: skip
    jobs = ettr.job_runs(accounts(rows), ASSUMED)
    assert len(jobs) == 1
    # 3 h less two checkpoints and 1950 s; 2 h less a restart and one checkpoint.
    assert jobs.productive.tolist() == [(3 * HOUR - 600 - 1950) + (2 * HOUR - 200 - 300)]
    assert jobs.running.tolist() == [5 * HOUR]
    assert jobs.available.tolist() == [12_000 + 2 * HOUR - 100]
    assert (jobs.size.tolist(), jobs.gpus.tolist(), jobs.stops.tolist()) == ([4], [8], [1])
    found = ettr.whole(jobs, BLOCKS, WEIGHTS, ASSUMED)
    assert found is not None
    assert found.ettr_running.value == jobs.productive[0] / (5 * HOUR)
    assert found.ettr.value == jobs.productive[0] / jobs.available[0] == found.mean.value


def test_a_requeue_stops_a_run_whatever_its_state() -> None:
    rows = [
        {"job": 1, "start": 0, "end": 100, "state": "FAILED"},
        {"job": 1, "submit": 100, "start": 150, "state": "RUNNING"},
    ]
    jobs = ettr.job_runs(accounts(rows, until=1000), Assumed(HOUR, 0, 50))
    assert jobs.stops.tolist() == [1]
    assert (jobs.running.tolist(), jobs.productive.tolist()) == ([950], [800])
    assert jobs.available.tolist() == [1000]


def test_classes_and_weights() -> None:
    day = 86_400
    rows = [
        {"start": 0, "end": day, "nodes": nodes, "gpus": gpus, "state": state}
        for nodes, gpus, state in [(1, 4, "COMPLETED"), (2, -1, "COMPLETED"), (3, 0, "NODE_FAIL"),
                                   (4, 12, "COMPLETED"), (5, 40, "NODE_FAIL")]
    ]  # fmt: skip
    jobs = ettr.job_runs(accounts(rows), Assumed(HOUR, 0, 0))
    classes = ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=0.001, assumed=Assumed(HOUR, 0, 0))
    assert [(one.label, one.jobs, one.stops) for one in classes] == [
        ("1", 1, 0), ("2", 1, 0), ("3-4", 2, 1), ("5-8", 1, 1),
    ]  # fmt: skip
    mixed = classes[2]
    assert mixed.ettr_running.value == (3 * (day - 1800) + 4 * day) / (7 * day)
    assert mixed.mean.value == pytest.approx((2 - 1800 / day) / 2)
    assert mixed.size == (9 + 16) / 7
    assert mixed.model is not None
    assert mixed.model.time.nodes == 4
    by_gpu = ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=1.0, assumed=ASSUMED, gpus=True)
    assert [(one.label, one.model) for one in by_gpu] == [
        ("3-4", None), ("9-16", None), ("33-64", None),
    ]  # fmt: skip
    assert len(ettr.long_jobs(jobs)) == 5


run = st.fixed_dictionaries(
    {
        "job": st.integers(1, 4),
        "wait": st.integers(0, 5000),
        "length": st.integers(0, 40_000),
        "nodes": st.integers(1, 40),
        "state": st.sampled_from(["COMPLETED", "NODE_FAIL", "FAILED", "PREEMPTED", "TIMEOUT"]),
    }
)


@given(rows=st.lists(run, max_size=15), interval=st.integers(1, 9000), cost=st.integers(0, 900))
def test_against_a_plain_loop(rows: list[dict[str, int]], interval: int, cost: int) -> None:
    clock: dict[int, int] = {}
    for row in rows:
        row["submit"] = clock.get(row["job"], 0)
        row["start"] = row["submit"] + row.pop("wait")
        row["end"] = clock[row["job"]] = row["start"] + row.pop("length")
    records = accounts(rows)
    assumed = Assumed(interval, cost, 120)
    plain: dict[int, list[int]] = {}
    for job in clock:
        mine = sorted((k for k in range(len(records)) if records.job[k] == job),
                      key=lambda k: int(records.attempt[k]))  # fmt: skip
        running = productive = 0
        for place, k in enumerate(mine):
            seconds = int(records.end[k] - records.start[k])
            work = max(seconds - (120 if place else 0), 0)
            saves = work // (interval + cost) * cost
            stopped = place < len(mine) - 1 or records.state[k] in ("NODE_FAIL", "PREEMPTED")
            period = interval + cost
            lost = (work if work < period else period // 2) if stopped else 0
            lost = min(lost, work - saves)
            running, productive = running + seconds, productive + work - saves - lost
        available = int(records.end[mine[-1]] - records.submit[mine[0]])
        if running:
            plain[job] = [running, productive, available]
    found = ettr.job_runs(records, assumed)
    assert sorted(
        zip(found.running.tolist(), found.productive.tolist(), found.available.tolist(),
            strict=True)
    ) == sorted(map(tuple, plain.values()))  # fmt: skip
    assert bool((found.productive <= found.running).all())
    assert bool((found.running <= found.available).all())


@pytest.mark.parametrize(
    ("nodes", "minutes", "share"),
    [(128, 131.6, 0.924), (256, 93.0, 0.893), (1024, 46.5, 0.785), (2048, 32.9, 0.696)],
)
def test_golden_values_of_the_model(nodes: int, minutes: float, share: float) -> None:
    """6.5 failures per 1000 node-days, checkpoint and restart 5 min (spec page 2)."""
    best = Assumed(round(minutes * 60), 300, 300)
    assert round(ettr.expected(nodes, 6.5e-3, best).linear, 3) == share


@pytest.mark.parametrize(("nodes", "share"), [(128, 0.924), (1024, 0.785)])
def test_jobs_that_fail_as_the_model_says(nodes: int, share: float) -> None:
    """Runs ended at a constant rate: what accounting measures is what the model expects."""
    rate, interval = 6.5e-3, 131.6 * 60 if nodes == 128 else 46.5 * 60
    assumed = Assumed(round(interval), 300, 300)
    draw = np.random.default_rng(7)
    lengths = np.maximum(draw.exponential(86_400 / (nodes * rate), 20_000), 1).astype(np.int64)
    ends = np.cumsum(lengths)
    rows = [
        {"job": 1, "submit": int(end - length), "start": int(end - length), "end": int(end),
         "nodes": nodes, "state": "NODE_FAIL"}
        for end, length in zip(ends, lengths, strict=True)
    ]  # fmt: skip
    records = accounts(rows)
    found = ettr.whole(ettr.job_runs(records, assumed), BLOCKS, WEIGHTS, assumed)
    assert found is not None
    model = ettr.expected(nodes, rate, assumed)
    assert round(model.linear, 3) == share
    assert abs(found.ettr_running.value - model.exact) < 0.003


def test_whether_the_model_differs() -> None:
    day = 86_400
    draw = np.random.default_rng(3)
    rows = [
        {"submit": k * day // 4, "start": k * day // 4, "end": k * day // 4 + int(length),
         "nodes": 2, "state": "NODE_FAIL" if fails else "COMPLETED"}
        for k, length, fails in zip(
            range(280), draw.integers(day, 2 * day, 280), draw.random(280) < 0.5, strict=True
        )
    ]  # fmt: skip
    assumed = Assumed(HOUR, 0, 0)
    jobs = ettr.job_runs(accounts(rows), assumed)
    low, high = (
        ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=rate, assumed=assumed)[0] for rate in (1 / 6, 5.0)
    )
    assert (low.differs, high.differs) == (False, True)
    one = ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=None, assumed=ASSUMED)[0]
    assert one.differs is None


def long_runs(stopped: int, count: int = 20, nodes: int = 4) -> list[dict[str, object]]:
    """Return runs of two days, two a week, the first of them stopped."""
    day = 86_400
    return [
        {"job": k, "submit": 3 * k * day, "start": 3 * k * day, "end": (3 * k + 2) * day + k % 7,
         "nodes": nodes, "state": "NODE_FAIL" if k < stopped else "COMPLETED"}
        for k in range(count)
    ]  # fmt: skip


def test_no_verdict_from_no_evidence() -> None:
    """160 node-days without a stop where two were expected say nothing; where ten were, they do."""
    jobs = ettr.job_runs(accounts(long_runs(0)), ASSUMED)
    few, many = (
        ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=rate, assumed=ASSUMED)[0]
        for rate in (2 / 160, 10 / 160)
    )
    assert few.model is not None
    assert few.model.stops == pytest.approx(2, rel=1e-3)
    assert (few.model.low, few.model.high) == (0, pytest.approx(3.689, abs=1e-3))
    assert (few.differs, many.differs) == (False, True)
    # Nothing was lost in any week, but three stops would have been no rarity.
    ends = few.ettr_running
    assert ends.value - ends.low == pytest.approx(
        3.689 * 4 * (3900 / 2 + 200) / few.node_seconds, rel=1e-3
    )
    assert ends.low < ends.value <= ends.high <= 1


def test_intervals_are_as_wide_as_the_number_of_stops_leaves_open() -> None:
    jobs = ettr.job_runs(accounts(long_runs(3)), ASSUMED)
    (one,) = ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=None, assumed=ASSUMED)
    step = 4 * (3900 / 2 + 200) / one.node_seconds
    low, high = (float(end) for end in poisson_interval(3))
    assert one.ettr_running.low <= one.ettr_running.value - (high - 3) * step + 1e-12
    assert one.ettr_running.high >= one.ettr_running.value + (3 - low) * step - 1e-12
    plain = ratio(jobs.size * 0 + 1, jobs.size * 0 + 2, np.ones((9, len(jobs))), 0.95)
    assert (plain.value, np.isnan(plain.low)) == (0.5, True)


def test_pieces_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    rows: list[dict[str, object]] = []
    for k in range(200):
        begin = 20_000 * k
        row: dict[str, object] = {"job": k, "nodes": int(draw.integers(-1, 9)),
                                  "gpus": int(draw.integers(-1, 9))}  # fmt: skip
        for _ in range(int(draw.integers(1, 4))):
            start = begin + int(draw.integers(0, 900))
            end = start + int(draw.integers(0, 200_000))
            rows.append(row | {"submit": begin, "start": start, "end": end, "state": "NODE_FAIL"})
            begin = end
    records = accounts(rows)
    ends = Ends.of(records)
    jobs = ettr.job_runs(records, ASSUMED, ends)
    more = {"rate": 0.01, "ends": ends}
    whole = ettr.study(records, ASSUMED, BLOCKS, WEIGHTS, **more)
    monkeypatch.setattr(ettr, "CHUNK", 7)
    pieces = ettr.job_runs(records, ASSUMED, ends)
    for one in fields(jobs):
        np.testing.assert_array_equal(getattr(jobs, one.name), getattr(pieces, one.name))
    again = ettr.study(records, ASSUMED, BLOCKS, WEIGHTS, **more)
    assert again.every is not None
    assert len(again.long) > 2
    plain = ettr.JobEttr(
        ettr.whole(jobs, BLOCKS, WEIGHTS, ASSUMED),
        ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=None, assumed=ASSUMED),
        ettr.by_size(ettr.long_jobs(jobs), BLOCKS, WEIGHTS, rate=0.01, assumed=ASSUMED),
        ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=None, assumed=ASSUMED, gpus=True),
    )
    assert shown(whole) == shown(again) == shown(plain)


def shown(found: ettr.JobEttr) -> list[tuple[object, ...]]:
    """Return all numbers of some classes."""
    every = [] if found.every is None else [found.every]
    return [
        (one.label, one.jobs, one.stops, one.node_seconds, one.size, one.model,
         *(value for part in (one.ettr, one.ettr_running, one.mean)
           for value in (part.value, str(part.low), str(part.high))))
        for one in (*every, *found.classes, *found.long, *found.gpus)
    ]  # fmt: skip


def test_no_jobs() -> None:
    jobs = ettr.job_runs(accounts([]), ASSUMED)
    assert len(jobs) == 0
    assert ettr.whole(jobs, BLOCKS, WEIGHTS, ASSUMED) is None
    assert ettr.by_size(jobs, BLOCKS, WEIGHTS, rate=1.0, assumed=ASSUMED) == ()
