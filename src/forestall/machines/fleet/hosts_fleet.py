"""A fleet on many hosts: what the commands `forestall machines ...` do where fleet.toml names
hosts."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from forestall.core._lazy import lazily
from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.coordinator import LevelCoordinator
from forestall.machines.acting.hosts.desk import HostsDesk
from forestall.machines.acting.hosts.forecasts import HostForecasts, JoinedHostForecasts
from forestall.machines.acting.hosts.images import FolderImages, Images
from forestall.machines.acting.hosts.lease import LeaseTakenError, Position
from forestall.machines.acting.hosts.levels import HostsPlan, checked_position, nodes_of, positions
from forestall.machines.acting.hosts.pool import Definition
from forestall.machines.acting.hosts.records import HostState, MachineRecord, Phase, RecordStore
from forestall.machines.acting.hosts.views import View, free_room
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.acting.picture import Need
from forestall.machines.adapters.libvirt.domains import definition_of, domain_of
from forestall.machines.adapters.libvirt.pool import LibvirtPool
from forestall.machines.fleet.fleet import NAME
from forestall.machines.fleet.foreseen import DRAIN, UNDRAIN, add_foreseen, read_foreseen
from forestall.machines.fleet.hosts_file import HostsFile, PredictorsTable, read_hosts
from forestall.machines.fleet.images import VaultImages
from forestall.machines.rules.leaving import Foretold
from forestall.prediction.watching.events import EventTail
from forestall.prediction.watching.metrics import MetricFiles
from forestall.vaults.adapters.qemu_guest import Guest

with lazily():
    from forestall.machines.acting import spread
    from forestall.prediction.given import predictor_files
    from forestall.prediction.watching import forecasts as watching

LEDGER: Final = "ledger.jsonl"
FORESEEN: Final = "predictions.csv"
_FENCE: Final = 60.0
"""s that the site's command for switching a host off may take."""


@dataclass
class FileForesight:
    """What the predictions file of a fleet says."""

    path: Path
    nodes: Collection[str]
    trouble: list[str] = field(default_factory=list)

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        """Return the failures that it tells of."""
        file = read_foreseen(self.path, self.nodes)
        self.trouble[:] = [file.trouble] if file.trouble else []
        found = {}
        for node, at in file.failures.items():
            early, late = file.spreads.get(node, (at, at))
            if node not in down:
                found[node] = Foretold(at, early, late)
        return found

    def drained(self) -> Collection[str]:
        """Return the hosts that are to be kept empty."""
        return read_foreseen(self.path, self.nodes).drained


