"""Who waits at a terminal is told that kernels are compiled once, and about how long it takes."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

TAKES: Final = {
    "promise_loop_kernels": 15, "classic_loop_kernels": 12, "falcon_entry_kernels": 20,
    "shared_loop_kernels": 45,
}  # fmt: skip
"""About how long the kernels that people wait for compile on one core, s, by their module."""
USUAL: Final = 10
PATIENCE: Final = 1.0
"""Seconds of compiling before anything is said."""
EVERY: Final = 0.5
WIDTH: Final = 24

_open = threading.local()


class CompileNotes:
    """Whether scripts are told; the command line, which tells of it in its own words, is not."""

    on = True


@contextmanager
def compiling(module: str) -> Iterator[None]:
    """Tell on a terminal how far compiling is that takes longer than a moment; `module` is where
    the kernel stands. Kernels that it calls are part of it."""
    outer = not getattr(_open, "held", False)
    if not (outer and CompileNotes.on and sys.stderr is not None and sys.stderr.isatty()):
        yield
        return
    _open.held = True
    done = threading.Event()
    telling = threading.Thread(target=_tell, args=(module, done), daemon=True)
    telling.start()
    try:
        yield
    finally:
        _open.held = False
        done.set()
        telling.join()


def _tell(module: str, done: threading.Event) -> None:
    began, told = time.monotonic(), ""
    about = TAKES.get(module.rpartition(".")[2], USUAL)
    while not done.wait(EVERY if told else PATIENCE):
        told = line(time.monotonic() - began, about)
        _write(f"\r{told}")
    if told:
        _write(f"\r{' ' * len(told)}\r")


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # a terminal that went away is no reason to fail
        sys.stderr.write(text)
        sys.stderr.flush()


def line(passed: float, about: float) -> str:
    """Return how far compiling is, s of about so many, with a bar that never claims to be full.

    >>> line(5, 10)
    'forestall: compiling once, about 10 s [############............]'
    """
    full = min(WIDTH - 1, int(WIDTH * passed / about))
    return f"forestall: compiling once, about {about:g} s [{'#' * full:.<{WIDTH}}]"
