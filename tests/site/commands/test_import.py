"""`forestall import slurm`, and commands that take what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from core.commands.calls import call
from forestall.core.model.errors import TraceError
from forestall.logs.read import read_failures
from forestall.runs.commands.application import app

RECORDED = Path(__file__).parents[2] / "slurm" / "recorded" / "22.05"
FILES = [
    str(RECORDED / name)
    for name in ("sacct.jobs.txt", "sacctmgr.event.txt", "scontrol.node.txt", "squeue.json")
]


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["import", "slurm", *arguments])
    if done.exception is not None:
        raise done.exception
    return done.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("import") / "site"
    run(*FILES, "--out", str(folder), "--zone", "Europe/Berlin", "--quiet")
    return folder


def test_it_says_what_was_read_and_who_takes_it(tmp_path: Path) -> None:
    said = run(*FILES, "--out", str(tmp_path / "site"), "--zone", "Europe/Berlin")
    assert "50 in 55 runs" in said
    assert "7 (5 fault, 2 administrative, 0 unclear)" in said
    for word in ("jobs.parquet", "failures.parquet", "forestall simulate", "forestall report",
                 "forestall reliability", "--nodes 6"):  # fmt: skip
        assert word in said


def test_it_says_so_in_json(tmp_path: Path) -> None:
    said = json.loads(
        run(*FILES, "--out", str(tmp_path / "a"), "--anonymize", "--json", "--zone", "UTC")
    )
    assert said["anonymized"]
    assert said["counts"]["jobs"] == 50  # ten wait as one array
    assert (tmp_path / "a.key").is_file()


def test_errors_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        run("nowhere.txt", "--out", str(tmp_path / "site"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("traces", "info", "jobs.parquet"), "50 (25 usable)"),
        (("traces", "info", "failures.parquet"), "6 (4 with failures)"),
        (("traces", "info", "runs.parquet"), "55 (35 with start, end and nodes)"),
        (("reliability", "failures.parquet"), "Weibull"),
        (("simulate", "jobs.parquet", "--nodes", "6", "--failures", "failures.parquet"),
         "Promises kept"),
    ],
)  # fmt: skip
def test_other_commands_take_the_files(
    site: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...], said: str
) -> None:
    words = [str(site / word) if word.endswith(".parquet") else word for word in command]
    done = call(capsys, *words)
    assert done.code == 0, done.err
    assert said in done.out


def test_jobs_are_assessed_with_metrics(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["time,node,load"]
    for step in range(-200, 200, 4):
        rows += [f"{1795292094 + step},n{k},{(step * k) % 7}" for k in range(1, 7)]
    metrics = tmp_path / "metrics.csv"
    metrics.write_text("\n".join(rows) + "\n")
    done = call(capsys, "assess", "jobs", site / "runs.parquet", "--metrics", metrics)
    assert done.code == 0, done.err
    assert "55 jobs on 6 nodes" in done.out


def write(path: Path, *lines: str, end: str = "\n") -> Path:
    path.write_text("\n".join(lines) + end)
    return path


HEAD = "JobIDRaw|State|Submit|Start|End|NNodes|NodeList|SubmitLine"
T0 = 1_700_000_000


def jobs_txt(folder: Path, *, end: str = "\n") -> Path:
    rows = [
        f"{k}|COMPLETED|{T0 + k * 86_400}|{T0 + k * 86_400}|{T0 + k * 86_400 + 60}|8|n[1-8]|sbatch"
        for k in range(1, 20)
    ]
    return write(folder / "jobs.txt", HEAD, *rows, end=end)


def events_txt(folder: Path) -> Path:
    return write(
        folder / "events.txt",
        "NodeName|TimeStart|TimeEnd|State|Reason",
        f"n3|{T0 + 5 * 86_400}|{T0 + 6 * 86_400}|DOWN|Not responding",
    )


def test_failures_are_of_all_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only nodes that were ever out were there."""
    said = run(str(jobs_txt(tmp_path)), str(events_txt(tmp_path)), "--out", str(tmp_path / "a"))
    assert "--nodes 8 --failures" in said
    log = read_failures(tmp_path / "a" / "failures.parquet")
    assert (log.nodes, log.names) == (8, tuple(f"n{k}" for k in range(1, 9)))
    assert log.node.tolist() == [2]
    done = call(capsys, "reliability", tmp_path / "a" / "failures.parquet")
    assert "of 8 nodes" in done.out
    far = tmp_path / "a-folder-with-a-name-so-long-that-a-command-does-not-fit-into-100-columns"
    alone = run(str(jobs_txt(tmp_path)), "--out", str(far))
    assert f"forestall simulate {far}/jobs.parquet --nodes 8\n" in alone


