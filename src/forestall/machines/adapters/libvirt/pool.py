"""Hosts that run libvirt: looked at, and told to start, end, move and save machines."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.machines.acting.backend import MachineState, Moved, MoveError, SeenMachine, Why
from forestall.machines.acting.hosts.pool import Definition, HostCallError, HostedMachine, SeenHost
from forestall.machines.adapters.libvirt import domains
from forestall.machines.adapters.libvirt.lines import HostCall, HostLine, module
from forestall.machines.adapters.libvirt.moves import MoveRules, moved
from forestall.machines.rules.sizes import Size

_ACT: Final = 60.0
"""s that an act may take, other than moves and checkpoints."""


@dataclass(frozen=True)
class LibvirtHost:
    """How a host is reached, and what machines may have of it.

    Attributes
    ----------
    uri : for whoever coordinates, such as ``qemu+tls://h1/system``
    peer : for other hosts that send machines there; "" where that is the same
    data : where memory is sent to, such as ``tcp://10.0.0.1``; "": libvirt's own choice
    processors, memory : that machines may have; 0: what libvirt says that the host has
    """

    uri: str
    peer: str = ""
    data: str = ""
    processors: float = 0.0
    memory: float = 0.0


class LibvirtPool:
    """Runs machines on libvirt's hosts; a `forestall.machines.acting.hosts.pool.MachineHosts`.

    Parameters
    ----------
    hosts : by the names of their nodes
    rules : how memory travels
    definition : what a machine of that name consists of
    patience : s that a host has to answer in
    long : s that a checkpoint may take
    """

    def __init__(
        self,
        hosts: Mapping[str, LibvirtHost],
        rules: MoveRules | None = None,
        definition: Callable[[str], Definition | None] = lambda machine: None,
        *,
        patience: float = 5.0,
        long: float = 600.0,
    ) -> None:
        self._hosts, self._rules = dict(hosts), rules or MoveRules()
        self._definition, self._patience, self._long = definition, patience, long
        self._eyes = {node: HostLine(node, host.uri) for node, host in hosts.items()}
        self._busy: dict[str, tuple[float, float]] = {}
        module()

    # ----------------------------------------------------------------------------- looking

    def look(self, nodes: Collection[str]) -> dict[str, SeenHost]:
        """Return these hosts as they are now, all asked at once."""
        calls: dict[str, HostCall[SeenHost] | HostCallError] = {}
        for node in nodes:
            try:
                look = functools.partial(self._seen, node)
                calls[node] = self._eyes[self._known(node)].begin(look)
            except HostCallError as error:
                calls[node] = error
        late = time.monotonic() + self._patience
        found = {}
        for node, call in calls.items():
            try:
                if isinstance(call, HostCallError):
                    raise call
                found[node] = call.answer(late - time.monotonic())
            except HostCallError as error:
                found[node] = SeenHost(node, False, self._size(node), says=str(error))
        return found

    def watch(self) -> list[SeenMachine]:
        """Return all machines on hosts that answer, by name."""
        found = [
            one for host in self.look(self._hosts).values() for one in host.machines
            if not one.barred
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one.machine, one.node))

    def _seen(self, node: str, connection: Any) -> SeenHost:
        machines = []
        for one in connection.listAllDomains():
            try:
                machines.append(self._machine(node, one))
            except module().libvirtError as error:
                if error.get_error_code() != module().VIR_ERR_NO_DOMAIN:
                    raise  # it went meanwhile
            except TraceError:
                continue
        size = self._size(node)
        if size.processors <= 0 or size.memory <= 0:
            info = connection.getInfo()
            size = Size(size.processors or float(info[2]), size.memory or float(info[1]) * 2**20)
        machines.sort(key=lambda one: one.machine)
        return SeenHost(node, True, size, tuple(machines), self._load(node, connection))

    def _machine(self, node: str, domain: Any) -> HostedMachine:
        libvirt = module()
        text = domain.XMLDesc(libvirt.VIR_DOMAIN_XML_SECURE)
        name, definition, size, barred, console = domains.from_xml(text, node)
        code, reason = domain.state()
        active = bool(domain.isActive())
        if definition is not None:  # what it is started from anew, not what became of that
            inactive = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE
            text = domain.XMLDesc(inactive)
            definition = replace(definition, text=domains.definition_of(text, node).text)
        cpu = domain.info()[4] / 1e9 if active else math.nan
        busy = active and domain.jobInfo()[0] != libvirt.VIR_DOMAIN_JOB_NONE
        state = _state(libvirt, code, reason)
        return HostedMachine(
            name, node, state, console, 0, "", definition, size, cpu, bool(busy), barred
        )

    def _load(self, node: str, connection: Any) -> float:
        """Return the share of a host's processors in use since the last look."""
        try:
            told = connection.getCPUStats(-1)
        except module().libvirtError:
            return math.nan
        whole, idle = float(sum(told.values())), float(told.get("idle", 0) + told.get("iowait", 0))
        before = self._busy.get(node)
        self._busy[node] = whole, idle
        if before is None or whole <= before[0]:
            return math.nan
        return min(max(1 - (idle - before[1]) / (whole - before[0]), 0.0), 1.0)

    def _size(self, node: str) -> Size:
        return Size(self._hosts[node].processors, self._hosts[node].memory)

    # ----------------------------------------------------------------------------- acting

    def start(self, machine: str, node: str) -> SeenMachine:
        """Start a machine that is known here on a host. Raises HostCallError."""
        definition = self._definition(machine)
        if definition is None:
            raise ParameterError("machine", machine, "one of the fleet")
        self.begin(definition, node)
        found = self.look([node])[node].machine(machine)
        return found or SeenMachine(machine, node, MachineState.UNKNOWN)

    def stop(self, machine: str) -> None:
        """End a machine on all hosts that answer."""
        for node, host in self.look(self._hosts).items():
            if host.answers and host.machine(machine) is not None:
                self.remove(machine, node)

    def begin(self, definition: Definition, node: str, image: str = "") -> None:
        """Start a machine on a host, from an image where one is given. Raises HostCallError."""
        libvirt, text = module(), domains.to_xml(definition)

        def act(connection: Any) -> None:
            domain = _found(connection, definition)
            if domain is not None and domain.isActive():
                if domain.name() == definition.machine:
                    return
                domain.destroy()
            if domain is not None:
                domain.undefine()
            domain = connection.defineXML(text)
            if image:
                connection.restoreFlags(image, text, libvirt.VIR_DOMAIN_SAVE_RUNNING)
            else:
                domain.create()

        self._act(node, act, self._long if image else _ACT)

    def remove(self, machine: str, node: str) -> None:
        """End a machine on a host and forget it there. Raises HostCallError."""
        libvirt = module()
        what = (libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
                | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA)  # fmt: skip

        def act(connection: Any) -> None:
            try:
                domain = connection.lookupByName(machine)
                if domain.isActive():
                    domain.destroy()
                domain.undefineFlags(what)
            except libvirt.libvirtError as error:
                if error.get_error_code() != libvirt.VIR_ERR_NO_DOMAIN:
                    raise

        self._act(node, act)

    def bar(self, definition: Definition, node: str) -> None:
        """Keep a machine away from a host by a domain of its identity with another name, which
        libvirt lets nobody start or send it past. Raises HostCallError."""
        text = domains.to_xml(definition, barred=True)

        def act(connection: Any) -> None:
            domain = _found(connection, definition)
            if domain is not None and domain.isActive():
                raise HostCallError(node, f"{definition.machine} runs there")
            if domain is not None:
                domain.undefine()
            connection.defineXML(text)

        self._act(node, act)

    def resume(self, machine: str, node: str) -> None:
        """Let a paused machine run on. Raises HostCallError."""
        self._act(node, lambda connection: connection.lookupByName(machine).resume())

    def checkpoint(self, machine: str, node: str, image: str) -> None:
        """Write the memory of a machine to its host's disk while it runs. Raises HostCallError."""
        libvirt = module()
        text = f"<domainsnapshot><memory snapshot='external' file='{image}'/></domainsnapshot>"
        how = (libvirt.VIR_DOMAIN_SNAPSHOT_CREATE_LIVE | libvirt.VIR_DOMAIN_SNAPSHOT_CREATE_ATOMIC
               | libvirt.VIR_DOMAIN_SNAPSHOT_CREATE_NO_METADATA)  # fmt: skip

        def act(connection: Any) -> None:
            domain = connection.lookupByName(machine)
            if disks := domains.writable_disks(domain.XMLDesc(0)):
                message = f"{machine} writes to {', '.join(disks)}: its memory is not a checkpoint"
                raise HostCallError(node, message)
            domain.snapshotCreateXML(text, how)

        self._act(node, act, self._long)

    def migrate(self, machine: str, node: str, *, expected: str | None = None) -> Moved:
        """Move a running machine to a host. Raises MoveError."""
        source = expected or self._where(machine)
        self._known(node)
        if source == node:
            raise ParameterError("node", node, f"another node; {machine} runs there")
        line = HostLine(source, self._hosts[self._known(source)].uri)
        self._unbar(machine, node)
        host = self._hosts[node]
        return moved(machine, line, node, host.peer or host.uri, host.data, self._rules,
                     HostLine(node, host.uri))  # fmt: skip

    def _where(self, machine: str) -> str:
        for one in self.watch():
            if one.machine == machine and one.state.alive:
                return one.node
        raise MoveError(machine, Why.REFUSED, "it runs on no host that answers", alive=True,
                        fate="nothing was started")  # fmt: skip

    def _unbar(self, machine: str, node: str) -> None:
        """Let a machine come to a host that it was kept away from. Raises MoveError."""

        def act(connection: Any) -> None:
            for domain in connection.listAllDomains():
                if domain.name() == f"{machine}{domains.BARRED}" and not domain.isActive():
                    domain.undefine()

        try:
            self._act(node, act, self._patience)
        except ForestallError as error:
            raise MoveError(machine, Why.REFUSED, str(error), alive=True, blames_target=True,
                            fate="nothing was started") from None  # fmt: skip

    def _act(self, node: str, act: Callable[[Any], None], timeout: float = _ACT) -> None:
        """Act on a line of its own, so that looks are not held up."""
        HostLine(node, self._hosts[self._known(node)].uri).ask(act, timeout)

    def _known(self, node: str) -> str:
        if node not in self._hosts:
            raise ParameterError("node", node, f"one of the fleet: {', '.join(self._hosts)}")
        return node


