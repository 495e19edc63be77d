"""Users who bargain: what they ask of a promise, how long they would wait, what a job is worth."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from forestall.core.model.errors import ParameterError

Range = tuple[float, float]
MOST_ROUNDS: Final = 16
FORM: Final = "such as 'least=0.5:0.99 patience=0:10 value=1 rounds=4'"


@dataclass(frozen=True)
class UserKind:
    """Users of one kind; of a range (low, high) each user has a value, uniform between its ends.

    Attributes
    ----------
    name : a word
    share : of all users, as a weight
    least : least probability that they take, 0 to 1
    patience : how much later than at once they would have a job done, in lengths of the job
    value : of a node-hour of work that is done at once; falls to 0 as patience ends
    rounds : how often they ask at most
    """

    name: str = "users"
    share: float = 1.0
    least: Range = (0.5, 0.99)
    patience: Range = (0.0, 10.0)
    value: Range = (1.0, 1.0)
    rounds: int = 4

    def __post_init__(self) -> None:
        """Raise ParameterError for what users cannot be."""
        plain = self.name.replace("-", "").replace("_", "")
        _hold(plain.isascii() and plain.isalnum(), self.name, "a name of letters and digits")
        _hold(0 < self.share < math.inf, self.share, "a share above 0")
        _hold(self._inside(self.least, 1.0), self.least, "least from 0 to 1, the low end first")
        for name in ("patience", "value"):
            known = getattr(self, name)
            _hold(self._inside(known, 1e9), known, f"{name} from 0 to 1e9, the low end first")
        _hold(1 <= self.rounds <= MOST_ROUNDS, self.rounds, f"rounds from 1 to {MOST_ROUNDS}")

    @staticmethod
    def _inside(ends: Range, most: float) -> bool:
        return 0 <= ends[0] <= ends[1] <= most

    @property
    def text(self) -> str:
        """It as it could be given."""
        told = [self.name, f"share={self.share:g}"]
        for name in ("least", "patience", "value"):
            low, high = getattr(self, name)
            told.append(f"{name}={low!r}:{high!r}" if low != high else f"{name}={low!r}")
        return " ".join([*told, f"rounds={self.rounds}"])


@dataclass(frozen=True)
class Population:
    """Kinds of users, each of which has a share."""

    kinds: tuple[UserKind, ...]

    def __post_init__(self) -> None:
        """Raise ParameterError where there are none, or two of one name."""
        names = [one.name for one in self.kinds]
        _hold(bool(names), "", "at least one kind of users")
        _hold(len(set(names)) == len(names), ", ".join(names), "kinds with names of their own")

    @property
    def text(self) -> str:
        """It as it could be given, always the same way."""
        return "; ".join(one.text for one in self.kinds)

    @classmethod
    def of(cls, text: str) -> Population:
        """Return the population that a text says: kinds with ``;`` between them, each a name and
        settings such as ``least=0.5:0.99``. Raises ParameterError.

        >>> Population.of("least=0.9 patience=2").kinds[0].patience
        (2.0, 2.0)
        """
        return cls.made([_said(part) for part in text.split(";")])

    @classmethod
    def made(cls, kinds: list[dict[str, Any]]) -> Population:
        """Return the population of plain values: numbers, and pairs of numbers for ranges. Raises
        ParameterError for what is unknown."""
        return cls(tuple(_kind(one) for one in kinds))


def _said(text: str) -> dict[str, Any]:
    """Return the settings that the text of one kind says."""
    found: dict[str, Any] = {}
    for word in text.split():
        name, equals, value = word.partition("=")
        if not equals:
            _hold("name" not in found, word, f"settings {FORM}")
            found["name"] = word
            continue
        _hold(name not in found, word, f"each setting once, {FORM}")
        found[name] = value.split(":") if ":" in value else value
    return found


_RANGES: Final = ("least", "patience", "value")


def _kind(values: Mapping[str, Any]) -> UserKind:
    known = [one.name for one in fields(UserKind)]
    made: dict[str, Any] = {}
    for name, value in values.items():
        _hold(name in known, name, "one of " + ", ".join(known))
        if name == "name":
            made[name] = str(value)
        elif name in _RANGES:
            ends = value if isinstance(value, list | tuple) else [value]
            _hold(len(ends) in (1, 2), value, "a number, or two with : between them")
            made[name] = (_number(ends[0], name), _number(ends[-1], name))
        else:
            number = _number(value, name)
            _hold(name == "share" or number == int(number), value, "a whole number of rounds")
            made[name] = number if name == "share" else int(number)
    return UserKind(**made)


def _number(value: Any, name: str) -> float:
    try:
        if not isinstance(value, bool) and math.isfinite(float(value)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise ParameterError("users", f"{name}={value}", f"numbers, {FORM}")


def _hold(right: bool, value: Any, allowed: str) -> None:
    if not right:
        raise ParameterError("users", value, allowed)
