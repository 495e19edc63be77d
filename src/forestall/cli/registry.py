"""How a command gets into the application: with its examples, and with Ctrl-C passing through."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import typer


class StoppedError(Exception):
    """Ctrl-C on its way through Typer, which would swallow it."""


class ReaderLeftError(Exception):
    """A broken pipe on its way through Typer, which would make a failure of it."""


def command(
    group: typer.Typer, name: str, *lines: str, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a command with its runnable examples; Ctrl-C passes through Typer."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except KeyboardInterrupt as stop:
                raise StoppedError(str(stop) or "interrupted; nothing was written") from None
            except BrokenPipeError as error:
                raise ReaderLeftError from error

        guarded.__signature__ = inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
        group.command(name, epilog=examples(*lines), **more)(guarded)
        return function

    return register


def examples(*lines: str) -> str:
    """Return the end of a help page: runnable examples, a line each."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))
