"""What a real cluster does, where jobs wait in a queue and are placed at the end of a second (the
classic policies and policies in Python)."""

from __future__ import annotations

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.engine.contract import Stories
from forestall.core.model.decisions import Decision
from forestall.core.model.errors import ParameterError
from forestall.core.model.events import Event, EventKind
from forestall.prediction.models.foreseen_kernels import FAR, Foreseen
from forestall.scheduling.engine.reserved import (
    check_idle,
    check_work,
    extended,
    foretold,
    known_return,
    row_for,
    run_on_until,
    seen_nodes,
)
from forestall.scheduling.engine.state import DONE, FAILURES, NEW, RUNNING, WAITING
from forestall.scheduling.engine.steps import EngineSteps
from forestall.scheduling.rules.nodes.machine_kernels import DOWN
from forestall.scheduling.rules.search_state import SEEN

with lazily():
    from forestall.scheduling.engine import classic_entry_kernels as classic
    from forestall.scheduling.engine import queued_entry_kernels as kernels
    from forestall.scheduling.engine import reserved_entry_kernels as every


class Queued:
    """The steps that events of a real cluster are made of, with a queue.

    Each method takes an event and returns what should be done; starts and reservations come with
    PASS. Needs a state that knows which nodes a job has (`Rules.placed`).
    """

    def __init__(self, steps: EngineSteps, stories: Stories) -> None:
        self._steps, self._stories = steps, stories
        self.moved: set[int] = set()
        """Always empty: no start is due before PASS."""

    def ended(self, event: Event) -> list[Decision]:
        """A job is done, has failed, or was taken back."""
        job, steps = event.key, self._steps
        if steps.field(job, "status") == RUNNING:
            # Reservations must be made anew: what the timeline holds of it may not be so.
            if steps.state.at[FAILURES] or self._lacks_nodes(job):
                kernels.end_queued(steps.state, job, DONE)
                return []
            return steps.take(int(EventKind.FINISHED), job, -1, event.time)
        if steps.field(job, "status") == WAITING:
            kernels.unqueue(steps.state, job)
        steps.state.jobs["status"][job] = DONE
        return []

    def _lacks_nodes(self, job: int) -> bool:
        steps = self._steps
        row = steps.field(job, "row")
        return row >= 0 and bool(
            (steps.state.timeline.rows[row] & steps.state.machine.rows[DOWN]).any()
        )

    def sent_back(self, event: Event) -> list[Decision]:
        """A job was sent back to the queue, or its start was refused: it waits again."""
        job, steps = event.key, self._steps
        if steps.field(job, "status") == RUNNING:
            steps.make_room()
            kernels.end_queued(steps.state, job, WAITING)
            refused = event.kind is EventKind.START_REFUSED
            original = refused or steps.state.rules.requeue_original
            key = steps.field(job, "submit") if original else event.time
            kernels.enqueue(steps.state, job, key)
        return []

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
        steps.make_room()
        if status == RUNNING:
            kernels.end_queued(steps.state, job, WAITING)
        elif status == NEW:
            every.admit(steps.state, job)
        else:
            kernels.unqueue(steps.state, job)
        length = int(every.length_of(steps.state, job))
        steps.state.scratch.rows[SEEN] = row_for(steps, nodes)
        kernels.run_queued(
            steps.state, job, now, event.until if event.until > now else now + length
        )
        return []

    def overran(self, event: Event) -> list[Decision]:
        """A job runs past its expected end, or is known to."""
        return self._extend(event.key, event.until if event.until > event.time else -1, event.time)

    def _extend(self, job: int, until: int, now: int) -> list[Decision]:
        steps = self._steps
        before = steps.field(job, "end")
        until = run_on_until(steps, job, now) if until < 0 else until
        kernels.expect_again(steps.state, job, until)
        return [extended(steps, job, before, now)]

    def drained(self, event: Event) -> list[Decision]:
        """A node takes no new jobs any more; one that runs there goes on."""
        kernels.take_away(self._steps.state, event.key, known_return(event))
        return []

    def failed(self, event: Event) -> list[Decision]:
        """A node has failed, and with it the job that ran there."""
        steps = self._steps
        return steps.take(int(event.kind), event.key, known_return(event), event.time)

    def returned(self, event: Event) -> list[Decision]:
        """A node is back."""
        steps, node, now = self._steps, event.key, event.time
        if int(steps.state.machine.nodes["up_at"][node]) != now:
            kernels.expect_back(steps.state, node, now)
        job = int(kernels.job_on(steps.state, node))
        decisions = steps.take(int(EventKind.NODE_RECOVERED), node, -1, now)
        if job >= 0:
            kernels.expect_again(steps.state, job, steps.field(job, "end"))
        return decisions

    def foretold(self, event: Event) -> list[Decision]:
        """A node's failure is foreseen that was not, or at another time: nodes are chosen by it."""
        steps = self._steps
        prediction = steps.state.prediction
        assert isinstance(prediction, Foreseen), "these policies take no other prediction"
        steps.state = steps.state._replace(prediction=foretold(prediction, event))
        return []

    def fell_back(self, event: Event) -> list[Decision]:
        """A job that has just started finds that its last checkpoint cannot be had: it runs for
        longer."""
        check_work(self._steps, event)
        return self._steps.take(int(event.kind), event.key, event.at, event.time)

    def passed(self, event: Event) -> list[Decision]:
        """The end of a second. Where reserved starts were missed, which nobody woke us for, all
        reservations are made anew: two that followed each other may both be due."""
        steps = self._steps
        if steps.policy.reserves and classic.wake_at(steps.state) < event.time:
            steps.state.at[FAILURES] += 1
        return steps.take(int(event.kind), event.key, -1, event.time)

    def settle(self, limit: int, now: int) -> list[Decision]:
        """Extend runs that should have ended by `limit`, and expect nodes no more that should have
        been back."""
        found: list[Decision] = []
        state = self._steps.state
        while (job := self._steps.late_job(limit)) >= 0:
            found += self._extend(job, -1, now)
        while (node := self._steps.late_node(limit)) >= 0:
            kernels.take_away(state, node, FAR)
        return found

    def settle_jobs(self, now: int) -> list[Decision]:
        """There are no jobs to be placed before PASS."""
        return []


def check_placed(steps: EngineSteps, event: Event) -> None:
    """Raise ParameterError for an event of a real cluster where only counts of nodes are kept."""
    if not steps.policy.promises and not steps.state.rules.placed:
        raise ParameterError("event", event, "one of a simulated run: nodes are only counted here")
