"""Who waits in a notebook sees how far work is, without having asked for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any, Final

from forestall.core.kit.progress import Progress

PATIENCE: Final = 1.0
"""Seconds before a bar appears: short work needs none."""
EVERY: Final = 0.2
"""Seconds between two changes of it."""


@contextmanager
def waiting(progress: Progress | None, what: str) -> Iterator[Progress | None]:
    """Give what is told of work that is counted in `what`: `progress` where there is one, in a
    notebook a bar, else None."""
    if progress is not None or not in_notebook():
        yield progress
        return
    bar = NotebookBar(what)
    try:
        yield bar
    finally:
        bar.close()


def in_notebook() -> bool:
    """Return whether a notebook's kernel runs this process."""
    ipython: Any = sys.modules.get("IPython")  # who has not loaded it is in no notebook
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None


class NotebookBar:
    """A bar below the cell that waits, in plain HTML: rich's needs widgets, which many notebooks
    lack. It goes away when the work is done."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._place: Any = None
        self._began = self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Show that `done` of `total` are done."""
        now = time.monotonic()
        if now - self._began < PATIENCE or (self._place is not None and now - self._last < EVERY):
            return
        self._last = now
        left = (now - self._began) * (total - done) / done if done else None
        self._show(_bar(self._what, done, total, left))

    def close(self) -> None:
        """Take the bar away."""
        if self._place is not None:
            self._show("")

    def _show(self, text: str) -> None:
        display: Any = import_module("IPython.display")  # there, since this is a notebook
        if self._place is None:
            self._place = display.display(display.HTML(text), display_id=True)
        else:
            self._place.update(display.HTML(text))


def _bar(what: str, done: int, total: int, left: float | None) -> str:
    time_left = "" if left is None else f", {left:.0f} s left"
    words = f"{done:,} of {total:,} {what}{time_left}"
    return f'<progress value="{done}" max="{max(total, 1)}"></progress> {escape(words)}'
