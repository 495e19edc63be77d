"""Weibull hazards of nodes as arrays: what is known of each node's rate, and the risk that follows.

A node fails at the cumulative hazard rate * age ** shape, the age in days since its last failure.
What is known of its rate is a gamma law: so many failures in so much exposure.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel

DAY: Final = 86_400.0
EULER: Final = 0.5772156649015329

HAZARD: Final = np.dtype(
    [("failures", "f8"), ("exposure", "f8"), ("renewed", "i8"), ("begin", "i8"), ("fresh", "i8")]
)
"""What is known of a node's rate: failures, and exposure in days ** shape without the gap that is
under way; when that gap began, s; when the node's observation began, s; whether it was never seen
to fail (0 or 1)."""


class Hazard(NamedTuple):
    """HAZARD[nodes]; the shape of all nodes' gaps; the law of the rates before anything is seen, as
    failures and exposure (days ** shape); the exposure at which a node's hazard is its
    mean rate, in units of 1 / rate; how long a failed node is expected to stay down, s."""

    nodes: npt.NDArray[Any]
    shape: float
    prior_failures: float
    prior_exposure: float
    settled: float
    downtime: int


def hazard_of(
    nodes: npt.NDArray[Any], shape: float, failures: float, exposure: float, downtime: int
) -> Hazard:
    """Return the hazards of nodes with this law of their rates: failures in so much exposure."""
    # The age at which the hazard k r t^(k-1) is the mean rate r^(1/k) / gamma(1 + 1/k), as r t^k;
    # with k = 1 the hazard is always that, and the limit of the formula is exp(-Euler's gamma).
    if abs(shape - 1) < 1e-6:
        settled = math.exp(-EULER)
    else:
        power = shape / (1 - shape)
        settled = math.exp((math.log(shape) + math.lgamma(1 + 1 / shape)) * power)
    return Hazard(nodes, shape, failures, exposure, settled, downtime)


@kernel
def power(hazard, seconds):
    """Return so many seconds in days, to the power of the shape; 0 below 0."""
    if seconds <= 0:
        return 0.0
    return (seconds / DAY) ** hazard.shape


@kernel
def failing(failures, before, growth):
    """Return the probability of a failure while the exposure grows from `before` by `growth`."""
    # 1 - (before / (before + growth)) ** failures: exp(-rate x growth) over the gamma law of rates.
    return -np.expm1(-failures * np.log1p(growth / before))


@kernel
def renewed_halfway(hazard, now, start, end):
    """Return the exposure at `start` of a node that is renewed halfway from now on, and its growth
    up to `end`: they are the same for all nodes."""
    wait = 0.5 * (start - now)
    exposure = power(hazard, wait)
    return exposure, power(hazard, wait + (end - start)) - exposure


@kernel
def node_risk(hazard, node, now, start, end, halfway, growth):
    """Return the probability that a node fails in [start, end), by what is known at `now`, no later
    than `start`; `halfway` and `growth` as `renewed_halfway` returns them.

    Until `start` it either lasts, and goes on at its age; or it fails, and is as old then as if
    renewed halfway, but no older than a node is at which the hazard is the mean rate. Given the
    node's rate both are a growth of its exposure; the rate is integrated out of all of it.
    """
    if end <= start:
        return 0.0
    known = hazard.nodes[node]
    failures, until_now = known.failures, power(hazard, now - known.renewed)
    before = known.exposure + until_now
    if start == now:
        return failing(failures, before, power(hazard, end - known.renewed) - until_now)
    waiting = power(hazard, start - known.renewed) - until_now
    going_on = power(hazard, end - known.renewed) - until_now  # waiting included
    # As exposure, at this node's mean rate, failures / before.
    settled = hazard.settled * before / failures
    if halfway > settled:
        age = DAY * settled ** (1.0 / hazard.shape)
        growth = power(hazard, age + (end - start)) - settled
    # (S(waiting) - S(going on)) for those that last until `start`, and (1 - S(waiting) - S(growth)
    # + S(waiting + growth)) for those that fail, then fail again: S(waiting) cancels.
    risk = failing(failures, before, going_on)
    risk += failing(failures, before, growth) - failing(failures, before, waiting + growth)
    return max(risk, 0.0)


@kernel
def renew(hazard, node, time):
    """Take note that a node failed at `time`.

    One that was never seen to fail was in equilibrium when observation began: its first failure
    counts 1 / shape (the density of what is left of a gap under way is ~ rate ** (1 / shape)).
    """
    known = hazard.nodes[node]
    if known.fresh:
        known.failures = hazard.prior_failures + 1.0 / hazard.shape
        known.exposure = hazard.prior_exposure + power(hazard, time - known.begin)
        known.fresh = 0
    else:
        known.failures += 1.0
        known.exposure += power(hazard, time - known.renewed)
    known.renewed = time


@entry
def risk_of_each(hazard, nodes, now, start, end, risk):
    """Write the probability that each of the nodes fails in [start, end) into `risk`."""
    start = max(start, now)
    halfway, growth = renewed_halfway(hazard, now, start, end)
    for i in range(len(nodes)):
        risk[i] = node_risk(hazard, nodes[i], now, start, end, halfway, growth)


@entry
def risk_of_any(hazard, nodes, now, start, end):
    """Return the probability that any of the nodes, which fail independently, does so in
    [start, end)."""
    lasting, start = 1.0, max(start, now)
    halfway, growth = renewed_halfway(hazard, now, start, end)
    for i in range(len(nodes)):
        lasting *= 1.0 - node_risk(hazard, nodes[i], now, start, end, halfway, growth)
    return 1.0 - lasting


@entry
def note_failure(hazard, node, time):
    """Take note that a node failed at `time`."""
    renew(hazard, node, time)
