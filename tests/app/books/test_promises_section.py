"""The section on promises, and the command that prints it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from forestall.app.books import promises_section
from forestall.app.books.asked import Asked
from forestall.app.books.promises_study import Question, Study, study
from forestall.cli import backtest
from forestall.model.errors import ParameterError
from forestall.model.site_records import SiteRecords
from predict.turnaround.made_jobs import some_jobs

COUNT = 3000


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small SWF log with waits."""
    rng = np.random.default_rng(4)
    submit = np.cumsum(rng.integers(0, 200, COUNT))
    lines = ["; Version: 2.2", "; UnixStartTime: 1600000000", "; MaxNodes: 64"]
    for k in range(COUNT):
        user = int(rng.integers(1, 6))
        wait, run = int(rng.exponential(300)), int(np.exp(rng.normal(4 + user / 2, 1))) + 1
        status = 5 if k % 50 == 0 else 1
        lines.append(
            f"{k + 1} {submit[k]} {wait} {run} {1 + k % 8} -1 -1 {1 + k % 8} 7200 -1 {status} "
            f"{user} 1 1 1 1 -1 -1"
        )
    path = tmp_path_factory.mktemp("log") / "jobs.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def run(*arguments: object) -> str:
    app = typer.Typer()
    app.add_typer(backtest.group(), name="backtest")
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["backtest", "promises", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def found() -> Study:
    return study(some_jobs(2500, 3), Question(warm_up=200))


def test_the_section_tells_what_the_study_found(found: Study) -> None:
    part = promises_section.section(found)
    for answer in found.answers:
        table = next(one for one in part.tables if one.key == f"{answer.question}_deciles")
        for row, one in zip(
            table.records, (d for d in answer.scores.deciles if d.made), strict=True
        ):
            assert (row["made"], row["kept"]) == (one.made, one.kept)
        assert sum(row["made"] for row in table.records) == answer.scores.made
        assert answer.scores.made == int(answer.counted.sum())
        missed = answer.scores.made - answer.scores.kept
        assert sum(answer.missed.values()) == missed
        assert answer.void_kept.made == answer.scores.made + answer.void
        assert answer.void_kept.kept == answer.scores.kept + answer.void
        assert answer.void_missed.kept == answer.scores.kept
    keys = {(one.key, tuple(one.labels.items())) for one in (*part.figures, *part.series)}
    assert len(keys) == len(part.figures) + len(part.series)
    assert part.lead.count("agree within 3 points") + part.lead.count("do NOT hold") == 2


def test_promises_before_the_warm_up_do_not_count(found: Study) -> None:
    ledger = found.answers[0].ledger
    first = int(np.flatnonzero(ledger.counted)[0])
    ended = np.sort(found.tasks.finish)  # type: ignore[union-attr]
    assert ledger.quoted[first] >= ended[150]
    assert not ledger.counted[:first].any()


def test_what_does_not_hold_is_said_first() -> None:
    made = study(some_jobs(2500, 3), Question(warm_up=200))
    bad = made.answers[1]
    worse = [
        one if k != 9 else type(one)(**{**vars(one), "verdict": "no", "made": 500, "seen": 0.5})
        for k, one in enumerate(bad.scores.deciles)
    ]
    scores = type(bad.scores)(**{**vars(bad.scores), "deciles": tuple(worse)})
    answers = (made.answers[0], type(bad)(**{**vars(bad), "scores": scores}))
    told = promises_section.lead(type(made)(**{**vars(made), "answers": answers}))
    assert told.startswith("Probabilities of named deadlines do NOT hold: in ")


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_jobs(count: int) -> None:
    site = SiteRecords(accounting=some_jobs(count, 1) if count else None)
    part = promises_section.section(promises_section.study(site, Asked(0, 100)))
    assert part.lead.startswith("No promises were tested")
    assert len(part.untold) == 1
    assert not part.tables


def test_the_command(log: Path, tmp_path: Path) -> None:
    out = run(log, "--warm-up", 300)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    assert "Deadlines for a probability hold" in out.replace("\n", " ")
    rows = [line.split() for line in lines if "%" in line and line[:1].isdigit()]
    assert len([row for row in rows if row[0].endswith("0")]) >= 20
    folder = tmp_path / "study"
    told = json.loads(run(log, "--warm-up", 300, "--out", folder, "--json"))
    assert told["verdicts"] == {"deadline": True, "probability": told["holds"]}
    with (folder / "promises.csv").open() as file:
        entries = list(csv.DictReader(file))
    assert len(entries) == 2 * COUNT
    counted = [row for row in entries if row["counted"] == "true" and row["question"] == "deadline"]
    kept = sum(row["outcome"] == "kept" for row in counted)
    table = told["tables"]["deadline_deciles"]["rows"]
    assert kept == sum(row["kept"] for row in table)
    voids = [row for row in entries if row["outcome"] == "void"]
    assert voids
    assert {row["cause"] for row in voids} == {"user"}
    page = (folder / "report.html").read_text()
    assert "What promises would have been worth" in page
    assert {path.name for path in folder.iterdir()} >= {"deciles.csv", "groups.csv", "summary.json"}


def test_one_level_and_metrics(log: Path) -> None:
    out = run(log, "--question", "deadline", "--level", 0.9, "--openmetrics", "-")
    assert 'forestall_promise_kept_ratio{question="deadline",decile="90-100 %"} 0.' in out
    assert out.endswith("# EOF\n")
    assert "probability" not in json.loads(run(log, "--question", "deadline", "--json"))["verdicts"]


def test_the_same_again_and_another_seed(log: Path) -> None:
    first = run(log, "--seed", 1, "--json")
    assert run(log, "--seed", 1, "--json") == first
    assert run(log, "--seed", 2, "--json") != first


def test_since_scores_later_promises_only(log: Path) -> None:
    whole, late = (json.loads(run(log, *more, "--json")) for more in ((), ("--since", "1d")))
    made = [one["tables"]["deadline_deciles"]["rows"] for one in (whole, late)]
    assert sum(row["made"] for row in made[1]) < sum(row["made"] for row in made[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--level", 1.0), "--level"),
        (("--warm-up", -1), "--warm-up"),
        (("--min-nodes", 0), "--min-nodes"),
    ],
)
def test_what_cannot_be(log: Path, options: tuple[object, ...], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(log, *options)
