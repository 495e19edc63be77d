"""What a look at the cluster showed, as far as acting on it goes; and the state of a target.

`standing` is what a decision is based on: it is kept in the intent, and where it differs on a fresh
look, the intent is dropped. It says nothing of what may change meanwhile, such as the load of a
node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.model.cluster.marks import RESERVATION, mark_of_reason
from forestall.model.live.intents import ON_JOBS, Action

GONE: Final = "gone"
"""The standing of a target that is not there."""


class NodeSight(NamedTuple):
    """A node.

    Attributes
    ----------
    partitions : that it belongs to
    drained, down, rebooting : as Slurm says
    busy : a job runs on it
    reason : Slurm's, raw
    boot : when it booted, s; 0: not told
    promised : a promise counts on it: a promised job runs on it, or one of our reservations has it
    reserved : a reservation that is not ours has it
    """

    partitions: tuple[str, ...] = ()
    drained: bool = False
    down: bool = False
    rebooting: bool = False
    busy: bool = False
    reason: str = ""
    boot: int = 0
    promised: bool = False
    reserved: bool = False

    @property
    def in_service(self) -> bool:
        """Whether jobs may run on it."""
        return not (self.drained or self.down or self.rebooting)

    @property
    def is_ours(self) -> bool:
        """Whether its reason is of one of our intents, and nobody added a word to it."""
        return bool(mark_of_reason(self.reason))

    @property
    def is_a_persons(self) -> bool:
        """Whether somebody else took it out of service."""
        return (self.drained or self.rebooting) and not self.is_ours

    @property
    def standing(self) -> str:
        """What a decision on it is based on."""
        flags = {"drained": self.drained, "down": self.down, "rebooting": self.rebooting}
        told = "+".join(name for name, is_so in flags.items() if is_so) or "up"
        by = mark_of_reason(self.reason) or ("other" if self.reason else "")
        return f"{told} by={by} boot={self.boot}"


class JobSight(NamedTuple):
    """A job.

    Attributes
    ----------
    state : Slurm's, raw, such as RUNNING
    start : of this run, s; 0: none yet
    promise : id of the promise that it carries, by its tag; "": none
    held : a person holds it
    """

    state: str
    start: int = 0
    promise: str = ""
    held: bool = False

    @property
    def standing(self) -> str:
        """What a decision on it is based on."""
        return f"{self.state} start={self.start} promise={self.promise} held={int(self.held)}"


class ReservationSight(NamedTuple):
    """A reservation: how many nodes it has in which partition ("": in several or none), and
    whether its flags and users are still those that we gave it."""

    size: int
    partition: str = ""
    as_made: bool = True

    @property
    def standing(self) -> str:
        """What a decision on it is based on."""
        return f"size={self.size} partition={self.partition} as_made={int(self.as_made)}"


@dataclass(frozen=True)
class ClusterSight:
    """A look at a cluster at `at`, s since 1970; `whole` where nothing was cut short."""

    at: int
    whole: bool = True
    nodes: Mapping[str, NodeSight] = field(default_factory=dict)
    jobs: Mapping[str, JobSight] = field(default_factory=dict)
    reservations: Mapping[str, ReservationSight] = field(default_factory=dict)

    def standing(self, action: Action, target: str) -> str:
        """Return the state of what an action is about, `GONE` where it is not there."""
        found: NodeSight | JobSight | ReservationSight | None
        if action in ON_JOBS:
            found = self.jobs.get(target)
        elif action in {Action.RESERVE, Action.RELEASE}:
            found = self.reservations.get(target)
        else:
            found = self.nodes.get(target)
        return GONE if found is None else found.standing

    def partitions(self) -> dict[str, list[str]]:
        """Return the names of the nodes of each partition; of "" those of all."""
        found: dict[str, list[str]] = {"": list(self.nodes)}
        for name, node in self.nodes.items():
            for partition in node.partitions:
                found.setdefault(partition, []).append(name)
        return found

    def our_reservations(self) -> Iterator[tuple[str, ReservationSight]]:
        """Yield the reservations whose names are ours."""
        for name, one in self.reservations.items():
            if name.startswith(RESERVATION):
                yield name, one
