"""The choice of a node as Python calls it."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.machines.rules import costs_kernels as costing
from forestall.machines.rules import fleet_kernels as fleets
from forestall.machines.rules import placement_kernels as placement


@entry
def choose(fleet, choosing, work, deadline, now, draw):
    """Return the node for one task, and why; see `placement_kernels.choose`."""
    alpha = placement.alpha_of(fleet, choosing, deadline)
    return placement.choose(fleet, choosing, alpha, work, deadline, now, draw)


@entry
def change(fleet, node, taken, up, closed, doubtful, foreseen):
    """Change everything about one node: take capacity of it, and set the rest."""
    fleets.take(fleet, node, taken)
    fleets.open_or_close(fleet, node, up, closed)
    fleets.foresee(fleet, node, foreseen)
    fleets.doubt(fleet, node, doubtful)


@entry
def learn(costs, memory, seconds):
    """Take in a move that came off; see `costs_kernels.learn`."""
    return costing.learn(costs, memory, seconds)
