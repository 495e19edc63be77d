"""The controller: look, difference, decide, guard, act, book; and quotes and promises in between.

Source: page "Live", One loop, Holding a promise, Quote and dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from forestall.live.act.actor import Actor
from forestall.live.act.executor import Executor, StateChange
from forestall.live.guard.settings import GuardSettings
from forestall.live.guard.sight import ClusterSight
from forestall.live.ledger.rows import OfferRow, OutcomeRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.keeping import Keeping
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.outcomes import Followed, judged
from forestall.live.slurm.outlook import JoinedForecasts, NodeForecast, NodeForecasts, NodeRules
from forestall.live.slurm.sight import carriers, sight_of
from forestall.model.cluster.actions import Submit
from forestall.model.cluster.cluster import LiveCluster
from forestall.model.cluster.faults import LookError, WriteError, WriteFault
from forestall.model.cluster.marks import RESERVATION, reservation_name
from forestall.model.cluster.nouns import ClusterJob, ClusterSnapshot
from forestall.model.errors import InputError
from forestall.model.live.canonical import digest
from forestall.model.live.intents import Action, IntentState, Role

CONSENTS: Final = ("exclude", "requeue", "signal", "start")
"""All that may be done with the job of a promise, where its owner agrees."""
GRACE: Final = 60
"""s by which a reservation begins after the start that it holds: Slurm refuses one that begins as
jobs end by their limits; by FLEX its job need not wait for it."""
_HELD: Final = (IntentState.CARRIED_OUT, IntentState.CONFIRMED)


@dataclass(frozen=True)
class ControllerSettings:
    """How a controller quotes.

    Parameters
    ----------
    wanted : the least probability that jobs of which nobody asked are placed for
    offer_life : s for which an offer holds; a deadline leaves that time for taking it
    at_once : s; a start that is nearer needs no reservation
    """

    wanted: float = 0.5
    offer_life: int = 300
    at_once: int = 120


@dataclass(frozen=True)
class WantedNodes:
    """What somebody asks for: nodes, and for how long (s); where `by` is given, done by then."""

    nodes: int
    time: int
    asked_by: str
    by: int | None = None


@dataclass(frozen=True)
class JobScript:
    """A job that is to be held to a promise: its script, and what its owner agrees to."""

    script: str
    name: str = "forestall"
    partition: str = ""
    words: str = ""
    consents: tuple[str, ...] = CONSENTS
    output: str = ""


@dataclass(frozen=True)
class CycleTold:
    """What a cycle came to.

    Attributes
    ----------
    said : why the look was worth nothing, "" where it was a look
    moved : intents that came into another state
    outcomes : of promises
    """

    said: str = ""
    moved: tuple[StateChange, ...] = ()
    outcomes: tuple[OutcomeRow, ...] = ()


@dataclass
class _Known:
    """The last look that was one."""

    seen: ClusterSnapshot
    sight: ClusterSight
    carried: Mapping[str, ClusterJob] = field(default_factory=dict)


class Controller:
    """One cluster's controller; one process has it. A new one goes on from the ledger and a look.

    Parameters
    ----------
    cluster : looked at, and where jobs are submitted, with this process's rights
    ledger : open for writing
    actors : who carries intents out, by role
    forecasts : who foresees failures
    clock : the time, s since 1970
    rules : what proposes to drain, reboot and bring back nodes; None: nothing does
    """

    def __init__(
        self,
        cluster: LiveCluster,
        ledger: LiveLedger,
        actors: Mapping[Role, Actor],
        guard: GuardSettings,
        forecasts: NodeForecasts,
        clock: Callable[[], int],
        settings: ControllerSettings | None = None,
        rules: NodeRules | None = None,
    ) -> None:
        self.settings = settings or ControllerSettings()
        self.executor = Executor(ledger, actors, guard, clock)
        self._cluster, self._ledger, self._guard = cluster, ledger, guard
        self._forecasts = forecasts if rules is None else JoinedForecasts(forecasts, rules)
        self._clock, self._rules = clock, rules
        self._books = LedgerBooks(ledger)
        self._before = self._books.resumed()
        self._mind: Mind | None = None
        self._known: _Known | None = None

    @property
    def age(self) -> int | None:
        """How old what is known is, s; None before the first look."""
        return None if self._known is None else self._clock() - self._known.sight.at

    # --------------------------------------------------------------------------------- a cycle

    def cycle(self) -> CycleTold:
        """Do one cycle. A look that fails changes nothing, and is booked.

        Raises LedgerError where the books cannot be written: then nothing more is done, and the
        next cycle begins anew from the ledger and a look.
        """
        now = self._clock()
        try:
            seen = self._cluster.look(self._before)
        except LookError as error:
            self._books.failed_look(error, now)
            return CycleTold(str(error))
        self._before = seen
        try:
            return self._with(seen, self._clock())
        except BaseException:
            self._mind = None  # the engine may know what the ledger does not
            self._books = LedgerBooks(self._ledger)
            raise

    def _with(self, seen: ClusterSnapshot, now: int) -> CycleTold:
        books = self._books
        promises = {one.id: one for one in self._ledger.open_promises()}
        named = [name.removeprefix(RESERVATION) for name in seen.reservations
                 if name.startswith(RESERVATION)]  # fmt: skip
        owners = books.owners(promises.values(), named)
        mind = self._minding(seen, now)
        ours = [reservation_name(name) for name in named if name in owners]
        taken = mind.tell(seen, now, ours, self._forecasts.foreseen(seen, now))
        known = _Known(seen, sight_of(seen, owners), carriers(seen, owners))
        outcomes = self._judge(promises, known, now)
        for one in outcomes:
            del promises[one.promise]
        keeping = Keeping(
            seen, known.sight, mind, promises, known.carried, books.saved, books.cycle, now
        )
        wanted = list(keeping.intents())
        mattered: dict[str, NodeForecast] = {}
        for _, why in wanted:
            mattered.update(why)
        books.numbers = {name: number for name, number in books.numbers.items() if name in promises}
        books.cycle_done(seen, taken, mattered, outcomes, now)
        self._known = known
        self.executor.propose(intent for intent, _ in wanted)
        if self._rules is not None:
            on_nodes = self._rules.intents(seen, known.sight, mind.outlook, now)
            self.executor.propose(replace(one, cycle=books.cycle - 1) for one in on_nodes)
        return CycleTold("", tuple(self.executor.step(known.sight)), tuple(outcomes))

    def _minding(self, seen: ClusterSnapshot, now: int) -> Mind:
        """Return the engine, a new one where there is none or the cluster has grown."""
        if self._mind is None or not self._mind.knows(seen):
            mind = Mind(seen, now, self.settings.wanted)
            self._books.begin(mind, asdict(self.settings), now)
            self._mind = mind
        return self._mind

    def _judge(
        self, promises: Mapping[str, PromiseRow], known: _Known, now: int
    ) -> list[OutcomeRow]:
        """Return what became of promises, and remember the numbers of the others' jobs."""
        found = []
        for name, promise in promises.items():
            job = known.carried.get(name)
            start = self._books.start_of(promise)
            number = self._books.numbers.get(name, 0)
            one = judged(Followed(promise, start, job, number), known.seen, now)
            if one is not None:
                found.append(one)
            elif job is not None:
                self._books.numbers[name] = job.id
        return found

    # ------------------------------------------------------------------- quotes and promises

    def quote(self, asked: WantedNodes) -> list[OfferRow]:
        """Return offers, each later than the one before and more probable, and book them. Empty
        where no start is known. A job of an offer that is taken at the end of its life, and starts
        then, is done by its deadline still. Raises InputError where what is known is too old."""
        now = self._clock()
        mind, _ = self._fresh(now)
        question = {"nodes": asked.nodes, "time": asked.time, "by": asked.by}
        expires = now + self.settings.offer_life
        offered = [
            (one, one.deadline + max(expires - one.start, 0))
            for one in mind.offers(asked.nodes, asked.time, now, asked.by)
        ]
        count = self._ledger.count(OfferRow)
        rows = [
            OfferRow(
                id=digest([count + k, now, asked.asked_by, question]),
                at=now, expires=expires, asked_by=asked.asked_by,
                question=question, size=asked.nodes, length=asked.time, start=one.start,
                deadline=deadline, before=one.probability, probability=one.probability,
                reasons=list(one.reasons), record=self._books.record(one.probability),
            )
            for k, (one, deadline) in enumerate(offered)
            if asked.by is None or deadline <= asked.by
        ]  # fmt: skip
        self._ledger.add(*rows)
        return rows

    def accept(self, name: str, owner: str, job: JobScript) -> tuple[PromiseRow, int]:
        """Make an offer a promise, and submit its job; return the promise and the job's number.

        The promise is in the ledger before anything is submitted. Called again with the same
        offer it goes on from where it was: the job is submitted once. Raises InputError where the
        offer is not there, has expired or holds no more; WriteError where Slurm refuses the job (at
        the first try the promise is void then), or where nobody knows whether it took it: then call
        again.
        """
        now = self._clock()
        offer = self._ledger.one(OfferRow, name)
        if offer is None or offer.asked_by != owner:
            raise InputError(f"offer {name} is not there")
        promise = self._ledger.one(PromiseRow, name)
        first = promise is None
        if promise is None:
            promise = self._promised(offer, job, now)
        elif self._ledger.one(OutcomeRow, name) is not None:
            raise InputError(f"promise {name} is over")
        number = self._submit(promise, offer, job, first)
        self._note(offer, job, number, now)
        return promise, number

    def _note(self, offer: OfferRow, job: JobScript, number: int, now: int) -> None:
        """Tell the engine of a job that was submitted, so that nobody else is promised its nodes
        before it is seen."""
        if self._mind is None:
            return
        mind, self._mind = self._mind, None  # begun anew where this cannot be booked
        taken = mind.submitted(number, offer.asked_by, job.name, offer.size, offer.length, now)
        if taken is not None:
            self._books.told(taken, now)
        self._mind = mind

    def _fresh(self, now: int) -> tuple[Mind, _Known]:
        """Return what is known; InputError where it is too old to promise anything."""
        if self._mind is None or self._known is None:
            raise InputError("the cluster was not seen yet")
        age = now - self._known.sight.at
        if not 0 <= age <= self._guard.fresh:
            raise InputError(f"the last look is {age} s old; at most {self._guard.fresh} s")
        return self._mind, self._known

    def _promised(self, offer: OfferRow, job: JobScript, now: int) -> PromiseRow:
        """Write the promise that an offer becomes, where it still holds; with a reservation, where
        the keeper may."""
        mind, known = self._fresh(now)
        if now >= offer.expires:
            raise InputError(f"offer {offer.id} expired {now - offer.expires} s ago; ask again")
        still = mind.offers(offer.size, offer.length, now, offer.deadline)
        if not any(one.probability >= offer.probability - 1e-9 for one in still):
            raise InputError(f"offer {offer.id} does not hold any more; ask again")
        held = int(self._guard.keeper.switch != "off")
        promise = PromiseRow(
            offer.id, now, offer.id, "", offer.asked_by, offer.deadline, offer.probability, held,
            sorted(job.consents),
        )  # fmt: skip
        self._ledger.add(promise)
        if self._guard.keeper.switch == "on" and offer.start > now + self.settings.at_once:
            self._reserve(promise, offer, job, known, mind)
        return promise

    def _reserve(
        self, promise: PromiseRow, offer: OfferRow, job: JobScript, known: _Known, mind: Mind
    ) -> None:
        """Have the start of a promise held; where that cannot be, the job waits like others."""
        now = self._clock()
        books = self._books
        keeping = Keeping(known.seen, known.sight, mind, {}, {}, books.saved, books.cycle, now)
        numbers = {
            "start": float(offer.start + GRACE), "time": float(offer.deadline - offer.start)
        }  # fmt: skip
        intent = keeping.intend(
            Action.RESERVE, reservation_name(promise.id), f"holds a promise from {offer.start} on",
            numbers, size=offer.size, partition=job.partition, promise=promise.id,
        )  # fmt: skip
        self.executor.propose([intent])
        self.executor.step(known.sight)

    def _submit(self, promise: PromiseRow, offer: OfferRow, job: JobScript, first: bool) -> int:
        """Submit the job of a promise, unless it is there already; return its number. A promise
        whose first try is refused is void; later, one of the tries before may still arrive."""
        name = reservation_name(promise.id)
        order = Submit(
            promise.id, job.script, offer.size, offer.length, job.name, promise.at, job.words,
            job.partition, reservation=name if self._is_held(name) else "",
            excluded=self._excluded(offer, job), output=job.output,
        )  # fmt: skip
        try:
            return self._cluster.act(order).job
        except WriteError as error:
            if first and error.fault not in (WriteFault.AMBIGUOUS, WriteFault.UNREACHABLE):
                over = OutcomeRow(promise.id, self._clock(), "void", "operator", -1)
                self._ledger.add(over)
            raise

    def _is_held(self, name: str) -> bool:
        """Whether a reservation was made and is known to be there."""
        for row, state in self._ledger.latest_states(*_HELD):
            if row.action == Action.RESERVE and row.target == name:
                return bool(state.state)
        return False

    def _excluded(self, offer: OfferRow, job: JobScript) -> tuple[str, ...]:
        """Return the nodes that are foreseen to fail before the deadline, where enough others are
        left."""
        if self._mind is None or self._known is None:
            return ()
        risky = {name for name, one in self._mind.outlook.items() if one.at < offer.deadline}
        left = [
            name
            for name, node in self._known.seen.nodes.items()
            if name not in risky and node.in_service and job.partition in ("", *node.partitions)
        ]
        return tuple(sorted(risky)) if len(left) >= offer.size else ()
