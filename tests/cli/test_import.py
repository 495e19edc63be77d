"""`forestall import slurm`, and commands that take what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.calls import call
from forestall.cli.import_ import group
from forestall.model.errors import TraceError

RECORDED = Path(__file__).parents[1] / "adapters" / "slurm" / "recorded" / "22.05"
FILES = [
    str(RECORDED / name)
    for name in ("sacct.jobs.txt", "sacctmgr.event.txt", "scontrol.node.txt", "squeue.json")
]


def run(*arguments: str) -> str:
    done = CliRunner().invoke(group(), ["slurm", *arguments])
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
    assert "41 in 46 runs" in said
    assert "7 (5 fault, 2 administrative, 0 unclear)" in said
    for word in ("jobs.parquet", "failures.parquet", "forestall simulate", "forestall report",
                 "forestall reliability", "--nodes 6"):  # fmt: skip
        assert word in said


def test_it_says_so_in_json(tmp_path: Path) -> None:
    said = json.loads(
        run(*FILES, "--out", str(tmp_path / "a"), "--anonymize", "--json", "--zone", "UTC")
    )
    assert said["anonymized"]
    assert said["counts"]["jobs"] == 41
    assert (tmp_path / "a.key").is_file()


def test_errors_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        run("nowhere.txt", "--out", str(tmp_path / "site"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("traces", "info", "jobs.parquet"), "41 (25 usable)"),
        (("traces", "info", "failures.parquet"), "6 (4 with failures)"),
        (("traces", "info", "runs.parquet"), "46 (35 with start, end and nodes)"),
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
    assert "46 jobs on 6 nodes" in done.out
