"""The promise policy with a predictor or placement rule of the user's own, in plain Python.

The search for a start, the reservations and the runs are the same compiled functions as ever; only
the questions "how risky is each node", "which nodes" and "how risky is this set" are asked in
Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestall.decide.nodes import timeline_kernels as timelines
from forestall.decide.promise import offer_kernels as offers
from forestall.decide.promise.checkpoint_kernels import CHECKPOINT_RISK
from forestall.engine.promise import promise_entry_kernels as kernels
from forestall.engine.promise.state import State
from forestall.model.decisions import Reason
from forestall.model.errors import ParameterError
from forestall.model.events import EventKind
from forestall.predict.foreseen_kernels import FAR

if TYPE_CHECKING:
    from forestall.predict.base import Predictor

Int = npt.NDArray[np.int64]
Placement = Callable[[Int, int, npt.NDArray[np.float64], int, int], npt.ArrayLike]
"""placement(free, size, risk, start, end) -> `size` of the free nodes; risk is
float64[len(free)]."""


def least_risky(free: Int, size: int, risk: npt.NDArray[np.float64], start: int, end: int) -> Int:
    """Return the `size` nodes of lowest risk, lower number first among equals."""
    return free[np.lexsort((free, risk))[:size]]


def lowest(free: Int, size: int, risk: npt.NDArray[np.float64], start: int, end: int) -> Int:
    """Return the `size` lowest-numbered nodes."""
    return free[:size]


@dataclass(frozen=True)
class Plugin:
    """A placement rule in Python, and a predictor (None: the failures that the state foresees, each
    with its own downtime). `downtime` is how long a node that the predictor means is expected to
    stay down, s; `period` the seconds after which what is predicted repeats for ever (0: never)."""

    predictor: Predictor | None
    placement: Placement
    downtime: int
    period: int = 0


def members(row: npt.NDArray[np.uint64]) -> Int:
    """Return the node numbers of a bitset row, ascending."""
    flags = np.unpackbits(row.astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(flags).astype(np.int64)


def row_of(nodes: Int, words: int) -> npt.NDArray[np.uint64]:
    """Return the bitset row of these nodes."""
    flags = np.zeros(64 * words, dtype=np.uint8)
    flags[nodes] = 1
    return np.packbits(flags, bitorder="little").view("<u8").astype(np.uint64)


def take(state: State, plugin: Plugin, event: tuple[int, int, int, int]) -> None:
    """Take one event (kind, key, until, now); the decisions are left in the state."""
    kind, key, until, now = event
    kernels.open_event(state, now)
    _tell_time(plugin, now)
    if kind == EventKind.SUBMITTED:
        _place(state, plugin, key, now, fresh=True, reason=Reason.FREE_NOW, node=-1)
    elif kind == EventKind.START_DUE:
        node = int(kernels.begin_due(state, key, now))
        if node >= 0:
            reason = Reason.NODE_DOWN_AT_START
            _place(state, plugin, key, now, fresh=False, reason=reason, node=node)
    elif kind == EventKind.NODE_FAILED:
        if plugin.predictor is not None:
            plugin.predictor.update(now, key)
        victim = int(kernels.fail_node(state, key, until, now))
        if victim >= 0:
            reason = Reason.NODE_FAILED
            _place(state, plugin, victim, now, fresh=False, reason=reason, node=key)
    elif kind == EventKind.CHECKPOINT_REQUESTED:
        kernels.answer(state, key, _risk_of_waiting(state, plugin, key, now), now)
    else:
        kernels.settle(state, kind, key, now)


def _risk_of_waiting(state: State, plugin: Plugin, j: int, now: int) -> float:
    """Return p_f of a running job's nodes over [now, now + C + I + C), where it decides."""
    if state.rules.checkpoint != CHECKPOINT_RISK:
        return 0.0
    end = now + 2 * state.rules.overhead + int(state.jobs[j]["interval"])
    row = state.timeline.rows[state.jobs[j]["row"]]
    state.scratch.rows[offers.CHOSEN] = row
    return _risk_of_all(state, plugin, members(row), now, (now, end))


def quote(state: State, plugin: Plugin, now: int, size: int, length: int) -> Reason:
    """Find the offer that a job would get now; it is left in the scratch room."""
    _tell_time(plugin, now)
    search(state, plugin, now, size, length, state.rules.risk)
    return _reason(state, now)


def _tell_time(plugin: Plugin, now: int) -> None:
    """Move a predictor's present moment to now, where it has one."""
    advance = getattr(plugin.predictor, "advance", None)
    if advance is not None:
        advance(now)


def _reason(state: State, now: int) -> Reason:
    offer = state.scratch.offer[0]
    if offer["probability"] < state.rules.risk:
        return Reason.BEST_OFFER
    if offer["refused"] > 0:
        return Reason.WAITS_FOR_SAFETY
    return Reason.FREE_NOW if offer["start"] == now else Reason.WAITS_FOR_NODES


