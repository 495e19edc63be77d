"""Work over a running Dask scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import forestall as fs
from core.commands.calls import call
from core.dask.slow_work import begun
from slurm_cluster.cluster import free_ports

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """Return where a scheduler with two workers is."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address=None, silence_logs=50,
    ) as cluster:  # fmt: skip
        yield "dask://" + cluster.scheduler_address.removeprefix("tcp://")


def test_work_comes_as_it_is_done(scheduler: str, tmp_path: Path) -> None:
    said: list[str] = []
    found = dict(fs.over_cluster(scheduler, begun, range(5), (tmp_path, 0.0), tell=said.append))
    assert found == {number: (number * number, "") for number in range(5)}
    assert said == ["2 workers have joined this scheduler"]


def test_a_stopped_sweep_goes_on_there(
    scheduler: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for what in (("jobs", "jobs.swf", "--days", "2"), ("failures", "failures.csv", "--days", "90")):
        assert call(capsys, "traces", "generate", *what, "--nodes", "32")[0] == 0
    asked = ("sweep", "jobs.swf", "--failures", "failures.csv", "--accuracy", "0:1:0.5", "--nodes")
    for where in (("here", "--workers", "1"), ("there", "--on", scheduler)):
        given = (*asked, "32", "--no-report", "--out", *where)
        assert call(capsys, *given)[0] == 0
    whole = (tmp_path / "here" / "points.jsonl").read_bytes()
    assert (tmp_path / "there" / "points.jsonl").read_bytes() == whole
    lines = whole.splitlines(keepends=True)
    (tmp_path / "there" / "points.jsonl").write_bytes(b"".join(lines[:2]) + lines[2][:20])
    code, printed, _ = call(capsys, *given)
    assert (code, "1 of them from before" in printed) == (0, True)
    for name in ("sweep.csv", "sweep.json", "points.jsonl"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--on", "pbs"), "--on: 'pbs' is not allowed; expected slurm,"),
        (("--on", "dask://h:1", "--workers", "2"), "--workers: 2 is not allowed; expected none"),
        (("--on", "slurm", "--workers", "1"), "slurm: no sbatch here"),
    ],
)
def test_bad_places(
    asked: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    call(capsys, "traces", "generate", "jobs", "jobs.swf", "--days", "1", "--nodes", "32")
    monkeypatch.setenv("PATH", "/nowhere")
    code, _, err = call(capsys, "sweep", "jobs.swf", "--nodes", "32,33", *asked)
    assert (code, said in err) == (2, True), err


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = pytest.importorskip("forestall.core.dask.spread")
    monkeypatch.setattr(spread, "LIMIT", 0.5)
    (port,) = free_ports(1)
    with pytest.raises(fs.errors.UnreachableError, match="no scheduler"):
        list(fs.over_cluster(f"dask://127.0.0.1:{port}", begun, range(2), None))