@dataclass(frozen=True)
class HostsFleet:
    """A folder with a fleet.toml that names hosts, and all that belongs to it.

    Attributes
    ----------
    folder, file : where it is, and what fleet.toml says
    pool : the hosts
    store, images : what is written down, and where checkpoints are
    foresight, told : who foresees failures; that of the predictions file
    clock : seconds since 1970
    """

    folder: Path
    file: HostsFile
    plan: HostsPlan
    pool: LibvirtPool
    store: RecordStore
    images: Images
    foresight: JoinedHostForecasts
    told: FileForesight
    clock: Callable[[], float]
    _troubles: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, folder: Path, clock: Callable[[], float] = time.time) -> HostsFleet | None:
        """Return the fleet of a folder, None for one of another kind. Raises InputError."""
        file = read_hosts(folder / NAME)
        if file is None:
            return None
        plan, store = file.plan(), RecordStore(folder)

        def definition(machine: str) -> Definition | None:
            record = store.machine(machine)
            return None if record is None else record.definition

        pool = LibvirtPool(file.reached(), file.moves(), definition, patience=float(file.patience))
        told = FileForesight(folder / FORESEEN, tuple(plan.clusters))
        sources = [told, *_sources(folder, file.predictors)]
        joined = JoinedHostForecasts(sources, file.predictors.least)
        return cls(folder, file, plan, pool, store, _images(folder, file), joined, told, clock)

    @property
    def levels(self) -> list[str]:
        """The positions that coordinators can hold."""
        return positions(self.plan)

    def nodes_of(self, level: str) -> int:
        """Return how many nodes a level has. Raises ParameterError for one that is not there."""
        return len(nodes_of(self.plan, checked_position(self.plan, level)))

    def desk(self) -> HostsDesk:
        """Return what carries out commands."""
        return HostsDesk(
            self.plan, self.pool, self.store, MachineLedger(self.folder / LEDGER),
            images=self.images, forecasts=self.foresight, clock=self.clock,
        )  # fmt: skip

    def coordinator(self, level: str) -> LevelCoordinator:
        """Return the coordinator of a level, which holds its position from now on."""
        position = Position(
            self.folder / "coordinators", checked_position(self.plan, level), self.plan.life
        )
        position.take(self.clock())
        position.beat(self.clock)
        fence = self._switched_off if self.file.loss.fence else None
        return LevelCoordinator(
            self.plan, position, self.pool, self.store, MachineLedger(self.folder / LEDGER),
            images=self.images, forecasts=self.foresight, fence=fence, clock=self.clock,
        )  # fmt: skip

    def _switched_off(self, node: str) -> str:
        """Run the site's command that switches a host off; returns why it is not certain."""
        call = [word.replace("{node}", node) for word in self.file.loss.fence]
        try:
            done = subprocess.run(
                call, capture_output=True, text=True, timeout=_FENCE, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{call[0]}: {error}"
        words = (done.stderr or done.stdout).strip().splitlines()
        return (
            ""
            if done.returncode == 0
            else f"{call[0]} ended with {done.returncode}" + (f": {words[-1]}" if words else "")
        )

    def troubles(self) -> list[str]:
        """Return what was wrong and stopped nothing, a line each."""
        found, self._troubles[:] = list(self._troubles), []
        return list(dict.fromkeys([*found, *self.told.trouble, *self.foresight.trouble]))

    # ----------------------------------------------------------------------------- commands

    def define(self, guest: Guest, need: Need, after_loss: str) -> Definition:
        """Return a machine that boots a kernel; its console is a file of the fleet's folder."""
        guest.checked()
        console = self.folder.resolve() / "machines" / guest.name / "console.log"
        text = domain_of(guest, str(console))
        return self._definition(text, guest.name, guest.name, need, after_loss)

    def define_domain(self, path: Path, name: str, need: Need, after_loss: str) -> Definition:
        """Return the machine of a file with a domain's XML. Raises TraceError."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise TraceError(path, f"cannot be read: {reason}") from None
        return self._definition(text, name, str(path), need, after_loss)

    def _definition(
        self, text: str, name: str, source: str, need: Need, after_loss: str
    ) -> Definition:
        made = definition_of(
            text, source, runtime=need.seconds, deadline=need.deadline, begun=int(self.clock()),
            after_loss=after_loss,
        )  # fmt: skip
        if made.machine != name:
            raise ParameterError(
                "NAME", name, f"the name of the domain in {source}: {made.machine}"
            )
        (self.folder / "machines" / name).mkdir(parents=True, exist_ok=True)
        return made

    def start(self, definition: Definition, node: str | None) -> MachineOutcome:
        """Start a machine, on this node or on the one that the strategy chooses."""
        return self.desk().start(definition, node)

    def migrate(self, machine: str, node: str) -> MachineOutcome:
        """Move a machine to a node."""
        return self.desk().move(machine, node)

    def stop(self, machine: str) -> MachineRecord:
        """End a machine; returns what became of it."""
        return self.desk().stop(machine)

    def checkpoint(self, machine: str) -> str:
        """Save a machine; returns the name of its checkpoint."""
        return self.desk().checkpoint(machine)

    def declare_dead(self, node: str) -> None:
        """Take in that a host runs nothing."""
        self.desk().declare_dead(node)

    def drain(self, node: str) -> list[MachineOutcome]:
        """Keep a node empty, and move all that is on it."""
        self.plan.checked(node)
        add_foreseen(self.folder / FORESEEN, node, DRAIN)
        return self.desk().leave(node, f"{node} is drained")

    def undrain(self, node: str) -> None:
        """Take a node that was drained into use again."""
        add_foreseen(self.folder / FORESEEN, self.plan.checked(node), UNDRAIN)

    def foresee(self, node: str, at: int | None) -> None:
        """Write down when a node is predicted to fail; None: not any more."""
        add_foreseen(self.folder / FORESEEN, self.plan.checked(node), at)

    def watch(
        self, every: float, until: float, level: str
    ) -> Iterator[tuple[list[MachineOutcome], list[str]]]:
        """Coordinate a level until that moment; yields what came of each look, and what was wrong.

        Raises LeaseTakenError where another process does.
        """
        coordinator = self.coordinator(level)
        try:
            while True:
                outcomes: list[MachineOutcome] = []
                broken = []
                begun = time.monotonic()
                try:
                    outcomes = coordinator.step()
                except LeaseTakenError:
                    raise
                except ForestallError as error:
                    broken.append(str(error))
                yield outcomes, [*broken, *coordinator.troubles(), *self.troubles()]
                left = until - self.clock()
                if left <= 0:
                    return
                time.sleep(max(min(every - (time.monotonic() - begun), left), 0.05))
        finally:
            coordinator.close()

    def listing(self) -> dict[str, Any]:
        """Return all machines, nodes and coordinators as they are now."""
        view = self.desk().view()
        foretold = self.foresight.foretold(
            int(view.now), [node for node in view.hosts if not view.up(node)]
        )
        self._troubles.extend(self.store.unreadable.values())
        drained = self.foresight.drained()
        machines = [self._machine(record, view) for record in view.records.values()]
        nodes = []
        for node, host in view.hosts.items():
            free, one = free_room(view, view.records, node), foretold.get(node)
            nodes.append({
                "node": node, "cluster": self.plan.clusters[node],
                "state": _state_of(view, node), "says": host.says,
                "processors": host.size.processors, "memory": host.size.memory,
                "machines": sum(record.node == node and not record.phase.over
                                for record in view.records.values()),
                "free_processors": max(free.processors, 0.0), "free_memory": max(free.memory, 0.0),
                "foreseen": None if one is None else one.at,
                "early": None if one is None else one.early,
                "late": None if one is None else one.late,
                "by": "" if one is None else one.by, "drained": node in drained,
                "leaving": node in drained or (
                    one is not None and view.now >= one.early - self.plan.lead),
            })  # fmt: skip
        return {"machines": machines, "nodes": nodes, "coordinators": self._coordinators(view.now)}

    def _machine(self, record: MachineRecord, view: View) -> dict[str, Any]:
        alive = view.alive(record.machine)
        place = next(iter(alive), record.node or record.target)
        if record.phase.over or record.phase is not Phase.RUNNING:
            state = record.phase.value
        elif alive:
            state = alive[place].state.value
        else:
            state = "unknown" if not view.surely_not(record.machine, place) else "lost"
        return {
            "machine": record.machine, "node": place, "state": state, "target": record.target,
            "processors": record.definition.size.processors,
            "memory": record.definition.size.memory, "deadline": record.definition.deadline,
            "checkpoint": record.image, "asked": record.asked, "why": record.why,
            "console": alive[place].console if place in alive else "",
        }  # fmt: skip

    def _coordinators(self, now: float) -> list[dict[str, Any]]:
        found = []
        for name in self.levels:
            lease = Position(self.folder / "coordinators", name, self.plan.life).held()
            if lease is not None:
                found.append({"level": name, "at_work": lease.counts(now), **asdict(lease)})
        return found


def _state_of(view: View, node: str) -> str:
    """Return a host's state as it is now, whether or not anybody has written that down yet."""
    known = view.known[node].state
    return known if view.hosts[node].answers == (known is HostState.UP) else (
        "answers again" if view.hosts[node].answers else
        known if known is HostState.FENCED else HostState.SILENT
    )  # fmt: skip


def _sources(folder: Path, table: PredictorsTable) -> list[HostForecasts]:
    """Return the predictors that a file names. Raises InputError for one that cannot be used."""
    found: list[HostForecasts] = []
    for path in table.files:
        heard = watching.WatchingForecasts(
            predictor_files.load_predictor(folder / path),
            events=EventTail(folder / table.events) if table.events else None,
            metrics=MetricFiles(folder / table.metrics) if table.metrics else None,
            every=table.every, horizon=table.horizon,
        )  # fmt: skip
        found.append(spread.LearnerForesight(heard, table.horizon))
    if table.agents:
        found.append(spread.AgentForesight(folder / table.agents))
    return found


def _images(folder: Path, file: HostsFile) -> Images:
    table = file.loss
    if not table.stores:
        return FolderImages(folder / table.images)
    key = folder / table.key if table.key else None
    return VaultImages(folder / table.images, table.stores, key)
