"""The command line: parsing and rendering. What commands do is in `forestall.app`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from forestall._lazy import lazily

with lazily():
    from forestall.cli import application

if TYPE_CHECKING:
    import typer

INTERRUPTED = 130
UNUSABLE = 2
UNREACHABLE = 3
BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def main(
    arguments: Sequence[str] | None = None,
    *,
    app: typer.Typer | None = None,
    name: str = "forestall",
) -> int:
    """Run one command, of our own or of `app`, and return its exit code.

    It is 0 where all went well, 1 where a check failed, 2 for unusable input, 3 where a controller
    that was asked does not answer or too little of a checkpoint is left, 130 after Ctrl-C or
    SIGTERM.
    Whatever is wrong with the input is one line on standard error.
    """
    try:
        _load_numpy()
        with _ended_like_interrupted():
            code = application.run(sys.argv[1:] if arguments is None else arguments, app, name)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        code = complain(str(stop) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader went away, as `head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    return code


def _load_numpy() -> None:
    """Load NumPy with one thread of its linear algebra, unless the user chose: each of them spins
    for some 50 ms before it sleeps, in every command. What we start does not inherit this."""
    if "numpy" in sys.modules or BLAS_THREADS in os.environ:
        return
    os.environ[BLAS_THREADS] = "1"
    try:
        import_module("numpy")  # reads it once
    finally:
        del os.environ[BLAS_THREADS]


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Take SIGTERM, by which batch systems end jobs, as Ctrl-C: nothing is left half-written."""
    try:
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    except ValueError:  # not the main thread: signals are others' matter
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def complain(text: str, code: int = UNUSABLE) -> int:
    """Print one line on standard error and return the exit code."""
    print(f"forestall: {' '.join(text.split())}", file=sys.stderr)
    return code
