"""A state of the engine that comes back from outside: no number in it points where nothing is."""

from __future__ import annotations

import numpy as np

from forestall.core.engine.kept import parts
from forestall.core.files.held import Held
from forestall.core.model.cycle import ESTIMATE, FAR
from forestall.sharing.engine.state import (
    AWAY,
    COUNTERS,
    DECISION,
    DONE,
    GUEST,
    HELD,
    HOST,
    OWN,
    CycleState,
)
from forestall.sharing.rules.entries import SCHEDULERS


def taken_up(state: CycleState, *, asked: bool) -> CycleState:
    """Return a state that was kept; `asked`: there is a scheduler in Python to be asked.

    Raises ParameterError where arrays are not of their types and lengths, or where something in
    them points outside; and what Python raises where parts are not what they should be.
    """
    values = parts(state)
    held, jobs, hosts = Held(values, values), len(state.jobs), len(state.hosts)
    held.array("jobs", GUEST, None)
    held.column("jobs", "status", 0, int(DONE))
    held.column("jobs", "host", -1, hosts - 1)
    held.array("hosts", HOST, None)
    held.column("hosts", "state", 0, int(AWAY))
    held.column("hosts", "guest", -1, jobs - 1)
    held.array("estimates", ESTIMATE, hosts)
    held.column("estimates", "host", 0, max(hosts - 1, 0))
    held.array("out", DECISION, 1)
    held.array("draws", np.float64, None, least=0, most=1)
    at = held.array("at", np.int64, COUNTERS, least=0)
    held.hold("at", int(at[HELD]) <= 1, "at most one decision")
    scheduler = held.whole("rules.scheduler", 0, max(one.number for one in SCHEDULERS.every))
    held.hold("rules.scheduler", asked or scheduler != OWN, "one that needs no Python")
    held.whole("rules.retry", 1)
    return state


def beside(held: Held, state: CycleState) -> tuple[int, int, set[int]]:
    """Return what a snapshot has beside the state: the present moment, how many jobs there are, and
    the hosts that take no guests."""
    drained, hosts = held.listed("drained"), len(state.hosts)
    inside = all(type(one) is int and 0 <= one < hosts for one in drained)
    held.hold("drained", inside, f"numbers below {hosts}")
    jobs = held.whole("jobs", 0, len(state.jobs))
    return held.whole("now", -FAR, FAR), jobs, set(drained)
