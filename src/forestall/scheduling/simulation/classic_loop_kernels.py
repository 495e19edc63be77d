"""The simulator's loop under the classic policies: the events of a second, then one pass."""

from __future__ import annotations

import numpy as np

from forestall.core._compile import entry
from forestall.core.clock.stop_kernels import ASKED, ENDED, FULL, PAUSED, STALLED
from forestall.core.model.events import EventKind
from forestall.prediction.models.foreseen_kernels import FAR
from forestall.prediction.models.heap_kernels import cancel
from forestall.scheduling.engine import classic_kernels as engine
from forestall.scheduling.engine.state import CONSERVATIVE
from forestall.scheduling.simulation import world_kernels as worlds
from forestall.scheduling.simulation.loop_kernels import carry_out_all, fits

_PASS = np.int64(EventKind.PASS)
_ALARM = np.int64(0)


@entry
def plan_wake(state, world):
    """Plan a pass for the next reserved start, which only conservative backfilling has."""
    if state.rules.policy != CONSERVATIVE:
        return
    item, wake = len(world.heap.places) - 1, engine.wake_at(state.queue)
    if wake < FAR:
        worlds.plan(world, item, wake, _PASS, _ALARM)
    else:
        cancel(world.heap, item)


@entry
def run(state, world, log, limit, again):
    """Go on until all jobs are done (ENDED), `limit` events have happened (PAUSED), arrays have to
    grow (FULL), a policy in Python has to be asked which jobs start (ASKED: then call with those
    started and `again`), or nothing will happen any more though jobs are left (STALLED): a defect,
    or a policy in Python that starts nothing."""
    at = world.at
    stop = at[worlds.EVENTS] + limit
    while at[worlds.LEFT] > 0:
        closing = again  # Python is asked at the end of a second only
        if not again:
            if not fits(state, world, log):
                return FULL
            if at[worlds.EVENTS] >= stop:
                return PAUSED
            key, stream = worlds.peek(world)
            told = worlds.tells_loss(world.vault, world)
            closing = (
                not told
                and at[worlds.TOUCHED] > 0
                and (stream < 0 or worlds.time_of(world, key) > at[worlds.NOW])
            )
            if told:
                at[worlds.TOUCHED] = 1
            elif closing:
                worlds.close_second(world)
            elif stream < 0:
                return STALLED
            else:
                worlds.step(world, key, stream)
                at[worlds.TOUCHED] = 1
                if at[worlds.KIND] == _PASS:
                    continue
            engine.take(state, at[worlds.KIND], at[worlds.KEY], at[worlds.UNTIL], at[worlds.NOW])
            if engine.asks(state, at[worlds.KIND]):
                return ASKED
        again = False
        carry_out_all(state, world, log)
        if closing:
            plan_wake(state, world)
    return ENDED
