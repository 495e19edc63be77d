"""`forestall assess scores` as users call it: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from core.commands.calls import call
from forestall.core.show import style
from forestall.prediction.judge.scores.report import FOLDER

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    chance = rng.beta(0.6, 3, 600)
    failed = rng.random(600) < chance
    path = tmp_path / "scores.csv"
    pl.DataFrame(
        {
            "score": chance,
            "failed": failed.astype(int),
            "raw": np.round(10 * chance + rng.normal(size=600)),
            "recency": rng.random(600),
            "node": rng.integers(0, 30, 600),
        }
    ).write_csv(path)
    return path


def summary(capsys: Capsys, *arguments: object) -> dict[str, Any]:
    done = call(capsys, "assess", "scores", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    assert "NaN" not in done.out
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_json_for_scripts(capsys: Capsys, scores: Path) -> None:
    found = summary(capsys, scores)
    assert 0.5 < found["auc_ci"][0] < found["auc"] < found["auc_ci"][1] < 1
    assert found["p_value"] == 1 / 3001
    assert 0 < found["brier"] < 0.25
    raw = summary(capsys, scores, "--score", "raw", "--draws", 200)
    assert raw["brier"] is None
    assert 0.5 < raw["auc"] < 1


def test_the_verdict_is_a_key(capsys: Capsys, scores: Path) -> None:
    found = summary(capsys, scores, "--draws", 99)
    assert next(iter(found)) == "verdict"
    assert found["verdict"].startswith("Better than chance: area 0.")
    done = call(capsys, "assess", "scores", scores, "--draws", 99)
    assert done.out.splitlines()[0] == found["verdict"]


def test_scores_within_0_and_1_need_not_be_probabilities(capsys: Capsys, scores: Path) -> None:
    options = ("--draws", 99, "--baseline", "recency")
    by_range = summary(capsys, scores, *options)
    none = summary(capsys, scores, *options, "--no-probabilities")
    said = summary(capsys, scores, *options, "--probabilities")
    assert (none["probabilities"], none["brier"], none["reliability"]) == (False, None, None)
    assert none["others"][0]["brier"] is None
    assert none["others"][0]["against"]["brier_skill"] is None
    assert "probabilities" not in none["verdict"]
    assert none["auc"] == by_range["auc"]
    assert (said["probabilities"], said["brier"]) == (True, by_range["brier"])
    done = call(capsys, "assess", "scores", scores, "--draws", 99, "--no-probabilities")
    assert "note: scores are not judged as probabilities (--no-probabilities)" in done.out


def test_the_same_bytes_for_the_same_seed(capsys: Capsys, scores: Path) -> None:
    one, two, other = (
        call(capsys, "assess", "scores", scores, "--score", "recency", "--seed", seed, "--json").out
        for seed in (3, 3, 4)
    )
    assert one == two
    assert json.loads(one)["p_value"] != json.loads(other)["p_value"]


def test_the_verdict_comes_first_and_lines_fit(capsys: Capsys, scores: Path) -> None:
    done = call(
        capsys, "assess", "scores", scores, "--score", "score,raw", "--baseline", "recency",
        "--group", "node", "--threshold", 0.3, "--binning", "count",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("Better than recency (area 0.")
    assert "better than chance: area 0." in lines[0]
    assert "Brier skill 0." in lines[0]
    assert max(len(line) for line in lines[1:]) <= 100
    assert any(line.startswith("recency (baseline)") for line in lines)
    assert any(line.endswith("given") for line in lines)


def test_rows_that_were_left_out_are_told(capsys: Capsys, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("score,failed\n5,1\n,1\nnan,0\nx,0\n2,0\n3,0\n")
    done = call(capsys, "assess", "scores", path)
    assert "left out: 2 rows without a score" in done.out
    assert "left out: 1 row with an unusable score" in done.out
    assert "they are not probabilities" in done.out
    strict = call(capsys, "assess", "scores", path, "--strict")
    assert (strict.code, strict.out) == (2, "")
    assert ":3: score: is empty or nan" in strict.err


def test_a_folder_with_everything(capsys: Capsys, scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report"
    done = call(
        capsys, "assess", "scores", scores, "--score", "score,raw", "--out", out, "--draws", 99
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == f"Files are in {out}; open {out / 'report.html'}"
    assert {path.name for path in out.iterdir()} == set(FOLDER.files)
    found = json.loads((out / "summary.json").read_text())
    curve = pl.read_csv(out / "roc.csv")
    assert curve["score"].unique().sort().to_list() == ["raw", "score"]
    part = curve.filter(pl.col("score") == "score")
    area = np.trapezoid(part["tpr"].to_numpy(), part["fpr"].to_numpy())
    assert area == pytest.approx(found["auc"], abs=1e-12)
    bins = pl.read_csv(out / "reliability.csv")
    assert bins["count"].sum() == 600
    page = (out / "report.html").read_text()
    assert page.count('<svg role="img"') == len(FOLDER.figures)
    assert "prefers-color-scheme:dark" in page
    assert "http" not in page.replace("http-equiv", "")
    assert done.out.splitlines()[0] in page
    again = call(capsys, "assess", "scores", scores, "--out", out, "--draws", 99, "--quiet")
    assert (again.code, again.out) == (0, "")


def test_a_folder_without_figures(
    capsys: Capsys, scores: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style, "has_matplotlib", lambda: False)
    out = tmp_path / "report"
    done = call(capsys, "assess", "scores", scores, "--out", out, "--draws", 99)
    assert done.code == 0
    assert "forestall[plot]" in done.out
    assert {path.name for path in out.iterdir()} == {*FOLDER.tables, "report.html", "summary.json"}


def test_a_folder_of_one_class_and_of_no_probabilities(capsys: Capsys, tmp_path: Path) -> None:
    path, out = tmp_path / "s.csv", tmp_path / "out"
    for text, drawn in (("5,1\n7,1", set()), ("5,1\n7,0\n8,1", set(FOLDER.figures[:2]))):
        path.write_text(f"score,failed\n{text}\n")
        assert call(capsys, "assess", "scores", path, "--out", out).code == 0
        assert {one.stem for one in out.glob("*.png")} == drawn


def test_markup_in_names_is_only_text(capsys: Capsys, tmp_path: Path) -> None:
    path, out = tmp_path / "s.csv", tmp_path / "out"
    path.write_text("<b>[red]x,failed\n.5,1\n.7,0\n.8,1\n")
    done = call(capsys, "assess", "scores", path, "--score", "<b>[red]x", "--out", out)
    assert done.code == 0
    assert "<b>[red]" not in (out / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--score", "p"), "has no column p; it has 'score'"),
        (("--failed", "down"), "has no column down"),
        (("--group", "rack"), "has no column rack"),
        (("--baseline", "score"), "--baseline: 'score' is not allowed"),
        (("--score", "a,a"), "--score: 'a,a' is not allowed"),
        (("--level", "95"), "--level: 95.0 is not allowed"),
        (("--draws", "0"), "--draws: 0 is not allowed"),
        (("--bins", "0"), "--bins: 0 is not allowed"),
        (("--threshold", "nan"), "--threshold: nan is not allowed"),
        (("--threshold", "high"), "--threshold"),
        (("--binning", "odd"), "--binning"),
        (("--score", "raw", "--probabilities"), "--probabilities: 'raw = "),
    ],
)
def test_what_cannot_be_used_is_one_line(
    capsys: Capsys, scores: Path, options: tuple[str, ...], said: str
) -> None:
    done = call(capsys, "assess", "scores", scores, *options)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_folder_that_holds_something_else(capsys: Capsys, scores: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.txt").write_text("precious")
    done = call(capsys, "assess", "scores", scores, "--out", out)
    assert done.code == 2
    assert "holds something else" in done.err
    assert call(capsys, "assess", "scores", scores, "--out", out, "--force", "-q").code == 0
    assert (out / "thesis.txt").read_text() == "precious"


def test_help_has_examples(capsys: Capsys) -> None:
    done = call(capsys, "assess", "scores", "--help")
    assert done.code == 0
    assert "forestall assess scores scores.csv --threshold 0.3 --out report" in done.out
