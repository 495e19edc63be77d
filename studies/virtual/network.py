"""The paper's predictor: an order-8 neural network, trained on one year, predicting the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import forestall as fs
from studies.virtual.inputs import DAY, NODES, TRAINING_DAYS, Real
from studies.virtual.study import DAYS


@dataclass(frozen=True)
class Foretold:
    """What the network said about the real year, and how right it was.

    Attributes
    ----------
    predictions : what is played with: asked for all nodes at the year's begin, and for each node
        after each of its failures, as in the paper (footnote 1)
    early, failures : of those predictions: how many of how many failures came after their time
    accuracy : of forecasts of whole gaps, made at the failure before, as
        `fs.new_learner("neural").accuracy` tells it; not what is played with: a node's first gap of
        the year began in the year before
    """

    predictions: fs.Predictions
    early: int
    failures: int
    accuracy: Any


def foretold(real: Real) -> Foretold:
    """Train on 2003-09 to 2004-08 and predict 2004-09 to 2005-08.

    Once a gap the network gives the median of what is left of it; nothing of what comes later is
    used. It is not trained again.
    """
    end = DAYS * DAY
    seen = fs.Observations.of(real.both, begin=-TRAINING_DAYS * DAY, end=end, nodes=NODES)
    network: Any = fs.new_learner("neural")
    network.fit(seen.until(0))
    accuracy = network.accuracy(seen, 0, end)
    failures = [(int(t), int(n)) for t, n in zip(real.year.time, real.year.node, strict=True)]
    rows = _said(network, 0, np.arange(NODES))
    said = {node: expected for _, node, expected in rows}
    early = 0
    for time, node in failures:
        early += said[node] <= time
        network.update(time, node)
        rows += (now := _said(network, time, np.array([node])))
        said[node] = now[0][2]
    columns = np.array(sorted(rows, key=lambda row: row[:2]), dtype=np.int64).reshape(-1, 3).T
    known, node_numbers, expected = columns
    predictions = fs.Predictions(known, node_numbers, expected, "order-8 neural network")
    return Foretold(predictions, early, len(failures), accuracy)


def _said(network: Any, now: int, nodes: np.ndarray) -> list[tuple[int, int, int]]:
    left = np.minimum(network.time_to_failure(nodes), float(fs.Predictions.NEVER - now - 1))
    expected = now + np.floor(left).astype(np.int64)
    return [(now, int(n), int(e)) for n, e in zip(nodes, expected, strict=True)]
