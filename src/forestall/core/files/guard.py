"""Whatever a library raises while a file is read is one line that names the file."""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, ParamSpec, TypeVar

from forestall.core.model.errors import ForestallError, ParameterError, TraceError

P = ParamSpec("P")
T = TypeVar("T")

LOG: Final = logging.getLogger(__name__)
GLANCE: Final = 0.02
"""s: a look at what a file is takes less, and is not told of."""
_SAID: Final = re.compile(
    rb"\n?thread '[^\n]*panicked at [^\n]*\n[^\n]*\n(?: +[^\n]*\n)*"
    rb"(?:stack backtrace:\n(?: +[^\n]*\n)*)?(?:note: [^\n]*\n)*"
)
"""What Rust prints of a panic: where, why (of what is unequal each side in a line that is set in),
the calls that led there, and how to learn more."""
_ONE: Final = threading.RLock()
PANIC = "PanicException"
"""Name of what Rust's panics become in Python: no Exception, and no name to import it by."""


def reader(function: Callable[P, T]) -> Callable[P, T]:
    """Guard a function that reads the file or folder that is its first argument; see `reading`."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        path = args[0] if args else next(iter(kwargs.values()))
        begun = time.perf_counter()
        with reading(path):
            found = function(*args, **kwargs)
        taken = time.perf_counter() - begun
        if taken >= GLANCE:
            LOG.debug("%s: read in %.2f s", _named(path), taken)
        return found

    return guarded


@contextmanager
def reading(path: Any) -> Iterator[None]:
    """Turn what no check of ours foresaw into a TraceError that names the file.

    Checks should say what is wrong with a file better than this does; this is for what they, and
    the libraries that they use, overlook. What was raised stays its cause.
    """
    try:
        yield
    except (ForestallError, KeyboardInterrupt, SystemExit, GeneratorExit, BrokenPipeError):
        raise
    except MemoryError as error:
        raise TraceError(_named(path), "needs more memory than there is") from error
    except RecursionError as error:
        raise TraceError(_named(path), "is nested too deep") from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        said = f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
        raise TraceError(_named(path), f"cannot be read: it is damaged ({said})") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep back what a library of Rust prints on standard error when it panics, for the one line
    that is made of it tells the user more; it is logged. Whatever else is printed meanwhile comes
    out after it.

    Standard error is the process's: while one thread is in here, others go through as they are.
    """
    if not _ONE.acquire(blocking=False):
        yield
        return
    try:
        try:
            real = os.dup(2)
        except OSError:  # there is none
            yield
            return
        with _room() as room:
            _flush()
            os.dup2(room.fileno(), 2)
            raised = False
            try:
                yield
            except BaseException:
                raised = True
                raise
            finally:
                _flush()
                os.dup2(real, 2)
                os.close(real)
                room.seek(0)
                said = room.read()
                rest = _SAID.sub(_logged, said) if raised else said
                if rest:
                    os.write(2, rest)
    finally:
        _ONE.release()


def _room() -> IO[bytes]:
    if hasattr(os, "memfd_create"):  # where nothing may be written, files are read all the same
        return os.fdopen(os.memfd_create("said"), "w+b")
    return tempfile.TemporaryFile()


def _logged(said: re.Match[bytes]) -> bytes:
    LOG.debug("%s", said[0].decode("utf-8", "replace").strip())
    return b""


def _flush() -> None:
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.flush()


@contextmanager
def within(path: str | Path) -> Iterator[None]:
    """Turn a ParameterError, of what a file says, into a TraceError that names the file."""
    try:
        yield
    except ParameterError as error:
        raise TraceError(path, str(error)) from None


@contextmanager
def making(path: str | Path, what: str) -> Iterator[None]:
    """Turn what is raised while a file's content is made into something of ours into a TraceError
    that says that it is a damaged `what`; a ParameterError tells the field."""
    try:
        with reading(path):
            yield
    except ParameterError as error:
        said = f"is a damaged {what}: {error.value!r} is not allowed; expected {error.allowed}"
        raise TraceError(path, said.replace("{", "(").replace("}", ")"), field=error.name) from None
    except TraceError as error:
        if isinstance(error.__cause__, OSError | MemoryError) or error.__cause__ is None:
            raise
        said = first_line(error.__cause__)
        raise TraceError(path, f"is a damaged {what} ({said})") from error.__cause__


def first_line(error: BaseException) -> str:
    """Return what an error says, in one line that is not too long, without braces."""
    text = (str(error).strip().splitlines() or [""])[0][:200] or type(error).__name__
    text = f"{text} is missing" if isinstance(error, KeyError) else text
    return text.replace("{", "(").replace("}", ")")


def _named(path: Any) -> str:
    if isinstance(path, list | tuple):
        return ", ".join(str(one) for one in path)
    return str(path) if isinstance(path, str | Path) else "what was given"
