"""The controller: look, difference, decide, guard, act, book; and quotes and promises in between.

Source: page "Live", One loop, Holding a promise, Quote and dialogue.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import asdict, dataclass, replace
from threading import Lock, RLock
from typing import Final

from forestall.core.model.errors import InputError
from forestall.core.model.faults import LookError, WriteError, WriteFault
from forestall.core.model.live.desk import JobOrder
from forestall.core.model.live.intents import Action, Intent, Role
from forestall.core.model.marks import RESERVATION, reservation_name
from forestall.live.act.actor import Actor
from forestall.live.act.executor import Executor, StateChange
from forestall.live.guard.settings import GuardSettings
from forestall.live.ledger.rows import OfferRow, OutcomeRow, PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.books import LedgerBooks
from forestall.live.slurm.keeping import Keeping
from forestall.live.slurm.mind import Mind, PromisedJob
from forestall.live.slurm.outcomes import judge
from forestall.live.slurm.outlook import NodeRules
from forestall.live.slurm.quoting import Quoted, Quoting, wanted_job
from forestall.live.slurm.scripts import lines_of
from forestall.live.slurm.sight import carriers, sight_of
from forestall.live.slurm.site_book import SiteBook
from forestall.live.slurm.submissions import (
    BY_OWNER,
    Seals,
    check_probability,
    claims_of,
    order_of,
    sbatch_options,
    stray_tags,
)
from forestall.live.slurm.taken import (
    LastLook,
    QuoteBasis,
    checked,
    excluded,
    is_held,
    is_there,
    reservation_of,
    trial_of,
)
from forestall.live.slurm.view import DAY, ControllerView, view_of
from forestall.prediction.watching.foreseen import JoinedForecasts, NodeForecast, NodeForecasts
from forestall.slurm.cluster.cluster import LiveCluster

POLLED: Final = 0.002
"""s between two looks at whether there is something put aside that can be asked meanwhile."""


@dataclass(frozen=True)
class ControllerSettings:
    """How a controller quotes.

    Parameters
    ----------
    wanted : the least probability that jobs of which nobody asked are placed for
    offer_life : s for which an offer holds; a deadline leaves that time for taking it
    life : s after which a decision of the keeper that was not carried out is not wanted any more
    at_once : s; a start that is nearer needs no reservation
    learned : ended jobs from which on the book of the site is asked
    forget : jobs that have ended which the engine remembers at most, or twice as many as there are
    rounded : nodes from which on jobs are reckoned to take up to 2 % longer, so that ends share
        moments
    """

    wanted: float = 0.5
    offer_life: int = 300
    life: int = 300
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


class Controller:
    """One cluster's controller; one process has it. A new one goes on from the ledger and a look.

    Any threads may call it at once. What takes long keeps nobody waiting: looking at the cluster,
    asking forecasts, submitting and acting go on while others quote. Engine, book and beliefs are
    behind one lock, which a cycle holds while it takes in a look and books it, a quote while it is
    made. Quotes that come while a look is taken in are made from what was known before it, of which
    a copy is put aside: there a lock of its own lets one after the other in. There is one cycle at
    a time, and one offer is accepted at a time: nobody else's is checked between a promise and its
    job. The executor has a lock of its own.

    Parameters
    ----------
    cluster : looked at, and where jobs are submitted, with this process's rights
    ledger : open for writing
    actors : who carries intents out, by role
    forecasts : who foresees failures
    clock : the time, s since 1970
    rules : what proposes to drain, reboot and bring back nodes; None: nothing does
    seals : of tags of jobs that their owners submit; by default good as long as this object lives
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
        seals: Seals | None = None,
    ) -> None:
        self.settings = settings or ControllerSettings()
        self.site = site or SiteBook()
        self.executor = Executor(ledger, actors, guard, clock)
        self._cluster, self._ledger, self._guard = cluster, ledger, guard
        self._forecasts = forecasts if rules is None else JoinedForecasts(forecasts, rules)
        self._clock, self._rules = clock, rules
        self._seals = seals or Seals(secrets.token_bytes(32))
        self._books: LedgerBooks | None = LedgerBooks(ledger)
        self._before = self._books.resumed()
        self._offers = ledger.count(OfferRow)
        if rules is not None:
            rules.take_over(self._books.learned)
        self._mind: Mind | None = None
        self._known: LastLook | None = None
        self.view: ControllerView | None = None
        self._lock, self._cycling, self._accepting = RLock(), Lock(), Lock()
        self._asking = self.site.asking
        """Held while a quote is made, inside of `_lock` where that is held, too."""
        self._aside: QuoteBasis | None = None

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
        claims = claims_of(promises, self._opened().numbers, self._seals)
        sight, carried = sight_of(seen, owners, claims), carriers(seen, owners, claims)
        known = LastLook(seen, sight, carried)
        ours = [reservation_name(name) for name in named if name in owners]
        foreseen = self._forecasts.foreseen(seen, now)
        with self._lock, self._set_aside():
            outcomes, wanted = self._taken_in(known, promises, ours, foreseen, now)
            self._known = known
        self.executor.propose(wanted)
        if self._rules is not None:
            self.executor.propose(self._on_nodes(self._rules, known, now))
        moved = self.executor.step(known.sight)
        self._before = seen
        return CycleTold("", tuple(moved), tuple(outcomes))

    def _on_nodes(self, rules: NodeRules, known: LastLook, now: int) -> Iterator[Intent]:
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
        known: LastLook,
        promises: dict[str, PromiseRow],
        ours: list[str],
        foreseen: Mapping[str, NodeForecast],
        now: int,
    ) -> tuple[list[OutcomeRow], list[Intent]]:
        """Take in a look and book it; return what became of promises, and what should be done."""
        seen, books = known.seen, self._opened()
        mind = self._minding(known, promises, books, now)
        rate = books.background.rate
        starts = books.starts(promises, known.carried, mind.beliefs.jobs)
        taken = mind.tell(seen, now, ours, foreseen, seen.began, rate=rate, promised=starts)
        outcomes = judge(promises, known.carried, books, seen, now)
        for one in outcomes:
            del promises[one.promise]
        keeping = Keeping(
            seen, known.sight, mind, promises, known.carried, books.saved, books.cycle, now,
            self.settings.life,
        )  # fmt: skip
        wanted = list(keeping.intents())
        mattered: dict[str, NodeForecast] = {}
        for _, why in wanted:
            mattered.update(why)
        books.numbers = {name: number for name, number in books.numbers.items() if name in promises}
        if self._rules is not None:
            books.learned = self._rules.learned()
        books.cycle_done(seen, taken, mattered, outcomes, now)
        with self._asking:
            self.site.learn(seen)
        lasting = books.background.survival(1, DAY)
        lost = {one.promise for one in outcomes if one.why}
        carried = {name: job for name, job in known.carried.items() if name not in lost}
        stray = stray_tags(seen, carried, books.closed(seen, promises))
        self.view = view_of(seen, known.sight, mind, carried, lasting, stray)
        return outcomes, [intent for intent, _ in wanted]

    def _minding(
        self, known: LastLook, promises: Mapping[str, PromiseRow], books: LedgerBooks, now: int
    ) -> Mind:
        """Return the engine: a new one where there is none or the nodes are others, which takes
        over what was promised; without the jobs that have ended, where they are many."""
        mind = self._mind
        if mind is None or not mind.knows(known.seen):
            mind = Mind(known.seen, now, self.settings.wanted, [
                PromisedJob(job, books.start_of(promises[name]))
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
        with self._to_ask(job) as asked:
            now = self._clock()
            job = replace(job, partition=job.partition or asked.known.seen.default)
            told = self._quoting(asked, job).quoted(job, now, by, least, self._offers)
            self._offers += len(told.rows)
        self._ledger.add(*told.rows)
        return told

    @contextmanager
    def _set_aside(self) -> Iterator[None]:
        """Let quotes be made from what is known now, while it changes."""
        if self._mind is not None and self._known is not None and self._books is not None:
            books = self._books
            self._aside = QuoteBasis(
                self._mind.aside(), self._known, deepcopy(books.record), copy(books.background)
            )
        try:
            yield
        finally:
            self._aside = None

    @contextmanager
    def _to_ask(self, job: WantedJob) -> Iterator[QuoteBasis]:
        """Let a quote be made, from what was put aside where there is something that can be asked;
        InputError where what is known is too old."""
        while not self._lock.acquire(timeout=POLLED):
            aside = self._aside
            if aside is not None and aside.knows(job, self._clock(), self._guard.fresh):
                with self._asking:
                    yield aside
                return
        try:
            now, books = self._clock(), self._opened()
            mind, known = self._fresh(now)
            with self._asking:
                yield QuoteBasis(mind, known, books.record, books.background)
        finally:
            self._lock.release()

    def _quoting(self, asked: QuoteBasis, job: WantedJob) -> Quoting:
        mind, known = asked.mind, asked.known
        keeper, settings = self._guard.keeper, self.settings
        holds = keeper.switch == "on" and Action.RESERVE not in keeper.approve
        unheld = self.executor.limit_on(trial_of(job, known), known.sight) if holds else ""
        return Quoting(
            mind, self.site, asked.record, asked.background, holds, settings.learned,
            settings.offer_life, unheld, known.seen,
        )  # fmt: skip

    def accept(self, name: str, owner: str, job: JobOrder) -> tuple[PromiseRow, int]:
        """Make an offer a promise, and submit its job; return the promise and the job's number.
        A job without a script is submitted by its owner (`options_of`): then the number is 0.

        The promise is in the ledger before anything is submitted. Called again with the same
        offer it goes on from where it was: the job is submitted once. Raises InputError where the
        offer is not there, has expired or holds no more; WriteError where Slurm refuses the job (at
        the first try the promise is void then), or where nobody knows whether it took it: then call
        again.
        """
        offer = self._ledger.one(OfferRow, name)
        if offer is None or offer.asked_by != owner:
            raise InputError(f"there is no offer {name}")
        by = "" if job.script else BY_OWNER
        with self._accepting:
            promise = self._ledger.one(PromiseRow, name)
            first = promise is None
            if promise is None:
                check_probability(offer, job, self.settings.wanted)
                if job.script:
                    job = checked(offer, job)
                promise = self._promised(offer, job)
            elif self._ledger.one(OutcomeRow, name) is not None:
                raise InputError(f"promise {name} is over")
            elif promise.job != by:
                who = "its owner submits its job" if promise.job else "its job was submitted here"
                raise InputError(f"promise {name} was taken otherwise: {who}")
            if by:
                return promise, 0
            number = self._submit(promise, offer, job, first)
            with self._lock:
                self._note(promise, wanted_job(offer, job.partition, job.name), number)
        return promise, number

    def options_of(self, promise: PromiseRow, offer: OfferRow) -> tuple[str, ...]:
        """Return the options of `sbatch` by which its owner submits the job of a promise."""
        name = reservation_name(promise.id)
        return sbatch_options(
            promise, offer, self._seals.of(promise.id, promise.owner),
            name if is_held(self._ledger, name) else "",
            excluded(offer, wanted_job(offer).partition, self._mind, self._known),
        )  # fmt: skip

    def unheld_probability(self, offer: OfferRow) -> float | None:
        """Return with which probability a job like an offer's, submitted now and held by nothing,
        is done by its deadline; None where too little is known of the site's jobs."""
        with self._lock, self._asking:
            if self.site.ended < self.settings.learned:
                return None
            return self.site.probability_by(wanted_job(offer), offer.deadline, self._clock())

    def submitted(self, promise: PromiseRow, number: int) -> None:
        """Take note that the owner of a promise submitted its job just now. Raises InputError where
        Slurm has no job of theirs with its tag, or the number is another job's; LookError where it
        does not answer."""
        offer, known = self._opened().offer_of(promise), self._known
        seen = None if known is None else known.seen.jobs.get(number)
        if seen is not None and (seen.user, seen.mark.promise) != (promise.owner, promise.id):
            raise InputError(f"job {number} does not carry promise {promise.id}")
        if not is_there(self._cluster, promise, offer):
            raise InputError(f"{promise.owner} has no job with the tag of promise {promise.id}")
        with self._lock:
            self._note(promise, wanted_job(offer), number)

    def withdraw(self, promise: PromiseRow, why: str) -> None:
        """Give a promise back whose owner has not submitted its job. Raises InputError where there
        is a job, LookError where Slurm does not answer."""
        with self._accepting:
            if self._ledger.one(OutcomeRow, promise.id) is not None:
                return
            if promise.job != BY_OWNER or is_there(
                self._cluster, promise, self._opened().offer_of(promise)
            ):
                raise InputError(f"the job of promise {promise.id} was submitted: scancel ends it")
            self._ledger.add(OutcomeRow(promise.id, self._clock(), "void", "user", -1, why=why))

    def _note(self, promise: PromiseRow, job: WantedJob, number: int) -> None:
        """Tell the engine of a job that was submitted, so that nobody else is promised its nodes
        before it is seen."""
        mind, now = self._mind, self._clock()
        if mind is None:
            return
        taken = mind.submitted(number, job, now, self._opened().held_start(promise))
        if taken is None:
            return
        try:
            self._opened().told(taken, now)
        except BaseException:
            self._close()
            raise

    def _fresh(self, now: int) -> tuple[Mind, LastLook]:
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
            books = self._opened()
            asked = QuoteBasis(mind, known, books.record, books.background)
            quoting = self._quoting(asked, wanted)
            asks = lines_of(job.script).asked if job.script else job.asks
            if words := quoting.impossible(wanted, asks):
                raise InputError(words)
            with self._asking:
                holds = quoting.holds_still(offer, wanted, now)
            if not holds:
                raise InputError(f"offer {offer.id} no longer holds; ask again")
        held = int(self._guard.keeper.switch != "off")
        promise = PromiseRow(
            offer.id, now, offer.id, "" if job.script else BY_OWNER, offer.asked_by,
            offer.deadline, offer.probability, held, sorted(job.consents),
        )  # fmt: skip
        self._ledger.add(promise)
        on = self._guard.keeper.switch == "on"
        if on and offer.held and offer.start > now + self.settings.at_once:
            intent = reservation_of(
                promise, offer, job.partition, asked, self._clock(), self.settings.life, books
            )
            self.executor.propose([intent])  # where it cannot be held, the job waits like others
            self.executor.step(known.sight)
        return promise

    def _submit(self, promise: PromiseRow, offer: OfferRow, job: JobOrder, first: bool) -> int:
        """Submit the job of a promise, unless it is there already; return its number. A promise
        whose first try is refused is void; later, one of the tries before may still arrive."""
        name = reservation_name(promise.id)
        order = replace(
            order_of(offer, job, promise.at), tried=not first,
            reservation=name if is_held(self._ledger, name) else "",
            excluded=excluded(offer, job.partition, self._mind, self._known),
        )  # fmt: skip
        try:
            return self._cluster.act(order).job
        except WriteError as error:
            if first and error.fault not in (WriteFault.AMBIGUOUS, WriteFault.UNREACHABLE):
                over = OutcomeRow(promise.id, self._clock(), "void", "operator", -1)
                self._ledger.add(over)
            raise
