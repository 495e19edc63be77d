"""`fs.systems`: reliability of machines, queues and spares, and histories of failures."""

from forestall.reliability.checkpoints.checkpoints import nodes_for_interval
from forestall.reliability.fits.estimate import Fitted
from forestall.reliability.history.history import History, YearRule, history
from forestall.reliability.lifetimes.base import Lifetime
from forestall.reliability.queues.prices import Prices, cheapest, priced_jobs
from forestall.reliability.queues.queues import job_failure, move_nodes, queue_failure
from forestall.reliability.queues.runtimes import PAPER_SCAN, HyperGamma
from forestall.reliability.systems.components import Component, node_law, shares_of
from forestall.reliability.systems.ring import survival as ring_survival
from forestall.reliability.systems.spares import spares_within
from forestall.reliability.systems.systems import ComponentGroup, from_mttf, series_mttf, series_sf

__all__ = [
    "PAPER_SCAN",
    "Component",
    "ComponentGroup",
    "Fitted",
    "History",
    "HyperGamma",
    "Lifetime",
    "Prices",
    "YearRule",
    "cheapest",
    "from_mttf",
    "history",
    "job_failure",
    "move_nodes",
    "node_law",
    "nodes_for_interval",
    "priced_jobs",
    "queue_failure",
    "ring_survival",
    "series_mttf",
    "series_sf",
    "shares_of",
    "spares_within",
]
