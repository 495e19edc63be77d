"""Replays: only the past counts, and what is promised is kept as often as it was said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model import ledger as entries
from forestall.prediction.assess.promises import score
from forestall.site.learning.turnaround import book_state as state
from forestall.site.learning.turnaround.entries import ledger_of
from forestall.site.learning.turnaround.replay import (
    ReplayedBook,
    mixed_levels,
    named_deadlines,
    replay,
    spread,
)
from forestall.site.learning.turnaround.tasks import tasks_of
from forestall.slurm.records.accounting import Accounting
from reference.made_jobs import rows_of, some_jobs, until
from slurm.records.accounting_cases import accounts

SAID = ("deadline", "stated", "raw", "aim", "mark", "wait", "run", "others")


def replayed(accounting: Accounting, **rules: float) -> ReplayedBook:
    tasks = tasks_of(accounting)
    count = len(tasks)
    return replay(tasks, mixed_levels(count, 0.3), named_deadlines(count, 0.6), rules)


@settings(max_examples=12)
@given(st.integers(0, 10_000), st.floats(0.1, 0.9))
def test_what_comes_later_changes_no_promise(seed: int, share: float) -> None:
    rows = rows_of(150, seed)
    time = sorted(row["submit"] for row in rows)[int(share * len(rows))]
    whole = replayed(until(rows, 1 << 40), warm=20, enough=30)
    early = replayed(until(rows, time), warm=20, enough=30)
    count = len(early.tasks)
    assert early.tasks.which.tolist() == whole.tasks.which[:count].tolist()
    for name in SAID:
        assert (
            early.book.promises[name].tobytes() == whole.book.promises[name][: 2 * count].tobytes()
        )


def test_the_same_again() -> None:
    one, two = (replayed(some_jobs(400, 3), warm=50) for _ in range(2))
    assert one.book.promises.tobytes() == two.book.promises.tobytes()


DIGEST = """
import hashlib
from reference.made_jobs import some_jobs
from tests.site.learning.turnaround.test_replay import replayed
made = replayed(some_jobs(160, 5), warm=20, enough=30)
print(hashlib.sha256(made.book.promises.tobytes()).hexdigest())
"""


def test_compiled_or_not_and_whatever_the_hash_seed() -> None:
    root = Path(__file__).resolve().parents[4]
    path = os.pathsep.join((str(root / "src"), str(root / "tests"), str(root)))
    found = set()
    for disabled, seed in (("0", "1"), ("1", "2")):
        environment = os.environ | {
            "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": path, "PYTHONHASHSEED": seed,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", DIGEST],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_spread_is_even_in_every_stretch() -> None:
    values = spread(1000, 0.3)
    for first in range(0, 900, 100):
        counts = np.histogram(values[first : first + 100], 10, (0, 1))[0]
        assert counts.min() >= 8
        assert counts.max() <= 12


def test_outcomes_by_hand() -> None:
    rows = [
        {"submit": 0, "start": 0, "end": 100},
        {"submit": 0, "start": 0, "end": 10_000},
        {"submit": 0, "start": 0, "end": 100, "state": "CANCELLED"},
        {"submit": 0, "start": 0, "end": 10_000, "state": "CANCELLED"},
        {"submit": 0, "start": 0, "end": 100, "state": "NODE_FAIL"},
        {"submit": 20_000, "start": 20_000, "end": 20_001},
    ]
    # The first jobs name 3600 s: nothing is known yet.
    found = ledger_of(replayed(accounts(rows), warm=0), state.BY_DEADLINE)
    assert found.deadline[:5].tolist() == [3600] * 5
    told = [entries.OUTCOMES[k] for k in found.outcome[:5].tolist()]
    assert told == ["kept", "missed", "void", "missed", "missed"]
    # What was missed is known when the deadline has passed and something happens.
    assert found.known[:5].tolist() == [100, 10_000, 100, 10_000, 100]
    causes = [entries.CAUSES[k] for k in found.cause[:5].tolist()]
    assert causes == ["", "longer run", "user", "user", "failure"]


def test_a_job_stopped_and_run_again_in_time_is_kept() -> None:
    rows = [
        {"which": 0, "start": 0, "end": 100, "state": "NODE_FAIL"},
        {"which": 0, "attempt": 1, "start": 200, "end": 3600},
        {"which": 1, "submit": 1, "start": 1, "end": 100, "state": "PREEMPTED"},
        {"which": 1, "submit": 1, "attempt": 1, "start": 200, "end": 3700},
    ]
    made = replayed(accounts(sorted(rows, key=lambda row: row.get("submit", 0))), warm=0)
    found = ledger_of(made, state.BY_DEADLINE)
    assert [entries.OUTCOMES[k] for k in found.outcome.tolist()] == ["kept", "missed"]
    assert entries.CAUSES[int(found.cause[1])] == "operator"
    assert made.book.desk["failures"][0] == 1
    assert made.book.desk["restarts"][0] == 1


def test_debts_are_what_was_said_less_what_was_kept() -> None:
    made = replayed(some_jobs(900, 8), warm=100)
    for question in (state.BY_LEVEL, state.BY_DEADLINE):
        mine = made.book.promises[question::2]
        counted = mine["counted"] == 1
        there = counted & (mine["state"] != state.DROPPED)
        owed = np.bincount(
            mine["bin"][there], (mine["stated"] - mine["chance"])[there], minlength=10
        )
        own = made.book.groups[0]
        np.testing.assert_allclose(own["debt"][question], owed, atol=1e-9)
        assert (
            own["made"][question].tolist() == np.bincount(mine["bin"][there], minlength=10).tolist()
        )
        parts = made.book.groups[1:]["debt"][:, question].sum(axis=0)
        np.testing.assert_allclose(parts, owed, atol=1e-9)
        settled = mine["state"] > state.OPEN
        kept = (mine["state"] == state.KEPT) & settled
        assert (mine["chance"][settled & there] == kept[settled & there]).all()


# What adversaries do ------------------------------------------------------------------------------


def burst(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Users submit in bursts whose jobs are alike and unlike those before."""
    submit, run, time = [], [], 0
    while len(submit) < count:
        time += int(rng.exponential(3000))
        size = int(rng.integers(1, 60))
        submit += [time] * size
        run += [int(np.exp(rng.normal(6, 2)))] * size
    return np.array(submit[:count]), np.array(run[:count])


