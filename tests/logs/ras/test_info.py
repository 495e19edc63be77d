"""What `forestall traces info` says of an event log, against plain counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.ras import RasLog
from forestall.logs.ras.info import describe_events
from forestall.logs.ras.read import read_ras


def test_counts() -> None:
    log = RasLog(
        np.array([5, 6, 90_000]),
        np.array([1, 1, 0], dtype=np.int32),
        np.array([2, 7, 7], dtype=np.int8),
        np.array([0, 1, 1], dtype=np.int32),
        places=("a", "b", "never"),
        kinds=("hello", "panic"),
        alert=np.array([False, True, True]),
        origin=100,
    )
    found = describe_events(log)
    assert (found.records, found.places, found.kinds, found.alerts) == (3, 2, 2, 2)
    assert (found.span, found.origin) == (89_996, 105)
    assert found.severities == (("FATAL", 2), ("INFO", 1))
    assert found.top_kinds == (("panic", 2), ("hello", 1))
    assert found.top_places == (("b", 2), ("a", 1))
    assert ("alerts", "2") in found.rows()


def test_an_empty_log() -> None:
    none = np.empty(0, np.int64)
    small = np.empty(0, np.int32)
    log = RasLog(none, small, none.astype(np.int8), small, (), ())
    assert describe_events(log).records == 0
    assert ("alerts", "not labeled") in describe_events(log).rows()


@pytest.mark.data
def test_blue_gene(data: Path) -> None:
    path = data / "bgl-ras" / "BGL_2k.log"
    found = describe_events(read_ras(path))
    words = Counter(line.split()[8] for line in path.read_text().splitlines())
    assert dict(found.severities) == dict(words)
    assert found.alerts == 143
