"""`fs.futures`: a queue played forward for many draws of its run times, and quotes from that."""

from forestall.scheduling.futures.futures import FutureQuote, Futures, quantiles
from forestall.scheduling.futures.snapshot import (
    NEVER,
    Arrivals,
    Drain,
    Happened,
    NodeHazard,
    QueueEvent,
    SchedulerRule,
    Snapshot,
)
from forestall.scheduling.simulation.futures.run import make_futures, quote_futures, update_futures
from forestall.site.learning.futures.law import JobsAsked, RunLaw

__all__ = [
    "NEVER",
    "Arrivals",
    "Drain",
    "FutureQuote",
    "Futures",
    "Happened",
    "JobsAsked",
    "NodeHazard",
    "QueueEvent",
    "RunLaw",
    "SchedulerRule",
    "Snapshot",
    "make_futures",
    "quantiles",
    "quote_futures",
    "update_futures",
]
