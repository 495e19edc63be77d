"""From the shell to a command and back: signals, standard output, and the exit code."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

from forestall.core._lazy import lazily
from forestall.core._noted import CompileNotes
from forestall.core.commands import INTERRUPTED, UNWRITTEN, complain
from forestall.core.commands.output import OutputError, guarded

with lazily():
    from forestall.runs.commands import application

if TYPE_CHECKING:
    import typer

BLAS_THREADS = "OPENBLAS_NUM_THREADS"
GARBAGE_AFTER = 20_000
"""Objects made, and not gone, after which cycles among them are looked for: Python's 700 have it
go through all that was loaded again and again."""


def main(
    arguments: Sequence[str] | None = None,
    *,
    app: typer.Typer | None = None,
    name: str = "forestall",
) -> int:
    """Run one command, of our own or of `app`, and return its exit code.

    It is 0 where all went well, 1 where a check failed, 2 for unusable input, 3 where a controller
    that was asked does not answer or too little of a checkpoint is left, 4 where standard output
    cannot be written (a full disk, closed, a reader that went away), 130 after Ctrl-C, SIGTERM or
    SIGHUP.
    Whatever is wrong with the input is one line on standard error.
    """
    gc.set_threshold(GARBAGE_AFTER)
    if not any(isinstance(one, _OneThread) for one in sys.meta_path):
        sys.meta_path.insert(0, _OneThread())
    CompileNotes.on = False
    with guarded() as out:
        try:
            with _ended_like_interrupted():
                code = application.run(sys.argv[1:] if arguments is None else arguments, app, name)
            out.flush()
        except KeyboardInterrupt as stop:
            code = complain(str(stop) or "interrupted", INTERRUPTED)
            with suppress(OutputError):
                out.flush()
        except OutputError as error:
            code = _unwritten(error)
        return code


def _unwritten(error: OutputError) -> int:
    """Say that standard output cannot be written, but not where its reader went away, as `head`
    does on purpose."""
    error.out.give_up()
    if error.errno == errno.EPIPE:
        return UNWRITTEN
    return complain(f"standard output cannot be written: {error}", UNWRITTEN)


class _OneThread(MetaPathFinder):
    """Has NumPy load with one thread of its linear algebra: each of them spins for some 50 ms
    before it sleeps, in every command. What we start does not inherit this."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load NumPy so."""
        if fullname != "numpy" or BLAS_THREADS in os.environ:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_so(module: ModuleType) -> None:
            os.environ[BLAS_THREADS] = "1"
            try:
                load(module)
            finally:
                del os.environ[BLAS_THREADS]

        spec.loader.exec_module = load_so  # type: ignore[method-assign]
        return spec


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Take SIGTERM, by which batch systems end jobs, and SIGHUP, by which terminals do, as Ctrl-C:
    nothing is left half-written. One that is ignored, as by nohup, stays so."""
    before = {}
    with suppress(ValueError):  # not the main thread: signals are others' matter
        for one in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(one) != signal.SIG_IGN:
                before[one] = signal.signal(one, _interrupted)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler or signal.SIG_DFL)


def _interrupted(number: int, frame: FrameType | None) -> None:
    """Interrupt; where a terminal goes, SIGHUP comes from the kernel and from the shell, and what
    is cleaned up then must not be interrupted again."""
    if number == signal.SIGHUP:
        signal.signal(number, signal.SIG_IGN)
    signal.default_int_handler(number, frame)
