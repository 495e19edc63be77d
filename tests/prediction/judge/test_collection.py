"""Fewer metrics and fewer samples: what is kept, what it costs, and what is enough."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.prediction.judge.collection import report
from forestall.prediction.judge.collection.judge import study_of, thinned
from forestall.prediction.judge.questions import CollectionSettings, How

DAY, HOUR, NODES, DAYS = 86_400, 3600, 20, 120


def machine(seed: int = 1, warns: bool = True) -> Observations:
    """A metric that rises half a day before each failure, beside two that tell nothing."""
    rng = np.random.default_rng(seed)
    time = np.sort(rng.integers(DAY, DAYS * DAY, 300))
    node = rng.integers(0, NODES, 300)
    moments = np.arange(0, DAYS * DAY, HOUR)
    told = rng.standard_normal((NODES, len(moments)))
    if warns:
        for t, n in zip(time.tolist(), node.tolist(), strict=True):
            told[n, (moments > t - 30 * HOUR) & (moments < t)] += 6
    value = np.stack(
        [rng.standard_normal(told.size), told.ravel(), rng.standard_normal(told.size)], axis=1
    )
    metrics = Metrics(
        np.tile(moments, NODES), np.repeat(np.arange(NODES), len(moments)), value,
        ("noise", "heat", "hum"), NODES, period=HOUR,
    )  # fmt: skip
    failures = Failures.build(time, node, downtime=np.full(300, 60))
    return Observations.of(failures, begin=0, end=DAYS * DAY, nodes=NODES, metrics=metrics)


@pytest.mark.slow
def test_what_is_enough(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    asked = CollectionSettings(intervals=(HOUR, 6 * HOUR, 20 * DAY))
    found = study_of(machine(), How(draws=40), asked)
    assert found.order[0] == "heat"
    ways = {(one["metrics"], one["interval_s"]): one for one in found.summary["ways"]}
    assert len(ways) == 3 * 3
    assert ways[1, HOUR]["auc"] > 0.8
    assert ways[1, 20 * DAY]["auc"] < 0.65
    per_day = NODES * 24
    assert ways[1, HOUR]["samples_per_day"] == pytest.approx(per_day)
    assert ways[3, HOUR]["sent_bytes_per_day"] == pytest.approx(per_day * (16 + 24))
    assert ways[1, 6 * HOUR]["sent_bytes_per_day"] == pytest.approx(per_day / 6 * 24)
    assert ways[3, HOUR]["stored_bytes_per_day"] > ways[1, HOUR]["stored_bytes_per_day"]
    least = report.enough(found.summary)
    assert least is not None
    assert least["metrics"] == 1
    assert "is enough" in found.summary["verdict"] or "is best" in found.summary["verdict"]
    report.FOLDER.write(found, tmp_path / "out")
    assert (tmp_path / "out" / "collection.png").exists()


def test_where_nothing_is_told() -> None:
    asked = CollectionSettings(counts=(1,), intervals=(DAY,), order="file")
    found = study_of(machine(warns=False), How(draws=40), asked)
    assert found.order == ("noise", "heat", "hum")
    assert found.summary["verdict"].startswith("Not shown that collecting pays: ")


def test_what_cannot_be_judged() -> None:
    seen = machine()
    with pytest.raises(ParameterError, match="a predictor that needs metrics"):
        study_of(seen, How(), CollectionSettings(predictor="rate"))
    with pytest.raises(InputError, match="no samples"):
        study_of(replace(seen, metrics=None), How(), CollectionSettings())
    with pytest.raises(ParameterError, match="predictor"):
        study_of(seen, How(), CollectionSettings(predictor="nobody"))


@given(st.integers(1, 5000), st.lists(st.integers(0, 9), min_size=0, max_size=4), st.integers(0, 9))
@settings(max_examples=50, deadline=None)
def test_thinning_keeps_the_first_of_each_interval(
    interval: int, nodes: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = sorted({(n, int(t)) for n in nodes for t in rng.integers(0, 20_000, 12)})
    whole = Metrics(
        np.array([t for _, t in rows], dtype=np.int64),
        np.array([n for n, _ in rows], dtype=np.int64),
        rng.random((len(rows), 2)), ("a", "b"), 10, period=60,
    )  # fmt: skip
    kept = thinned(whole, ["b"], interval)
    expected: dict[tuple[int, int], int] = {}
    for k, (n, t) in enumerate(rows):
        expected.setdefault((n, t // interval), k)
    places = sorted(expected.values())
    assert kept.time.tolist() == whole.time[places].tolist()
    assert kept.value[:, 0].tolist() == whole.value[places, 1].tolist()
    assert (kept.names, kept.period) == (("b",), max(interval, 60))
