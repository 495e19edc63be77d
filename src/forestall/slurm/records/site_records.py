"""All that a site's records tell, on one clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from forestall.core.model.arrays import brief_repr
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.failures import Failures
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.node_events import NodeEvents
from forestall.slurm.records.present import PresentQueue
from forestall.slurm.records.start_estimates import StartEstimates


@dataclass(frozen=True)
class SiteRecords:
    """Records that were read; None for those that are missing.

    Attributes
    ----------
    accounting : runs of jobs
    events : outages of nodes
    inventory : the nodes
    estimates : what the batch system said about starts
    present : what the batch system said of this moment, where it was asked itself
    failures : of a failure log, where there are no `events`; on the accounting's clock
    sources : what was read, as text
    cleaning : what concerns several of them
    """

    accounting: Accounting | None = None
    events: NodeEvents | None = None
    inventory: Inventory | None = None
    estimates: StartEstimates | None = None
    failures: Failures | None = None
    present: PresentQueue | None = None
    sources: tuple[str, ...] = ()
    cleaning: Cleaning = field(default_factory=Cleaning)

    __repr__ = brief_repr

    def cleanings(self) -> Cleaning:
        """Return all remarks, from what was read first to what was read last."""
        whole = self.cleaning
        for part in (self.accounting, self.events, self.inventory, self.estimates, self.failures):
            if part is not None:
                whole = whole + part.cleaning
        return whole
