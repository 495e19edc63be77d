"""Options of commands, made of declarations: the parameters of a function are its command's.

What a parameter of the function is declared as tells what becomes of it:

- a `Setting` in its annotation: one option;
- a class of declared fields, such as the question of a use case: an option for each field, and the
  function is given the question;
- a `TextOptions` in its annotation: options taken as text, and the function is given those that
  were said, by their keys;
- anything else is Typer's.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

import typer

from forestall.cli.spellings import spelled
from forestall.model.settings import (
    REQUIRED,
    Kind,
    Parameter,
    declared,
    is_declared,
    parameter_of,
)
from forestall.model.spelling import named
from forestall.model.units import typed_duration

Given: TypeAlias = dict[str, Any]
"""Options of a table that were said, by their keys."""
Built: TypeAlias = tuple[list[inspect.Parameter], Callable[[Mapping[str, Any]], Any]]
"""The options of a parameter, and what makes the parameter of their values."""

WIDEST: Final = 17
"""Characters of choices that stand beside an option; tables of help break longer ones anywhere."""
WIDEST_ALONE: Final = 32
"""The same, of commands with few options."""


@dataclass(frozen=True)
class Choice:
    """An option: its key in settings and files (`name`), its help, and how its value is shown.

    `choices` are completed by the shell; `flag` is for those that are on or off, `on` for those of
    them that are on unless ``--no-...`` is said; `ranged` ones take ranges and lists in sweeps;
    `rare` ones are shown where the help of all options is asked for. `models` are those that it is
    for, where not all; `otherwise` has the help of models that tell it otherwise.
    """

    name: str
    panel: str
    help: str
    metavar: str = "TEXT"
    choices: tuple[str, ...] = ()
    flag: bool = False
    on: bool = False
    ranged: bool = False
    rare: bool = False
    models: tuple[str, ...] = ()
    otherwise: Mapping[str, str] = field(default_factory=dict)

    def of_model(self, model: str | None) -> Choice:
        """Return the option as one model tells it; None: as all do, one after the other."""
        if model is not None:
            panel, _, _ = self.panel.partition(" (--model ")
            return replace(self, panel=panel, help=self.otherwise.get(model, self.help))
        more = (
            f"With --model {one}: {text[0].lower()}{text[1:]}"
            for one, text in self.otherwise.items()
        )
        return replace(self, help=" ".join((self.help, *more)))

    @property
    def spelling(self) -> str:
        """The option as it is typed: ``--checkpoint-overhead``."""
        return spelled(self.name)

    def parameter(self, *, varied: bool) -> inspect.Parameter:
        """Return the option as a keyword; `varied` ones take ranges and lists."""
        several = varied and self.ranged
        spellings = [self.spelling]
        if self.flag and self.on:
            spellings = [f"{self.spelling}/--no-{self.spelling[2:]}"]
        named = bool(self.choices) and len(self.shown) > WIDEST
        wide = several and len(self.shown) > WIDEST_ALONE
        shown = self.name.upper() if named or wide else self.shown
        info = typer.Option(
            *spellings,
            help=f"{self.help} One of: {', '.join(self.choices)}." if named else self.help,
            metavar=" " if self.flag else (f"{shown}[,...]" if several else shown),
            rich_help_panel=self.panel,
            show_default=False,
            hidden=self.rare,
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
        """What help shows instead of a value, where there is room."""
        return "|".join(self.choices) or self.metavar

    def _complete(self, incomplete: str) -> list[str]:
        return _completing(lambda: self.choices)(incomplete)


class TextOptions:
    """Options that are taken as text; `varied`: ranges and lists, too."""

    def __init__(self, *rows: Iterable[Choice], varied: bool = False) -> None:
        self.rows: Final = tuple(choice for each in rows for choice in each)
        self.varied: Final = varied


def with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes the options which the parameters of this one declare."""
    own = inspect.signature(function, eval_str=True)
    built = {name: _built(one) for name, one in own.parameters.items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [one.replace(kind=keyword) for taken, _ in built.values() for one in taken]
    options += _help_all(options)

    @functools.wraps(function)
    def taking(**given: Any) -> Any:
        return function(**{name: made(given) for name, (_, made) in built.items()})

    taking.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    taking.__annotations__ = {one.name: one.annotation for one in options}
    return taking


def _help_all(options: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the option that shows all others, where some are rare."""
    said = (more for one in options for more in getattr(one.annotation, "__metadata__", ()))
    rare = sum(getattr(more, "hidden", False) for more in said)
    if not rare:
        return []
    info = typer.Option(
        "--help-all",
        help=f"Show {rare} more options, and exit.",
        callback=_show_all,
        is_eager=True,
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter("help_all", keyword, default=False, annotation=Annotated[bool, info])]


def _show_all(context: typer.Context, asked: bool) -> None:
    if asked:
        command: Any = context.command
        for one in command.params:
            one.hidden = False
        command.format_help(context, context.make_formatter())
        raise typer.Exit


def _built(one: inspect.Parameter) -> Built:
    """Return what becomes of a parameter of a command's function."""
    said = getattr(one.annotation, "__metadata__", ())
    tables = [more for more in said if isinstance(more, TextOptions)]
    if tables:
        rows = [(row, row.parameter(varied=tables[0].varied)) for row in tables[0].rows]

        def chosen(given: Mapping[str, Any]) -> Given:
            values = {row.name: given[option.name] for row, option in rows}
            return {name: value for name, value in values.items() if value is not None}

        return [option for _, option in rows], chosen
    if is_declared(one.annotation):
        default = REQUIRED if one.default is one.empty else one.default
        parameter = parameter_of(one.name, one.annotation, default)
        return [option_of(parameter)], lambda given: _read(parameter, given)
    kind: Any = one.annotation
    if dataclasses.is_dataclass(kind):
        return _question(kind)
    return [one], lambda given: given[one.name]


def _question(kind: Any) -> Built:
    """Return the options of a class of declared fields, and what makes one of it."""
    fields = declared(kind)
    return [option_of(field) for field in fields.values()], lambda given: kind(
        **{name: _read(field, given) for name, field in fields.items()}
    )


def _read(one: Parameter, given: Mapping[str, Any]) -> Any:
    """Return a parameter from the value of its option."""
    value = given[one.name]
    if value is None:
        return one.default
    return one.read(value, plain=False) if _is_text(one) else value


def _is_text(one: Parameter) -> bool:
    """Whether an option is taken as text, which its parameter reads."""
    return one.kind is Kind.DURATION or one.setting.read is not None


def option_of(one: Parameter) -> inspect.Parameter:
    """Return the option of a parameter as Typer takes it: help shows its default."""
    setting = one.setting
    default = inspect.Parameter.empty if one.default is REQUIRED else _typed_default(one)
    name = spelled(setting.option or one.name)
    spellings = [name, *([f"-{setting.short}"] if setting.short else [])]
    if one.kind is Kind.FLAG and one.default is not False:
        spellings = [f"{name}/--no-{name[2:]}"]
    shown, help_ = setting.shown or metavar_of(one), named(setting.help, spelled)
    if one.kind is Kind.CHOICE and len(shown) > WIDEST_ALONE:
        shown, help_ = one.name.upper(), f"{help_}: {', '.join(one.choices)}"
    info = typer.Option(
        *spellings,
        help=_with_default(help_, default),
        metavar=shown,
        rich_help_panel=setting.group or None,
        hidden=setting.rare,
        show_default=False,
        min=one.bounds.least if one.kind is Kind.WHOLE else None,
        autocompletion=_completing(setting.offered) if setting.offered is not None else None,
    )
    kind = _typer_type(one) | None if default is None else _typer_type(one)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, keyword, default=default, annotation=Annotated[kind, info])


def _with_default(help: str, default: Any) -> str:
    """Return the help of an option, which ends with its default where it has one."""
    told = "on" if default is True else f"{default:g}" if isinstance(default, float) else default
    if told and isinstance(told, str | int) and "default" not in help:
        help = f"{help} Default: {told}" if help[-1] == "." else f"{help} (default {told})"
    return help + ("" if help[-1] in ".:" else ".")


def _typer_type(one: Parameter) -> Any:
    if _is_text(one):
        return str
    if one.kind is Kind.CHOICE:
        return Literal[one.choices]
    kinds = {Kind.FLAG: bool, Kind.WHOLE: int, Kind.REAL: float, Kind.TEXT: str, Kind.PATH: Path}
    kind: Any = kinds[one.kind]
    return list[kind] if one.several else kind


def _typed_default(one: Parameter) -> Any:
    """Return the default as its option takes it."""
    if one.setting.typed or one.setting.read is not None:
        return one.setting.typed or None
    if one.kind is Kind.DURATION and one.default is not None:
        return typed_duration(int(one.default))
    return one.default


def metavar_of(one: Parameter) -> str:
    """Return what stands for a value in help."""
    if one.kind is Kind.FLAG:
        return " "
    if one.kind is Kind.CHOICE:
        return "|".join(one.choices)
    if one.kind is Kind.DURATION:
        return f"DURATION|{one.word}" if one.word else "DURATION"
    if one.kind is Kind.WHOLE:
        return "N"
    if one.kind is Kind.REAL:
        return one.setting.unit.upper() or ("SHARE" if one.is_share else "X")
    return "FILE" if one.kind is Kind.PATH else "TEXT"


def _completing(offered: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    return lambda incomplete: [one for one in offered() if one.startswith(incomplete)]
