"""Quotes and promises."""

from __future__ import annotations

from dataclasses import dataclass

from forestall.model.nodes import NodeSet


@dataclass(frozen=True)
class Quote:
    """An offer: done by `deadline` with `probability`, on `nodes` from `start`; accepted, it is a
    promise.

    Times are whole seconds since the trace's epoch. `reasons` say what shaped it.
    """

    start: int
    deadline: int
    probability: float
    nodes: NodeSet
    reasons: tuple[str, ...] = ()
