"""Those who ask a driver for a save: each gets the answer to what it asked."""

from __future__ import annotations

import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forestall.vaults.acting.calls import answer, ask, asked, asking
from forestall.vaults.acting.held import RunError


def _drive(place: Path, over: threading.Event, refused: str = "") -> None:
    """Answer as a driver does: some at a time."""
    told: list[tuple[str, str]] = []
    waiting: list[str] = []
    while not over.is_set():
        if word := asked(place):
            waiting.append(word)
        if len(waiting) >= 2 or (waiting and not (place / "ask").exists()):
            told += [(one, refused) for one in waiting]
            waiting.clear()
            answer(place, told)
        time.sleep(0.02)


def _asked_by_many(place: Path, refused: str = "") -> list[str]:
    """Return what five processes and threads that ask at once are told."""
    over = threading.Event()

    def from_python() -> str:
        try:
            ask(place, 20, lambda: True)
        except RunError as error:
            return str(error)
        return "saved"

    def from_shell() -> str:
        done = subprocess.run(["sh", "-c", asking(place)], timeout=20, check=False)
        return "saved" if done.returncode == 0 else "not saved"

    with ThreadPoolExecutor(6) as pool:
        driver = pool.submit(_drive, place, over, refused)
        found = [pool.submit(one) for one in (from_python, from_shell) * 2 + (from_python,)]
        said = [one.result() for one in found]
        over.set()
        driver.result()
    return said


def test_all_who_ask_at_once_are_answered(tmp_path: Path) -> None:
    assert _asked_by_many(tmp_path) == ["saved"] * 5
    assert {path.name for path in tmp_path.iterdir()} == {"answer"}


def test_what_was_not_saved_is_told_to_each(tmp_path: Path) -> None:
    refused = "it was not saved: the disk\nis full".replace("\n", " ")
    said = _asked_by_many(tmp_path, "the disk\nis full")
    assert said == [refused, "not saved", refused, "not saved", refused]


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"not saved in 0\.2 s"):
        ask(tmp_path, 0.2, lambda: True)
    with pytest.raises(RunError, match="no longer runs here"):
        ask(tmp_path, 5, lambda: False)
    assert list(tmp_path.iterdir()) == []
