"""CLUSTER.toml: nodes, queues, checkpoints, jobs and wishes, read and checked in one place.

    name = "blades"
    ages = "new"                # or "steady", or a duration; all nodes when a job starts
    success = 0.99              # wanted of every job

    [[groups]]                  # nodes; several groups may differ
    name = "blade"
    count = 516
    mttf = "102840h"            # and shape (1 without it); or log = "failures.csv" (and system)
    shape = 0.75

    [[groups]]                  # or nodes of components; each needs a name, an mttf and a shape
    name = "commodity"
    count = 256
    components = [
        {name = "board", mttf = "67640h"},
        {name = "power supply", mttf = "100000h", count = 2, needed = 1},
    ]

    [[queues]]
    name = "Huge"
    nodes = 258                 # of one job; {blade = 200, old = 58} takes them from groups
    limit = "2-00:00:00"
    slots = 2                   # jobs at once (1 without it)

    [checkpoint]
    cost = "15m"
    restart = "5m"
    copies = 3                  # of each checkpoint on a ring of nodes, itself among them

    [pool]
    repair = "2d"               # of a failed node; without it nodes do not come back
    mission = "30d"

    [prices]                    # of a job's time; needs [pool] repair
    node_hour = 0.8             # and of nodes of certain groups: groups = {blade = 1.6}
    power = 0.4                 # kW of a node at work, idle of one that waits; energy: of a kWh
    waiting = 5                 # of an hour that a job waits for a node

    [jobs]                      # for --optimize: a log, or kinds of jobs, or model = "all"
    log = "jobs.swf"
    [optimize]
    shared = true               # queues share the nodes; false: each has nodes of its own
    nodes = 516                 # that all queues have together
    queues = 4                  # at most

Durations are text as everywhere (`36h`, `D-HH:MM:SS`) or seconds. Files are looked for beside the
TOML file. Queues and groups are counted from 1 in messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, ValidationError

from forestall.core.files.documents import read_toml
from forestall.core.kit.toml_tables import FileTable
from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.spelling import likely
from forestall.core.model.units import parse_duration
from forestall.logs.read import read_failures
from forestall.reliability.fits.estimate import fit
from forestall.reliability.history.history import history
from forestall.reliability.queues.cluster import Checkpoints, Cluster, age_of
from forestall.reliability.queues.prices import Prices
from forestall.reliability.queues.queues import Queue
from forestall.reliability.systems.components import Component, node_law
from forestall.reliability.systems.systems import Age, ComponentGroup, from_mttf

SUCCESS: Final = 0.99
MISSION: Final = 30 * 86_400


def _seconds(given: object) -> object:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError("a duration such as 36h, 15m or 1-12:00:00")
    try:
        return parse_duration(given)
    except ParameterError as error:
        raise ValueError(error.allowed) from None


def _positive(given: object) -> object:
    seconds = _seconds(given)
    if seconds == 0:
        raise ValueError("a duration above 0")
    return seconds


def _age(given: object) -> object:
    try:
        return age_of(given)  # type: ignore[arg-type]
    except ParameterError as error:
        raise ValueError(error.allowed) from None


Seconds = Annotated[int, BeforeValidator(_seconds)]
Positive = Annotated[int, BeforeValidator(_positive)]
Ages = Annotated[Any, BeforeValidator(_age)]
Count = Annotated[int, Field(ge=1, le=100_000_000, strict=True)]
Name = Annotated[str, Field(min_length=1)]
Shape = Annotated[float, Field(ge=0.05, le=50)]
Price = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, lt=1)]


class ComponentTable(FileTable):
    """One of the components of a group's nodes."""

    name: Name
    mttf: Positive
    shape: Shape = 1.0
    count: Count = 1
    needed: Count | None = None


class GroupTable(FileTable):
    """``[[groups]]``."""

    name: Name
    count: Count | None = None
    mttf: Positive | None = None
    shape: Shape = 1.0
    components: Annotated[tuple[ComponentTable, ...], Field(min_length=1)] | None = None
    log: Name | None = None
    system: str | int | None = None
    ages: Ages | None = None


class QueueTable(FileTable):
    """``[[queues]]``."""

    name: Name
    nodes: Count | dict[str, Count]
    limit: Positive
    slots: Count = 1


class CheckpointTable(FileTable):
    """``[checkpoint]``."""

    cost: Positive
    restart: Seconds = 0
    copies: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = None


class PoolTable(FileTable):
    """``[pool]``."""

    repair: Positive | None = None
    mission: Positive = MISSION


class PricesTable(FileTable):
    """``[prices]``; see `Prices`."""

    node_hour: Price = 1.0
    groups: dict[str, Price] = Field(default_factory=dict)
    power: Price = 0.0
    idle: Price | None = None
    energy: Price = 0.0
    waiting: Price = 0.0
    currency: str = ""

    @property
    def prices(self) -> Prices:
        """The same for the model."""
        told = self.model_dump(exclude={"groups", "currency"})
        return Prices(**told, groups=tuple(self.groups.items()))


