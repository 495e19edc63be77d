"""Boosted quantiles: one tree at a time, shared by all levels.

The pinball loss of level tau at a quantile q has the gradient tau - [y <= q]. A row tells a tree
two sums of it over all levels: plainly (where the row lies), and weighted by the level (how widely
such rows are spread). Splits are sought by both; leaves then step level by level: by the mean
deficit in probability times the local width of the quantile function, that is the step by which a
probability changes by so much (a Newton step, the density being one over the width).

A row that is only known to be at least so large stands for its share of all that lies beyond, by
the quantiles as they are at the moment (Efron's redistribution to the right).

Sources: Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
Statistics 29, 2001. Koenker, "Quantile Regression", 2005, section 1.3. Portnoy, "Censored
regression quantiles", Journal of the American Statistical Association 98, 2003. Efron, "The two
sample problem with censored data", Fifth Berkeley Symposium, 1967. Histograms: Ke et al.,
"LightGBM", NIPS 2017.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, inlined, kernel

Array = npt.NDArray[Any]

BINS: Final = 64
"""Codes of a feature: 0 where it is not known, else 1 and the edges below it."""
NO_SPLIT: Final = 255
"""The code of a node that sends all rows to the left."""
UNIT: Final = 1 << 24
"""Gradients and weights are summed as whole numbers of this part of 1: exactly, so that the order
does not matter, and a node's sums less those of one child are those of the other."""
LEAST_GAIN: Final = 1e-9
LOCATION, SPREAD, WEIGHT = range(3)
CHANNELS: Final = 3
BLOCK: Final = 64
"""Rows that a tree is asked about at once."""


class Growth(NamedTuple):
    """Rows to learn from, and room to work in.

    codes : uint8[features, n], see `BINS`
    values : float64[n]; censored : bool[n], where the value is at least so large; weight :
        float64[n]
    levels : float64[L]; quantiles : float64[n, L] of the rows, as they stand
    told : int64[L + 1, 2], the gradients in both channels of a row that r levels lie below
    steepness : float64[L], one over how far apart a level's neighbours are
    rows : int64[n], sampled ones, those of a node beside each other; gradient : int64[n, CHANNELS]
        of them; spare_rows, spare_gradient : the same, to move them
    begin : int64[leaves + 1], where the rows of each node begin
    sums : int64[2, leaves / 2, sampled features, BINS, CHANNELS], of the nodes of a layer, and of
        those of the layer above
    deficit, width : float64[leaves, L]
    """

    codes: Array
    values: Array
    censored: Array
    weight: Array
    levels: Array
    quantiles: Array
    told: Array
    steepness: Array
    rows: Array
    gradient: Array
    spare_rows: Array
    spare_gradient: Array
    begin: Array
    sums: Array
    deficit: Array
    width: Array


class GrowthRules(NamedTuple):
    """How trees are grown: see `forest.TreeSettings`; `narrowest` is the least width of a quantile
    function, in the values' unit."""

    depth: int
    rate: float
    least: float
    ridge: float
    spread: float
    narrowest: float


class ForestArrays(NamedTuple):
    """Trees: levels float64[L]; start float64[L]; feature int32[trees, leaves - 1], threshold
    float32[trees, leaves - 1] (right where above), value float64[trees, leaves, L]."""

    levels: Array
    start: Array
    feature: Array
    threshold: Array
    value: Array


# ----------------------------------------------------------------------------------------- learning


@entry
def code(rows, edges, first, codes):
    """Write codes, uint8[features, n], of rows float32[n, features]: 0 where nothing is known (nan,
    minus infinity), else 1 and how many of the feature's edges, edges[first[f]:first[f + 1]], lie
    below."""
    for f in range(len(codes)):
        begin = first[f]
        for i in range(len(rows)):
            value, low, high = rows[i, f], begin, first[f + 1]
            if not value > -math.inf:
                codes[f, i] = 0
                continue
            while low < high:
                middle = (low + high) // 2
                if edges[middle] < value:
                    low = middle + 1
                else:
                    high = middle
            codes[f, i] = 1 + low - begin


@entry
def prepare(growth, rules, start):
    """Give all rows the same quantiles, and tabulate the gradients."""
    levels, count = growth.levels, len(growth.levels)
    for i in range(len(growth.values)):
        for level in range(count):
            growth.quantiles[i, level] = start[level]
    for below in range(count + 1):
        location, spread = 0.0, 0.0
        for level in range(count):
            missing = levels[level] - (1.0 if level >= below else 0.0)
            location += missing
            spread += missing * (2.0 * levels[level] - 1.0)
        growth.told[below, LOCATION] = whole(location / count)
        growth.told[below, SPREAD] = whole(spread / count * rules.spread)
    for level in range(count):
        low, high = max(level - 1, 0), min(level + 1, count - 1)
        growth.steepness[level] = 1.0 / (levels[high] - levels[low]) if high > low else 0.0


@kernel
def whole(number):
    """Return a number in `UNIT`s, rounded."""
    return np.int64(math.floor(number * UNIT + 0.5))


