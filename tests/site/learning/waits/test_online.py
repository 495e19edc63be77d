from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.site.learning.waits.bound import upper_bound
from forestall.site.learning.waits.classes import Classes, classify
from forestall.site.learning.waits.online import BoundRule, QuotedBounds, WaitHistory, replay
from reference.plain_waits import plain_replay

RULES = (
    BoundRule(),
    BoundRule(changes=False, waiting=False),
    BoundRule(history=60),
    BoundRule(0.8, 0.8, history=60),
    BoundRule(0.8, 0.8, history=64, gain=0.1),
    BoundRule.adaptive(),
)


def one_class(count: int) -> Classes:
    return classify(np.zeros(count, int), np.ones(count, int), np.full(count, 60))


def apart(waits: list[int]) -> WaitHistory:
    """Return jobs of which each starts before the next is submitted."""
    ready = np.concatenate(([0], np.cumsum(np.asarray(waits) + 2)[:-1]))
    left = ready + np.asarray(waits)
    return WaitHistory.build(ready, left, np.ones(len(waits), bool), int(left[-1]) + 1)


def burst_log(rng: np.random.Generator, count: int) -> tuple[WaitHistory, Classes]:
    """Return a log with bursts, ties, withdrawn jobs and jobs that still wait."""
    ready = np.sort(rng.integers(0, 40 * count, count) // 50 * 50)
    level = np.where(ready > 20 * count, 400, 100) * np.exp(np.sin(ready / 3000))
    wait = (level * rng.exponential(1, count)).astype(np.int64) * rng.integers(0, 2, count)
    left = np.where(rng.random(count) < 0.03, NEVER, ready + wait)
    started = (rng.random(count) < 0.9) & (left < NEVER)
    waits = WaitHistory.build(ready, left, started, int(ready[-1]) + 200)
    kinds = rng.integers(-1, 2, count), rng.integers(-1, 9, count), rng.integers(-1, 9000, count)
    return waits, classify(*(kind[waits.row] for kind in kinds))


def test_the_first_59_jobs_have_no_bound_and_the_60th_the_longest_wait() -> None:
    found = replay(apart([*range(100, 159), 7, 8]), one_class(61))
    assert found.bound[:59].tolist() == [math.inf] * 59
    assert found.bound[59:].tolist() == [158, 158]
    assert found.level.tolist() == [-1] * 59 + [0, 0]
    assert found.used.tolist() == [0] * 59 + [59, 60]


def test_a_bound_is_that_of_the_waits_known() -> None:
    rng = np.random.default_rng(1)
    waits = rng.integers(0, 1000, 300)
    found = replay(apart(waits.tolist()), one_class(300), BoundRule(changes=False, waiting=False))
    for job in (59, 92, 93, 200, 299):
        assert found.bound[job] == upper_bound(waits[:job])
    assert found.now(0) == upper_bound(waits)
    assert found.now(0, 0.5) == upper_bound(waits, 0.5)


def test_a_start_in_the_second_of_a_submission_is_not_known_yet() -> None:
    ready = np.arange(60) * 10
    left = np.append(ready[1:], 600)  # each starts when the next is submitted
    found = replay(WaitHistory.build(ready, left, np.ones(60, bool), 10_000), one_class(60))
    assert found.bound[59] == math.inf
    assert found.now(0) == 10


def test_the_future_does_not_matter() -> None:
    waits, classes = burst_log(np.random.default_rng(3), 600)
    for rule in RULES:
        whole = replay(waits, classes, rule)
        for cut in (100, 350):
            now = int(waits.ready[cut])
            keep = int(np.searchsorted(waits.ready, now))
            early = WaitHistory.build(
                waits.ready[:keep], waits.left[:keep], waits.started[:keep], now
            )
            part = Classes(
                classes.fine[:keep], classes.parent, classes.partition, classes.size, classes.time
            )
            assert replay(early, part, rule).seconds.tolist() == whole.seconds[:keep].tolist()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", [1, 2])
def test_bounds_are_those_of_the_plain_reference(rule: BoundRule, seed: int) -> None:
    waits, classes = burst_log(np.random.default_rng(seed), 700)
    found = replay(waits, classes, rule)
    bounds, levels = plain_replay(waits, classes, rule)
    assert found.seconds.tolist() == bounds
    assert found.level.tolist() == levels
    assert len(set(levels)) > 1


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 90), st.sampled_from(RULES[3:5]))
def test_any_log(seed: int, count: int, rule: BoundRule) -> None:
    rng = np.random.default_rng(seed)
    ready = np.sort(rng.integers(0, 60, count))
    left = np.where(rng.random(count) < 0.1, NEVER, ready + rng.integers(0, 30, count))
    waits = WaitHistory.build(ready, left, left < NEVER, 80)
    classes = classify(rng.integers(0, 2, len(waits)), np.ones(len(waits)), np.ones(len(waits)))
    bounds, levels = plain_replay(waits, classes, rule)
    found = replay(waits, classes, rule)
    assert found.seconds.tolist() == bounds
    assert found.level.tolist() == levels


