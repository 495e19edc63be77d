"""The controller: look, difference, decide, guard, act, book; and quotes and promises in between.

Source: page "Live", One loop, Holding a promise, Quote and dialogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from threading import Lock, RLock
from typing import Final

from forestall.live.act.actor import Actor
from forestall.live.act.executor import Executor, StateChange
from forestall.live.guard.settings import GuardSettings
from forestall.live.guard.sight import ClusterSight
from forestall.live.ledger.rows import OfferRow, OutcomeRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.keeping import Keeping
from forestall.live.slurm.mind import Mind, PromisedJob
from forestall.live.slurm.outcomes import Followed, judged
from forestall.live.slurm.outlook import JoinedForecasts, NodeForecast, NodeForecasts, NodeRules
from forestall.live.slurm.quoting import Quoted, Quoting, wanted_job
from forestall.live.slurm.sight import carriers, sight_of
from forestall.live.slurm.site_book import SiteBook
from forestall.live.slurm.view import DAY, ControllerView, view_of
from forestall.model.cluster.actions import Submit
from forestall.model.cluster.cluster import LiveCluster
from forestall.model.cluster.faults import LookError, WriteError, WriteFault
from forestall.model.cluster.marks import RESERVATION, reservation_name
from forestall.model.cluster.nouns import ClusterJob, ClusterSnapshot
from forestall.model.errors import InputError
from forestall.model.live.desk import JobOrder
from forestall.model.live.intents import Action, Intent, IntentState, Role
from forestall.model.units import told_moment

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
    learned : ended jobs from which on the book of the site is asked
    forget : jobs that have ended which the engine remembers at most, or twice as many as there are
    rounded : nodes from which on jobs are reckoned to take up to 2 % longer, so that ends share
        moments
    """

    wanted: float = 0.5
    offer_life: int = 300
    at_once: int = 120
    learned: int = 30
    forget: int = 10_000
    rounded: int = 4096


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

    Any threads may call it at once. What takes long keeps nobody waiting: looking at the cluster,
    asking forecasts, submitting and acting go on while others quote. Engine, book and beliefs are
    behind one lock, which a cycle holds while it takes in a look and books it, a quote while it is
    made. There is one cycle at a time, and one offer is accepted at a time: nobody else's is
    checked between a promise and its job. The executor has a lock of its own.

    Parameters
    ----------
    cluster : looked at, and where jobs are submitted, with this process's rights
    ledger : open for writing
    actors : who carries intents out, by role
    forecasts : who foresees failures
    clock : the time, s since 1970
    rules : what proposes to drain, reboot and bring back nodes; None: nothing does
    site : the book of what became of the site's jobs, as it was kept; by default an empty one. Each
        look adds to it; who keeps it reads `site.book`

    `view` is what the last cycle knew, for whoever tells people; None before the first.
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
        *,
        site: SiteBook | None = None,
        rules: NodeRules | None = None,
    ) -> None:
        self.settings = settings or ControllerSettings()
        self.site = site or SiteBook()
        self.executor = Executor(ledger, actors, guard, clock)
        self._cluster, self._ledger, self._guard = cluster, ledger, guard
        self._forecasts = forecasts if rules is None else JoinedForecasts(forecasts, rules)
        self._clock, self._rules = clock, rules
        self._books: LedgerBooks | None = LedgerBooks(ledger)
        self._before = self._books.resumed()
        if rules is not None:
            rules.take_over(self._books.learned)
        self._mind: Mind | None = None
        self._known: _Known | None = None
        self.view: ControllerView | None = None
        self._lock, self._cycling, self._accepting = RLock(), Lock(), Lock()

    @property
    def age(self) -> int | None:
        """How old what is known is, s; None before the first look."""
        known = self._known
        return None if known is None else self._clock() - known.sight.at

    # --------------------------------------------------------------------------------- a cycle

    def cycle(self) -> CycleTold:
        """Do one cycle. A look that fails changes nothing, and is booked.

        Raises LedgerError where the books cannot be written or read: then nothing more is done, and
        the next cycle begins anew from the ledger and a look, which asks accounting from where the
        last one that was booked did.
        """
        with self._cycling:
            try:
                return self._cycle(self._clock())
            except BaseException:
                self._close()
                raise

    def _cycle(self, now: int) -> CycleTold:
        try:
            self._opened()
            seen = self._cluster.look(self._before)
        except LookError as error:
            with self._lock:
                self._opened().failed_look(error, now)
            return CycleTold(str(error))
        now = self._clock()
        promises = {one.id: one for one in self._ledger.open_promises()}
        named = [name.removeprefix(RESERVATION) for name in seen.reservations
                 if name.startswith(RESERVATION)]  # fmt: skip
        owners = self._opened().owners(promises.values(), named)
        known = _Known(seen, sight_of(seen, owners), carriers(seen, owners))
        ours = [reservation_name(name) for name in named if name in owners]
        foreseen = self._forecasts.foreseen(seen, now)
        with self._lock:
            outcomes, wanted = self._taken_in(known, promises, ours, foreseen, now)
            self._known = known
        self.executor.propose(wanted)
        if self._rules is not None:
            self.executor.propose(self._on_nodes(self._rules, known, now))
        moved = self.executor.step(known.sight)
        self._before = seen
        return CycleTold("", tuple(moved), tuple(outcomes))

    def _on_nodes(self, rules: NodeRules, known: _Known, now: int) -> Iterator[Intent]:
        """Yield what rules want done with nodes, in the name of the cycle that was just booked."""
        view, books = self.view, self._opened()
        outlook = {} if view is None else view.outlook
        for one in rules.intents(known.seen, known.sight, outlook, now):
            yield replace(one, cycle=books.cycle - 1)

    def _opened(self) -> LedgerBooks:
        """Return the books, read anew after an error: a call that failed may have been written."""
        with self._lock:
            if self._books is None:
                self._books = LedgerBooks(self._ledger)
            return self._books

    def _close(self) -> None:
        """Forget books and engine: the ledger may know more than they do, or less."""
        with self._lock:
            self._mind = self._books = None

    def _taken_in(
        self,
        known: _Known,
        promises: dict[str, PromiseRow],
        ours: list[str],
        foreseen: Mapping[str, NodeForecast],
        now: int,
    ) -> tuple[list[OutcomeRow], list[Intent]]:
        """Take in a look and book it; return what became of promises, and what should be done."""
        seen, books = known.seen, self._opened()
        mind = self._minding(known, promises, books, now)
        taken = mind.tell(seen, now, ours, foreseen, seen.began)
        outcomes = _judge(promises, known, books, now)
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
        if self._rules is not None:
            books.learned = self._rules.learned()
        books.cycle_done(seen, taken, mattered, outcomes, now)
        self.site.learn(seen)
        lasting = books.background.survival(1, DAY)
        self.view = view_of(seen, known.sight, mind, known.carried, lasting)
        return outcomes, [intent for intent, _ in wanted]

    def _minding(
        self, known: _Known, promises: Mapping[str, PromiseRow], books: LedgerBooks, now: int
    ) -> Mind:
        """Return the engine: a new one where there is none or the nodes are others, which takes
        over what was promised; without the jobs that have ended, where they are many."""
        mind = self._mind
        if mind is None or not mind.knows(known.seen):
            mind = Mind(known.seen, now, self.settings.wanted, [
                PromisedJob(job, books.start_of(promises[name]), promises[name].deadline,
                            promises[name].probability)
                for name, job in known.carried.items() if name in promises
            ], rounds=len(known.seen.nodes) >= self.settings.rounded)  # fmt: skip
        elif mind.ended <= max(self.settings.forget, 2 * len(mind.beliefs.jobs)):
            return mind
        else:
            mind.forget_ended()
        self._mind = None  # where this cannot be booked
        books.begin(mind, asdict(self.settings), now)
        self._mind = mind
        return mind

    # ------------------------------------------------------------------- quotes and promises

    def quote(self, job: WantedJob, *, by: int | None = None, least: float = 0.9) -> Quoted:
        """Return offers for a job, and book them (`forestall.live.quotes.offers`); with `by`, s
        since 1970, the best one that ends by then, and the nearest deadlines with `least` at least.

        A job that names no partition is the default one's. One whose offer is taken at the end of
        its life, and that starts then, is done by its deadline still. Raises InputError where what
        is known is too old, ParameterError for a question that cannot be.
        """
        with self._lock:
            now, books = self._clock(), self._opened()
            mind, known = self._fresh(now)
            job = replace(job, partition=job.partition or known.seen.default)
            told = self._quoting(mind, books).quoted(job, now, by, least, books.offers)
            books.offers += len(told.rows)
        self._ledger.add(*told.rows)
        return told

    def _quoting(self, mind: Mind, books: LedgerBooks) -> Quoting:
        keeper, settings = self._guard.keeper, self.settings
        holds = keeper.switch == "on" and Action.RESERVE not in keeper.approve
        return Quoting(
            mind, self.site, books.record, books.background, holds, settings.learned,
            settings.offer_life,
        )  # fmt: skip

    def accept(self, name: str, owner: str, job: JobOrder) -> tuple[PromiseRow, int]:
        """Make an offer a promise, and submit its job; return the promise and the job's number.

        The promise is in the ledger before anything is submitted. Called again with the same
        offer it goes on from where it was: the job is submitted once. Raises InputError where the
        offer is not there, has expired or holds no more; WriteError where Slurm refuses the job (at
        the first try the promise is void then), or where nobody knows whether it took it: then call
        again.
        """
        offer = self._ledger.one(OfferRow, name)
        if offer is None or offer.asked_by != owner:
            raise InputError(f"there is no offer {name}")
        with self._accepting:
            promise = self._ledger.one(PromiseRow, name)
            first = promise is None
            if promise is None:
                _order(offer, job, 0)  # what cannot be submitted is promised to nobody
                promise = self._promised(offer, job)
            elif self._ledger.one(OutcomeRow, name) is not None:
                raise InputError(f"promise {name} is over")
            number = self._submit(promise, offer, job, first)
            with self._lock:
                self._note(wanted_job(offer, job.partition, job.name), number, self._clock())
        return promise, number

    def _note(self, job: WantedJob, number: int, now: int) -> None:
        """Tell the engine of a job that was submitted, so that nobody else is promised its nodes
        before it is seen."""
        mind = self._mind
        if mind is None:
            return
        taken = mind.submitted(number, job, now)
        if taken is None:
            return
        try:
            self._opened().told(taken, now)
        except BaseException:
            self._close()
            raise

    def _fresh(self, now: int) -> tuple[Mind, _Known]:
        """Return what is known; InputError where it is too old to promise anything."""
        if self._mind is None or self._known is None:
            raise InputError("the cluster has not been read yet")
        age = now - self._known.sight.at
        # Below 0 where a look came meanwhile, or where our clock was set back by a little.
        if abs(age) > self._guard.fresh:
            raise InputError(f"the last look is {age} s old; at most {self._guard.fresh} s")
        return self._mind, self._known

    def _promised(self, offer: OfferRow, job: JobOrder) -> PromiseRow:
        """Write the promise that an offer becomes, where it still holds; with a reservation, where
        the keeper may."""
        with self._lock:
            now = self._clock()  # not before: a cycle that is waited for looks later than that
            if now >= offer.expires:
                raise InputError(f"offer {offer.id} expired {now - offer.expires} s ago; ask again")
            mind, known = self._fresh(now)
            wanted = wanted_job(offer, job.partition)
            if not self._quoting(mind, self._opened()).holds_still(offer, wanted, now):
                raise InputError(f"offer {offer.id} no longer holds; ask again")
        held = int(self._guard.keeper.switch != "off")
        promise = PromiseRow(
            offer.id, now, offer.id, "", offer.asked_by, offer.deadline, offer.probability, held,
            sorted(job.consents),
        )  # fmt: skip
        self._ledger.add(promise)
        on = self._guard.keeper.switch == "on"
        if on and offer.held and offer.start > now + self.settings.at_once:
            self._reserve(promise, offer, job, known, mind)
        return promise

    def _reserve(
        self, promise: PromiseRow, offer: OfferRow, job: JobOrder, known: _Known, mind: Mind
    ) -> None:
        """Have the start of a promise held; where that cannot be, the job waits like others."""
        now, books = self._clock(), self._opened()
        keeping = Keeping(known.seen, known.sight, mind, {}, {}, books.saved, books.cycle, now)
        numbers = {
            "start": float(offer.start + GRACE), "time": float(offer.deadline - offer.start)
        }  # fmt: skip
        why = f"holds a promise from {told_moment(offer.start)} on"
        intent = keeping.intend(
            Action.RESERVE, reservation_name(promise.id), why,
            numbers, size=offer.size, partition=wanted_job(offer, job.partition).partition,
            promise=promise.id,
        )  # fmt: skip
        self.executor.propose([intent])
        self.executor.step(known.sight)

    def _submit(self, promise: PromiseRow, offer: OfferRow, job: JobOrder, first: bool) -> int:
        """Submit the job of a promise, unless it is there already; return its number. A promise
        whose first try is refused is void; later, one of the tries before may still arrive."""
        name = reservation_name(promise.id)
        order = replace(
            _order(offer, job, promise.at), reservation=name if self._is_held(name) else "",
            excluded=self._excluded(offer, job), tried=not first,
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

    def _excluded(self, offer: OfferRow, job: JobOrder) -> tuple[str, ...]:
        """Return the nodes that are foreseen to fail before the deadline, where enough others are
        left."""
        mind, known = self._mind, self._known
        if mind is None or known is None:
            return ()
        risky = {name for name, one in mind.outlook.items() if one.at < offer.deadline}
        left = [
            name
            for name, node in known.seen.nodes.items()
            if name not in risky and node.in_service and job.partition in ("", *node.partitions)
        ]
        return tuple(sorted(risky)) if len(left) >= offer.size else ()


def _order(offer: OfferRow, job: JobOrder, at: int) -> Submit:
    """Return what submits the job of an offer. Raises ParameterError for what cannot be one."""
    wanted = wanted_job(offer, job.partition)
    return Submit(
        offer.id, job.script, offer.size, offer.length, job.name, at, job.words, wanted.partition,
        features=wanted.features, output=job.output, user=offer.asked_by,
    )  # fmt: skip


def _judge(
    promises: Mapping[str, PromiseRow], known: _Known, books: LedgerBooks, now: int
) -> list[OutcomeRow]:
    """Return what became of promises, and remember the numbers of the others' jobs."""
    found = []
    for name, promise in promises.items():
        job = known.carried.get(name)
        number = books.numbers.get(name, 0)
        one = judged(Followed(promise, books.start_of(promise), job, number), known.seen, now)
        if one is not None:
            found.append(replace(one, job=number if job is None else job.id))
        elif job is not None:
            books.numbers[name] = job.id
    return found
