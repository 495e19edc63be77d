"""The paper's predictor: an order-8 neural network, trained on one year, predicting the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import forestall as fs
from studies.virtual.inputs import DAY, DAYS, NODES, TRAINING_DAYS, Real

EVERY = DAY
"""Seconds between two questions to the network; after a failure it is asked at once."""


@dataclass(frozen=True)
class Foretold:
    """What the network said about the real year, and how right it was: its `accuracy` as
    `fs.new_learner("neural").accuracy` tells it."""

    predictions: fs.Predictions
    accuracy: Any


def foretold(real: Real) -> Foretold:
    """Train on 2003-09 to 2004-08 and predict 2004-09 to 2005-08.

    Every day, and after each failure for its node, the network gives the median of what is left of
    the gap under way; nothing of what comes later is used. It is not trained again.
    """
    end = DAYS * DAY
    seen = fs.Observations.of(real.both, begin=-TRAINING_DAYS * DAY, end=end, nodes=NODES)
    network: Any = fs.new_learner("neural")
    network.fit(seen.until(0))
    accuracy = network.accuracy(seen, 0, end)
    questions = [(int(t), int(n)) for t, n in zip(real.year.time, real.year.node, strict=True)]
    return Foretold(_asked(network, questions, end), accuracy)


def _asked(network: Any, failures: list[tuple[int, int]], end: int) -> fs.Predictions:
    rows: list[tuple[int, int, int]] = []
    every = np.arange(NODES)
    at = 0
    for day in range(0, end, EVERY):
        network.advance(day)
        rows += _said(network, day, every)
        while at < len(failures) and failures[at][0] < day + EVERY:
            time, node = failures[at]
            network.update(time, node)
            rows += _said(network, time, np.array([node]))
            at += 1
    columns = np.array(sorted(rows, key=lambda row: row[:2]), dtype=np.int64).reshape(-1, 3).T
    known, node_numbers, expected = columns
    return fs.Predictions(known, node_numbers, expected, "order-8 neural network")


def _said(network: Any, now: int, nodes: np.ndarray) -> list[tuple[int, int, int]]:
    left = np.minimum(network.time_to_failure(nodes), float(fs.Predictions.NEVER - now - 1))
    expected = now + np.floor(left).astype(np.int64)
    return [(now, int(n), int(e)) for n, e in zip(nodes, expected, strict=True)]
