"""What Python calls of the promise policy: one event, a quote, the length of a reservation."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.scheduling.engine import promise_kernels as promise
from forestall.scheduling.rules import checkpoint_kernels as checkpoints
from forestall.scheduling.rules import risk_kernels as risks


@entry
def handle(state, kind, key, until, now, again):
    """Take one event; what should be done is left in `state.out`. False where Python has to be
    asked first: then call with the answer and `again`."""
    if not again:
        promise.take(state, kind, key, until, now)
    return promise.decide(state, now)


@entry
def length_for(estimate, interval, pause, checkpoint):
    """Return the seconds that a reservation for `estimate` seconds of work takes, whose checkpoints
    take `pause` seconds each, by the rule with this code."""
    return checkpoints.reservation_length(estimate, interval, pause, checkpoint)


@entry
def quote(state, now, size, length, pool, again):
    """Find the offer that a job would get now on nodes of a pool (0: on any) and return its reason;
    the offer is left in the scratch room and nothing else changes. -1 where Python has to be asked
    first: then call with the answer and `again`."""
    if not again:
        risks.move_on(state.prediction, now)
        promise.open_search(state, now, state.rules.wanted, pool)
    return promise.reason_of(state, now) if promise.search(state, now, size, length) else -1
