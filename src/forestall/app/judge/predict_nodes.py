"""A later log with the numbers that a predictor has for its nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from forestall.model.errors import ParameterError
from forestall.model.observations import window_of

if TYPE_CHECKING:
    from forestall.model.failures import Failures
    from forestall.model.observations import Observations

Int = npt.NDArray[np.int64]


def matched(log: Failures, known: Observations, option: str) -> Failures:
    """Return a log whose nodes have the numbers of those that were known by the same names; names
    that are new get new numbers at the end.

    Nodes that are known only from their failures (see `forestall.traces.observed.heard_of`) count
    from the first failure of which the predictor hears, which is left out; later ones stay. Where
    one side has no names, numbers are taken as they stand. Raises ParameterError, naming `option`,
    where no name is known.
    """
    names = known.failures.names
    if names is None or log.names is None:
        return log
    place = {name: k for k, name in enumerate(names)}
    there = sum(name in place for name in log.names)
    if log.names and not there:
        allowed = f"a log of the nodes that the predictor knows, such as {names[0]}"
        raise ParameterError(option, f"{log.source}, with {log.names[0]}", allowed)
    for name in log.names:
        place.setdefault(name, len(place))
    number = np.array([place[name] for name in log.names], dtype=np.int64)
    node = number[log.node]
    order = np.lexsort((node, log.time))
    made = replace(
        log,
        time=log.time[order],
        node=node[order],
        downtime=log.downtime[order],
        detectability=log.detectability[order],
        kind=None if log.kind is None else tuple(log.kind[k] for k in order),
        nodes=max(known.nodes, len(place)),
        names=tuple(place),
        service_start=None,
        service_end=None,
        service_new=None,
    )
    if log.service_start is not None:
        return _with_service(made, log, number, known)
    return made if known.failures.service_start is None else _heard_of(made, known)


def _shift(log: Failures, known: Observations) -> int:
    """Return by how much the log's clock runs ahead of that of what was known, s."""
    both = known.origin is not None and log.origin is not None
    return known.origin - log.origin if both else 0  # type: ignore[operator]


def _with_service(made: Failures, log: Failures, number: Int, known: Observations) -> Failures:
    """Return a renumbered log with the times in service of both; where both tell, the earlier
    begin and the later log's end."""
    assert log.service_start is not None
    assert log.service_end is not None
    assert log.service_new is not None
    shift, old = _shift(log, known), known.failures
    start = np.full(made.nodes, known.begin + shift, dtype=np.int64)
    stop = np.full(made.nodes, window_of(log)[1], dtype=np.int64)
    new = np.zeros(made.nodes, dtype=np.bool_)
    if old.service_start is not None and old.service_end is not None:
        told = len(old.service_start)
        start[:told], stop[:told] = old.service_start + shift, old.service_end + shift
        if old.service_new is not None:
            new[:told] = old.service_new
        fresh = number >= told
        earlier = fresh | (log.service_start < start[number])
    else:
        earlier = np.ones(len(number), dtype=np.bool_)
    start[number[earlier]] = log.service_start[earlier]
    new[number[earlier]] = log.service_new[earlier]
    stop[number] = log.service_end
    return replace(made, service_start=start, service_end=stop, service_new=new)


def _heard_of(made: Failures, known: Observations) -> Failures:
    """Return a renumbered log of which nodes that were not heard of before count from their first
    failure on, which is left out."""
    shift, end = _shift(made, known), window_of(made)[1]
    start = np.full(made.nodes, end, dtype=np.int64)
    since = known.failures.service_start
    assert since is not None
    heard = np.zeros(made.nodes, dtype=np.bool_)
    heard[: len(since)] = since < known.end
    start[: len(since)] = np.where(since < known.end, since + shift, end)
    nodes, first = np.unique(made.node, return_index=True)
    fresh = ~heard[nodes]
    start[nodes[fresh]] = made.time[first[fresh]]
    keep = np.ones(len(made), dtype=np.bool_)
    keep[first[fresh]] = False
    return replace(
        made.take(keep),
        span=made.span,
        service_start=start,
        service_end=np.full(made.nodes, end, dtype=np.int64),
        service_new=np.zeros(made.nodes, dtype=np.bool_),
    )