@kernel
def reached(levels, quantiles, value):
    """Return the probability to lie below a value: 0 below all quantiles, the highest level above
    them."""
    last = len(levels) - 1
    if value <= quantiles[0]:
        return 0.0
    for level in range(1, last + 1):
        if value < quantiles[level]:
            low = quantiles[level - 1]
            share = (value - low) / (quantiles[level] - low)
            return levels[level - 1] + share * (levels[level] - levels[level - 1])
    return levels[last]


@kernel
def chance_below(level, gone):
    """Return the probability that a value lies below the quantile of a level, given that it lies
    above that of the level `gone`."""
    return (level - gone) / (1.0 - gone) if level > gone else 0.0


@inlined
def gradients(growth, rules, count):
    """Write the gradients of the sampled rows."""
    levels, total = growth.levels, len(growth.levels)
    for r in range(count):
        i = growth.rows[r]
        value, own, out = growth.values[i], growth.quantiles[i], growth.gradient[r]
        weight = growth.weight[i]
        if growth.censored[i]:
            gone, location, spread = reached(levels, own, value), 0.0, 0.0
            for level in range(total):
                missing = levels[level] - chance_below(levels[level], gone)
                location += missing
                spread += missing * (2.0 * levels[level] - 1.0)
            out[LOCATION] = whole(location / total * weight)
            out[SPREAD] = whole(spread / total * rules.spread * weight)
        else:
            below = 0
            for level in range(total):
                below += 1 if own[level] < value else 0
            told = growth.told[below]
            out[LOCATION] = np.int64(math.floor(told[LOCATION] * weight + 0.5))
            out[SPREAD] = np.int64(math.floor(told[SPREAD] * weight + 0.5))
        out[WEIGHT] = whole(weight)


@kernel
def add_up(growth, features, first, last, sums):
    """Sum the gradients of rows[first:last] by feature and code."""
    rows, gradient = growth.rows, growth.gradient
    for f in range(len(features)):
        codes, own = growth.codes[features[f]], sums[f]
        for bin in range(BINS):
            for channel in range(CHANNELS):
                own[bin, channel] = 0
        for r in range(first, last):
            at = codes[rows[r]]
            own[at, 0] += gradient[r, 0]
            own[at, 1] += gradient[r, 1]
            own[at, 2] += gradient[r, 2]


@kernel
def rest(whole_sums, part, left):
    """Write a node's sums less those of one child."""
    for f in range(len(part)):
        for bin in range(BINS):
            for channel in range(CHANNELS):
                left[f, bin, channel] = whole_sums[f, bin, channel] - part[f, bin, channel]


@inlined
def add_up_layer(growth, features, layer):
    """Sum the gradients of all nodes of a layer: of each pair of children the smaller is summed,
    and the other is what is left of their parent."""
    now, above, begin = growth.sums[layer % 2], growth.sums[1 - layer % 2], growth.begin
    if layer == 0:
        add_up(growth, features, begin[0], begin[1], now[0])
        return
    for parent in range(1 << (layer - 1)):
        few = 2 * parent
        if begin[few + 2] - begin[few + 1] < begin[few + 1] - begin[few]:
            few += 1
        add_up(growth, features, begin[few], begin[few + 1], now[few])
        rest(above[parent], now[few], now[few ^ 1])


@kernel
def gain_of(location, spread, weight, ridge):
    """Return by how much the loss falls by a step of rows with these sums, up to a factor."""
    a, b, w = location / UNIT, spread / UNIT, weight / UNIT
    return (a * a + b * b) / (w + ridge)


@kernel
def split_of(sums, rules):
    """Return the best split of a node as (which of the sampled features, code); -1 for none."""
    location, spread, weight = 0, 0, 0
    for bin in range(BINS):
        location += sums[0, bin, LOCATION]
        spread += sums[0, bin, SPREAD]
        weight += sums[0, bin, WEIGHT]
    least = whole(rules.least)
    best, chosen, at = gain_of(location, spread, weight, rules.ridge) + LEAST_GAIN, -1, NO_SPLIT
    for f in range(len(sums)):
        left_location, left_spread, left_weight = 0, 0, 0
        for bin in range(BINS - 1):
            own = sums[f, bin]
            left_location += own[LOCATION]
            left_spread += own[SPREAD]
            left_weight += own[WEIGHT]
            if own[WEIGHT] == 0 or left_weight < least:
                continue
            if weight - left_weight < least:
                break
            gain = gain_of(left_location, left_spread, left_weight, rules.ridge) + gain_of(
                location - left_location, spread - left_spread, weight - left_weight, rules.ridge
            )
            if gain > best:
                best, chosen, at = gain, f, bin
    return chosen, at


