"""Compiling is told on a terminal, outside the command line, and nowhere else."""

from __future__ import annotations

import io
import sys
import time

import pytest

from forestall.core import _noted


class Screen(io.StringIO):
    """Stands for a terminal."""

    def isatty(self) -> bool:
        return True


def told(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(_noted, "PATIENCE", 0.01)
    monkeypatch.setattr(_noted, "EVERY", 0.01)
    end = time.monotonic() + 10
    with _noted.compiling("forestall.scheduling.simulation.promise_loop_kernels"):
        with _noted.compiling("forestall.inner_kernels"):  # tells nothing of its own
            pass
        while isinstance(screen, Screen) and not screen.getvalue() and time.monotonic() < end:
            time.sleep(0.005)
    return screen.getvalue()


def test_a_terminal_is_told_once_and_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_noted.CompileNotes, "on", True)
    text = told(monkeypatch, Screen())
    assert "compiling once, about 15 s [" in text
    assert text.endswith(" \r")


def test_a_file_and_the_command_line_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_noted.CompileNotes, "on", True)
    assert told(monkeypatch, io.StringIO()) == ""
    monkeypatch.setattr(_noted.CompileNotes, "on", False)
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with _noted.compiling("forestall.x"):
        assert screen.getvalue() == ""


def test_the_bar_is_never_full() -> None:
    assert _noted.line(99, 10).endswith("#.]")
