"""Virtual machines from Python: what goes in, what repeats, who predicts, what is hinted at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.jobs import Jobs
from forestall.core.model.virtual import FAR
from forestall.logs.training import TrainingLog
from forestall.machines.report.result import VirtualResult
from forestall.machines.settings import VIRTUAL
from forestall.machines.simulate import horizon, repeated, simulate_virtual
from forestall.machines.simulation.parameters import VirtualParameters
from forestall.machines.simulation.prepare import prepare_virtual
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.registry import new_learner
from forestall.runs.models import MODELS, model_of
from forestall.scheduling.simulation.parameters import Parameters

JOBS = Jobs.build(
    submit=[0, 10, 4000], size=[2, 1, 4], runtime=[600, 3000, 900], estimate=[1200, 6000, 1000]
)
LOG = Failures.build([300, 2000, 4300], [0, 1, 2], [60, 60, 60])


def ran(**more: Any) -> VirtualResult:
    given = {"nodes": 4, "processors_per_node": 2, **more}
    return simulate_virtual(given.pop("jobs", JOBS), given.pop("failures", LOG), **given)


def measured(**more: Any) -> dict[str, Any]:
    return ran(**more).measures


# ------------------------------------------------------------------------------------ what goes in


def test_jobs_and_failures_come_in_any_form(tmp_path: Path) -> None:
    jobs = pl.DataFrame(
        {
            "job": [1, 2, 3], "submit": [0, 10, 4000], "size": [2, 1, 4],
            "runtime": [600, 3000, 900], "estimate": [1200, 6000, 1000],
        }
    )  # fmt: skip
    log = LOG.table()
    jobs.write_csv(tmp_path / "jobs.csv")
    log.write_csv(tmp_path / "failures.csv")
    expected = measured()
    assert measured(jobs=jobs, failures=log) == expected
    import pandas as pd

    as_pandas = {"jobs": pd.DataFrame(jobs.to_dict()), "failures": pd.DataFrame(log.to_dict())}
    assert measured(**as_pandas) == expected
    places = {"jobs": tmp_path / "jobs.csv", "failures": str(tmp_path / "failures.csv")}
    run = ran(**places)
    assert run.measures == expected
    assert run.sources == {name: str(path) for name, path in places.items()}


def test_nothing_fails_without_failures() -> None:
    found = measured(failures=None)
    assert found["job_completion_rate"] == 1.0
    assert (found["failures_played"], found["migrations"], found["lost_work"]) == (0, 0, 0.0)


def test_a_failure_that_is_foreseen_and_one_that_is_not() -> None:
    """One task of 600 s on node 0 of two, which fails at 300: known, the task goes elsewhere."""
    jobs = Jobs.build(submit=[0], size=[1], runtime=[600], estimate=[1200])
    log = Failures.build([300], [0], [60])
    given = {"jobs": jobs, "failures": log, "nodes": 2, "processors_per_node": 1}
    assert measured(**given, prediction_accuracy=1.0)["job_completion_rate"] == 1.0
    missed = measured(**given, false_negatives=1.0)
    assert (missed["job_completion_rate"], missed["lost_work"]) == (0.0, 300.0)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("strategy", "worst-fit", "best-fit"),
        ("alpha", 1.5, "1 or 'dynamic'"),
        ("alpha", "fixed", "'dynamic'"),
        ("processors_per_node", 0, "1"),
        ("least_rate", 2.0, "task_processors"),
        ("task_processors", 0.0015, "thousandths"),
        ("vm_memory", float("nan"), "finite"),
        ("policy", "easy", "a known parameter"),
        ("predictor", "tea-leaves", "synthetic"),
    ],
)
def test_the_first_wrong_parameter_is_named(name: str, value: object, allowed: str) -> None:
    with pytest.raises(ParameterError, match=allowed) as caught:
        ran(**{name: value})
    assert caught.value.name == name


def test_jobs_that_cannot_be_are_an_error() -> None:
    with pytest.raises(InputError, match="no job"):
        ran(jobs=Jobs.build(submit=[0], size=[99], runtime=[5]))


def test_the_log_of_events_is_kept_where_asked_for() -> None:
    assert len(ran().outcome.log.events) == 0
    assert len(ran(log_events=True).outcome.log.events) > 0


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    ran(progress=lambda done, total: told.append((done, total)))
    assert all(0 <= done <= total == len(JOBS) for done, total in told)


# ------------------------------------------------------------------------------- repeated failures


def build(times: list[int], span: int, predicted: list[int] | None = None) -> Failures:
    from dataclasses import replace

    log = Failures.build(times, range(len(times)), predicted=predicted)
    return replace(log, span=span, kind=tuple("abcdefgh"[: len(times)]))


def test_a_log_is_repeated_by_its_span() -> None:
    log = repeated(build([10, 40], 50, [5, FAR]), 120)
    assert log.time.tolist() == [10, 40, 60, 90, 110]
    assert log.node.tolist() == [0, 1, 0, 1, 0]
    assert log.kind == ("a", "b", "a", "b", "a")
    assert log.predicted is not None
    assert log.predicted.tolist() == [5, FAR, 55, FAR, 105]
    assert log.span == 50


@given(
    st.lists(st.integers(-20, 60), min_size=1, max_size=6).map(sorted),
    st.integers(1, 100),
    st.integers(-100, 400),
)
def test_what_is_repeated_is_all_up_to_the_end(times: list[int], more: int, end: int) -> None:
    span = times[-1] - times[0] + more
    log = repeated(build(times, span), end)
    if end < times[0]:
        assert log.time.tolist() == times
        return
    plain = [t + k * span for k in range(600) for t in times]
    assert log.time.tolist() == [t for t in plain if t <= end]


def test_a_log_too_short_to_be_repeated() -> None:
    assert len(repeated(Failures.none(), 10)) == 0
    with pytest.raises(ParameterError, match="repeat_failures"):
        repeated(build([0], 1), 10**9)


def test_a_repeated_log_is_the_long_log() -> None:
    jobs = Jobs.build(
        submit=range(0, 9000, 100), size=[2] * 90, runtime=[700] * 90, estimate=[1500] * 90
    )
    again = measured(jobs=jobs, repeat_failures=True, prediction_accuracy=0.8)
    span = LOG.span
    long = Failures.build(
        np.concatenate([LOG.time + k * span for k in range(3)]), [0, 1, 2] * 3, [60] * 9
    )
    inside = long.take(long.time <= 8900 + 1500)
    assert again == measured(jobs=jobs, failures=inside, prediction_accuracy=0.8)
    assert again["failures_played"] > len(LOG)


def test_the_horizon() -> None:
    stop = VirtualParameters(nodes=4, processors_per_node=2)
    run = stop.model_copy(update={"past_deadline": "run"})
    work = prepare_virtual(JOBS, stop)
    assert horizon(work, stop) == 10 + 6000
    assert horizon(work, run) == 10 + 6000 + 30_000 + 1  # 3000 processor-s at 0.1


# -------------------------------------------------------------------------------------- predictors


class Sooner:
    """Foresees every node's failure after the same time."""

    def __init__(self, after: float) -> None:
        self.after = after

    def time_to_failure(self, nodes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.full(len(nodes), self.after)


def test_any_object_that_answers() -> None:
    run = ran(predictor=Sooner(400.0))
    assert run.outcome.parameters.predictor == "learned"
    assert "Sooner" in run.outcome.predictions.name
    assert set(run.outcome.predictions.expected.tolist()) >= {400}
    assert ran(predictor=Sooner(np.inf)).measures["migrations"] == 0


def test_the_logs_own_predictions() -> None:
    own = Failures.build([300, 2000], [0, 1], [60, 60], predicted=[280, FAR])
    run = ran(failures=own, prediction_accuracy=0.1)
    assert run.outcome.predictions.expected.tolist() == [280]
    assert ran(failures=own, predictor="recorded").measures == run.measures
    with pytest.raises(ParameterError, match="predicted"):
        ran(predictor="recorded")


def test_hazards_that_were_learnt() -> None:
    learnt = HazardPredictor()
    learnt.fit(Failures.build([-5000, -3000, -1000, -400], [0, 1, 0, 0]), nodes=4, end=0)
    run = ran(predictor=learnt)
    assert run.outcome.parameters.predictor == "hazard"
    assert run.predictor is learnt
    with pytest.raises(ParameterError, match="a trained predictor"):
        ran(predictor="hazard")


def test_learners_and_their_files(tmp_path: Path) -> None:
    from forestall.prediction.given.predictor_files import save_predictor

    log = Failures.build(np.arange(-9000, 0, 300), np.arange(30) % 4)
    learner = new_learner("rate")
    learner.fit(log, nodes=4, end=0)
    by_object = ran(predictor=learner)
    assert by_object.outcome.parameters.predictor == "learned"
    save_predictor(learner, tmp_path / "rate.predictor")
    run = ran(predictor=tmp_path / "rate.predictor")
    assert run.measures == by_object.measures
    assert run.outcome.predictions.expected.tolist() == (
        by_object.outcome.predictions.expected.tolist()
    )


def test_training_is_done_once() -> None:
    from forestall.prediction.given.learned import Training

    log = Failures.build(np.arange(0, 9000, 300), np.arange(30) % 4)
    training = Training(TrainingLog(log, 0))
    assert training.predictor(4) is training.predictor(4)
    assert training.predictor(4, "rate") is training.predictor(4, "rate")
    assert training.predictor(4) is not training.predictor(5)


# ------------------------------------------------------------------------------ models and options


def test_the_table_of_models() -> None:
    assert list(MODELS) == ["promise", "virtual", "cycle"]
    assert model_of({}).name == "promise"
    assert model_of({"model": "virtual", "strategy": "random", "nodes": 4}) is VIRTUAL
    assert VIRTUAL.parameters is VirtualParameters
    assert MODELS["promise"].parameters is Parameters


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"model": "cloud"}, "model"),
        ({"model": ["promise"]}, "model"),
        ({"model": "virtual", "risk": "0.9"}, "risk"),
        ({"strategy": "random"}, "strategy"),
        ({"model": "promise", "vm_memory": 5}, "vm_memory"),
    ],
)
def test_options_of_another_model_are_refused(values: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        model_of(values)
    assert caught.value.name == name
    assert "promise" in str(caught.value)


def test_processors_per_node_go_with_every_model() -> None:
    for model in MODELS:
        assert model_of({"model": model, "processors_per_node": 4}).name == model


# ------------------------------------------------------------------------------------------- hints


def hints(jobs: Jobs = JOBS, failures: Failures = LOG, **more: Any) -> list[str]:
    return VIRTUAL.hints(jobs, failures, ran(jobs=jobs, failures=failures, **more))


def test_hints() -> None:
    from dataclasses import replace

    long = build([300, 9000], 9000)
    assert hints(failures=long) == []
    assert hints(replace(JOBS, nodes=8), long) == []
    assert any("100 processors" in one for one in hints(replace(JOBS, nodes=100), long))
    assert any("{repeat_failures}" in one for one in hints())
    late = Failures.build([90_000_000], [1])
    assert any("no failure occurred" in one for one in hints(failures=late))
    wide = replace(long, nodes=8)
    assert any("{fold_nodes} 2" in one for one in hints(failures=wide))
    own = replace(build([300, 9000], 9000, [200, FAR]))
    assert any("{prediction_accuracy}" in one for one in hints(failures=own))
    assert hints(failures=own, predictor="recorded") == []


def test_kernels_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from forestall.core import _compile, _reach

    ran()
    assert VIRTUAL.is_compiled(VirtualParameters())
    reach = _reach.Reach(tmp_path)
    monkeypatch.setattr(_compile, "INTERPRETED", False)
    monkeypatch.setattr(_reach, "reach", lambda: reach)
    shared = reach.folder("forestall.scheduling.simulation.promise_loop_kernels")
    for folder in (shared, tmp_path / "forestall.machines.simulation.loop_kernels-of-before"):
        folder.mkdir()
        (folder / "run-1.nbi").write_bytes(b"for Foreseen")
    assert MODELS["promise"].is_compiled(Parameters())
    assert not MODELS["promise"].is_compiled(Parameters(predictor="hazard"))
    assert not VIRTUAL.is_compiled(VirtualParameters())
    own = reach.folder("forestall.machines.simulation.loop_kernels")
    own.mkdir()
    (own / "run-1.nbi").touch()
    assert VIRTUAL.is_compiled(VirtualParameters())


def test_a_failure_later_than_any_run_never_comes() -> None:
    jobs = Jobs.build([0, 50], [1, 1], [100, 100], [300, 300])
    late = Failures.build([9_000_000_000], [0], [10])  # beyond what event keys can hold
    result = simulate_virtual(jobs, late, nodes=2)
    assert result.job_completion_rate == 1.0
    assert len(result.failures) == 0
