"""Records, logs and locks of guests on the disk."""

from __future__ import annotations

import errno
import json
import os
import socket
from pathlib import Path
from typing import Any, NoReturn

import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.processes import files as guest_files
from forestall.core.processes.files import (
    MANAGER_LOCK,
    GuestFiles,
    GuestState,
    StayRecord,
    all_guests,
    boot_id,
    changed,
)
from forestall.core.processes.usage import started_at
from forestall.sharing.guest.link import Link


@pytest.fixture
def files(tmp_path: Path) -> GuestFiles:
    made = GuestFiles(tmp_path, "g")
    made.make()
    return made


RECORD = StayRecord(name="g", id="g-1", command=["true"], cwd="/")


class TestRecord:
    def test_comes_back(self, files: GuestFiles) -> None:
        record = changed(RECORD, state=GuestState.STOPPED, why="spike", pid=7, cgroup="/x")
        files.write(record)
        assert files.read() == record
        assert [one.name for one in all_guests(files.folder)] == ["g"]
        assert files.place.stat().st_mode & 0o077 == 0

    @pytest.mark.parametrize(
        "text",
        [
            "", "[]", "{}", '{"version": 2}', '{"version": 1}',
            json.dumps({"version": 1, "state": "odd", "name": "g", "id": "g", "command": []}),
        ],
    )  # fmt: skip
    def test_broken_is_one_line(self, files: GuestFiles, text: str) -> None:
        (files.place / "state.json").write_text(text)
        with pytest.raises(TraceError, match="not a guest's record"):
            files.read()

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("since", "x"), ("since", 1e30), ("since", -1), ("cpu", "x"), ("cpu", None),
            ("cpu", []), ("cpu", {}), ("checkpoint", True), ("why", 3),
            ("settings", []), ("settings", "x"), ("command", "true"), ("command", [1]),
            ("exit_code", "0"), ("cgroup", 5), ("keeper", 1.5),
            ("boot", None), ("state", None), ("state", ["ended"]), ("name", {}),
        ],
    )  # fmt: skip
    def test_every_field_is_looked_at(self, files: GuestFiles, key: str, value: Any) -> None:
        files.write(RECORD)
        path = files.place / "state.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
        with pytest.raises(TraceError, match=f"not a guest's record .{key}: "):
            files.read()

    def test_state_now(self) -> None:
        here = {"boot": boot_id(), "state": GuestState.LOWERED}
        own = {"manager": os.getpid(), "manager_created": started_at(os.getpid())}
        keeps = {"keeper": os.getpid(), "keeper_created": started_at(os.getpid())}
        assert changed(RECORD, **here, **own).now() is GuestState.LOWERED
        assert changed(RECORD, **here, **keeps).now() is GuestState.UNWATCHED
        assert changed(RECORD, **here).now() is GuestState.ENDED
        later = changed(RECORD, **{**here, **own, "boot": "another"})
        assert later.now() is GuestState.ENDED
        assert changed(RECORD, state=GuestState.WAITING).now() is GuestState.ENDED
        assert changed(RECORD, state=GuestState.FINISHED).now() is GuestState.FINISHED

    @pytest.mark.parametrize("name", ["", "a/b", "..", ".a", "a b", "x" * 65, "a.json"])
    def test_odd_names(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ParameterError, match="name"):
            GuestFiles(tmp_path, name)


class TestFullDisk:
    @pytest.fixture(autouse=True)
    def full(self, files: GuestFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        """A disk that is full from the second record on: nothing new can be made."""
        files.write(RECORD)

        def no_room(*_: object, **__: object) -> NoReturn:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(guest_files, "atomic_path", no_room)

    def test_the_end_is_still_written(self, files: GuestFiles) -> None:
        for why in ("finished with code 0; 0.3 s of CPU time " * 3, "finished"):
            record = changed(RECORD, state=GuestState.FINISHED, exit_code=0, why=why)
            files.write(record)
            assert files.read() == record

    def test_what_has_no_room_leaves_the_one_before(self, files: GuestFiles) -> None:
        with pytest.raises(TraceError, match="No space left"):
            files.write(changed(RECORD, why="x" * 100_000))
        assert files.read() == RECORD

    def test_a_lone_keeper_needs_no_second_file(self, files: GuestFiles) -> None:
        record = changed(RECORD, state=GuestState.UNWATCHED)
        files.write(record, alone=True)
        assert files.taken_over() == record


class TestLog:
    def test_lines_that_are_none_are_left_out(self, files: GuestFiles) -> None:
        files.log("stopped", "load 90%", load=0.9)
        with (files.place / "log.jsonl").open("a") as file:
            file.write('{"time": 1}\nxyz\n{"time": 999999999999999, "state": "a", "why": ""}\n')
        files.log("lowered", "load 50%")
        assert [one["state"] for one in files.entries()] == ["stopped", "lowered"]
        assert files.entries()[0]["load"] == 0.9

    def test_none_yet(self, files: GuestFiles) -> None:
        assert files.entries() == []


class TestLock:
    def test_one_at_a_time(self, files: GuestFiles) -> None:
        with files.managed():
            assert files.held(MANAGER_LOCK)
            assert files.manager() == os.getpid()
            with (
                pytest.raises(TraceError, match=f"another manager .process {os.getpid()}. runs"),
                files.managed(),
            ):
                pass
        assert not files.held(MANAGER_LOCK)


class TestLink:
    def test_last_words_are_heard_though_nothing_can_be_sent(self) -> None:
        ours, theirs = (Link(one) for one in socket.socketpair())
        theirs.send(event="ended", code=0)
        theirs.close()
        for _ in range(3):
            ours.send(do="nothing")
        assert ours.receive() == [{"event": "ended", "code": 0}]
        assert ours.receive() == []
        assert ours.broken

    def test_pieces_become_whole(self) -> None:
        raw, theirs = socket.socketpair()
        ours = Link(theirs)
        raw.sendall(b'{"do": "st')
        assert ours.receive() == []
        raw.sendall(b'art"}\n{"do": "end"}\n')
        assert [one["do"] for one in ours.receive(1.0)] == ["start", "end"]
        assert not ours.broken
        raw.close()
        assert ours.receive(1.0) == []
        assert ours.broken
        ours.close()
