"""What is allowed to act, and how much: safe by default, since everything but the advisor is off.

The tables ``[guard]``, ``[keeper]`` and ``[warden]`` of a file are these classes, key by key.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field

from forestall.core.model.errors import ParameterError
from forestall.core.model.live.intents import MAY, Role
from forestall.core.model.settings import Declared, Parameter, Setting, declared
from forestall.core.model.units import parse_time
from forestall.prediction.watching.foreseen import Maintenance

Count = Annotated[int, Field(ge=0)]
Percent = Annotated[float, Field(ge=0, le=100)]
Switch = Literal["off", "approve", "on"]
S = TypeVar("S", bound=Declared)

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_QUIET: Final = re.compile(
    r"(?:(?P<first>[a-z]{3})(?:-(?P<last>[a-z]{3}))? )?"
    r"(?P<from>[0-2]\d):(?P<from_m>[0-5]\d)-(?P<to>[0-2]\d):(?P<to_m>[0-5]\d)"
)
DAY: Final = 1440  # minutes


@dataclass(frozen=True)
class QuietHours:
    """Minutes of a day [begin, end) on days of the week, 0 Monday; past midnight where end is not
    after begin."""

    days: tuple[int, ...]
    begin: int
    end: int

    def hold(self, weekday: int, minute: int) -> bool:
        """Whether a minute of a day lies in them."""
        if self.begin < self.end:
            return weekday in self.days and self.begin <= minute < self.end
        yesterday = (weekday - 1) % 7
        return (weekday in self.days and minute >= self.begin) or (
            yesterday in self.days and minute < self.end
        )


@dataclass(frozen=True)
class RoleSettings(Declared):
    """The switch of a role and its limits. Of nodes and percent both hold: the smaller one counts,
    and percent are rounded down, but to one node at least."""

    switch: Annotated[
        Switch, Setting("off: it only proposes; approve: a person agrees to each action; on")
    ] = "off"
    nodes: Annotated[Count, Setting("Most nodes at once", unit="nodes")] = 2
    percent: Annotated[Percent, Setting("Most nodes at once, of all", unit="%")] = 2.0
    partition_nodes: Annotated[Count, Setting("Most nodes of a partition", unit="nodes")] = 1
    partition_percent: Annotated[Percent, Setting("Most of a partition's nodes", unit="%")] = 5.0
    per_hour: Annotated[Count, Setting("Most actions within an hour")] = 4
    cool_down: Annotated[
        Count, Setting("Least time between two like actions on one target", unit="s")
    ] = 21_600
    approve: Annotated[
        tuple[str, ...], Setting("Actions to which a person agrees each time, also where it is on")
    ] = ()


KEEPER: Final = RoleSettings(
    nodes=100_000,
    percent=50.0,
    partition_nodes=100_000,
    partition_percent=50.0,
    per_hour=600,
    cool_down=600,
)
WARDEN: Final = RoleSettings(approve=("reboot",))


@dataclass(frozen=True)
class GuardSettings(Declared):
    """What holds for all roles, and each role's own.

    `keeper` and `warden` count different things as "at once": the nodes of our reservations, and
    the nodes that we took out of service.
    """

    fresh: Annotated[
        Annotated[int, Field(ge=1)], Setting("Oldest look that is acted on", unit="s")
    ] = 60
    floor_nodes: Annotated[
        Count, Setting("Nodes of each partition that stay in service", unit="nodes")
    ] = 1
    floor_percent: Annotated[
        Percent, Setting("Of each partition's nodes, those that stay in service", unit="%")
    ] = 90.0
    reboots: Annotated[Count, Setting("Most nodes that reboot at once", unit="nodes")] = 1
    settle: Annotated[
        Annotated[int, Field(ge=1)],
        Setting("After which an action without any effect has failed", unit="s"),
    ] = 300
    again: Annotated[
        Count, Setting("Before what was refused is taken in again, if nothing changed", unit="s")
    ] = 600
    zone: Annotated[str, Setting("Time zone of quiet hours, such as Europe/Berlin")] = "UTC"
    quiet: tuple[QuietHours, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    keeper: RoleSettings = field(default=KEEPER)
    warden: RoleSettings = field(default=WARDEN)

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ParameterError("zone", self.zone, "a time zone such as Europe/Berlin") from None
        for role in (Role.KEEPER, Role.WARDEN):
            for name in self.of(role).approve:
                if name not in MAY[role]:
                    raise ParameterError(f"{role}.approve", name, "of " + ", ".join(MAY[role]))

    def of(self, role: Role) -> RoleSettings:
        """Return a role's own settings; the advisor has none, since it changes nothing."""
        return self.keeper if role == Role.KEEPER else self.warden


