"""The loop of cycles: what fails is told once, and it goes on."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

from forestall.core.model.errors import LedgerError
from forestall.live.serving.loop import CycleLoop
from forestall.live.slurm.controller import CycleTold


class Told:
    """A controller that does what it is told to, and a desk that counts."""

    def __init__(self, *ends: Any) -> None:
        self.ends, self.cycles, self.failures = list(ends), 0, list[str]()
        self.done = threading.Event()

    def cycle(self) -> CycleTold:
        self.cycles += 1
        end = self.ends.pop(0) if self.ends else CycleTold()
        if not self.ends:
            self.done.set()
        if isinstance(end, Exception):
            raise end
        assert isinstance(end, CycleTold)
        return end

    def cycled(self, told: CycleTold, seconds: float) -> None:
        assert seconds >= 0

    def failed(self, said: str) -> None:
        self.failures.append(said)


def loop_of(told: Told, lines: list[str], every: float = 0.001) -> CycleLoop:
    controller: Any = told
    return CycleLoop(controller, controller, every, lines.append)


def test_an_error_is_told_once_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    full = LedgerError("sqlite:///x", "cannot be written: disk is full")
    told = Told(CycleTold(), full, full, CycleTold("queue: late"), ZeroDivisionError("no"))
    lines: list[str] = []
    loop = loop_of(told, lines)
    assert [loop.once() for _ in range(6)] == [True, False, False, False, False, True]
    assert lines == [
        "cycle failed: sqlite:///x: cannot be written: disk is full",
        "cycle failed: queue: late",
        "cycle failed: ZeroDivisionError: no",
        "cycles continue",
    ]
    assert len(told.failures) == 3
    assert "ZeroDivisionError" in capsys.readouterr().err  # a defect is told in full


def test_it_goes_on_until_it_is_stopped() -> None:
    told = Told(*(LedgerError("x", "away"), OSError("gone"), CycleTold()))
    loop = loop_of(told, [])
    loop.start()
    assert told.done.wait(60)
    loop.stop()
    count = told.cycles
    loop.stop()
    assert told.cycles == count >= 3


def test_garbage_is_not_looked_for_in_what_was_built_first() -> None:
    told = Told(LedgerError("x", "away"), CycleTold(), CycleTold(), CycleTold())
    loop = loop_of(told, [])
    gc.unfreeze()
    loop.start()
    try:
        assert told.done.wait(60)
        assert gc.get_freeze_count() > 1000
    finally:
        loop.stop()
    assert gc.get_freeze_count() == 0, "who goes on in this process has it all collected"
