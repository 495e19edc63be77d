"""`forestall guest`: wrong input in one line, and the commands on guests that were run."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest

from core.commands.calls import call
from forestall.core.commands.lines import Lines
from forestall.core.processes.files import GuestFiles, GuestState, StayRecord, changed
from forestall.core.processes.processes import marked
from forestall.runs.commands.entry import main


class TestWrongInput:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("run",), "CMD: is missing; expected a command to run"),
            (("run", "--", "no-such-program"), "CMD: 'no-such-program' is not allowed"),
            (("run", "--name", "a/b", "--", "true"), "--name: 'a/b' is not allowed"),
            (("run", "--th1", "2", "--", "true"), "--th1: '2' is not allowed"),
            (("run", "--th1", "0.7", "--", "true"), "--th1: '0.7' is not allowed"),
            (("run", "--every", "0", "--", "true"), "--every: 0"),
            (("run", "--hold", "x", "--", "true"), "--hold: 'x'"),
            (("run", "--guest-memory", "5", "--", "true"), "--guest-memory: '5'"),
            (("run", "--resume-command", "x", "--", "true"), "--resume-command: 'x'"),
            (("run", "--tell", "file:", "--", "true"), "--tell: 'file:'"),
            (("run", "--odd", "--", "true"), "No such option"),
            (("run", "--name", "new"), "CMD: is missing"),
            (("resume", "none"), "NAME: 'none' is not allowed; expected a guest of"),
            (("stop", "none"), "NAME: 'none'"),
            (("log", "none"), "NAME: 'none'"),
            (("log", "../x"), "name: '../x'"),
        ],
    )
    def test_is_one_line(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        arguments: tuple[str, ...],
        told: str,
    ) -> None:
        done = call(capsys, "guest", arguments[0], "--folder", tmp_path, *arguments[1:])
        assert done.code == 2
        assert told in done.err
        assert done.err.count("\n") == 1
        assert done.out == ""

    def test_folder_that_cannot_be_made(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "file").touch()
        done = call(capsys, "guest", "run", "--folder", tmp_path / "file", "--", "true")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert "is a file" in done.err or "Not a directory" in done.err

    def test_broken_record(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        (files.place / "state.json").write_text("{")
        done = call(capsys, "guest", "stop", "g", "--folder", tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1)
        done = call(capsys, "guest", "list", "--folder", tmp_path)
        assert done.code == 0
        assert "not a guest's record" in done.err

    def test_damaged_record_hides_no_other(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name, since in (("bad", "x"), ("worse", 1e30), ("good", 5.0)):
            files = GuestFiles(tmp_path, name)
            files.make()
            record = StayRecord(name=name, id="g-1", command=["true"], cwd="/")
            files.write(changed(record, since=since, state=GuestState.ENDED))
        done = call(capsys, "guest", "list", "--folder", tmp_path)
        assert done.code == 0
        assert done.err.count("not a guest's record (since: ") == done.err.count("\n") == 2
        assert done.out.splitlines()[1].startswith("good   ended")
        done = call(capsys, "guest", "stop", "bad", "--folder", tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1)


def clear(folder: Path, made: subprocess.Popen[bytes]) -> None:
    """End whatever is left of a command and its guest."""
    made.kill()
    made.wait()
    record = GuestFiles(folder, "g").read()
    if record is not None and record.kept():
        os.kill(record.keeper, signal.SIGKILL)
    for one in [] if record is None else marked(record.id):
        one.send(signal.SIGKILL)


class TestReaderGoes:
    """The command in a process of its own, whose terminal or reader goes away."""

    def start(self, tmp_path: Path, script: str, **how: Any) -> subprocess.Popen[bytes]:
        pytest.importorskip("psutil")
        words = ["--name", "g", "--th1", "1", "--th2", "1", "--folder", str(tmp_path)]
        return subprocess.Popen(
            [sys.executable, "-m", "forestall", "guest", "run", *words,
             "--checkpoint", f"sleep 0.3; echo saved >> {tmp_path / 'hooked'}",
             "--", "sh", "-c", script],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
            **how,
        )  # fmt: skip

    def test_terminal_hangs_up(self, tmp_path: Path) -> None:
        ours, theirs = pty.openpty()
        made = self.start(
            tmp_path, "echo begun; sleep 60", stdin=theirs, stdout=theirs, stderr=theirs,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        try:
            os.close(theirs)
            heard = b""
            while b"lowered" not in heard and select.select([ours], [], [], 15)[0]:
                heard += os.read(ours, 4096)
            os.close(ours)
            assert made.wait(20) == 130
            record = GuestFiles(tmp_path, "g").read()
            assert record is not None
            assert marked(record.id) == []
        finally:
            clear(tmp_path, made)
        assert (tmp_path / "hooked").read_text() == "saved\n"
        assert record.state is GuestState.ENDED
        assert record.checkpoint > 0

    def test_pipe_is_closed(self, tmp_path: Path) -> None:
        made = self.start(
            tmp_path,
            f"echo a; while [ ! -e {tmp_path / 'go'} ]; do sleep 0.05; done; echo b; exit 3",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert made.stdout is not None
        try:
            for line in made.stdout:
                if b"lowered" in line:
                    break
            made.stdout.close()
            (tmp_path / "go").touch()
            assert made.wait(20) == 3
        finally:
            clear(tmp_path, made)
        assert (tmp_path / "guests" / "g" / "stdout").read_text() == "a\nb\n"
        assert GuestFiles(tmp_path, "g").entries()[-1]["state"] == "failed"


class TestCommands:
    def test_run_list_and_log(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("psutil")
        free = ("--th1", "1", "--th2", "1", "--folder", tmp_path)
        done = call(capsys, "guest", "run", "--name", "g", *free, "--", "sh", "-c", "exit 5")
        assert done.code == 5, done
        assert "g: lowered: started at lowest priority: owner's load " in done.err
        assert "g: failed: ended by itself with code 5; " in done.err  # how much CPU time varies
        listed = call(capsys, "guest", "list", "--folder", tmp_path)
        assert listed.out.splitlines()[1].startswith("g      failed")
        [told] = json.loads(call(capsys, "guest", "list", "--json", "--folder", tmp_path).out)
        assert (told["state"], told["exit_code"], told["attempts"]) == ("failed", 5, 1)
        log = call(capsys, "guest", "log", "g", "--folder", tmp_path)
        *lines, last = log.out.splitlines()
        assert last == f"Output: stdout and stderr in {tmp_path / 'guests' / 'g'}"  # to be copied
        assert max(map(len, lines)) <= 100, log.out
        assert "ended by itself with code 5" in " ".join(log.out.split())
        entries = json.loads(call(capsys, "guest", "log", "g", "--json", "--folder", tmp_path).out)
        assert [one["state"] for one in entries] == ["lowered", "failed"]
        again = call(capsys, "guest", "resume", "g", "--folder", tmp_path)
        assert (again.code, again.err.count("\n")) == (2, 1)
        assert "has failed with code 5" in again.err

    def test_long_reasons_and_paths(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Figures and reasons are as long as they are; a table is as wide as it may be."""
        place = tmp_path / ("far" * 30)
        files = GuestFiles(place, "g" * 64)
        files.make()
        why = f"no checkpoint: /{'x' * 150} ended with code 100; the previous one remains"
        record = StayRecord(
            name=files.name, id="g-1", command=["true"], cwd="/", why=why, pid=4194303
        )
        files.write(changed(record, state=GuestState.UNWATCHED, attempts=1000, cpu=1e7))
        files.log("unwatched", why, load=1.0, host="S3")
        for words in (("list",), ("log", files.name)):
            done = call(capsys, "guest", *words, "--folder", place)
            *lines, last = done.out.splitlines()
            assert max(map(len, lines)) <= 100, done.out
            assert "code 100; the previous one remains" in " ".join(done.out.split())
            assert last.startswith(f"Output: stdout and stderr in {place / 'guests'}/")

    def test_what_is_said_is_wrapped_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("COLUMNS", "60")
        line = "06:00:00 g: ended: its manager got SIGTERM; it used 10.3 s of CPU time; resume"
        Lines(quiet=False)(line)
        assert len(terminal.getvalue().splitlines()) == 2
        assert max(map(len, terminal.getvalue().splitlines())) <= 60
        assert " ".join(terminal.getvalue().split()) == line

    def test_quiet(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("psutil")
        free = ("--th1", "1", "--th2", "1", "--folder", tmp_path, "--quiet", "--name")
        done = call(capsys, "guest", "run", *free, "g", "--", "sh", "-c", "exit 3")
        assert done == (3, "", "")
        odd = tmp_path / "odd"
        odd.write_text("no program")
        odd.chmod(0o755)
        done = call(capsys, "guest", "run", *free, "h", "--", odd)
        assert (done.code, done.out) == (2, "")
        assert f"h: failed: cannot be started: {odd}: Exec format error" in done.err

    def test_output_is_shown_and_kept(
        self, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        pytest.importorskip("psutil")
        words = [
            "--th1", "1", "--th2", "1", "--folder", str(tmp_path), "--", "sh", "-c",
            "printf 'out\\377'; echo err >&2",
        ]  # fmt: skip
        assert main(["guest", "run", "--name", "g", *words]) == 0
        out, err = capfdbinary.readouterr()
        assert out == b"out\xff"
        place = tmp_path / "guests" / "g"
        assert f"g: output is kept in {place / 'stdout'} and stderr\n".encode() in err
        assert b"\nerr\n" in err
        assert (place / "stdout").read_bytes() == b"out\xff"
        assert main(["guest", "run", "--name", "h", "--output", "file", "-q", *words]) == 0
        assert capfdbinary.readouterr() == (b"", b"")
        assert (place.parent / "h" / "stdout").read_bytes() == b"out\xff"
        assert main(["guest", "list", "--folder", str(tmp_path)]) == 0
        last = capfdbinary.readouterr()[0].decode().splitlines()[-1]
        assert last == f"Output: stdout and stderr in {place.parent}/NAME"

    def test_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert call(capsys, "guest", "list", "--folder", tmp_path).out == "no guests\n"
        assert call(capsys, "guest", "list", "--json", "--folder", tmp_path).out == "[]\n"

    def test_stop_of_what_ended(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        record = StayRecord(name="g", id="g-1", command=["true"], cwd="/", why="the host was busy")
        files.write(changed(record, state=GuestState.ENDED))
        done = call(capsys, "guest", "stop", "g", "--folder", tmp_path)
        assert (done.code, done.out) == (0, "g: ended: the host was busy\n")
