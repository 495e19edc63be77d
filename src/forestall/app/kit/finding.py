"""One check of a run and what it finds: the first case in words, and how many there are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Check(NamedTuple):
    """One check: its name, whether it passed, and what was found."""

    name: str
    passed: bool
    detail: str


class Finding:
    """Collects what is wrong for one check."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.first = ""

    def where(self, bad: npt.NDArray[np.bool_], text: str, *labels: Any) -> None:
        """Note every row in which `bad` holds; `labels` fill the placeholders of `text`."""
        rows = np.flatnonzero(bad)
        if rows.size:
            self.count += int(rows.size)
            if not self.first:
                self.first = text.format(*(label[rows[0]] for label in labels))

    def check(self, good: str) -> Check:
        """Return the check: passed with `good` as its detail, or failed with what was found."""
        if not self.count:
            return Check(self.name, True, good)
        more = f" (and {self.count - 1} more)" if self.count > 1 else ""
        return Check(self.name, False, self.first + more)
