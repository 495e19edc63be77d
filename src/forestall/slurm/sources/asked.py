"""What was asked of a report."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """The window, the cut, and what is assumed where the records are silent.

    Attributes
    ----------
    begin, until : the window [begin, until), s on the clock of the records
    partition : only runs in this partition; None: all
    min_nodes : only runs on at least so many nodes
    node_hour_cost, currency : what a node-hour costs; None: not told
    checkpoint_interval : s between checkpoints that jobs are taken to make
    checkpoint_cost, restart : s that a checkpoint and a restart take
    level : of all intervals
    seed : of all random draws
    zone : time zone for hours of the day, such as ``Europe/Berlin``; None: UTC
    learn : whether quotes are learned from jobs and queue; else they rest on similar jobs only
    """

    begin: int
    until: int
    partition: str | None = None
    min_nodes: int = 1
    node_hour_cost: float | None = None
    currency: str = "EUR"
    checkpoint_interval: int = 3600
    checkpoint_cost: int = 300
    restart: int = 300
    level: float = 0.95
    seed: int = 1
    zone: str | None = None
    learn: bool = True

    @property
    def days(self) -> float:
        """The window's length in days."""
        return (self.until - self.begin) / 86_400
