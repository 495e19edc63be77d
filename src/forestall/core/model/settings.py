"""Settings: what a parameter is, declared once, beside its type and its default.

A declaration stands in the annotation of a field, of a model's parameters or of the question that
a use case answers::

    hold: Seconds = setting(60, "How long that, or a gap, may last", unit="s")
    Hold = Annotated[Seconds, Setting("How long that, or a gap, may last", unit="s")]

Type and bounds come from the annotation, all else from the `Setting`. The option of the command
line, the key of files, the axis of a sweep, the row of the reference page and the row of a report
are made of it; none of them is listed anywhere else. Texts name other parameters in braces,
``{hold}`` (`forestall.core.model.spelling`).
"""

from __future__ import annotations

import builtins
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    Protocol,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from forestall.core.model.entries import Entries
from forestall.core.model.errors import ParameterError
from forestall.core.model.spelling import named
from forestall.core.model.units import exact_duration, parse_duration

AXIS_UNITS: Final = {"s": 1.0, "hours": 1 / 3600, "days": 1 / 86_400}
"""Units in which an axis can tell durations, and their length by which seconds are multiplied."""
NONE: Final = "none"
REQUIRED: Final = ...
"""The default of what has none."""


class Kind(StrEnum):
    """What the values of a parameter are."""

    FLAG = "flag"
    CHOICE = "choice"
    DURATION = "duration"
    WHOLE = "whole"
    REAL = "real"
    TEXT = "text"
    PATH = "path"


@dataclass(frozen=True)
class Setting:
    """What is declared of a parameter beside its type and default.

    Attributes
    ----------
    help : what it is, as a phrase without its end; the default is told after it
    about : the same for the reference page, where there is more to say than `help`: Markdown, whose
        links lead from ``docs/``
    unit : of its values; whole numbers of ``s`` are durations, and are read and told as such
    group : the part of the parameters it belongs to, by its key; "": those of its model alone
    shown : what stands for a value in help, where kind and unit do not tell
    absent : the word by which users give None
    unset : what None as the default means; "": nothing is said of it
    allowed : what is asked of values beside type and bounds
    label : of an axis; "": the parameter's name
    axis : unit in which an axis tells it; None: `unit`
    order : of the lines of a figure, where it is not that of the alphabet
    only : parameter, and the values of it without one of which it has no effect
    option : its option, where that has another name than the parameter; `short` is a letter for it
    read : returns a value from its text, where kind and unit do not tell how
    typed : the default as one types it, where kind and unit do not tell
    offered : returns names that a shell completes, where a value need not be one of them
    rare : whether help shows it only where all options are asked for
    """

    help: str
    about: str = ""
    unit: str = ""
    group: str = ""
    shown: str = ""
    absent: str = ""
    unset: str = ""
    allowed: str = ""
    label: str = ""
    axis: str | None = None
    order: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    option: str = ""
    short: str = ""
    read: Callable[[str], Any] | None = None
    typed: str = ""
    offered: Callable[[], Iterable[str]] | None = None
    rare: bool = False


