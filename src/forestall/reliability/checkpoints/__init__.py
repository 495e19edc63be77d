"""Checkpoint intervals, completion times, and copies on a ring of nodes."""
