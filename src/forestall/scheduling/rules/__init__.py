"""Placement, negotiation and checkpoints of the promise policy."""
