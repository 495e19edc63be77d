"""Work over a running Slurm: the same bytes as here; a worker job that is killed is replaced."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import forestall as fs
from core.commands.calls import call
from core.dask.slow_work import begun
from forestall.core.dask.place import place_of
from slurm_cluster.cluster import Cluster, why_not

spread = pytest.importorskip("forestall.core.dask.spread")
pytestmark = pytest.mark.slow
ON = "slurm:partition=main,memory=900MiB,interface=lo"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if reason := why_not():
        pytest.skip(reason)
    with Cluster(plain=2, with_gpus=1) as cluster:
        yield cluster


@pytest.fixture
def slurm(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, f"{value}:{os.environ['PATH']}" if name == "PATH" else value)
    here = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{here.parent / 'src'}:{here}")
    return cluster


def test_a_killed_job_is_replaced_and_its_work_done_again(slurm: Cluster, tmp_path: Path) -> None:
    """One of two worker jobs is cancelled in the middle of its work, the other's node crashes."""
    said: list[str] = []
    found, lost = {}, set()
    work = spread.over_cluster(
        place_of(ON), begun, range(24), (tmp_path, 0.5), workers=2, folder=tmp_path,
        tell=said.append,
    )  # fmt: skip
    for number, (square, job) in work:
        found[number] = square
        running = {int(path.name.split("-")[1]) for path in tmp_path.glob("[0-9]*-*")}
        if not lost and len(running) == 2:
            slurm.command("scancel", job)
            lost.add(int(job))
    assert found == {number: number * number for number in range(24)}
    assert lost
    jobs = {int(path.name.split("-")[1]) for path in tmp_path.glob("[0-9]*-*")}
    assert len(jobs) == 3, jobs
    assert said[0] == "asking Slurm for 2 worker jobs"
    assert said[-1] == "2 of 2 worker jobs run"
    slurm.until("no job is left", lambda: not slurm.command("squeue", "-h").stdout.strip())
    assert not list(tmp_path.glob(".dask-*"))


def test_a_sweep_gives_the_same_bytes(
    slurm: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for what in (("jobs", "jobs.swf", "--days", "3"), ("failures", "failures.csv", "--days", "90")):
        assert call(capsys, "traces", "generate", *what, "--nodes", "32")[0] == 0
    points = ("--failures", "failures.csv", "--accuracy", "0:1:0.5", "--nodes", "32", "--no-report")
    for where in (("here", "--workers", "1"), ("there", "--workers", "2", "--on", ON)):
        code, _, err = call(capsys, "sweep", "jobs.swf", *points, "--out", *where)
        assert (code, err) == (0, "")
    for name in ("sweep.csv", "sweep.json", "points.jsonl"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


def test_what_slurm_refuses(slurm: Cluster, tmp_path: Path) -> None:
    place = place_of("slurm:partition=nowhere,interface=lo")
    with pytest.raises(fs.errors.InputError, match="Invalid partition"):
        list(spread.over_cluster(place, begun, range(2), None, folder=tmp_path))
