"""Linear forecasts of the metrics of nodes, sample by sample."""

from __future__ import annotations

import math

from forestall.core._compile import entry


@entry
def follow_metric(node, value, ar, fast, slow, spread, differences, scores, trends):
    """Forecast each sample of one metric from those of its node before it.

    The level is an exponentially weighted mean with weight `slow`; what a sample differs from the
    level before it is forecast by an autoregression on the last such differences. The spread of
    the forecast's errors is an exponentially weighted root mean square, which starts at `spread`.

    Parameters
    ----------
    node : int64[n], ascending; value : float64[n], nan where the metric is missing
    ar : float64[p]; fast, slow : weights of the last sample in the two means, within (0, 1)
    spread : least and first standard deviation of an error, above 0
    differences : float64[p]: room for the last differences
    scores : float64[n]: each sample's error in units of the spread before it
    trends : float64[n]: the fast mean less the slow one, in units of the spread
    """
    p = len(ar)
    before = -1
    level = quick = mean_square = 0.0
    known = False
    for k in range(len(node)):
        if node[k] != before:
            before = node[k]
            known = False
        x = value[k]
        # Nothing was seen: the last answer stands, and nothing is learnt.
        if math.isnan(x):
            scores[k] = scores[k - 1] if known else 0.0
            trends[k] = trends[k - 1] if known else 0.0
            continue
        if not known:
            known = True
            level = quick = x
            mean_square = spread * spread
            for j in range(p):
                differences[j] = 0.0
            scores[k] = 0.0
            trends[k] = 0.0
            continue
        difference = x - level
        error = difference
        for j in range(p):
            error -= ar[j] * differences[j]
        # A metric that stays the same for long would make the least change a surprise.
        scale = math.sqrt(max(mean_square, 1e-4 * spread * spread))
        scores[k] = error / scale
        # One outlier must not hide the next: it widens the spread by at most that of 5 deviations.
        bounded = min(max(error, -5.0 * scale), 5.0 * scale)
        mean_square += slow * (bounded * bounded - mean_square)
        for j in range(p - 1, 0, -1):
            differences[j] = differences[j - 1]
        if p > 0:
            differences[0] = difference
        level += slow * difference
        quick += fast * (x - quick)
        trends[k] = (quick - level) / scale