def test_a_run_of_misses_ends_the_past() -> None:
    rng = np.random.default_rng(1)
    calm, slow = rng.integers(0, 100, 400), rng.integers(1000, 1100, 100)
    waits = apart([*calm, *slow])
    trimmed = replay(waits, one_class(500))
    kept = replay(waits, one_class(500), BoundRule(changes=False))
    assert trimmed.changes == 1
    # Three misses, and the bound is of the latest 59 waits; 20 slow ones are needed without.
    assert trimmed.bound[400] < 100
    assert trimmed.bound[403] >= 1000
    assert trimmed.used[403] == 60  # and that of the third, which was known to be a miss before
    assert kept.changes == 0
    assert kept.bound[410] < 100


def test_waits_that_are_alike_need_a_longer_run() -> None:
    rng = np.random.default_rng(4)
    x = np.zeros(300)
    for t in range(1, len(x)):
        x[t] = 0.9 * x[t - 1] + math.sqrt(1 - 0.81) * rng.standard_normal()
    alike = np.exp(x + 5).astype(int).tolist()
    mixed = rng.permutation(alike).tolist()

    def more(waits: list[int], misses: int) -> int:
        """Return how many changes so many long waits bring after these."""
        before = replay(apart(waits), one_class(len(waits))).changes
        jump = [10_000 + k for k in range(misses)]
        return replay(apart([*waits, *jump]), one_class(len(waits) + misses)).changes - before

    assert [more(mixed, misses) for misses in (2, 3)] == [0, 1]
    assert more(alike, 4) == 0
    assert more(alike, 12) == 1


def test_jobs_that_wait_longer_than_their_bound_count() -> None:
    # 100 short waits, then 20 jobs that do not start, each submitted when the one before is late.
    ready = np.concatenate((np.arange(100) * 100, 10_000 + np.arange(20) * 100))
    left = np.where(np.arange(120) < 100, ready + 10, NEVER)
    waits = WaitHistory.build(ready, left, left < NEVER, 20_000)
    blind = replay(waits, one_class(120), BoundRule(changes=False, waiting=False))
    assert set(blind.seconds[100:].tolist()) == {10}
    found = replay(waits, one_class(120), BoundRule(changes=False))
    # 101 waits leave one above the bound, 102 with two late ones need the 100th: none is left.
    assert found.seconds[100] == 10
    assert found.seconds[101] == 10
    assert set(found.seconds[104:].tolist()) == {-1}
    assert found.now(0) == math.inf


def test_withdrawn_jobs_say_nothing_unless_they_waited_longer() -> None:
    ready = np.arange(200) * 100
    left = ready + np.where(np.arange(200) % 2, 5, 10)
    started = np.arange(200) % 2 == 0
    found = replay(WaitHistory.build(ready, left, started, 50_000), one_class(200))
    assert found.latest(0).tolist() == [10] * 100


