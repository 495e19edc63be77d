"""The monitor's connection: greeting, answers, refusals, events, and partners that misbehave."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import MissingExtraError
from forestall.machines.adapters.qemu.monitor import (
    Monitor,
    MonitorError,
    MonitorEvent,
    RefusedError,
)

GREETING = {
    "QMP": {
        "version": {"qemu": {"major": 7, "minor": 2, "micro": 22}, "package": ""},
        "capabilities": [],
    }
}
STOPPED = {"event": "STOP", "timestamp": {"seconds": 100, "microseconds": 250_000}}
LEFT = {"event": "SHUTDOWN", "timestamp": {"seconds": 101, "microseconds": 0},
        "data": {"guest": True}}  # fmt: skip

Answer = Callable[[dict[str, Any]], list[dict[str, Any]] | None]


def commands(near: socket.socket) -> Iterator[dict[str, Any]]:
    """What is said on a connection: objects one after the other, with nothing between them."""
    text = ""
    while data := near.recv(4096):
        text += data.decode()
        while text.strip():
            try:
                said, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                break
            text = text[end:].lstrip()
            yield said


@contextmanager
def speaking(path: Path, answer: Answer, greet: bool = True) -> Iterator[Path]:
    """A monitor that says to each command what `answer` gives; None hangs up."""

    def serve() -> None:
        near, _ = listening.accept()
        with near, near.makefile("rwb") as stream:
            if greet:
                stream.write(json.dumps(GREETING).encode() + b"\r\n")
                stream.flush()
            for said in commands(near):
                plain = said["execute"] == "qmp_capabilities"
                replies = [{"return": {}}] if plain else answer(said)
                if replies is None:
                    return
                number = {"id": said["id"]} if "id" in said else {}
                for reply in replies:
                    named = reply if "event" in reply else reply | number
                    stream.write(json.dumps(named).encode() + b"\r\n")
                stream.flush()

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
    thread.join(5)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pytest.importorskip("qemu.qmp")
    return tmp_path / "m"


def test_question_and_answer(path: Path) -> None:
    asked = []

    def answer(said: dict[str, Any]) -> list[dict[str, Any]]:
        asked.append((said["execute"], said.get("arguments")))
        return [{"return": {"status": "running"}}]

    with speaking(path, answer), Monitor(path, "vm") as monitor:
        assert monitor.ask("query-status") == {"status": "running"}
        monitor.ask("migrate-set-parameters", max_bandwidth=5)
    assert asked == [("query-status", None), ("migrate-set-parameters", {"max-bandwidth": 5})]


def test_a_refusal_says_what_and_why(path: Path) -> None:
    def answer(_: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"error": {"class": "GenericError", "desc": "no room"}}]

    with (
        speaking(path, answer),
        Monitor(path, "vm on n1") as monitor,
        pytest.raises(RefusedError, match=r"^vm on n1: QEMU refused migrate: no room$"),
    ):
        monitor.ask("migrate", uri="x")


def test_events_carry_the_hosts_time(path: Path) -> None:
    with (
        speaking(path, lambda _: [STOPPED, {"return": {}}, LEFT]),
        Monitor(path, "vm") as monitor,
    ):
        monitor.ask("stop")
        while len(monitor.events()) < 2:
            monitor.wait(5)
        assert monitor.events() == [
            MonitorEvent("STOP", 100.25, {}),
            MonitorEvent("SHUTDOWN", 101.0, {"guest": True}),
        ]


def test_it_hangs_up(path: Path) -> None:
    with (
        speaking(path, lambda _: None),
        Monitor(path, "vm") as monitor,
        pytest.raises(MonitorError, match=r"^vm: QEMU is gone \(query-status\)$"),
    ):
        monitor.ask("query-status")


def test_it_does_not_answer(path: Path) -> None:
    with (
        speaking(path, lambda _: []),
        Monitor(path, "vm", patience=0.3) as monitor,
        pytest.raises(MonitorError, match=r"gives no answer.*query-status"),
    ):
        monitor.ask("query-status")


def test_it_does_not_greet(path: Path) -> None:
    with (
        speaking(path, lambda _: [], greet=False),
        pytest.raises(MonitorError, match="another program connected"),
        Monitor(path, "vm", patience=0.3),
    ):
        pass


def test_waiting_ends_when_it_is_gone(path: Path) -> None:
    with speaking(path, lambda _: None), Monitor(path, "vm") as monitor:
        with pytest.raises(MonitorError):
            monitor.ask("quit")
        with pytest.raises(MonitorError):
            monitor.wait(5)


def test_nobody_is_there(path: Path) -> None:
    with pytest.raises(MonitorError, match="no monitor"), Monitor(path, "vm", patience=0.1):
        pass


def test_a_process_that_is_gone_is_not_waited_for(path: Path) -> None:
    gone = Monitor(path, "vm", patience=600, alive=lambda: False)
    with pytest.raises(MonitorError, match="QEMU is gone"), gone:
        pass


def test_without_the_library(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qemu.qmp", None)
    with pytest.raises(MissingExtraError, match=r"forestall\[qemu\]"), Monitor(path, "vm"):
        pass