def _place(
    state: State, plugin: Plugin, j: int, now: int, *, fresh: bool, reason: Reason, node: int
) -> None:
    length, size = int(kernels.length_of(state, j)), int(state.jobs[j]["size"])
    search(state, plugin, now, size, length, state.rules.risk if fresh else 0.0)
    why = _reason(state, now) if fresh else reason
    kernels.commit(state, j, int(fresh), int(why), node)


def search(state: State, plugin: Plugin, now: int, size: int, length: int, risk: float) -> None:
    """Find the first start whose probability is at least `risk`, or the best one where none is."""
    refused, first, best, best_start = 0, -1, -1.0, now
    start, give_up = now, int(FAR)
    while start < give_up:
        skip = int(kernels.free_at(state, start, start + length, size))
        lower = max(skip, start + 1)
        if skip == 0:
            probability = _choose(state, plugin, now, start, start + length, size)
            first = start if first < 0 else first
            if probability >= risk:
                break
            refused += 1
            if probability > best:
                best, best_start = probability, start
            if plugin.period > 0 and give_up == FAR:
                last = int(state.timeline.edges["time"][state.timeline.at[timelines.TAIL] - 1])
                give_up = max(last, start) + length + 2 * plugin.period
        start = int(kernels.next_candidate(state, lower))
        if risk > 0:
            start = min(start, _next_recovery(state, plugin, now, lower))
    else:
        kernels.free_at(state, best_start, best_start + length, size)
        _choose(state, plugin, now, best_start, best_start + length, size)
    state.scratch.offer["refused"], state.scratch.offer["first"] = refused, first


def _next_recovery(state: State, plugin: Plugin, now: int, lower: int) -> int:
    if plugin.predictor is None:
        return int(kernels.next_recovery(state, now, lower))
    ask = getattr(plugin.predictor, "next_predicted_failure", None)
    time = None if ask is None else ask(max(now, lower - plugin.downtime))
    return int(FAR) if time is None else int(time) + plugin.downtime


def _choose(state: State, plugin: Plugin, now: int, start: int, end: int, size: int) -> float:
    rows, offer = state.scratch.rows, state.scratch.offer
    free = members(rows[offers.FREE])
    risk = _risk_of_each(state, plugin, free, now, (start, end))
    nodes = _checked(plugin.placement(free, size, risk, start, end), free, size)
    rows[offers.CHOSEN] = row_of(nodes, rows.shape[1])
    probability = 1.0 - _risk_of_all(state, plugin, nodes, now, (start, end))
    passed = free[(risk > 0) & ~np.isin(free, nodes) & (free < nodes.max())]
    offer["start"], offer["end"], offer["probability"] = start, end, probability
    offer["left_out"], offer["left_out_at"] = passed[0] if len(passed) else -1, -1
    return probability


def _risk_of_each(
    state: State, plugin: Plugin, nodes: Int, now: int, window: tuple[int, int]
) -> npt.NDArray[np.float64]:
    start, end = window
    if plugin.predictor is None:
        kernels.mark_risky(state, now, start, end)
        known = np.zeros(len(state.machine.nodes))
        risky = members(state.scratch.rows[offers.RISKY])
        known[risky] = state.scratch.work["risk"][risky]
        return known[nodes]
    answer = plugin.predictor.failure_probability(nodes, _since(plugin, now, start), end)
    risk = _numbers(answer)
    if risk is None or risk.shape != nodes.shape or not bool(((risk >= 0) & (risk <= 1)).all()):
        allowed = f"a probability from 0 to 1 for each of {len(nodes)} nodes"
        raise ParameterError("predictor", answer, allowed)
    return risk


def _since(plugin: Plugin, now: int, start: int) -> int:
    """Return the earliest failure that could still leave a node down at `start`."""
    return max(now, start - plugin.downtime + 1)


def _risk_of_all(
    state: State, plugin: Plugin, nodes: Int, now: int, window: tuple[int, int]
) -> float:
    start, end = window
    if plugin.predictor is None:
        return float(kernels.risk_of_chosen(state, now, start, end))
    since = _since(plugin, now, start)
    answer = plugin.predictor.partition_failure_probability(nodes, since, end)
    risk = _numbers(answer)
    if risk is None or risk.ndim != 0 or not 0.0 <= float(risk) <= 1.0:
        raise ParameterError("predictor", answer, "a probability from 0 to 1")
    return float(risk)


def _numbers(answer: Any) -> npt.NDArray[np.float64] | None:
    try:
        return np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _checked(chosen: Any, free: Int, size: int) -> Int:
    given = np.asarray(chosen)
    whole = given.ndim == 1 and np.issubdtype(given.dtype, np.integer)
    if not whole or len(given) != size or len(np.unique(given[np.isin(given, free)])) != size:
        raise ParameterError("placement", given.tolist(), f"{size} of the free nodes")
    return np.unique(given).astype(np.int64)
