"""An option of a command as a row of a table, and commands that take such tables."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, cast

import typer

F = TypeVar("F", bound=Callable[..., Any])

WIDEST: Final = 17
"""Characters of choices that stand beside an option; tables of help break longer ones anywhere."""


def spelled(name: str) -> str:
    """Return how the option of a parameter is typed: ``--checkpoint-overhead``."""
    return "--" + name.replace("_", "-")


@dataclass(frozen=True)
class Choice:
    """An option: its key in settings and files (`name`), its help, and how its value is shown.

    `choices` are completed by the shell; `flag` is for those that are on or off, `on` for those of
    them that are on unless ``--no-...`` is said; `ranged` ones take ranges and lists in sweeps.
    """

    name: str
    panel: str
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    flag: bool = False
    on: bool = False
    ranged: bool = False

    @property
    def spelling(self) -> str:
        """The option as it is typed: ``--checkpoint-overhead``."""
        return spelled(self.name)

    def parameter(self, *, varied: bool) -> inspect.Parameter:
        """Return the option as a keyword of a command; `varied` ones take ranges and lists."""
        several = varied and self.ranged
        spellings = [self.spelling]
        if self.flag and self.on:
            spellings = [f"{self.spelling}/--no-{self.spelling[2:]}"]
        named = bool(self.choices) and len(self.shown) > WIDEST
        shown = self.name.upper() if named else self.shown
        info = typer.Option(
            *spellings,
            help=f"{self.help} One of: {', '.join(self.choices)}." if named else self.help,
            metavar=" " if self.flag else (f"{shown}[,...]" if several else shown),
            rich_help_panel=self.panel,
            show_default=False,
            autocompletion=self._complete if self.choices else None,
        )
        annotation = Annotated[bool | None if self.flag else str | None, info]  # type: ignore[valid-type]
        kind = inspect.Parameter.KEYWORD_ONLY
        return inspect.Parameter(self.identifier, kind, default=None, annotation=annotation)

    @property
    def identifier(self) -> str:
        """The name of the Python keyword; `from` is taken."""
        return f"{self.name}_" if self.name == "from" else self.name

    @property
    def shown(self) -> str:
        """What help shows in the place of a value, where there is room."""
        return "|".join(self.choices) or self.metavar

    def _complete(self, incomplete: str) -> list[str]:
        return [choice for choice in self.choices if choice.startswith(incomplete)]


def with_options(*tables: Iterable[Choice], varied: bool = False) -> Callable[[F], F]:
    """Give a command, which takes them as ``**given``, an option for each entry of the tables."""

    def decorate(function: F) -> F:
        own = inspect.signature(function, eval_str=True)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [choice.parameter(varied=varied) for table in tables for choice in table]
        first = [p for p in kept if p.default is p.empty]
        rest = [p for p in kept if p.default is not p.empty]
        keyword = inspect.Parameter.KEYWORD_ONLY
        ordered = [*first, *more, *(p.replace(kind=keyword) for p in rest)]

        @functools.wraps(function)
        def taking(*args: Any, **given: Any) -> Any:
            return function(*args, **given)

        taking.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
        taking.__annotations__ = {p.name: p.annotation for p in ordered}
        return cast("F", taking)

    return decorate
