"""A notebook shows a bar that nobody asked for; a script does not."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from forestall.core.kit import waiting as waits


class Shell:
    """Stands for the shell of a notebook."""

    kernel = "there"


def notebook(monkeypatch: pytest.MonkeyPatch, shown: list[str]) -> None:
    class Place:
        def update(self, one: str) -> None:
            shown.append(one)

    def display(one: str, *, display_id: bool) -> Place:
        assert display_id
        shown.append(one)
        return Place()

    python, screen = ModuleType("IPython"), ModuleType("IPython.display")
    vars(python)["get_ipython"] = Shell
    vars(screen).update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", screen)


def test_a_notebook_shows_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    notebook(monkeypatch, shown)
    monkeypatch.setattr(waits, "PATIENCE", 0.0)
    monkeypatch.setattr(waits, "EVERY", 0.0)
    with waits.waiting(None, "<jobs>") as bar:
        assert bar is not None
        bar(1, 4)
        bar(4, 4)
    assert "1 of 4 &lt;jobs&gt;" in shown[0]
    assert 'value="4" max="4"' in shown[1]
    assert shown[2:] == [""]


def test_short_work_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    notebook(monkeypatch, shown)
    with waits.waiting(None, "jobs") as bar:
        assert bar is not None
        bar(1, 4)
    assert not shown


def test_who_asked_is_told_and_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    told: list[Any] = []
    with waits.waiting(lambda done, total: told.append((done, total)), "jobs") as bar:
        assert bar is not None
        bar(1, 2)
    assert told == [(1, 2)]
    with waits.waiting(None, "jobs") as bar:
        assert bar is None
