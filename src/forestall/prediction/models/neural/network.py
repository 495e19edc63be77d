"""A small network from the last gaps between a node's failures to the law of the next one.

The gap T that follows is Weibull with a location and a scale of its own,

    P(T > x) = exp(-exp(z)),  z = (log x - m - location) / scale,

m being the mean log gap. Location and log scale are the two outputs of one layer of tanh units. The
weights are those of greatest likelihood with a Gaussian prior; a gap that was still running
when observation ended counts as longer than that (right-censored), which a network trained on
squared errors cannot take into account.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Floats, Ints
from forestall.core.model.failures import Failures
from forestall.core.streams import stream
from forestall.prediction.models.baselines.histories import previous, ranks

SHORTEST = 60.0
"""Gaps below this are taken as this, s: most logs are kept to the minute."""
WIDTHS = 10.0
"""How much more strongly than the rest the weights to the scale are drawn to 0."""
STEPS = 300
STEEPEST = 30.0
"""The greatest z whose exponential is taken."""


@dataclass(frozen=True)
class Network:
    """Weights, and how gaps are scaled.

    Attributes
    ----------
    mean, spread : of the log gaps (s) that it was trained on
    inner, inner_bias : float64[inputs, units], float64[units]
    outer, outer_bias : float64[units, 2], float64[2]: to location and log scale
    """

    mean: float
    spread: float
    inner: Floats
    inner_bias: Floats
    outer: Floats
    outer_bias: Floats

    @property
    def order(self) -> int:
        """How many gaps it looks back on."""
        return len(self.inner) - 2

    def law(self, inputs: Floats) -> tuple[Floats, Floats]:
        """Return location (of the log gap in s) and scale, float64[n] each.

        Summed input by input: a row's answer does not depend on the other rows.
        """
        units = _units(inputs, self.inner, self.inner_bias)
        out = _units(units, self.outer, self.outer_bias, bend=False)
        return self.mean + out[:, 0], np.exp(np.clip(out[:, 1], -3.0, 3.0))


def _units(inputs: Floats, weights: Floats, bias: Floats, *, bend: bool = True) -> Floats:
    total = np.tile(bias, (len(inputs), 1))
    for k in range(len(weights)):
        total += inputs[:, k : k + 1] * weights[k]
    return np.tanh(total) if bend else total


def first_inputs(order: int) -> Floats:
    """Return float64[1, order + 2]: the inputs of a node that has not failed."""
    row = np.zeros((1, order + 2))
    row[0, -1] = 1.0
    return row


def log_gaps(log: Failures) -> Floats:
    """Return float64[n]: the log of the gap that each failure ended, s; nan of a node's first."""
    before = previous(log)
    gap = np.maximum(log.time - log.time[before], SHORTEST)
    return np.where(before >= 0, np.log(gap), np.nan)


def inputs_after(log: Failures, order: int, mean: float, spread: float, which: Ints) -> Floats:
    """Return float64[len(which), order + 2]: what the network is told after each of these failures.

    The last `order` log gaps of the node, latest first, scaled; 0, which is the mean of all, where
    there were not so many; the share of those that there are; and 0 for "has failed before".
    """
    gaps, before = log_gaps(log), previous(log)
    row, place = np.zeros((len(which), order + 2)), which
    for k in range(order):
        there = (place >= 0) & (before[place] >= 0)
        row[there, k] = (gaps[place[there]] - mean) / spread
        place = np.where(there, before[place], -1)
    row[:, order] = np.minimum(ranks(log)[which], order) / order
    return row


@dataclass(frozen=True)
class GapSamples:
    """Gaps to learn from: float64[n, order + 2] inputs, float64[n] log lengths (s), and whether
    each one ended, bool[n], or was cut while it ran."""

    inputs: Floats
    length: Floats
    ended: Bools

    def thinned(self, most: int) -> GapSamples:
        """Return about so many of them, evenly taken."""
        if len(self.length) <= most:
            return self
        kept = np.linspace(0, len(self.length) - 1, most).astype(np.int64)
        return GapSamples(self.inputs[kept], self.length[kept], self.ended[kept])


def samples_of(
    log: Failures, begin: Ints, stop: Ints, order: int, mean: float, spread: float
) -> GapSamples:
    """Return every gap of the nodes, which were observed from `begin` to `stop`, int64[nodes].

    After each failure comes a gap, ended by the node's next one or cut at `stop`; before the first
    one, what was seen of the gap under way.
    """
    before, nodes = previous(log), len(begin)
    after = inputs_after(log, order, mean, spread, np.arange(len(log)))
    last = np.full(nodes, -1, dtype=np.int64)
    last[log.node] = np.arange(len(log))
    again, ever = before >= 0, last >= 0
    first = ~again
    start = np.where(ever, log.time[last] if len(log) else begin, begin)
    parts = (
        (after[before[again]], (log.time - log.time[before])[again], True),
        (None, (log.time - begin[log.node])[first], True),
        (after[last[ever]], (stop - start)[ever], False),
        (None, (stop - start)[~ever], False),
    )
    inputs, length, ended = [], [], []
    for rows, seconds, done in parts:
        kept = np.ones(len(seconds), dtype=np.bool_) if done else seconds > 0
        told = np.tile(first_inputs(order), (len(seconds), 1)) if rows is None else rows
        inputs.append(told[kept])
        length.append(np.log(np.maximum(seconds[kept], SHORTEST)))
        ended.append(np.full(int(kept.sum()), done))
    return GapSamples(np.concatenate(inputs), np.concatenate(length), np.concatenate(ended))


