"""Options of commands, made of declared questions: the parameters of a function are its command's.

What a parameter of the function is declared as tells what becomes of it:

- a `Setting` in its annotation: one option;
- a class of declared fields, such as the question of a use case: an option for each field, and the
  function is given the question;
- a `TextOptions` in its annotation: options taken as text, and the function is given those that
  were said, by their keys;
- anything else is Typer's.

Help leaves out those that are rare. A command that has such takes them, as all its options, by
``--set KEY=VALUE`` and from the file of ``--settings``, too (`forestall.core.commands.keys`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import typer

from forestall.core.commands.spellings import spelled
from forestall.core.model.settings import (
    REQUIRED,
    Kind,
    Parameter,
    Setting,
    declared,
    is_declared,
    parameter_of,
)
from forestall.core.model.spelling import named
from forestall.core.model.units import typed_duration

Given: TypeAlias = dict[str, Any]
"""Options of a table that were said, by their keys."""

WIDEST: Final = 17
"""Characters of choices that stand beside an option; tables of help break longer ones anywhere."""
WIDEST_ALONE: Final = 32
"""The same, of commands with few options."""
HELP_ALL: Final = "help_all"
KEYS: Final = "set_"
FILE: Final = "settings_"
REACHING: Final = frozenset({HELP_ALL, KEYS, FILE})
"""Parameters of commands whose help does not show all options."""


class TextOptions:
    """Options that are taken as text; those that are `varied` take ranges and lists, too."""

    def __init__(self, *rows: Iterable[Parameter], varied: Collection[str] = ()) -> None:
        self.rows: Final = tuple(one for each in rows for one in each)
        self.varied: Final = varied


class Built(NamedTuple):
    """The options of a parameter of a function, what makes the parameter of their values, and the
    question of each by its option's name."""

    options: list[inspect.Parameter]
    made: Callable[[Mapping[str, Any]], Any]
    questions: Mapping[str, Parameter] = {}


def with_options(function: Callable[..., Any], rare: str = "") -> Callable[..., Any]:
    """Return a function that takes the options which the parameters of this one declare; its
    `questions` are these by their names. Help leaves out those that are `rare`, too."""
    own = inspect.signature(function, eval_str=True)
    built = {name: _built(one) for name, one in own.parameters.items()}
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [one.replace(kind=keyword) for each in built.values() for one in each.options]
    infos = {
        one.name: more for one in options for more in getattr(one.annotation, "__metadata__", ())
    }
    for name in rare.split():
        infos[name].hidden = True
    options += _reaching(sum(getattr(one, "hidden", False) for one in infos.values()))

    @functools.wraps(function)
    def taking(**given: Any) -> Any:
        return function(**{name: each.made(given) for name, each in built.items()})

    taking.__signature__ = own.replace(parameters=options)  # type: ignore[attr-defined]
    taking.__annotations__ = {one.name: one.annotation for one in options}
    taking.questions = {  # type: ignore[attr-defined]
        name: one for each in built.values() for name, one in each.questions.items()
    }
    return taking


def _reaching(rare: int) -> list[inspect.Parameter]:
    """Return the options by which so many rare ones are seen and given, where there are some."""
    if not rare:
        return []
    file = typer.Option(
        "--settings",
        help="Read options from a TOML file, as forestall settings writes it; the command line "
        "wins.",
        metavar="FILE",
    )
    keys = typer.Option(
        "--set", help="Set any option, rare ones too; may be repeated.", metavar="KEY=VALUE"
    )
    help_ = f"Show {rare} more options, and exit."
    all_ = typer.Option("--help-all", help=help_, callback=_show_all, is_eager=True)
    several = ((FILE, Path | None, None, file), (KEYS, list[str] | None, None, keys),
               (HELP_ALL, bool, False, all_))  # fmt: skip
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(name, keyword, default=default, annotation=Annotated[kind, info])
        for name, kind, default, info in several
    ]


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
        varied = tables[0].varied
        rows = [(row, text_option(row, varied=row.name in varied)) for row in tables[0].rows]

        def chosen(given: Mapping[str, Any]) -> Given:
            values = {row.name: given[option.name] for row, option in rows}
            return {name: value for name, value in values.items() if value is not None}

        questions = {option.name: row for row, option in rows}
        return Built([option for _, option in rows], chosen, questions)
    if is_declared(one.annotation):
        default = REQUIRED if one.default is one.empty else one.default
        parameter = parameter_of(one.name, one.annotation, default)
        return Built(
            [option_of(parameter)], lambda given: _read(parameter, given), {one.name: parameter}
        )
    kind: Any = one.annotation
    if dataclasses.is_dataclass(kind):
        return _question(kind)
    return Built([one], lambda given: given[one.name])


