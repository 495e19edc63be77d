"""Offers of a live cluster: who is asked for them, and whether one still holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from forestall.live.ledger.rows import OfferRow
from forestall.live.quotes.offers import OfferSources, WantedJob, answer, offers
from forestall.live.slurm.background import BackgroundRate
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.record import PromiseRecord
from forestall.live.slurm.site_book import SiteBook
from forestall.model.decisions import Wording
from forestall.model.live.canonical import digest
from forestall.model.quotes import Offer
from forestall.model.units import format_duration, told_moment

_NEAR = 1e-9
"""A probability that is lower by less is the same one."""


class Quoted(NamedTuple):
    """The answer to a question, as it was booked.

    Attributes
    ----------
    at : the moment of the answer, s since 1970
    offers : of which none is better, the nearest deadline first
    by : where a deadline was named: the best offer that ends by then, None where there is none
    said : in words why there is no offer, "" where there is one
    """

    at: int
    offers: tuple[OfferRow, ...]
    by: OfferRow | None
    said: str

    @property
    def rows(self) -> tuple[OfferRow, ...]:
        """All of them, each once."""
        extra = () if self.by is None or self.by in self.offers else (self.by,)
        return (*self.offers, *extra)


@dataclass(frozen=True)
class Quoting:
    """Who is asked. Where reservations hold starts, that is the engine, and the book of the site
    where that is better; else the book alone, for an engine knows of failures and time limits only.
    Where the book has not learned from `learned` ended jobs yet, the engine answers in its place,
    and its offers say so.

    Attributes
    ----------
    background : the site's rate of failures: no promise is certain
    holds : whether the keeper may reserve, without asking a person each time
    life : s that an offer holds for
    """

    mind: Mind
    site: SiteBook
    record: PromiseRecord
    background: BackgroundRate
    holds: bool
    learned: int
    life: int

    def sources(self, job: WantedJob) -> OfferSources:
        """Return who is asked."""
        holds = self.holds
        pool = self.mind.pool_of(job.partition, job.features)
        book = self.site.book if self.site.ended >= self.learned else None
        engine = self.mind.engine if holds or book is None else None
        corrected = self.record.corrected if holds else None
        name_of = self.mind.beliefs.names.__getitem__
        return OfferSources(
            engine, book, self.record.of, holds, self.background.survival, corrected, self.life,
            pool, self.mind.reckoned, Wording(told_moment, format_duration, name_of),
        )  # fmt: skip

    def quoted(self, job: WantedJob, now: int, by: int | None, least: float, count: int) -> Quoted:
        """Return the answer to a question; `count` is how many offers were booked before."""
        words = self._too_large(job)
        if words:
            return Quoted(now, (), None, words)
        moment, sources = self.mind.moment(now), self.sources(job)
        best: Offer | None = None
        if by is None:
            found = offers(job, moment, sources)
        else:
            said = answer(job, moment, sources, by=by, least=least)
            best, found = said.by, said.offers
        question = {**_question(job, by, least), "pool": sources.pool}
        rows = [
            self._row(one, job, question, now, count + k)
            for k, one in enumerate([*found, *([] if best is None else [best])])
        ]
        named = None if best is None else rows.pop()
        words = "" if rows or named else self._none(job, by)
        return Quoted(now, tuple(rows), named, words)

    def _row(
        self, one: Offer, job: WantedJob, question: dict[str, Any], now: int, number: int
    ) -> OfferRow:
        before = one.probability if one.before is None else one.before
        record = {"low": one.record.low, "high": one.record.high, "made": one.record.made,
                  "kept": one.record.kept}  # fmt: skip
        return OfferRow(
            id=digest([number, now, job.user, question]), at=now, expires=now + self.life,
            asked_by=job.user, question=question, size=job.nodes, length=job.time, start=one.start,
            deadline=one.deadline, before=before, probability=one.probability,
            reasons=list(one.reasons), record=record, held=int(one.held),
        )  # fmt: skip

    def _too_large(self, job: WantedJob) -> str:
        """Return why no job can have what is asked for, "" where one can."""
        pool = self.mind.pool_of(job.partition, job.features)
        nodes = self.mind.engine.size_of(pool)
        if job.nodes <= nodes:
            return ""
        where = f" in {job.partition}" if job.partition else " here"
        where += f" with {job.features}" if job.features else ""
        return f"no job can have {job.nodes:,} nodes{where}: there are {nodes:,}"

    def _none(self, job: WantedJob, by: int | None) -> str:
        if by is not None:
            return "no run can end by then, and no later deadline is as probable as requested"
        return f"no start is known: fewer than {job.nodes:,} nodes are up or known to return"

    def holds_still(self, offer: OfferRow, job: WantedJob, now: int) -> bool:
        """Whether an offer would be made again now for this job, with its probability at least. Of
        the engine's that is the one before correction: what became of others meanwhile takes
        nothing back."""
        if self._too_large(job):
            return False
        moment, sources = self.mind.moment(now), self.sources(job)
        if offer.held or sources.book is None:
            plain = replace(sources, survival=None, corrected=None, life=0)
            planned = plain.held(job, moment, offer.deadline)
            return any(one.probability >= offer.before - _NEAR for one in planned)
        plain = replace(sources, engine=None, life=0)
        said, by = offer.probability, offer.deadline
        if by > moment and any(
            one.probability >= said - _NEAR for one in plain.expected(job, moment, (), (by,))
        ):
            return True
        # The two questions are corrected each by its own record: either answer will do.
        levels = (said,) if 0 < said < 1 else ()
        return any(one.deadline <= by for one in plain.expected(job, moment, levels))


def _question(job: WantedJob, by: int | None, least: float) -> dict[str, Any]:
    """Return a question as the ledger keeps it."""
    told: dict[str, Any] = {
        "nodes": job.nodes, "time": job.time, "interval": job.interval, "name": job.name,
        "partition": job.partition, "features": job.features, "by": by,
    }  # fmt: skip
    return told if by is None else {**told, "least": least}


def wanted_job(offer: OfferRow, partition: str = "", name: str = "") -> WantedJob:
    """Return the job that an offer was asked for, with what was named since."""
    told = {name: offer.question.get(name, "") for name in ("name", "partition", "features")}
    told |= {"partition": partition} if partition else {}
    told |= {"name": name} if name else {}
    return WantedJob(
        offer.size, offer.length, offer.question.get("interval"), offer.asked_by, **told
    )
