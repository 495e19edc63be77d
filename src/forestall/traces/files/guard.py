"""Whatever a library raises while a file is read is one line that names the file."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from forestall.model.errors import ForestallError, ParameterError, TraceError

P = ParamSpec("P")
T = TypeVar("T")

PANIC = "PanicException"
"""Name of what Rust's panics become in Python: no Exception, and no name to import it by."""


def reader(function: Callable[P, T]) -> Callable[P, T]:
    """Guard a function that reads the file or folder that is its first argument; see `reading`."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> T:
        with reading(args[0] if args else next(iter(kwargs.values()))):
            return function(*args, **kwargs)

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
def within(path: str | Path) -> Iterator[None]:
    """Turn a ParameterError, of what a file says, into a TraceError that names the file."""
    try:
        yield
    except ParameterError as error:
        raise TraceError(path, str(error)) from None


def _named(path: Any) -> str:
    if isinstance(path, list | tuple):
        return ", ".join(str(one) for one in path)
    return str(path) if isinstance(path, str | Path) else "what was given"
