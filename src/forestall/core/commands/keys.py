"""Options by their keys: ``--set KEY=VALUE``, and the TOML file of ``--settings``.

A key is an option's name without dashes in front: ``checkpoint_overhead`` or
``checkpoint-overhead``. What stands in a file counts as the default of the option, what ``--set``
says wins over it, and the option itself over both: a value is read and checked as if it had been
typed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, time
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.questions import FILE, KEYS, REACHING
from forestall.core.model.errors import ParameterError, TraceError, brief
from forestall.core.model.settings import REQUIRED, Kind, Parameter
from forestall.core.model.spelling import likely
from forestall.core.model.units import typed_duration

with lazily():
    from forestall.core.files import documents

WIDTH: Final = 100
"""Columns of a settings file."""
VARY: Final = "vary"
FLAGS: Final = {"true": True, "false": False}
FROM_FILE: Final = "forestall.settings"
"""Where a context keeps the file that it was told, and the parameters that were in it."""


class _Both(tuple[str, ...]):
    """The values of a flag that is varied, as texts."""


def by_key(command: Any) -> dict[str, Any]:
    """Return the options of a command by their keys, and by what they were called before."""
    options = {
        _key(one): one
        for one in command.params
        if one.param_type_name == "option" and one.name not in REACHING
    }
    before = {
        old.replace("-", "_"): new.replace("-", "_") for old, new in command.spellings.items()
    }
    return options | {old: options[new] for old, new in before.items() if new in options}


def _key(option: Any) -> str:
    longest: str = max(option.opts, key=len)
    return longest.lstrip("-").replace("-", "_")


def take_keys(command: Any, context: Any, parser: Any) -> Any:
    """Return a parser that takes options by their keys as well."""
    parse = parser.parse_args

    def parsing(args: list[str]) -> Any:
        values, rest, order = parse(args)
        if not context.resilient_parsing:
            file, known = values.get(FILE), by_key(command)
            questions = command.questions
            told, said = (
                _in_file(Path(file), known, questions) if file else {},
                _set(values.get(KEYS) or [], known),
            )
            context.meta[FROM_FILE] = (file, told.keys() - said.keys() - values.keys())
            context.default_map = told | said
            _vary_flags(values, context.default_map)
        return values, rest, order

    parser.parse_args = parsing
    return parser


def _vary_flags(values: dict[str, Any], told: dict[str, Any]) -> None:
    """Have flags that keys say several values of vary by ``--vary``: a flag takes no value."""
    lists = [(name, value) for name, value in told.items() if isinstance(value, _Both)]
    for name, _ in lists:
        del told[name]
    both = [f"{name}={','.join(value)}" for name, value in lists if name not in values]
    if both:
        values[VARY] = [*both, *(values.get(VARY) or told.pop(VARY, ()))]


def _in_file(
    path: Path, known: Mapping[str, Any], questions: Mapping[str, Parameter]
) -> dict[str, Any]:
    """Return what a file says, by the names of options; TraceError for a key that is none."""
    said: dict[str, Any] = {}
    for key, value in documents.read_toml(path).items():
        name = key.replace("-", "_")
        if name not in known:
            raise TraceError(path, f"unknown option {brief(key)}{likely(name, known)}")
        option = known[name]
        if option.name in said:
            raise TraceError(path, f"option {brief(key)} is given twice")
        try:
            value = _told(questions.get(option.name), value)
            said[option.name] = _typed(option, name, value, varied=VARY in known)
        except ParameterError as error:
            raise _of_file(path, error) from None
    return said


def _set(texts: list[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``KEY=VALUE`` texts say, by the names of options; ParameterError for a key that
    is none."""
    said: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        name = key.strip().lstrip("-").replace("-", "_")
        if not equals or name not in known:
            hint = likely(name, known) or "; --help-all shows them"
            raise ParameterError("set", text, f"KEY=VALUE with an option of this command{hint}")
        option = known[name]
        if option.is_flag:
            flags = [FLAGS.get(one.lower(), one) for one in value.split(",")]
            given = flags if len(flags) > 1 else flags[0]
            said[option.name] = _typed(option, name, given, varied=VARY in known)
        else:
            said[option.name] = [*said.get(option.name, ()), value] if option.multiple else value
    return said


