"""What is said of metrics."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.cleaning import Cleaning
from forestall.core.model.metrics import Metrics
from forestall.logs.metrics.info import describe_metrics


def build(time: list[int], node: list[int], value: list[list[float]], **more: object) -> Metrics:
    names = tuple(f"m{k}" for k in range(len(value[0]) if value else 1))
    whole = np.array(value, dtype=np.float64).reshape(len(time), len(names))
    return Metrics(
        np.array(time, dtype=np.int64), np.array(node, dtype=np.int64), whole, names, 3, **more
    )  # type: ignore[arg-type]


def test_figures() -> None:
    value = [[1.0, np.nan], [2.0, np.nan], [6.0, np.nan], [3.0, np.nan]]
    cleaning = Cleaning().plus("x", "rows that are odd", "left out", ["line 3"])
    info = describe_metrics(
        build([0, 60, 300, 0], [0, 0, 0, 2], value, period=60, cleaning=cleaning, origin=86_400)
    )
    assert (info.samples, info.nodes, info.sampled_nodes, info.span) == (4, 3, 2, 301)
    assert (info.gaps, info.longest_gap) == (1, 240)
    assert info.absent == 3 / 7
    one, two = info.metrics
    assert (one.mean, one.median, one.least, one.most) == (3.0, 2.5, 1.0, 6.0)
    assert one.deviation == pytest.approx(np.std([1, 2, 6, 3]))
    assert (one.missing, two.missing) == (0.0, 1.0)
    rows = dict(info.rows())
    assert rows["nodes"] == "3 (1 without samples)"
    assert rows["gaps"] == "1 over 1.5 periods, longest 4 min; 42.9 % of the samples are missing"
    assert rows["first sample's day"] == "1970-01-02 00:00:00"
    assert rows["m1"] == "never known"
    assert rows["m0"].startswith("mean 3, sd 1.871, least 1, median 2.5")
    assert rows["left out"] == "1 row that is odd"


def test_none_and_one() -> None:
    empty = describe_metrics(build([], [], []))
    assert (empty.samples, empty.span, empty.gaps, empty.absent) == (0, 0, 0, 0.0)
    assert dict(empty.rows())["oddities"] == "none"
    one = describe_metrics(build([5], [1], [[2.0]]))
    assert (one.span, one.period, one.metrics[0].deviation) == (1, 0, 0.0)
    assert dict(one.rows())["period"] == "not known"
