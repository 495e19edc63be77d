"""Limits of QOS and associations: what is asked of Slurm, and what its answers say.

Slurm 20.11 to 26.05 tell them in the same fields. They count only where `AccountingStorageEnforce`
has ``limits`` or ``safe``. Not told: budgets of minutes that are used up, and how much of a limit
others use now.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from forestall.core.model.faults import LookError, LookFault
from forestall.core.model.units import parse_duration
from forestall.slurm.cluster.limits import Association, ClusterLimits, Limit, QosLimits

WHAT: Final = "limits"
QOS_FIELDS: Final = (
    "Name", "Flags", "MaxWall", "MaxTRES", "MaxTRESPU", "MaxTRESPA", "MaxJobsPU", "MaxJobsPA",
    "GrpTRES", "GrpJobs", "MinTRES",
)  # fmt: skip
ASSOCIATION_FIELDS: Final = (
    "Account", "User", "Partition", "ParentName", "DefaultQOS", "QOS", "MaxWall", "MaxTRES",
    "MaxJobs", "GrpTRES", "GrpJobs",
)  # fmt: skip
USER_FIELDS: Final = ("User", "DefaultAccount")
_SETTING: Final = re.compile(r"^(AccountingStorageEnforce|ClusterName)\s*=\s*(.*?)\s*$", re.M)
_WALL: Final = re.compile(r"(?:\d{1,6}-)?\d{1,4}:\d\d:\d\d")
_RESOURCE: Final = re.compile(r"([a-z][^=,]*)=(\d{1,15})(?=,|$)")
_BINDING: Final = frozenset({"limits", "safe", "all"})


def qos() -> tuple[str, ...]:
    """Return the command for all QOS."""
    return _shown("qos", QOS_FIELDS)


def associations(cluster: str) -> tuple[str, ...]:
    """Return the command for all associations of a cluster."""
    return (*_shown("association", ASSOCIATION_FIELDS), f"Cluster={cluster}")


def users() -> tuple[str, ...]:
    """Return the command for the default accounts of all users."""
    return _shown("user", USER_FIELDS)


def _shown(what: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    words = ("sacctmgr", "--readonly", "--noheader", "--parsable2", "show", what)
    return (*words, f"Format={','.join(fields)}")


def enforced_in(config: str) -> str:
    """Return the cluster whose limits count, from `scontrol show config`; "" where none do. Raises
    LookError where it tells neither."""
    told = dict(_SETTING.findall(config))
    if len(told) < 2:
        raise LookError(LookFault.UNREADABLE, WHAT, "the configuration does not tell of limits")
    words = set(told["AccountingStorageEnforce"].lower().split(","))
    return "" if _BINDING.isdisjoint(words) else told["ClusterName"]


def limits_of_rows(qos: str, associations: str, users: str) -> ClusterLimits:
    """Return the limits from the answers to the three questions above. Raises LookError."""
    return ClusterLimits(
        {one["Name"]: _qos(one) for one in _rows(qos, QOS_FIELDS)},
        {
            (one["Account"], one["User"], one["Partition"]): _association(one)
            for one in _rows(associations, ASSOCIATION_FIELDS)
        },
        {one["User"]: one["DefaultAccount"] for one in _rows(users, USER_FIELDS)},
    )


def _rows(text: str, fields: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    for line in text.split("\n"):
        if not line.strip():
            continue
        cells = line.split("|")
        if len(cells) != len(fields):
            message = f"a line has {len(cells)} fields, not {len(fields)}"
            raise LookError(LookFault.UNREADABLE, WHAT, message)
        yield dict(zip(fields, (cell.strip() for cell in cells), strict=True))


def _qos(told: Mapping[str, str]) -> QosLimits:
    flags = frozenset(word for word in told["Flags"].split(",") if word)
    return QosLimits(tuple(_limits(told, QOS_FIELDS)), flags)


def _association(told: Mapping[str, str]) -> Association:
    names = tuple(word for word in told["QOS"].split(",") if word)
    limits = tuple(_limits(told, ASSOCIATION_FIELDS))
    return Association(told["ParentName"], told["DefaultQOS"], names, limits)


def _limits(told: Mapping[str, str], fields: tuple[str, ...]) -> Iterator[Limit]:
    for name in fields:
        text = told[name]
        if name == "MaxWall" and text:
            if not _WALL.fullmatch(text):
                raise LookError(LookFault.UNREADABLE, WHAT, f"MaxWall is {text[:40]!r}")
            yield Limit(name, "time", parse_duration(text, plain=True))
        elif "TRES" in name:
            yield from (Limit(name, of, int(much)) for of, much in _RESOURCE.findall(text))
        elif "Jobs" in name and text.isdigit():
            yield Limit(name, "jobs", int(text))
