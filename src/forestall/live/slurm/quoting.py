"""Offers of a live cluster: who is asked for them, and whether one still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from forestall.core.model.decisions import Wording
from forestall.core.model.live.canonical import digest
from forestall.core.model.quotes import Offer, Quote
from forestall.core.model.units import exact_duration, format_duration, told_moment
from forestall.core.show.words import counted
from forestall.live.ledger.rows import OfferRow
from forestall.live.quotes.offers import OfferSources, WantedJob, answer, offers
from forestall.live.slurm.background import BackgroundRate
from forestall.live.slurm.gpus import Gpus, gpus_asked, gpus_on
from forestall.live.slurm.limits import broken_limits
from forestall.live.slurm.mind import Mind
from forestall.live.slurm.pools import satisfied
from forestall.live.slurm.record import PromiseRecord
from forestall.live.slurm.site_book import SiteBook
from forestall.slurm.cluster.limits import LEAST, Claim, ClusterLimits, WhoseLimit
from forestall.slurm.cluster.nouns import ClusterPartition, ClusterSnapshot

if TYPE_CHECKING:
    from forestall.core.model.arrays import Floats

_NEAR = 1e-9
"""A probability that is lower by less is the same one."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_DRIFT: Final = 0.01
"""Nor does an offer of the engine hold no longer for less: hazards move on while it waits."""


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
    unheld : which of its limits keeps it from that now, in words
    seen : the look, which tells what partitions, QOS and associations allow
    life : s that an offer holds for
    """

    mind: Mind
    site: SiteBook
    record: PromiseRecord
    background: BackgroundRate
    holds: bool
    learned: int
    life: int
    unheld: str = ""
    seen: ClusterSnapshot = field(default_factory=lambda: ClusterSnapshot({}, {}, {}))

    def sources(self, job: WantedJob) -> OfferSources:
        """Return who is asked."""
        holds = self.holds and not self.unheld
        pool = self.mind.pool_of(job.partition, job.features)
        book = self.site.book if self.site.ended >= self.learned else None
        engine = self.mind.engine if holds or book is None else None
        corrected = self.record.corrected if holds else None
        name_of = self.mind.beliefs.names.__getitem__
        return OfferSources(
            engine, book, self.record.of, holds, self.unheld, self.background.survival,
            partial(self._lives, pool=pool), corrected, self.life, pool, self.mind.reckoned,
            Wording(told_moment, format_duration, name_of),
        )  # fmt: skip

    def quoted(self, job: WantedJob, now: int, by: int | None, least: float, count: int) -> Quoted:
        """Return the answer to a question; `count` is how many offers were booked before."""
        words = self.impossible(job)
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

    def _lives(self, quote: Quote, pool: int) -> float:
        """Return the probability that no node of a quote fails by itself before its deadline, at
        the site's rate. The engine has counted on the hazards of its nodes, where it knows of any;
        Slurm may take others, so that the mean over what it may take replaces them."""
        unknown = sum(not self.mind.knows_hazard(node) for node in quote.nodes)
        lives = self.background.survival(unknown, quote.deadline - quote.start)
        chosen = 1.0 - self.mind.hazards(quote.nodes.array(), quote.start, quote.deadline)
        lasting = float(chosen.prod())
        if lasting in {0.0, 1.0}:
            return lives
        nodes = self.mind.left_to_slurm(pool, len(chosen), quote.start, quote.deadline)
        if len(nodes) < len(chosen):
            return lives
        others = 1.0 - self.mind.hazards(nodes, quote.start, quote.deadline)
        return lives * mean_of_sets(others, len(chosen)) / lasting

    def impossible(self, job: WantedJob, asks: Mapping[str, str] = _NOTHING) -> str:
        """Return why no job can have what is asked for, "" where one can. Raises InputError.

        asks : options of `sbatch` that limits depend on, by long names (`scripts.LIMITED`)
        """
        return next(self._limits(job, asks), "") or self._too_large(job) or self._gpus(job, asks)

    def _limits(self, job: WantedJob, asks: Mapping[str, str]) -> Iterator[str]:
        """Yield which limits a job breaks: Slurm would take it, and never start it."""
        part = self.seen.partitions.get(job.partition, ClusterPartition(job.partition))
        known = self.seen.limits or ClusterLimits()
        claim = Claim(job.user, job.partition, asks.get("account", ""), asks.get("qos", ""))
        yield from broken_limits(part, job.nodes, job.time, known.flags(claim))
        asked = _asked(job, asks)
        for one in known.on(claim, part.qos):
            yield from _broken(one, asked)

    def _too_large(self, job: WantedJob) -> str:
        """Return why there are too few nodes for a job, "" where there are not."""
        pool = self.mind.pool_of(job.partition, job.features)
        nodes = self.mind.engine.size_of(pool)
        if job.nodes <= nodes:
            return ""
        are = "is" if nodes == 1 else "are"
        return f"no job can have {counted(job.nodes, 'node')}{_where(job)}: there {are} {nodes:,}"

    def _gpus(self, job: WantedJob, asks: Mapping[str, str]) -> str:
        """Return which GPUs the nodes that an offer counts on do not have, "" where they have
        all."""
        wanted = gpus_asked(asks, job.nodes)
        if not wanted:
            return ""
        has = [
            node.gres
            for node in self.seen.nodes.values()
            if job.partition in ("", *node.partitions) and satisfied(job.features, node.features)
        ]
        for one in wanted:
            counts = [gpus_on(gres, one.kind) for gres in has]
            enough = sum(count >= one.number for count in counts)
            if not enough:
                return f"no node{_where(job)} has {one}; the most is {max(counts, default=0):,}"
            if enough < len(counts):
                return (
                    f"only {enough:,} of {counted(len(counts), 'node')}{_where(job)} have {one}, "
                    "and the offer counted all of them; quote for their partition or their features"
                )
        return ""

    def _none(self, job: WantedJob, by: int | None) -> str:
        if by is not None:
            return "no run can end by then, and no later deadline is as probable as requested"
        if job.nodes == 1:
            return "no start is known: no node is up or known to return"
        return f"no start is known: fewer than {job.nodes:,} nodes are up or known to return"

    def holds_still(self, offer: OfferRow, job: WantedJob, now: int) -> bool:
        """Whether an offer would be made again now for this job, with its probability at least. Of
        the engine's that is the one before correction: what became of others meanwhile takes
        nothing back. One that is held has to be one that can be held now."""
        if self.impossible(job) or (offer.held and self.unheld):
            return False
        moment, sources = self.mind.moment(now), self.sources(job)
        if offer.held or sources.book is None:
            plain = replace(sources, survival=None, lives=None, corrected=None, life=0)
            planned = plain.held(job, moment, offer.deadline)
            drift = _DRIFT if self.mind.knows_hazards else _NEAR
            return any(one.probability >= offer.before - drift for one in planned)
        plain = replace(sources, engine=None, life=0)
        said, by = offer.probability, offer.deadline
        if by > moment and any(
            one.probability >= said - _NEAR for one in plain.expected(job, moment, (), (by,))
        ):
            return True
        # The two questions are corrected each by its own record: either answer will do.
        levels = (said,) if 0 < said < 1 else ()
        return any(one.deadline <= by for one in plain.expected(job, moment, levels))


def _where(job: WantedJob) -> str:
    """Return among which nodes a job is placed, in words."""
    where = f" in {job.partition}" if job.partition else " here"
    return where + (f" with {job.features}" if job.features else "")


def _asked(job: WantedJob, asks: Mapping[str, str]) -> dict[str, int]:
    """Return what a job asks for of what limits count; Slurm counts time in whole minutes."""
    asked = {"time": -(-job.time // 60) * 60, "node": job.nodes, "jobs": 1}
    for one in gpus_asked(asks, job.nodes):
        of = f"gres/gpu:{one.kind}" if one.kind else "gres/gpu"
        asked[of] = one.number * job.nodes
        asked["gres/gpu"] = max(asked[of], asked.get("gres/gpu", 0))
    return asked


def _broken(one: WhoseLimit, asked: Mapping[str, int]) -> Iterator[str]:
    """Yield how a job breaks a limit."""
    name, of, limit = one.limit
    if of not in asked:
        return
    if name == LEAST:
        if asked[of] < limit:
            yield f"{one.whose} takes jobs from {_much(of, limit)} on ({name})"
    elif asked[of] > limit and of == "jobs":
        yield f"{one.whose} starts no jobs ({name}=0)"
    elif asked[of] > limit:
        told = f"{_much(of, asked[of])} are asked for"
        yield f"{one.whose} allows {_much(of, limit)} ({name}); {told}"


def _much(of: str, count: int) -> str:
    """Return how much of something, in words."""
    if of == "time":
        return exact_duration(count)
    return counted(count, "node") if of == "node" else str(Gpus(of.partition(":")[2], count))


def mean_of_sets(lasting: Floats, size: int) -> float:
    """Return the mean, over all sets of `size` nodes, of the probability that all of them last:
    float64[nodes], each one's. To second order in how they differ: m ** n exp(-n (n - 1) v / (2
    (N - 1) m ** 2)), m and v being mean and variance of the N nodes; of alike nodes it is
    exact."""
    mean, count = float(lasting.mean()), len(lasting)
    if mean <= 0.0 or count < 2:
        return mean**size
    pairs = size * (size - 1) / 2 / (count - 1)
    return float(mean**size * np.exp(-pairs * lasting.var() / mean**2))


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' if count != 1 else ''}"


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
