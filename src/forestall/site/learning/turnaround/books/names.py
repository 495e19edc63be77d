"""Which other jobs a job counts with: numbers for words, rows for classes, as they come up."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from forestall.site.learning.turnaround.book_state import DYNAMIC, RUN4, RUNS
from forestall.site.learning.turnaround.classes import NARROW, WIDE, features, size_class
from forestall.site.learning.turnaround.tasks import family


class Alike(NamedTuple):
    """With which other jobs a job counts: its user and partition, the rows of its classes, and its
    calibrations (`classes.calibrated`)."""

    user: int
    part: int
    keys: list[int]
    groups: list[int]


class Names:
    """Numbers of users, names and partitions; rows of classes; calibrations."""

    def __init__(self) -> None:
        self._codes: dict[str, dict[str, int]] = {"user": {}, "name": {}, "part": {}}
        self._rows: dict[tuple[int, Hashable], int] = {}
        self._groups: dict[Hashable, int] = {"all": 0}
        self._near, self._far = 0, DYNAMIC

    def classed(self, told: Mapping[str, Any]) -> Alike:
        """Return with which others a job counts that says its size, limit, user, name and
        partition; what is new is remembered."""
        user, part = self._code("user", told["user"]), self._code("part", told["partition"])
        name, size, limit = self._code("name", family(told["name"])), told["size"], told["limit"]
        keys = [0] * (max(*NARROW, *WIDE) + 1)
        for column, alike in features(user, name, part, size, limit, size_class(size)).items():
            row = self._rows.get((column, alike))
            if row is None and column in NARROW:
                row, self._near = self._near, self._near + NARROW[column]
            elif row is None:
                row, self._far = self._far, self._far + WIDE[column]
            assert row is not None
            self._rows[column, alike] = keys[column] = row
        keys[RUN4] = RUNS + (limit > 0)
        known = self._groups
        own: tuple[Hashable, ...] = (part, (part, size_class(size)))
        return Alike(user, part, keys, [0, *(known.setdefault(one, len(known)) for one in own)])

    def _code(self, what: str, word: str) -> int:
        known = self._codes[what]
        return known.setdefault(word, len(known))

    def rows(self) -> dict[str, int]:
        """Return how many rows each table of a book needs."""
        return {
            "near": self._near,
            "far": self._far,
            "parts": len(self._codes["part"]),
            "groups": len(self._groups),
            "users": len(self._codes["user"]),
        }

    def numbers(self) -> list[int]:
        """Return all rows of classes."""
        return [*self._rows.values()]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Forget what comes up meanwhile."""
        grow: tuple[dict[Any, int], ...] = (*self._codes.values(), self._rows, self._groups)
        lengths, ends = [len(one) for one in grow], (self._near, self._far)
        try:
            yield
        finally:
            self._near, self._far = ends
            for one, length in zip(grow, lengths, strict=True):
                while len(one) > length:  # what is new stands last
                    one.popitem()

    def values(self) -> dict[str, Any]:
        """Return all of it as values that JSON can hold; see `from_values`."""
        return {
            "codes": {what: [*known] for what, known in self._codes.items()},
            "rows": [[column, alike, row] for (column, alike), row in self._rows.items()],
            "groups": [*self._groups],
            "near": self._near,
            "far": self._far,
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Names:
        """Return the names of which `values` told. Raises what missing values raise."""
        self = cls()
        self._codes = {
            what: {word: k for k, word in enumerate(values["codes"][what])} for what in self._codes
        }
        self._rows = {
            (int(column), tuple(alike)): int(row) for column, alike, row in values["rows"]
        }
        self._groups = {
            tuple(one) if isinstance(one, list) else one: k
            for k, one in enumerate(values["groups"])
        }
        self._near, self._far = int(values["near"]), int(values["far"])
        return self