def _found(connection: Any, definition: Definition) -> Any:
    """Return the domain that has a machine's identity; None where there is none."""
    libvirt = module()
    try:
        return connection.lookupByUUIDString(domains.identity_of(definition.text))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:
            return None
        raise


def _state(libvirt: Any, code: int, reason: int) -> MachineState:
    if code == libvirt.VIR_DOMAIN_PAUSED:
        return {
            libvirt.VIR_DOMAIN_PAUSED_MIGRATION: MachineState.MOVING,
            libvirt.VIR_DOMAIN_PAUSED_STARTING_UP: MachineState.MOVING,
            libvirt.VIR_DOMAIN_PAUSED_IOERROR: MachineState.BROKEN,
            libvirt.VIR_DOMAIN_PAUSED_WATCHDOG: MachineState.BROKEN,
            libvirt.VIR_DOMAIN_PAUSED_CRASHED: MachineState.BROKEN,
        }.get(reason, MachineState.PAUSED)
    if code == libvirt.VIR_DOMAIN_SHUTOFF:
        return {
            libvirt.VIR_DOMAIN_SHUTOFF_SHUTDOWN: MachineState.ENDED,
            libvirt.VIR_DOMAIN_SHUTOFF_DESTROYED: MachineState.STOPPED,
        }.get(reason, MachineState.LOST)
    return {
        libvirt.VIR_DOMAIN_RUNNING: MachineState.RUNNING,
        libvirt.VIR_DOMAIN_BLOCKED: MachineState.RUNNING,
        libvirt.VIR_DOMAIN_SHUTDOWN: MachineState.RUNNING,
        libvirt.VIR_DOMAIN_PMSUSPENDED: MachineState.PAUSED,
        libvirt.VIR_DOMAIN_CRASHED: MachineState.BROKEN,
    }.get(code, MachineState.UNKNOWN)
