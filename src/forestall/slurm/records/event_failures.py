"""From outages of nodes, as a site's records have them, to failures with repair times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.coded import Coded
from forestall.core.model.failures import Failures
from forestall.core.model.job_records import NEVER
from forestall.slurm.records.node_events import NATURES, NodeEvents


@dataclass(frozen=True)
class Spells:
    """Times in which nodes were out, events that overlap or touch joined; by (node, begin).

    Attributes
    ----------
    node, begin, end : int64[k]; `NEVER` for the end of one that is still open
    spell : int64[m], the spell of each event
    """

    node: Ints
    begin: Ints
    end: Ints
    spell: Ints

    def __len__(self) -> int:
        return len(self.node)


def spells(events: NodeEvents) -> Spells:
    """Return the spells of events: their union, node by node.

    An event that begins in the second in which another ends continues it: Slurm ends an event and
    begins a new one whenever the state or the reason of a node that is out changes.
    """
    order = np.lexsort((events.end, events.begin, events.node))
    node, begin, end = events.node[order], events.begin[order], events.end[order]
    latest = _latest(node, end)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (node[1:] != node[:-1]) | (begin[1:] > latest[:-1])
    first = np.flatnonzero(new)
    number = np.cumsum(new) - 1
    spell = np.empty(len(order), dtype=np.int64)
    spell[order] = number
    until = latest[np.append(first[1:], len(order)) - 1] if len(order) else latest
    return Spells(node[first], begin[first], until, spell)


def overlaps(events: NodeEvents) -> Bools:
    """Return which events begin before an earlier one of their node has ended, bool[m]."""
    order = np.lexsort((events.end, events.begin, events.node))
    node, begin = events.node[order], events.begin[order]
    latest = _latest(node, events.end[order])
    found = np.zeros(len(order), dtype=np.bool_)
    found[order[1:]] = (node[1:] == node[:-1]) & (begin[1:] < latest[:-1])
    return found


def _latest(node: Ints, end: Ints) -> Ints:
    """Return the latest end so far of each node, int64[m]; rows are in order of node."""
    if len(node) == 0:
        return end
    # One running maximum over all nodes: ranks of ends, each node's raised above those before it.
    _, rank = np.unique(end, return_inverse=True)
    ends = np.unique(end)
    raised = rank.astype(np.int64) + node * len(ends)
    return np.asarray(ends[np.maximum.accumulate(raised) - node * len(ends)])


def failures_of(
    events: NodeEvents,
    *,
    natures: Sequence[str] = ("fault",),
    kinds: Sequence[str] | None = None,
    names: Sequence[str] = (),
) -> Failures:
    """Return the failures among outages: for each spell with an event of these natures the first
    such event.

    A node is down from its failure to the end of the spell, whatever the later events in it are
    called: a node that a person drains for the repair while it is down has not failed twice, and
    is not back. A failure counts where it began within the span of the events; a node that was
    down already as the span began enters service at the end of that spell.

    Parameters
    ----------
    natures : of `slurm.records.node_events.NATURES`
    kinds : what each event was about, for `Failures.kind` (default: its reason)
    names : nodes that count too, if they never failed

    Time 0 is the begin of the span. `downtime` is -1 for a spell that was still open.
    """
    assert set(natures) <= set(NATURES), f"natures {natures}"
    begin, until = events.span
    known = named(events, names)
    out = spells(known)
    about = Coded.of(list(kinds)) if kinds is not None else events.reason
    wanted = np.isin(known.nature, [NATURES.index(one) for one in natures])
    rows = np.flatnonzero(wanted)
    _, first = np.unique(out.spell[rows], return_index=True)  # rows are in order of begin
    chosen = rows[first]
    chosen = chosen[(known.begin[chosen] >= begin) & (known.begin[chosen] < max(until, begin + 1))]
    order = np.lexsort((known.node[chosen], known.begin[chosen]))
    chosen = chosen[order]
    end = out.end[out.spell[chosen]]
    time = known.begin[chosen]
    start, stop = _service(out, len(known.names), begin, until)
    return Failures(
        time - begin,
        known.node[chosen],
        np.where(end < NEVER, end - time, -1),
        np.full(len(chosen), np.nan),
        kind=tuple(about[row] for row in chosen.tolist()),
        span=max(until - begin, 1),
        nodes=len(known.names),
        repairs=True,
        names=known.names,
        source=events.source,
        cleaning=events.cleaning,
        origin=begin if events.dated else None,
        service_start=start,
        service_end=stop,
        service_new=np.zeros(len(known.names), dtype=np.bool_),
    )


def _service(out: Spells, nodes: int, begin: int, until: int) -> tuple[Ints, Ints]:
    """Return when each node was in service within the span, on a clock that begins with it."""
    length = max(until - begin, 1)
    start = np.zeros(nodes, dtype=np.int64)
    early = out.begin < begin
    np.maximum.at(start, out.node[early], np.minimum(out.end[early] - begin, length))
    return np.maximum(start, 0), np.full(nodes, length)


def named(events: NodeEvents, names: Sequence[str]) -> NodeEvents:
    """Return events with further nodes after those that they name."""
    there = set(events.names)
    more = tuple(name for name in dict.fromkeys(names) if name not in there)
    return replace(events, names=events.names + more) if more else events
