"""The parts of a live controller's cycle that go over all nodes and jobs, without the engine.

    python -m benchmarks.live_parts [NODES [JOBS]]

NODES (10,000) busy nodes with JOBS (5,000) jobs in the queue, as in `benchmarks.live_load`; medians
of five, of the processor, each against what reading such a look takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

from benchmarks.common import line
from benchmarks.live_load import YARD, BusySite, Spent, reading
from forestall.live.slurm.pools import Pools
from forestall.live.slurm.reconcile import Beliefs, reconcile
from forestall.live.slurm.sight import sight_of
from forestall.live.slurm.site_book import SiteBook

TIMES = 5


def main(arguments: list[str]) -> None:
    """Print a line for each part."""
    nodes, queued = [int(word) for word in arguments[:2]] or [10_000, 5_000]
    site = BusySite(nodes, queued)
    seen = site.look()
    beliefs = reconcile(Beliefs.none(seen), seen, site.now).beliefs
    pools = Pools(seen.nodes, {name: k for k, name in enumerate(beliefs.names)})
    book = SiteBook()
    book.learn(seen)
    site.pass_time()
    seen = site.look()
    yard = median(reading(nodes, len(site.jobs)).processor)
    parts: dict[str, Callable[[], object]] = {
        "difference of two looks (reconcile)": lambda: reconcile(beliefs, seen, site.now),
        "what the guard sees (sight_of)": lambda: sight_of(seen, {}),
        "whether partitions are the same": lambda: pools.hold_for(seen.nodes),
        "the site's book, nothing new": lambda: book.learn(seen),
    }
    book.learn(seen)
    print(f"{nodes:,} nodes, {len(site.jobs):,} jobs, {queued:,} of them queued")
    for what, part in parts.items():
        spent = Spent()
        for _ in range(TIMES):
            spent.on(part)
        line(what, median(spent.processor), YARD, yard)


if __name__ == "__main__":
    main(sys.argv[1:])