def exponential(seconds: float, order: int, units: int) -> Network:
    """Return the network that says of all nodes: exponential gaps of this mean, s."""
    nothing = np.zeros((order + 2, units)), np.zeros(units), np.zeros((units, 2))
    return Network(float(np.log(seconds)), 1.0, *nothing, np.zeros(2))


def loss(
    weights: Floats, samples: GapSamples, mean: float, units: int, decay: float
) -> tuple[float, Floats]:
    """Return minus the log-likelihood of the samples with the prior's, and its slope.

    The weights are inner, inner bias, outer, outer bias, one after the other; all but the last
    have the prior density of variance 1 / decay.
    """
    inner, inner_bias, outer, outer_bias = _apart(weights, samples.inputs.shape[1], units)
    hidden = _units(samples.inputs, inner, inner_bias)
    out = _units(hidden, outer, outer_bias, bend=False)
    steep = np.clip(out[:, 1], -3.0, 3.0)
    narrow = np.exp(-steep)
    z = np.minimum((samples.length - mean - out[:, 0]) * narrow, STEEPEST)
    rise = np.exp(z)
    ended = samples.ended.astype(np.float64)
    pull = decay * _pulls(len(weights), units)
    value = rise.sum() - (ended * (z - steep)).sum() + 0.5 * (pull * weights**2).sum()
    back = np.stack((-(rise - ended) * narrow, -(rise - ended) * z + ended), axis=1)
    inside = np.stack([back @ outer[k] for k in range(units)], axis=1) * (1 - hidden**2)
    slope = np.concatenate(
        (
            np.einsum("nd,nk->dk", samples.inputs, inside).ravel(),
            inside.sum(axis=0),
            np.einsum("nk,no->ko", hidden, back).ravel(),
            back.sum(axis=0),
        )
    )
    slope += pull * weights
    return float(value), slope


def _pulls(count: int, units: int) -> Floats:
    """Return float64[count]: how strongly each weight is drawn to 0, in units of the decay."""
    pull = np.ones(count)
    pull[-2 * units - 1 : -2 : 2] = WIDTHS
    pull[-2:] = 0.0
    return pull


def _apart(weights: Floats, inputs: int, units: int) -> tuple[Floats, Floats, Floats, Floats]:
    ends = np.cumsum([inputs * units, units, units * 2])
    inner, inner_bias, outer, outer_bias = np.split(weights, ends)
    return inner.reshape(inputs, units), inner_bias, outer.reshape(units, 2), outer_bias


def trained(
    samples: GapSamples, scaled: tuple[float, float], units: int, decay: float, seed: int
) -> Network:
    """Return the network of greatest likelihood, found from small random weights."""
    mean, spread = scaled
    inputs = samples.inputs.shape[1]
    rng = stream(seed, "neural", str(inputs), str(units))
    start = rng.normal(0.0, 0.3, inputs * units + units + units * 2 + 2)
    start[-2:] = (0.5, 0.3)
    count = max(len(samples.length), 1)

    def goal(weights: Floats) -> tuple[float, Floats]:
        value, slope = loss(weights, samples, mean, units, decay)
        return value / count, slope / count

    weights = lowest(goal, start)
    return Network(mean, spread, *_apart(weights, inputs, units))


def lowest(
    goal: Callable[[Floats], tuple[float, Floats]], start: Floats, steps: int = STEPS
) -> Floats:
    """Return where a smooth function is about lowest, by limited-memory BFGS.

    `goal` returns its value and its slope. SciPy's is not used: for a hundred weights it spends
    most of its time where threads of the linear algebra wait for each other.

    Source: J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed. 2006, Section 7.2.
    """
    at, (value, slope) = start, goal(start)
    pairs: list[tuple[Floats, Floats, float]] = []
    for _ in range(steps):
        way = -_bent(slope, pairs)
        fall = float((way * slope).sum())
        if fall >= 0:  # a bad bend: begin anew
            pairs, way, fall = [], -slope, -float((slope**2).sum())
        size = 1.0 if pairs else min(1.0, 1 / max(float(np.abs(slope).sum()), 1e-300))
        for _ in range(30):
            there, (reached, turned) = at + size * way, goal(at + size * way)
            if reached <= value + 1e-4 * size * fall:
                break
            size *= 0.5
        else:
            break
        move, change = there - at, turned - slope
        bend = float((move * change).sum())
        if bend > 1e-12 * float((move**2).sum()):
            pairs = [*pairs[-9:], (move, change, bend)]
        gained, at, value, slope = value - reached, there, reached, turned
        if gained <= 1e-8 * max(abs(value), 1.0):
            break
    return at


def _bent(slope: Floats, pairs: list[tuple[Floats, Floats, float]]) -> Floats:
    """Return the slope times the inverse of the second derivatives, as the last moves tell it."""
    way, shares = slope.copy(), []
    for move, change, bend in reversed(pairs):
        shares.append(float((move * way).sum()) / bend)
        way -= shares[-1] * change
    if pairs:
        _, change, bend = pairs[-1]
        way *= bend / float((change**2).sum())
    for (move, change, bend), share in zip(pairs, reversed(shares), strict=True):
        way += (share - float((change * way).sum()) / bend) * move
    return way
