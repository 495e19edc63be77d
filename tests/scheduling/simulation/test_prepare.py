"""What is left out, changed or filled in before a run: each kind counted and named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.world.failures import DEFAULT_DOWNTIME, prepare_failures
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, node_mtbf, prepare_jobs, rules_of


def remarks(cleaning: Any) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {r.kind: (r.action, r.names) for r in cleaning.remarks}


def prepare(jobs: Jobs, **settings: Any) -> Any:
    return prepare_jobs(jobs, Failures.none(), Parameters(**settings))


# ------------------------------------------------------------------------------- jobs


def test_jobs_left_out_are_named_by_kind() -> None:
    jobs = Jobs.build(range(7), [1, 1, 0, -1, 5, 4, 9], [10, 0, 10, 10, 10, 10, -1])
    work = prepare(jobs, nodes=4)
    assert work.jobs.job.tolist() == [1, 6]
    assert remarks(work.cleaning) == {
        "no_run_time": ("left out", ("7",)),
        "zero_run_time": ("left out", ("2",)),
        "no_size": ("left out", ("3", "4")),
        "larger_than_machine": ("left out", ("5",)),
    }
    with pytest.raises(InputError, match="no job can be simulated out of 7"):
        prepare(replace(jobs, runtime=np.zeros(7, dtype=np.int64)), nodes=4)


def test_remarks_of_the_reader_come_first() -> None:
    jobs = Jobs.build([0, 0], [1, 9], [5, 5])
    jobs = replace(jobs, cleaning=jobs.cleaning.plus("odd", "jobs are odd", "kept", [7]))
    assert list(remarks(prepare(jobs, nodes=4).cleaning)) == ["odd", "larger_than_machine"]


def test_short_jobs_are_raised() -> None:
    work = prepare(Jobs.build([0, 1, 2], [1, 1, 1], [1, 9, 10]), min_runtime=10)
    assert work.jobs.runtime.tolist() == [10, 10, 10]
    assert work.estimate.tolist() == [10, 10, 10]
    assert remarks(work.cleaning) == {"raised_to_min_runtime": ("changed", ("1", "2"))}


JOBS = Jobs.build([0, 1, 2, 3], [1] * 4, [10, 10, 10, 10], [20, 5, -1, 10])


def test_estimates_from_run_times() -> None:
    work = prepare(JOBS)
    assert work.estimate.tolist() == work.jobs.runtime.tolist() == [10] * 4
    assert work.cleaning.counts() == {}


def test_overruns_are_cut() -> None:
    work = prepare(JOBS, estimates="requested")
    assert work.jobs.runtime.tolist() == [10, 5, 10, 10]
    assert work.estimate.tolist() == [20, 5, 10, 10]
    assert remarks(work.cleaning) == {
        "no_requested_time": ("changed", ("3",)),
        "overrun_cut": ("changed", ("2",)),
    }


def test_overruns_are_extended() -> None:
    work = prepare(JOBS, estimates="requested", overrun="extend")
    assert work.jobs.runtime.tolist() == [10, 10, 10, 10]
    assert work.estimate.tolist() == [20, 10, 10, 10]
    assert remarks(work.cleaning)["overrun_extended"] == ("changed", ("2",))


@pytest.mark.parametrize("policy", ["promise", "easy"])
def test_intervals(policy: str) -> None:
    work = prepare(JOBS, checkpoint_interval=77, policy=policy)
    assert work.interval.tolist() == [77] * 4


def test_intervals_by_daly() -> None:
    # Node MTBF 100,000 s; C 200: sqrt(2 C M / n) - C; for a job of 250 nodes C is half of M / n.
    jobs = Jobs.build([0] * 4, [1, 4, 249, 250], [10] * 4)
    work = prepare(jobs, nodes=256, checkpoint="daly", checkpoint_overhead=200, mtbf=100_000)
    expected = [(2 * 200 * 100_000 / n) ** 0.5 - 200 for n in (1, 4, 249)] + [400.0]
    assert work.interval.tolist() == [int(x) for x in expected]
    # Without failures nothing is ever saved; without overhead all the time.
    assert prepare(jobs, nodes=256, checkpoint="daly").interval.min() > 10**9
    none = prepare(jobs, nodes=256, checkpoint="daly", checkpoint_overhead=0, mtbf=100)
    assert none.interval.tolist() == [1] * 4


def test_node_mtbf_is_machine_time_by_failures() -> None:
    log = Failures.build([0, 50, 99], [0, 1, 2])
    assert node_mtbf(log, 10) == 100 * 10 / 3
    assert node_mtbf(Failures.none(), 10) == float("inf")
    settings = Parameters(checkpoint="daly", checkpoint_overhead=5, nodes=10)
    work = prepare_jobs(Jobs.build([0], [2], [9]), log, settings)
    assert work.interval.tolist() == [int((2 * 5 * 1000 / 6) ** 0.5 - 5)]


# ------------------------------------------------------------------------------- failures

LOG = Failures.build([1, 2, 3, 4], [0, 3, 4, 9], [50, -1, 7, 0], [0.1, 0.2, 0.3, 0.4])


def downtimes(log: Failures, **settings: Any) -> list[int]:
    found: list[int] = prepare_failures(log, Parameters(**settings)).downtime.tolist()
    return found


def test_downtimes() -> None:
    unknown = DEFAULT_DOWNTIME
    assert unknown == 120
    assert downtimes(LOG) == downtimes(LOG, downtime="log") == [50, unknown, 7, unknown]
    assert downtimes(LOG, downtime=33) == [33] * 4
    repairs = replace(LOG, repairs=True)
    assert downtimes(repairs) == [unknown] * 4
    assert downtimes(repairs, downtime="log") == [50, unknown, 7, unknown]
    assert downtimes(repairs, downtime=33) == [33] * 4


def test_nodes_beyond_the_machine_are_named() -> None:
    log = prepare_failures(LOG, Parameters(nodes=4))
    assert log.node.tolist() == [0, 3]
    assert remarks(log.cleaning) == {"nodes_beyond_machine": ("left out", ("4", "9"))}
    assert "first 4 (2 failures)" in log.cleaning.remarks[0].text
    assert (log.span, len(prepare_failures(Failures.none(), Parameters()))) == (4, 0)


@given(st.integers(0, 50), st.integers(1, 12))
def test_draws_do_not_depend_on_the_machine(seed: int, nodes: int) -> None:
    silent = replace(LOG, detectability=np.full(4, np.nan))
    whole = prepare_failures(silent, Parameters(nodes=16, seed=seed))
    part = prepare_failures(silent, Parameters(nodes=nodes, seed=seed))
    assert part.detectability.tolist() == whole.detectability[whole.node < nodes].tolist()
    assert bool(((whole.detectability > 0) & (whole.detectability < 1)).all())
    assert prepare_failures(LOG, Parameters(seed=seed)).detectability.tolist() == [
        0.1,
        0.2,
        0.3,
        0.4,
    ]


def test_a_log_without_a_span_cannot_repeat() -> None:
    with pytest.raises(ParameterError, match="repeat_failures"):
        prepare_failures(replace(LOG, span=0), Parameters(repeat_failures=True))
    assert len(prepare_failures(Failures.none(), Parameters(repeat_failures=True))) == 0


def test_what_is_foreseen() -> None:
    log = prepare_failures(LOG, Parameters(nodes=128, downtime=9))
    seen = foreseen_by(TracePredictor(0.3), log, 11)
    assert seen.failures["time"].tolist() == [1, 2, 3]
    assert seen.failures["until"].tolist() == [10, 11, 12]
    assert seen.failures["probability"].tolist() == [0.1, 0.2, 0.3]
    assert (seen.period, seen.longest) == (11, 9)
    assert len(foreseen_by(None, log, 11).failures) == 0
    assert len(foreseen_by(TracePredictor(0.0), log, 11).failures) == 0


def test_rules() -> None:
    chosen = Parameters(
        policy="conservative", checkpoint="daly", risk=0.25, requeue="original", compression=False,
        placement="first", checkpoint_overhead=5,
    )  # fmt: skip
    assert rules_of(chosen) == (3, 2, 0, 0, 1, 1, 5, 0.25)
