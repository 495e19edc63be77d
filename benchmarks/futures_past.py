"""How well do futures tell the starts of waiting jobs of the past, and what makes them so?

`python -m benchmarks.futures_past LOG.swf[.gz] [...]`

At 30 moments of a log's second half, by what was known then: mean pinball loss of the starts of all
waiting jobs over levels .05 to .95, in hours and in logarithms of minutes, and how often jobs had
started by their 90 % level, with and without: holds, arrivals, and the learned order.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core.model.job_records import NEVER
from forestall.scheduling.futures.futures import quantiles
from forestall.site.futures.question import FuturesQuestion
from forestall.site.futures.queue import SiteQueue, queue_at
from forestall.site.futures.study import played
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.given import GivenRecords
from forestall.slurm.sources.sources import gather

MOMENTS: Final = 30
FUTURES: Final = 64
LEVELS: Final = np.arange(0.05, 0.96, 0.05)
HOLDS: Final = {"holds": "recorded", "arrivals": "none", "order": "submitted"}
NEITHER: Final = {**HOLDS, "holds": "none"}
VARIANTS: Final[dict[str, dict[str, str]]] = {
    "submission": NEITHER,
    "learned order": {**NEITHER, "order": "learned"},
    "arrivals": {**NEITHER, "arrivals": "recent"},
    "holds": HOLDS,
    "holds, learned order": {**HOLDS, "order": "learned"},
    "holds, arrivals": {**HOLDS, "arrivals": "recent"},
    "as the command (auto)": {"holds": "recorded", "arrivals": "recent", "order": "auto"},
}


def pinball(seen: np.ndarray, told: np.ndarray) -> float:
    """Return the mean loss of float64[n] against quantiles float64[levels, n]."""
    over = seen - told
    return float(np.mean(np.maximum(LEVELS[:, None] * over, (LEVELS[:, None] - 1) * over)))


def losses(site: SiteRecords, queue: SiteQueue, variant: dict[str, Any]) -> list[float]:
    """Return the losses of one queue in hours and in logarithms, and the share kept at 90 %."""
    assert site.accounting is not None
    asked = FuturesQuestion(futures=FUTURES, **variant)
    found = played(site, queue, asked, None, dated=True)
    snapshot = found.queue.snapshot
    real = site.accounting.start[snapshot.job]
    waits = ~snapshot.running & (real < NEVER)
    seen = (real[waits] - snapshot.now) / 60
    told = quantiles(found.futures.start[:, waits], LEVELS) - snapshot.now
    told = np.minimum(told / 60, 1e6)
    kept = float(np.mean(seen <= told[-2]))
    return [pinball(seen, told) / 60, pinball(np.log1p(seen), np.log1p(told)), kept]


def main() -> None:
    """Print a table for each log."""
    for name in sys.argv[1:]:
        site = gather(GivenRecords(paths=(Path(name),)))
        records = site.accounting
        assert records is not None
        middle = (records.begin + records.until) // 2
        last = records.until - (records.until - records.begin) // 50
        moments = np.sort(np.random.default_rng(1).integers(middle, last, MOMENTS))
        queues = [queue_at(site, moment) for moment in moments.tolist()]
        queues = [one for one in queues if int(np.sum(~one.snapshot.running)) > 1]
        print(f"{Path(name).name}: {len(queues)} queues")
        for title, variant in VARIANTS.items():
            mean = np.mean([losses(site, one, variant) for one in queues], axis=0)
            print(f"  {title:24} {mean[0]:8.2f} h  {mean[1]:6.3f}  {100 * mean[2]:5.1f} %")


if __name__ == "__main__":
    main()