class JobsTable(FileTable):
    """``[jobs]``: a log, kinds of jobs, or a model."""

    log: Name | None = None
    processors_per_node: Count = 1
    times: Literal["runtime", "requested"] = "runtime"
    nodes: Annotated[tuple[Count, ...], Field(min_length=1)] | None = None
    runtimes: tuple[Positive, ...] | None = None
    weights: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] | None = None
    model: Literal["all", "batch", "interactive"] | None = None


class OptimizeTable(FileTable):
    """``[optimize]``."""

    nodes: Count | None = None
    shared: bool = True
    queues: Annotated[int, Field(ge=1, le=8, strict=True)] = 4
    load: Annotated[float, Field(gt=0, le=10)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1


class ClusterTable(FileTable):
    """The whole file."""

    name: str = ""
    ages: Ages | None = None
    success: Probability = SUCCESS
    groups: Annotated[tuple[GroupTable, ...], Field(min_length=1)]
    queues: tuple[QueueTable, ...] = ()
    checkpoint: CheckpointTable | None = None
    pool: PoolTable | None = None
    prices: PricesTable | None = None
    jobs: JobsTable | None = None
    optimize: OptimizeTable = OptimizeTable()


@dataclass(frozen=True)
class DesignFile:
    """What a file says.

    Attributes
    ----------
    source : the file
    table : what it says, checked
    cluster : nodes, queues and checkpoints; times in seconds
    fitted : how the law of each group with a log was found, in words
    """

    source: Path
    table: ClusterTable
    cluster: Cluster
    fitted: tuple[str, ...] = ()

    def beside(self, name: str) -> Path:
        """Return the path of a file that the file names."""
        return self.source.parent / name


def read_cluster(path: str | Path) -> Cluster:
    """Return the cluster of a TOML file; see `read_plan`."""
    return read_plan(path).cluster


def read_plan(path: str | Path) -> DesignFile:
    """Return what a TOML file says; TraceError names the file, the table and the key."""
    source = Path(path)
    table = _checked(source, _read(source))
    groups: list[ComponentGroup] = []
    fitted: list[str] = []
    for number, given in enumerate(table.groups, 1):
        place = f"groups[{number}]"
        with _Named(source, place):
            group, words = _group(source, place, given, table.ages)
        groups.append(group)
        fitted.extend(words)
    queues = []
    for number, queue in enumerate(table.queues, 1):
        with _Named(source, f"queues[{number}]"):
            queues.append(_queue(queue))
            Cluster(groups, [queues[-1]])
    _check_prices(source, table)
    told = table.checkpoint
    checkpoints = None if told is None else Checkpoints(told.cost, told.restart)
    with _Named(source, ""):
        cluster = Cluster(groups, queues, checkpoints=checkpoints, name=table.name or source.stem)
    return DesignFile(source, table, cluster, tuple(fitted))


def _check_prices(source: Path, table: ClusterTable) -> None:
    """Raise TraceError where prices are of groups that are not there, or a repair is missing."""
    if table.prices is None:
        return
    names = [group.name for group in table.groups]
    for name in table.prices.groups:
        if name not in names:
            text = f"{name!r} is not a group; expected one of {', '.join(names)}"
            raise TraceError(source, text, field="prices.groups")
    if table.pool is None or table.pool.repair is None:
        text = "is missing: it is needed to price the wait of a job without a spare"
        raise TraceError(source, text, field="pool.repair")


class _Named:
    """Turns errors of parameters into errors of a file, its table and its key."""

    def __init__(self, source: Path, place: str) -> None:
        self.source, self.place = source, place

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ParameterError):
            text = f"{error.value!r} is not allowed; expected {error.allowed}"
            name = "nodes" if error.name == "mix" else error.name
            key = f"{self.place}.{name}" if self.place else name
            raise TraceError(self.source, text, field=key) from None


def _read(source: Path) -> dict[str, Any]:
    plain: dict[str, Any] = _underscored(read_toml(source))
    return plain


