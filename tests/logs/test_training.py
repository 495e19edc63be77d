"""TrainingLog logs: what had happened when the run began, and no more."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.logs.given import read_failures_or_none
from forestall.logs.read import read_failures
from forestall.logs.training import TrainingLog, read_training

DAY = 86_400


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of seconds: node k % 4 fails every ten days, from day 5 on."""
    rows = [(5 * DAY + 10 * DAY * k, k % 4) for k in range(30)]
    path = tmp_path / "failures.csv"
    path.write_text("time,node\n" + "".join(f"{t},{n}\n" for t, n in rows))
    return path


@pytest.fixture
def dated(data: Path) -> Path:
    return data / "lanl-failures-1996-2005" / "LA-UR-05-7318-failure-data-1996-2005.csv.gz"


def absolute(history: TrainingLog) -> list[int]:
    """Times on the clock of the run."""
    return (history.failures.time + history.end - history.failures.span).tolist()


def run_from(path: Path, day: int, days: float | None = None) -> tuple[Failures, str]:
    start = str(day * DAY)
    return read_failures(path, start=start, days=days), start


def test_the_same_log_up_to_the_run(log: Path) -> None:
    run, start = run_from(log, 100)
    history = read_training(log, run, run_start=start)
    assert absolute(history) == [(5 + 10 * k - 100) * DAY for k in range(10)]
    assert (history.end, history.failures.span) == (0, 95 * DAY)
    assert int(history.failures.time[0]) == 0


def test_a_window_of_the_same_log(log: Path) -> None:
    run, start = run_from(log, 100)
    history = read_training(log, run, run_start=start, start=str(20 * DAY), days=40)
    assert history.end == -40 * DAY
    assert history.failures.span == 40 * DAY
    assert absolute(history) == [(25 + 10 * k - 100) * DAY for k in range(4)]
    up_to_it = read_training(log, run, run_start=start, start=str(60 * DAY), days=40)
    assert (up_to_it.end, len(up_to_it.failures)) == (0, 4)
    open_end = read_training(log, run, run_start=start, start=str(60 * DAY))
    assert (open_end.end, open_end.failures.span, len(open_end.failures)) == (0, 40 * DAY, 4)


def test_what_comes_later_is_refused(log: Path) -> None:
    run, start = run_from(log, 100)
    with pytest.raises(ParameterError, match=r"train_days.*ends before the run begins, 8640000 s"):
        read_training(log, run, run_start=start, start=str(60 * DAY), days=40.1)
    with pytest.raises(ParameterError, match="train_from"):
        read_training(log, run, run_start=start, start=str(100 * DAY))
    whole, _ = run_from(log, 0)
    with pytest.raises(TraceError, match="no failures from before the run begins"):
        read_training(log, whole, run_start="0")


def test_a_copy_of_the_log_is_the_log(log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "training.csv"
    shutil.copy(log, copy)
    run, start = run_from(log, 100)
    assert absolute(read_training(copy, run, run_start=start)) == absolute(
        read_training(log, run, run_start=start)
    )
    whole, _ = run_from(log, 0)
    with pytest.raises(TraceError, match="before the run begins"):
        read_training(copy, whole, run_start="0")


def test_another_log_of_seconds_ends_where_the_run_begins(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("time,node\n1000,0\n5000,1\n90000,0\n")
    run, start = run_from(log, 0)
    history = read_training(other, run, run_start=start)
    assert history.end == 0
    assert absolute(history) == [-89_001, -85_001, -1]
    window = read_training(other, run, run_start=start, start="0", days=1)
    assert (window.end, window.failures.span) == (0, DAY)
    assert absolute(window) == [1000 - DAY, 5000 - DAY]


def test_dates_share_one_clock(dated: Path, log: Path) -> None:
    run = read_failures(dated, system=20, start="2004-01-01", days=30)
    history = read_training(dated, run, run_start="2004-01-01", system="20")
    whole = read_failures(dated, system=20)
    assert whole.origin is not None
    assert run.origin is not None
    before = whole.time[whole.time + whole.origin < run.origin]
    assert len(history.failures) == len(before)
    assert absolute(history) == (before + whole.origin - run.origin).tolist()
    assert history.end == 0
    # of another system: the same clock, so its future is left out as well
    other = read_training(dated, run, run_start="2004-01-01", system="19")
    assert other.end == 0
    assert max(absolute(other)) < 0
    with pytest.raises(ParameterError, match=r"train_days.*2004-01-01T00:00:00"):
        read_training(dated, run, run_start="2004-01-01", system="20", start="2003-12-01", days=32)
    mixed = read_training(log, run, run_start="2004-01-01", system="20")  # it has no systems
    assert (mixed.end, len(mixed.failures)) == (0, 30)


def test_times_in_service_move_along(dated: Path) -> None:
    run = read_failures(dated, system=20, start="2004-01-01", days=30, fold_nodes=4)
    history = read_training(
        dated, run, run_start="2004-01-01", system="20", fold_nodes=4, start="2003-01-01"
    )
    assert history.failures.nodes == 128
    assert history.failures.span == 365 * DAY
    if history.failures.service_start is not None:
        assert np.all(history.failures.service_start == 0)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"days": float("nan")}, "train_days"), ({"start": "yesterday"}, "train_from")],
)
def test_errors_name_the_training_options(
    log: Path, options: dict[str, object], named: str
) -> None:
    run, start = run_from(log, 100)
    with pytest.raises(ParameterError, match=named):
        read_training(log, run, run_start=start, **options)  # type: ignore[arg-type]


def test_a_run_without_failures_learns_from_all_of_the_log(log: Path, tmp_path: Path) -> None:
    """Nothing tells whether the two share a clock: as for any other log of seconds."""
    (tmp_path / "empty.csv").write_text("time,node\n")
    history = read_training(log, read_failures_or_none(tmp_path / "empty.csv"))
    assert history.end == 0
    assert len(history.failures) == 30
