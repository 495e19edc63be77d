"""`forestall design`: what is printed, JSON that others script against, and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call, job_log
from forestall.core.show import words

CLUSTER = """
[[groups]]
name = "blade"
count = 516
mttf = "102840h"
shape = 0.75
[[queues]]
name = "Huge"
nodes = 258
limit = "2-00:00:00"
slots = 2
[[queues]]
name = "Interactive"
nodes = 516
limit = "1h"
slots = 2
[checkpoint]
cost = "15m"
copies = 2
[optimize]
queues = 2
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.toml"
    path.write_text(CLUSTER)
    return path


def test_text(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "design", cluster)
    assert (code, err) == (0, "")
    for part in (
        "cluster: 516 nodes; ages: all nodes as new at time 0",
        "24.8 h with all nodes new, 8.3 d between failures in steady state",
        "60.70 %",
        "F_job: 10.77 %",
        "the 12 best of",
        "Huge: 1 spare in each job",
        "Interactive: 515 nodes per job and 1 spare",
        "No spares for Interactive: there is no node beside those of a job.",
        "with 2 copies of each checkpoint",
    ):
        assert part in " ".join(out.split())
    heads = ("Queue", "Huge", "Interactive", "Change", "nodes")
    tables = [line for line in out.splitlines() if line.startswith(heads)]
    assert len(tables) > 8
    assert max(map(len, tables)) <= 100


def test_json(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "design", cluster, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["queues"][0]["name"] == "Huge"
    assert told["queues"][0]["failure_probability"] == pytest.approx(0.60695, abs=1e-5)
    assert told["job_failure_probability"] == pytest.approx(0.10775, abs=1e-5)
    assert told["mttf"]["steady"] == pytest.approx(102_840 * 3600 / 516)
    assert told["mttf"]["new"] < told["mttf"]["steady"]
    assert 3600 < told["checkpoint_interval_s"] < 86_400
    assert told["spares"]["target"] == 0.99
    assert told["spares"]["queues"]["Huge"] == told["queues"][0]["spares"] > 0
    assert {"title", "before", "after", "capacity_change"} <= told["changes"][0].keys()


def test_search_with_a_log(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs, out = job_log(tmp_path / "jobs.csv"), tmp_path / "out"
    code, text, err = call(capsys, "design", cluster, "--optimize", "--jobs", jobs, "--out", out)
    assert (code, err) == (0, "")
    assert "Queues for jobs.csv, 60 jobs\n516 nodes that all share, at most 2 queues" in text
    assert "Trade-off for the whole mix" in text
    assert (out / "tradeoff.png").stat().st_size > 10_000
    told = json.loads((out / "design.json").read_text())
    assert (
        told["optimize"]["best"]["job_failure_probability"]
        <= (told["optimize"]["now"]["job_failure_probability"])
    )
    _, again, _ = call(
        capsys, "design", cluster, "--optimize", "--jobs", jobs, "--out", out, "--json"
    )
    assert json.loads(again) == told


def test_quiet_and_top(cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "design", cluster, "--quiet").out == ""
    assert "What single changes" not in call(capsys, "design", cluster, "--top", 0).out
    assert "(the 3 best of" in call(capsys, "design", cluster, "--top", 3).out


def test_refusals(cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(CLUSTER.replace('"1h"', '"soon"'))
    code, out, err = call(capsys, "design", bad, "--out", tmp_path / "out")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "bad.toml: queues[2].limit: 'soon' is not allowed" in err
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    assert call(capsys, "design", cluster, "--out", tmp_path / "full").code == 2
    assert call(capsys, "design", cluster, "--jobs", "jobs.csv").code == 2
    assert call(capsys, "design", tmp_path / "none.toml").code == 2
    assert call(capsys, "design", cluster, "--optimize", "--jobs", tmp_path / "none.swf").code == 2


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0 %"), (1.0, "100 %"), (0.5, "50.00 %"), (0.12345, "12.35 %"), (0.9995, "99.950 %"),
        (0.99995, "99.9950 %"), (0.00012, "0.012 %"), (1e-9, "<0.0001 %"), (1 - 1e-9, ">99.9999 %"),
    ],
)  # fmt: skip
def test_percent(probability: float, text: str) -> None:
    assert words.probability(probability) == text
