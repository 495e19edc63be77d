"""A measure by which runs are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from forestall.core.show import words
from forestall.core.show.words import Summary


@dataclass(frozen=True)
class Measure:
    """A row of a comparison: where it stands in a summary, how it reads, which end is better."""

    name: str
    key: str
    text: Callable[[object], str]
    better: Callable[..., float] | None = None

    def value(self, summary: Summary) -> float | None:
        """Return the measure of one run, None where it has none."""
        found: Any = summary
        for part in self.key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return words.number(found)


def whole(summary: Summary, name: str) -> int:
    """Return a count of the summary; one that is missing is 0."""
    return int(words.number(summary.get(name)) or 0)
