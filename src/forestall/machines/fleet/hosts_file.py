"""fleet.toml of a fleet on many hosts: how libvirt reaches them, and how machines are placed.

    lead = "60s"                    # before a failure that is foreseen, less its spread
    at_once = 2                     # moves off a node at the same time

    [hosts.h1]
    uri = "qemu+tls://h1/system"    # or qemu+ssh://root@h1/system, qemu:///system
    cluster = "a"                   # a level of its own; hosts without one are under the system
    processors = 16                 # for machines; default: all that the host has
    memory = "60G"

    [hosts.h2]
    uri = "qemu+tls://h2/system"

    [overload]
    limit = 0.9                     # share of a node's processors
    hold = "5m"

    [loss]
    silence = "30s"                 # before a host that does not answer is fenced
    fence = ["power-off", "{node}"] # ends with 0 when it is certain that the host is off
    checkpoint = "10m"              # between two checkpoints of a machine
    stores = ["/vault/a", "/vault/b", "/vault/c"]

    [predictors]
    files = ["failures.fsp"]        # of forestall predict train
    agents = "agents"               # a folder of NODE.prom

Only ``[hosts]`` must be there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator

from forestall.core.kit.toml_tables import FileTable
from forestall.core.model.errors import ParameterError
from forestall.machines.acting.hosts.levels import HostsPlan
from forestall.machines.adapters.libvirt.moves import MoveRules
from forestall.machines.adapters.libvirt.pool import LibvirtHost
from forestall.machines.fleet.fleet import (
    Alpha,
    NodeName,
    Positive,
    Processors,
    Seconds,
    complaint,
    read_table,
)
from forestall.machines.rules.entries import LIVE_STRATEGIES
from forestall.machines.rules.overload import OverloadRule
from forestall.vaults.adapters.qemu_guest import parse_memory

_URI: Final = re.compile(r"qemu(\+(ssh|tls|tcp|unix|libssh2?))?://[^\s]*/(system|session)(\?\S*)?")


def _memory(given: object) -> object:
    try:
        return parse_memory(str(given))
    except ParameterError:
        raise ValueError("expected an amount of memory such as 60G") from None


def _uri(given: object) -> object:
    if not isinstance(given, str) or _URI.fullmatch(given) is None:
        raise ValueError("expected a connection of libvirt such as qemu+ssh://root@h1/system")
    return given


def _share(given: object) -> object:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 1:
        raise ValueError("expected a share of a node's processors, above 0 and up to 1")
    return float(given)


Uri = Annotated[str, BeforeValidator(_uri)]
Memory = Annotated[int, BeforeValidator(_memory)]
Share = Annotated[float, BeforeValidator(_share)]


class HostTable(FileTable):
    """``[hosts.NAME]``."""

    uri: Uri
    cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]*$")] = ""
    processors: Processors | Literal[0] = 0
    memory: Memory | Literal[0] = 0
    peer: Uri | Literal[""] = ""
    data: str = ""


class OverloadTable(FileTable):
    """``[overload]``."""

    limit: Share = 0.9
    hold: Seconds = 300
    load: Literal["machines", "host"] = "machines"


class MovesTable(FileTable):
    """``[migration]``."""

    timeout: Positive = 120
    bandwidth: Memory | Literal[0] = 0
    converge: bool = True
    tunnelled: bool = False
    disks: Literal["shared", "copied"] = "shared"

    @field_validator("disks")
    @classmethod
    def _possible(cls, given: str, others: ValidationInfo) -> str:
        if given == "copied" and others.data.get("tunnelled"):
            raise ValueError("shared: libvirt tunnels memory only")
        return given


class LossTable(FileTable):
    """``[loss]``."""

    silence: Positive = 30
    fence: tuple[str, ...] = ()
    checkpoint: Seconds = 0
    images: str = "images"
    stores: tuple[str, ...] = ()
    key: str = ""


class PredictorsTable(FileTable):
    """``[predictors]``."""

    files: tuple[str, ...] = ()
    events: str = ""
    metrics: str = ""
    agents: str = ""
    least: Share = 0.5
    every: Positive = 300
    horizon: Positive = 86_400

    @field_validator("files", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        return [given] if isinstance(given, str) else given


class HostsFile(FileTable):
    """The whole file."""

    hosts: Annotated[dict[NodeName, HostTable], Field(min_length=1)]
    strategy: Annotated[str, LIVE_STRATEGIES] = "best-fit"
    alpha: Alpha = 0.5
    lead: Seconds = 60
    machine_processors: Annotated[int, Field(ge=1, le=255, strict=True)] = 1
    horizon: Positive = 86_400
    retry: Positive = 30
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 1
    at_once: Annotated[int, Field(ge=1, le=64, strict=True)] = 2
    patience: Positive = 5
    lease: Annotated[Seconds, Field(ge=2)] = 10
    overload: OverloadTable | None = None
    migration: MovesTable = MovesTable()
    loss: LossTable = LossTable()
    predictors: PredictorsTable = PredictorsTable()

    def plan(self) -> HostsPlan:
        """Return what coordinators go by."""
        over = self.overload
        return HostsPlan(
            clusters={name: host.cluster for name, host in self.hosts.items()},
            strategy=self.strategy,
            alpha="dynamic" if self.alpha < 0 else self.alpha,
            seed=self.seed,
            lead=self.lead,
            horizon=self.horizon,
            retry=self.retry,
            at_once=self.at_once,
            silence=self.loss.silence,
            life=self.lease,
            checkpoint=self.loss.checkpoint,
            overload=None if over is None else OverloadRule(over.limit, over.hold),
            load="machines" if over is None else over.load,
        )

    def reached(self) -> dict[str, LibvirtHost]:
        """Return how each host is reached."""
        return {
            name: LibvirtHost(one.uri, one.peer, one.data, float(one.processors), float(one.memory))
            for name, one in self.hosts.items()
        }

    def moves(self) -> MoveRules:
        """Return how memory travels, and disks."""
        table = self.migration
        mib = -(-int(table.bandwidth) // 2**20)
        return MoveRules(
            float(table.timeout), mib, table.converge, table.tunnelled, table.disks == "copied"
        )


def read_hosts(path: Path) -> HostsFile | None:
    """Return the fleet of a file that names hosts, None for one of another kind. Raises TraceError
    that names file and field."""
    given: dict[str, Any] = read_table(path)
    if "hosts" not in given:
        return None
    try:
        return HostsFile.model_validate(given)
    except ValidationError as error:
        raise complaint(path, error, HostsFile) from None
