"""The simulator's loop under the promise policy with hazards: every event is answered by itself."""

from __future__ import annotations

from forestall._compile import entry
from forestall.engine.promise import hazard_kernels as engine
from forestall.simulate.clock.stop_kernels import ENDED, FULL, PAUSED, STALLED
from forestall.simulate.promise import world_kernels as worlds
from forestall.simulate.promise.loop_kernels import carry_out_all, fits


@entry
def run(state, world, log, limit):
    """Go on until all jobs are done (ENDED), `limit` events have happened (PAUSED), arrays have to
    grow (FULL), or nothing will happen any more though jobs are left, a defect (STALLED)."""
    at = world.at
    stop = at[worlds.EVENTS] + limit
    while at[worlds.LEFT] > 0:
        if not fits(state, world, log):
            return FULL
        if at[worlds.EVENTS] >= stop:
            return PAUSED
        key, stream = worlds.peek(world)
        if stream < 0:
            return STALLED
        worlds.step(world, key, stream)
        engine.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.UNTIL], at[worlds.NOW])
        carry_out_all(state, world, log)
    return ENDED
