"""`forestall predict` and `assess predictors|value`: answers, files, and wrong input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call, failure_log, job_log

Capsys = pytest.CaptureFixture[str]
SPAN = 6_000_000


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv", count=400, span=SPAN)


@pytest.fixture
def predictor(failures: Path, tmp_path: Path, capsys: Capsys) -> Path:
    path = tmp_path / "rate.predictor"
    until = ["--until", 4_000_000]
    assert call(capsys, "predict", "train", "rate", failures, *until, "--out", path).code == 0
    return path


def test_train_says_what_it_learnt(failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "p"
    done = call(capsys, "predict", "train", "rate", failures, "--out", out, "--json")
    told = json.loads(done.out)
    assert (told["name"], told["nodes"], told["trained_failures"]) == ("rate", 16, 400)
    assert out.exists()
    text = call(capsys, "predict", "train", "rate", failures, "--out", out).out
    assert "400 failures of 16 nodes" in text


def test_ask(predictor: Path, failures: Path, capsys: Capsys) -> None:
    told = json.loads(call(capsys, "predict", "ask", predictor, "--json").out)
    risks = [row["failure_probability"] for row in told["nodes"]]
    assert len(risks) == 16
    assert risks == sorted(risks, reverse=True)
    assert told["at_s"] == 4_000_000
    assert told["ahead_s"] == 86_400
    whole = 1.0
    for risk in risks:
        whole *= 1 - risk
    assert abs(told["any_failure_probability"] - (1 - whole)) < 1e-9
    later = json.loads(
        call(
            capsys,
            "predict",
            "ask",
            predictor,
            "--failures",
            failures,
            "--nodes",
            "3,5",
            "--ahead",
            "6h",
            "--json",
        ).out
    )
    assert later["predictor"]["seen_failures"] == 400
    assert {row["node"] for row in later["nodes"]} == {3, 5}
    text = call(capsys, "predict", "ask", predictor, "--top", 2).out
    assert "and 14 nodes at lower risk" in text
    assert all(len(line) <= 100 for line in text.splitlines()[1:])


def test_moments_may_be_durations(failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "p"
    done = call(capsys, "predict", "train", "rate", failures, "--until", "10d", "--out", out)
    assert done.code == 0, done.err
    told = json.loads(call(capsys, "predict", "ask", out, "--at", "10d12h", "--json").out)
    assert (told["at_s"], told["predictor"]["trained_until_s"]) == (907_200, 864_000)
    dated = tmp_path / "dated.csv"
    dated.write_text("time,node\n2024-01-01T00:00:00,0\n2024-01-05T00:00:00,1\n")
    done = call(capsys, "predict", "train", "rate", dated, "--until", "2d", "--out", out, "--json")
    assert json.loads(done.out)["trained_failures"] == 1
    told = json.loads(call(capsys, "predict", "ask", out, "--at", "2024-01-04", "--json").out)
    assert told["at"] == "2024-01-04T00:00:00"


def named_log(path: Path, rows: list[tuple[int, str]]) -> Path:
    """Write a log of named nodes, days and names."""
    lines = [f"2024-01-{day:02d}T00:00:00,{name}\n" for day, name in rows]
    path.write_text("time,node\n" + "".join(lines))
    return path


def test_nodes_of_a_later_log_are_found_by_name(tmp_path: Path, capsys: Capsys) -> None:
    first = [(1, "b"), (2, "c"), (3, "b"), (4, "c"), (5, "b"), (6, "b")]
    later = [(10, "a"), (11, "c"), (12, "a"), (13, "a"), (14, "d")]
    one = named_log(tmp_path / "one.csv", first)
    two = named_log(tmp_path / "two.csv", later)
    both = named_log(tmp_path / "both.csv", first + later)
    out, whole = tmp_path / "p", tmp_path / "q"
    done = call(capsys, "predict", "train", "rate", one, "--out", out, "--json")
    remarks = json.loads(done.out)["remarks"]
    assert [(row["kind"], row["count"]) for row in remarks] == [("heard_of", 2)]
    assert "2 first failures" in call(capsys, "predict", "train", "rate", one, "--out", out).out
    done = call(capsys, "predict", "ask", out, "--failures", two, "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert {row["node"]: row["name"] for row in told["nodes"]} == dict(enumerate("bcad"))
    assert told["predictor"]["seen_failures"] == 4 + 3  # of a and d the first ones are left out
    assert call(capsys, "predict", "train", "rate", both, "--out", whole).code == 0
    from forestall.prediction.given.predictor_files import load_predictor

    assert len(load_predictor(whole).seen.failures) == 7
    strangers = named_log(tmp_path / "other.csv", [(20, "x"), (21, "x"), (22, "y")])
    done = call(capsys, "predict", "ask", out, "--failures", strangers)
    assert done.code == 2
    assert "a log of the nodes that the predictor knows, such as b" in done.err


def test_list(capsys: Capsys) -> None:
    from forestall.prediction.models.entries import LEARNERS

    rows = json.loads(call(capsys, "predict", "list", "--json").out)
    assert [row["name"] for row in rows] == list(LEARNERS)
    assert all(len(row["summary"]) <= 60 for row in rows)
    text = call(capsys, "predict", "list").out
    assert all(name in text for name in LEARNERS)
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "train", "oracle", "FAILURES", "--out", "x"], "'oracle' is not allowed"),
        (["predict", "train", "rate", "FAILURES", "--out", "no/dir/x"], "cannot be written"),
        (
            ["predict", "train", "rate", "FAILURES", "--out", "x", "--set", "a=1"],
            "rate has no setting 'a'; it has: horizons",
        ),
        (["predict", "train", "rate", "FAILURES", "--out", "x", "--set", "a"], "KEY=VALUE"),
        (["predict", "train", "rate", "missing.csv", "--out", "x"], "missing.csv"),
        (
            ["predict", "train", "outlier", "FAILURES", "--out", "x"],
            "outlier needs metrics (--metrics FILE)",
        ),
        (["predict", "train", "oracle", "FAILURES", "--out", "x"], "NAME: 'oracle'"),
        (
            ["predict", "train", "rate", "FAILURES", "--out", "x", "--set", "horizons=abc"],
            "--set horizons: 'abc' is not allowed",
        ),
        (
            ["predict", "train", "boosted", "FAILURES", "--out", "x", "--set", "seed=-1"],
            "--set seed: -1 is not allowed",
        ),
        (
            ["predict", "train", "rate", "FAILURES", "--out", "x", "--until", "2004-01-01"],
            "--until: '2004-01-01' is not allowed; expected seconds, or a duration such as 10d",
        ),
        (
            ["predict", "train", "rate", "FAILURES", "--out", "x", "--nodes", "8"],
            "--nodes: 8 is not allowed; expected at least as many as the logs have, 16",
        ),
        (["predict", "ask", "PREDICTOR", "--failures", "EARLY"], "--failures: "),
        (["predict", "ask", "PREDICTOR", "--at", "2004-01-01"], "--at: '2004-01-01'"),
        (["predict", "ask", "PREDICTOR", "--until", "5d"], "--until: '5d'"),
        (
            ["simulate", "JOBS", "--failures", "FAILURES", "--predictor", "PREDICTOR"],
            "one that has not learned from the run's failures",
        ),
        (["predict", "ask", "FAILURES"], "not a forestall predictor"),
        (["predict", "ask", "PREDICTOR", "--at", "5"], "no earlier than what the predictor knows"),
        (["predict", "ask", "PREDICTOR", "--nodes", "99"], "numbers from 0 to 15"),
        (["predict", "ask", "PREDICTOR", "--ahead", "0s"], "a duration above 0"),
        (["predict", "ask", "PREDICTOR", "--system", "3"], "--failures FAILURES"),
        (["simulate", "JOBS", "--predictor", "PREDICTOR"], "a failure log as well"),
        (["simulate", "JOBS", "--predictor", "nowhere"], "a file of forestall predict train"),
        (["simulate", "JOBS", "--failures", "FAILURES", "--predictor", "rate"], "--train FILE"),
        (["assess", "predictors", "FAILURES", "--split", "2"], "a number between 0 and 1"),
        (["assess", "predictors", "FAILURES", "--predictors", "oracle"], "'oracle'"),
        (["assess", "predictors", "FAILURES", "--loss", "-1"], "at least 0"),
        (["assess", "value", "JOBS", "--predictors", "PREDICTOR"], "--failures FILE"),
    ],
)
def test_wrong_input_is_one_line(
    failures: Path,
    predictor: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capsys,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"FAILURES": failures, "PREDICTOR": predictor, "JOBS": job_log(tmp_path / "jobs.csv")}
    places["EARLY"] = failure_log(tmp_path / "early.csv", span=10_000)
    before = sorted(tmp_path.iterdir())
    done = call(capsys, *(places.get(one, one) for one in arguments))
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1, done.err
    assert message in done.err
    assert sorted(tmp_path.iterdir()) == before


def test_a_run_with_a_file_and_with_a_name(
    failures: Path, predictor: Path, tmp_path: Path, capsys: Capsys
) -> None:
    jobs = job_log(tmp_path / "jobs.csv")
    base = ["simulate", jobs, "--failures", failures, "--nodes", 16, "--from", 4_000_000]
    more = ["--risk", 0.3, "--json"]
    by_file = json.loads(call(capsys, *base, *more, "--predictor", predictor).out)
    by_name = json.loads(call(capsys, *base, *more, "--predictor", "rate", "--train", failures).out)
    assert by_file["predictor"]["kind"] == "learned"
    assert by_file["predictor"]["trained_until_s"] == 0
    assert by_file["qos"] == by_name["qos"]
    assert (
        "knows nothing of"
        not in call(capsys, *base, "--predictor", "rate", "--train", failures).out
    )
    out = tmp_path / "run"
    done = call(capsys, *base, "--risk", 0.3, "--predictor", predictor, "--log-events",
                "--out", out, "--no-report")  # fmt: skip
    assert done.code == 0, done.err
    assert call(capsys, "certify", out).code == 0
    assert "every byte the same" in call(capsys, "replay", out).out


def test_assess_predictors(failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "study"
    names = ["--predictors", "rate,renewal", "--draws", 40]
    done = call(capsys, "assess", "predictors", failures, *names, "--out", out)
    assert done.code == 0, done.err
    first = done.out.splitlines()[0]
    assert "baseline" in first
    names_there = {path.name for path in out.iterdir()}
    assert {"report.html", "summary.json", "predictors.csv", "scores.csv"} <= names_there
    summary = json.loads((out / "summary.json").read_text())
    again = call(capsys, "assess", "predictors", failures, *names, "--json")
    assert json.loads(again.out) == summary
    scored = json.loads(call(capsys, "assess", "scores", out / "scores.csv", "--json").out)
    chosen = next(row for row in summary["predictors"] if row["name"] == summary["chosen"])
    if chosen["auc"] is not None and scored["auc"] is not None:
        assert abs(scored["auc"] - chosen["auc"]) < 1e-9
    tables = done.out.split("\n\n")[2].splitlines()
    assert all(len(line) <= 100 for line in tables[:4])


def test_assess_predictors_from_files(
    failures: Path, predictor: Path, tmp_path: Path, capsys: Capsys
) -> None:
    arguments = ["assess", "predictors", failures, "--predictors", predictor, "--draws", 20]
    done = call(capsys, *arguments, "--json")
    assert done.code == 0, done.err
    rows = {row["name"]: row for row in json.loads(done.out)["predictors"]}
    assert rows["rate.predictor"]["auc"] is not None
    late = call(capsys, *arguments, "--split", 0.5)
    assert late.code == 2
    assert "nothing after the split" in late.err


def test_assess_value(failures: Path, predictor: Path, tmp_path: Path, capsys: Capsys) -> None:
    jobs = job_log(tmp_path / "jobs.csv")
    base = ["assess", "value", jobs, "--failures", failures, "--nodes", 16, "--from", 4_000_000]
    done = call(capsys, *base, "--predictors", predictor, "--risk", 0.3, "--json")
    assert done.code == 0, done.err
    account = json.loads(done.out)
    names = [row["predictor"] for row in account["predictors"]]
    assert names == ["no prediction", "rate.predictor", "perfect"]
    text = call(capsys, *base, "--predictors", predictor, "--risk", 0.3).out
    assert text.splitlines()[0] == account["verdict"]
    assert call(capsys, *base, "--predictors", "rate").code == 2
    named = call(
        capsys, *base, "--predictors", "rate", "--train", failures, "--risk", 0.3, "--json"
    )
    assert named.code == 0, named.err
    assert json.loads(named.out)["predictors"][1]["qos"] == account["predictors"][1]["qos"]
    easy = call(capsys, *base, "--predictors", predictor, "--policy", "easy")
    assert easy.code == 2
    assert "promise nothing" in easy.err


def test_a_gap_before_the_run_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """What lies between the training and the run counts as time without failures."""
    log, jobs = tmp_path / "dated.csv", job_log(tmp_path / "jobs.csv")
    plain = failure_log(tmp_path / "plain.csv", count=400, span=SPAN).read_text()
    log.write_text("# origin: 2005-01-01T00:00:00\n" + plain)
    path = tmp_path / "p"
    base = ["simulate", jobs, "--failures", log, "--nodes", 16, "--predictor", path, "--risk", 0.3]
    for until, told in (("2005-01-20", True), ("2005-02-10", False)):
        train = ["predict", "train", "rate", log, "--until", until, "--out", path]
        assert call(capsys, *train).code == 0
        done = call(capsys, *base, "--from", "2005-02-10")
        assert done.code == 0, done.err
        assert ("knows nothing of the 21.0 d before the run" in done.out) is told
