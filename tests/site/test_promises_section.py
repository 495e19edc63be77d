"""The section on promises, and the command that prints it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from forestall.core.commands.questions import spelled
from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import named
from forestall.core.show.quantities import number
from forestall.site.commands import backtest
from forestall.site.promises import backtest as backtest_files
from forestall.site.promises import section as promises_section
from forestall.site.promises.study import PromiseStudy, Question, study
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from reference.made_jobs import some_jobs

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


def call(*arguments: object) -> Result:
    app = typer.Typer()
    app.add_typer(backtest.app, name="backtest")
    app.command("other")(lambda: None)
    done = CliRunner().invoke(app, ["backtest", "promises", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def run(*arguments: object) -> str:
    return call(*arguments).stdout


def code(*arguments: object) -> int:
    return call(*arguments).exit_code


@pytest.fixture(scope="module")
def found() -> PromiseStudy:
    return study(some_jobs(2500, 3), Question(warm_up=200))


def test_the_section_tells_what_the_study_found(found: PromiseStudy) -> None:
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
    keys = {(one.key, tuple(one.labels.items())) for one in (*part.facts, *part.series)}
    assert len(keys) == len(part.facts) + len(part.series)
    if found.holds:
        most = max(abs(one.scores.worst.off) for one in found.answers if one.scores.worst)
        assert part.lead.startswith("Promises hold in ")
        assert f"differ by at most {100 * most:.1f} points" in part.lead
    else:
        assert "do NOT hold" in part.lead
    assert part.facts[0].key == "promise_worst_decile"
    sharp = found.answers[0].sharp_by[9].times_run[1]
    assert f"were at least {number(sharp)} run times away." in part.lead
    assert len(re.findall(r"\.(?= |$)", part.lead)) <= 3
    assert part.lead.endswith("that ended; a quote rests on like jobs.")


def test_promises_before_the_warm_up_do_not_count(found: PromiseStudy) -> None:
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
    assert told.index("do NOT hold") < told.index("deadlines for a probability hold")


@pytest.mark.parametrize("count", [0, 5])
def test_too_few_jobs(count: int) -> None:
    site = SiteRecords(accounting=some_jobs(count, 1) if count else None)
    part = promises_section.section(promises_section.study(site, Asked(0, 100)))
    assert part.lead.startswith("No promises were tested")
    assert len(part.untold) == 1
    # What is missing is named; not an option that may have been given, or is the default.
    assert ("1,000 jobs that ended" if count else "sacct") in part.untold[0].remedy
    assert "--" not in part.untold[0].remedy
    assert not part.tables


def test_a_long_warm_up_is_named_as_what_is_in_the_way() -> None:
    told = study(some_jobs(40, 1), Question(warm_up=100_000))
    assert told.remedy == "records of more than 100,000 jobs that ended, or a shorter {warm_up}"
    assert named(told.remedy, spelled).endswith("or a shorter --warm-up")


def test_how_many_promises_a_verdict_takes() -> None:
    made = study(some_jobs(600, 3), Question(warm_up=200))
    part = promises_section.section(made)
    missing = 2000 - made.answers[0].scores.made
    assert made.answers[0].scores.holds is None
    assert f"about {missing:,} more are needed" in part.lead
    assert part.untold[0].remedy == f"about {missing:,} more promises after the warm-up"
    one = study(some_jobs(300, 3), Question(warm_up=200, chance=0.9, questions=("deadline",)))
    missing = 200 - one.answers[0].scores.made
    assert f"about {missing:,} more are needed" in promises_section.lead(one)


def test_how_far_what_is_said_was_moved(found: PromiseStudy) -> None:
    answer = found.answers[1]
    book = answer.ledger
    off = np.abs(book.stated - book.asked)[answer.counted]
    assert answer.moved == pytest.approx(off.mean())
    assert answer.moved_most == off.max()
    assert 0 < found.answers[0].moved < found.answers[0].moved_most < 1
    told = " ".join(promises_section.notes(found))
    assert "partly by construction" in told
    assert f"by {100 * off.mean():.1f} points on average" in told


def test_the_worst_partition_and_size_are_named(found: PromiseStudy) -> None:
    lead = promises_section.lead(found)
    assert "over all jobs, not within groups" in lead
    for kind in ("partition", "size"):
        groups = [one for answer in found.answers for one in answer.groups[kind]]
        if len({one.name for one in groups}) > 1:
            worst = max(groups, key=lambda one: abs(one.seen - one.said))
            assert f"{worst.name} {100 * (worst.seen - worst.said):+.1f}" in lead
    assert "nodes" in lead


def test_the_command(log: Path, tmp_path: Path) -> None:
    out = run(log, "--warm-up", 300)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    alone = run(log, "--warm-up", 300, "--no-learn")
    assert "Promises hold in" in alone.replace("\n", " ")
    assert "Times run" in out
    rows = [line.split() for line in lines if "%" in line and line[:1].isdigit()]
    assert len([row for row in rows if row[0].endswith("0")]) >= 20
    folder = tmp_path / "study"
    told = json.loads(run(log, "--warm-up", 300, "--out", folder, "--json"))
    assert told["schema"] == 1
    options = {"question": "both", "level": None, "warm_up": 300, "seed": 1, "learn": True}
    assert told["options"] == options
    assert told["asked"] == {"partition": None, "min_nodes": 1, "level": 0.95, "zone": None}
    assert told["window"]["dated"] is True
    assert told["verdicts"] == {"deadline": True, "probability": told["holds"]}
    # Learned quotes are steered less: on 2,000 jobs a decile may be off by chance.
    assert ("Promises hold in" in out.replace("\n", " ")) == told["holds"]
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
    assert "<h1>What promises would have been worth: a back-test</h1>" in page
    assert all(float(f"{float(row['stated']):.6g}") == float(row["stated"]) for row in entries)
    assert {path.name for path in folder.iterdir()} >= {"deciles.csv", "groups.csv", "summary.json"}


def test_many_promises_are_written_as_parquet(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "study"
    run(log, "--question", "deadline", "--out", folder)
    with (folder / "promises.csv").open() as file:
        entries = list(csv.DictReader(file))
    monkeypatch.setattr(backtest_files, "MANY", len(entries) - 1)
    run(log, "--question", "deadline", "--out", folder)
    assert not (folder / "promises.csv").exists()
    table = pl.read_parquet(folder / "promises.parquet")
    assert [str(one) for one in table["deadline"]] == [row["deadline"] for row in entries]
    monkeypatch.undo()
    run(log, "--question", "deadline", "--out", folder)
    assert not (folder / "promises.parquet").exists()


def test_the_exit_code_tells_a_check(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from forestall.site.promises import study as promises_study

    assert code(log, "--question", "deadline", "--quiet") == 0
    assert code(log, "--warm-up", 2900) == 0  # too few for a verdict
    monkeypatch.setattr(promises_study.PromiseStudy, "holds", False)
    assert code(log, "--question", "deadline", "--json") == 1
    assert code(log, "--question", "deadline", "--openmetrics", "-") == 1


def test_without_records_it_prints_its_own_commands() -> None:
    out = run()
    assert "forestall backtest promises jobs.txt" in out
    assert "forestall report" not in out
    assert code() == 2


def test_a_remark_names_a_file_once(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "odd.swf"
    lines = log.read_text().splitlines()
    odd = [" ".join([*(row := line.split())[:3], "-1", *row[4:]]) for line in lines[100:103]]
    other.write_text("\n".join([*lines[:100], *odd, *lines[103:]]) + "\n")
    shown = [line for line in run(other).splitlines() if "odd.swf line" in line]
    assert shown
    assert all(line.count("odd.swf") == 1 and line.count("line") > 1 for line in shown)


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
        (("--level", 1.0), "level"),
        (("--warm-up", -1), "warm_up"),
        (("--min-nodes", 0), "--min-nodes"),
        (("--min-nodes", 99), "min_nodes"),
        (("--level", 0.9, "--question", "probability"), "level"),
        (("--json", "--openmetrics", "-"), "--openmetrics"),
        (("--openmetrics", "no/such/folder/x.prom"), "--openmetrics"),
    ],
)
def test_what_cannot_be(log: Path, options: tuple[object, ...], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        run(log, *options)
