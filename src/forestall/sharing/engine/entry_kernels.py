"""The engine for guests on shared hosts as Python calls it."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.sharing.engine import event_kernels as engine


@entry
def take(state, kind, key, told, now):
    """Take in one event; see `cycle_kernels.take`."""
    engine.take(state, kind, key, told, now)


@entry
def free_hosts(state):
    """Return how many candidates there are; see `cycle_kernels.free_hosts`."""
    return engine.free_hosts(state)
