"""Who is told of changes: bad commands, files and folders keep nobody waiting and leave nothing."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

from forestall.core.processes.processes import look
from forestall.sharing.guest.tell import Teller
from sharing.guest.managed import wait_for

CHANGE = {"state": "lowered", "why": "load"}


def test_folder_that_is_gone(tmp_path: Path) -> None:
    teller = Teller(f"cat > {tmp_path / 'told'}", str(tmp_path / "gone"))
    assert teller.tell(CHANGE) == ""
    assert teller.finish() == ""
    assert json.loads((tmp_path / "told").read_text()) == CHANGE


def test_command_that_cannot_be_started_is_trouble() -> None:
    told = Teller("true", "/" + "x" * 10).tell(CHANGE | {"state": "x" * 200_000})
    assert told.startswith("tell: the command cannot be started: ")


def test_slow_command_ends_with_all_that_it_started(tmp_path: Path) -> None:
    teller = Teller("sleep 3340 & echo $! > pid.new; mv pid.new pid; wait", str(tmp_path), 0.5)
    assert teller.tell(CHANGE) == ""
    wait_for((tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text())
    assert look(pid) is not None
    time.sleep(0.5)
    assert teller.go_on() == "tell: the command took longer than 0.5 s, and was ended"
    wait_for(lambda: (one := look(pid)) is None or not one.alive)


def test_the_end_has_one_limit_for_all(tmp_path: Path) -> None:
    teller = Teller("echo >> began; sleep 3340", str(tmp_path), 0.4)
    for _ in range(30):
        teller.tell(CHANGE)
    assert teller.finish() == "tell: too slow: 28 of the last changes were not reported" or (
        len((tmp_path / "began").read_text()) <= 2
    )


def test_pipe_without_a_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    told: list[str] = []
    teller = Teller(f"file:{tmp_path / 'pipe'}", "/")
    thread = threading.Thread(target=lambda: told.append(teller.tell(CHANGE)), daemon=True)
    thread.start()
    thread.join(5)
    assert told == [f"tell file:{tmp_path / 'pipe'}: No such device or address"]