def quiet_hours(text: str) -> QuietHours:
    """Return quiet hours from text such as ``mon-fri 08:00-18:00`` or ``22:00-06:00``."""
    found = _QUIET.fullmatch(text.strip().lower())
    if found:
        first = found["first"] or "mon"
        last = found["last"] or found["first"] or "sun"
        begin = int(found["from"]) * 60 + int(found["from_m"])
        end = int(found["to"]) * 60 + int(found["to_m"])
        if first in DAYS and last in DAYS and max(begin, end) <= DAY:
            at, upto = DAYS.index(first), DAYS.index(last)
            days = tuple((at + k) % 7 for k in range((upto - at) % 7 + 1))
            return QuietHours(days, begin, end)
    raise ParameterError("quiet", text, "such as 'mon-fri 08:00-18:00' or '22:00-06:00'")


def guard_settings(tables: Mapping[str, Any]) -> GuardSettings:
    """Return the settings that the tables ``guard``, ``keeper`` and ``warden`` of a file say; what
    they do not say is as it is by default. Raises ParameterError."""
    strange = [name for name in tables if name not in {"guard", "keeper", "warden"}]
    if strange:
        raise ParameterError("table", strange[0], "guard, keeper or warden")
    given = dict(_mapping("guard", tables.get("guard", {})))
    made: dict[str, Any] = {
        "quiet": tuple(quiet_hours(str(one)) for one in _several(given.pop("quiet", ()))),
        "maintenance": tuple(_maintenance(one) for one in _several(given.pop("maintenance", ()))),
    }
    for role, usual in ((Role.KEEPER, KEEPER), (Role.WARDEN, WARDEN)):
        told = dict(_mapping(role, tables.get(role, {})))
        if "approve" in told:
            told["approve"] = tuple(str(one) for one in _several(told["approve"]))
        made[role] = changed(usual, told, str(role))
    return changed(GuardSettings(**made), given, "guard")


def changed(usual: S, given: Mapping[str, Any], table: str) -> S:
    """Return settings with some of them changed to what a table says. Raises ParameterError that
    names table and key."""
    kind: Any = type(usual)
    known = declared(kind)
    values = {one.name: getattr(usual, one.name) for one in fields(usual)}  # type: ignore[arg-type]
    for name, value in given.items():
        if name not in known:
            close = get_close_matches(name, known, 1)
            expected = f"{close[0]}?" if close else ", ".join(known)
            raise ParameterError(f"{table}.{name}", value, f"another key: {expected}")
        if not isinstance(values[name], tuple):
            value = _read(known[name], value, type(values[name]), f"{table}.{name}")
        values[name] = value
    try:
        made: S = kind(**values)
    except ParameterError as error:
        name = error.name.removeprefix(f"{table}.")
        raise ParameterError(f"{table}.{name}", error.value, error.allowed) from None
    return made


def _read(parameter: Parameter, given: Any, kind: type[Any], name: str) -> Any:
    """Return a value of a file as its setting takes it. Raises ParameterError that names it."""
    try:
        value: Any = parameter.read(given)
    except ParameterError as error:
        raise ParameterError(name, error.value, error.allowed) from None
    if kind is float and type(value) is int and abs(value) < 2**63:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        words = {int: "a whole number", float: "a number", str: "text"}
        raise ParameterError(name, value, words.get(kind, "true or false"))
    return value


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ParameterError(name, value, "a table")
    return value


def _several(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ParameterError("value", value, "a list")
    return tuple(value)


def _maintenance(given: Any) -> Maintenance:
    """Return a window from a table with `start`, `end` and, where not all, `nodes`."""
    expected = "{ start = DATE, end = DATE, nodes = [NAMES] }"
    if not isinstance(given, dict) or not {"start", "end"} <= set(given) <= {
        "start", "end", "nodes",
    }:  # fmt: skip
        raise ParameterError("maintenance", str(given), expected)
    start, end = (parse_time(str(given[name])) for name in ("start", "end"))
    if start >= end:
        raise ParameterError("maintenance", str(given), "an end after its start")
    nodes = _several(given.get("nodes", ()))
    return Maintenance(start, end, frozenset(str(one) for one in nodes))
