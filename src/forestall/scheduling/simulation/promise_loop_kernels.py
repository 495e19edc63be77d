"""The simulator's loop under the promise policy: every event is answered by itself.

There is one loop for every kind of prediction; Numba compiles it for the one that a state has.
"""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.core.clock.stop_kernels import ASKED, ENDED, FULL, MET, PAUSED, STALLED
from forestall.scheduling.engine import promise_kernels as engine
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.loop_kernels import carry_out_all, fits


@entry
def run(state, world, log, limit, again):
    """Go on until all jobs are done (ENDED), `limit` events have happened (PAUSED), arrays have to
    grow (FULL), Python has to be asked (ASKED: then call with the answer and `again`), the user of
    the next job is to be shown offers (MET), or nothing will happen any more though jobs are left,
    a defect (STALLED)."""
    at = world.at
    stop = at[worlds.EVENTS] + limit
    while at[worlds.LEFT] > 0:
        if not again:
            if not fits(state, world, log):
                return FULL
            if at[worlds.EVENTS] >= stop:
                return PAUSED
            key, stream = worlds.peek(world)
            if stream < 0:
                return STALLED
            if stream == 2 and at[worlds.ARRIVED] == world.clock[worlds.MEETS]:
                return MET
            worlds.step(world, key, stream)
            worlds.is_lost(world.vault, state, world)
            engine.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.UNTIL], at[worlds.NOW])
        if not engine.decide(state, at[worlds.NOW]):
            return ASKED
        again = False
        carry_out_all(state, world, log)
    return ENDED
