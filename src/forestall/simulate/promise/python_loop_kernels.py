"""The simulator's loop in single steps, for an engine that Python drives."""

from __future__ import annotations

from forestall._compile import entry
from forestall.simulate.promise import loop_kernels as loop
from forestall.simulate.promise import world_kernels as worlds


@entry
def happen(world):
    """Let the next event happen; what it was is left in the counters."""
    key, stream = worlds.peek(world)
    worlds.step(world, key, stream)


@entry
def carry_out(state, world, log):
    """Carry out what the engine has decided on the event that has just happened."""
    loop.carry_out_all(state, world, log)


@entry
def fits(state, world, log):
    """Return whether the next event surely finds room in all arrays."""
    return loop.fits(state, world, log)
