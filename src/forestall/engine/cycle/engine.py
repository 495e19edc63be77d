"""The engine for guests on shared hosts as Python drives it: one event in, decisions out.

A live scheduler and the replay of a log call it one event at a time; the simulator's compiled loop
calls the same functions directly.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall._compile import records
from forestall.decide.cycle.own import OwnScheduler
from forestall.engine.contract import Transitions, Watch, check_key, check_time, whole
from forestall.engine.cycle import entry_kernels as entries
from forestall.engine.cycle import state as states
from forestall.engine.cycle.state import (
    CONDOR,
    DONE,
    GUEST,
    OWN,
    RUNNING,
    SCHEDULERS,
    CycleRules,
    CycleState,
    new_cycle_state,
)
from forestall.engine.growth import longer
from forestall.model.cycle import (
    ESTIMATE,
    FAR,
    GuestDecision,
    GuestDecisionKind,
    GuestEvent,
    GuestEventKind,
    GuestReason,
)
from forestall.model.errors import ParameterError
from forestall.model.own import is_own

_FIELDS = tuple(field.name for field in fields(GuestDecision))[3:]
"""What a decision tells as whole numbers: all but time, kind and reason."""

JOBS = Transitions(
    "job",
    ("WAITING", "RUNNING", "DONE"),
    {
        GuestEventKind.TRY: {("WAITING", "RUNNING"), ("WAITING", "DONE")},
        GuestEventKind.HOST_STATE: {("RUNNING", "WAITING")},
        GuestEventKind.GUEST_ENDED: {("RUNNING", "DONE")},
    },
)
"""Of jobs; a host may come into any state from any other."""


def number_of(scheduler: str, own: OwnScheduler | None) -> int:
    """Return a scheduler's number in kernels; ParameterError where there is none of that name, or
    one in Python is meant and not there."""
    if is_own(scheduler):
        if own is None:
            allowed = "a HostScheduler, as it was given to the simulation"
            raise ParameterError("scheduler", scheduler, allowed)
        return int(OWN)
    if scheduler not in SCHEDULERS:
        raise ParameterError("scheduler", scheduler, "one of " + ", ".join(SCHEDULERS))
    return int(SCHEDULERS[scheduler])


class CycleEngine:
    """Chooses hosts for guests, and ends guests whose host its owner needs. It never acts and never
    looks at a clock.

    Parameters
    ----------
    hosts : how many; each is in S5 until its state is told
    scheduler : "falcon", "condor" or "omniscient"
    restart : "scratch" or "checkpoint", see `CycleParameters`
    retry, retries : see `CycleParameters`
    generator : draws for ties of the scheduler "condor"; others need none
    validate : hold every event to the table of legal changes
    own : the scheduler in Python that `scheduler` names

    Examples
    --------
    Host 0 is quicker but not likely to stay long enough, so that host 1 is chosen:

    >>> import numpy as np
    >>> engine = CycleEngine(2)
    >>> for host in (0, 1):
    ...     _ = engine.handle(GuestEvent(0, GuestEventKind.HOST_STATE, host, state=0))
    >>> job = engine.add_job()
    >>> quick, steady = (0, 3600, 1800, 1800, FAR, 0, 0), (1, 5400, 90000, 60000, 5600, 0, 0)
    >>> known = np.array([quick, steady], dtype=ESTIMATE)
    >>> for one in engine.handle(GuestEvent(5, GuestEventKind.TRY, job), known):
    ...     print(one.kind.name, one.why)
    START host 1 is expected to end it first, failures considered, in 5600 s
    """

    def __init__(
        self,
        hosts: int,
        *,
        scheduler: str = "falcon",
        restart: str = "scratch",
        retry: int = 300,
        retries: int = 1,
        generator: np.random.Generator | None = None,
        validate: bool = False,
        own: OwnScheduler | None = None,
    ) -> None:
        number = number_of(scheduler, own)
        if restart not in ("scratch", "checkpoint"):
            raise ParameterError("restart", restart, "scratch or checkpoint")
        if scheduler == "condor" and generator is None:
            raise ParameterError("generator", generator, "one, where ties are drawn by chance")
        for name, value, least in (
            ("hosts", hosts, 1),
            ("retry", retry, 1),
            ("retries", retries, 0),
        ):
            if value < least:
                raise ParameterError(name, value, f"a whole number, at least {least}")
        resumes = int(restart == "checkpoint")
        address = 0 if own is None else own.asked.address
        rules = CycleRules(number, retry, retries, resumes, address)
        self._state = new_cycle_state(0, hosts, rules)._replace(jobs=records(64, GUEST))
        self._generator, self._own = generator, own
        if own is not None:
            own.estimates = self._state.estimates
        self._jobs = 0
        self._watch = Watch((JOBS,), self._states) if validate else None
        self.now = -FAR

    @property
    def state(self) -> CycleState:
        """The arrays behind everything, with room for more."""
        return self._state

    def _states(self) -> tuple[npt.NDArray[np.int64]]:
        return (np.asarray(self._state.jobs["status"][: self._jobs]),)

    def add_job(self) -> int:
        """Make a job known, and return its position; it is placed when an event TRY comes."""
        self._state = self._state._replace(jobs=longer(self._state.jobs, self._jobs + 1))
        number = self._jobs
        self._state.jobs[number] = (states.WAITING, -1, 0, 0, 0)
        self._state.at[states.LEFT] += 1
        self._jobs += 1
        return number

    def candidates(self) -> npt.NDArray[np.int64]:
        """Return int64[k]: the hosts that a guest could be started on now, in order."""
        count = entries.free_hosts(self._state)
        return np.array(self._state.estimates["host"][:count], dtype=np.int64)

    def handle(
        self, event: GuestEvent, estimates: npt.NDArray[Any] | None = None
    ) -> list[GuestDecision]:
        """Take in one event and return what should be done.

        Parameters
        ----------
        event : not before the last one
        estimates : ESTIMATE[k] of the hosts that `candidates` names, in order; for TRY events

        Raises ParameterError for an event that cannot have happened.
        """
        self._check(event)
        told = event.state
        if event.kind is GuestEventKind.TRY:
            told = self._take_estimates(estimates)
        state, self.now = self._state, event.time
        entries.take(state, int(event.kind), event.key, told, event.time)
        if self._watch is not None:
            self._watch.after(event.kind, event.time)
        if self._own is not None:
            self._own.asked.check()
        return [
            GuestDecision(
                event.time,
                GuestDecisionKind(int(out["kind"])),
                GuestReason(int(out["reason"])),
                **whole(out, _FIELDS),
            )
            for out in state.out[: state.at[states.HELD]]
        ]

    def _check(self, event: GuestEvent) -> None:
        state = self._state
        check_time(event.time, self.now)
        many = len(state.hosts) if event.kind.about_host else self._jobs
        what = "host" if event.kind.about_host else "job"
        check_key(event.key, many, what)
        if event.kind is GuestEventKind.HOST_STATE:
            if not 0 <= event.state <= states.AWAY:
                raise ParameterError("state", event.state, "0 (S1) to 4 (S5)")
            return
        status = int(state.jobs[event.key]["status"])
        if event.kind is GuestEventKind.GUEST_ENDED and status != RUNNING:
            raise ParameterError("key", event.key, "a job that runs")
        if event.kind is GuestEventKind.TRY and status in (RUNNING, DONE):
            raise ParameterError("key", event.key, "a job that waits")

    def _take_estimates(self, estimates: npt.NDArray[Any] | None) -> int:
        free = self.candidates()
        given = np.empty(0, dtype=ESTIMATE) if estimates is None else np.asarray(estimates)
        if given.dtype != ESTIMATE or not np.array_equal(given["host"], free):
            raise ParameterError("estimates", len(given), f"one of each of hosts {free.tolist()}")
        state = self._state
        state.estimates[: len(given)] = given
        if state.rules.scheduler == CONDOR and len(state.draws) <= state.at[states.STARTS]:
            assert self._generator is not None
            more = self._generator.random(len(state.draws) + 64)
            self._state = state._replace(draws=np.concatenate((state.draws, more)))
        return len(given)
