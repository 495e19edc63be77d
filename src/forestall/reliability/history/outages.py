"""When nodes were down: the outages of a log, with those that overlap found and joined."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestall.core.model.arrays import Bools, Ints


@dataclass(frozen=True)
class NodeOutages:
    """Outages of nodes.

    Attributes
    ----------
    up : int64[n], when each failure's node was back: by its own record, or by that of the whole
        outage where overlapping failures are merged; the failure's own time where not told
    node, start, end : int64[m], the times down, [start, end), overlapping ones as one, in order of
        (node, start)
    """

    up: Ints
    node: Ints
    start: Ints
    end: Ints


def running_end(node: Ints, end: Ints) -> Ints:
    """Return the latest of a node's ends so far, for rows in order of node."""
    if len(end) == 0:
        return end
    low = int(end.min())
    far = int(end.max()) - low + 1  # nodes are set so far apart that none reaches into the next
    return np.asarray(np.maximum.accumulate(end - low + node * far) - node * far + low)


def outages_of(time: Ints, node: Ints, downtime: Ints) -> tuple[NodeOutages, Bools]:
    """Return the outages of failures (int64[n], downtime -1 where not told), in order of (time,
    node), and which failures came while their node was still down from an earlier one, bool[n].
    """
    order = np.lexsort((time, node))
    began, of = time[order], node[order]
    up = began + np.maximum(downtime[order], 0)
    reached = running_end(of, up)
    inside = np.zeros(len(time), dtype=np.bool_)
    inside[1:] = (of[1:] == of[:-1]) & (began[1:] < reached[:-1])
    heads = np.flatnonzero(~inside)
    tails = np.append(heads[1:], len(time)) - 1 if len(heads) else heads
    overlaps = np.zeros(len(time), dtype=np.bool_)
    overlaps[order[inside]] = True
    ups = np.empty_like(up)
    ups[order] = up
    return NodeOutages(ups, of[heads], began[heads], reached[tails]), overlaps


def joined_up(outages: NodeOutages, time: Ints, node: Ints) -> Ints:
    """Return when the whole outage was over in which each failure lies."""
    up = np.empty_like(time)
    order = np.lexsort((time, node))
    count = len(outages.start)
    if count == 0:
        return time.copy()
    low = int(min(time.min(), outages.start.min()))
    far = int(max(time.max(), outages.start.max())) - low + 1
    keys = outages.start - low + outages.node * far
    at = np.searchsorted(keys, time[order] - low + node[order] * far, side="right") - 1
    up[order] = outages.end[at]
    return up
