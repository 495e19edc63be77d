"""Tables of what happened: hostlists, also where they are written in parts."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.nodes import NodeSet
from forestall.scheduling.simulation import tables


@pytest.mark.parametrize("part", [1, 3, 7, 65_536])
def test_hostlists_in_parts(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of no, one and several ranges, in an order that is not that of their ranges."""
    monkeypatch.setattr(tables, "PART", part)
    rng = np.random.default_rng(5)
    count = rng.integers(0, 4, 23)
    first = (np.cumsum(count) - count)[::-1].copy()
    count = count[::-1].copy()
    low = np.arange(count.sum()) * 10
    ranges = np.column_stack((low, low + rng.integers(1, 9, len(low))))
    wanted = [
        str(NodeSet(tuple((int(a), int(b)) for a, b in ranges[f : f + c])))
        for f, c in zip(first, count, strict=True)
    ]
    assert tables.hostlists(ranges, first, count).to_list() == wanted


def test_hostlists_of_nothing() -> None:
    none = np.empty(0, dtype=np.int64)
    assert tables.hostlists(np.empty((0, 2), dtype=np.int64), none, none).to_list() == []
