"""Features of metrics, as walks along time; see `features_kernels`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from forestall.core._compile import entry, kernel
from forestall.prediction.models.features.features_kernels import HOUR, Array


class SampleColumns(NamedTuple):
    """Samples of m metrics, in order of (node, time).

    time, node : int64[n]; value : float64[n, m], nan where missing
    sums : float64[n, m, 3]: count, sum, squares of value - origin[node, m] of a node's so far
    origin : float64[nodes, m]; centre : float64[m], near the middle of all nodes' values
    order : int64[n], the samples in order of time
    first : int64[nodes + 1], where each node's begin
    windows : int64[w], s: the last is how far back a node's own past goes
    fresh : for how long a value stands for its node beside the others, s
    """

    time: Array
    node: Array
    value: Array
    sums: Array
    origin: Array
    centre: Array
    order: Array
    first: Array
    windows: Array
    fresh: int


class SampleState(NamedTuple):
    """cursor : int64[2]: samples that came, that went stale; left : int64[nodes, 1 + w]: where each
    node's past ends and its windows begin; last : int64[nodes, m], its last sample of each metric,
    -1 if none; held : int64[nodes, m], the sample that stands for it beside the others; across :
    float64[m, 3]: count, sum and sum of squares over nodes, from the centre."""

    cursor: Array
    left: Array
    last: Array
    held: Array
    across: Array


@kernel
def put_across(data, state, i, m, step):
    """Count sample i of metric m among all nodes' present values, or no longer."""
    # From a centre: squares of large values would cancel to nothing.
    off = data.value[i, m] - data.centre[m]
    state.across[m, 0] += step
    state.across[m, 1] += step * off
    state.across[m, 2] += step * off * off


@kernel
def pass_across(data, state, t):
    """Let samples come and go stale up to t, in order of time."""
    cursor, metrics, total = state.cursor, data.value.shape[1], len(data.time)
    # Two walks along one order of time: samples that come, and the same samples `fresh` seconds
    # later, when they go stale; the earlier of both next.
    while True:
        a, e = cursor[0], cursor[1]
        coming = a < total and data.time[data.order[a]] < t
        going = e < a and data.time[data.order[e]] + data.fresh < t
        if not coming and not going:
            return
        old = going
        if coming and going:
            old = data.time[data.order[e]] + data.fresh <= data.time[data.order[a]]
        i = data.order[e] if old else data.order[a]
        n = data.node[i]
        for m in range(metrics):
            if old:
                if state.held[n, m] == i:
                    put_across(data, state, i, m, -1.0)
                    state.held[n, m] = -1
            elif not np.isnan(data.value[i, m]):
                if state.held[n, m] >= 0:
                    put_across(data, state, state.held[n, m], m, -1.0)
                put_across(data, state, i, m, 1.0)
                state.held[n, m] = i
        if old:
            cursor[1] += 1
        else:
            cursor[0] += 1


@kernel
def pass_own(data, state, t, n):
    """Let node n's own samples pass up to t."""
    right = state.left[n, 0]
    while right < data.first[n + 1] and data.time[right] < t:
        for m in range(data.value.shape[1]):
            if not np.isnan(data.value[right, m]):
                state.last[n, m] = right
        right += 1
    state.left[n, 0] = right
    for w in range(len(data.windows)):
        left = state.left[n, 1 + w]
        while left < right and data.time[left] < t - data.windows[w]:
            left += 1
        state.left[n, 1 + w] = left


@kernel
def moments(count, total, squares):
    """Return mean and standard deviation; nan where there are none, or too few."""
    if count < 0.5:
        return np.nan, np.nan
    mean = total / count
    if count < 1.5:
        return mean, np.nan
    spread = np.sqrt(max(squares - total * mean, 0.0) / (count - 1.0))
    return mean, spread


@kernel
def within(sums, first, left, right, m):
    """Return mean and standard deviation, from the origin, of the samples [left, right) of the
    node whose samples begin at `first`."""
    if right <= left:
        return np.nan, np.nan
    count, total, squares = sums[right - 1, m, 0], sums[right - 1, m, 1], sums[right - 1, m, 2]
    # Running sums: what a window holds is the difference of its two ends.
    if left > first:
        count -= sums[left - 1, m, 0]
        total -= sums[left - 1, m, 1]
        squares -= sums[left - 1, m, 2]
    return moments(count, total, squares)


@kernel
def score(off, spread):
    """Return how many standard deviations off; nan where there is no spread."""
    if spread > 0:
        return off / spread
    return np.nan


@kernel
def sample_row(data, state, t, n, m, row):
    """Write the features of one metric of one node: the last value; mean and standard deviation
    over each window but the last; how the last value differs from the longer windows' means; its
    scores against the node's own past and against the other nodes."""
    windows, right = len(data.windows), state.left[n, 0]
    i = state.last[n, m]
    if i < state.left[n, windows]:  # none, or too long ago
        i = -1
    origin = data.origin[n, m]
    off = np.nan if i < 0 else data.value[i, m] - origin
    row[0] = np.nan if i < 0 else data.value[i, m]
    mean, spread = np.nan, np.nan
    for w in range(windows):
        left = state.left[n, 1 + w]
        mean, spread = within(data.sums, data.first[n], left, right, m)
        if w < windows - 1:
            row[1 + 2 * w] = mean + origin
            row[2 + 2 * w] = spread
            if w > 0:
                row[2 * windows - 2 + w] = off - mean
    row[3 * windows - 3] = score(off - mean, spread)
    count, total, squares = state.across[m, 0], state.across[m, 1], state.across[m, 2]
    h = state.held[n, m]
    row[3 * windows - 2] = np.nan
    if h >= 0:
        # Against the others: its own value is taken out of the sums.
        mine = data.value[h, m] - data.centre[m]
        mean, spread = moments(count - 1.0, total - mine, squares - mine * mine)
        row[3 * windows - 2] = score(mine - mean, spread)


@entry
def sample_rows(data, state, times, first, nodes, out):
    """Write hours since the last sample, then `sample_row` of each metric, into `out`, float32."""
    metrics, width = data.value.shape[1], 3 * len(data.windows) - 1
    for j in range(len(times)):
        t = times[j]
        pass_across(data, state, t)
        for c in range(first[j], first[j + 1]):
            n = nodes[c]
            pass_own(data, state, t, n)
            right = state.left[n, 0]
            out[c, 0] = np.nan
            if right > state.left[n, len(data.windows)]:
                out[c, 0] = (t - data.time[right - 1]) / HOUR
            for m in range(metrics):
                at = 1 + m * width
                sample_row(data, state, t, n, m, out[c, at : at + width])
