"""What a predictor is worth to the system: the same workload with, without, and with the perfect
one."""

from __future__ import annotations

import numpy as np
import pytest

import forestall as fs
from forestall.core.model.errors import ParameterError
from forestall.core.model.observations import Observations
from forestall.prediction.models.registry import new_learner
from forestall.runs.value import (
    NONE,
    PERFECT,
    ReplayedWorkload,
    held_out,
    replayed,
    spread,
    verdict,
)

DAY, NODES = 86_400, 16


def account() -> list[dict[str, object]]:
    whole = Observations.of(fs.generate_failures(NODES, 120, 5, mttf_hours=60.0))
    split = whole.begin + 90 * DAY
    learner = new_learner("rate")
    learner.fit(whole.until(split))
    failures = held_out(whole, split, 20, NODES)
    jobs = [fs.generate_jobs(NODES, seed, days=15, load=0.8) for seed in (1, 2)]
    replays = [ReplayedWorkload(one, failures, NODES, {"risk": 0.5}) for one in jobs]
    return replayed(replays, {"rate": learner.moved(-split)})


def test_the_account() -> None:
    none, rate, perfect = account()
    assert [row["predictor"] for row in (none, rate, perfect)] == [NONE, "rate", PERFECT]
    assert none["promised"] == 1
    assert none["regained"] == 0
    assert perfect["qos"] > none["qos"]  # type: ignore[operator]
    assert perfect["lost_node_hours"] < none["lost_node_hours"]  # type: ignore[operator]
    assert perfect["regained"] == 1
    assert perfect["saved"] == 1
    assert 0 < rate["promised"] < 1  # type: ignore[operator]
    assert rate["qos_half_width"] is not None


def test_each_row_is_that_of_the_run_itself() -> None:
    none = account()[0]
    whole = Observations.of(fs.generate_failures(NODES, 120, 5, mttf_hours=60.0))
    failures = held_out(whole, whole.begin + 90 * DAY, 20, NODES)
    runs = [
        fs.simulate(
            fs.generate_jobs(NODES, seed, days=15, load=0.8),
            failures, nodes=NODES, risk=0.5, accuracy=0.0,
        ).qos
        for seed in (1, 2)
    ]  # fmt: skip
    assert np.isclose(none["qos"], np.mean(runs))  # type: ignore[arg-type]


def test_held_out_failures_begin_at_the_split() -> None:
    whole = Observations.of(fs.generate_failures(NODES, 120, 5, mttf_hours=60.0))
    split = whole.begin + 90 * DAY
    part = held_out(whole, split, 20, 4)
    log = whole.failures
    mine = (log.time >= split) & (log.time < split + 20 * DAY) & (log.node < 4)
    assert part.time.tolist() == (log.time[mine] - split).tolist()
    assert part.node.tolist() == log.node[mine].tolist()
    assert (part.nodes, part.span) == (4, 20 * DAY)


def test_spread() -> None:
    assert spread([2.0]) == (2.0, None)
    mean, half = spread([1.0, 3.0])
    assert mean == 2
    assert half is not None
    assert np.isclose(half, 6.313751514675043)  # t(1, .95) times sqrt(2) over sqrt(2)


def test_words_and_refusals() -> None:
    rows = [
        {"predictor": NONE, "qos": 0.9, "lost_node_hours": 100.0},
        {"predictor": "bad", "qos": 0.8, "lost_node_hours": 130.0},
        {"predictor": "good", "qos": 0.95, "lost_node_hours": 40.0},
        {"predictor": PERFECT, "qos": 1.0, "lost_node_hours": 0.0},
    ]
    text = verdict(rows)
    assert text.startswith("QoS below that of no prediction: bad")
    assert "good: QoS 0.9500 (+0.0500), 60 node-hours less lost" in text
    with pytest.raises(ParameterError, match="at least one"):
        replayed([], {})
