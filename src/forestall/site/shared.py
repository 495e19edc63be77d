"""What several sections need of the same runs, worked out once a report."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from forestall.reliability.nodes.signals import operator_ended
from forestall.slurm.records.run_ends import Ends

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.records.site_records import SiteRecords

_LAST: list[tuple[weakref.ref[Accounting], weakref.ref[NodeEvents] | None, Ends]] = []
"""Of the records that were asked about last; gone with them."""


def how_ended(site: SiteRecords) -> Ends:
    """Return how the runs of a site's accounting ended; answers are kept for the latest records."""
    records, events = site.accounting, site.events
    assert records is not None, "no accounting"
    for known, outages, ends in _LAST:
        if known() is records and (None if outages is None else outages()) is events:
            return ends

    ends = Ends.of(records, _by_operator(site))
    of_events = None if events is None else weakref.ref(events)
    _LAST[:] = [(weakref.ref(records, lambda _: _LAST.clear()), of_events, ends)]
    return ends


def _by_operator(site: SiteRecords) -> npt.NDArray[np.bool_] | None:
    """Return which runs an operator ended by taking a node away; None without outages."""
    if site.accounting is None or site.events is None:
        return None
    listed = () if site.inventory is None else site.inventory.names
    names = tuple(dict.fromkeys((*listed, *site.events.names)))
    return operator_ended(site.accounting, site.events, names)
