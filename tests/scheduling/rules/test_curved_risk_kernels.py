"""Risks by hazards against what a forecast says of itself in plain Python, node by node."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core._compile import records
from forestall.prediction.models.foreseen_kernels import FORESEEN, Foreseen
from forestall.prediction.models.table_kernels import PARTS
from forestall.prediction.watching.foreseen import NodeForecast
from forestall.scheduling.rules import risk_kernels as risks
from forestall.scheduling.rules.curved_risk_kernels import (
    hazard_risk,
    hazard_risks,
    set_hazard,
    without_hazards,
)
from forestall.scheduling.rules.nodes import bitset_kernels as bits

NODES = 70  # two words
MOMENT = st.integers(0, 400_000)


@given(st.integers(0, 2**32 - 1), MOMENT, MOMENT, MOMENT)
def test_each_node_and_each_set_is_as_risky_as_forecasts_say(
    seed: int, now: int, wait: int, length: int
) -> None:
    chance = np.random.default_rng(seed)
    curved = without_hazards(Foreseen(records(0, FORESEEN), 0, 0), NODES)
    told: dict[int, NodeForecast] = {}
    for node in chance.permutation(NODES)[:50].tolist():
        begin, span = (int(chance.integers(0, 200_000)), int(chance.integers(PARTS, 200_000)))
        curve = np.sort(chance.random(PARTS)) * chance.random()
        set_hazard(curved, node, begin, begin + span, curve)
        told[node] = NodeForecast(begin, begin + span, float(curve[-1]), "law", tuple(curve))
    start, end = now + wait, now + wait + length
    plain = [told[node].risk(start, end, now) if node in told else 0.0 for node in range(NODES)]
    mine = [hazard_risk(curved, node, now, start, end) for node in range(NODES)]
    assert mine == pytest.approx(plain, abs=1e-9)
    answer = np.zeros(NODES)
    hazard_risks(curved, np.arange(NODES), now, start, end, answer)
    assert answer.tolist() == mine
    chosen = chance.permutation(NODES)[:9].tolist()
    row = np.zeros(2, np.uint64)
    for node in chosen:
        bits.put(row, node)
    lasting = math.prod(1.0 - plain[node] for node in chosen)
    assert risks.risk_of_set(curved, row, now, start, end) == pytest.approx(1 - lasting, abs=1e-9)