def test_adaptive_bounds_hold_more_often_where_waits_grow() -> None:
    rng = np.random.default_rng(1)
    waits = (rng.exponential(100, 5000) * np.exp(np.arange(5000) / 800)).astype(int)
    missed = []
    for rule in (BoundRule(changes=False), BoundRule(changes=False, gain=0.02)):
        found = replay(apart(waits.tolist()), one_class(5000), rule)
        missed.append(np.mean(waits[60:] > found.bound[60:]))
    assert missed[0] > 0.07
    assert missed[1] < missed[0] - 0.02


def test_widest_classes_stand_in() -> None:
    count = 130
    kind = np.arange(count) >= 65
    found = replay(apart([5] * count), classify(kind, np.ones(count), np.full(count, 60)))
    assert found.level[64] == 0
    assert found.level[65] == 3  # nothing of its partition yet; all jobs have waits
    assert found.level[124] == 0
    none = replay(apart([5] * 40), one_class(40))
    assert np.isinf(none.bound).all()


def test_no_jobs_and_none_that_started() -> None:
    empty = WaitHistory.build([], [], [], 100)
    assert len(replay(empty, classify([], [], [])).bound) == 0
    pending = WaitHistory.build([1, 2], [NEVER, NEVER], [False, False], 100)
    found = replay(pending, one_class(2))
    assert found.bound.tolist() == [math.inf] * 2
    assert found.waits.waited.tolist() == [99, 98]
    assert found.now(0) == math.inf


def test_waits_are_put_in_order_and_cut_at_the_end() -> None:
    waits = WaitHistory.build([30, 10, 500], [40, 200, 600], [True, True, True], 100)
    assert waits.ready.tolist() == [10, 30]
    assert waits.left.tolist() == [NEVER, 40]
    assert waits.started.tolist() == [False, True]
    assert waits.row.tolist() == [1, 0]


def test_bad_parameters() -> None:
    with pytest.raises(ParameterError, match="left"):
        WaitHistory.build([5], [4], [True], 100)
    with pytest.raises(ParameterError, match="history"):
        BoundRule(history=10)
    with pytest.raises(ParameterError, match="gain"):
        BoundRule(gain=1.0)
    with pytest.raises(ParameterError, match="quantile"):
        BoundRule(1.5)
    with pytest.raises(ParameterError, match="classes"):
        replay(apart([1, 2]), one_class(3))


PLAIN_PYTHON = """
import numpy as np
from tests.site.learning.waits.test_online import burst_log
from forestall.site.learning.waits.online import BoundRule, replay
waits, classes = burst_log(np.random.default_rng(5), 200)
for rule in (BoundRule(0.8, 0.8, history=60), BoundRule(0.8, 0.8, history=60, gain=0.1)):
    print(replay(waits, classes, rule).seconds.tolist())
"""


def test_compiled_and_interpreted_kernels_agree() -> None:
    def run(disabled: str) -> str:
        root = Path(__file__).parents[4]
        path = os.pathsep.join([str(root), str(root / "tests"), *sys.path])
        environment = os.environ | {"NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", PLAIN_PYTHON], env=environment, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return done.stdout

    assert run("1") == run("0")


@pytest.mark.slow
def test_bounds_on_a_real_log_hold_about_as_often_as_in_the_tables(data: Path) -> None:
    from forestall.logs.jobs.swf import read_swf_file

    columns = read_swf_file(data / "swf-misc" / "KTH-SP2-1996-2.swf.gz").columns
    submit, wait = columns["submit"], columns["wait"]
    waits = WaitHistory.build(submit, submit + wait, np.ones(len(submit), bool), int(submit[-1]))
    row = waits.row
    classes = classify(np.zeros(len(row)), columns["processors"][row], columns["request"][row])
    found: QuotedBounds = replay(waits, classes)
    decided = np.isfinite(found.bound) & waits.started
    assert 0.96 <= np.mean(waits.waited[decided] <= found.bound[decided]) <= 0.985
