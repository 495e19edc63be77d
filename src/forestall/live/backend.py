"""What the live controller asks of whatever runs virtual machines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from forestall.model.errors import ForestallError


class State(StrEnum):
    """What became of a virtual machine."""

    RUNNING = "running"
    PAUSED = "paused"
    MOVING = "moving"
    ENDED = "ended"  # by itself: its guest switched off
    STOPPED = "stopped"  # on request
    LOST = "lost"  # its process is gone, and nobody asked for that
    UNKNOWN = "unknown"  # its process is there, but does not say

    @property
    def alive(self) -> bool:
        """Whether there is a guest that has its memory."""
        return self in {State.RUNNING, State.PAUSED, State.MOVING, State.UNKNOWN}


@dataclass(frozen=True)
class Seen:
    """One virtual machine as it was found.

    Attributes
    ----------
    machine : its name
    node : where it runs, or ran last
    state : what became of it
    console : path of what its guest printed there
    pid : its process; 0 where there is none
    """

    machine: str
    node: str
    state: State
    console: str = ""
    pid: int = 0


@dataclass(frozen=True)
class Moved:
    """A migration that came off.

    Attributes
    ----------
    machine, source, target : what moved, from which node to which
    seconds : from the first step to the last
    gap : seconds during which the guest ran nowhere, by the host's clock; nan where not known
    reported : downtime in seconds as the hypervisor reports it
    transferred : bytes of memory sent
    rounds : passes over the guest's memory
    """

    machine: str
    source: str
    target: str
    seconds: float
    gap: float
    reported: float
    transferred: int
    rounds: int


class Why(StrEnum):
    """Why a migration did not come off."""

    REFUSED = "refused"  # the target cannot be started, or does not take this guest
    BROKEN = "broken"  # the link or the target broke while memory was sent
    TIMEOUT = "timeout"  # not done within the time it was given
    CANCELLED = "cancelled"  # by someone else
    LOST = "lost"  # the source ended, and the guest with it


class MoveError(ForestallError):
    """A migration that did not come off.

    Parameters
    ----------
    machine : its name
    why : the kind of failure
    message : what happened, in one line
    alive : whether the guest runs on at its source
    """

    def __init__(self, machine: str, why: Why, message: str, *, alive: bool) -> None:
        self.machine = machine
        self.why = why
        self.message = message
        self.alive = alive
        fate = "it runs on where it was" if alive else "it is lost"
        super().__init__(f"{machine}: not moved ({why}): {message}; {fate}")


class Backend(Protocol):
    """Runs virtual machines on nodes. Each call looks at what is really there."""

    def watch(self) -> list[Seen]:
        """Return all virtual machines, by name."""
        ...

    def start(self, machine: str, node: str) -> Seen:
        """Start a machine that the back end knows on a node; raises ForestallError where it
        cannot."""
        ...

    def stop(self, machine: str) -> None:
        """End a machine; one that does not run any more is no error."""
        ...

    def migrate(self, machine: str, node: str) -> Moved:
        """Move a running machine to a node; raises MoveError where that did not come off."""
        ...
