"""A fleet of coordinators over hosts in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forestall.machines.acting.coordinator import MachineOutcome
from forestall.machines.acting.hosts.coordinator import LevelCoordinator
from forestall.machines.acting.hosts.desk import HostsDesk
from forestall.machines.acting.hosts.images import FolderImages
from forestall.machines.acting.hosts.lease import Position
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.acting.hosts.pool import Definition
from forestall.machines.acting.hosts.records import RecordStore
from forestall.machines.acting.ledger import MachineLedger
from forestall.machines.rules.leaving import Foretold
from forestall.machines.rules.sizes import Size
from machines.acting.hosts.fake_pool import FakePool, Killed

GIB = 2**30
FOUR = {"h1": "a", "h2": "a", "h3": "b", "h4": "b"}


@dataclass
class Told:
    """What is foreseen, as the test says."""

    failures: dict[str, Foretold] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)

    def foretold(self, now: int, down: Collection[str]) -> Mapping[str, Foretold]:
        return {node: one for node, one in self.failures.items() if node not in down}

    def drained(self) -> Collection[str]:
        return self.empty


def machine(name: str, processors: float = 1, gib: float = 1, **facts: object) -> Definition:
    return Definition(name, f"<{name}/>", Size(processors, gib * GIB), **facts)  # type: ignore[arg-type]


ALL: list[Fleet] = []


class Fleet:
    """Hosts, a folder, and coordinators that can be killed."""

    def __init__(
        self, folder: Path, plan: HostsPlan | None = None, sizes: dict[str, Size] | None = None
    ) -> None:
        ALL.append(self)
        self.folder = folder
        self.plan = plan or HostsPlan(FOUR, at_once=1, silence=5, life=10)
        self.pool = FakePool(sizes or {node: Size(2, 4 * GIB) for node in self.plan.clusters})
        self.told = Told()
        self.now = 1_000_000.0
        self.coordinators: dict[str, tuple[LevelCoordinator, Position]] = {}

    def words(self) -> dict[str, object]:
        return {
            "images": FolderImages(self.folder / "images"),
            "forecasts": self.told,
            "clock": lambda: self.now,
        }

    @property
    def store(self) -> RecordStore:
        return RecordStore(self.folder)

    def desk(self) -> HostsDesk:
        ledger = MachineLedger(self.folder / "ledger.jsonl")
        return HostsDesk(self.plan, self.pool, self.store, ledger, **self.words())  # type: ignore[arg-type]

    def coordinator(self, name: str = "system") -> LevelCoordinator:
        if name not in self.coordinators:
            position = Position(self.folder / "coordinators", name, self.plan.life)
            position.take(self.now)
            ledger = MachineLedger(self.folder / "ledger.jsonl")
            self.coordinators[name] = (
                LevelCoordinator(
                    self.plan, position, self.pool, self.store, ledger,
                    fence=self.pool.fence, **self.words(),
                ),
                position,
            )  # fmt: skip
        return self.coordinators[name][0]

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.coordinators):
            self.kill(name)

    def kill(self, name: str) -> None:
        """A coordinator's process is gone: the system lets go of its locks."""
        if name in self.coordinators:
            _, position = self.coordinators.pop(name)
            if position._file is not None:
                position._file.close()

    def step(self, name: str = "system") -> list[MachineOutcome]:
        """A look of one coordinator; None of it where it is killed meanwhile."""
        try:
            return self.coordinator(name).step()
        except Killed:
            self.kill(name)
            return []

    def pass_time(self, seconds: float = 1.0) -> None:
        self.now += seconds
        self.pool.tick()

    def rounds(self, *names: str, count: int = 1, every: float = 1.0) -> list[MachineOutcome]:
        found = []
        for _ in range(count):
            for name in names or ("system",):
                found += self.step(name)
            self.pass_time(every)
        return found