@kernel
def part(growth, codes, most, first, last):
    """Put rows[first:last] whose code is at most `most` before the others, both in order; return
    where the others begin."""
    rows, gradient = growth.rows, growth.gradient
    spare, moved = growth.spare_rows, growth.spare_gradient
    left, right = first, 0
    for r in range(first, last):
        if codes[rows[r]] <= most:
            rows[left] = rows[r]
            for channel in range(CHANNELS):
                gradient[left, channel] = gradient[r, channel]
            left += 1
        else:
            spare[right] = rows[r]
            for channel in range(CHANNELS):
                moved[right, channel] = gradient[r, channel]
            right += 1
    for r in range(right):
        rows[left + r] = spare[r]
        for channel in range(CHANNELS):
            gradient[left + r, channel] = moved[r, channel]
    return left


@inlined
def leaf_values(growth, rules, value):
    """Write the steps of all leaves, float64[leaves, L]."""
    count = len(growth.levels)
    for leaf in range(len(value)):
        deficit, width, weights = growth.deficit[leaf], growth.width[leaf], 0.0
        for level in range(count):
            deficit[level], width[level] = 0.0, 0.0
        for r in range(growth.begin[leaf], growth.begin[leaf + 1]):
            i = growth.rows[r]
            weights += growth.weight[i]
            add_deficit(growth, i, deficit)
            add_width(growth, rules, i, width)
        for level in range(count):
            step = 0.0
            if weights > 0:
                step = deficit[level] / (weights + rules.ridge) * width[level] / weights
            value[leaf, level] = rules.rate * step


@inlined
def add_deficit(growth, i, deficit):
    """Add by how much each level exceeds the probability that a row lies below its quantile."""
    levels, own, value, weight = growth.levels, growth.quantiles[i], growth.values[i], growth.weight
    if growth.censored[i]:
        gone = reached(levels, own, value)
        for level in range(len(levels)):
            deficit[level] += weight[i] * (levels[level] - chance_below(levels[level], gone))
    else:
        for level in range(len(levels)):
            deficit[level] += weight[i] * (levels[level] - (1.0 if value <= own[level] else 0.0))


@inlined
def add_width(growth, rules, i, width):
    """Add the slope of a row's quantile function at each level."""
    own, steepness, weight = growth.quantiles[i], growth.steepness, growth.weight[i]
    last = len(own) - 1
    for level in range(1, last):
        slope = (own[level + 1] - own[level - 1]) * steepness[level]
        width[level] += weight * max(slope, rules.narrowest)
    width[0] += weight * max((own[min(1, last)] - own[0]) * steepness[0], rules.narrowest)
    if last > 0:
        slope = (own[last] - own[last - 1]) * steepness[last]
        width[last] += weight * max(slope, rules.narrowest)


@inlined
def step(quantiles, by):
    """Move quantiles, and let none lie below the one before it."""
    crossed = 0
    for level in range(len(by)):
        quantiles[level] += by[level]
    for level in range(1, len(by)):
        crossed |= 1 if quantiles[level] < quantiles[level - 1] else 0
    if crossed:
        for level in range(1, len(by)):
            quantiles[level] = max(quantiles[level], quantiles[level - 1])


@entry
def grow(growth, rules, features, count, feature, splits, value):
    """Grow a tree on rows[:count] with the features that are named, and move all rows' quantiles by
    it.

    features : int64[sampled]; feature : int32[leaves - 1], splits : uint8[leaves - 1] (a row goes
    left where its code is at most that) and value : float64[leaves, L] are written. Node k's
    children are 2 k + 1 and 2 k + 2.
    """
    depth, begin = rules.depth, growth.begin
    begin[0], begin[1] = 0, count
    gradients(growth, rules, count)
    for layer in range(depth):
        nodes = 1 << layer
        add_up_layer(growth, features, layer)
        for node in range(nodes - 1, -1, -1):
            first, last = begin[node], begin[node + 1]
            chosen, at = split_of(growth.sums[layer % 2, node], rules)
            feature[nodes - 1 + node] = features[max(chosen, 0)]
            splits[nodes - 1 + node] = at
            middle = last
            if chosen >= 0:
                middle = part(growth, growth.codes[features[chosen]], at, first, last)
            begin[2 * node + 1], begin[2 * node + 2] = middle, last
    leaf_values(growth, rules, value)
    for i in range(len(growth.values)):
        node = 0
        for _ in range(depth):
            node = 2 * node + (2 if growth.codes[feature[node], i] > splits[node] else 1)
        step(growth.quantiles[i], value[node - len(feature)])


# ------------------------------------------------------------------------------------------ telling


@entry
def tell(forest, rows, out):
    """Write the quantiles, float64[n, L], of rows float32[n, features]."""
    inner = forest.feature.shape[1]
    for first in range(0, len(rows), BLOCK):
        last = min(first + BLOCK, len(rows))
        for i in range(first, last):
            for level in range(len(forest.start)):
                out[i, level] = forest.start[level]
        for tree in range(len(forest.feature)):
            feature, threshold = forest.feature[tree], forest.threshold[tree]
            for i in range(first, last):
                node = 0
                while node < inner:
                    # What is not known is nan, which no comparison holds for: it goes left.
                    node = 2 * node + (2 if rows[i, feature[node]] > threshold[node] else 1)
                step(out[i], forest.value[tree, node - inner])
