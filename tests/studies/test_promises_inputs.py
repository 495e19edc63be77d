"""The inputs: which jobs and failures, what is rebuilt, and what is said when a file is missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.core.model.jobs import Jobs
from studies.promises import STUDY
from studies.promises import inputs as i
from synthetic_promises import small_inputs


@pytest.fixture(scope="module")
def real(data: Path) -> i.Inputs:
    return i.read_inputs(data)


def test_failures_are_those_of_the_paper_in_number(real: i.Inputs) -> None:
    failures = real.failures
    assert len(failures) == 1021
    assert (failures.node.min(), failures.node.max()) == (0, 127)
    assert failures.span == 365 * 86_400


def test_table_1(real: i.Inputs) -> None:
    nasa, sdsc, rebuilt, *made = i.characters(real)
    for one in made:
        assert (round(one.mean_size, 1), round(one.mean_runtime), one.longest) == (9.7, 7722, 132)
    assert [c.jobs for c in (nasa, sdsc, rebuilt)] == [10_000] * 3
    assert (sdsc.first_id, sdsc.last_id) == (4, 11_091)
    assert (round(sdsc.mean_size, 1), round(sdsc.mean_runtime)) == (9.7, 7643)
    assert (round(nasa.mean_size, 2), round(nasa.mean_runtime)) == (18.0, 778)
    assert (round(rebuilt.mean_size, 2), round(rebuilt.longest, 2)) == (6.3, 12.36)
    assert (rebuilt.first_id, rebuilt.last_id) == i.REBUILT_IDS


def test_rebuilt_log_keeps_every_job_that_was_kept(real: i.Inputs, data: Path) -> None:
    from forestall.logs.read import read_jobs

    whole = read_jobs(data / i.NASA_FILE)
    low, high = i.REBUILT_IDS
    mine = (whole.job >= low) & (whole.job <= high)
    rebuilt = real.jobs[i.REBUILT]
    kept = np.isin(rebuilt.job, whole.job[mine])
    assert int(kept.sum()) == int(mine.sum())
    order, other = np.argsort(rebuilt.job[kept]), np.argsort(whole.job[mine])
    for name in ("size", "runtime"):
        ours, theirs = getattr(rebuilt, name)[kept][order], getattr(whole, name)[mine][other]
        np.testing.assert_array_equal(ours, theirs)
    assert set(rebuilt.size[~kept].tolist()) == {1}
    assert set(rebuilt.runtime[~kept].tolist()) == {20}


def test_jobs_that_ended_at_their_request_go_on() -> None:
    _, mean, longest = i.PAPER_TABLE_1[i.SDSC]
    runtime = np.array([100, 200_000, 60_000, 7, 7])
    jobs = Jobs(
        np.arange(1, 6), np.arange(5), np.ones(5, np.int64), runtime,
        np.array([100, 200_000, 60_000, 7, 9]),
    )  # fmt: skip
    on = i.uncut(jobs).runtime - runtime
    first = longest * 3600 - 200_000
    assert on.tolist() == [0, first, 0, 0, 0], "the longest alone brings the mean past the paper's"
    assert i.uncut(replace(jobs, estimate=np.full(5, -1))).runtime.tolist() == runtime.tolist()
    many = Jobs.build(np.arange(1000), np.ones(1000), np.full(1000, 7000), estimate=[7000] * 1000)
    more = i.uncut(many).runtime
    assert (more.max(), round(more.mean())) == (longest * 3600, round(mean))
    assert np.all(np.diff(more) <= 0)


def test_generated_jobs_have_the_papers_moments() -> None:
    size = np.arange(1, 1001) % 7 + 1
    jobs = i.generated(Jobs.build(np.arange(1000), size, np.full(1000, 50)))
    _, mean, longest = i.PAPER_TABLE_1[i.SDSC]
    assert jobs.runtime.mean() == pytest.approx(mean, rel=1e-3)
    assert jobs.runtime.max() == pytest.approx(longest * 3600, rel=1e-3)
    assert sorted(jobs.size) == sorted(size)
    assert np.array_equal(jobs.submit, np.arange(1000))


def test_rebuild() -> None:
    cleaned = Jobs(
        np.array([1, 2, 5, 9]),
        np.array([0, 100, 400, 500]),
        np.array([4, 8, 2, 1]),
        np.array([50, 60, 70, 80]),
        np.full(4, -1),
    )
    rebuilt = i.rebuild(cleaned, 2, 6)
    assert rebuilt.job.tolist() == [2, 3, 4, 5, 6]
    assert rebuilt.submit.tolist() == [0, 100, 200, 300, 325]
    assert rebuilt.size.tolist() == [8, 1, 1, 2, 1]
    assert rebuilt.runtime.tolist() == [60, 20, 20, 70, 20]


@pytest.mark.parametrize("missing", [i.NASA_FILE, i.SDSC_FILE, i.LANL_FILE])
def test_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    for name in {i.NASA_FILE, i.SDSC_FILE, i.LANL_FILE} - {missing}:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(TraceError) as raised:
        i.read_inputs(tmp_path)
    assert str(tmp_path / missing) in str(raised.value)
    assert "--data" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_nothing_is_written_where_data_is_missing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(TraceError, match="is not there"):
        STUDY.reproduce(tmp_path / "out", data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_other_failures_are_as_many_and_over_the_same_span() -> None:
    failures = small_inputs().failures
    for other in (i.rolled(failures, 30), i.scattered(failures, 1), i.gathered(failures)):
        assert len(other) == len(failures)
        assert other.span == failures.span
        assert other.time.min() >= 0
        assert other.time.max() < failures.span
        assert other.node.min() >= 0
        assert other.node.max() < 128


def test_rolled_log_begins_later() -> None:
    failures = small_inputs().failures
    other = i.rolled(failures, 30)
    later = failures.time >= 30 * i.DAY
    count = int(later.sum())
    np.testing.assert_array_equal(other.time[:count], failures.time[later] - 30 * i.DAY)
    np.testing.assert_array_equal(np.sort(i.rolled(other, 335).time), failures.time)


def test_scattered_depends_on_its_seed_alone() -> None:
    failures = small_inputs().failures
    one, two = i.scattered(failures, 1), i.scattered(failures, 2)
    np.testing.assert_array_equal(one.time, i.scattered(failures, 1).time)
    assert not np.array_equal(one.time, two.time)
    assert i.bursts(one).daily == pytest.approx(1, abs=0.3)


def test_gathered_comes_in_fives() -> None:
    failures = small_inputs().failures
    other = i.gathered(failures)
    assert i.bursts(other).close > 0.75
    first = failures.time[0]
    assert set((first + 300 * np.arange(5)).tolist()) <= set(other.time.tolist())


def test_survival_of_jobs_that_no_failure_strikes() -> None:
    rate = i.FAILURES / (i.DAYS * i.DAY * i.NODES)
    small = Jobs.build([0], [1], [1])
    assert i.survival(small) == pytest.approx(1, abs=1e-6)
    even = Jobs.build([0, 0], [10, 10], [round(0.1 / rate), 0])
    assert i.survival(even) == pytest.approx(np.exp(-1), rel=1e-5)
    assert i.survival(even, 0.5) == pytest.approx(np.exp(-0.5), rel=1e-5)
    assert i.survival(even, 1.0) == 1
    both = Jobs.build([0, 0], [1, 1], [1, round(1 / rate)])
    assert i.survival(both) == pytest.approx(np.exp(-1), rel=1e-5)
    assert i.survival(both, by_work=False) == pytest.approx((1 + np.exp(-1)) / 2, rel=1e-5)


def test_sizes_in_powers_of_two_keep_the_work() -> None:
    jobs = Jobs.build([0, 1, 2, 3, 4], [1, 3, 6, 100, 91], [600, 600, 900, 3600, 1])
    made = i.powers_of_two(jobs)
    assert made.size.tolist() == [1, 4, 8, 128, 128]  # 3 is nearer 4 than 2 by ratio
    assert made.runtime.tolist() == [600, 450, 675, 2812, 1]
    np.testing.assert_allclose(made.size * made.runtime, jobs.size * jobs.runtime, atol=64)
    assert made.submit.tolist() == jobs.submit.tolist()
