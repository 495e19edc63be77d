"""How near each other the nodes of a run's jobs were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forestall.core.model.topology import Topology

if TYPE_CHECKING:
    from forestall.scheduling.simulation.run import Outcome


def nearness(outcome: Outcome, topology: Topology) -> dict[str, Any]:
    """Return how many runs of several nodes could have had them near each other, `could`, the share
    that had, `near`, and at how many switches of the lowest level, or in how many rows of numbers,
    the nodes of those runs stood, `places_mean`; None where no run could."""
    runs, nodes = outcome.runs, outcome.parameters.nodes
    size, places, most = outcome.workload.jobs.size[runs["job"]], runs["ranges"], nodes
    if not topology.contiguous:
        units = [unit for level, unit in topology.units(nodes) if level == 0]
        home = np.arange(nodes) + len(units)  # a node without a switch is near no other
        for number, unit in enumerate(units):
            home[unit.array()] = number
        owner, low, high = _ranges(outcome)
        length = high - low
        begins = np.repeat(low - (np.cumsum(length) - length), length)
        at = home[begins + np.arange(length.sum())]
        kinds = nodes + len(units)
        pairs = np.unique(np.repeat(owner, length) * kinds + at)  # a run at a switch, each once
        places, most = np.bincount(pairs // kinds, minlength=len(runs)), max(map(len, units))
    able = (size >= 2) & (size <= most)
    count = int(able.sum())
    return {
        "could": count,
        "near": float((places[able] == 1).mean()) if count else None,
        "places_mean": float(places[able].mean()) if count else None,
    }


def _ranges(outcome: Outcome) -> tuple[Any, Any, Any]:
    """Return the run, the first node and the end of each range of nodes."""
    runs = outcome.runs
    count = runs["ranges"]
    owner = np.repeat(np.arange(len(runs)), count)
    begins = runs["first_range"] - (np.cumsum(count) - count)
    row = np.repeat(begins, count) + np.arange(count.sum())
    return owner, outcome.ranges[row, 0], outcome.ranges[row, 1]