def test_nodes_that_came_late_or_are_gone(tmp_path: Path) -> None:
    day = 86_400
    rows = [f"{k}|COMPLETED|{T0 + k * day}|{T0 + k * day}|{T0 + (k + 1) * day}|1|{node}|sbatch"
            for k, node in ((0, "n1"), (3, "old"), (40, "new"), (90, "n1"))]  # fmt: skip
    jobs = write(tmp_path / "jobs.txt", HEAD, *rows)
    nodes = write(tmp_path / "nodes.txt", "NodeName=n1 State=IDLE", "NodeName=new State=IDLE")
    event = f"n1|{T0 + 5 * day}|{T0 + 6 * day}|DOWN|Not responding"
    events = write(tmp_path / "events.txt", "NodeName|TimeStart|TimeEnd|State|Reason", event)
    run(str(jobs), str(events), str(nodes), "--out", str(tmp_path / "a"))
    log = read_failures(tmp_path / "a" / "failures.parquet")
    assert log.names == ("n1", "new", "old")
    assert log.service_start is not None
    assert log.service_end is not None
    assert log.service_start.tolist() == [0, 40 * day, 0]
    assert log.service_end.tolist() == [91 * day + 1, 91 * day + 1, 4 * day + 1]


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    whole = run(str(jobs_txt(tmp_path)), "--out", str(tmp_path / "a"))
    assert "cut off" not in whole
    for end in (
        "",
        "\n30|COMPLETED|17000",
        "\n30|COMPLETED|1700000000|1700000000|1700000060|1|n1|sb",
    ):
        said = run(str(jobs_txt(tmp_path, end=end)), "--out", str(tmp_path / "a"))
        line = 20 + bool(end)
        assert f"may be cut off (no newline at the end): jobs.txt line {line}" in said


def test_what_falls_out_of_the_window_and_the_key(tmp_path: Path) -> None:
    arguments = (str(jobs_txt(tmp_path)), "--out", str(tmp_path / "a"), "--since", "5d")
    for more in ((), ("--anonymize",)):
        assert "of 19 runs 14 outside the window" in run(*arguments, *more)
    said = json.loads(run(*arguments, "--anonymize", "--json"))
    assert said["key"] == str(tmp_path / "a.key")


def test_what_cannot_be_imported_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = write(tmp_path / "nodes.txt", "NodeName=n1 State=IDLE")
    swf = write(
        tmp_path / "a.swf", "; MaxNodes: 4", "1 0 10 100 4 -1 -1 4 200 -1 1 7 1 3 1 -1 -1 -1"
    )
    headless = write(tmp_path / "e.txt", "n5|2026-11-21T21:21:51|2026-11-21T21:21:56|DOWN|fan|root")
    (tmp_path / "empty").mkdir()
    for arguments, said in (
        ((nodes,), "nodes.txt: 1 node (scontrol or sinfo)"),
        ((swf,), "needs no import"),
        ((headless,), "show event without its header"),
        ((tmp_path / "empty",), "is a folder without import.json"),
        ((jobs_txt(tmp_path), "--anonymize-key", "k"), "--anonymize beside it"),
        ((jobs_txt(tmp_path), "--timeout", "5m"), "a live Slurm to go with it"),
    ):
        done = call(capsys, "import", "slurm", *arguments, "--out", tmp_path / "out")
        assert (done.code, done.err.count("\n")) == (2, 1), done
        assert said in done.err


def test_traces_info_of_an_imported_folder(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "traces", "info", site)
    assert done.code == 0, done.err
    assert "2026-" in done.out
    for words in ("known nodes", "slurm, by", "sacct.jobs.txt: 55 runs"):
        assert words in done.out
    part = call(capsys, "traces", "info", site / "events.parquet")
    assert (part.code, part.err.count("\n")) == (2, 1)
    assert "is a table of an imported folder" in part.err
    odd = call(capsys, "traces", "info", site, "--days", 3)
    assert odd.code == 2
    assert "nothing with an imported folder" in odd.err
