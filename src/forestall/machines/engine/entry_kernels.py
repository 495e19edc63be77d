"""The engine for tasks in virtual machines as Python calls it."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.machines.engine import event_kernels as engine
from forestall.machines.engine import tasks_kernels as tasks


@entry
def take(state, kind, key, at, now):
    """Take in one event; see `virtual_kernels.take`."""
    engine.take(state, kind, key, at, now)


@entry
def has_room(state):
    """Return whether any one event surely fits into the arrays."""
    return engine.has_room(state)


@entry
def ends_at(state, place):
    """Return when a task will end where it is, s."""
    return tasks.ends_at(state, place)