@dataclass(frozen=True)
class Bounds:
    """Between which values a number may be; None: no such bound."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def hold(self, value: float) -> bool:
        """Return whether a number lies within them; what is not finite lies nowhere."""
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def told(self, *, whole: bool) -> str:
        """Return what is allowed, in words."""
        number = "a whole number" if whole else "a number"
        if self.above is not None and self.below is not None:
            return f"{number} between {self.above:g} and {self.below:g}"
        least = self.above + 1 if whole and self.above is not None else self.least
        if least is None:
            return f"{number} above {self.above:g}"
        if self.most is not None:
            return f"{number} from {least:g} to {self.most:g}"
        if self.below is not None:
            return f"{number} from {least:g} to below {self.below:g}"
        return f"{number} of at least {least:g}"


class Field(Protocol):
    """A field of a class of parameters, as pydantic keeps it."""

    @property
    def annotation(self) -> Any:
        """The type, without what is said of it."""

    @property
    def default(self) -> Any:
        """The default."""

    @property
    def metadata(self) -> list[Any]:
        """What is said of the type."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: what is declared of it, and what its type tells.

    Attributes
    ----------
    default : `REQUIRED`: it has to be given
    choices : the words that it can be, where it is one of words
    word : a word that may stand where a number is expected; "": none
    several : whether it is a list of such values
    """

    name: str
    setting: Setting
    kind: Kind
    default: Any
    choices: tuple[str, ...] = ()
    word: str = ""
    bounds: Bounds = Bounds()
    several: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it can be given as a range."""
        return self.kind in {Kind.DURATION, Kind.WHOLE, Kind.REAL}

    @property
    def is_share(self) -> bool:
        """Whether it is a number from 0 to 1."""
        return self.kind is Kind.REAL and (self.bounds.least, self.bounds.most) == (0, 1)

    @property
    def axis(self) -> tuple[str, float]:
        """The words of an axis, and by what values are multiplied for the unit that they name."""
        declared = self.setting
        label = declared.label or self.name.replace("_", " ").capitalize()
        unit = declared.unit if declared.axis is None else declared.axis
        scale = AXIS_UNITS.get(unit, 1.0) if self.kind is Kind.DURATION else 1.0
        return (f"{label} ({unit})" if unit else label), scale

    def read(self, value: Any, *, plain: bool = True) -> Any:
        """Return a value as its model takes it: durations in seconds, numbers as numbers; without
        `plain` a duration that is text has a unit.

        Raises ParameterError for what is of another kind; bounds are the model's to check.
        """
        if self.setting.read is not None:
            return self.setting.read(value)
        if isinstance(value, list | dict):
            raise ParameterError(self.name, value, "one value (forestall sweep takes several)")
        if self.kind is Kind.FLAG:
            return flag_of(self.name, value)
        if self.kind is Kind.DURATION:
            if self.word and value == self.word:
                return value
            given = value if isinstance(value, int | float) else str(value)
            return parse_duration(given, self.name, exact=True, plain=plain)
        if self.kind is Kind.REAL and isinstance(value, str):
            with suppress(ValueError):  # what is no number is refused by its model's own check
                return float(value)
        return whole_of(self.name, value) if self.kind is Kind.WHOLE else value

    def check(self, value: Any) -> None:
        """Raise ParameterError for a number that is out of bounds, or another word than asked."""
        name = self.setting.option or self.name
        if value is None:
            return
        if self.choices and value not in self.choices:
            raise ParameterError(name, value, "one of " + ", ".join(self.choices))
        if self.is_number and self.bounds != Bounds() and not self.bounds.hold(value):
            raise ParameterError(name, value, self.bounds.told(whole=self.kind is Kind.WHOLE))

    def told(self, value: Any) -> str:
        """Return a value as it could be given, with its unit; of None what it means."""
        if value is None:
            return named(self.setting.absent or self.setting.unset or NONE)
        if isinstance(value, bool | str) or not self.is_number:
            return str(value)
        if self.kind is Kind.DURATION:
            return exact_duration(int(value))
        text = f"{value:g}" if isinstance(value, float) else str(value)
        return f"{text} {self.setting.unit}" if self.setting.unit else text


@lru_cache(maxsize=64)
def declared(kind: Any) -> Mapping[str, Parameter]:
    """Return the parameters of a class, by name and in order: all fields that have a `Setting`."""
    fields: Mapping[str, Field] = getattr(kind, "model_fields", None) or _fields(kind)
    return MappingProxyType({name: _parameter(name, one) for name, one in fields.items()})


class Declared:
    """A question to a use case: a frozen dataclass whose fields are declared, those that name no
    `group` in that of the class. It cannot be made of numbers that are out of bounds
    (ParameterError)."""

    _group: ClassVar[str] = ""

    def __init_subclass__(cls, group: str = "") -> None:
        cls._group = group

    def __post_init__(self) -> None:
        own: Any = type(self)
        for name, one in declared(own).items():
            one.check(getattr(self, name))


@dataclass(frozen=True)
class _DataclassField:
    """A field of a dataclass, or a parameter of a function, as pydantic would keep it."""

    annotation: Any
    default: Any
    metadata: list[Any]


def _fields(kind: Any) -> dict[str, Field]:
    """Return those fields of a dataclass that are declared."""
    names = _Names(vars(import_module(kind.__module__)))
    hints = get_type_hints(kind, localns=names, include_extras=True)
    found: dict[str, Field] = {}
    for one in dataclasses.fields(kind):
        hint = hints[one.name]
        if is_declared(hint):
            default = REQUIRED if one.default is dataclasses.MISSING else one.default
            kept = [_grouped(said, kind) for said in hint.__metadata__]
            found[one.name] = _DataclassField(hint.__origin__, default, kept)
    return found


