"""What a real cluster does, where every job has a reservation of nodes (the promise policy).

Jobs that lose their places are all withdrawn first, and then placed again in the order in which
they were submitted; their promises stay as they are.
"""

from __future__ import annotations

import copy
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import records
from forestall.core._lazy import lazily
from forestall.core.engine.contract import Stories
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.prediction.models.foreseen_kernels import FAR, FORESEEN, Foreseen
from forestall.scheduling.engine.plugin import members, row_of
from forestall.scheduling.engine.state import DONE, NEW, RUNNING, WAITING
from forestall.scheduling.engine.steps import EngineSteps
from forestall.scheduling.engine.transitions import NODES
from forestall.scheduling.rules.curved_risk_kernels import (
    Curved,
    hazard_risks,
    set_hazard,
    without_hazards,
)
from forestall.scheduling.rules.nodes.machine_kernels import DOWN, IDLE
from forestall.scheduling.rules.search_state import SEEN

with lazily():
    from forestall.scheduling.engine import reserved_entry_kernels as kernels

LEAST_EXTENSION: Final = 60
"""What a run past its reservation is reckoned to last longer at least, s, and how long a refused
start waits for its next try where nobody says."""
EXTENSION: Final = 10
"""Where nobody says how long such a run goes on: an n-th of the time that it has taken so far."""
RISEN: Final = 0.05
"""A reservation moves to safer nodes where the hazard of one over it has risen by so much."""


class Homeless(NamedTuple):
    """Why a job has to be placed again: a reason, a node of which it is (-1: none), and the first
    second that may be looked at."""

    reason: Reason
    node: int
    since: int


