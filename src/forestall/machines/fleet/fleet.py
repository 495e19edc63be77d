"""fleet.toml: nodes, how machines are placed on them, and how they move; checked in one place.

    strategy = "best-fit"       # or "first-fit", "random"
    alpha = 0.5                 # of best-fit; or "dynamic"
    lead = "60s"                # before a predicted failure, when machines leave
    machine_processors = 1      # that each machine gets
    horizon = "1d"              # that a machine without a deadline is reckoned to run on
    retry = "30s"               # until a machine that could not be moved is tried again
    wrapper = ["nice"]          # words before QEMU's command line

    [nodes]                     # processors of each
    a = 4
    b = 4

    [migration]
    link = "unix"               # or "tcp", a port of 127.0.0.1
    bandwidth = "1G"            # a second, at most
    downtime = 300              # ms of standstill that QEMU aims at
    timeout = "2m"
    expected = "2s"             # that a migration is reckoned to take

Only ``[nodes]`` must be there. Durations are text as everywhere, or seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError

from forestall.core.files.documents import read_toml
from forestall.core.kit.toml_tables import FileTable
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.units import parse_duration
from forestall.machines.acting.picture import PlacementPlan
from forestall.machines.adapters.qemu.migration import MemoryTransfer
from forestall.machines.rules.entries import LIVE_STRATEGIES
from forestall.vaults.adapters.qemu_guest import checked_name, parse_memory

NAME: Final = "fleet.toml"


def _seconds(given: object) -> object:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError("expected a duration such as 60s, 15m or 2h")
    if isinstance(given, float) and not given.is_integer():
        raise ValueError("expected whole seconds")
    try:
        return parse_duration(given)
    except ParameterError as error:
        raise ValueError(f"expected {error.allowed}") from None


def _bytes(given: object) -> object:
    try:
        return parse_memory(str(given))
    except ParameterError:
        raise ValueError("expected an amount a second such as 119M or 1G") from None


def _processors(given: object) -> object:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given <= 65536:
        raise ValueError("expected processors, a number above 0 and up to 65536")
    return float(given)


def _name(given: object) -> object:
    try:
        return checked_name(given, "node")  # type: ignore[arg-type]
    except ParameterError as error:
        raise ValueError(f"expected {error.allowed}") from None


def _alpha(given: object) -> object:
    if given == "dynamic":
        return -1.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise ValueError("expected 0 to 1, or dynamic")
    return float(given)


Seconds = Annotated[int, BeforeValidator(_seconds)]
Positive = Annotated[Seconds, Field(ge=1)]
Processors = Annotated[float, BeforeValidator(_processors)]
NodeName = Annotated[str, BeforeValidator(_name)]
Alpha = Annotated[float, BeforeValidator(_alpha)]


class MigrationTable(FileTable):
    """``[migration]``."""

    link: Literal["unix", "tcp"] = "unix"
    bandwidth: Annotated[int, BeforeValidator(_bytes)] = 2**30
    downtime: Annotated[int, Field(ge=1, le=2_000_000, strict=True)] = 300
    timeout: Positive = 120
    expected: Positive = 2


class FleetFile(FileTable):
    """The whole file."""

    nodes: Annotated[dict[NodeName, Processors], Field(min_length=1)]
    strategy: Annotated[str, LIVE_STRATEGIES] = "best-fit"
    alpha: Alpha = 0.5
    lead: Seconds = 60
    machine_processors: Annotated[int, Field(ge=1, le=255, strict=True)] = 1
    horizon: Positive = 86_400
    retry: Positive = 30
    seed: Annotated[int, Field(ge=0, lt=2**63, strict=True)] = 1
    wrapper: tuple[str, ...] = ()
    migration: MigrationTable = MigrationTable()

    def plan(self) -> PlacementPlan:
        """Return what the coordinator goes by."""
        return PlacementPlan(
            nodes=self.nodes,
            strategy=self.strategy,
            alpha=self.alpha,
            machine_processors=self.machine_processors,
            lead=self.lead,
            transfer=self.migration.expected,
            horizon=self.horizon,
            retry=self.retry,
            seed=self.seed,
        )

    def transfer(self) -> MemoryTransfer:
        """Return how memory travels."""
        table = self.migration
        return MemoryTransfer(table.link, table.bandwidth, table.downtime, table.timeout)


def read_fleet(folder: Path) -> FleetFile:
    """Return the fleet of a folder. Raises TraceError that names file and field."""
    path = folder / NAME
    given = read_table(path)
    try:
        fleet = FleetFile.model_validate(given)
    except ValidationError as error:
        raise complaint(path, error, FleetFile) from None
    small = [name for name, count in fleet.nodes.items() if count < fleet.machine_processors]
    if small:
        least = f"at least machine_processors ({fleet.machine_processors})"
        raise TraceError(path, f"expected {least}", field=f"nodes.{small[0]}")
    return fleet


def read_table(path: Path) -> dict[str, Any]:
    """Return what a TOML file says. Raises TraceError."""
    if not path.exists():
        example = "[nodes], and a line such as `a = 4` for each node and its processors"
        raise TraceError(path, f"is not there; it needs {example}")
    return read_toml(path)


def complaint(path: Path, error: ValidationError, model: type[FileTable]) -> TraceError:
    """Return the first thing that is wrong in a file, in one line."""
    first = error.errors()[0]
    places = [str(part) for part in first["loc"] if part != "[key]"]
    known = _known(model, places[:-1])
    if first["type"] == "extra_forbidden":
        close = get_close_matches(places[-1], known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
        return TraceError(path, f"no such key{hint}", field=".".join(places))
    if first["type"] == "missing":
        return TraceError(path, "is missing", field=".".join(places))
    words = _EXPECTED.get(first["type"], first["msg"].removeprefix("Value error, "))
    told = f"{first['input']!r} is not allowed; {words[:1].lower()}{words[1:]}"
    return TraceError(path, told, field=".".join(places))


def _known(model: type[FileTable], places: Sequence[str]) -> Sequence[str]:
    """Return the keys of the table at these places."""
    for place in places:
        told = model.model_fields[place].annotation if place in model.model_fields else None
        inside = [told, *get_args(told)]
        tables = [one for one in inside if isinstance(one, type) and issubclass(one, FileTable)]
        model = tables[0] if tables else model
    return tuple(model.model_fields)


_EXPECTED: Final = {
    "too_short": "expected a line such as `a = 4` for each node and its processors",
    "dict_type": "expected a table",
    "model_type": "expected a table",
    "tuple_type": 'expected a list of words such as ["nice"]',
    "string_type": "expected text",
    "int_type": "expected a whole number",
}
