"""A disk that is full while a command writes: one line that names the file, exit 2, nothing torn.

The limit of a file's size stands for the disk: writing beyond it fails in the same way.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cycle.cycle_small import QUICK, guests_file, hosts_file
from cli.calls import call

MODEL = ("--model", "cycle", "--scheduler", "condor", *QUICK)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let files grow to a size; the signal of more is ignored, as by Python itself."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def files(folder: Path) -> set[str]:
    """Return the files below a folder."""
    return {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}


@pytest.mark.parametrize("name", ["h.csv", "h.csv.gz", "h.parquet"])
def test_generated_hosts(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / name
    words = ("--hosts", 2, "--days", 7, "--period", "5m")
    with no_file_above(4000):
        done = call(capsys, "traces", "generate", "hosts", out, *words)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"forestall: {out}: cannot be written: File too large\n"
    assert list(tmp_path.iterdir()) == []


def test_figures_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    jobs, hosts = guests_file(tmp_path / "g.csv"), hosts_file(tmp_path / "h.csv")
    out = tmp_path / "out"
    words = ("sweep", jobs, *MODEL, "--hosts", hosts, "--job-length", "30m,1h", "--out", out, "-q")
    with no_file_above(8000):
        done = call(capsys, *words)
    picture = out / "figures" / "lengths.png"
    assert (done.code, done.out) == (2, "")
    assert done.err == f"forestall: {picture}: cannot be written: File too large\n"
    assert files(out) == {"points.jsonl", "sweep.csv"}
    assert call(capsys, *words).code == 0  # it goes on from there
    assert {"figures/lengths.png", "report.html", "sweep.json"} < files(out)


def test_points_of_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, hosts = guests_file(tmp_path / "g.csv"), hosts_file(tmp_path / "h.csv")
    out = tmp_path / "out"
    words = ("sweep", jobs, *MODEL, "--hosts", hosts, "--seed", "1:9", "--out", out, "-q")
    with no_file_above(3000):
        done = call(capsys, *words, "--workers", 1)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"forestall: {out}/points.jsonl: cannot be written: File too large\n"
    assert files(out) == {"points.jsonl"}
    assert call(capsys, *words, "--workers", 1).code == 0


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, hosts = guests_file(tmp_path / "g.csv"), hosts_file(tmp_path / "h.csv")
    out = tmp_path / "out"
    with no_file_above(30_000):
        done = call(capsys, "simulate", jobs, *MODEL, "--hosts", hosts, "--out", out, "-q")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"forestall: {out}/report.html: cannot be written: File too large\n"
    assert not out.exists()
