"""What cannot be used: one line that says why, exit code 2, and nothing written."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from core.commands.calls import call, failure_log, job_log

Make = Callable[[Path], object]
HEAD = "job,submit,size,runtime\n"


def text(content: str) -> Make:
    return lambda path: path.write_text(content)


def cut_gzip(path: Path) -> None:
    rows = "".join(f"{k},{k * 10},1,{random.Random(k).randrange(10_000)}\n" for k in range(5000))
    whole = gzip.compress((HEAD + rows).encode())
    path.write_bytes(whole[: len(whole) // 2])


BAD_JOBS: dict[str, tuple[str, Make]] = {
    "missing": ("nowhere.swf", lambda path: None),
    "a folder": ("jobs.swf", lambda path: path.mkdir()),
    "empty": ("jobs.swf", text("")),
    "header only": ("jobs.csv", text(HEAD)),
    "comments only": ("jobs.swf", text("; Version: 2.2\n; MaxNodes: 8\n")),
    "binary": ("jobs.swf", lambda path: path.write_bytes(bytes(range(256)) * 20)),
    "truncated gzip": ("jobs.csv.gz", cut_gzip),
    "no gzip": ("jobs.csv.gz", lambda path: path.write_bytes(b"\x1f\x8b\x08 nothing")),
    "cut Parquet": ("jobs.parquet", lambda path: path.write_bytes(b"PAR1" + b"\0" * 40)),
    "wrong columns": ("jobs.csv", text("name,begin\na,1\n")),
    "prose": ("jobs.txt", text("these are not jobs\nnor is this\n")),
    "too few fields": ("jobs.swf", text("1 0 0\n2 3\n")),
    "negative submit": ("jobs.csv", text(HEAD + "1,-5,1,10\n")),
    "no numbers": ("jobs.csv", text(HEAD + "1,soon,1,10\n")),
    "not finite": ("jobs.csv", text(HEAD + "1,nan,1,10\n2,inf,1,5\n")),
    "beyond all times": ("jobs.csv", text(HEAD + "1,99999999999999999999999,1,10\n")),
    "no run times": ("jobs.csv", text(HEAD + "1,0,1,0\n2,5,1,-1\n")),
    "all too large": ("jobs.csv", text(HEAD + "1,0,500,10\n")),
}
BAD_FAILURES: dict[str, Make] = {
    "empty": text(""),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 20),
    "wrong columns": text("when,who\n1,2\n"),
    "negative node": text("time,node\n5,-3\n"),
    "negative time": text("time,node\n-5,3\n"),
    "no numbers": text("time,node\nsoon,here\n"),
    "bad detectability": text("time,node,detectability\n5,1,7.5\n"),
    "node beyond all machines": text("time,node\n5,99999999999999999999\n"),
}
BAD_OPTIONS = [
    ["--accuracy", "nan"],
    ["--accuracy", "inf"],
    ["--accuracy", "1.5"],
    ["--accuracy", "much"],
    ["--risk", "-0.1"],
    ["--nodes", "0"],
    ["--nodes", "-4"],
    ["--nodes", "2.5"],
    ["--nodes", "1e99"],
    ["--nodes", "99999999999"],
    ["--seed", "-1"],
    ["--policy", "best"],
    ["--checkpoint", "often"],
    ["--placement", "last"],
    ["--checkpoint-overhead", "inf"],
    ["--checkpoint-overhead", "-5"],
    ["--checkpoint-interval", "0"],
    ["--checkpoint-interval", "5 parsecs"],
    ["--downtime", "nan"],
    ["--downtime", "0"],
    ["--min-runtime", "x"],
    ["--mtbf", "0"],
    ["--jobs", "5"],
    ["--jobs", "9:2"],
    ["--jobs", "1000:"],
    ["--processors-per-node", "0"],
    ["--processors-per-node", "many"],
    ["--fold-nodes", "0"],
    ["--days", "nan"],
    ["--days", "-1"],
    ["--from", "yesterday"],
    ["--failure-format", "morse"],
    ["--config", "nowhere.toml"],
    ["--workers", "2"],
]


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    return job_log(tmp_path / "good.csv")


@pytest.fixture
def failures(tmp_path: Path) -> Path:
    return failure_log(tmp_path / "good-failures.csv")


def assert_refused(
    capsys: pytest.CaptureFixture[str], out: Path, *arguments: object, names: str = ""
) -> str:
    code, printed, err = call(capsys, *arguments, "--out", out)
    assert code == 2
    assert printed == ""
    assert err.startswith("forestall: ")
    assert err.count("\n") == 1
    assert names in err
    assert not out.exists()
    return err


@pytest.mark.parametrize("kind", BAD_JOBS)
def test_jobs(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, make = BAD_JOBS[kind]
    make(tmp_path / name)
    out = tmp_path / "out"
    assert_refused(capsys, out, "simulate", tmp_path / name, "--nodes", 16, names=name)
    assert_refused(capsys, out, "sweep", tmp_path / name, "--nodes", "16,17", names=name)


@pytest.mark.parametrize("kind", BAD_FAILURES)
def test_failures(
    kind: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad-failures.csv"
    BAD_FAILURES[kind](bad)
    assert_refused(
        capsys, tmp_path / "out", "simulate", jobs, "--failures", bad, names="bad-failures.csv"
    )


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=" ".join)
def test_options(
    options: list[str],
    jobs: Path,
    failures: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["simulate", jobs, "--failures", failures, *options]
    name = options[1] if options[0] == "--config" else options[0]
    assert_refused(capsys, tmp_path / "out", *given, names=name)


@pytest.mark.parametrize(
    "content",
    [
        "acuracy = 0.5\n",
        "accuracy = \n",
        "accuracy = [0.1, 0.2]\n",
        'compression = "maybe"\n',
        "nodes = true\n",
        "nodes = 1.5\n",
        "[machine]\nnodes = 5\n",
        'checkpoint-overhead = "1h"\ncheckpoint_overhead = "2h"\n',
        "log-events = 1\n",
    ],
)
def test_files_of_options(
    content: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.toml"
    config.write_text(content)
    assert_refused(capsys, tmp_path / "out", "simulate", jobs, "--config", config)


def test_an_unknown_key_names_file_and_key(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "run.toml"
    config.write_text("acuracy = 0.5\n")
    err = call(capsys, "simulate", jobs, "--config", config).err
    assert err == f"forestall: {config}: unknown option 'acuracy'; did you mean 'accuracy'?\n"


def test_options_of_failures_without_failures(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(capsys, tmp_path / "out", "simulate", jobs, "--days", 3, names="--failures")


def test_a_strict_run_refuses_odd_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = tmp_path / "jobs.csv"
    jobs.write_text(HEAD + "1,0,1,10\n2,x,1,10\n")
    assert call(capsys, "simulate", jobs, "--nodes", 4).code == 0
    assert_refused(capsys, tmp_path / "out", "simulate", jobs, "--strict", names="jobs.csv:3")


def test_a_strict_run_refuses_what_is_not_on_the_machine(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beyond = tmp_path / "beyond.csv"
    beyond.write_text("time,node\n10,3\n50,99999\n")
    run = ("simulate", jobs, "--nodes", 8)
    assert call(capsys, *run, "--failures", beyond).code == 0
    said = assert_refused(capsys, tmp_path / "out", *run, "--failures", beyond, "--strict")
    assert "1 node of the failure log beyond the first 8" in said
    assert "99999" in said
    assert_refused(capsys, tmp_path / "out", "simulate", jobs, "--nodes", 4, "--strict",
                   names="larger than the 4 nodes")  # fmt: skip


@pytest.mark.parametrize("model", [(), ("--model", "virtual", "--processors-per-node", 1)])
def test_a_machine_may_be_lucky(
    model: tuple[object, ...], jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none, out = tmp_path / "none.csv", tmp_path / "out"
    none.write_text("time,node\n")
    run = ("simulate", jobs, "--nodes", 8, *model, "--failures", none)
    code, said, _ = call(capsys, *run, "--strict", "--out", out)
    assert (code, "1 log without any failure" in said) == (0, True)
    assert "every check passed" in call(capsys, "certify", out).out
    assert call(capsys, "reliability", none).code == 2


@pytest.mark.parametrize(
    "values",
    ["1:0:0.1", "0:1:0", "0:1:-1", "0:1", "a:b:c", "0,,1", "", "0:1:1e-9", "nan:1:0.1"],
)
def test_ranges(
    values: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert_refused(
        capsys, tmp_path / "out", "sweep", jobs, "--accuracy", values, names="--accuracy"
    )


def test_a_folder_of_something_else(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "mine"
    out.mkdir()
    (out / "thesis.tex").write_text("...")
    for command in ("simulate", "sweep"):
        code, _, err = call(capsys, command, jobs, "--nodes", 16, "--out", out)
        assert (code, err.count("\n")) == (2, 1)
        assert "--force" in err
    code, _, err = call(capsys, "demo", "--out", out)
    assert code == 2
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("place", ["good.csv", "good.csv/deeper"])
def test_a_file_where_a_folder_should_be(
    place: str, jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = call(capsys, "simulate", jobs, "--nodes", 16, "--out", tmp_path / place)
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["certify", "nowhere"],
        ["replay", "nowhere"],
        ["compare", "nowhere", "nowhere-else"],
        ["traces", "info", "nowhere"],
        ["traces", "convert", "nowhere", "out.swf"],
        ["traces", "generate", "jobs", "out.swf"],
        ["traces", "generate", "jobs", "out.swf", "--days", "3", "--load", "nan"],
        ["traces", "generate", "jobs", "out.docx", "--days", "3"],
        ["traces", "generate", "failures", "out.csv", "--preset", "nobody"],
        ["traces", "generate", "failures", "nowhere/out.csv"],
        ["traces", "generate", "failures", "out.csv", "--mtbf-hours", "0"],
    ],
    ids=" ".join,
)
def test_other_commands(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert not list(tmp_path.iterdir())


def test_a_machine_of_a_million_nodes(
    jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is either simulated or refused by one line; nothing in between."""
    out = tmp_path / "out"
    assert_refused(capsys, out, "simulate", jobs, "--nodes", 2_000_000, names="--nodes")