class _Unknown:
    """A type that only type checkers import."""

    def __class_getitem__(cls, item: Any) -> type[_Unknown]:
        return cls


class _Names(dict[str, Any]):
    """The names of a module, and of what only type checkers import there."""

    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, _Unknown)


def _grouped(said: Any, kind: Any) -> Any:
    """Return a `Setting` that names no group with that of its class; others as they are."""
    if isinstance(said, Setting) and not said.group and issubclass(kind, Declared):
        return dataclasses.replace(said, group=kind._group)
    return said


def is_declared(annotation: Any) -> bool:
    """Return whether an annotation has a `Setting`."""
    return any(isinstance(one, Setting) for one in getattr(annotation, "__metadata__", ()))


def parameter_of(name: str, annotation: Any, default: Any) -> Parameter:
    """Return the parameter that an annotation with a `Setting` declares."""
    kept = list(annotation.__metadata__)
    return _parameter(name, _DataclassField(annotation.__origin__, default, kept))


def told(kind: Any, values: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters of a class with their units, for a table; what is none of them as it
    stands."""
    known = declared(kind)
    return {n: known[n].told(v) if n in known else str(v) for n, v in values.items()}


def _parameter(name: str, field: Field) -> Parameter:
    """Return a field as a parameter."""
    [setting] = [one for one in field.metadata if isinstance(one, Setting)]
    if setting.read is not None:
        return Parameter(name, setting, Kind.TEXT, field.default)
    members = dict(_members(field.annotation, list(field.metadata)))
    several = list in members
    words = members.pop(str, [])
    members.pop(list, None)
    assert len(members) <= 1, f"{name}: of two kinds, {members}"
    base = next(iter(members), str)
    kind = _KINDS.get(base, Kind.PATH)
    typed = base is float and setting.shown == "DURATION"  # others are numbers, in the unit s
    if typed or (kind is Kind.WHOLE and setting.unit == "s"):
        kind = Kind.DURATION
    if kind is Kind.TEXT and words:
        kind = Kind.CHOICE
    choices = tuple(words) if kind is Kind.CHOICE else ()
    word = "" if base is str else next(iter(words), setting.absent)
    bounds = Bounds(**dict(_bounds(members.get(base, []))))
    return Parameter(name, setting, kind, field.default, choices, word, bounds, several)


_KINDS: Final = {bool: Kind.FLAG, int: Kind.WHOLE, float: Kind.REAL, str: Kind.TEXT}


def _members(annotation: Any, metadata: list[Any]) -> Iterator[tuple[type, list[Any]]]:
    """Yield the plain types of an annotation, each with what is said of it; of words, the words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _members(arguments[0], [*metadata, *arguments[1:]])
    elif origin in {Union, UnionType}:
        for one in arguments:
            yield from _members(one, metadata)
    elif origin is Literal:
        yield str, list(arguments)
    elif origin is list:
        yield list, []
        yield from _members(arguments[0], metadata)
    elif annotation is str:
        yield str, [name for one in metadata if isinstance(one, Entries) for name in one]
    elif annotation is not type(None):
        yield annotation, metadata


def _bounds(said: list[Any]) -> Iterator[tuple[str, float]]:
    """Yield the bounds among what is said of a type, by their names in `Bounds`."""
    for one in said:
        yield from _bounds(getattr(one, "metadata", []))
        for theirs, ours in (("ge", "least"), ("gt", "above"), ("le", "most"), ("lt", "below")):
            bound = getattr(one, theirs, None)
            if bound is not None:
                yield ours, bound


def flag_of(name: str, value: Any) -> bool:
    """Return a value that is true or false; ParameterError for another."""
    if isinstance(value, bool):
        return value
    raise ParameterError(name, value, "true or false")


def whole_of(name: str, value: Any) -> int:
    """Return a whole number from a number or its text; ParameterError for what is none."""
    try:
        if not isinstance(value, bool | float):
            return int(value)
    except (TypeError, ValueError):
        pass
    raise ParameterError(name, value, "a whole number")


def real_of(name: str, value: Any) -> float:
    """Return a number from a number or its text; ParameterError for what is none."""
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ParameterError(name, value, "a number")


def text_of(name: str, value: Any) -> str:
    """Return the text of one value; ParameterError for lists, flags and nothing."""
    if isinstance(value, bool | list | dict) or str(value) == "":
        raise ParameterError(name, value, "text")
    return str(value)
