"""Judged scores: the verdict, the numbers behind it, and what it says first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from forestall.core.model.errors import ParameterError
from forestall.core.streams import stream
from forestall.prediction.assess.roc import confusion
from forestall.prediction.assess.significance import compare, delong, permutation
from forestall.prediction.judge.questions import ScoreQuestion
from forestall.prediction.judge.scores import report
from forestall.prediction.judge.scores.judge import study
from forestall.reliability.report.fit.fit import finite

Question = dict[str, Any]


def table(folder: Path, **columns: Any) -> Path:
    path = folder / "scores.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


def forecast(count: int = 800, seed: int = 1, slope: float = 1.0, offset: float = 0.0) -> Question:
    """Return a table of right probabilities, worse ones, chance, and the group of each case."""
    rng = np.random.default_rng(seed)
    x = rng.normal(-1.5, 1.3, count)
    return {
        "score": expit((x - offset) / slope),
        "failed": (rng.random(count) < expit(x)).astype(int),
        "worse": expit(0.5 * x + rng.normal(0, 1, count) - 1),
        "chance": rng.random(count),
        "node": [f"n{k}" for k in rng.integers(0, 40, count)],
    }


def told(path: Path, **asked: Any) -> dict[str, Any]:
    found = dict(study(path, ScoreQuestion(**asked)).summary)
    assert "NaN" not in json.dumps(found, allow_nan=False)
    return found


def test_the_numbers_are_those_of_the_measures(tmp_path: Path) -> None:
    cases = forecast()
    found = told(table(tmp_path, **cases), draws=500, seed=4, level=0.9, threshold=0.3)
    score, failed = cases["score"], cases["failed"] == 1
    interval = delong(score, failed, 0.9)
    assert found["auc"] == interval.auc
    assert found["auc_ci"] == [interval.low, interval.high]
    drawn = permutation(score, failed, 500, rng=stream(4, "assess", "permutation"))
    assert found["p_value"] == drawn.p_value
    assert found["brier"] == pytest.approx(np.mean((score - failed) ** 2))
    one = confusion(score, failed, 0.3)
    assert {k: found["confusion"][k] for k in ("tp", "fp", "fn", "tn")} == {
        "tp": one.tp, "fp": one.fp, "fn": one.fn, "tn": one.tn,
    }  # fmt: skip
    assert found["operating_points"][0]["chosen_for"] == found["threshold_by"] == "given"
    assert (found["n"], found["failed"]) == (800, int(failed.sum()))
    assert found["group"] is None


def test_cases_of_a_node_are_not_taken_as_independent(tmp_path: Path) -> None:
    cases = forecast()
    path = table(tmp_path, **cases)
    found = told(path, group="node", draws=100)
    failed = cases["failed"] == 1
    interval = delong(cases["score"], failed, groups=cases["node"])
    assert found["auc_ci"] == pytest.approx([interval.low, interval.high])
    assert (found["group"], found["groups"], found["auc_method"]) == ("node", 40, "clustered")
    assert found["p_grouped"] == pytest.approx(interval.p_value / 2)
    assert report.p_of(found) == max(found["p_value"], found["p_grouped"])
    renamed = table(tmp_path, **{("group" if k == "node" else k): v for k, v in cases.items()})
    assert told(renamed, draws=100)["groups"] == 40
    assert told(renamed, draws=100, group="none")["groups"] is None


@pytest.mark.parametrize("groups", [["a"] * 800, [f"g{k}" for k in range(800)]])
def test_groups_that_group_nothing_do_not_count(tmp_path: Path, groups: list[str]) -> None:
    found = told(table(tmp_path, **{**forecast(), "node": groups}), group="node", draws=100)
    assert (found["groups"], found["auc_method"]) == (None, "delong")


def test_the_first_line_says_where_a_baseline_is_better(tmp_path: Path) -> None:
    path = table(tmp_path, **forecast())
    found = told(path, score=("worse",), baseline="score", draws=100)
    line = report.verdict(found)
    assert line.startswith("Worse than score (area ")
    assert "worse probabilities than score" in line
    assert found["worse_than_baseline"] is True
    other = told(path, baseline="chance", draws=100)
    assert report.verdict(other).startswith("Better than chance (area ")
    assert other["worse_than_baseline"] is False
    failed = forecast()["failed"] == 1
    paired = compare(forecast()["score"], forecast()["chance"], failed)
    beside = other["others"][0]["against"]
    assert beside["difference"] == pytest.approx(paired.difference)
    assert beside["p_value"] == pytest.approx(paired.p_value, rel=1e-6)
    itself = told(table(tmp_path, **forecast(), same=forecast()["score"]), baseline="same", draws=9)
    assert report.verdict(itself).startswith("No better than same (")


def test_several_scores_are_compared_with_the_first(tmp_path: Path) -> None:
    found = told(
        table(tmp_path, **forecast()), score=("score", "worse"), baseline="chance", draws=99
    )
    assert [one["score"] for one in found["others"]] == ["worse", "chance"]
    rows = report.others(found).tables[0].rows
    assert [row[0] for row in rows] == ["score", "worse", "chance (baseline)"]


@pytest.mark.parametrize(
    ("slope", "offset", "said"),
    [
        (0.5, 0.0, "too bold"), (2.0, 0.0, "too timid"), (1.0, 1.0, "too low"),
        (1.0, -1.0, "too high"), (1.0, 0.0, "about right"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_probabilities_is_said(
    tmp_path: Path, slope: float, offset: float, said: str
) -> None:
    found = told(table(tmp_path, **forecast(4000, 2, slope, offset)), draws=99)
    assert f"as probabilities {said}" in report.verdict(found) or f"and {said}" in report.verdict(
        found
    )


def test_worse_than_the_base_rate_is_in_the_first_line(tmp_path: Path) -> None:
    found = told(table(tmp_path, **forecast()), score=("chance",), draws=99)
    assert found["brier_skill"] < 0
    line = report.verdict(found)
    assert line.startswith("Not shown to be better than chance: area 0.")
    assert "worse than always predicting" in line
    turned = {**forecast(), "score": 1 - forecast()["score"]}
    line = report.verdict(told(table(tmp_path, **turned), draws=99))
    assert line.startswith("Worse than chance (its opposite would be better)")


@pytest.mark.parametrize(
    ("score", "failed", "said"),
    [
        ([0.5], [1], "No verdict: the only case failed"),
        ([0.5], [0], "No verdict: the only case did not fail"),
        ([0.5, 0.1], [0, 0], "No verdict: none of the 2 cases failed"),
        ([0.5, 0.1], [1, 1], "No verdict: all of the 2 cases failed"),
        ([3.0, 3.0, 3.0], [1, 0, 0], "No better than chance: all scores are the same"),
        ([1.0, 2.0, 3.0, 9.0], [0, 0, 1, 1], "Not shown to be better than chance: area 1.000"),
    ],
)
def test_small_and_odd_tables(
    tmp_path: Path, score: list[float], failed: list[int], said: str
) -> None:
    found = told(table(tmp_path, score=score, failed=failed), draws=200)
    assert report.verdict(found).startswith(said)
    assert (found["brier"] is None) == (max(score) > 1)
    assert len(found["auc_ci"]) == 2
    tables = (*report.thresholds(found).tables, report.bins(found))
    for rows in ([(one.label, one.shown) for one in report.measures(found)[1:]],
                 *(table.rows for table in tables)):  # fmt: skip
        assert all(isinstance(cell, str) and cell for row in rows for cell in row)


def test_rare_failures_get_bins_of_equal_count(tmp_path: Path) -> None:
    rare = told(table(tmp_path, **forecast(2000, offset=4.0)), draws=99)
    assert rare["binning"] == "count"
    assert [row["count"] for row in rare["reliability"]] == [200] * 10
    assert told(table(tmp_path, **forecast()), draws=99)["binning"] == "width"
    wide = told(table(tmp_path, **forecast(2000, offset=4.0)), draws=99, binning="width")
    assert wide["reliability"][0]["count"] > 1500


def test_worse_probabilities_beside_a_larger_area(tmp_path: Path) -> None:
    cases = forecast(3000)
    blurred = {"base": cases["chance"] * 0.01 + cases["failed"].mean()}
    bold = {**cases, "score": cases["score"] ** 0.3, **blurred}
    line = report.verdict(told(table(tmp_path, **bold), baseline="base", draws=99))
    assert line.startswith("Worse probabilities than base (Brier 0.")
    assert "but a larger area (area 0." in line


def test_many_cases_take_the_normal_law(tmp_path: Path) -> None:
    path = table(tmp_path, **forecast(5000))
    found = told(path, draws=1_000_000)
    assert (found["p_method"], found["p_exceed"]) == ("normal", None)
    assert "normal approximation" in report.how_p(found)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"score": ()}, "score"),
        ({"score": ("a", "")}, "score"),
        ({"score": ("a", "a")}, "score"),
        ({"baseline": "score"}, "baseline"),
        ({"failed": "score"}, "failed"),
        ({"level": 1.0}, "level"),
        ({"draws": 0}, "draws"),
        ({"bins": 0}, "bins"),
        ({"threshold": float("nan")}, "threshold"),
    ],
)
def test_questions_that_cannot_be_asked(asked: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=f"^{named}:"):
        ScoreQuestion(**asked)


def test_json_has_neither_nan_nor_infinity() -> None:
    value = {"a": (float("nan"), np.float64(2.0)), "b": [float("inf"), np.int64(3), np.bool_(True)]}
    assert finite(value) == {"a": [None, 2.0], "b": [None, 3, True]}
