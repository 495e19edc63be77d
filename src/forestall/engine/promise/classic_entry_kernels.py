"""What Python calls of the classic policies: one event at a time."""

from __future__ import annotations

from forestall._compile import entry
from forestall.engine.promise import classic_kernels as classic


@entry
def handle(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`."""
    classic.take(state, kind, key, until, now)


@entry
def wake_at(state):
    """Return the earliest reserved start of a waiting job, or FAR."""
    return classic.wake_at(state.queue)
