"""What Python calls of the classic policies: one event at a time."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.scheduling.engine import classic_kernels as classic
from forestall.scheduling.rules.nodes import machine_kernels as machines
from forestall.scheduling.rules.nodes import queue_kernels as queues


@entry
def handle(state, kind, key, until, now):
    """Take one event; what should be done is left in `state.out`. False where a policy in Python
    has to be asked which jobs start."""
    classic.take(state, kind, key, until, now)
    return not classic.asks(state, kind)


@entry
def start_at(state, position, now, reason, at, count):
    """Start the job at a position of the queue; `at` and `count` go with the reason."""
    classic.start(state, position, now, reason)
    record = state.out.decisions[state.out.held[0] - 1]
    record.at, record.count = at, count


@entry
def shadow(state, wanted):
    """Return (time, extra): when `wanted` nodes will be free by expectation, and how many more."""
    return queues.shadow(state.queue, state.machine.at[machines.UNASSIGNED], wanted)


@entry
def wake_at(state):
    """Return the earliest reserved start of a waiting job, or FAR."""
    return classic.wake_at(state.queue)
