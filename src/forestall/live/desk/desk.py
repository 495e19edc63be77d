"""The desk of a running controller: questions go to the last look and the ledger, quotes and
promises to the controller. Nothing here is held locked while the cluster is looked at."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.live.desk import (
    CONSENTS,
    FEATURES,
    ClusterTold,
    CostTold,
    DecileTold,
    JobOrder,
    JobTold,
    NodeTold,
    PredictorTold,
    PromiseTold,
    ProposalTold,
    QuoteQuestion,
    QuoteTold,
    Viewer,
)
from forestall.core.model.live.intents import Role
from forestall.live.desk.promises import offer_told, promise_told
from forestall.live.desk.scores import LedgerScores
from forestall.live.desk.sights import jobs_told, nodes_told
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.queries import BookedIntent, BookedPromise, LedgerQueries
from forestall.live.ledger.rows import IntentRow, OutcomeRow, PromiseRow, StateRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob, past_deadline
from forestall.live.slurm.controller import Controller, CycleTold
from forestall.live.slurm.reconcile import holds_nodes
from forestall.live.slurm.submissions import BY_OWNER
from forestall.live.slurm.view import ControllerView
from forestall.slurm.cluster.nouns import waiting_jobs

_ID: Final = re.compile(r"[0-9a-f]{1,64}")
_FEATURES: Final = re.compile(FEATURES)
_NO_ONE: Final = "forestall-nobody"
FIRST: Final = 20.0
"""s for which a question waits for the first look."""
AT_ONCE: Final = 16
"""Promises and words on proposals that are dealt with or wait at once: each may take as long as
Slurm takes to answer, and must not keep all threads from answering others."""


@dataclass(frozen=True)
class DeskSettings:
    """What a desk knows of its cluster beside what is seen.

    Attributes
    ----------
    simulated : whether it is a model
    speed : returns how many seconds of its clock pass in a second now
    submits_for : whether a job can be submitted as a user's own
    is_user : whether a name is a user's who may have jobs
    quoting, taken : called before offers are made, and after one was taken
    """

    simulated: bool = False
    speed: Callable[[], float] = lambda: 1.0
    submits_for: Callable[[str], bool] = lambda _: True
    is_user: Callable[[str], bool] = lambda _: True
    quoting: Callable[[], None] = lambda: None
    taken: Callable[[], None] = lambda: None


class ControllerDesk:
    """A controller as people meet it (`core.model.live.desk.Desk`). Any thread may call it.

    Parameters
    ----------
    clock : the cluster's time, s since 1970
    """

    def __init__(
        self,
        controller: Controller,
        ledger: LiveLedger,
        guard: GuardSettings,
        clock: Callable[[], int],
        settings: DeskSettings | None = None,
    ) -> None:
        self._controller, self._ledger, self._guard = controller, ledger, guard
        self._clock, self._settings = clock, settings or DeskSettings()
        self._queries, self._scores = LedgerQueries(ledger.database), LedgerScores(ledger)
        self._cycle, self._cycle_s, self._said = 0, 0.0, ""
        self._tried = threading.Event()
        self._slow = threading.BoundedSemaphore(AT_ONCE)
        self._counted: dict[str, tuple[tuple[int, ...], int]] = {}

    def cycled(self, told: CycleTold, seconds: float) -> None:
        """Take note of a cycle that was done, and of how long it took."""
        self._cycle, self._cycle_s, self._said = self._cycle + 1, seconds, told.said
        self._tried.set()

    def failed(self, said: str) -> None:
        """Take note of a cycle that could not be done."""
        self._said = said
        self._tried.set()

    # ------------------------------------------------------------------------------ the cluster

    def cluster(self, viewer: Viewer) -> ClusterTold:
        """Return the cluster in numbers; promises are the viewer's own, or an operator's all."""
        now, view, owner = self._clock(), self._controller.view, _owner(viewer)
        jobs = [] if view is None else list(view.seen.jobs.values())
        nodes = {} if view is None else view.seen.nodes
        busy = {name for job in jobs if holds_nodes(job) for name in job.nodes}
        waiting, more = waiting_jobs(jobs)
        said = self._said
        if view is None and not said:
            said = "the cluster has not been read yet"
        return ClusterTold(
            now, None if view is None else view.looked, said, len(nodes),
            sum(1 for one in nodes.values() if one.in_service and not one.down), len(busy),
            waiting, sum(1 for job in jobs if holds_nodes(job)),
            self._open_promises(owner), self._proposed(now) if viewer.operates else 0,
            self._cycle, self._cycle_s, self._roles(), self._settings.simulated,
            self._settings.speed(), self._guard.fresh, more,
        )  # fmt: skip

    def _roles(self) -> dict[str, str]:
        guard = self._guard
        return {
            str(Role.ADVISOR): "on",
            str(Role.KEEPER): guard.keeper.switch,
            str(Role.WARDEN): guard.warden.switch,
        }

    def _open_promises(self, owner: str | None) -> int:
        """Return how many promises are open, counted anew only where the ledger has grown."""
        now = (self._ledger.count(PromiseRow), self._ledger.count(OutcomeRow))
        if owner is None:
            return now[0] - now[1]  # each has one outcome at most
        return self._count(f"open {owner}", now, lambda: self._queries.open_count(owner))

    def _proposed(self, now: int) -> int:
        """Return how many proposals wait; where nothing moved, counted once a minute."""
        grown = (self._ledger.count(IntentRow), self._ledger.count(StateRow), now // 60)
        return self._count("proposed", grown, lambda: self._queries.waiting_count(now))

    def _count(self, name: str, at: tuple[int, ...], count: Callable[[], int]) -> int:
        """Return a count, from the last time where nothing has changed since."""
        known = self._counted.get(name)
        if known is None or known[0] != at:
            if len(self._counted) > 1000:  # as many viewers as that are not kept
                self._counted.clear()
            known = self._counted[name] = (at, count())
        return known[1]

    def nodes(self, viewer: Viewer) -> list[NodeTold]:
        """Return all nodes, by name; none before the first look."""
        view = self._controller.view
        if view is None:
            return []
        return nodes_told(view, self._clock(), viewer)

    def jobs(self, viewer: Viewer) -> list[JobTold]:
        """Return the jobs that wait or run, by number."""
        view = self._controller.view
        return [] if view is None else jobs_told(view, viewer)

    # ------------------------------------------------------------------------ quotes, promises

    def quote(self, viewer: Viewer, question: QuoteQuestion) -> QuoteTold:
        """Answer a question; nothing is promised by it."""
        self._tried.wait(FIRST)
        now = self._clock()
        _check(question, now)
        self._settings.quoting()
        job = WantedJob(
            question.nodes, question.time, user=viewer.name, name=question.name,
            partition=question.partition, features=question.features,
        )  # fmt: skip
        told = self._controller.quote(job, by=question.by, least=question.probability)
        best = None if told.by is None else offer_told(told.by)
        return QuoteTold(told.at, tuple(offer_told(row) for row in told.offers), best, told.said)

    def accept(self, viewer: Viewer, offer: str, order: JobOrder) -> PromiseTold:
        """Make an offer a promise and submit its job; again with the same offer: once. A job
        without a script is submitted by its owner. Also raises WriteError where Slurm refuses."""
        if not _ID.fullmatch(offer):
            raise ParameterError("offer", offer[:80], "the id of an offer")
        strange = [one for one in order.consents if one not in CONSENTS]
        if strange:
            raise ParameterError("consents", strange[0][:80], ", ".join(CONSENTS))
        if not self._settings.is_user(viewer.name):
            raise InputError(
                f"{viewer.name} is no user of this machine, so no job can be theirs; ask on the "
                "socket, or with a token in your own user name (forestall serve token add NAME)"
            )
        if order.script and not self._settings.submits_for(viewer.name):
            raise InputError(
                f"this service does not submit jobs for {viewer.name}; submit it yourself with "
                "forestall submit, or take the offer without a script and use the options it names"
            )
        with self._one_of_few():
            row, number = self._controller.accept(offer, viewer.name, order)
        self._settings.taken()
        told = self.promise(viewer, row.id)
        return told if told.job else replace(told, job=number or None)

    def submitted(self, viewer: Viewer, name: str, number: int) -> PromiseTold:
        """Take note that the owner of a promise submitted its job, with its number in Slurm."""
        promise = self._own(viewer, name)
        with self._one_of_few():
            self._controller.submitted(promise, number)
        return replace(self.promise(viewer, name), job=number, submit=(), submit_by=None)

    def withdraw(self, viewer: Viewer, name: str) -> PromiseTold:
        """Give a promise back whose job its owner has not submitted."""
        promise = self._own(viewer, name)
        with self._one_of_few():
            self._controller.withdraw(promise, f"{viewer.name} gave it back")
        return self.promise(viewer, name)

    def _own(self, viewer: Viewer, name: str) -> PromiseRow:
        """Return the row of a promise of the viewer's own, whose job its owner submits."""
        row = self._ledger.one(PromiseRow, name) if _ID.fullmatch(name) else None
        if row is None or row.owner != viewer.name:
            raise InputError(f"you have no promise {name[:80]}")
        if row.job != BY_OWNER:
            raise InputError(f"the job of promise {name} was submitted by this service")
        return row

    @contextmanager
    def _one_of_few(self) -> Iterator[None]:
        """Be one of those that may wait for Slurm; InputError where there are too many."""
        if not self._slow.acquire(blocking=False):
            raise InputError(f"{AT_ONCE} other requests wait for Slurm; try again in a moment")
        try:
            yield
        finally:
            self._slow.release()

    def promises(self, viewer: Viewer, *, ended: bool = True, most: int = 500) -> list[PromiseTold]:
        """Return promises, the newest first; those that are over only where `ended`."""
        return self._told(self._queries.promises(_owner(viewer), ended=ended, most=most))

    def promise(self, viewer: Viewer, name: str) -> PromiseTold:
        """Return one promise, by its id or a beginning of it that is nobody else's."""
        found: list[BookedPromise] = []
        if _ID.fullmatch(name):
            found = self._queries.promises(_owner(viewer), ended=True, most=2, begins=name)
        if not found:
            raise InputError(f"there is no promise {name[:80]}")
        if len(found) > 1:
            raise InputError(f"several promises begin with {name}; give more of the id")
        return self._told(found)[0]

    def _told(self, found: list[BookedPromise]) -> list[PromiseTold]:
        view: ControllerView | None = self._controller.view
        done = self._queries.serving(one.promise.id for one in found)
        told = [promise_told(one, view, done.get(one.promise.id, ())) for one in found]
        return [
            self._of_open(answer, one) if answer.outcome == "open" else answer
            for answer, one in zip(told, found, strict=True)
        ]

    def _of_open(self, told: PromiseTold, one: BookedPromise) -> PromiseTold:
        """Return an open promise with its probability where its start could not be held, and with
        what its owner needs for submitting its job, where that is theirs to do."""
        if told.why and not told.stopped:
            told = replace(told, likely=self._controller.unheld_probability(one.offer))
        if one.promise.job != BY_OWNER or told.job is not None:
            return told
        options = self._controller.options_of(one.promise, one.offer)
        return replace(told, submit=options, submit_by=one.offer.expires)

    # ------------------------------------------------------------------------------- proposals

    def proposals(self, viewer: Viewer, *, most: int = 500) -> list[ProposalTold]:
        """Return what is proposed, and what was done lately, the newest first; operators only."""
        _operators(viewer)
        return [_proposal(one) for one in self._queries.intents(most=most)]

    def decide(self, viewer: Viewer, proposal: str, approved: bool, why: str) -> ProposalTold:
        """Approve or reject a proposal; operators only."""
        _operators(viewer)
        if not _ID.fullmatch(proposal) or self._queries.intent(proposal) is None:
            raise InputError(f"there is no proposal {proposal[:80]}")
        words = "".join(one if one.isprintable() else " " for one in why)
        judge = self._controller.executor.approve if approved else self._controller.executor.reject
        with self._one_of_few():
            judge(proposal, viewer.name, words)
        found = self._queries.intent(proposal)
        assert found is not None, "it was there"
        return _proposal(found)

    # ------------------------------------------------------------------------------ the records

    def calibration(self, viewer: Viewer) -> list[DecileTold]:
        """Return how well the word was kept, by deciles of what was said."""
        return self._scores.calibration()

    def predictors(self, viewer: Viewer) -> list[PredictorTold]:
        """Return the predictors' records."""
        return self._scores.predictors(self._clock())

    def costs(self, viewer: Viewer) -> list[CostTold]:
        """Return what actions cost and saved; operators only."""
        _operators(viewer)
        view, out = self._controller.view, None
        if view is not None:
            nodes = view.seen.nodes.items()
            out = {name for name, node in nodes if node.ours and not node.in_service}
        return self._scores.costs(self._clock(), out)


def _owner(viewer: Viewer) -> str | None:
    """Return whose promises a viewer sees; None: everybody's. A viewer without a name has none."""
    return None if viewer.operates else viewer.name or _NO_ONE


def _operators(viewer: Viewer) -> None:
    if not viewer.operates:
        raise InputError("only operators may do this")


def _check(question: QuoteQuestion, now: int) -> None:
    """Raise ParameterError for what no question can be."""
    if question.nodes < 1:
        raise ParameterError("nodes", question.nodes, "1 or more nodes")
    if question.time < 1:
        raise ParameterError("time", question.time, "1 s or more")
    if not 0 < question.probability < 1:
        raise ParameterError("probability", question.probability, "between 0 and 1")
    if len(question.features) > 200 or not _FEATURES.fullmatch(question.features):
        raise ParameterError("features", question.features[:80], "names with & or | between them")
    if question.by is not None and question.by <= now:
        raise past_deadline(question.by, now)


def _proposal(one: BookedIntent) -> ProposalTold:
    row, state = one
    figures = {str(name): float(value) for name, value in row.figures.items()}
    return ProposalTold(
        row.id, row.role, row.action, row.target, state.state, row.reason, figures, row.promise,
        row.decided, row.expires, state.why,
    )  # fmt: skip
