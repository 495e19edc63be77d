"""The engine as Python drives it: events in, decisions out; a live controller and the replay of a
log call it, and the simulator's compiled loop calls the same functions directly."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.engine import kept
from forestall.core.engine.contract import Stories, Watch, check_state, in_order, whole
from forestall.core.files.held import Held
from forestall.core.model.decisions import Decision, DecisionKind, Reason
from forestall.core.model.errors import ParameterError, TransitionError
from forestall.core.model.events import Event, EventKind
from forestall.core.model.nodes import NodeSet
from forestall.core.model.quotes import Quote
from forestall.prediction.models.foreseen_kernels import FAR, Foreseen
from forestall.prediction.models.hazard.hazard_kernels import Hazard
from forestall.prediction.models.table_kernels import HazardTable
from forestall.scheduling.engine.forgetting import without_ended
from forestall.scheduling.engine.fronts import thinned
from forestall.scheduling.engine.kept_state import beside, taken_up
from forestall.scheduling.engine.own import AskedPolicy
from forestall.scheduling.engine.plugin import Plugin, members
from forestall.scheduling.engine.policies import POLICIES
from forestall.scheduling.engine.queued import Queued, check_placed
from forestall.scheduling.engine.reserved import Reserved
from forestall.scheduling.engine.state import WAITING, Answers, Prediction, Rules, State, new_state
from forestall.scheduling.engine.steps import EngineSteps
from forestall.scheduling.engine.transitions import JOBS, NODES
from forestall.scheduling.rules.asked_risk_kernels import AskedPredictor
from forestall.scheduling.rules.curved_risk_kernels import Curved
from forestall.scheduling.rules.nodes.machine_kernels import DOWN, Machine
from forestall.scheduling.rules.nodes.queue_kernels import JobQueue
from forestall.scheduling.rules.nodes.timeline_kernels import Timeline
from forestall.scheduling.rules.planned_risk_kernels import Planned
from forestall.scheduling.rules.search_state import CHOSEN, NO_MATTER, Near, Scratch

with lazily():
    from forestall.scheduling.engine import (
        classic_entry_kernels,
        promise_entry_kernels,
        reserved_entry_kernels,
    )

_CLASSES: Final = (
    State, Rules, Machine, Timeline, JobQueue, Scratch, Near, Answers,
    Foreseen, Curved, Hazard, HazardTable, Planned, AskedPredictor,
)  # fmt: skip
_PLACES: Final = EventKind.STARTED.rank
"""Events of later ranks place jobs: what should have ended or returned by now is settled before."""
_STARTS: Final = (EventKind.START_DUE, EventKind.PASS)
"""Before these no job may be left that should have ended by now: its nodes might be given away."""
_ASKS: Final = EventKind.CHECKPOINT_REQUESTED.rank
"""From this rank on jobs that lost their places have new ones."""
MOST_OFFERS: Final = 7


class Engine(EngineSteps):
    """A scheduler for one cluster. It never acts and never looks at a clock.

    Parameters
    ----------
    nodes : number of nodes, numbered from 0
    rules : the policy and its parameters
    prediction : foreseen failures as arrays (see `models.foreseen_kernels`); or, for the promise
        policy only, the nodes' hazards (`hazard.hazard_kernels`) or a table of a learner's
        answers (`prediction.models.table_kernels`), which the engine takes for its own
    start : the first moment, s
    plugin : a predictor in Python in place of `prediction`, a placement rule, or both; promise
        policy only
    validate : hold every event to the tables of legal changes, and every quote to leaving no trace
    policy : a policy in Python, where the rules say that there is one
    near : which nodes a job has rather (`scheduling.rules.search_state.Near`); not with a plugin
    """

    def __init__(
        self,
        nodes: int,
        rules: Rules,
        prediction: Prediction,
        start: int = 0,
        *,
        plugin: Plugin | None = None,
        policy: AskedPolicy | None = None,
        near: Near = NO_MATTER,
        validate: bool = False,
    ) -> None:
        entry = _policy_of(rules, policy)
        if plugin is not None and not entry.promises:
            raise ParameterError("policy", rules.policy, "promise, for a predictor of your own")
        if not isinstance(prediction, Foreseen) and not entry.promises:
            raise ParameterError("policy", rules.policy, "promise, with hazards")
        if plugin is not None:
            rules, prediction = plugin.rules(rules), plugin.prediction(prediction)
        self._begin(new_state(64, nodes, rules, prediction, start, near), plugin, policy, validate)

    def _begin(
        self, state: State, plugin: Plugin | None, policy: AskedPolicy | None, validate: bool
    ) -> None:
        super().__init__(state, _policy_of(state.rules, policy), plugin, policy)
        self.now = -int(FAR)
        self._drained: dict[int, bool] = {}
        self._stories = Stories()
        self._course: Reserved | Queued = self._new_course()
        self._watch = Watch((JOBS, NODES), self._states) if validate else None

    @classmethod
    def over(cls, state: State, *, plugin: Plugin | None = None) -> Self:
        """Return an engine over the state of a simulated run, to be asked for offers."""
        made = cls.__new__(cls)
        made._begin(state, plugin, None, False)
        return made

    def _new_course(self) -> Reserved | Queued:
        course = Reserved if self.policy.promises else Queued
        return course(self, self._stories)

    def _states(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        nodes = np.zeros(len(self.state.machine.nodes), dtype=np.int64)
        nodes[members(self.state.machine.rows[DOWN])] = 1
        nodes[list(self._drained)] = 2
        return np.asarray(self.state.jobs["status"][: self.jobs]), nodes

    def job_state(self, job: int) -> str:
        """Return the state of a job, one of ``transitions.JOBS.states``."""
        return JOBS.states[self.field(job, "status")]

    def node_state(self, node: int) -> str:
        """Return the state of a node, one of ``transitions.NODES.states``."""
        if node in self._drained:
            return "DRAINED"
        return "DOWN" if self.is_away(node) else "UP"

    # ------------------------------------------------------------------------- after a restart

    def take_over(self, job: int, since: int, deadline: int, chance: float) -> list[Decision]:
        """Place a promised job that was just made known, in place of its event SUBMITTED: from
        `since` on, also where it moves; what was said of it stays. Raises ParameterError."""
        if not isinstance(self._course, Reserved) or self.job_state(job) != "NEW":
            raise ParameterError("job", job, "one that was just made known to the promise policy")
        now = max(self.now, 0)
        decisions = self._course.take_over(job, since, deadline, chance, now)
        self._stories.tell("job", job, self.job_state(job), now, "TAKEN_OVER")
        if self._watch is not None:
            self._watch.after(EventKind.SUBMITTED, now)
        return decisions

    def forget_ended(self) -> npt.NDArray[np.int64]:
        """Forget jobs that have ended: memory that only grew is given back, and nothing that is
        decided later changes. Those that are left have new positions, without gaps: return the old
        one of each, ascending."""
        self.state, left = without_ended(self.state, self.jobs)
        self.jobs = len(left)
        place = {int(old): new for new, old in enumerate(left)}
        self.held = {place[job] for job in self.held}
        self._course = self._new_course()
        self._stories.renumber("job", place)
        self._watch = self._watch and Watch((JOBS, NODES), self._states)
        return left

    # ------------------------------------------------------------------------------- events

    def handle(self, events: Iterable[Event], now: int) -> list[Decision]:
        """Take what happened at `now`, in the order of `EventKind.rank`, and return what should be
        done. Without events it is a moment at which nothing was seen to happen.

        Runs that should have ended and have not are reckoned to last longer, and nodes that should
        have been back are expected no more, before any job is placed. Counting policies decide at
        the end of a second: their last event is PASS. Raises ParameterError for an event that
        cannot happen: of another second, of an unknown job or node; TransitionError, with the story
        of the job or node, for one that its state rules out. The events before it are taken in.
        """
        ordered = in_order(events, now, self.now, attrgetter("rank"))
        self.now = now
        self._course.moved.clear()
        decisions: list[Decision] = []
        settled = asked = -int(FAR)
        for event in ordered:
            limit = now if event.kind in _STARTS else now - 1
            if event.kind.rank > _PLACES and settled < limit:
                decisions += self._course.settle(limit, now)
                settled = limit
            if event.kind.rank >= _ASKS and asked < settled:
                decisions += self._course.settle_jobs(now)
                asked = settled
            decisions += self._one(event)
        # Others of this second may still be told that they ended or are back.
        decisions += self._course.settle(now - 1, now)
        return decisions + self._course.settle_jobs(now)

    def _one(self, event: Event) -> list[Decision]:
        if event.kind is EventKind.START_DUE and event.key in self._course.moved:
            return []  # it was due when the events of this second were put together
        self._check_event(event)
        step = _STEPS.get(event.kind)
        if step is None:
            decisions = self.take(int(event.kind), event.key, event.until, event.time)
        else:
            decisions = step(self._course, event)
        self._note(event, decisions)
        return decisions

    def _note(self, event: Event, decisions: list[Decision]) -> None:
        """Write an event into the stories, and hold it to the tables of legal changes."""
        kind, now, name = event.kind, event.time, event.kind.name
        if kind.about_node:
            if kind is EventKind.NODE_DRAINED:
                self._drained[event.key] = event.ours
                name += " by us" if event.ours else " by somebody else"
            elif kind is not EventKind.PREDICTION_CHANGED:
                self._drained.pop(event.key, None)
            self._stories.tell("node", event.key, self.node_state(event.key), now, name)
        elif kind is not EventKind.PASS:
            self._stories.tell("job", event.key, self.job_state(event.key), now, name)
        for one in decisions:
            if one.kind in _CHANGES and (one.job != event.key or kind.about_node):
                self._stories.tell("job", one.job, self.job_state(one.job), now, name)
        if self._watch is not None:
            self._watch.after(kind, now)

    def _check_event(self, event: Event) -> None:
        state, key = self.state, event.key
        if event.kind >= EventKind.FAILED:
            check_placed(self, event)
        if event.kind is EventKind.PASS:
            return
        count = len(state.machine.nodes) if event.kind.about_node else self.jobs
        if not 0 <= key < count:
            raise ParameterError("event", event, f"a number below {count}")
        if event.kind.about_node:
            check_state(NODES, event, self.node_state(key), self._stories)
            self._check_figures(event)
        else:
            check_state(JOBS, event, self.job_state(key), self._stories)
            self._check_job(event)

    def _check_figures(self, event: Event) -> None:
        """Raise ParameterError for a return that is not later, or a failure that nobody asked a
        prediction for."""
        if event.kind is EventKind.PREDICTION_CHANGED:
            if event.at >= 0 and not isinstance(self.state.prediction, Foreseen | Curved):
                allowed = "no figures: this prediction is asked, or holds a hazard of each node"
                raise ParameterError("event", event, allowed)
            if event.hazard and not self.policy.promises:
                raise ParameterError("event", event, "no hazard: only the promise policy takes one")
        elif (
            event.kind is not EventKind.NODE_RECOVERED
            and event.until != -1
            and event.until <= event.time
        ):
            raise ParameterError("event", event, "a return that is later, or -1: not known")

    def _check_job(self, event: Event) -> None:
        """Raise TransitionError for a start without a reservation or before it, or a checkpoint
        that is requested where no work is left."""
        job, allowed = self.state.jobs[event.key], ""
        if event.kind is EventKind.START_DUE:
            if not self.policy.promises or job["row"] < 0:
                allowed = "a job that has a reservation"
            elif job["start"] > event.time:
                allowed = f"a job whose reserved start has come, not at {job['start']} s"
        elif (
            event.kind is EventKind.CHECKPOINT_REQUESTED
            and job["progress"] + job["interval"] >= job["estimate"]
        ):
            allowed = "a job with work left after this interval"
        if allowed:
            story = self._stories.of("job", event.key)
            raise TransitionError(event, allowed, f"job {event.key}", story)

    # ------------------------------------------------------------------------------- quotes

    def aside(self) -> Self:
        """Return an engine that knows what this one does, to be asked for quotes while this one is
        told of events. Without its stories, and not validated."""
        made = copy.copy(self)
        made.state, made.held = copy.deepcopy(self.state), set(self.held)
        made._drained, made._stories, made._watch = dict(self._drained), Stories(), None
        made._course = made._new_course()
        return made

    def quote(
        self,
        size: int,
        estimate: int,
        interval: int,
        now: int,
        *,
        pool: int = 0,
        pause: int | None = None,
    ) -> Quote:
        """Return what a job submitted now would be promised. The same search as for a real one,
        without the commitment: nothing that a later decision depends on changes. Raises
        ParameterError where fewer nodes are up or known to return."""
        engine = self._asked_at(size, estimate, interval, now, pool)
        before = None if self._watch is None else kept.lasting(self.state)
        length = engine._length(estimate, interval, pause)
        reason = engine.asking(promise_entry_kernels.quote, now, size, length, pool, now=now)
        self._check_same(before)
        return engine._offered(int(reason), now)

    def offers(
        self,
        size: int,
        estimate: int,
        interval: int,
        now: int,
        *,
        by: int | None = None,
        most: int = MOST_OFFERS,
        pool: int = 0,
        pause: int | None = None,
    ) -> list[Quote]:
        """Return what a job submitted now could choose from: the Pareto front of start, deadline
        and probability, each offer later than the one before and more probable. Like a quote, it
        leaves no trace.

        Parameters
        ----------
        size, estimate, interval : nodes; run time and time between checkpoint requests, s
        by : the latest deadline, s; None: whatever a longer wait buys
        most : how many; of more the first, the last, and those that gain most are given
        pool : whose nodes the job may have; 0: any
        pause : what a checkpoint of the job takes, s; None: as the rules say

        Each is what a job would be promised whose user takes that probability at least. Empty where
        no start is known, or none ends by then.
        """
        if most < 1:
            raise ParameterError("most", most, "a whole number, at least 1")
        engine = self._asked_at(size, estimate, interval, now, pool, least=0)
        if size > engine.usable(pool):
            return []
        before = None if self._watch is None else kept.lasting(self.state)
        length = engine._length(estimate, interval, pause)
        last = int(FAR) if by is None else by - length
        front = engine._front(now, size, length, last, pool)
        self._check_same(before)
        return thinned(front, most)

    def _length(self, estimate: int, interval: int, pause: int | None) -> int:
        """Return how long a reservation is, s."""
        told = (estimate, interval, self.pause_of(pause))
        return int(promise_entry_kernels.length_for(*told, self.state.rules.checkpoint))

    def _front(self, now: int, size: int, length: int, last: int, pool: int) -> list[Quote]:
        """Return all offers that start by `last`."""
        asked = (now, now, 0.0, size, length, pool)
        reason = self.asking(reserved_entry_kernels.look, *asked, now=now)
        front: list[Quote] = []
        offer = self.state.scratch.offer[0]
        while offer["start"] <= last:
            front.append(self._offered(int(reason), now))
            probability = front[-1].probability
            if probability >= 1.0:
                break
            wanted = float(np.nextafter(probability, 2.0))
            told = (now, wanted, min(last + 1, int(FAR)), size, length)
            reason = self.asking(reserved_entry_kernels.look_on, *told, now=now)
            if float(offer["probability"]) < wanted:
                break
        return front

    def _asked_at(
        self, size: int, estimate: int, interval: int, now: int, pool: int, least: int = 1
    ) -> Engine:
        """Return the engine that is asked: this one, or, where runs or nodes are late, a copy that
        has settled them."""
        if not self.policy.promises:
            raise ParameterError("policy", self.policy.name, "promise: the others promise nothing")
        self.check_job(size, estimate, interval, pool)
        engine, before = self, now - 1  # what ends or returns in this second may not be told yet
        if self.late_job(before) >= 0 or self.late_node(before) >= 0:
            engine = self.aside()
            engine._course.settle(before, now)
            engine._course.settle_jobs(now)
        if least and size > engine.usable(pool):
            allowed = f"at most {engine.usable(pool)} nodes, which are up or known to return"
            raise ParameterError("size", size, allowed)
        return engine

    def _offered(self, reason: int, now: int) -> Quote:
        """Return the offer in the scratch room."""
        offer = self.state.scratch.offer[0]
        nodes = NodeSet.of_sorted(members(self.state.scratch.rows[CHOSEN]))
        figures = whole(offer, ("start", "end", "left_out", "left_out_at"))
        decision = Decision(
            time=now,
            kind=DecisionKind.RESERVE,
            reason=Reason(reason),
            job=-1,
            count=int(offer["refused"]),
            at=int(offer["first"]),
            nodes=nodes,
            **figures,
        )
        probability = float(offer["probability"])
        return Quote(decision.start, decision.end, probability, nodes, (decision.why,), decision)

    def _check_same(self, before: dict[str, bytes] | None) -> None:
        if before is not None:
            after = kept.lasting(self.state)
            changed = [name for name, held in after.items() if held != before[name]]
            assert not changed, f"a quote changed {', '.join(changed)}"

    # --------------------------------------------------------------------------------- time

    def wake_at(self) -> int | None:
        """Return the earliest reserved start that only a PASS at that time would honour, or
        None."""
        if not self.policy.reserves:
            return None

        wake = int(classic_entry_kernels.wake_at(self.state))
        return wake if wake < FAR else None

    def due(self, now: int) -> list[Event]:
        """Return the events of reserved starts that have come by now, and were not told yet."""
        jobs = self.state.jobs[: self.jobs]
        waits = (jobs["status"] == WAITING) & (jobs["row"] >= 0) & (jobs["start"] <= now)
        if not self.policy.promises:
            return []
        return [Event(now, EventKind.START_DUE, int(job)) for job in np.flatnonzero(waits)]

    # ----------------------------------------------------------------------------- snapshots

    def snapshot(self) -> dict[str, Any]:
        """Return all that later decisions depend on, as plain data that goes through JSON: the
        state, and what happened to jobs and nodes. Not what is asked in Python."""
        facts = {
            "now": self.now,
            "jobs": self.jobs,
            "held": sorted(self.held),
            "drained": [[node, ours] for node, ours in self._drained.items()],
            "stories": self._stories.as_list(),
            "state": kept.packed(self.state),
        }
        return kept.headed("promise", facts)

    @classmethod
    def restore(
        cls,
        snapshot: Mapping[str, Any],
        *,
        plugin: Plugin | None = None,
        policy: AskedPolicy | None = None,
        validate: bool = False,
    ) -> Self:
        """Return the engine of a snapshot: told the same events, it takes the same decisions as one
        that never stopped. A predictor, rule or policy in Python is given again, knowing what it
        knew. Raises ParameterError for what is no snapshot of this engine."""
        kept.check_head(snapshot, "promise")
        made, held = cls.__new__(cls), Held(snapshot)
        with kept.whole():
            state = taken_up(kept.unpacked(snapshot["state"], _CLASSES))
            made._begin(state, plugin, policy, validate)
            made.now, made.jobs, made.held, made._drained = beside(held, state)
            made._stories = Stories.of_list(snapshot["stories"])
        made._course = made._new_course()
        made._watch = Watch((JOBS, NODES), made._states) if validate else None
        return made


_CHANGES: Final = (DecisionKind.START, DecisionKind.REQUEUE)
"""Decisions with which a job's state changes."""
_STEPS: Final[dict[EventKind, Callable[[Any, Event], list[Decision]]]] = {
    EventKind.FINISHED: lambda course, event: course.ended(event),
    EventKind.FAILED: lambda course, event: course.ended(event),
    EventKind.CANCELLED: lambda course, event: course.ended(event),
    EventKind.REQUEUED: lambda course, event: course.sent_back(event),
    EventKind.START_REFUSED: lambda course, event: course.sent_back(event),
    EventKind.STARTED: lambda course, event: course.started(event),
    EventKind.NODE_DRAINED: lambda course, event: course.drained(event),
    EventKind.NODE_FAILED: lambda course, event: course.failed(event),
    EventKind.NODE_RECOVERED: lambda course, event: course.returned(event),
    EventKind.PREDICTION_CHANGED: lambda course, event: course.foretold(event),
    EventKind.OVERRUN: lambda course, event: course.overran(event),
    EventKind.CHECKPOINT_LOST: lambda course, event: course.fell_back(event),
    EventKind.PASS: lambda course, event: course.passed(event),
}
"""What is more than one step of a simulated run."""


def _policy_of(rules: Rules, asked: AskedPolicy | None) -> Any:
    """Return the entry of the policy; ParameterError where there is none of this code, or what is
    asked in Python does not go with it."""
    entry = POLICIES.coded(rules.policy)
    if entry is None:
        raise ParameterError("policy", rules.policy, "the code of a policy")
    if entry.own != (asked is not None):
        allowed = "none beside a compiled policy" if asked else "given where rules say so"
        raise ParameterError("a policy in Python", asked, allowed)
    return entry
