"""The engine as Python drives it: events in, decisions out; a live controller and the replay of a
log call it one event at a time, and the simulator's compiled loop calls the same functions
directly."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.decide.nodes.machine_kernels import DOWN
from forestall.decide.promise.search_state import CHOSEN
from forestall.engine.contract import Transitions, Watch, snapshot, whole
from forestall.engine.growth import longer
from forestall.engine.promise.own import AskedPolicy
from forestall.engine.promise.plugin import Plugin, members
from forestall.engine.promise.policies import POLICIES
from forestall.engine.promise.room_entry_kernels import room
from forestall.engine.promise.state import (
    NEW,
    RUNNING,
    WAITING,
    Prediction,
    Rules,
    State,
    grown,
    new_state,
)
from forestall.model.decisions import Decision, DecisionKind, Reason
from forestall.model.errors import ParameterError
from forestall.model.events import Event, EventKind
from forestall.model.nodes import NodeSet
from forestall.model.quotes import Quote
from forestall.predict.foreseen_kernels import FAR, Foreseen

with lazily():
    from forestall.engine.promise import classic_entry_kernels, promise_entry_kernels

_BEFORE = {
    EventKind.FINISHED: (RUNNING, "a job that runs"),
    EventKind.CHECKPOINT_FINISHED: (RUNNING, "a job that runs"),
    EventKind.CHECKPOINT_REQUESTED: (RUNNING, "a job that runs"),
    EventKind.START_DUE: (WAITING, "a job that has a reservation and waits"),
    EventKind.SUBMITTED: (NEW, "a job that is new"),
}
"""What a job's status must be for an event to be possible."""

JOBS = Transitions(
    "job",
    ("NEW", "WAITING", "RUNNING", "DONE"),
    {
        EventKind.SUBMITTED: {("NEW", "WAITING")},
        EventKind.START_DUE: {("WAITING", "RUNNING")},
        EventKind.PASS: {("WAITING", "RUNNING")},
        EventKind.FINISHED: {("RUNNING", "DONE")},
        EventKind.NODE_FAILED: {("RUNNING", "WAITING")},
    },
)
NODES = Transitions(
    "node",
    ("UP", "DOWN"),
    {
        EventKind.NODE_FAILED: {("UP", "DOWN")},
        EventKind.NODE_RECOVERED: {("DOWN", "UP")},
    },
)
_FIGURES = ("node", "start", "end", "deadline", "count", "at", "left_out", "left_out_at")


