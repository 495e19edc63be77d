"""Predictors judged on held-out time: what is measured, and that the future is kept away."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

import forestall as fs
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.prediction.assess.panel import RedrawnEstimate
from forestall.prediction.judge.predictors import judge as judging
from forestall.prediction.judge.predictors.judge import JudgedPredictor, judge, task_of
from forestall.prediction.judge.predictors.report import verdict
from forestall.prediction.judge.predictors.study import study_of
from forestall.prediction.judge.questions import How, Stakes
from forestall.prediction.models.registry import new_learner

DAY = 86_400
FEW = ("rate", "recency", "renewal")


def seen(seed: int = 1, nodes: int = 24, days: float = 300) -> Observations:
    return Observations.of(
        fs.generate_failures(nodes, days, seed, mttf_hours=300.0, heterogeneity=2.0)
    )


def test_measures_are_those_of_a_trusted_library() -> None:
    task = task_of(seen(), How(draws=40))
    learner = new_learner("rate")
    learner.fit(task.past)
    scores = judging.scores_of(learner, task)
    grid = task.grid(judging.MAIN)
    found = judge(task, ["rate"])[1].estimates
    failed = grid.decisions.failed
    assert np.isclose(found["auc"].value, roc_auc_score(failed, scores[judging.MAIN]))
    constant = new_learner("constant")
    constant.fit(task.past)
    reference = judging.scores_of(constant, task)[judging.MAIN]
    skill = 1 - brier_score_loss(failed, scores[judging.MAIN]) / brier_score_loss(failed, reference)
    assert np.isclose(found["brier_skill"].value, skill, atol=1e-6)
    for row in (0, 7, len(grid.moments) - 1):  # outcomes against the log itself
        begin = int(grid.moments[row])
        log = task.whole.failures
        inside = (log.time >= begin) & (log.time < begin + DAY)
        mine = failed.reshape(len(grid.moments), -1)[row]
        assert set(np.flatnonzero(mine).tolist()) == set(log.node[inside].tolist())


def test_a_rate_finds_bad_nodes_and_a_constant_nothing() -> None:
    found = {one.name: one for one in judge(task_of(seen(), How(draws=60)), FEW)}
    assert found["constant"].estimates["auc"].value == 0.5
    assert found["rate"].estimates["auc"].low > 0.55
    for hours in (1, 6, 24):
        assert np.isclose(found["constant"].estimates[f"recall_{hours}h"].value, 0.05)
    assert found["rate"].estimates["recall_24h"].low > 0.05


def test_a_shuffled_future_changes_no_earlier_score() -> None:
    whole = seen()
    task = task_of(whole, How(draws=20))
    log, rng = whole.failures, np.random.default_rng(1)
    cut = int((task.split + whole.end) // 2)
    kept = log.time < cut
    late = np.sort(rng.integers(cut, whole.end, 30))
    bent = Failures.build(
        np.concatenate((log.time[kept], late)),
        np.concatenate((log.node[kept], rng.integers(0, whole.nodes, 30))),
    )
    other = task_of(
        Observations.of(bent, begin=whole.begin, end=whole.end, nodes=whole.nodes), How(draws=20)
    )
    for name in FEW:
        scores = []
        for one in (task, other):
            learner = new_learner(name)
            learner.fit(one.past)
            grid = one.grid(judging.MAIN)
            rows = np.repeat(grid.moments, whole.nodes)[grid.counts.ravel()] <= cut
            scores.append(judging.scores_of(learner, one)[judging.MAIN][rows])
        assert len(scores[0]) > 100
        np.testing.assert_array_equal(*scores)


def test_long_logs_are_thinned_and_times_in_service_count() -> None:
    whole = seen()
    task = task_of(whole, How(draws=20, most=500))
    assert all(len(grid.decisions.failed) <= 500 + whole.nodes for grid in task.grids)
    assert max(grid.thinned for grid in task.grids) > 1
    nodes = whole.nodes
    log = replace(
        whole.failures,
        service_start=np.full(nodes, whole.begin),
        service_end=np.where(np.arange(nodes) < 3, whole.begin, whole.end),
        service_new=np.zeros(nodes, dtype=np.bool_),
    )
    fewer = task_of(replace(whole, failures=log), How(draws=20))
    assert not fewer.grid(DAY).counts[:, :3].any()


def test_too_little_to_judge() -> None:
    few = Observations.of(Failures.build([0, DAY, 90 * DAY], [0, 1, 2]))
    with pytest.raises(InputError, match="1 failures lie in the held-out time"):
        task_of(few, How())
    with pytest.raises(ParameterError, match="split"):
        How(split=1.5)
    with pytest.raises(ParameterError, match="within the log"):
        task_of(seen(), How(), split=-5)


def test_the_study_and_its_words() -> None:
    found = study_of(seen(), FEW, How(draws=40), Stakes(price=0.5))
    summary = json.loads(json.dumps(found.summary, allow_nan=False))
    names = [row["name"] for row in summary["predictors"]]
    assert names == ["constant", *FEW]
    assert summary["best_baseline"] in ("constant", "rate", "recency")
    assert summary["chosen"] in names
    assert summary["verdict"]
    assert study_of(seen(), FEW, How(draws=40), Stakes(price=0.5)).summary == found.summary


def stood(name: str, skill: float, spread: float) -> JudgedPredictor:
    draws = skill + spread * np.linspace(-1, 1, 101)
    one = RedrawnEstimate(skill, skill - spread, skill + spread, draws, 30)
    return JudgedPredictor(name, {"brier_skill": one, "auc": one})


def test_standing_beside_the_best_baseline() -> None:
    base = stood("rate", 0.1, 0.0)
    words = {
        skill: judging.standing(stood("x", skill, 0.02), base, 0.9)["word"]
        for skill in (0.05, 0.09, 0.1, 0.11, 0.2)
    }
    assert words == {
        0.05: "worse", 0.09: "perhaps worse", 0.1: "even", 0.11: "perhaps better", 0.2: "better",
    }  # fmt: skip


def test_what_is_worse_than_a_baseline_stands_first() -> None:
    rows = [
        {"name": "rate", "baseline": True, "standing": "even"},
        {"name": "oracle", "baseline": False, "standing": "worse"},
        {"name": "boosted", "baseline": False, "standing": "better"},
        {"name": "dice", "baseline": False, "standing": "perhaps worse"},
    ]
    text = verdict({"best_baseline": "rate", "chosen": "boosted", "predictors": rows, "act": None})
    assert text.startswith(
        "Worse than the best trivial baseline (rate): oracle; perhaps dice (the interval "
        "includes 0);"
    )
    assert "better than the best trivial baseline (rate): boosted" in text


def test_predictors_that_lack_data_say_so() -> None:
    found = {one.name: one for one in judge(task_of(seen(), How(draws=20)), ["outlier"])}
    assert found["outlier"].why == "needs metrics"
    with pytest.raises(ParameterError, match="some of"):
        judge(task_of(seen(), How(draws=20)), ["crystal-ball"])