def drift(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Run times grow thousandfold, and fall back at once, ten times over."""
    submit = np.cumsum(rng.integers(1, 200, count))
    phase = (np.arange(count) * 10 / count) % 1
    return submit, np.exp(3 + 7 * phase + rng.normal(0, 0.5, count)).astype(int)


def flip(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Run times jump between two values that lie far apart, every few hundred jobs."""
    submit = np.cumsum(rng.integers(1, 100, count))
    state_ = (np.arange(count) // 317) % 2
    return submit, np.where(state_ == 0, 10, 5000) + rng.integers(0, 3, count)


def atoms(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Half of the jobs take exactly an hour, a quarter a second, the rest anything."""
    submit = np.cumsum(rng.integers(1, 100, count))
    kind = rng.random(count)
    other = rng.integers(2, 9000, count)
    return submit, np.where(kind < 0.5, 3600, np.where(kind < 0.75, 1, other))


@pytest.mark.slow
@pytest.mark.parametrize("world", [burst, drift, flip, atoms])
@pytest.mark.parametrize("seed", [1, 2])
def test_said_and_kept_agree_whatever_comes(world, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    submit, run = world(rng, 20_000)
    rows = [
        {"submit": s, "start": s, "end": s + r, "user": "u", "nodes": 1}
        for s, r in zip(submit.tolist(), run.tolist(), strict=True)
    ]
    made = replayed(accounts(rows))
    unsteered = replayed(accounts(rows), steer=0.0)
    worst = []
    for one in (made, unsteered):
        found = ledger_of(one, state.BY_LEVEL)
        mine = found.counted & (found.outcome != entries.OPEN)
        kept = found.outcome[mine] == entries.KEPT
        # A decile that only deadlines of one second fall into has few, and nobody who pays.
        least = 500 if world is atoms else 200
        scores = score(found.stated[mine], kept, found.quoted[mine], least=least)
        assert scores.worst is not None
        worst.append(abs(scores.worst.off))
    assert worst[0] < 0.03
    assert worst[0] <= worst[1] + 1e-9


LOGS = {
    "KTH-SP2-1996-2.swf.gz": "swf-misc",
    "UniLu-Gaia-2014-1.swf.gz": "swf-misc",
    "HPC2N-2002-2.2-cln.rebuilt.swf.gz": "swf-misc",
    "LANL-Trinity-2016.rebuilt.swf.gz": "lanl-trinity",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOGS)
def test_quotes_hold_on_real_logs(data: Path, name: str) -> None:
    from forestall.slurm.sources.swf_jobs import accounting_of_swf

    made = replayed(accounting_of_swf(data / LOGS[name] / name, 1, strict=False))
    for question in (state.BY_LEVEL, state.BY_DEADLINE):
        found = ledger_of(made, question)
        mine = found.counted & np.isin(found.outcome, (entries.KEPT, entries.MISSED))
        scores = score(found.stated[mine], found.outcome[mine] == entries.KEPT, found.quoted[mine])
        assert len(scores.judged) == 10
        assert scores.holds, [(one.made, one.off) for one in scores.deciles]
