"""Failures, events and metrics of one machine on one clock and one numbering of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations, window_of
from forestall.core.model.ras import RasLog
from forestall.core.model.units import MOST_NODES
from forestall.logs.ras.places import coarsened, is_blue_gene

Int = npt.NDArray[np.int64]
Log = TypeVar("Log", RasLog, Metrics)
AROUND: Final = ("node", "card", "nodecard", "midplane", "rack", "system")
"""Levels at which a place may lie within a node of a failure log, from fine to coarse."""


def observed(
    failures: Failures,
    events: RasLog | None = None,
    metrics: Metrics | None = None,
    *,
    until: int | None = None,
    nodes: int | None = None,
) -> Observations:
    """Return what the logs tell of one machine, on the clock and with the node numbers of the
    failure log.

    Nodes of other logs are found by name; of a failure log without names, by the number that a
    name ends in. An event at a Blue Gene location within a node of the failure log (a chip of a
    midplane) counts for that node. Events of other places stay (a place of -1: they may matter to
    the machine) and are counted in the `cleaning` of the events; samples of other nodes are left
    out.

    Parameters
    ----------
    until : the moment at which the window ends, s (None: with the failure log, or with what
        begins before its end and lasts longer)
    nodes : number of nodes where that is more than the logs tell; without it, nodes of a log that
        names only those that fail count from when they are heard of, see `heard_of`

    Raises ParameterError where no node of a log is known to the failure log, or their clocks cannot
    be compared.
    """
    begin, end = window_of(failures)
    if nodes is None and named_by_failing(failures):
        failures = heard_of(failures)
    events, metrics = beside(failures, events, metrics)
    stop = end if until is None else until
    most = max([nodes or 0, failures.nodes, metrics.nodes if metrics is not None else 0])
    return Observations.of(
        failures, begin=min(begin, stop), end=stop, nodes=most, events=events, metrics=metrics
    )


def beside(
    failures: Failures, events: RasLog | None, metrics: Metrics | None
) -> tuple[RasLog | None, Metrics | None]:
    """Return events and metrics on the clock and with the node numbers of a failure log, all of
    their time; see `observed`, also for what it raises."""
    if events is not None:
        events = _of_machine(_on_clock(events, failures, "events"), failures)
    if metrics is not None:
        metrics = _known(_on_clock(metrics, failures, "metrics"), failures)
    return events, metrics


def named_by_failing(log: Failures) -> bool:
    """Return whether a log knows its nodes only from their failures, so that its list of nodes
    tells the future: it has names, no times in service, and no node that never fails."""
    if log.names is None or log.service_start is not None or len(log) == 0:
        return False
    return bool(np.all(np.bincount(log.node, minlength=log.nodes) > 0))


def heard_of(log: Failures) -> Failures:
    """Return a log in which each node is in service from its first failure on, by which it is heard
    of for the first time; that failure itself, which nobody could have foretold, is left out.

    Without this, that a node of such a log has not failed yet would mean that it will.
    """
    begin, end = window_of(log)
    _, first = np.unique(log.node, return_index=True)
    since = np.full(log.nodes, begin, dtype=np.int64)
    since[log.node[first]] = log.time[first]
    keep = np.ones(len(log), dtype=np.bool_)
    keep[first] = False
    text = "first failures of nodes, by which the log names them: nobody could have predicted them"
    places = [f"node {log.names[k] if log.names else k}" for k in log.node[first].tolist()]
    return replace(
        log.take(keep),
        span=end - begin,
        service_start=since,
        service_end=np.full(log.nodes, end, dtype=np.int64),
        service_new=np.zeros(log.nodes, dtype=np.bool_),
        aside=log.aside.plus("heard_of", text, "left out", places),
    )


def _on_clock(log: Log, failures: Failures, what: str) -> Log:
    """Return a log on the failure log's clock."""
    if log.origin is None or failures.origin is None:
        if log.origin is not failures.origin:
            allowed = "a log with dates, as the failure log has them"
            if failures.origin is None:
                allowed = "a log without dates, as the failure log is"
            raise ParameterError(what, log.source, allowed)
        return log
    shift = log.origin - failures.origin
    return replace(log, time=log.time + shift, origin=failures.origin)


