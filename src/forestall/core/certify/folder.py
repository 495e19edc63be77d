"""A run's folder as a certifier reads it: `summary.json`, and tables where they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from forestall.core.certify.sheet import Rows
from forestall.core.files.documents import json_of
from forestall.core.files.findings import shown
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.own import is_own
from forestall.core.model.stores import Stores

T = TypeVar("T")
Table = TypeVar("Table", bound=Rows)


def read_summary(path: Path) -> dict[str, Any]:
    """Return what `summary.json` holds; TraceError where it is no JSON object."""
    try:
        summary = json_of(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TraceError(path, f"is not JSON ({str(error).splitlines()[0]})") from None
    if not isinstance(summary, dict):
        raise TraceError(path, "not a summary of a run")
    return summary


@dataclass(frozen=True)
class Summary:
    """`summary.json`, value by value, each checked as it is read; keys are dotted."""

    path: Path
    held: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path) -> Summary:
        """Return the summary of a run's folder."""
        path = folder / "summary.json"
        return cls(path, read_summary(path))

    def parameter(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return what a parameter given as text says, None where it was not given."""
        parameters = self.value("parameters", (dict,), "an object")
        if parameters.get(name) is None:
            return None
        try:
            return read(self.value(f"parameters.{name}", (str,), "text"))
        except ParameterError as error:
            raise TraceError(self.path, str(error), field=f"parameters.{name}") from None

    def stores(self) -> Stores | None:
        """Return where checkpoints go, None where they cost what the parameters say."""
        return self.parameter("vault", Stores.of)

    def value(self, keys: str, kinds: tuple[type, ...], expected: str) -> Any:
        """Return a value of one of these kinds; TraceError where it is not as expected."""
        value: Any = self.held
        for key in keys.split("."):
            if not isinstance(value, Mapping) or key not in value:
                raise TraceError(self.path, "is not there", field=keys)
            value = value[key]
        odd = isinstance(value, bool) and bool not in kinds
        odd = odd or (isinstance(value, float) and not math.isfinite(value))
        if odd or not isinstance(value, kinds):
            raise TraceError(self.path, f"{shown(value)} is not {expected}", field=keys)
        return value

    def measure(self, keys: str) -> float:
        """Return a number."""
        value: float = self.value(keys, (int, float), "a number")
        return value

    def number(self, keys: str, least: float, below: float) -> float:
        """Return a number within [least, below)."""
        value = self.measure(keys)
        if not least <= value < below:
            raise TraceError(self.path, f"{shown(value)} is not {least} to {below}", field=keys)
        return value

    def whole(self, keys: str, least: int, below: int, *, none: int | None = None) -> int:
        """Return a whole number within [least, below); `none` where null may stand and does."""
        if none is not None and not self.told(keys):
            return none
        value = self.number(keys, least, below)
        if value != int(value):
            raise TraceError(self.path, f"{shown(value)} is not whole", field=keys)
        return int(value)

    def told(self, keys: str) -> bool:
        """Return whether a number stands where null may."""
        kinds = (int, float, type(None))
        return self.value(keys, kinds, "a number or null") is not None

    def word(self, keys: str, known: Sequence[str], *, own: bool = False) -> str:
        """Return one of these words; with `own`, or the spelling of a class of the user's own."""
        value: str = self.value(keys, (str,), "a word")
        if value not in known and not (own and is_own(value)):
            raise TraceError(
                self.path, f"{shown(value)} is not one of {', '.join(known)}", field=keys
            )
        return value

    def flag(self, keys: str) -> bool:
        """Return true or false."""
        return bool(self.value(keys, (bool,), "true or false"))


# ------------------------------------------------------------------------------------ the folder


class RunFolder:
    """The files of a run, each read where it is first asked for; a TraceError tells of one that is
    missing, or cannot be read as what it should be."""

    LOG: ClassVar[tuple[str, ...]] = ("events.csv", "decisions.csv")

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise TraceError(folder, "not a folder of a run")
        self.folder, self.summary = folder, Summary.of(folder)

    @property
    def known(self) -> dict[str, Any]:
        """What the columns of tables are checked against, such as the number of nodes."""
        return {}

    def has(self, *files: str) -> bool:
        """Return whether any of these files is there."""
        return any((self.folder / name).exists() for name in files)

    @cached_property
    def is_logged(self) -> bool:
        """Whether events and decisions were logged; of half a log the reader tells."""
        return self.has(*self.LOG)


def table(rows: type[Table], *, alone: bool = False) -> cached_property[Table]:
    """Declare a table of a folder; one that stands `alone` is checked against nothing."""
    return cached_property(lambda run: rows.read(run.folder, **({} if alone else run.known)))