def run_on_until(steps: EngineSteps, job: int, now: int) -> int:
    """Return until when a run past its reservation is reckoned to go on where nobody says."""
    taken = now - steps.field(job, "start")
    return now + max(LEAST_EXTENSION, taken // EXTENSION)


def extended(steps: EngineSteps, job: int, before: int, now: int) -> Decision:
    """Return the decision on a run that lasts longer than until `before`."""
    jobs = steps.state.jobs
    return Decision(
        now,
        DecisionKind.EXTEND,
        Reason.RUNS_ON,
        job,
        start=int(jobs["start"][job]),
        end=int(jobs["end"][job]),
        deadline=int(jobs["deadline"][job]),
        probability=float(jobs["promise"][job]),
        at=before,
        nodes=NodeSet.of_sorted(steps.nodes_of(job)),
    )


def check_work(steps: EngineSteps, event: Event) -> None:
    """Raise ParameterError for a job that falls back to more work than it has saved."""
    saved = steps.field(event.key, "saved")
    if not 0 <= event.at < saved:
        raise ParameterError("event", event, f"work from 0 s, and below the {saved} s saved")


def seen_nodes(steps: EngineSteps, event: Event) -> npt.NDArray[np.int64]:
    """Return the nodes on which a job was seen to start; ParameterError where that is not told, or
    one is not there."""
    nodes = event.nodes.array() if event.nodes else steps.nodes_of(event.key)
    count = len(steps.state.machine.nodes)
    if not len(nodes) or int(nodes[-1]) >= count:
        raise ParameterError("event", event, f"nodes from 0 to {count - 1} on which the job runs")
    return nodes


def check_idle(
    steps: EngineSteps, event: Event, nodes: npt.NDArray[np.int64], stories: Stories
) -> None:
    """Raise TransitionError where a job was seen to start on a node that is away, or that another
    job has."""
    machine = steps.state.machine
    idle = machine.rows[IDLE]
    if steps.field(event.key, "status") == RUNNING:  # its own nodes, where they still take jobs
        own = steps.state.timeline.rows[steps.field(event.key, "row")]
        idle = idle | (own & ~machine.rows[DOWN])
    taken = nodes[(idle[nodes >> 6] >> (nodes & 63).astype(np.uint64)) & np.uint64(1) == 0]
    if len(taken):
        node = int(taken[0])
        allowed = f"a node that is {NODES.states[0]} and has no other job"
        raise TransitionError(event, allowed, f"node {node}", stories.of("node", node))


def foretold(prediction: Foreseen, event: Event) -> Foreseen:
    """Return a prediction in which a node has the failure that an event tells of, or none."""
    known = prediction.failures  # by time, then node
    rest = known[known["node"] != event.key]
    failures = records(len(rest) + (event.at >= 0), FORESEEN)
    place, time = len(rest), rest["time"]
    if event.at >= 0:
        earlier = (time < event.at) | ((time == event.at) & (rest["node"] < event.key))
        place = int(np.count_nonzero(earlier))
        until = max(event.until, event.at + 1)
        failures[place] = (event.at, until, event.key, event.probability)
        failures[place + 1 :] = rest[place:]
    failures[:place] = rest[:place]
    longest = int((failures["until"] - failures["time"]).max(initial=0))
    return Foreseen(failures, prediction.period, longest)


def row_for(steps: EngineSteps, nodes: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return the bitset row of these nodes."""
    return row_of(nodes, steps.state.machine.rows.shape[1])


def known_return(event: Event) -> int:
    """Return when a node is known to return, FAR where nobody knows."""
    return event.until if event.until > event.time else int(FAR)


class Reserved:
    """The steps that events of a real cluster are made of, with reservations.

    Each method takes an event and returns what should be done; jobs that have to be placed again
    wait for `settle_jobs`.
    """

    def __init__(self, steps: EngineSteps, stories: Stories) -> None:
        self._steps, self._stories = steps, stories
        self._homeless: dict[int, Homeless] = {}
        self._before: Curved | None = None
        """The hazards before this second, where they have changed; and of which nodes."""
        self._changed: set[int] = set()
        self.moved: set[int] = set()
        """Jobs that lost their places in this second: starts that were due before are not."""

    def _ready(self, now: int) -> None:
        """Let the present moment be `now`: the timeline's first stretch holds it, also where a step
        of this second has begun another one at it."""
        kernels.move_on(self._steps.state, now)

    # ----------------------------------------------------------------- jobs of before a restart

    def take_over(
        self, job: int, since: int, deadline: int, probability: float, now: int
    ) -> list[Decision]:
        """Place a job that was promised before, from `since` on at the earliest, also when it
        moves; its promise is as it was made."""
        steps, jobs = self._steps, self._steps.state.jobs
        self._ready(now)
        steps.make_room()
        kernels.admit(steps.state, job)
        jobs["deadline"][job], jobs["promise"][job] = deadline, probability
        jobs["earliest"][job] = since
        usable = steps.usable_for(job)
        if steps.field(job, "size") > usable:
            return [steps.hold(job, usable, now)]
        self._look(job, now, 0.0, now)
        return self._commit(job, Homeless(Reason.WAITS_FOR_NODES, -1, since), False, now)

    # ------------------------------------------------------------------------- jobs that end

    def ended(self, event: Event) -> list[Decision]:
        """A job is done, has failed, or was taken back."""
        job, steps = event.key, self._steps
        self._homeless.pop(job, None)
        steps.held.discard(job)
        if steps.field(job, "status") == RUNNING:
            return steps.take(int(EventKind.FINISHED), job, -1, event.time)
        self._ready(event.time)
        self._withdraw(job, event.time)
        steps.state.jobs["status"][job] = DONE
        return []

    def sent_back(self, event: Event) -> list[Decision]:
        """A job was sent back to the queue, or its start was refused."""
        job, now, steps = event.key, event.time, self._steps
        if steps.field(job, "status") == RUNNING:
            self._ready(now)
            kernels.evict(steps.state, job, now)
            reason = Reason[event.kind.name]
            refused = event.kind is EventKind.START_REFUSED
            later = event.until if event.until > now else now + LEAST_EXTENSION
            self._homeless[job] = Homeless(reason, -1, later if refused else now)
        return []

    # ------------------------------------------------------------------------ jobs that run

    def started(self, event: Event) -> list[Decision]:
        """A job is seen to run: as it was asked for, elsewhere, or where nobody asked for it."""
        job, now, steps = event.key, event.time, self._steps
        status = steps.field(job, "status")
        nodes = seen_nodes(steps, event)
        if status == RUNNING and np.array_equal(nodes, steps.nodes_of(job)):
            if event.until > now and event.until != steps.field(job, "end"):
                return self._extend(job, event.until, now)
            return []
        check_idle(steps, event, nodes, self._stories)
        self._ready(now)
        steps.make_room()
        if status == RUNNING:
            kernels.evict(steps.state, job, now)
        elif status == NEW:
            kernels.admit(steps.state, job)
        else:
            self._withdraw(job, now)
        self._homeless.pop(job, None)
        steps.held.discard(job)
        length = int(kernels.length_of(steps.state, job))
        end = event.until if event.until > now else now + length
        self._vacate(nodes, now, end, now)
        steps.make_room()
        kernels.run_seen(steps.state, job, now, end)
        return []

    def overran(self, event: Event) -> list[Decision]:
        """A job runs past the end of its reservation, or is known to."""
        until = event.until if event.until > event.time else -1
        return self._extend(event.key, until, event.time)

    def _extend(self, job: int, until: int, now: int) -> list[Decision]:
        steps = self._steps
        before = steps.field(job, "end")
        self._ready(now)
        until = run_on_until(steps, job, now) if until < 0 else until
        self._vacate(steps.nodes_of(job), max(now, before), until, now)
        steps.make_room()
        kernels.extend(steps.state, job, until, now)
        return [extended(steps, job, before, now)]

    def _vacate(self, nodes: npt.NDArray[np.int64], start: int, end: int, now: int) -> None:
        """Withdraw the reservations that have any of these nodes within [start, end)."""
        taken = row_for(self._steps, nodes)
        for job in self._conflicts(taken, start, end):
            row = self._steps.state.timeline.rows[self._steps.field(job, "row")]
            node = int(members(row & taken)[0])
            self._withdraw(job, now)
            self._homeless[job] = Homeless(Reason.NODE_TAKEN, node, now)
            self.moved.add(job)
        self._steps.state.scratch.rows[SEEN] = taken

    def _conflicts(self, row: npt.NDArray[np.uint64], start: int, end: int) -> list[int]:
        steps = self._steps
        steps.state.scratch.rows[SEEN] = row
        found = np.empty(steps.jobs, dtype=np.int64)
        count = kernels.conflicts(steps.state, steps.jobs, start, end, found)
        return [int(job) for job in found[:count]]

    # ------------------------------------------------------------------------ nodes that go

    def drained(self, event: Event) -> list[Decision]:
        """A node takes no new jobs any more; one that runs there goes on."""
        kernels.leave(self._steps.state, event.key, known_return(event))
        return self._gone(event.key, known_return(event), event.time)

    def failed(self, event: Event) -> list[Decision]:
        """A node has failed, and with it the job that ran there."""
        now, until = event.time, known_return(event)
        taken = self._steps.take(int(event.kind), event.key, until, now)
        return [*taken, *self._gone(event.key, until, now)]

    def returned(self, event: Event) -> list[Decision]:
        """A node is back; jobs that waited for nodes may have enough of them now."""
        steps, now = self._steps, event.time
        decisions = steps.take(int(EventKind.NODE_RECOVERED), event.key, -1, now)
        for job in sorted(steps.held):
            self._homeless[job] = Homeless(Reason.NODES_BACK, event.key, now)
        return decisions

    def _gone(self, node: int, until: int, now: int) -> list[Decision]:
        """A node is away. Where nobody knows until when, reservations that have it move, where that
        delays no start; others stay: it may be back by then."""
        if until < FAR:
            return []
        row = row_for(self._steps, np.array([node]))
        found: list[Decision] = []
        for job in self._conflicts(row, now, int(FAR)):
            found += self._move(job, Reason.NODE_AWAY, node, now)
        return found

    def foretold(self, event: Event) -> list[Decision]:
        """A node's failure is foreseen that was not, or at another time. Reservations that have it
        move, where other nodes are safer and start no later."""
        steps, now = self._steps, event.time
        prediction = steps.state.prediction
        if event.hazard:
            return self._hazard(event)
        if isinstance(prediction, Foreseen | Curved):
            self._foresee(event)
            if event.at < 0:
                return []
        found: list[Decision] = []
        for job in self._conflicts(row_for(steps, np.array([event.key])), now, int(FAR)):
            risk = float(steps.asking(kernels.risk_of, job, now, now=now))
            if risk > 0:
                found += self._move(job, Reason.SAFER_NODES, event.key, now, 1.0 - risk)
        return found

    def _foresee(self, event: Event) -> None:
        """Let the engine know of a failure at a moment."""
        steps, prediction = self._steps, self._steps.state.prediction
        if isinstance(prediction, Curved):
            after: Foreseen | Curved = prediction._replace(
                moments=foretold(prediction.moments, event)
            )
        else:
            assert isinstance(prediction, Foreseen), "others are told no failures"
            after = foretold(prediction, event)
        steps.state = steps.state._replace(prediction=after)

    def _hazard(self, event: Event) -> list[Decision]:
        """Let the engine know of a node's hazard. Reservations wait for the others of this second:
        a node is not safer for being told of later."""
        steps, prediction = self._steps, self._steps.state.prediction
        if isinstance(prediction, Foreseen):
            prediction = without_hazards(prediction, len(steps.state.machine.nodes))
            steps.state = steps.state._replace(prediction=prediction)
        assert isinstance(prediction, Curved), "others are told no hazards"
        if self._before is None:
            self._before = copy.deepcopy(prediction)
        set_hazard(prediction, event.key, event.at, event.until, np.array(event.hazard))
        self._changed.add(event.key)
        return []

    def _to_safer(self, now: int) -> list[Decision]:
        """Move reservations with a node whose hazard over them has risen to safer ones, where that
        delays no start."""
        steps, before = self._steps, self._before
        if before is None:
            return []
        changed = np.array(sorted(self._changed), dtype=np.int64)
        self._before, self._changed = None, set()
        found: list[Decision] = []
        for job in self._conflicts(row_for(steps, changed), now, int(FAR)):
            nodes = np.intersect1d(steps.nodes_of(job), changed)
            window = steps.field(job, "start"), steps.field(job, "end")
            was, rise = np.empty(len(nodes)), np.empty(len(nodes))
            hazard_risks(before, nodes, now, *window, was)
            hazard_risks(steps.state.prediction, nodes, now, *window, rise)
            rise -= was
            if float(rise.max()) >= RISEN:
                node = int(nodes[rise.argmax()])
                risk = float(steps.asking(kernels.risk_of, job, now, now=now))
                found += self._move(job, Reason.SAFER_NODES, node, now, 1.0 - risk)
        return found

    def _move(
        self, job: int, reason: Reason, node: int, now: int, above: float = -1.0
    ) -> list[Decision]:
        """Move a reservation to where it starts no later, with a probability of success above this;
        else it stays as it was."""
        steps = self._steps
        usable = steps.field(job, "size") <= steps.usable_for(job)
        start, end = steps.field(job, "start"), steps.field(job, "end")
        before = steps.state.timeline.rows[steps.field(job, "row")].copy()
        if not usable:
            return []
        self._ready(now)
        steps.make_room()
        self._withdraw(job, now)
        self._look(job, now, 0.0, now)
        offer = steps.state.scratch.offer[0]
        if offer["start"] <= start and float(offer["probability"]) > above:
            return self._commit(job, Homeless(reason, node, now), False, now)
        steps.state.scratch.rows[SEEN] = before
        kernels.reserve_seen(steps.state, job, start, end)
        return []

    # ---------------------------------------------------------------------------- settling

    def fell_back(self, event: Event) -> list[Decision]:
        """A job's last checkpoint cannot be had: more work is left, and it is placed again."""
        check_work(self._steps, event)
        return self._steps.take(int(event.kind), event.key, event.at, event.time)

    def passed(self, event: Event) -> list[Decision]:
        """The end of a second: every event has been answered by itself."""
        return []

    def settle(self, limit: int, now: int) -> list[Decision]:
        """Extend runs that should have ended by `limit`, and expect nodes no more that should have
        been back."""
        found: list[Decision] = []
        while (job := self._steps.late_job(limit)) >= 0:
            found += self._extend(job, -1, now)
        while (node := self._steps.late_node(limit)) >= 0:
            kernels.leave(self._steps.state, node, FAR)
            found += self._gone(node, int(FAR), now)
        return found

    def settle_jobs(self, now: int) -> list[Decision]:
        """Place all jobs that have to be placed again."""
        steps, found = self._steps, self._to_safer(now)
        for job in sorted(self._homeless):
            self._ready(now)
            why = self._homeless.pop(job)
            usable = steps.usable_for(job)
            if steps.field(job, "size") > usable:
                if job not in steps.held:
                    found.append(steps.hold(job, usable, now))
                continue
            steps.held.discard(job)
            fresh = steps.field(job, "deadline") == -1
            self._look(job, max(why.since, now), steps.state.rules.wanted if fresh else 0.0, now)
            found += self._commit(job, why, fresh, now)
        return found

    def _look(self, job: int, since: int, wanted: float, now: int) -> int:
        steps = self._steps
        steps.make_room()
        size, length = steps.field(job, "size"), int(kernels.length_of(steps.state, job))
        since = max(since, steps.field(job, "earliest"))
        told = (now, since, wanted, size, length, steps.field(job, "pool"))
        return int(steps.asking(kernels.look, *told, now=now))

    def _commit(self, job: int, why: Homeless, fresh: bool, now: int) -> list[Decision]:
        steps = self._steps
        kernels.commit(steps.state, job, int(fresh), int(why.reason), why.node)
        self.moved.add(job)
        return steps.decisions(now)

    def _withdraw(self, job: int, now: int) -> None:
        if self._steps.field(job, "status") == WAITING and self._steps.field(job, "row") >= 0:
            kernels.withdraw(self._steps.state, job, now)