def _of_machine(events: RasLog, failures: Failures) -> RasLog:
    number = numbers_of(events.places, failures.names, failures.nodes)
    if failures.names is not None:
        number = _within(events.places, failures.names, number)
    if len(events) and not np.any(number[events.place] >= 0):
        raise _of_no_node("events", events.source, events.places[0], failures)
    names = failures.names or tuple(str(k) for k in range(failures.nodes))
    nowhere = events.place[number[events.place] < 0]
    text = f"events at no node of the failure log (of {len(events):,} events)"
    places = (events.places[k] for k in nowhere.tolist())
    return replace(
        events,
        place=number.astype(np.int32)[events.place],
        places=names,
        cleaning=events.cleaning.plus("no_node", text, "kept", places),
    )


def _within(places: Sequence[str], names: Sequence[str], number: Int) -> Int:
    """Return the numbers of places; one that is no node itself counts for the smallest part of the
    machine around it that is one: a Blue Gene location for its card, midplane or rack."""
    known = {name: k for k, name in enumerate(names)}
    answer = number.copy()
    for k in np.flatnonzero(number < 0).tolist():
        levels = AROUND if is_blue_gene(places[k]) else AROUND[-1:]
        around = (known.get(coarsened(places[k], level), -1) for level in levels)
        answer[k] = next((found for found in around if found >= 0), -1)
    return answer


def _known(metrics: Metrics, failures: Failures) -> Metrics:
    if metrics.node_names is None:
        return metrics
    names = failures.names
    number = numbers_of(metrics.node_names, names, failures.nodes if names else None)
    if len(metrics) and not np.any(number[metrics.node] >= 0):
        raise _of_no_node("metrics", metrics.source, metrics.node_names[0], failures)
    _one_name_each(metrics, number)
    node = number[metrics.node]
    order = np.lexsort((metrics.time, node))
    order = order[node[order] >= 0]
    return replace(
        metrics,
        time=metrics.time[order],
        node=node[order],
        value=metrics.value[order],
        nodes=max(failures.nodes, int(node.max(initial=-1)) + 1),
        node_names=names,
    )


def _one_name_each(metrics: Metrics, number: Int) -> None:
    """Raise an error where two names that have samples would be one node."""
    first: dict[int, str] = {}
    for place in np.unique(metrics.node).tolist():
        node, name = int(number[place]), (metrics.node_names or ())[place]
        if node >= 0 and first.setdefault(node, name) != name:
            allowed = "one name for each number, since the failure log has numbers"
            said = f"names {first[node]!r} and {name!r} both end in {node}; expected {allowed}"
            if not metrics.source:
                raise ParameterError("metrics", f"{first[node]}, {name}", allowed)
            raise TraceError(metrics.source, said)


def _of_no_node(what: str, source: str, name: str, failures: Failures) -> InputError:
    """Return the error about a log none of whose names is one of the failure log."""
    expected = "names that end in the number of a node"
    if failures.names:
        expected = f"names of nodes as the failure log has them, such as {failures.names[0]}"
    if not source:
        return ParameterError(what, name, expected)
    return TraceError(source, f"is of other nodes, such as {name!r}; expected {expected}")


def numbers_of(names: Sequence[str], known: Sequence[str] | None, nodes: int | None = None) -> Int:
    """Return the node number of each name, int64[len(names)], -1 where it is none.

    `known` are the names by number; without them the number that a name ends in counts, where it is
    below `nodes`, and a machine may have so many.
    """
    if known is not None:
        place = {name: k for k, name in enumerate(known)}
        return np.fromiter((place.get(name, -1) for name in names), np.int64, len(names))
    found = (re.search(r"(\d{1,9})\D*$", name) for name in names)
    numbers = (int(match[1]) if match else -1 for match in found)
    answer = np.fromiter(numbers, np.int64, len(names))
    most = MOST_NODES if nodes is None else min(nodes, MOST_NODES)
    return np.where(answer < most, answer, -1)