def _underscored(value: Any) -> Any:
    """Return tables with _ for - in keys, but for names of groups."""
    if isinstance(value, dict):
        return {
            key.replace("-", "_"): inner if _names_groups(key, inner) else _underscored(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_underscored(inner) for inner in value]
    return value


def _names_groups(key: str, inner: Any) -> bool:
    """Return whether the keys of a table are names of groups: a queue's nodes, and prices."""
    return key == "nodes" or (key == "groups" and isinstance(inner, dict))


def _checked(source: Path, raw: dict[str, Any]) -> ClusterTable:
    try:
        return ClusterTable(**raw)
    except ValidationError as error:
        found = error.errors()
    first = min(found, key=lambda one: one["type"] != "extra_forbidden")  # typing errors first
    place = _place(first["loc"])
    kind, given = first["type"], first["input"]
    if kind == "missing":
        raise TraceError(source, "is missing", field=place)
    if kind == "extra_forbidden":
        known = _known_keys(first["loc"])
        hint = likely(str(first["loc"][-1]), known) or f"; known are {', '.join(known)}"
        raise TraceError(source, f"is not known{hint}", field=place)
    plain = first["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    allowed = _PLAIN.get(kind, plain)
    shown = given if isinstance(given, str | int | float) else type(given).__name__
    raise TraceError(source, f"{shown!r} is not allowed; expected {allowed}", field=place)


def _place(loc: tuple[str | int, ...]) -> str:
    """Return a key as ``queues[2].limit``, counted from 1."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        elif part not in _UNION_PARTS and not part.startswith("dict["):
            text += f".{part}" if text else part
    return text


_PLAIN: Final = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "tuple_type": "a list; tables of lists are written [[...]]",
    "string_too_short": "text that is not empty",
    "too_short": "at least one",
}
"""Pydantic's kinds of errors in words for people who write TOML."""

_UNION_PARTS = {"int", "str", "constrained-int", "[key]"}
"""Parts of Pydantic's places that name branches of a type, not keys."""


def _known_keys(loc: tuple[str | int, ...]) -> list[str]:
    tables: dict[str, type[FileTable]] = {
        "groups": GroupTable,
        "queues": QueueTable,
        "checkpoint": CheckpointTable,
        "pool": PoolTable,
        "prices": PricesTable,
        "jobs": JobsTable,
        "optimize": OptimizeTable,
    }
    table = tables.get(str(loc[0]), ClusterTable) if len(loc) > 1 else ClusterTable
    if "components" in loc[:-1]:
        table = ComponentTable
    return list(table.model_fields)


def _queue(given: QueueTable) -> Queue:
    if isinstance(given.nodes, dict):
        mix = tuple(given.nodes.items())
        return Queue(given.name, sum(given.nodes.values()), given.limit, given.slots, mix)
    return Queue(given.name, given.nodes, given.limit, given.slots)


def _group(
    source: Path, place: str, given: GroupTable, ages: Age | None
) -> tuple[ComponentGroup, tuple[str, ...]]:
    age: Age = given.ages if given.ages is not None else ("new" if ages is None else ages)
    if [given.mttf, given.log, given.components].count(None) != 2:
        raise TraceError(source, "needs one of mttf, components and log", field=place)
    if given.log is None:
        if given.count is None:
            raise TraceError(source, "is missing", field=f"{place}.count")
        if given.system is not None:
            raise TraceError(source, "needs a log as well", field=f"{place}.system")
        if given.components is not None:
            return _group_of_components(source, place, given, given.count, age), ()
        assert given.mttf is not None
        return ComponentGroup(given.count, from_mttf(given.mttf, given.shape), age, given.name), ()
    if "shape" in given.model_fields_set:
        raise TraceError(source, "cannot be given with a log: it is fitted", field=f"{place}.shape")
    return _fitted_group(source, place, given, age)


def _group_of_components(
    source: Path, place: str, given: GroupTable, count: int, age: Age
) -> ComponentGroup:
    """Return a group whose law follows from the components of its nodes."""
    assert given.components is not None
    if "shape" in given.model_fields_set:
        raise TraceError(
            source, "cannot be given with components: each has its own", field=f"{place}.shape"
        )
    parts = []
    for number, told in enumerate(given.components, 1):
        with _Named(source, f"{place}.components[{number}]"):
            law = from_mttf(told.mttf, told.shape)
            parts.append(Component(told.name, law, told.count, told.needed))
    with _Named(source, place):
        return ComponentGroup(count, node_law(parts), age, given.name)


def _fitted_group(
    source: Path, place: str, given: GroupTable, age: Age
) -> tuple[ComponentGroup, tuple[str, ...]]:
    """Return a group whose law is fitted to its nodes' gaps between failures, in a log."""
    assert given.log is not None
    known = history(read_failures(source.parent / given.log, system=given.system))
    gaps, censored = known.sample()
    try:
        found = fit(gaps, "weibull", censored=censored)
    except ForestallError as error:
        raise TraceError(source, f"cannot be fitted: {error}", field=f"{place}.log") from None
    count = given.count if given.count is not None else len(known.there)
    words = (
        f"{given.name}: {found.lifetime.family.title} law fitted to {len(gaps):,} gaps of nodes in "
        f"{given.log} ({int(censored.sum()):,} of them still running at the end of the log)",
        *(f"{given.name}: {note}" for note in found.notes),
    )
    return ComponentGroup(count, found.lifetime, age, given.name), words
