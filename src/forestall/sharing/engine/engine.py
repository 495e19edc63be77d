"""The engine for guests on shared hosts as Python drives it: events in, decisions out.

A live scheduler and the replay of a log call it; the simulator's compiled loop calls the same
functions directly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core.engine import kept
from forestall.core.engine.contract import (
    Stories,
    Transitions,
    Watch,
    check_key,
    check_state,
    in_order,
    whole,
)
from forestall.core.engine.growth import longer
from forestall.core.files.held import Held
from forestall.core.model.cycle import (
    ESTIMATE,
    FAR,
    GuestDecision,
    GuestDecisionKind,
    GuestEvent,
    GuestEventKind,
    GuestReason,
)
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.own import is_own
from forestall.sharing.engine import entry_kernels as entries
from forestall.sharing.engine import state as states
from forestall.sharing.engine.kept_state import beside, taken_up
from forestall.sharing.engine.state import (
    CONDOR,
    DONE,
    GUEST,
    OWN,
    RUNNING,
    WAITING,
    CycleRules,
    CycleState,
    new_cycle_state,
)
from forestall.sharing.rules.entries import SCHEDULERS
from forestall.sharing.rules.own import OwnScheduler

_FIELDS = tuple(field.name for field in fields(GuestDecision))[3:]
"""What a decision tells as whole numbers: all but time, kind and reason."""

JOBS = Transitions(
    "job",
    ("WAITING", "RUNNING", "DONE"),
    {
        GuestEventKind.TRY: {("WAITING", "RUNNING"), ("WAITING", "DONE")},
        GuestEventKind.HOST_STATE: {("RUNNING", "WAITING")},
        GuestEventKind.GUEST_ENDED: {("RUNNING", "DONE")},
        GuestEventKind.GUEST_AT_RISK: {("RUNNING", "RUNNING")},
        GuestEventKind.GUEST_SAVED: {("RUNNING", "WAITING")},
        GuestEventKind.GUEST_FAILED: {("RUNNING", "DONE")},
        GuestEventKind.CANCELLED: {("WAITING", "DONE"), ("RUNNING", "DONE")},
        GuestEventKind.REQUEUED: {("RUNNING", "WAITING"), ("WAITING", "WAITING")},
        GuestEventKind.START_REFUSED: {("RUNNING", "WAITING"), ("WAITING", "WAITING")},
        GuestEventKind.STARTED: {("WAITING", "RUNNING"), ("RUNNING", "RUNNING")},
    },
)
"""Of jobs that are known, which wait from the first; those that are tried are among them."""
HOSTS = Transitions(
    "host",
    ("OPEN", "DRAINED"),
    {
        GuestEventKind.HOST_STATE: {("OPEN", "OPEN"), ("DRAINED", "DRAINED")},
        GuestEventKind.HOST_DRAINED: {("OPEN", "DRAINED"), ("DRAINED", "DRAINED")},
        GuestEventKind.HOST_RETURNED: {("DRAINED", "OPEN")},
    },
)
"""A host may come into any of its five states from any other, drained or not."""
_AWAKE: Final = 2
"""States below this one, S1 and S2, leave room for a guest."""


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
    return SCHEDULERS[scheduler].number


class CycleEngine:
    """Chooses hosts for guests, and ends guests whose host its owner needs. It never acts and never
    looks at a clock.

    Parameters
    ----------
    hosts : how many; each is in S5 until its state is told
    scheduler : a name of `SCHEDULERS`, or of an own one
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
    >>> state = GuestEventKind.HOST_STATE
    >>> engine.handle([GuestEvent(0, state, host, state=0) for host in (0, 1)], 0)
    []
    >>> job = engine.add_job()
    >>> quick, steady = (0, 3600, 1800, 1800, FAR, 0, 0), (1, 5400, 90000, 60000, 5600, 0, 0)
    >>> known = np.array([quick, steady], dtype=ESTIMATE)
    >>> tried = GuestEvent(5, GuestEventKind.TRY, job, estimates=known)
    >>> for one in engine.handle([tried], 5):
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
        if SCHEDULERS.chosen(scheduler).draws and generator is None:
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
        self._begin(validate)

    def _begin(self, validate: bool) -> None:
        self.now = -FAR
        self._drained: set[int] = set()
        self._stories = Stories()
        self._watch = Watch((JOBS,), self._states) if validate else None

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
        free = np.array(self._state.estimates["host"][:count], dtype=np.int64)
        return free[~np.isin(free, list(self._drained))] if self._drained else free

    def job_state(self, job: int) -> str:
        """Return the state of a job, one of `JOBS.states`."""
        return JOBS.states[int(self._state.jobs["status"][job])]

    def handle(self, events: Iterable[GuestEvent], now: int) -> list[GuestDecision]:
        """Take what happened at `now`, in the order of `GuestEventKind.rank`, and return what
        should be done. A TRY brings estimates of the hosts that `candidates` names, a
        GUEST_AT_RISK of some of them and of the guest's own.

        Raises ParameterError for an event that cannot happen: of another second, of an unknown job
        or host; TransitionError, with the story of the job or host, for one that its state rules
        out. The events before it are taken in.
        """
        ordered = in_order(events, now, self.now, _rank)
        decisions: list[GuestDecision] = []
        for event in ordered:
            self._check(event)
            self.now = now
            decisions += self._one(event)
        return decisions

    def _one(self, event: GuestEvent) -> list[GuestDecision]:
        kind = event.kind
        self._state.at[states.HELD] = 0
        if kind is GuestEventKind.HOST_DRAINED:
            self._drained.add(event.key)
        elif kind is GuestEventKind.HOST_RETURNED:
            self._drained.discard(event.key)
        elif kind > GuestEventKind.TRY:
            self._seen(event)
        else:
            told = event.state
            if kind is GuestEventKind.TRY:
                told = self._take_estimates(event.estimates)
            elif kind is GuestEventKind.GUEST_AT_RISK:
                told = self._take_risk(event)
            entries.take(self._state, int(kind), event.key, told, event.time)
        if self._own is not None:
            self._own.asked.check()
        state = self._state
        decisions = [
            GuestDecision(
                event.time,
                GuestDecisionKind(int(out["kind"])),
                GuestReason(int(out["reason"])),
                **whole(out, _FIELDS),
            )
            for out in state.out[: state.at[states.HELD]]
        ]
        self._note(event, decisions)
        return decisions

    def _seen(self, event: GuestEvent) -> None:
        """Take in what is seen of a job and was not decided here."""
        jobs, hosts = self._state.jobs, self._state.hosts
        job, kind = jobs[event.key], event.kind
        if job["status"] == RUNNING:
            hosts["guest"][job["host"]] = -1
        done = kind in (GuestEventKind.GUEST_FAILED, GuestEventKind.CANCELLED)
        if kind is GuestEventKind.STARTED:
            hosts["guest"][event.host] = event.key
            job["status"], job["host"], job["started"] = RUNNING, event.host, 1
        elif done or job["status"] == RUNNING:
            # Counted from here anew: tries and misses are those since a job last lost its host.
            jobs[event.key] = (DONE if done else WAITING, -1, 0, 0, job["started"])
            self._state.at[states.LEFT] -= int(done)

    def _note(self, event: GuestEvent, decisions: list[GuestDecision]) -> None:
        """Write an event into the stories, and hold it to the table of legal changes."""
        name, now = event.kind.name, event.time
        if event.kind.about_host:
            text = HOSTS.states[event.key in self._drained]
            self._stories.tell("host", event.key, text, now, name)
        about = {one.job for one in decisions}
        for job in sorted(about if event.kind.about_host else about | {event.key}):
            self._stories.tell("job", job, self.job_state(job), now, name)
        if self._watch is not None:
            self._watch.after(event.kind, now)

    def _check(self, event: GuestEvent) -> None:
        state, kind = self._state, event.kind
        many = len(state.hosts) if kind.about_host else self._jobs
        check_key(event.key, many, "host" if kind.about_host else "job")
        if kind.about_host:
            text = HOSTS.states[event.key in self._drained]
            check_state(HOSTS, event, text, self._stories)
            if kind is GuestEventKind.HOST_STATE and not 0 <= event.state <= states.AWAY:
                raise ParameterError("state", event.state, "0 (S1) to 4 (S5)")
            return
        check_state(JOBS, event, self.job_state(event.key), self._stories)
        if kind is GuestEventKind.STARTED:
            check_key(event.host, len(state.hosts), "host")
            host = state.hosts[event.host]
            if host["guest"] not in (-1, event.key) or host["state"] >= _AWAKE:
                allowed = "a host in S1 or S2 without another guest"
                story = self._stories.of("host", event.host)
                raise TransitionError(event, allowed, f"host {event.host}", story)

    def _take_estimates(self, estimates: npt.NDArray[Any] | None) -> int:
        free = self.candidates()
        given = np.empty(0, dtype=ESTIMATE) if estimates is None else np.asarray(estimates)
        if given.dtype == ESTIMATE and len(given) > len(free):  # others may be taken meanwhile
            given = given[np.isin(given["host"], free)]
        if given.dtype != ESTIMATE or not np.array_equal(given["host"], free):
            raise ParameterError("estimates", len(given), f"one of each of hosts {free.tolist()}")
        state = self._state
        state.estimates[: len(given)] = given
        if state.rules.scheduler == CONDOR and len(state.draws) <= state.at[states.STARTS]:
            assert self._generator is not None
            more = self._generator.random(len(state.draws) + 64)
            self._state = state._replace(draws=np.concatenate((state.draws, more)))
        return len(given)

    def _take_risk(self, event: GuestEvent) -> int:
        own = int(self._state.jobs["host"][event.key])
        known, given = {own, *self.candidates().tolist()}, event.estimates
        hosts = [] if given is None or given.dtype != ESTIMATE else given["host"].tolist()
        if given is None or own not in hosts or not known >= set(hosts):
            allowed = f"one of host {own}, and of others of {sorted(known)}"
            raise ParameterError("estimates", hosts, allowed)
        self._state.estimates[: len(given)] = given
        return len(given)

    # ----------------------------------------------------------------------------- snapshots

    def snapshot(self) -> dict[str, Any]:
        """Return all that later decisions depend on, as plain data that goes through JSON. Not a
        scheduler in Python."""
        draws = None if self._generator is None else self._generator.bit_generator.state
        facts = {
            "now": self.now,
            "jobs": self._jobs,
            "drained": sorted(self._drained),
            "draws": draws,
            "stories": self._stories.as_list(),
            "state": kept.packed(self._state),
        }
        return kept.headed("cycle", facts)

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, Any],
        *,
        generator: np.random.Generator | None = None,
        own: OwnScheduler | None = None,
        validate: bool = False,
    ) -> Self:
        """Return the engine of a snapshot: told the same events, it takes the same decisions as one
        that never stopped. A scheduler in Python is given again, and a
        generator, which goes on where it was. Raises ParameterError for what is
        no snapshot of this engine."""
        kept.check_head(snapshot, "cycle")
        made, held = cls.__new__(cls), Held(snapshot)
        with kept.whole():
            unpacked: CycleState = kept.unpacked(snapshot["state"], (CycleState, CycleRules))
            state = taken_up(unpacked, asked=own is not None)
            if own is not None:
                state = state._replace(rules=state.rules._replace(own=own.asked.address))
                own.estimates = state.estimates
            made._state, made._own = state, own
            made._generator = kept.gone_on(generator, snapshot["draws"])
            made._begin(validate)
            made.now, made._jobs, made._drained = beside(held, state)
            made._stories = Stories.of_list(snapshot["stories"])
        return made


def _rank(kind: GuestEventKind) -> int:
    return kind.rank
