"""The list that a user chooses from, for terminal, API and page alike; nothing is promised by it.

Offers come from an engine, which holds their starts by reservations, and from the book of a site,
which knows what became of like jobs. Shown are those of which none is better: none starts as early
and ends as early and is as probable. Paper 000 (Oliner et al., DSN 2005), Sections 3.2 and 4: the
user trades a later deadline for a higher probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from forestall.core.model.decisions import Wording
from forestall.core.model.errors import ParameterError
from forestall.core.model.quotes import DecileRecord, Offer, Quote
from forestall.core.model.units import format_duration, told_moment

if TYPE_CHECKING:
    from forestall.scheduling.engine.engine import Engine
    from forestall.site.learning.turnaround.answer import TimedQuote
    from forestall.site.learning.turnaround.book import CompletionBook

MOST: Final = 7
EVERY: Final = 1000
"""Offers that an engine is asked for, before those of which others are better are left out."""
LEVELS: Final = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Probabilities for which a book is asked for deadlines."""
TOLD: Final = 0.005
"""A correction of less is not told."""
HELD: Final = "start held by a reservation"
NOT_HELD: Final = "start not held"
UNLEARNED: Final = (
    "start not held; nothing was learned about this site's jobs yet: based only on time limits "
    "and foreseen failures, so probably too optimistic"
)
RecordOf = Callable[[float], DecileRecord]


@dataclass(frozen=True)
class WantedJob:
    """A job that somebody thinks of.

    Attributes
    ----------
    nodes : how many
    time : s that it is to run at most
    interval : s between its checkpoint requests; None: it never checkpoints
    user, name, partition : "" where they are not known
    features : of the nodes that it needs, as Slurm has them: ``ib&a100|h100``
    """

    nodes: int
    time: int
    interval: int | None = None
    user: str = ""
    name: str = ""
    partition: str = ""
    features: str = ""


@dataclass(frozen=True)
class OfferSources:
    """Who is asked for offers, either of them or both.

    Attributes
    ----------
    engine : plans starts
    book : what became of like jobs
    record : what became of promises like one of this probability; by default nothing is known of
        held ones, and of others what the book tells
    holds : whether reservations hold the engine's starts; where they do not, its offers say so
    unheld : why they do not, where there is more to say than that nobody holds them
    survival : that so many nodes live through so many s, whatever is foreseen of them; by default
        only what is foreseen fails
    lives : that the nodes of a quote live through it, in place of `survival`: where hazards of
        nodes are known one by one
    corrected : the engine's probability, corrected by what became of promises; by default it stands
    life : s for which an offer may be taken: deadlines leave that time
    pool : the engine's number of the nodes that the job may have; 0: any
    reckoned : how long the engine reckons a job of so many s to take; by default as long
    wording : how the engine's reasons tell times and nodes
    """

    engine: Engine | None = None
    book: CompletionBook | None = None
    record: RecordOf | None = None
    holds: bool = True
    unheld: str = ""
    survival: Callable[[int, int], float] | None = None
    lives: Callable[[Quote], float] | None = None
    corrected: Callable[[float], float] | None = None
    life: int = 0
    pool: int = 0
    reckoned: Callable[[int], int] = int
    wording: Wording = field(default_factory=Wording)

    def __post_init__(self) -> None:
        """Raise ParameterError where there is nobody to ask."""
        if self.engine is None and self.book is None:
            raise ParameterError("engine and book", None, "one of them at least")

    def _said_unheld(self, words: str) -> str:
        return f"{words} ({self.unheld})" if self.unheld else words

    def held(self, job: WantedJob, now: int, by: int | None) -> list[Offer]:
        """Return the engine's offers: where it holds starts, only failures are left to chance."""
        if self.engine is None or job.nodes > len(self.engine.state.machine.nodes):
            return []
        interval = job.time if job.interval is None else job.interval
        quotes = self.engine.offers(
            job.nodes, self.reckoned(job.time), interval, now, by=by, most=EVERY, pool=self.pool
        )
        found = [self._planned(one, job.nodes, now) for one in quotes]
        return [one for one in found if by is None or one.deadline <= by]

    def expected(
        self, job: WantedJob, now: int, levels: Sequence[float], by: Sequence[int] = ()
    ) -> list[Offer]:
        """Return offers that rest on what became of like jobs: by probabilities, and by deadlines
        that were named."""
        if self.book is None:
            return []
        now = max(now, self.book.now)  # it may have been told of this second by a clock ahead
        quotes = self.book.ask(
            now, nodes=job.nodes, limit=job.time, user=job.user, name=job.name,
            partition=job.partition, probabilities=levels,
            deadlines=[at - self.life for at in by if at - self.life > now],
        )  # fmt: skip
        return [self._expected(one, now) for one in quotes]

    def _planned(self, quote: Quote, nodes: int, now: int) -> Offer:
        """Return an engine's quote as an offer: taken at the end of its life, and begun then, the
        job is done by the deadline still."""
        before = quote.probability
        if self.lives is not None:
            before *= self.lives(quote)
        elif self.survival is not None:
            before *= self.survival(nodes, quote.deadline - quote.start)
        chance = before if self.corrected is None else self.corrected(before)
        decision = quote.decision
        why = quote.reasons if decision is None else (decision.said(self.wording),)
        reasons = (HELD if self.holds else self._said_unheld(UNLEARNED), *why)
        if before - chance >= TOLD:
            less = 100 * (before - chance)
            reasons += (f"{less:.1f} points less than failures alone imply, by the record",)
        deadline = quote.deadline + max(now + self.life - quote.start, 0)
        record = (self.record or unknown)(chance)
        return Offer(quote.start, deadline, chance, self.holds, record, reasons, before)

    def _expected(self, quote: TimedQuote, now: int) -> Offer:
        chance, deadline = quote.probability, quote.deadline + self.life
        start = min(now + math.ceil(quote.wait), deadline)
        record = quote.record if self.record is None else self.record(chance)
        reasons = (self._said_unheld(NOT_HELD), *quote.reasons)
        return Offer(start, deadline, chance, False, record, reasons, quote.before)


