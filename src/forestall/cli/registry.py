"""How a command gets into the application: with its examples, and with Ctrl-C passing through."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand

Completing = Callable[[Callable[..., Any]], Callable[..., Any]]


class StoppedError(Exception):
    """Ctrl-C on its way through Typer, which would swallow it."""


class ReaderLeftError(Exception):
    """A broken pipe on its way through Typer, which would make a failure of it."""


def command(
    group: typer.Typer,
    name: str,
    *lines: str,
    complete: Completing | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a command with its runnable examples; Ctrl-C passes through Typer.

    `complete` gives the function options that are made of declarations. That is put off until the
    command is asked for: the help of all commands needs none of them.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if complete is None:
            group.command(name, epilog=examples(*lines), **more)(_guarded(function))
        else:
            cls = _deferred(partial(_completed, function, complete))
            group.command(name, epilog=examples(*lines), cls=cls, **more)(_bare(function))
        return function

    return register


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function from which Ctrl-C and broken pipes get through Typer."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt as stop:
            raise StoppedError(str(stop) or "interrupted; nothing was written") from None
        except BrokenPipeError as error:
            raise ReaderLeftError from error

    guarded.__signature__ = inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
    return guarded


def _completed(function: Callable[..., Any], complete: Completing) -> Callable[..., Any]:
    """Return a command's function with all its options."""
    return _guarded(complete(function))


def _deferred(making: Callable[[], Callable[..., Any]]) -> type[TyperCommand]:
    """Return the class of a command whose function `making` returns."""
    return type("Deferred", (_Deferred,), {"making": staticmethod(making)})


def _bare(function: Callable[..., Any]) -> Callable[[], None]:
    """Return what stands for a function until its options are made."""

    def bare() -> None:
        raise AssertionError("a command ran before its options were read")

    bare.__doc__ = function.__doc__
    return bare


class _Deferred(TyperCommand):
    """A command whose options are made when it is asked for them."""

    making: Callable[[], Callable[..., Any]]
    _made: list[Any] | None = None

    @property
    def params(self) -> list[Any]:
        """The arguments and options."""
        if self._made is None:
            alone = typer.Typer(add_completion=False)
            alone.command(self.name)(self.making())
            built: Any = typer.main.get_command(alone)
            self._made, self.callback = built.params, built.callback
        return self._made

    @params.setter
    def params(self, none: list[Any]) -> None:
        """Ignore the options of what stands for the function."""


def examples(*lines: str) -> str:
    """Return the end of a help page: runnable examples, a line each."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))
