"""How a command gets into the application: with its examples, and with Ctrl-C passing through."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from forestall.core._lazy import lazily
from forestall.core.commands.output import own_codes
from forestall.core.commands.questions import KEYS, with_options
from forestall.core.commands.spellings import SPELLINGS, accept_old, respell, speaking
from forestall.core.model.errors import InputError
from forestall.core.model.settings import Parameter

with lazily():
    from forestall.core.commands import keys

NOTHING: Final = "nothing was written"
"""What a command that writes all or nothing leaves where it is interrupted."""


class StoppedError(Exception):
    """Ctrl-C on its way through Typer, which would swallow it."""


def command(
    group: typer.Typer,
    name: str,
    *lines: str,
    left: str = NOTHING,
    rare: str = "",
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a command with its runnable examples; Ctrl-C passes through Typer.

    Its options are made of what the parameters of the function declare (`with_options`), when the
    command is asked for: the help of all commands needs none of them. `left` says what is left
    where the command is interrupted. Help leaves out options of the parameters
    in `rare`.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        making = partial(guarded, function, left, rare)
        cls = type("Deferred", (_Deferred,), {"making": staticmethod(making)})
        group.command(name, epilog=examples(*lines), cls=cls, **more)(_bare(function))
        return function

    return register


def guarded(
    function: Callable[..., Any], left: str = NOTHING, rare: str = ""
) -> Callable[..., Any]:
    """Return a function with its options, from which Ctrl-C gets through Typer, which would
    swallow it, and no broken pipe, which it would make a failure of; one line where the current
    folder is needed and was removed."""
    taking = with_options(function, rare)

    @functools.wraps(taking)
    def passing(*args: Any, **kwargs: Any) -> Any:
        try:
            return taking(*args, **kwargs)
        except KeyboardInterrupt as stop:
            raise StoppedError(str(stop) or f"interrupted; {left}") from None
        except BrokenPipeError:  # not standard output: that is an OutputError
            raise InputError("a connection or a pipe was closed at the other end") from None
        except FileNotFoundError as error:
            if error.filename is None and _is_nowhere():
                raise InputError("the current folder was removed: change to another one") from None
            raise

    return passing


def _is_nowhere() -> bool:
    """Return whether the current folder was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _bare(function: Callable[..., Any]) -> Callable[[], None]:
    """Return what stands for a function until its options are made."""

    def bare() -> None:
        raise AssertionError("a command ran before its options were read")

    bare.__doc__ = unwrapped(function.__doc__ or "")
    return bare


class TidyHelp:
    """How the help of a command looks, whatever Typer makes of it."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options: types of Python stand beside neither."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in parameters:
            if one.param_type_name == "argument":
                one.display_type_rich = _nothing
            elif one.is_flag and one.metavar is None:
                one.metavar = " "
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line: what must be given has no braces."""
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub(r"^\{(.*)\}(?:\.\.\.)?$", r"\1", piece) for piece in pieces]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with codes of a terminal."""
        with own_codes():
            super().format_help(ctx, formatter)  # type: ignore[misc]


def _nothing(ctx: Any) -> None:
    """Return no type, of an argument whose name says enough."""


class _Deferred(TidyHelp, TyperCommand):
    """A command whose options are made when it is asked for them."""

    making: Callable[[], Callable[..., Any]]
    spellings: Mapping[str, str] = MappingProxyType({})
    questions: Mapping[str, Parameter] = MappingProxyType({})
    _made: list[Any] | None = None

    @property
    def params(self) -> list[Any]:
        """The arguments and options."""
        if self._made is None:
            alone = typer.Typer(add_completion=False)
            function: Any = self.making()
            alone.command(self.name)(function)
            built: Any = typer.main.get_command(alone)
            self.questions = function.questions
            self._made, self.callback = built.params, built.callback
            respell(self._made, self.spellings)
        return self._made

    @params.setter
    def params(self, none: list[Any]) -> None:
        """Ignore the options of what stands for the function."""

    def make_parser(self, ctx: Any) -> Any:
        """Return what parses the arguments."""
        parser = accept_old(super().make_parser(ctx), self.spellings)
        reached = any(one.name == KEYS for one in self.params)
        return keys.take_keys(self, ctx, parser) if reached else parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        with keys.naming_file(ctx):
            parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def invoke(self, ctx: Any) -> Any:
        """Run the command, in which parameters are spelled as its options are."""
        with speaking(self.spellings), keys.naming_file(ctx):
            return super().invoke(ctx)


class Group(TidyHelp, TyperGroup):
    """Commands of a command."""

    spellings: Mapping[str, str] = MappingProxyType({})

    def make_parser(self, ctx: Any) -> Any:
        """Return what parses the arguments of the group itself."""
        return accept_old(super().make_parser(ctx), self.spellings)


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
    return typer.Typer(
        help=unwrapped(help), rich_markup_mode="rich", epilog=examples(*lines), **more
    )


def unwrapped(text: str) -> str:
    """Return a text whose paragraphs are lines, which help breaks where its columns end."""
    return "\n\n".join(" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip()))


def examples(*lines: str) -> str:
    """Return the end of a help page: runnable examples, a line each."""
    return "Examples:\n\n" + "\n".join(lines)
