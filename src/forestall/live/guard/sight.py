"""What a look at the cluster showed, as far as acting on it goes; and the state of a target.

`standing` is what a decision is based on: it is kept in the intent, and where it differs on a fresh
look, the intent is dropped. It says nothing of what may change meanwhile, such as the load of a
node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from forestall.core.model.live.intents import ON_JOBS, Action
from forestall.core.model.marks import RESERVATION, mark_of_reason
from forestall.core.model.units import told_moment
from forestall.core.show.words import counted

GONE: Final = "gone"
"""The standing of a target that is not there."""
_MOMENTS: Final = {"boot": "booted", "start": "started"}


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

    @cached_property
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


def standing_in_words(standing: str) -> str:
    """Return a standing as people read it.

    >>> standing_in_words("drained by=other boot=1800000000")
    'drained, with a reason that is not ours, booted 2027-01-15 08:00 UTC'
    >>> standing_in_words("RUNNING start=0 promise= held=1")
    'running, held by a person'
    """
    parts = (part.rpartition("=") for part in standing.split(" "))
    return ", ".join(told for name, _, value in parts if (told := _part(name, value)))


def _part(name: str, value: str) -> str:
    """Return a part of a standing in words, "" for what goes without saying."""
    if not name:
        return value.replace("+", " and ").lower()
    if name == "as_made":
        return "as we made it" if value == "1" else "changed by a person"
    if value in {"", "0"}:
        return ""
    if name in _MOMENTS and value.isdigit():
        return f"{_MOMENTS[name]} {told_moment(int(value))}"
    if name == "by":
        return "with a reason that is not ours" if value == "other" else f"drained by {value}"
    if name == "size" and value.isdigit():
        return counted(int(value), "node")
    return "held by a person" if name == "held" else f"{name} {value}"
