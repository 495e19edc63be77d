"""A desk whose quotes and promises are counted and timed; it answers as the one behind it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from forestall.core.model.errors import ForestallError, InputError, LedgerError
from forestall.core.model.live.desk import (
    ClusterTold,
    CostTold,
    DecileTold,
    Desk,
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

BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""s; an offer list should take less than 0.1."""


class MeasuredDesk:
    """A desk that counts its quotes and promises in a registry of its own.

    Parameters
    ----------
    desk : answers
    clock : s, for the time that an answer takes
    """

    def __init__(self, desk: Desk, clock: Callable[[], float] = time.perf_counter) -> None:
        self._desk, self._clock = desk, clock
        self.registry: Final = CollectorRegistry()
        self._quotes = Counter(
            "forestall_quotes",
            "Quotes asked for, by result: offers, none, refused, failed.",
            ["result"],
            registry=self.registry,
        )
        self._accepted = Counter(
            "forestall_acceptances",
            "Attempts to take an offer, by result: promised, refused, failed.",
            ["result"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "forestall_quote_seconds", "Time per quote.",
            buckets=BUCKETS, registry=self.registry,
        )  # fmt: skip
        for result in ("offers", "none", "refused", "failed"):
            self._quotes.labels(result)
        for result in ("promised", "refused", "failed"):
            self._accepted.labels(result)

    def quote(self, viewer: Viewer, question: QuoteQuestion) -> QuoteTold:
        """Answer a question; nothing is promised by it."""
        began = self._clock()
        with _counting(self._quotes):
            told = self._desk.quote(viewer, question)
        self._seconds.observe(self._clock() - began)
        self._quotes.labels("offers" if told.offers or told.by else "none").inc()
        return told

    def accept(self, viewer: Viewer, offer: str, order: JobOrder) -> PromiseTold:
        """Make an offer a promise and submit its job."""
        with _counting(self._accepted):
            told = self._desk.accept(viewer, offer, order)
        self._accepted.labels("promised").inc()
        return told

    def submitted(self, viewer: Viewer, name: str, number: int) -> PromiseTold:
        """Take note that the owner of a promise submitted its job."""
        return self._desk.submitted(viewer, name, number)

    def withdraw(self, viewer: Viewer, name: str) -> PromiseTold:
        """Give a promise back whose job its owner has not submitted."""
        return self._desk.withdraw(viewer, name)

    def cluster(self, viewer: Viewer) -> ClusterTold:
        """Return the cluster in numbers."""
        return self._desk.cluster(viewer)

    def nodes(self, viewer: Viewer) -> list[NodeTold]:
        """Return all nodes, by name."""
        return self._desk.nodes(viewer)

    def jobs(self, viewer: Viewer) -> list[JobTold]:
        """Return the jobs that wait or run, by number."""
        return self._desk.jobs(viewer)

    def promises(self, viewer: Viewer, *, ended: bool = True, most: int = 500) -> list[PromiseTold]:
        """Return promises, the newest first."""
        return self._desk.promises(viewer, ended=ended, most=most)

    def promise(self, viewer: Viewer, name: str) -> PromiseTold:
        """Return one promise."""
        return self._desk.promise(viewer, name)

    def proposals(self, viewer: Viewer, *, most: int = 500) -> list[ProposalTold]:
        """Return what is proposed, and what was done lately, the newest first."""
        return self._desk.proposals(viewer, most=most)

    def decide(self, viewer: Viewer, proposal: str, approved: bool, why: str) -> ProposalTold:
        """Approve or reject a proposal."""
        return self._desk.decide(viewer, proposal, approved, why)

    def calibration(self, viewer: Viewer) -> list[DecileTold]:
        """Return how well the word was kept, by deciles of what was said."""
        return self._desk.calibration(viewer)

    def predictors(self, viewer: Viewer) -> list[PredictorTold]:
        """Return the predictors' records."""
        return self._desk.predictors(viewer)

    def costs(self, viewer: Viewer) -> list[CostTold]:
        """Return what actions cost and saved."""
        return self._desk.costs(viewer)


@contextmanager
def _counting(counter: Counter) -> Iterator[None]:
    """Count an answer that is an error: refused where the question was wrong."""
    try:
        yield
    except ForestallError as error:
        wrong = isinstance(error, InputError) and not isinstance(error, LedgerError)
        counter.labels("refused" if wrong else "failed").inc()
        raise
    except Exception:
        counter.labels("failed").inc()
        raise
