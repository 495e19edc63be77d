"""`fs.futures`: a queue played forward for many draws of its run times, and quotes from that."""

from forestall.engine.futures.futures import FutureQuote, Futures, quantiles
from forestall.engine.futures.snapshot import (
    NEVER,
    Arrivals,
    Drain,
    Happened,
    NodeHazard,
    QueueEvent,
    SchedulerRule,
    Snapshot,
)
from forestall.predict.futures.law import JobsAsked, RunLaw
from forestall.simulation.futures.run import make_futures, quote_futures, update_futures

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
