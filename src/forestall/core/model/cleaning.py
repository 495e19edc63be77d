"""What was left out, changed or found odd on the way in: counted and named, never silent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from forestall.core.model.errors import InputError

Action = Literal["left out", "changed", "kept"]
NAMED = 10
"""How many examples a remark names in text; `skipped.csv` names all of them."""

_NOUN = re.compile(r"^((?:[\w-]+ )*?[\w-]*\w)s\b")
"""What is before the s of the first word in the plural."""

_SINGULAR = (
    ("that end before they start", "that ends before it starts"),
    *((f"that {verb} ", f"that {verb}s ") for verb in ("continue", "fail", "overlap", "repeat")),
    ("that show a run before it", "that shows a run before it"),
    ("that are ", "that is "),
    ("that do ", "that does "),
    ("that overlaps an earlier one of their", "that overlaps an earlier one of its"),
)


@dataclass(frozen=True)
class Remark:
    """One kind of oddity: how many, what was done about it, and which.

    `kind` is a short slug (``no_run_time``), `text` the same in words, `names` every job id, line
    or node concerned, as text.
    """

    kind: str
    text: str
    action: Action
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        shown = ", ".join(self.names[:NAMED])
        more = f", and {self.count - NAMED} more" if self.count > NAMED else ""
        return f"{self.counted} ({self.action}): {shown}{more}"

    @property
    def counted(self) -> str:
        """The count and what was counted: ``1 job that ran 0 s``, ``2 jobs that ran 0 s``."""
        if self.count != 1:
            return f"{self.count:,} {self.text}"
        noun = _NOUN.match(self.text)
        if noun is None:
            return f"1 {self.text}"
        rest = self.text[noun.end() :]
        for many, one in _SINGULAR:
            rest = rest.replace(many, one, 1) if rest.startswith(f" {many}") else rest
        return f"1 {noun[1]}{rest}"


@dataclass(frozen=True)
class Cleaning:
    """The remarks on one trace, in the order in which they were made; where the trace was read
    `strict`, what a run would leave out of it later is an error, too."""

    remarks: tuple[Remark, ...] = field(default=())
    strict: bool = field(default=False, compare=False)

    def plus(self, kind: str, text: str, action: Action, names: Iterable[object]) -> Cleaning:
        """Return this with one remark more; nothing is added where `names` is empty. Raises
        InputError where something is left out of what was read strictly."""
        named = tuple(str(name) for name in names)
        if not named:
            return self
        remark = Remark(kind, text, action, named)
        if self.strict and action == "left out":
            raise InputError(f"{remark}; with {{strict}} nothing may be left out")
        return Cleaning((*self.remarks, remark), self.strict)

    def __add__(self, other: Cleaning) -> Cleaning:
        return Cleaning(self.remarks + other.remarks, self.strict or other.strict)

    def told(self) -> list[dict[str, str | int]]:
        """Return a row of plain values for each remark: ``kind, text, action, count``."""
        return [
            {"kind": one.kind, "text": one.counted, "action": one.action, "count": one.count}
            for one in self.remarks
        ]

    def counts(self) -> dict[str, int]:
        """Return the number of each kind, as `summary.json` has it."""
        counted: dict[str, int] = {}
        for remark in self.remarks:
            counted[remark.kind] = counted.get(remark.kind, 0) + remark.count
        return counted
