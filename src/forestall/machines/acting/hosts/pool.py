"""What coordinators ask of many hosts: more than a back end of machines, since a host may be lost.

A back end (`live.machines.backend.Backend`) runs machines on nodes; QEMU on one host is one, and so
is libvirt. Where nodes are hosts of their own, coordinators also need to know which of them answer,
what these have, and how a machine can be started again elsewhere without being there twice.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from forestall.core.model.errors import ForestallError
from forestall.machines.acting.backend import Backend, SeenMachine
from forestall.machines.rules.sizes import Size


@dataclass(frozen=True)
class Definition:
    """What a machine consists of, for whoever runs it.

    Attributes
    ----------
    machine : its name
    text : the hypervisor's own form; of libvirt the XML of a domain
    size : what it takes of a node
    runtime : s that it has to run, from `begun` on; None: as long as there is time
    deadline : by when, s since 1970; None: none is known
    begun : when it was started first, s since 1970
    after_loss : what is done where its host is lost, see `AFTER_LOSS`
    generation : how many times it was started; the lower one of two runs is the stale one
    """

    machine: str
    text: str
    size: Size
    runtime: int | None = None
    deadline: int | None = None
    begun: int = 0
    after_loss: str = "checkpoint"
    generation: int = 1


AFTER_LOSS = ("checkpoint", "boot", "nothing")
"""A machine whose host is lost goes on from its last checkpoint (it stays lost without one), boots
anew, or stays lost."""


@dataclass(frozen=True)
class HostedMachine(SeenMachine):
    """A machine as it was found on a host.

    Attributes
    ----------
    definition : as the host has it; None where the machine is none of ours
    size : what it takes
    cpu : seconds of processors that it has used; nan where not known
    busy : something is being done to it (it is moved, saved), by whomever
    barred : it does not run there, and cannot: what is there only holds its place
    """

    definition: Definition | None = None
    size: Size = field(default_factory=lambda: Size(0, 0))
    cpu: float = math.nan
    busy: bool = False
    barred: bool = False


@dataclass(frozen=True)
class SeenHost:
    """A host as it was found.

    Attributes
    ----------
    node : its name
    answers : whether it did
    size : processors and bytes of memory that machines may have
    machines : that it has, running or not
    load : share of its processors in use by anyone, 0 to 1; nan where not known
    says : why it does not answer
    """

    node: str
    answers: bool
    size: Size = field(default_factory=lambda: Size(0, 0))
    machines: tuple[HostedMachine, ...] = ()
    load: float = math.nan
    says: str = ""

    def machine(self, name: str) -> HostedMachine | None:
        """Return a machine of that name that is not merely barred."""
        return next((one for one in self.machines if one.machine == name and not one.barred), None)


class HostCallError(ForestallError):
    """A host did not do what it was asked.

    Parameters
    ----------
    node, message : which, and why, in one line
    silent : it did not answer: what was asked may have been done
    """

    def __init__(self, node: str, message: str, *, silent: bool = False) -> None:
        self.node, self.silent = node, silent
        super().__init__(f"{node}: {message}")


class MachineHosts(Backend, Protocol):
    """Runs machines on hosts of their own, which may not answer."""

    def look(self, nodes: Collection[str]) -> dict[str, SeenHost]:
        """Return these hosts as they are now; one that does not answer in time is told so."""
        ...

    def begin(self, definition: Definition, node: str, image: str = "") -> None:
        """Start a machine on a host, from an image of its memory where one is given.

        One that runs there already is no error. Raises HostCallError.
        """
        ...

    def remove(self, machine: str, node: str) -> None:
        """End a machine on a host and forget it there; one that is not there is no error."""
        ...

    def bar(self, definition: Definition, node: str) -> None:
        """See to it that a machine cannot be started on a host, or come there, by anyone who does
        not lift that first; raises HostCallError where it runs there."""
        ...

    def resume(self, machine: str, node: str) -> None:
        """Let a paused machine run on."""
        ...

    def checkpoint(self, machine: str, node: str, image: str) -> None:
        """Write the memory of a running machine to a file, while it runs on.

        Raises HostCallError, also for a machine whose state is not in its memory alone.
        """
        ...
