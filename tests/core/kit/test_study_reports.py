"""Reports of studies and answers in every form: nothing that one of them has breaks another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forestall.core.kit.study_folder import StudyFolder, end, table_of
from forestall.core.show.as_json import as_json
from forestall.core.show.facts import flat
from forestall.core.show.markdown import markdown
from forestall.core.show.openmetrics import openmetrics
from forestall.core.show.page import page
from forestall.core.show.report import Report
from forestall.core.show.text import WIDTH, brief_of, text_of
from forestall.prediction.judge import questions as judge_questions
from forestall.prediction.judge.alarms import judge as alarm_judge
from forestall.prediction.judge.alarms import report as alarm_report
from forestall.prediction.judge.scores import judge as score_judge
from forestall.prediction.judge.scores import report as score_report
from forestall.reliability.report import interval, spares
from forestall.reliability.report import questions as questions_
from forestall.reliability.report.failures import report as failure_report
from forestall.reliability.report.failures import study as failure_study
from forestall.reliability.report.fit import fit
from forestall.reliability.report.fit import report as fit_report

DAY = 86_400


def log(folder: Path) -> Path:
    """Return a failure log of 6 nodes."""
    rng = np.random.default_rng(2)
    rows = zip(np.sort(rng.integers(0, 90 * DAY, 80)), rng.integers(0, 6, 80), strict=True)
    path = folder / "failures.csv"
    path.write_text("time,node\n" + "".join(f"{time},{node}\n" for time, node in rows))
    return path


def alarms(folder: Path) -> Report:
    path = folder / "alarms.csv"
    path.write_text("time,node,score\n" + "".join(f"{k * DAY},{k % 6},{k}\n" for k in range(60)))
    settings = judge_questions.AlarmSettings(draws=20)
    return alarm_report.report_of(alarm_judge.study(path, log(folder), {}, settings))


def scores(folder: Path) -> Report:
    rng = np.random.default_rng(3)
    chance = rng.random(200)
    rows = zip(chance, rng.random(200), rng.random(200) < chance, strict=True)
    path = folder / "scores.csv"
    text = "".join(f"{score:.4f},{other:.4f},{int(failed)}\n" for score, other, failed in rows)
    path.write_text("score,other,failed\n" + text)
    asked = judge_questions.ScoreQuestion(score=("score", "other"), draws=50)
    return score_report.report_of(score_judge.study(path, asked))


def failures(folder: Path) -> Report:
    settings = questions_.FailureStudySettings(families=("weibull", "exponential"))
    return failure_report.report_of(failure_study.study(log(folder), {}, settings))


def fitted(_folder: Path) -> Report:
    gaps = np.random.default_rng(4).weibull(0.7, 60) * 100
    return fit_report.report_of(
        fit.fit_gaps(gaps, np.zeros(60, bool), questions_.FitQuestion(unit="h"))
    )


def checkpoints(_folder: Path) -> Report:
    asked = questions_.IntervalQuestion("5m", "4d", work="30d")
    return interval.report_of(interval.answer(asked), "5m")


def spare_nodes(_folder: Path) -> Report:
    return spares.report_of(spares.answer(questions_.SparesQuestion(64, "200", pool=True)))


REPORTS = (alarms, scores, failures, fitted, checkpoints, spare_nodes)


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_every_form_of_a_report(make: Callable[[Path], Report], tmp_path: Path) -> None:
    report = make(tmp_path)
    brief = brief_of(report)
    assert brief.splitlines()[0] == (report.verdict or (report.headline,))[0]
    assert max(map(len, brief.splitlines()[1:])) <= WIDTH
    assert " ".join(report.headline.split()) in " ".join(text_of(report, full=True).split())
    told = json.loads(json.dumps(as_json(report), allow_nan=False))
    assert list(told["sections"]) == [one.key for one in report.sections]
    assert f"# {report.title}" in markdown(report)
    assert openmetrics(report).endswith("# EOF\n")
    shown = page(report, drawn={})
    assert f"<h1>{report.title}</h1>" in shown
    for part in report.sections:
        for table in part.tables:
            assert all(isinstance(cell, str) for row in table.rows for cell in row)
            assert not table.rows or str(table.rows[0][0])[:30] in brief


def test_a_piped_verdict_is_one_line_and_on_a_terminal_it_wraps(tmp_path: Path) -> None:
    report = alarms(tmp_path)
    assert len(report.verdict[0]) > WIDTH
    assert brief_of(report).startswith(report.verdict[0] + "\n")
    assert max(map(len, brief_of(report, width=60, wrap=True).splitlines()[:3])) <= 60


def test_a_card_of_two_numbers_has_no_unit(tmp_path: Path) -> None:
    shown = page(scores(tmp_path), drawn={}).replace("\N{NO-BREAK SPACE}", " ")
    said = next(one.shown for one in scores(tmp_path).top if one.key == "said")
    assert f'<dd class="big">{said}</dd>' in shown


def test_pieces_of_tables() -> None:
    assert flat({"a": 1, "b": [1], "c": {"d": 1}, "e": None}) == {"a": 1, "e": None}
    assert (end(None, 1), end((1.0, 2.0), 1)) == (None, 2.0)
    assert table_of([{"a": 1}, {"b": 2}]).rows() == [(1, None), (None, 2)]


def test_the_files_of_a_folder() -> None:
    folder: StudyFolder[alarm_judge.AlarmStudy] = StudyFolder(
        ("key",), ("a.csv",), ("drawn",), alarm_report.report_of, lambda _found: ()
    )
    assert folder.files == ("a.csv", "drawn.png", "drawn.svg", "report.html", "summary.json")
    assert fit_report.SUFFIXES[:2] == (".png", ".svg")