def _question(kind: Any) -> Built:
    """Return the options of a class of declared fields, and what makes one of it."""
    fields = declared(kind)
    return Built(
        [option_of(field) for field in fields.values()],
        lambda given: kind(**{name: _read(field, given) for name, field in fields.items()}),
        fields,
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


def texts(group: str, *rows: tuple[str, str, str], rare: Collection[str] = ()) -> list[Parameter]:
    """Return questions that are answered by a text: of each its name, help, and what stands for
    its value in help; words with bars are its choices, ``on`` and ``off`` a flag of that
    default."""
    made = []
    for name, help_, shown in rows:
        words = tuple(shown.split("|"))
        kind, default = Kind.TEXT, None if shown not in {"on", "off"} else shown == "on"
        choices: tuple[str, ...] = ()
        if default is not None:
            kind, shown = Kind.FLAG, ""
        elif len(words) > 1 and shown.islower():
            kind, choices, shown = Kind.CHOICE, words, ""
        setting = Setting(help_, group=group, shown=shown, rare=name in rare)
        made.append(Parameter(name, setting, kind, default, choices))
    return made


def text_option(one: Parameter, *, varied: bool = False) -> inspect.Parameter:
    """Return the option of a parameter as text, None where it is not said; help is as declared."""
    choices = "" if one.setting.shown else "|".join(one.choices)
    several = varied and one.kind is not Kind.FLAG
    shown, help_ = one.setting.shown or metavar_of(one), _ended(named(one.setting.help, spelled))
    if len(choices) > WIDEST:
        shown, help_ = one.name.upper(), f"{help_} One of: {', '.join(one.choices)}."
    elif several and len(shown) > WIDEST_ALONE:
        shown = one.name.upper()
    info = typer.Option(
        *_spellings(one, one.name),
        help=help_,
        metavar=f"{shown}[,...]" if several else shown,
        rich_help_panel=one.setting.group,
        show_default=False,
        hidden=one.setting.rare,
        autocompletion=_completing(lambda: one.choices) if choices else None,
    )
    kind: Any = bool if one.kind is Kind.FLAG else str
    name = f"{one.name}_" if one.name == "from" else one.name  # Python has taken this word
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=None, annotation=Annotated[kind | None, info])


def option_of(one: Parameter) -> inspect.Parameter:
    """Return the option of a parameter as Typer takes it: help shows its default."""
    setting = one.setting
    default = inspect.Parameter.empty if one.default is REQUIRED else _typed_default(one)
    spellings = [
        *_spellings(one, setting.option or one.name),
        *([f"-{setting.short}"] if setting.short else []),
    ]
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


def _spellings(one: Parameter, option: str) -> list[str]:
    """Return how an option is typed: one that may be on by itself can be turned off."""
    name = spelled(option)
    negated = one.kind is Kind.FLAG and one.default is not False
    return [f"{name}/--no-{name[2:]}" if negated else name]


def _with_default(help: str, default: Any) -> str:
    """Return the help of an option, which ends with its default where it has one."""
    told = "on" if default is True else f"{default:g}" if isinstance(default, float) else default
    if told and isinstance(told, str | int) and "default" not in help:
        help = f"{help} Default: {told}" if help[-1] == "." else f"{help} (default {told})"
    return _ended(help)


def _ended(help: str) -> str:
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
