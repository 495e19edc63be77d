"""Hosts in memory, which may die, fall silent, do things without saying so, and fail in mid-move.

Only for rules that must hold whatever happens; what libvirt does is asked of libvirt itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from forestall.machines.acting.backend import MachineState, Moved, MoveError, SeenMachine, Why
from forestall.machines.acting.hosts.pool import Definition, HostCallError, HostedMachine, SeenHost
from forestall.machines.rules.sizes import Size


class Killed(BaseException):
    """The coordinator's process was killed."""


@dataclass
class Domain:
    definition: Definition
    count: int = 0
    state: MachineState = MachineState.RUNNING
    barred: bool = False
    used: float = 0.0


@dataclass
class Host:
    size: Size
    power: bool = True
    link: bool = True
    load: float = float("nan")
    domains: dict[str, Domain] = field(default_factory=dict)

    @property
    def answers(self) -> bool:
        return self.power and self.link


class FakePool:
    """Hosts by name. `fault` says what goes wrong with the next move: "", target, source, broken,
    unheard; `deed` is called before and after each act, and may raise `Killed`."""

    def __init__(self, sizes: dict[str, Size]) -> None:
        self.hosts = {name: Host(size) for name, size in sizes.items()}
        self.fault = ""
        self.deed: Callable[[], None] = lambda: None
        self.acts: list[tuple[str, ...]] = []
        self.strangers: set[str] = set()

    # --------------------------------------------------------------------------- what happens

    def tick(self) -> None:
        """Guests count on."""
        for host in self.hosts.values():
            for one in host.domains.values():
                if host.power and one.state is MachineState.RUNNING and not one.barred:
                    one.count += 1

    def die(self, name: str) -> None:
        host = self.hosts[name]
        host.power = False
        for one in host.domains.values():
            one.state = MachineState.LOST

    def boot(self, name: str) -> None:
        self.hosts[name].power = True

    def fence(self, name: str) -> str:
        self.die(name)
        return ""

    def running(self, machine: str) -> list[str]:
        return [
            name for name, host in self.hosts.items()
            for one in host.domains.values()
            if one.definition.machine == machine and host.power and one.state.alive
            and not one.barred
        ]  # fmt: skip

    def count(self, machine: str) -> int:
        (node,) = self.running(machine)
        return self.hosts[node].domains[machine].count

    # --------------------------------------------------------------------------- what is asked

    def look(self, nodes: Collection[str]) -> dict[str, SeenHost]:
        return {node: self._seen(node) for node in nodes}

    def _seen(self, node: str) -> SeenHost:
        host = self.hosts[node]
        if not host.answers:
            return SeenHost(node, False, host.size, says="no answer")
        machines = tuple(
            HostedMachine(
                one.definition.machine, node, one.state,
                definition=None if one.definition.machine in self.strangers else one.definition,
                size=one.definition.size, cpu=one.used, barred=one.barred,
            )
            for one in host.domains.values()
        )  # fmt: skip
        return SeenHost(node, True, host.size, machines, host.load)

    def watch(self) -> list[SeenMachine]:
        return [one for host in self.look(self.hosts).values() for one in host.machines]

    def start(self, machine: str, node: str) -> SeenMachine:
        raise NotImplementedError

    def stop(self, machine: str) -> None:
        for name in self.running(machine):
            self.remove(machine, name)

    def begin(self, definition: Definition, node: str, image: str = "") -> None:
        host, machine = self._reached(node), definition.machine
        old = host.domains.get(machine)
        if old is not None and old.state.alive and not old.barred:
            return
        count = int(Path(image).read_text()) if image else 0
        host.domains[machine] = Domain(definition, count)
        self._did("begin", machine, node)

    def remove(self, machine: str, node: str) -> None:
        self._reached(node).domains.pop(machine, None)
        self._did("remove", machine, node)

    def bar(self, definition: Definition, node: str) -> None:
        host = self._reached(node)
        old = host.domains.get(definition.machine)
        if old is not None and old.state.alive and not old.barred:
            raise HostCallError(node, "it runs there")
        host.domains[definition.machine] = Domain(definition, barred=True, state=MachineState.LOST)
        self._did("bar", definition.machine, node)

    def resume(self, machine: str, node: str) -> None:
        self._reached(node).domains[machine].state = MachineState.RUNNING

    def checkpoint(self, machine: str, node: str, image: str) -> None:
        domain = self._reached(node).domains[machine]
        Path(image).write_text(str(domain.count))
        self._did("checkpoint", machine, node)

    def migrate(self, machine: str, node: str, *, expected: str | None = None) -> Moved:
        assert expected is not None
        fault, self.fault = self.fault, ""
        source = self.hosts[expected]
        if not source.answers:
            raise MoveError(machine, Why.BROKEN, "the source does not answer", alive=True)
        self.deed()
        if not self.hosts[node].answers or fault == "broken":
            raise MoveError(machine, Why.BROKEN, "no link", alive=True, blames_target=True)
        domain = source.domains.get(machine)
        if domain is None or not domain.state.alive:
            raise MoveError(machine, Why.REFUSED, "it is not there", alive=True)
        there = self.hosts[node].domains.get(machine)
        if there is not None and there.state.alive and not there.barred:
            raise MoveError(machine, Why.REFUSED, "it is there already", alive=True)
        if fault == "target":
            self.die(node)
            raise MoveError(machine, Why.BROKEN, "the target died", alive=True, blames_target=True)
        if fault == "source":
            self.die(expected)
            raise MoveError(machine, Why.BROKEN, "the source died", alive=True)
        if fault == "killed":
            raise Killed
        del source.domains[machine]
        self.hosts[node].domains[machine] = domain
        self._did("migrate", machine, expected, node)
        if fault == "unheard":
            raise MoveError(machine, Why.BROKEN, "no answer", alive=True)
        return Moved(machine, expected, node, 1.0, 0.01, 0.01, 1, 1)

    def _reached(self, node: str) -> Host:
        self.deed()
        if not self.hosts[node].answers:
            raise HostCallError(node, "no answer", silent=True)
        return self.hosts[node]

    def _did(self, *words: str) -> None:
        self.acts.append(words)
        self.deed()