class Engine:
    """A scheduler for one cluster. It never acts and never looks at a clock.

    Parameters
    ----------
    nodes : number of nodes, numbered from 0
    rules : the policy and its parameters
    prediction : foreseen failures as arrays (see `predict.foreseen_kernels`); or, for the promise
        policy only, the nodes' hazards (`predict.hazard.hazard_kernels`) or a table of a learner's
        answers (`predict.table_kernels`), which the engine takes for its own
    start : the first moment, s
    plugin : a predictor in Python in place of `prediction`, a placement rule, or both; promise
        policy only
    validate : hold every event to the tables of legal changes, and every quote to leaving no trace
    policy : a policy in Python, where the rules say that there is one
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
        validate: bool = False,
    ) -> None:
        entry = POLICIES.coded(rules.policy)
        if entry is None:
            raise ParameterError("policy", rules.policy, "the code of a policy")
        if entry.own != (policy is not None):
            allowed = "none beside a compiled policy" if policy else "given where rules say so"
            raise ParameterError("a policy in Python", policy, allowed)
        self.policy = entry
        if plugin is not None and not entry.promises:
            raise ParameterError("policy", rules.policy, "promise, for a predictor of your own")
        if not isinstance(prediction, Foreseen) and not entry.promises:
            raise ParameterError("policy", rules.policy, "promise, with hazards")
        if plugin is not None:
            rules, prediction = plugin.rules(rules), plugin.prediction(prediction)
        self.state: State = new_state(64, nodes, rules, prediction, start)
        self.jobs = 0
        self._plugin, self._asked = plugin, policy
        self._watch = Watch((JOBS, NODES), self._states) if validate else None

    def _states(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        down = np.zeros(len(self.state.machine.nodes), dtype=np.int64)
        down[members(self.state.machine.rows[DOWN])] = 1
        return np.asarray(self.state.jobs["status"][: self.jobs]), down

    def add_job(self, size: int, estimate: int, interval: int, submit: int) -> int:
        """Make a job known and return its position; it is scheduled when its event SUBMITTED comes.

        Parameters: nodes; expected run time, seconds between checkpoint requests, submit time, s.
        Raises ParameterError where the machine is too small.
        """
        self._check(size, estimate, interval)
        self.state = self.state._replace(jobs=longer(self.state.jobs, self.jobs + 1))
        job = self.state.jobs
        job["size"][self.jobs], job["estimate"][self.jobs] = size, estimate
        job["interval"][self.jobs], job["submit"][self.jobs] = interval, submit
        self.jobs += 1
        return self.jobs - 1

    def _check(self, size: int, estimate: int, interval: int) -> None:
        if not 1 <= size <= len(self.state.machine.nodes):
            raise ParameterError("size", size, f"1 to {len(self.state.machine.nodes)} nodes")
        if estimate < 1 or interval < 1:
            raise ParameterError("estimate and interval", (estimate, interval), "at least 1 s each")

    def handle(self, events: Iterable[Event], now: int) -> list[Decision]:
        """Take what happened at `now`, in the order of `EventKind`, and return what should be done.

        Counting policies decide at the end of a second: their last event is PASS. Raises
        ParameterError for an event that cannot happen: of another second, of an unknown job or
        node, or one that its state rules out.
        """
        ordered = sorted(events, key=lambda e: (e.kind, e.key))
        decisions: list[Decision] = []
        for event in ordered:
            self._check_event(event, now)
            self.take(int(event.kind), event.key, event.until, now)
            decisions.extend(self.decisions(now))
            if self._watch is not None:
                self._watch.after(event.kind, now)
        return decisions

    def _check_event(self, event: Event, now: int) -> None:
        state, key = self.state, event.key
        if event.time != now:
            raise ParameterError("event", event, f"one of this second, {now}")
        if event.kind is EventKind.PASS:
            return
        count = len(state.machine.nodes) if event.kind.about_node else self.jobs
        if not 0 <= key < count:
            raise ParameterError("event", event, f"a number below {count}")
        if event.kind is EventKind.NODE_RECOVERED:
            down = int(state.machine.rows[DOWN, key >> 6])
            fine, allowed = bool(down >> (key & 63) & 1), "a node that is down"
        elif event.kind is EventKind.NODE_FAILED:
            fine, allowed = event.until > now, "a recovery that is known and later"
        else:
            status, allowed = _BEFORE[event.kind]
            fine = state.jobs["status"][key] == status
        if not fine:
            raise ParameterError("event", event, allowed)

    def take(self, kind: int, key: int, until: int, now: int) -> None:
        """Take one event; the decisions are left in the state."""
        if not room(self.state):
            self.state = grown(self.state)
        if not self.policy.promises:
            if not classic_entry_kernels.handle(self.state, kind, key, until, now):
                assert self._asked is not None, "only a policy in Python is asked"
                self._asked.answer(self.state, now)
            return

        done = promise_entry_kernels.handle(self.state, kind, key, until, now, False)
        while not done:
            self._answer(now)
            done = promise_entry_kernels.handle(self.state, kind, key, until, now, True)

    def _answer(self, now: int) -> None:
        """Ask the plugin what the search has stopped at."""
        assert self._plugin is not None, "only a plugin is asked"
        self._plugin.answer(self.state, now)

    def decisions(self, now: int) -> list[Decision]:
        """Return the decisions on the last event."""
        out = self.state.out
        return [self._decision(out.decisions[i], now) for i in range(int(out.held[0]))]

    def _decision(self, record: Any, now: int) -> Decision:
        job, kind = int(record["job"]), DecisionKind(int(record["kind"]))
        row = int(self.state.jobs["row"][job])
        nodes = NodeSet()
        if kind in (DecisionKind.RESERVE, DecisionKind.START) and row >= 0:
            nodes = NodeSet.of(members(self.state.timeline.rows[row]).tolist())
        return Decision(
            time=now,
            kind=kind,
            reason=Reason(int(record["reason"])),
            job=job,
            probability=float(record["probability"]),
            **whole(record, _FIGURES),
            nodes=nodes,
        )

    def quote(self, size: int, estimate: int, interval: int, now: int) -> Quote:
        """Return what a job submitted now would be promised. The same search as for a real one,
        without the commitment: nothing that a later decision depends on changes."""
        state = self.state
        if not self.policy.promises:
            raise ParameterError("policy", self.policy.name, "promise: the others promise nothing")
        self._check(size, estimate, interval)

        before = None if self._watch is None else _lasting(state)
        length = int(promise_entry_kernels.length_for(state, estimate, interval))
        found = promise_entry_kernels.quote(state, now, size, length, False)
        while found < 0:
            self._answer(now)
            found = promise_entry_kernels.quote(state, now, size, length, True)
        if before is not None:
            changed = [name for name, held in _lasting(state).items() if held != before[name]]
            assert not changed, f"a quote changed {', '.join(changed)}"
        offer = state.scratch.offer[0]
        nodes = NodeSet.of(members(state.scratch.rows[CHOSEN]).tolist())
        figures = whole(offer, ("start", "end", "left_out", "left_out_at"))
        decision = Decision(
            time=now,
            kind=DecisionKind.RESERVE,
            reason=Reason(int(found)),
            job=-1,
            count=int(offer["refused"]),
            at=int(offer["first"]),
            nodes=nodes,
            **figures,
        )
        probability = float(offer["probability"])
        return Quote(decision.start, decision.end, probability, nodes, (decision.why,))

    def wake_at(self) -> int | None:
        """Return the earliest reserved start that only a PASS at that time would honour, or
        None."""
        if not self.policy.reserves:
            return None

        wake = int(classic_entry_kernels.wake_at(self.state))
        return wake if wake < FAR else None


def _lasting(state: State) -> dict[str, bytes]:
    """Return what a state holds between events, as bytes: no room to work in, and no prediction,
    whose present moment goes on."""
    return {
        name: np.asarray(held).tobytes()
        for name, held in snapshot(state).items()
        if not name.startswith(("scratch.", "prediction."))
    }