@dataclass(frozen=True)
class DeadlineAnswer:
    """What a deadline that was named is worth, and what else there is.

    Attributes
    ----------
    by : the best offer that ends by then; None where there is none
    offers : those with the least probability that the user takes, the nearest deadline first
    """

    by: Offer | None
    offers: tuple[Offer, ...]


def offers(
    job: WantedJob, now: int, sources: OfferSources, *, most: int = MOST
) -> tuple[Offer, ...]:
    """Return at most `most` offers of which none is better, by their deadlines; each but the first
    tells what waiting for it buys. Raises ParameterError for what no job can be."""
    _check_most(most)
    found = [*sources.held(job, now, None), *sources.expected(job, now, LEVELS)]
    return _told(_thinned(front(found), most))


def past_deadline(by: int, now: int) -> ParameterError:
    """Return the error for a deadline, s since 1970, that is over."""
    return ParameterError("by", told_moment(by), f"a moment after {told_moment(now)}")


def answer(
    job: WantedJob,
    now: int,
    sources: OfferSources,
    *,
    by: int,
    least: float = 0.9,
    most: int = MOST,
) -> DeadlineAnswer:
    """Return with which probability a job is done by a deadline, s, and the nearest deadlines with
    `least` at least. Asked again with another deadline it answers again.
    Raises ParameterError."""
    _check_most(most)
    if by <= now:
        raise past_deadline(by, now)
    if not 0 < least < 1:
        raise ParameterError("least", least, "a probability between 0 and 1")
    named = [*sources.held(job, now, by), *sources.expected(job, now, (), (by,))]
    best = max(named, key=lambda one: (one.probability, one.held, -one.deadline), default=None)
    levels = (least, *(level for level in LEVELS if level > least))
    found = [*sources.held(job, now, None), *sources.expected(job, now, levels)]
    enough = [one for one in front(found) if one.probability >= least]
    return DeadlineAnswer(best, _told(enough[:most]))


def front(found: Iterable[Offer]) -> list[Offer]:
    """Return the offers of which none is better, the nearest deadline first. Better is as early to
    start, as early to end and as probable; of equal ones that which is held."""
    order = sorted(found, key=lambda one: (one.deadline, one.start, -one.probability, not one.held))
    best: list[Offer] = []
    for one in order:
        if not any(two.start <= one.start and two.probability >= one.probability for two in best):
            best.append(one)
    return best


def unknown(probability: float) -> DecileRecord:
    """Return the record of promises of which none was made."""
    decile = min(int(10 * probability), 9)
    return DecileRecord(decile / 10, (decile + 1) / 10, 0, 0)


def _thinned(found: list[Offer], most: int) -> list[Offer]:
    """Return at most so many: the first, the most probable, and between them those that gain most
    over the ones before."""
    if len(found) <= most:
        return found
    top = max(range(len(found)), key=lambda k: (found[k].probability, -k))
    gains = {0: math.inf, top: math.inf if most > 1 else -math.inf}
    reached = found[0].probability
    for k, one in enumerate(found):
        gains.setdefault(k, one.probability - reached)
        reached = max(reached, one.probability)
    chosen = sorted(gains, key=lambda k: (-gains[k], k))[:most]
    return [found[k] for k in sorted(chosen)]


def _told(found: Sequence[Offer]) -> tuple[Offer, ...]:
    """Return the offers, each but the first with what it buys over the one before."""
    rows = [*found[:1]]
    for before, one in pairwise(found):
        later = format_duration(one.deadline - before.deadline)
        points = 100 * (one.probability - before.probability)
        if points > 0:
            buys = f"{later} later than the row above, {points:.1f} points more probable"
        else:
            sooner = format_duration(before.start - one.start)
            buys = f"{later} later than the row above, starts {sooner} sooner"
        rows.append(replace(one, reasons=(*one.reasons, buys)))
    return tuple(rows)


def _check_most(most: int) -> None:
    if most < 1:
        raise ParameterError("most", most, "a whole number, at least 1")
