"""`forestall guest`: wrong input in one line, and the commands on guests that were run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calls import call
from forestall.live.guest.files import GuestFiles, GuestState, Record, changed


class TestWrongInput:
    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("run",), "CMD: '' is not allowed; expected a command to run"),
            (("run", "--", "no-such-program"), "CMD: 'no-such-program' is not allowed"),
            (("run", "--name", "a/b", "--", "true"), "--name: 'a/b' is not allowed"),
            (("run", "--th1", "2", "--", "true"), "--th1: '2' is not allowed"),
            (("run", "--th1", "0.7", "--", "true"), "--th1: '0.7' is not allowed"),
            (("run", "--every", "0", "--", "true"), "--every: 0"),
            (("run", "--hold", "x", "--", "true"), "--hold: 'x'"),
            (("run", "--guest-memory", "5", "--", "true"), "--guest-memory: '5'"),
            (("run", "--resume", "x", "--", "true"), "--resume: 'x'"),
            (("run", "--tell", "file:", "--", "true"), "--tell: 'file:'"),
            (("run", "--odd", "--", "true"), "No such option"),
            (("run", "--name", "new"), "CMD: '' is not allowed"),
            (("resume", "none"), "NAME: 'none' is not allowed; expected a guest of"),
            (("stop", "none"), "NAME: 'none'"),
            (("log", "none"), "NAME: 'none'"),
            (("log", "../x"), "--name: '../x'"),
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
        assert "Not a directory" in done.err

    def test_broken_record(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        (files.place / "state.json").write_text("{")
        done = call(capsys, "guest", "stop", "g", "--folder", tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1)
        done = call(capsys, "guest", "list", "--folder", tmp_path)
        assert done.code == 0
        assert "is no guest's record" in done.err


class TestCommands:
    def test_run_list_and_log(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        pytest.importorskip("psutil")
        free = ("--th1", "1", "--th2", "1", "--folder", tmp_path)
        done = call(capsys, "guest", "run", "--name", "g", *free, "--", "sh", "-c", "exit 5")
        assert done.code == 5, done
        assert "g: lowered: started at lowest priority: owner's load " in done.out
        assert "g: failed: ended by itself with code 5; 0.0 s of CPU time" in done.out
        listed = call(capsys, "guest", "list", "--folder", tmp_path)
        assert listed.out.splitlines()[1].startswith("g      failed")
        [told] = json.loads(call(capsys, "guest", "list", "--json", "--folder", tmp_path).out)
        assert (told["state"], told["exit_code"], told["attempts"]) == ("failed", 5, 1)
        log = call(capsys, "guest", "log", "g", "--folder", tmp_path)
        assert all(len(line) <= 100 for line in log.out.splitlines())
        assert "ended by itself with code 5" in " ".join(log.out.split())
        entries = json.loads(call(capsys, "guest", "log", "g", "--json", "--folder", tmp_path).out)
        assert [one["state"] for one in entries] == ["lowered", "failed"]
        again = call(capsys, "guest", "resume", "g", "--folder", tmp_path)
        assert (again.code, again.err.count("\n")) == (2, 1)
        assert "has failed with code 5" in again.err

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

    def test_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert call(capsys, "guest", "list", "--folder", tmp_path).out == "no guests\n"
        assert call(capsys, "guest", "list", "--json", "--folder", tmp_path).out == "[]\n"

    def test_stop_of_what_ended(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        files = GuestFiles(tmp_path, "g")
        files.make()
        record = Record(name="g", id="g-1", command=["true"], cwd="/", why="the host was busy")
        files.write(changed(record, state=GuestState.ENDED))
        done = call(capsys, "guest", "stop", "g", "--folder", tmp_path)
        assert (done.code, done.out) == (0, "g: ended: the host was busy\n")
