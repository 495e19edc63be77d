"""What Python calls of the promise policy with hazards: one event, a quote."""

from __future__ import annotations

from forestall._compile import entry
from forestall.engine.promise import hazard_kernels as hazards
from forestall.engine.promise import promise_kernels as promise


@entry
def handle(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`."""
    hazards.take(state, kind, key, until, now)


@entry
def quote(state, now, size, length):
    """Find the offer that a job would get now and return its reason; the offer is left in the
    scratch room and nothing else changes."""
    hazards.negotiate(state, now, size, length, state.rules.risk)
    return promise.reason_of(state, now)
