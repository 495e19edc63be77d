"""What groups of runs waited, used and lost: the same columns for an account, a user and a job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.show.quantities import duration, number, percent
from forestall.prediction.assess.losses import after_checkpoint, exact_sums
from forestall.site.losses.amounts import HOUR, every
from forestall.slurm.records.accounting import UNLIMITED
from forestall.slurm.records.run_ends import LOST, cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forestall.core.show.blocks import Column
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.run_ends import Ends

Codes = npt.NDArray[np.int64]
NONE: Final = "-"


def used_by(
    records: Accounting, ends: Ends, code: Codes, names: Sequence[str], interval: int
) -> list[dict[str, Any]]:
    """Return what the runs of each group waited, used and lost, in the order of `names`.

    Parameters
    ----------
    ends : how these runs ended
    code : int64[n], the place of each run's group in `names`; -1: none
    interval : s between checkpoints that jobs are taken to write
    """
    rows = np.flatnonzero(code >= 0)
    code = code[rows]
    nodes = np.maximum(records.nodes[rows], 0).astype(np.int64)
    elapsed, limit, count = ends.elapsed[rows], records.limit[rows], len(names)
    lost = np.isin(ends.causes[rows], [cause(name) for name in LOST])
    after = np.where(lost, after_checkpoint(elapsed, interval), 0)
    started = ends.causes[rows] != cause("never_started")
    limited = started & (limit > 0) & (limit < UNLIMITED)
    waits = _medians(records.wait[rows], code, count)
    sums = {
        "node_hours": nodes * elapsed,
        "lost_node_hours": np.where(lost, nodes * elapsed, 0),
        "lost_after_checkpoint_node_hours": nodes * after,
    }
    told = {name: exact_sums(code, value, count) / HOUR for name, value in sums.items()}
    ran, asked = (exact_sums(code[limited], value[limited], count) for value in (elapsed, limit))
    broken = ends.causes[rows] == cause("node_failure")
    return [
        {
            "name": name,
            "runs": int(runs),
            "wait_median_seconds": float(wait),
            **{key: float(value[k]) for key, value in told.items()},
            "time_limit_used_ratio": float(ran[k] / asked[k]) if asked[k] else float("nan"),
            "runs_ended_by_node_failures": int(hits),
        }
        for k, (name, runs, wait, hits) in enumerate(
            zip(
                names,
                np.bincount(code[started], minlength=count),
                waits,
                np.bincount(code[broken], minlength=count),
                strict=True,
            )
        )
    ]


def _medians(value: npt.NDArray[np.int64], code: Codes, count: int) -> npt.NDArray[np.float64]:
    """Return the median of what is told (>= 0) by code, nan without any, float64[count]."""
    some = np.flatnonzero(value >= 0)
    order = some[np.lexsort((value[some], code[some]))]
    cuts = np.searchsorted(code[order], np.arange(count + 1))
    low, size = cuts[:-1], np.diff(cuts)
    found = np.full(count, np.nan)
    there = np.flatnonzero(size)
    middle = value[order[low[there] + (size[there] - 1) // 2]]
    found[there] = (middle + value[order[low[there] + size[there] // 2]]) / 2
    return found


def columns(head: str, interval: int, *, waits: bool = True) -> list[Column]:
    """Return the columns of a table of such groups, whose names stand under `head`; without waits
    where the records do not tell them."""
    often = every(interval)
    made: list[Column] = [
        (head, "name", str),
        ("Runs", "runs", number),
        ("Median wait", "wait_median_seconds", duration),
        ("Node-hours", "node_hours", number),
        ("Time limit used", "time_limit_used_ratio", percent),
        ("Lost, no checkpoints", "lost_node_hours", number),
        (f"Lost, checkpoint every {often}", "lost_after_checkpoint_node_hours", number),
        ("Ended by node failures", "runs_ended_by_node_failures", number),
    ]
    return made if waits else [one for one in made if one[0] != "Median wait"]
