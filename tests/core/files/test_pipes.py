"""What can be read only once is read as a file is: FIFOs, standard input, packed or not."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import forestall as fs
from core.commands.calls import call, failure_log, job_log
from forestall.core.files.pipes import readable
from forestall.core.model.errors import TraceError
from forestall.runs.commands.entry import main
from golden.play import RECORDED


def fifo(path: Path, content: bytes) -> Path:
    """Make a FIFO through which a content comes once."""

    def write() -> None:
        with suppress(BrokenPipeError):
            path.write_bytes(content)

    os.mkfifo(path)
    threading.Thread(target=write, daemon=True).start()
    return path


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[bytes], None]:
    """Return what puts a content into standard input."""
    monkeypatch.setattr("forestall.core.files.pipes._kept", {})
    monkeypatch.chdir(tmp_path)

    def put(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return put


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".swf"])
def test_a_log_through_a_fifo_is_the_log(tmp_path: Path, suffix: str, packed: bool) -> None:
    jobs = fs.read_jobs(job_log(tmp_path / "jobs.csv"))
    place = tmp_path / f"log{suffix}"
    if place != tmp_path / "jobs.csv":
        assert main(["traces", "convert", str(tmp_path / "jobs.csv"), str(place)]) == 0
    content = place.read_bytes()
    if packed and suffix != ".parquet":
        content = gzip.compress(content)
    read = fs.read_jobs(fifo(tmp_path / "pipe", content))
    assert read.submit.tolist() == jobs.submit.tolist()
    assert read.runtime.tolist() == jobs.runtime.tolist()


def test_a_site_and_a_run_from_pipes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As `report <(sacct ...) <(scontrol ...)` does it."""
    folder = RECORDED / "20.11"
    pipes = [
        fifo(tmp_path / f"p{k}", (folder / name).read_bytes())
        for k, name in enumerate(("sacct.jobs.epoch.txt", "sacctmgr.event.epoch.txt"))
    ]
    files = [folder / "sacct.jobs.epoch.txt", folder / "sacctmgr.event.epoch.txt"]
    piped = call(capsys, "report", *pipes, "--json")
    plain = call(capsys, "report", *files, "--json")
    assert piped.code == plain.code == 0, piped.err
    for pipe, file in zip(pipes, files, strict=True):
        piped = piped._replace(
            out=piped.out.replace(str(pipe), str(file)).replace(pipe.name, file.name)
        )
    assert piped.out == plain.out


def test_standard_input(
    tmp_path: Path, given: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    log = failure_log(tmp_path / "failures.csv").relative_to(tmp_path)
    plain = call(capsys, "traces", "info", log)
    given(log.read_bytes())
    said = call(capsys, "traces", "info", "-")
    assert said.code == 0
    assert said.out.replace(" -\n", " X\n") == plain.out.replace(f" {log}\n", " X\n")


def test_nothing_comes(
    tmp_path: Path, given: Callable[[bytes], None], capsys: pytest.CaptureFixture[str]
) -> None:
    given(b"")
    assert call(capsys, "traces", "info", "-") == (
        2,
        "",
        "forestall: -: is empty; expected a job log\n",
    )


def test_a_terminal_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, given: Callable[[bytes], None]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    with pytest.raises(TraceError, match="standard input, and nothing comes from there"):
        readable("-")


def test_a_file_of_that_name_is_a_file(tmp_path: Path, given: Callable[[bytes], None]) -> None:
    (tmp_path / "-").write_text("x")
    assert readable("-") == Path("-")
    assert readable(tmp_path) == tmp_path
    assert readable("missing") == Path("missing")


def test_what_does_not_fit_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(TraceError, match="folder of temporary files: No space left"):
        readable(fifo(tmp_path / "pipe", b"x"))
