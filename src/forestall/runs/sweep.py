"""A sweep as a plan: which values each parameter takes, and the points that they make."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from forestall.__about__ import __version__
from forestall.core.kit.model import Model
from forestall.core.kit.own import frozen, source_of, thawed
from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.own import Own, is_own
from forestall.core.model.settings import Kind, Parameter
from forestall.logs.inputs import Inputs
from forestall.runs.models import all_parameters, model_of
from forestall.runs.settings import asked_of, check_training, given_parameters, inputs_of, learnt_of
from forestall.scheduling.settings import PROMISE

if TYPE_CHECKING:
    from forestall.core.kit.model import AnyParameters

MOST_POINTS: Final = 100_000
_RANGE = "a value, a range from:to:by such as 0:1:0.1, or a list a,b,c"


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes
    ----------
    inputs : the logs
    axes : the values of each parameter with several, in the order of the model's parameters
    points : all parameters of each point; the last axis changes fastest
    model : what plays them
    own : what decides in the user's own Python and was given as an object, by its name, as other
        processes can make it anew
    """

    inputs: Inputs
    axes: Mapping[str, tuple[Any, ...]]
    points: tuple[AnyParameters, ...]
    model: Model = PROMISE
    own: Mapping[str, bytes] = field(default_factory=dict)

    def own_of(self, point: AnyParameters) -> Own | None:
        """Return what decides a point in the user's own Python, made anew, so that nothing is kept
        from one run to the next; None for others."""
        what = self.model.decides
        name: str = getattr(point, what, "")
        return thawed(what, self.own[name]) if name in self.own else self.model.own(name)

    @property
    def kinds(self) -> tuple[AnyParameters, ...]:
        """A point for each set of words among the parameters: what is compiled depends on no
        more."""
        words = {
            tuple(v for v in dict(point).values() if isinstance(v, str)): point
            for point in self.points
        }
        return tuple(words.values())

    @cached_property
    def same(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the points that give the same results, for each point in order."""
        groups: dict[AnyParameters, list[int]] = {}
        kinds = [self.model.alike(point) for point in self.points]
        for number, kind in enumerate(kinds):
            groups.setdefault(kind, []).append(number)
        return tuple(tuple(groups[kind]) for kind in kinds)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that results depend on: logs, options of reading, points, version."""
        digest = hashlib.sha256(f"forestall {__version__}\n".encode())
        if self.model.name != PROMISE.name:
            digest.update(f"model {self.model.name}\n".encode())
        digest.update(json.dumps(self.inputs.told(), sort_keys=True).encode())
        files = [self.inputs.log, self.inputs.failures, self.inputs.train]
        if self.model.on_hosts:
            files += [self.inputs.hosts, self.inputs.host_speeds]
        if isinstance(self.inputs.predictor, Path):
            files.append(self.inputs.predictor)
        files += self._own_sources()
        for path in files:
            digest.update(b"none" if path is None else _content(path))
        for data in self.own.values():
            digest.update(data)
        for point in self.points:
            digest.update(point.model_dump_json().encode())
        return digest.hexdigest()

    def _own_sources(self) -> list[Path]:
        """Return the files of what decides in the user's own Python, each once, in order."""
        points = {getattr(point, self.model.decides, ""): point for point in self.points}
        own = (self.own_of(point) for point in points.values())
        files = (source_of(one) for one in own if one is not None)
        return [file for file in dict.fromkeys(files) if file is not None]


def plan_of(log: Path, values: Mapping[str, Any]) -> Plan:
    """Return the plan that these options say; InputError and its kin for invalid arguments.

    `values` holds options by key; parameters may be ranges ``from:to:by`` and lists ``a,b,c``, and
    who decides an object or a class of the user's own.
    """
    model = model_of(values)
    given = given_parameters(values, model)
    own = _named(given, model)
    learnt = learnt_of(given, model) if _is_one(given.get("predictor")) else None
    if learnt is not None:
        given["predictor"] = "learned"
    several = {name: values_of(model.declared[name], value) for name, value in given.items()}
    count = prod(len(taken) for taken in several.values())
    if count > MOST_POINTS:
        raise InputError(f"{count:,} points are too many for a sweep; at most {MOST_POINTS:,}")
    points = tuple(
        model.checked(dict(zip(several, chosen, strict=True)))
        for chosen in product(*several.values())
    )
    inputs = replace(inputs_of(log, values, model), predictor=learnt)
    check_training(inputs, asked_of(points, learnt), model)
    axes = {name: taken for name, taken in several.items() if len(taken) > 1}
    return Plan(inputs, axes, points, model, own)


def _named(given: dict[str, Any], model: Model) -> dict[str, bytes]:
    """Name objects and classes of the user's own among the options, in place, and return them by
    their names as other processes can make them anew."""
    what, own = model.decides, dict[str, bytes]()
    asked = given.get(what)
    if asked is None or isinstance(asked, str):
        return own
    named = []
    for part in asked if isinstance(asked, list | tuple) else [asked]:
        one = None if isinstance(part, str) else model.own(part)
        if one is not None:
            data = frozen(what, one)
            if own.setdefault(one.name, data) != data:
                allowed = "one of each name: give them names of their own, spelled module:Class"
                raise ParameterError(what, one.name, allowed)
        named.append(part if one is None else one.name)
    given[what] = named
    return own


def _is_one(given: object) -> bool:
    """Return whether an option has one value."""
    return isinstance(given, str) and "," not in given


def varied(texts: Iterable[str]) -> dict[str, Any]:
    """Return options from ``name=values`` texts; on or off is written true or false."""
    options: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        name = key.strip().lstrip("-").replace("-", "_")
        if not equals or name not in all_parameters():
            known = ", ".join(all_parameters())
            raise ParameterError("vary", text, f"NAME=VALUES with a NAME of {known}")
        options[name] = value
    return options


def values_of(parameter: Parameter, value: Any) -> tuple[Any, ...]:
    """Return the values that a parameter takes, in the order given, each once.

    >>> values_of(PROMISE.declared["accuracy"], "0:0.3:0.1")
    (0.0, 0.1, 0.2, 0.3)
    >>> values_of(PROMISE.declared["checkpoint_interval"], "30m,1h:3h:1h")
    (1800, 3600, 7200, 10800)
    """
    if isinstance(value, list | tuple):
        parts = list(value)
    else:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else [value]
    if not parts or "" in parts:
        raise ParameterError(parameter.name, value, _RANGE)
    found: list[Any] = []
    for part in parts:
        if _is_range(parameter, part):
            found += _range(parameter, part)
        else:
            found.append(_plain(parameter, part))
    return tuple(dict.fromkeys(found))


def _is_range(parameter: Parameter, part: object) -> bool:
    """Return whether this is a range, not a duration such as 1-12:00:00 or a class of a module."""
    if parameter.kind is Kind.CHOICE and isinstance(part, str) and is_own(part):
        return False
    colons = isinstance(part, str) and ":" in part
    return colons and not (parameter.kind is Kind.DURATION and "-" in str(part).split(":")[0])


def _plain(parameter: Parameter, part: Any) -> Any:
    """Return one value; numbers in the type that they have in tables."""
    word = parameter.word
    if parameter.kind is Kind.REAL and part != word:
        try:
            return float(part)
        except (TypeError, ValueError):
            allowed = "a number from 0 to 1" if parameter.is_share else "a number"
            more = f" or {word}" if word else ""
            raise ParameterError(parameter.name, part, allowed + more) from None
    if parameter.kind is Kind.FLAG and isinstance(part, str) and part.lower() in {"true", "false"}:
        return part.lower() == "true"
    return parameter.read(part)


def _range(parameter: Parameter, text: str) -> list[Any]:
    """Return first, first + step, ... up to last, which is in it where a step hits it exactly."""
    name, parts = parameter.name, text.split(":")
    if name == "seed" and len(parts) == 2:  # 1:5 is every seed from 1 to 5
        parts.append("1")
    if not parameter.is_number or len(parts) != 3:
        raise ParameterError(name, text, _RANGE)
    if parameter.kind is Kind.DURATION:
        first, last, step = (Decimal(parameter.read(part)) for part in parts)
    else:
        try:
            first, last, step = (Decimal(part.strip()) for part in parts)
        except InvalidOperation:
            raise ParameterError(name, text, _RANGE) from None
    if not (first.is_finite() and last.is_finite() and step.is_finite()):
        raise ParameterError(name, text, "finite numbers")
    if step <= 0 or last < first:
        raise ParameterError(name, text, "a range that goes up, with a step above 0")
    count = int((last - first) / step) + 1
    if count > MOST_POINTS:
        raise ParameterError(name, text, f"at most {MOST_POINTS:,} values")
    steps = [first + k * step for k in range(count)]
    if parameter.kind is Kind.REAL:
        return [float(value) for value in steps]
    if any(value != int(value) for value in steps):
        raise ParameterError(name, text, "whole numbers")
    return [int(value) for value in steps]


def _content(path: Path) -> bytes:
    """Return a hash of the bytes of a file, or of the files of a folder."""
    try:
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        digest = hashlib.sha256()
        for one in files:
            with one.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror}") from None
    return digest.digest()
