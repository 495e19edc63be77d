"""The real year as the paper counts it, generated years like it, and the network on the real
one."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from studies.virtual import network
from studies.virtual.inputs import (
    BEGIN,
    DAY,
    LANL_FILE,
    NODES,
    OF_FAILURES,
    OF_JOBS,
    REPAIR,
    TRAINING_DAYS,
    Real,
    read_logs,
    read_real,
    read_usage,
    worst_quarter,
    year_of_failures,
    year_of_jobs,
)
from studies.virtual.study import QUICK, Plan


def traits(log: Failures) -> dict[str, float]:
    return {name: one.measure(log) for name, one in OF_FAILURES.items()}


def test_the_real_year(data: Path) -> None:
    real = read_real(data)
    found = traits(real.year)
    assert (found["failures"], found["nodes"]) == (307, 159)
    assert real.year.time.min() >= 0
    assert real.year.time.max() < 365 * DAY
    assert REPAIR.mean == pytest.approx(found["mean_repair"] * 3600, rel=0.01)
    assert REPAIR.median == pytest.approx(found["median_repair"] * 3600, rel=0.01)
    late = real.both.time >= 0
    assert np.array_equal(real.both.time[late], real.year.time)
    assert np.array_equal(real.both.node[late], real.year.node)
    assert real.both.time.min() >= -TRAINING_DAYS * DAY
    assert (~late).sum() == 451


def test_a_folder_without_the_log(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="--data must name the folder"):
        read_real(tmp_path)


def test_a_log_that_lacks_failures(data: Path, tmp_path: Path) -> None:
    lines = gzip.decompress((data / LANL_FILE).read_bytes()).splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if line.startswith(b"20,") and b"/2004 " in line)
    file = tmp_path / LANL_FILE
    file.parent.mkdir()
    kept = [line for k, line in enumerate(lines) if k < first or k % 2]
    file.write_bytes(gzip.compress(b"".join(kept)))
    with pytest.raises(TraceError, match=r"expected 307, all on nodes 0 to 255"):
        read_real(tmp_path)


def test_generated_years_are_like_the_real_one() -> None:
    years = [traits(year_of_failures(seed, 1.0, 365)) for seed in range(1, 21)]
    assert np.mean([y["failures"] for y in years]) == pytest.approx(307, rel=0.08)
    assert np.mean([y["nodes"] for y in years]) == pytest.approx(159, rel=0.12)
    assert np.mean([y["mean_repair"] for y in years]) == pytest.approx(2.09, rel=0.1)
    many = traits(year_of_failures(1, 30.0, 365))
    assert many["failures"] == pytest.approx(30 * 307, rel=0.1)


def test_requests_of_a_year() -> None:
    drawn, short, slack = (year_of_jobs(1, 0.3, 30, name) for name in ("drawn", "48 h", "slack"))
    assert len(drawn) == round(112_454 * 30 / 365)
    assert np.array_equal(drawn.size, short.size)
    assert np.array_equal(drawn.submit, slack.submit)
    assert (slack.estimate < 0).all()
    assert (short.estimate <= drawn.estimate).all()
    assert OF_JOBS["tasks"].measure(drawn) == drawn.size.sum()


def test_the_worst_quarter_shares_its_last_places() -> None:
    """63 nodes failed twice; one more place is shared by the two that failed once."""
    node = [*range(63), *range(63), 100, 200]
    weight = worst_quarter(Failures.build(range(len(node)), node))
    assert weight.sum() == 64
    assert (weight[:63] == 1).all()
    assert weight[[100, 200]].tolist() == [0.5, 0.5]
    assert worst_quarter(Failures.none()).tolist() == [0.25] * NODES


def small() -> Real:
    """Node 0 fails every 5 days in both years, node 1 twice in the second."""
    every = np.arange(-300 * DAY, 300 * DAY, 5 * DAY)
    both = Failures.build([*every, 10 * DAY, 20 * DAY], [*np.zeros(len(every), int), 1, 1])
    return Real(both.take(both.time >= 0), both)


def test_the_network_is_asked_once_a_gap() -> None:
    real = small()
    told = network.foretold(real)
    said = told.predictions
    assert np.array_equal(said.known[said.node == 7], [0])
    assert (said.expected > said.known).all()
    own = said.node == 1
    assert said.known[own].tolist() == [0, 10 * DAY, 20 * DAY]
    regular = said.expected[said.node == 0] - said.known[said.node == 0]
    assert np.median(regular) < np.median(said.expected[own] - said.known[own])
    # Early is what has come by the second of the failure that ends the gap.
    early = 0
    for node in (0, 1):
        times = real.year.time[real.year.node == node]
        early += int((said.expected[said.node == node][: len(times)] <= times).sum())
    assert (told.early, told.failures) == (early, len(real.year))


USAGE = "{end} 7 {size} {submit} 0 0 {start} 1.0 1.0 2 {batch} finished / 1-2 /\n"


def test_jobs_of_the_usage_log_are_on_the_clock_of_the_failures(tmp_path: Path) -> None:
    """The first midnight at Los Alamos is 0; jobs of other years are left out."""
    rows = [(BEGIN - 10, 4), (BEGIN, 5), (BEGIN + 365 * DAY - 1, 1024), (BEGIN + 365 * DAY, 4)]
    lines = [
        USAGE.format(end=at + 70, size=size, submit=at, start=at + 10, batch=n)
        for n, (at, size) in enumerate(rows)
    ]
    path = tmp_path / "usage"
    path.write_text("".join(lines))
    jobs = read_usage(path)
    assert jobs.submit.tolist() == [0, 365 * DAY - 1]
    assert (jobs.size.tolist(), jobs.runtime.tolist()) == ([2, 256], [60, 60])
    path.write_text(lines[0])
    with pytest.raises(TraceError, match="has no job submitted in the 365 days from 2004-09-01"):
        read_usage(path)
    path.write_text("1 0 5 60 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1\n")
    with pytest.raises(TraceError, match="tells no dates; expected LANL's usage log"):
        read_usage(path)


def test_jobs_of_the_usage_log_need_the_failures_of_the_whole_year(tmp_path: Path) -> None:
    for data, plan in ((None, Plan()), (tmp_path, QUICK)):
        with pytest.raises(ParameterError, match="the log of a whole year, with --data"):
            read_logs(data, plan, tmp_path / "usage")
    assert read_logs(None, Plan()) is None


def test_the_network_knows_nothing_of_what_comes_later() -> None:
    real = small()
    until = 100 * DAY
    cut = Real(real.year.take(real.year.time < until), real.both.take(real.both.time < until))
    whole, part = (network.foretold(one).predictions for one in (real, cut))
    early = [said.known < until for said in (whole, part)]
    for name in ("known", "node", "expected"):
        assert np.array_equal(getattr(whole, name)[early[0]], getattr(part, name)[early[1]])