def _told(question: Parameter | None, value: Any) -> Any:
    """Return tables, such as ``[[users]]``, as the text that their option takes."""
    tables = isinstance(value, list) and any(isinstance(one, dict) for one in value)
    read = None if question is None else question.setting.read
    return read(value) if tables and read is not None else value


def _typed(option: Any, name: str, value: Any, *, varied: bool = False) -> Any:
    """Return a value of a file as its option takes it: text, for all but flags."""
    if option.is_flag:
        several = value if varied and isinstance(value, list) else [value]
        if not several or not all(isinstance(one, bool) for one in several):
            allowed = "true or false, or both" if varied else "true or false"
            raise ParameterError(name, value, allowed)
        return _Both(str(one).lower() for one in several) if several is value else value
    if isinstance(value, list):
        parts = [_text(name, one) for one in value]
        return parts if option.multiple else ",".join(parts)
    return [_text(name, value)] if option.multiple else _text(name, value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bool | dict | list) or value == "":
        raise ParameterError(name, value, "a text, a number, or a list of such")
    return str(value)


def _of_file(path: str | Path, error: ParameterError) -> TraceError:
    text = f"{brief(error.value)} is not allowed; expected {error.allowed}"
    return TraceError(path, text, field=error.name)


@contextmanager
def naming_file(context: Any) -> Iterator[None]:
    """Have errors of options that a file brought name the file: whether their value cannot be
    read, or a run cannot use it."""
    try:
        yield
    except ParameterError as error:
        file = _file_of(context, by_key(context.command).get(error.name.replace("-", "_")))
        if file is None:
            raise
        raise _of_file(file, error) from None
    except typer.BadParameter as error:
        file = _file_of(context, error.param)
        if file is None:
            raise
        raise TraceError(file, error.message, field=_key(error.param)) from None


def _file_of(context: Any, option: Any) -> str | None:
    """Return the file that an option comes from; None for one that was said otherwise."""
    file, there = context.meta.get(FROM_FILE, (None, ()))
    return file if option is not None and option.name in there else None


def written(command: Any, words: str, said: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a settings file: all options of a command with what they mean; those that
    are `said`, by the names of options, as settings, the others as comments with their
    defaults."""
    yield f"# All options of {words}, for its --settings. A line such as"
    yield '# "#name = value" has no effect: it shows a default, or what would stand there.'
    panels: dict[str, list[Any]] = {}
    for option in dict.fromkeys(by_key(command).values()):
        panels.setdefault(option.rich_help_panel or "Options", []).append(option)
    for panel, options in panels.items():
        yield f"\n# == {panel} =="
        for option in options:
            question = command.questions.get(option.name)
            yield ""
            yield from (f"# {line}" for line in _meaning(option, question))
            if option.name in said:
                yield f"{_key(option)} = {_literal(said[option.name], question)}"
            else:
                yield f"#{_key(option)} = {_default(option, question)}"


def _meaning(option: Any, question: Parameter | None) -> list[str]:
    """Return the lines that tell what an option means."""
    told = " ".join((option.help or "").split())
    if question is not None and question.setting.unit and question.kind is not Kind.DURATION:
        told = f"{told} Unit: {question.setting.unit}."
    if question is not None and question.choices and not question.setting.shown:
        told += "" if "One of: " in told else f" One of: {', '.join(question.choices)}."
    return wrap(told, WIDTH - 2, break_on_hyphens=False)


def _default(option: Any, question: Parameter | None) -> str:
    """Return what stands for the value of an option that is not said."""
    if question is not None:
        setting, value = question.setting, question.default
        if setting.typed:
            return _literal(setting.typed)
        if question.kind is Kind.DURATION and isinstance(value, int | float):
            return _literal(typed_duration(int(value)))
        if value is not None and value is not REQUIRED and value != "" and setting.read is None:
            return _literal(value)
    if option.is_flag:
        return "true" if option.secondary_opts else "false"
    shown = (option.metavar or "TEXT").strip()
    return _literal([shown] if option.multiple else shown)


def _literal(value: Any, question: Parameter | None = None) -> str:
    """Return a value as TOML has it; the text of a number as a number."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if question is not None and question.kind in {Kind.WHOLE, Kind.REAL}:
        with suppress(ValueError):
            value = int(value) if str(value).isdecimal() else float(value)
    if isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False)
