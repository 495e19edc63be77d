"""What a reader finds wrong or odd in a log, line by line, until it becomes a `Cleaning`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.packed import DAMAGES, Damage
from forestall.core.model.cleaning import Action, Cleaning
from forestall.core.model.errors import EmptyTraceError, TraceError

with lazily():
    import polars as pl


class SpoiltLines(dict[Damage, list[int]]):
    """Numbers of the lines of a file that are no plain text, by what is wrong with them."""

    def note(self, damage: Damage, lines: Iterable[int]) -> None:
        """Note lines."""
        self.setdefault(damage, []).extend(lines)

    def cleaning(self, before: str = "") -> Cleaning:
        """Return remarks on them; `before` stands before each line."""
        cleaning = Cleaning()
        for damage, lines in self.items():
            named = (f"{before}line {line}" for line in lines)
            cleaning = cleaning.plus(damage, DAMAGES[damage][0], "changed", named)
        return cleaning


@dataclass(frozen=True)
class LineFinding:
    """One line with something about it; `field` and `message` are what an error would say."""

    line: int
    message: str
    field: str | None = None


@dataclass
class Findings:
    """Collects findings by kind. With `strict`, the first that changes anything is an error."""

    source: str | Path
    strict: bool = False
    _kinds: dict[str, tuple[str, Action, list[LineFinding]]] = field(default_factory=dict)

    def add(self, kind: str, text: str, action: Action, found: Iterable[LineFinding]) -> None:
        """Note findings of one kind; `text` names the kind in words (``rows with ...``)."""
        self._kinds.setdefault(kind, (text, action, []))[2].extend(found)

    def note(self, kind: str, text: str, lines: Iterable[int]) -> None:
        """Note lines that are odd but kept as they are."""
        self.add(kind, text, "kept", (LineFinding(int(line), text) for line in lines))

    def spoilt(self, damage: Damage, lines: Iterable[int]) -> None:
        """Note lines that are no plain text, and were changed."""
        text, message = DAMAGES[damage]
        self.add(damage, text, "changed", (LineFinding(line, message) for line in lines))

    def fields(
        self,
        column: pl.Series,
        lines: npt.NDArray[np.int64],
        bad: npt.NDArray[np.bool_],
        expected: str,
        *,
        what: str = "",
        text: str = "",
        action: Action = "left out",
    ) -> None:
        """Note the rows whose field is bad, each with what stands there and what was expected; the
        kind is that of `what` (default: the column's name)."""
        rows = np.flatnonzero(bad)
        if len(rows):
            what = what or column.name
            found = (
                LineFinding(line, f"{_said(value)}; expected {expected}", column.name)
                for line, value in zip(lines[rows].tolist(), column[rows].to_list(), strict=True)
            )
            self.add(f"bad_{what}", text or f"rows with an unusable {what}", action, found)

    def first(self) -> LineFinding | None:
        """Return the finding of the lowest line that left a row out or changed it."""
        found = [f for _, action, some in self._kinds.values() if action != "kept" for f in some]
        return min(found, key=lambda f: f.line, default=None)

    def error(self, finding: LineFinding) -> TraceError:
        """Return the error that says one finding."""
        return TraceError(self.source, finding.message, line=finding.line, field=finding.field)

    def cleaning(self, usable: int, what: str) -> Cleaning:
        """Return all of it; `usable` rows are left, `what` says of what (``jobs``).

        Raises TraceError for the first finding with `strict`, and where nothing usable is left.
        """
        first = self.first()
        if first is not None and (self.strict or usable == 0):
            raise self.error(first)
        if usable == 0:
            raise EmptyTraceError(self.source, f"has no {what}: the log is empty")
        cleaning = Cleaning(strict=self.strict)
        for kind, (text, action, found) in self._kinds.items():
            lines = sorted({f.line for f in found})
            cleaning = cleaning.plus(kind, text, action, (f"line {line}" for line in lines))
        return cleaning


def _said(value: object) -> str:
    return "is empty" if value in (None, "") else shown(str(value))


def shown(value: object, limit: int = 40) -> str:
    """Return a value as an error names it, on one line and not too long."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def listed(names: Sequence[object], limit: int = 30) -> str:
    """Return names as a list in a sentence, the rest counted."""
    some = ", ".join(str(name) for name in names[:limit])
    return some if len(names) <= limit else f"{some} and {len(names) - limit} more"
