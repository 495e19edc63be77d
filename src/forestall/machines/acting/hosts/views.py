"""What is known at a moment: hosts as seen, machines as written down, and the room that follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from forestall.machines.acting.backend import MachineState
from forestall.machines.acting.hosts.pool import HostedMachine, SeenHost
from forestall.machines.acting.hosts.records import HostRecord, HostState, MachineRecord
from forestall.machines.rules.sizes import Size


@dataclass
class View:
    """A look, with what was written down.

    Attributes
    ----------
    now : s since 1970
    hosts : as they were seen
    known : what is written down of them
    records : all machines, by name
    """

    now: float
    hosts: dict[str, SeenHost]
    known: dict[str, HostRecord]
    records: dict[str, MachineRecord] = field(default_factory=dict)

    def up(self, node: str) -> bool:
        """Whether a host answers and may be used."""
        host = self.hosts.get(node)
        return host is not None and host.answers and self.known[node].state is HostState.UP

    def alive(self, machine: str) -> dict[str, HostedMachine]:
        """Return the nodes that have a machine's guest, of those that answer."""
        found = {}
        for node, host in self.hosts.items():
            one = host.machine(machine) if host.answers else None
            if one is not None and one.state.alive:
                found[node] = one
        return found

    def surely_not(self, machine: str, node: str) -> bool:
        """Whether a machine is known not to run on a node: it answers, or is fenced, and has it
        not."""
        host = self.hosts.get(node)
        if host is not None and host.answers:
            one = host.machine(machine)
            return one is None or not one.state.alive
        return node in self.known and self.known[node].state is HostState.FENCED


def free_room(view: View, records: Mapping[str, MachineRecord], node: str) -> Size:
    """Return what a host has to give, with all that is there or on its way there.

    `records` are read anew under the lock of `RecordStore.choosing`; machines that are none of
    ours count as they were seen.
    """
    host = view.hosts[node]
    taken = [one.definition.size for one in records.values() if node in one.places]
    taken += [
        one.size
        for one in host.machines
        if one.state.alive and not one.barred and node not in _places(records, one.machine)
    ]
    room = host.size
    for size in taken:
        room = room - size
    return room


def _places(records: Mapping[str, MachineRecord], machine: str) -> Collection[str]:
    record = records.get(machine)
    return () if record is None else record.places


def runs(found: HostedMachine) -> bool:
    """Whether a guest runs, and does not merely have its memory there."""
    return found.state is MachineState.RUNNING
