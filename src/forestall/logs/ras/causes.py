"""Which kinds of records follow which: rules mined from a log, and the filter made of them.

A fault of one kind brings records of others after it: a panic, then the loss of the node's
heartbeat. Zheng et al., "Anomaly localization in large-scale clusters" (CLUSTER 2007) and "System
log pre-processing to improve failure prediction" (DSN 2009), filter kinds that come together often
down to the first of them. Here a rule ``a -> b`` says that records of kind b regularly follow one
of kind a:

- support: how many occurrences of a are followed by b within the threshold;
- confidence: their share of all occurrences of a;
- lift: confidence over the share that chance would give, were b spread evenly over the log. Without
  it a kind that is reported all day long would follow everything.

Occurrences of one kind no further apart than the threshold from the last one counted are one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import RasLog
from forestall.logs.ras.filters import THRESHOLD, Int, Mask, check_threshold, spaced

MOST_KINDS: Final = 2048
"""Rules are looked for among so many kinds, the most frequent ones."""

SUPPORT: Final = 5
CONFIDENCE: Final = 0.5
LIFT: Final = 2.0


@dataclass(frozen=True)
class CauseRules:
    """Rules, the surest first: arrays of equal length.

    Attributes
    ----------
    cause, effect : int32[r], kinds of the log
    support : int64[r], occurrences of the cause that the effect follows
    confidence : float64[r], their share of the occurrences of the cause
    lift : float64[r], that share over the one by chance
    """

    cause: npt.NDArray[np.int32]
    effect: npt.NDArray[np.int32]
    support: Int
    confidence: npt.NDArray[np.float64]
    lift: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.cause)


def mine_rules(
    log: RasLog,
    threshold: int = THRESHOLD,
    *,
    support: int = SUPPORT,
    confidence: float = CONFIDENCE,
    lift: float = LIFT,
) -> CauseRules:
    """Return the rules of a log with at least this support, confidence and lift.

    Raises ParameterError.
    """
    check_threshold(threshold)
    _check(support, confidence, lift)
    found = np.flatnonzero(spaced(log.kind, log.time, threshold, "kept"))
    kind, time = log.kind[found], log.time[found]
    counts = np.bincount(kind, minlength=len(log.kinds))
    chosen = np.argsort(-counts, kind="stable")[:MOST_KINDS]
    chosen = np.sort(chosen[counts[chosen] > 0])
    number = np.full(len(log.kinds), -1)
    number[chosen] = np.arange(len(chosen))
    among = number[kind] >= 0
    pairs = _pairs(number[kind[among]], time[among], len(chosen), threshold)
    many = counts[chosen].astype(np.float64)
    share = pairs / np.maximum(many, 1)[:, None]
    length = float(max(log.span, threshold, 1))
    chance = -np.expm1(-many * threshold / length)  # of at least one within the threshold
    with np.errstate(divide="ignore", invalid="ignore"):
        better = np.where(pairs > 0, share / chance[None, :], 0.0)
    good = (pairs >= support) & (share >= confidence) & (better >= lift)
    cause, effect = np.nonzero(good)
    order = np.lexsort((effect, cause, -pairs[cause, effect], -share[cause, effect]))
    cause, effect = cause[order], effect[order]
    return CauseRules(
        chosen[cause].astype(np.int32),
        chosen[effect].astype(np.int32),
        pairs[cause, effect],
        share[cause, effect],
        better[cause, effect],
    )


def causal(log: RasLog, rules: CauseRules, threshold: int = THRESHOLD) -> Mask:
    """Return which records do not follow their cause, by one of the rules, within `threshold` s,
    bool[n].

    The cause counts whether or not it is kept itself. Records of one second are in the log's order.
    """
    check_threshold(threshold)
    keep = np.ones(len(log), dtype=np.bool_)
    order = np.argsort(log.kind, kind="stable")
    ends = np.searchsorted(log.kind[order], np.arange(len(log.kinds) + 1))
    for cause, effect in zip(rules.cause.tolist(), rules.effect.tolist(), strict=True):
        before = order[ends[cause] : ends[cause + 1]]
        after = order[ends[effect] : ends[effect + 1]]
        last = np.searchsorted(before, after) - 1  # of the causes above each effect
        there = last >= 0
        after, last = after[there], last[there]
        follows = log.time[after] - log.time[before[last]] <= threshold
        keep[after[follows]] = False
    return keep


def _pairs(kind: Int, time: Int, kinds: int, threshold: int) -> Int:
    """Return how many occurrences of a kind are followed by another within the threshold,
    int64[kinds, kinds]; those of one second are in the log's order.

    Occurrences of one kind are further apart than the threshold, so that each kind stands at most
    once in the window after another, and no occurrence counts twice.
    """
    table = np.zeros(kinds * kinds, dtype=np.int64)
    apart = 1
    first = np.arange(len(time))
    while True:
        first = first[first + apart < len(time)]
        first = first[time[first + apart] - time[first] <= threshold]
        if not first.size:
            return table.reshape(kinds, kinds)
        code = kind[first] * kinds + kind[first + apart]
        table += np.bincount(code, minlength=kinds * kinds)
        apart += 1


def _check(support: int, confidence: float, lift: float) -> None:
    if isinstance(support, bool) or support < 1:
        raise ParameterError("support", support, "a whole number of at least 1")
    if not 0 < confidence <= 1:
        raise ParameterError("confidence", confidence, "above 0, at most 1")
    if not 0 <= lift < np.inf:
        raise ParameterError("lift", lift, "a finite number of at least 0")
