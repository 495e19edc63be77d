"""Years by which failures and exposure are counted: of the calendar, or of the nodes' ages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError

DAY = 86_400
YEAR = 365.25
"""Days of a year of age, of which each begins with a whole day; calendar years are their own."""


@dataclass(frozen=True)
class Years:
    """Consecutive years of each node.

    Attributes
    ----------
    labels : their numbers: 1997, 1998, ... or 1, 2, ...
    edges : int64[nodes or 1, len(labels) - 1], seconds at which the second and later years begin;
        the first takes all that is before, the last all that is after
    """

    labels: tuple[int, ...]
    edges: Ints

    def of(self, time: Ints, node: Ints) -> Ints:
        """Return the place in `labels` of the year of each time on a node, int64[n]."""
        rows = np.zeros_like(node) if len(self.edges) == 1 else node
        year = np.zeros(len(time), dtype=np.int64)
        for k in range(self.edges.shape[1]):
            year += time >= self.edges[rows, k]
        return year

    def within(self, node: Ints, start: Ints, end: Ints) -> Ints:
        """Return the seconds of [start, end) in each year, int64[n, len(labels)]."""
        rows = np.zeros_like(node) if len(self.edges) == 1 else node
        edges = self.edges[rows]
        points = np.clip(edges, start[:, None], np.maximum(end, start)[:, None])
        bounds = np.column_stack([start, points, np.maximum(end, start)])
        return np.diff(bounds, axis=1)

    def place(self, year: int) -> int:
        """Return the place of a year in `labels`; ParameterError where it is not among them."""
        if year not in self.labels:
            allowed = f"a year from {self.labels[0]} to {self.labels[-1]}"
            raise ParameterError("year", year, allowed)
        return self.labels.index(year)


def calendar_years(origin: int | None, first: int, last: int) -> Years:
    """Return the calendar years that [first, last] touches, seconds on a log's clock."""
    if origin is None:
        raise ParameterError("years", "calendar", "age: the log has no dates")
    years = np.array([first + origin, last + origin]).astype("datetime64[s]")
    low, high = years.astype("datetime64[Y]")
    span = np.arange(low, high + np.timedelta64(1, "Y"))
    edges = span[1:].astype("datetime64[s]").astype(np.int64) - origin
    return Years(tuple(int(y) for y in span.astype(np.int64) + 1970), edges[None, :])


def years_of_age(origin: Ints, last: Ints) -> Years:
    """Return years 1, 2, ... of nodes from `origin` on, as many as reach to every `last`,
    int64[nodes] each.

    Year k + 1 begins 365.25 k days after the origin, rounded up to whole days.
    """
    days = int(np.max(last - origin, initial=0)) // DAY
    begin = np.ceil(np.arange(1, int(days / YEAR) + 1) * YEAR).astype(np.int64)
    edges = origin[:, None] + begin * DAY
    return Years(tuple(range(1, len(begin) + 2)), edges.astype(np.int64))
