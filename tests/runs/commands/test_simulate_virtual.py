"""`forestall simulate --model virtual`: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from core.commands.calls import call, failure_log, job_log
from forestall.core.model.settings import Kind
from forestall.machines.settings import VIRTUAL

Capsys = pytest.CaptureFixture[str]
FILES = {
    "summary.json", "jobs.csv", "tasks.csv", "runs.csv", "migrations.csv", "failures.csv",
    "skipped.csv", "manifest.json", "report.html",
}  # fmt: skip


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "jobs.csv")


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "failures.csv")


def virtual(jobs: Path, *more: object) -> tuple[object, ...]:
    machine = ("--nodes", 16, "--processors-per-node", 2)
    return ("simulate", jobs, "--model", "virtual", *machine, *more)


def summary_of(capsys: Capsys, *arguments: object) -> dict[str, object]:
    done = call(capsys, *arguments, "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert isinstance(summary, dict)
    return summary


@pytest.mark.parametrize("strategy", ["random", "first-fit", "best-fit", "omniscient"])
def test_the_line_that_others_script_against(
    strategy: str, jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "deep" / "run"
    done = call(
        capsys, "simulate", jobs, "--model", "virtual", "--failures", failures, "--nodes", 16,
        "--processors-per-node", 2, "--strategy", strategy, "--alpha", 0.25,
        "--prediction-accuracy", 0.9, "--out", out,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    assert {path.name for path in out.iterdir()} == FILES
    summary = json.loads((out / "summary.json").read_text())
    asked = {
        "nodes": 16, "processors_per_node": 2, "strategy": strategy, "alpha": 0.25,
        "prediction_accuracy": 0.9,
    }  # fmt: skip
    assert summary["parameters"] == {**VIRTUAL.parameters().model_dump(), **asked}
    assert summary["model"] == "virtual"
    ended = pl.read_csv(out / "jobs.csv")
    assert summary["job_completion_rate"] == ended["completed"].mean()
    assert summary["task_completion_rate"] == ended["tasks_completed"].sum() / ended["size"].sum()
    assert summary["migrations"] == len(pl.read_csv(out / "migrations.csv"))
    assert summary["lost_work"] == pytest.approx(pl.read_csv(out / "tasks.csv")["lost"].sum())


def test_what_is_printed(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "run"
    done = call(capsys, *virtual(jobs, "--failures", failures, "--out", out))
    assert (done.code, done.err) == (0, "")
    words = ("Jobs completed", "95 %", "Tasks completed", "Lost work", "processor-hours")
    for text in (*words, "best-fit", "16 nodes of 2 processors", str(out / "report.html")):
        assert text in done.out
    table = [line for line in done.out.splitlines()[1:] if str(out) not in line]
    assert len(table) > 10
    assert max(map(len, table)) <= 100
    assert call(capsys, *virtual(jobs, "--quiet", "--out", out)) == (0, "", "")


def test_no_failures_are_said(jobs: Path, capsys: Capsys) -> None:
    assert "nothing failed" in call(capsys, *virtual(jobs)).out


def test_the_same_bytes_again(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    for name in ("one", "two"):
        base = virtual(jobs, "--failures", failures, "--strategy", "random", "--log-events")
        assert call(capsys, *base, "--out", tmp_path / name, "-q").code == 0
    one, two = (sorted((tmp_path / name).iterdir()) for name in ("one", "two"))
    assert [path.name for path in one] == [path.name for path in two]
    assert {"events.csv", "decisions.csv"} <= {path.name for path in one}
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_a_folder_goes_from_one_model_to_the_other(
    jobs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "run"
    assert call(capsys, *virtual(jobs, "--out", out, "-q")).code == 0
    base = ("simulate", jobs, "--nodes", 16, "--out", out, "-q")
    assert call(capsys, *base, "--log-events").code == 0
    names = {path.name for path in out.iterdir()}
    assert "foreseen.csv" in names
    assert not {"tasks.csv", "migrations.csv"} & names
    assert call(capsys, *virtual(jobs, "--out", out, "-q")).code == 0
    assert {path.name for path in out.iterdir()} == FILES


def test_shared_options_mean_the_same(jobs: Path, failures: Path, capsys: Capsys) -> None:
    base = virtual(jobs, "--failures", failures)
    down = summary_of(capsys, *base, "--downtime", "10h")
    assert down["parameters"]["downtime"] == 36_000  # type: ignore[index]
    short = summary_of(capsys, *base)
    assert down["processor_seconds"]["down"] > short["processor_seconds"]["down"]  # type: ignore[index]
    again = summary_of(capsys, *base, "--checkpoint", "periodic", "--checkpoint-interval", "30m",
                       "--checkpoint-overhead", "1m", "--repeat-failures", "--seed", 5)  # fmt: skip
    assert again["restarts"] > 0  # type: ignore[operator]
    assert again["seed"] == 5
    raised = summary_of(capsys, *base, "--min-runtime", "10h")
    assert (
        raised["skipped"]
        == {"raised_to_min_runtime": 60, "longer_than_requested": 51} | short["skipped"]
    )  # type: ignore[operator]


def test_sizes_of_swf_count_tasks(tmp_path: Path, capsys: Capsys) -> None:
    jobs = tmp_path / "jobs.swf"
    rows = [(1, 0, 100, 8), (2, 5, 60, 9), (3, 9, 60, 4)]
    lines = [f"{j} {t} -1 {r} {n} -1 -1 {n} 500 -1 1 1 1 -1 1 -1 -1 -1" for j, t, r, n in rows]
    jobs.write_text("\n".join(["; MaxProcs: 100", *lines]) + "\n")
    machine = ("--nodes", 2, "--processors-per-node", 4)
    base = ("simulate", jobs, "--model", "virtual", *machine)
    done = call(capsys, *base)
    assert "2 jobs of 12 tasks" in done.out
    assert "left out: 1 job of more tasks than the 8 that" in done.out
    assert "has 100 processors" in done.out


def test_options_from_a_file(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    config = tmp_path / "run.toml"
    config.write_text(
        f'model = "virtual"\nnodes = 16\nprocessors-per-node = 2\nalpha = "dynamic"\n'
        f'failures = "{failures}"\nmigration = "pre-copy"\nvm-memory = 2048\nlead = "2m"\n'
        "backfill = true\nmax-downtime = 0.5\n"
    )
    base = ("simulate", jobs, "--config", config)
    parameters = summary_of(capsys, *base, "--least-rate", "0.5")["parameters"]
    assert isinstance(parameters, dict)
    asked = {
        "nodes": 16, "processors_per_node": 2, "alpha": "dynamic", "migration": "pre-copy",
        "vm_memory": 2048.0, "lead": 120, "backfill": True, "max_downtime": 0.5,
        "least_rate": 0.5,
    }  # fmt: skip
    assert parameters == {**VIRTUAL.parameters().model_dump(), **asked}
    done = call(capsys, *base, "--model", "promise")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "only with --model virtual" in done.err


def test_predictions_of_the_log(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    log = pl.read_csv(failures).with_columns(predicted=pl.col("time") - 5)
    log.write_csv(tmp_path / "own.csv")
    own = virtual(jobs, "--failures", tmp_path / "own.csv", "--prediction-accuracy", 0)
    by_default = summary_of(capsys, *own)
    recorded = summary_of(capsys, *own, "--predictor", "recorded")
    for name in ("job_completion_rate", "migrations", "lost_work", "predictor"):
        assert by_default[name] == recorded[name]
    assert "which are used instead of --prediction-accuracy" in call(capsys, *own).out


@pytest.mark.parametrize("name", ["hazard", "rate", "FILE"])
def test_predictors_that_learn(name: str, jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    log = failure_log(tmp_path / "long.csv", count=300, span=2_000_000)
    given: tuple[object, ...] = ("--failures", log, "--from", 1_500_000)
    if name == "FILE":
        file = tmp_path / "rate.predictor"
        train = ("predict", "train", "rate", log, "--until", 1_500_000, "--out", file)
        done = call(capsys, *train)
        assert done.code == 0, done.err
        given = (*given, "--predictor", file)
    else:
        given = (*given, "--predictor", name, "--train", log)
    summary = summary_of(capsys, *virtual(jobs, *given))
    assert summary["predictor"]["name"].startswith(  # type: ignore[index]
        "hazard" if name == "hazard" else "rate"
    )
    assert summary["parameters"]["predictor"] == (  # type: ignore[index]
        "hazard" if name == "hazard" else "learned"
    )


def test_the_span_of_the_map(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = virtual(jobs, "--failures", failures, "-q")
    for name, more in (("whole", ()), ("part", ("--gantt", "1h:5h"))):
        assert call(capsys, *base, "--out", tmp_path / name, *more).code == 0
    whole, part = tmp_path / "whole", tmp_path / "part"
    assert (whole / "report.html").read_bytes() != (part / "report.html").read_bytes()
    assert (whole / "tasks.csv").read_bytes() == (part / "tasks.csv").read_bytes()
    assert call(capsys, *base, "--out", tmp_path / "bare", "--no-report").code == 0
    assert {path.name for path in (tmp_path / "bare").iterdir()} == FILES - {"report.html"}


def test_runs_side_by_side(jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys) -> None:
    base = virtual(jobs, "--failures", failures, "--no-report", "-q", "--out")
    folders = [tmp_path / name for name in ("random", "best-fit")]
    for folder in folders:
        assert call(capsys, *base, folder, "--strategy", folder.name).code == 0
    page = tmp_path / "page.html"
    done = call(capsys, "compare", *folders, "--out", page)
    assert done.code == 0
    assert "Jobs completed" in done.out
    assert "processor-hours" in done.out
    assert "node-hours" not in done.out + page.read_text()
    plain = json.loads(call(capsys, "compare", *folders, "--json").out)
    assert plain["differing"] == {"strategy": ["random", "best-fit"]}
    promise = tmp_path / "promise"
    call(capsys, "simulate", jobs, "--nodes", 16, "--out", promise, "--no-report", "-q")
    mixed = json.loads(call(capsys, "compare", folders[0], promise, "--json").out)
    assert set(mixed["measures"]) == {"Utilization", "Wait, mean"}


WRONG = [
    ["--strategy", "worst-fit"],
    ["--alpha", "1.5"],
    ["--alpha", "nan"],
    ["--alpha", "static"],
    ["--prediction-accuracy", "-0.1"],
    ["--prediction-accuracy", "nan"],
    ["--prediction-accuracy", "much"],
    ["--prediction-error", "late"],
    ["--false-negatives", "1.1"],
    ["--predict-every", "0"],
    ["--predict-every", "daily"],
    ["--lead", "-5"],
    ["--lead", "soon"],
    ["--migration", "teleport"],
    ["--migration-cost", "inf"],
    ["--migration-cost", "-1"],
    ["--vm-memory", "0"],
    ["--vm-memory", "2 GiB"],
    ["--link", "0"],
    ["--link", "inf"],
    ["--dirty-rate", "-1"],
    ["--max-downtime", "0"],
    ["--tau", "guessed"],
    ["--overload-limit", "0"],
    ["--overload-limit", "1"],
    ["--overload-limit", "0.3333"],
    ["--overload-hold", "0"],
    ["--max-downtime", "1h"],
    ["--past-deadline", "walk"],
    ["--task-processors", "0"],
    ["--task-processors", "0.0015"],
    ["--least-rate", "0"],
    ["--least-rate", "3"],
    ["--slack", "0.5"],
    ["--slack", "loose"],
    ["--processors-per-node", "0"],
    ["--processors-per-node", "2.5"],
    ["--node-sizes", "3"],
    ["--processors-per-node", "many"],
    ["--nodes", "0"],
    ["--seed", "-1"],
    ["--downtime", "0"],
    ["--checkpoint", "risk"],
    ["--checkpoint-interval", "0"],
    ["--checkpoint-overhead", "x"],
    ["--min-runtime", "0"],
    ["--predictor", "tea-leaves"],
    ["--predictor", "trace"],
    ["--predictor", "recorded"],
    ["--predictor", "hazard"],
    ["--predictor", "rate"],
    ["--train", "failures.csv"],
    ["--policy", "easy"],
    ["--accuracy", "0.5"],
    ["--risk", "0.9"],
    ["--placement", "first"],
    ["--estimates", "requested"],
    ["--overrun", "cut"],
    ["--no-compression"],
    ["--requeue", "now"],
    ["--mtbf", "1d"],
    ["--gantt", "6h:3h"],
    ["--model", "cloud"],
]


def test_every_option_has_a_wrong_value() -> None:
    options = {
        "--" + name.replace("_", "-")
        for name, one in VIRTUAL.declared.items()
        if one.kind is not Kind.FLAG
    }
    assert options <= {case[0] for case in WRONG}


def assert_refused(capsys: Capsys, out: Path, *arguments: object, names: str) -> str:
    code, printed, err = call(capsys, *arguments, "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)
    assert err.startswith("forestall: ")
    assert names in err
    assert not out.exists()
    return err


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_wrong_options(
    options: list[str], jobs: Path, failures: Path, tmp_path: Path, capsys: Capsys
) -> None:
    given = virtual(jobs, "--failures", failures, *options)
    name = options[0].replace("--no-", "").removeprefix("--")
    assert_refused(capsys, tmp_path / "out", *given, names=name)


@pytest.mark.parametrize(
    "options", [["--strategy", "random"], ["--backfill"], ["--link", "5"]], ids=" ".join
)
def test_options_of_virtual_machines_alone(
    options: list[str], jobs: Path, tmp_path: Path, capsys: Capsys
) -> None:
    out = tmp_path / "out"
    err = assert_refused(capsys, out, "simulate", jobs, *options, names=options[0])
    assert "only with --model virtual, not with --model promise" in err


@pytest.mark.parametrize(
    "content",
    [
        'model = "cloud"\n',
        'model = "virtual"\nrisk = 0.5\n',
        'model = "virtual"\nalpha = [0.1, 0.2]\n',
        'model = "virtual"\nbackfill = "yes"\n',
        'model = "virtual"\nprocessors-per-node = 1.5\n',
        'model = "virtual"\nlink = true\nlink-speed = 4\n',
        "strategy = 'random'\n",
    ],
)
def test_wrong_files_of_options(content: str, jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    config = tmp_path / "run.toml"
    config.write_text(content)
    assert_refused(capsys, tmp_path / "out", "simulate", jobs, "--config", config, names="")


def test_jobs_without_any_that_fits(jobs: Path, tmp_path: Path, capsys: Capsys) -> None:
    few = ("simulate", jobs, "--model", "virtual", "--nodes", 1, "--jobs", "2:2")
    assert_refused(capsys, tmp_path / "out", *few, names="jobs.csv")
    late = ("simulate", jobs, "--model", "virtual", "--log-events")
    code, _, err = call(capsys, *late)
    assert (code, err.count("\n")) == (2, 1)
    assert "--out" in err
