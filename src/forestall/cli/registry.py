"""How a command gets into the application: with its examples, and with Ctrl-C passing through."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from forestall.cli.choice import with_options
from forestall.cli.output import own_codes
from forestall.cli.spellings import SPELLINGS, accept_old, respell, speaking
from forestall.model.errors import InputError


class StoppedError(Exception):
    """Ctrl-C on its way through Typer, which would swallow it."""


def command(
    group: typer.Typer, name: str, *lines: str, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a command with its runnable examples; Ctrl-C passes through Typer.

    Its options are made of what the parameters of the function declare (`with_options`), when the
    command is asked for: the help of all commands needs none of them.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        cls = type("Deferred", (_Deferred,), {"making": staticmethod(partial(guarded, function))})
        group.command(name, epilog=examples(*lines), cls=cls, **more)(_bare(function))
        return function

    return register


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with its options, from which Ctrl-C gets through Typer, which would
    swallow it, and no broken pipe, which it would make a failure of."""
    taking = with_options(function)

    @functools.wraps(taking)
    def passing(*args: Any, **kwargs: Any) -> Any:
        try:
            return taking(*args, **kwargs)
        except KeyboardInterrupt as stop:
            raise StoppedError(str(stop) or "interrupted; nothing was written") from None
        except BrokenPipeError:  # not standard output: that is an OutputError
            raise InputError("a connection or a pipe was closed at the other end") from None

    return passing


def _bare(function: Callable[..., Any]) -> Callable[[], None]:
    """Return what stands for a function until its options are made."""

    def bare() -> None:
        raise AssertionError("a command ran before its options were read")

    bare.__doc__ = function.__doc__
    return bare


class _Deferred(TyperCommand):
    """A command whose options are made when it is asked for them."""

    making: Callable[[], Callable[..., Any]]
    spellings: Mapping[str, str] = MappingProxyType({})
    _made: list[Any] | None = None

    @property
    def params(self) -> list[Any]:
        """The arguments and options."""
        if self._made is None:
            alone = typer.Typer(add_completion=False)
            alone.command(self.name)(self.making())
            built: Any = typer.main.get_command(alone)
            self._made, self.callback = built.params, built.callback
            respell(self._made, self.spellings)
        return self._made

    @params.setter
    def params(self, none: list[Any]) -> None:
        """Ignore the options of what stands for the function."""

    def make_parser(self, ctx: Any) -> Any:
        """Return what parses the arguments."""
        return accept_old(super().make_parser(ctx), self.spellings)

    def invoke(self, ctx: Any) -> Any:
        """Run the command, in which parameters are spelled as its options are."""
        with speaking(self.spellings):
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with codes of a terminal."""
        with own_codes():
            super().format_help(ctx, formatter)


class Group(TyperGroup):
    """Commands of a command."""

    spellings: Mapping[str, str] = MappingProxyType({})

    def make_parser(self, ctx: Any) -> Any:
        """Return what parses the arguments of the group itself."""
        return accept_old(super().make_parser(ctx), self.spellings)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with codes of a terminal."""
        with own_codes():
            super().format_help(ctx, formatter)


def placed(command: Any, path: tuple[str, ...]) -> Any:
    """Return a command that stands at this path, as do its own, with the spellings of there."""
    spellings = SPELLINGS.get(" ".join(path))
    if spellings is not None:
        command.spellings = spellings
        if isinstance(command, Group):
            respell(command.params, spellings)
    for name, one in getattr(command, "commands", {}).items():
        placed(one, (*path, name))
    return command


def group_of(help: str, *lines: str, **more: Any) -> typer.Typer:
    """Return a group of commands with its runnable examples."""
    more = {"no_args_is_help": True, "cls": Group, **more}
    return typer.Typer(help=help, rich_markup_mode="rich", epilog=examples(*lines), **more)


def examples(*lines: str) -> str:
    """Return the end of a help page: runnable examples, a line each."""
    return "\n\n".join(("Examples:", *(f"  {line}" for line in lines)))
