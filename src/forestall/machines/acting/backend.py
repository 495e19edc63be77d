"""What the live controller asks of whatever runs virtual machines."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from forestall.core.model.errors import ForestallError


class MachineState(StrEnum):
    """What became of a virtual machine."""

    RUNNING = "running"
    PAUSED = "paused"
    MOVING = "moving"
    ENDED = "ended"  # by itself: its guest switched off
    STOPPED = "stopped"  # on request
    LOST = "lost"  # its process is gone, and nobody asked for that
    BROKEN = "broken"  # its process is there, but the guest cannot go on in it
    UNKNOWN = "unknown"  # its process is there, but does not say

    @property
    def alive(self) -> bool:
        """Whether there is a guest that has its memory."""
        return self not in {MachineState.ENDED, MachineState.STOPPED, MachineState.LOST}


@dataclass(frozen=True)
class SeenMachine:
    """One virtual machine as it was found.

    Attributes
    ----------
    machine : its name
    node : where it runs, or ran last
    state : what became of it
    console : path of what its guest printed there
    pid : its process; 0 where there is none
    says : the hypervisor's own word for its state, such as ``io-error``; empty where there is none
    """

    machine: str
    node: str
    state: MachineState
    console: str = ""
    pid: int = 0
    says: str = ""


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

    REFUSED = "refused"  # not begun, or the target cannot be started or does not take this guest
    BROKEN = "broken"  # the link or the target broke while memory was sent
    TIMEOUT = "timeout"  # not done within the time it was given
    CANCELLED = "cancelled"  # by someone else
    LOST = "lost"  # the process that had the guest ended, and the guest with it


class MoveError(ForestallError):
    """A migration that did not come off.

    Parameters
    ----------
    machine : its name
    why : the kind of failure
    message : what happened, in one line
    alive : whether the guest is still there; False only where its process ended
    blames_target : whether the target itself was at fault: could not be started, did not listen,
        differs from the source, died or hung
    fate : what became of the guest, in words, where it neither runs on at its source nor is lost
    """

    def __init__(
        self,
        machine: str,
        why: Why,
        message: str,
        *,
        alive: bool,
        blames_target: bool = False,
        fate: str = "",
    ) -> None:
        self.machine = machine
        self.why = why
        self.message = message
        self.alive = alive
        self.blames_target = blames_target
        fate = fate or ("it runs on where it was" if alive else "it is lost")
        super().__init__(f"{machine}: not moved ({why}): {message}; {fate}")


class Backend(Protocol):
    """Runs virtual machines on nodes. Each call looks at what is really there."""

    def watch(self) -> list[SeenMachine]:
        """Return all virtual machines, by name; what a killed command left is put in order."""
        ...

    def start(self, machine: str, node: str) -> SeenMachine:
        """Start a machine that the back end knows on a node; raises ForestallError where it
        cannot."""
        ...

    def stop(self, machine: str) -> None:
        """End a machine; one that does not run any more is no error."""
        ...

    def migrate(self, machine: str, node: str, *, expected: str | None = None) -> Moved:
        """Move a running machine to a node; raises MoveError where that did not come off.

        Where `expected` is given and the machine is not on that node any more, nothing is begun.
        """
        ...
