"""The nodes of a cluster as Slurm describes them now: `scontrol show node`, `sinfo`, partitions.

Text (one block or one line a node), JSON of `scontrol` and `sinfo` (their forms differ between
versions; all that were seen are taken), and tables of `sinfo` with a header.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core._lazy import lazily
from forestall.core.files.documents import json_of
from forestall.core.files.findings import SpoiltLines, shown
from forestall.core.files.packed import read_bytes, text_of
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import expand, in_order
from forestall.core.model.job_records import NEVER
from forestall.slurm.clusters import of_cluster
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.times import limit_of, moments_of

with lazily():
    import polars as pl

_NONE: Final = frozenset({"", "(null)", "none", "n/a", "unknown", "null"})
_UNLIMITED: Final = frozenset({"unlimited", "infinite", "none", "n/a", ""})
_BLOCK: Final = re.compile(r"(?m)^[ \t]*NodeName=")
_PARTITION: Final = re.compile(r"(?m)^[ \t]*PartitionName=")
_FIELD: Final = re.compile(r"(?:^|(?<=\s))([A-Z][A-Za-z]*)=(\S*)")
_REASON: Final = re.compile(
    r"(?:^|\s)Reason=(.*?)(?=\s+(?:Comment|Extra|InstanceId|InstanceType|ReservationName|"
    r"ResumeAfterTime|Topology|NodeAddr|Weight)=|\n|$)"
)
_DATE: Final = re.compile(r"(?:[A-Z][a-z]{2} ){2}[ \d]\d \d\d:\d\d:\d\d \d{4}\s*$")
_GRES: Final = re.compile(r"gpu(?::([A-Za-z][\w.-]*))?(?::(\d+))?", re.IGNORECASE)


@dataclass
class _Node:
    name: str
    cpus: int = -1
    memory: int = -1
    gres: str = ""
    features: str = ""
    partitions: list[str] = field(default_factory=list)
    state: str = ""
    reason: str = ""
    boot: str = ""


def looks_like_nodes(text: str) -> bool:
    """Return whether text is that of `scontrol show node`."""
    return text.lstrip().startswith("NodeName=")


def looks_like_partitions(text: str) -> bool:
    """Return whether text is that of `scontrol show partition`."""
    return text.lstrip().startswith("PartitionName=")


def looks_like_sinfo(text: str) -> bool:
    """Return whether text begins with the header of a table of `sinfo` with a node a line."""
    lines = _lines(text)
    names = {_SINFO.get(name.strip().upper()) for name in _cells(lines[0])} if lines else set()
    return {"name", "state"} <= names


def json_kind(value: Mapping[str, Any]) -> str:
    """Return what a JSON document of Slurm holds: nodes, partitions, or "" for neither."""
    if isinstance(value.get("nodes"), list) or isinstance(value.get("sinfo"), list):
        return "nodes"
    return "partitions" if isinstance(value.get("partitions"), list) else ""


def read_nodes(
    paths: Sequence[str | Path],
    *,
    zone: str | None = None,
    seen: int | None = None,
    cluster: str | None = None,
) -> Inventory:
    """Read descriptions of nodes, and the time limits of partitions, of any known form.

    Parameters
    ----------
    paths : the files; of a node in several of them each later one adds what it tells
    zone : time zone of the dates (None: UTC)
    seen : when they were written, Unix seconds
    cluster : whose nodes are read, where a file has those of several; None: of the only one

    Raises TraceError where a file is none of these, ParameterError where it has no such cluster.
    """
    nodes: dict[str, _Node] = {}
    limits: dict[str, int] = {}
    members: dict[str, list[str]] = {}
    cleaning = Cleaning()
    for path in paths:
        spoilt = SpoiltLines()
        text = of_cluster(text_of(read_bytes(path, spoilt.note)), cluster)
        cleaning += spoilt.cleaning(f"{path} ")
        odd = _read(path, text, nodes, limits, members)
        cleaning = cleaning.plus("bad_node", "nodes that could not be read", "left out", odd)
    for partition, names in members.items():
        for name in names:
            if name in nodes and partition not in nodes[name].partitions:
                nodes[name].partitions.append(partition)
    source = ", ".join(str(path) for path in paths)
    return _inventory(nodes.values(), limits, seen, source, cleaning, zone)


def _read(
    path: str | Path,
    text: str,
    nodes: dict[str, _Node],
    limits: dict[str, int],
    members: dict[str, list[str]],
) -> list[str]:
    """Read one file into what is there; return what could not be read."""
    head = text.lstrip()
    if head.startswith("{"):
        return _from_json(path, text, nodes, limits)
    if looks_like_partitions(head):
        return _partitions(text, limits, members)
    if looks_like_nodes(head):
        return _blocks(text, nodes)
    first = next((line for line in text.split("\n") if line.strip()), "")
    if looks_like_sinfo(text):
        before = len(nodes)
        odd = _table(text, nodes)
        if odd and len(nodes) == before:
            asked = "sinfo -N -o '%N|%P|%T|%c|%m|%G|%E'"
            said = f"has no line whose columns hold what they should: {odd[0]}"
            raise TraceError(path, f"{said}; where columns ran together, expected {asked}")
        return odd
    what = f"the file starts with {shown(first)}" if first else "is empty"
    raise TraceError(path, f"{what}; expected the output of scontrol show node, or of sinfo")


def _blocks(text: str, nodes: dict[str, _Node]) -> list[str]:
    odd = []
    for block in _split(_BLOCK, text):
        told = _told(block)
        try:
            names = expand(told["NodeName"])
        except ParameterError:
            odd.append(shown(told["NodeName"]))
            continue
        reason = _REASON.search(block)
        for name in names:
            node = nodes.setdefault(name, _Node(name))
            node.cpus = _whole(told.get("CPUTot"), node.cpus)
            node.memory = _whole(told.get("RealMemory"), node.memory)
            node.gres = _text(told.get("Gres")) or _gres_of_tres(told.get("CfgTRES", ""))
            node.features = _text(told.get("ActiveFeatures")) or _text(told.get("Features"))
            node.partitions = _listed(told.get("Partitions", ""))
            node.state = told.get("State", "")
            node.reason = _text(reason[1].strip()) if reason else ""
            node.boot = told.get("BootTime", "")
    return odd


def _split(start: re.Pattern[str], text: str) -> list[str]:
    """Return the blocks of a text, each from one place where the pattern fits to the next."""
    places = [match.start() for match in start.finditer(text)] + [len(text)]
    return [text[a:b] for a, b in pairwise(places)]


def _told(block: str) -> dict[str, str]:
    told: dict[str, str] = {}
    for match in _FIELD.finditer(block):  # the first counts: free text stands at the end
        told.setdefault(match[1], match[2])
    return told


def _partitions(text: str, limits: dict[str, int], members: dict[str, list[str]]) -> list[str]:
    odd = []
    for block in _split(_PARTITION, text):
        told = _told(block)
        name = told.get("PartitionName", "")
        limit = _limit(told.get("MaxTime", ""))
        if limit is None or not name:
            odd.append(f"partition {shown(name)}")
            continue
        limits[name] = limit
        try:
            members[name] = list(expand(_text(told.get("Nodes"))))
        except ParameterError:
            odd.append(f"partition {shown(name)}")
    return odd


def _limit(text: str) -> int | None:
    return NEVER if text.lower() in _UNLIMITED else limit_of(text)


_SINFO: Final = {
    "NODELIST": "name", "NODE": "name", "NODEHOST": "name", "HOSTNAMES": "name",
    "PARTITION": "partition", "STATE": "state", "STATECOMPLETE": "state", "CPUS": "cpus",
    "MEMORY": "memory", "GRES": "gres", "AVAIL_FEATURES": "features", "ACTIVE_FEATURES": "features",
    "FEATURES": "features", "AVAIL_FE": "features", "REASON": "reason", "TIMELIMIT": "limit",
    "NODES": "count", "AVAIL": "available", "S:C:T": "shape", "TMP_DISK": "disk",
    "WEIGHT": "weight",
}  # fmt: skip
_MUST_BE: Final = {
    "state": re.compile(r"[A-Za-z_]+([+][A-Za-z_]+)*[*~#!%$@^+-]*"),
    "cpus": re.compile(r"\d{1,5}\+?"),  # 16 bits in Slurm; + where the nodes of a line differ
    "memory": re.compile(r"\d{1,12}\+?"),
    "count": re.compile(r"\d+"),
    "shape": re.compile(r"\d{1,5}\+?:\d{1,5}\+?:\d{1,3}\+?"),
    "disk": re.compile(r"\d+\+?"),
    "weight": re.compile(r"\d+\+?"),
    "available": re.compile(r"up|down|drain|inact(ive)?", re.IGNORECASE),
}
"""What cells of `sinfo` look like; where columns ran together, what follows them does not."""


def _cells(line: str) -> list[str]:
    return line.strip().split("|") if "|" in line else line.split()


def _lines(text: str) -> list[str]:
    """Return filled lines, without the date that `sinfo --long` prints first."""
    lines = [line for line in text.split("\n") if line.strip()]
    return lines[1:] if lines and _DATE.match(lines[0]) else lines


def _table(text: str, nodes: dict[str, _Node]) -> list[str]:
    lines = _lines(text)
    heads = [_SINFO.get(cell.strip().upper(), "") for cell in _cells(lines[0])]
    bars = "|" in lines[0]
    odd = []
    for line in lines[1:]:
        if line.strip() == lines[0].strip():
            continue
        # Only the last column may hold the separator: the reason stands last.
        cells = line.split("|", len(heads) - 1) if bars else line.split(None, len(heads) - 1)
        told = {head: cell.strip() for head, cell in zip(heads, cells, strict=False) if head}
        try:
            names = expand(told.get("name", ""))
        except ParameterError:
            names = ()
        whole = bool(names) and len(cells) >= len(heads) - 1 and _fits(told)
        if not whole or int(told.get("count") or len(names)) != len(names):
            odd.append(shown(line))
            continue
        for name in names:
            _add(nodes.setdefault(name, _Node(name)), told)
    return odd


def _fits(told: Mapping[str, str]) -> bool:
    """Return whether the cells of a line are what their columns hold, or blank."""
    return all(
        not told.get(head) or form.fullmatch(told[head]) is not None
        for head, form in _MUST_BE.items()
    )


def _add(node: _Node, told: Mapping[str, str]) -> None:
    """Add what one line of `sinfo` tells; a node stands in a line for each of its partitions."""
    node.cpus = _whole(told.get("cpus"), node.cpus)
    node.memory = _whole(told.get("memory"), node.memory)
    node.gres = _text(told.get("gres")) or node.gres
    node.features = _text(told.get("features")) or node.features
    node.state = told.get("state", node.state)
    node.reason = _text(told.get("reason")) or node.reason
    for partition in _listed(told.get("partition", "").replace("*", "")):
        if partition not in node.partitions:
            node.partitions.append(partition)


def _from_json(
    path: str | Path, text: str, nodes: dict[str, _Node], limits: dict[str, int]
) -> list[str]:
    try:
        whole = json_of(text)
    except ValueError as error:
        raise TraceError(path, f"not JSON, or cut off ({error})") from None
    kind = json_kind(whole) if isinstance(whole, dict) else ""
    if not kind:
        raise TraceError(
            path, "is JSON without nodes; expected that of scontrol show node or sinfo"
        )
    odd = []
    if kind == "partitions":
        for one in whole["partitions"]:
            name, limit = _partition_of(one)
            if name:
                limits[name] = limit
            else:
                odd.append(shown(one))
        return odd
    for one in whole.get("nodes") or []:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str) or not one["name"]:
            odd.append(shown(one))
            continue
        _one_node(nodes.setdefault(one["name"], _Node(one["name"])), one)
    for group in whole.get("sinfo") or []:
        odd += _group(group, nodes, limits)
    return odd


def _partition_of(one: Any) -> tuple[str, int]:
    if not isinstance(one, dict):
        return "", NEVER
    maxima = one.get("maximums")
    minutes = number(maxima.get("time") if isinstance(maxima, dict) else one.get("max_time"))
    name = one.get("name")
    return (name if isinstance(name, str) else ""), NEVER if minutes is None else minutes * 60


def _one_node(node: _Node, one: Mapping[str, Any]) -> None:
    node.cpus = _known(one.get("cpus"))
    node.memory = _known(one.get("real_memory"))
    node.gres = _text(one.get("gres")) or _gres_of_tres(str(one.get("tres") or ""))
    node.features = _joined(one.get("active_features")) or _joined(one.get("features"))
    node.partitions = list(dict.fromkeys(map(str, one.get("partitions") or [])))
    node.state = _state(one.get("state"), one.get("state_flags"))
    node.reason = _text(one.get("reason"))
    boot = number(one.get("boot_time"))
    node.boot = str(boot or "")


def _group(group: Any, nodes: dict[str, _Node], limits: dict[str, int]) -> list[str]:
    """Add a group of like nodes, as newer versions of `sinfo --json` have them."""
    try:
        names = [str(name) for name in group["nodes"]["nodes"]]
        partition = str((group.get("partition") or {}).get("name") or "")
    except (KeyError, TypeError, AttributeError):
        return [shown(group)]
    for name in names:
        node = nodes.setdefault(name, _Node(name))
        node.cpus = _known(_within(group, "cpus", "maximum"))
        node.memory = _known(_within(group, "memory", "maximum"))
        node.gres = _text(_within(group, "gres", "total"))
        node.features = _joined(_within(group, "features", "active"))
        node.state = _state(_within(group, "node", "state"), None)
        node.reason = _text(_within(group, "reason", "description"))
        if partition and partition not in node.partitions:
            node.partitions.append(partition)
    if partition and isinstance(group.get("partition"), dict):
        limits[partition] = _partition_of(group["partition"])[1]
    return []


def _within(group: Mapping[str, Any], *path: str) -> Any:
    value: Any = group
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def number(value: Any) -> int | None:
    """Return a number of Slurm's JSON: plain, or ``{"set": true, "infinite": false, "number":
    7}``; None where it is not set or infinite."""
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite", False):
            return None
        value = value.get("number")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if abs(value) < 2**53 else None


def _known(value: Any) -> int:
    told = number(value)
    return -1 if told is None else told


def _state(state: Any, flags: Any) -> str:
    base = state if isinstance(state, list) else [state] if state else []
    more = flags if isinstance(flags, list) else []
    return "+".join(str(part).upper() for part in (*base, *more))


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else _text(value)


def _text(value: Any) -> str:
    text = value.strip() if isinstance(value, str) else ""
    return "" if text.lower() in _NONE else text


def _listed(text: str) -> list[str]:
    return [part for part in dict.fromkeys(_text(text).split(",")) if part]


def _whole(text: str | None, otherwise: int) -> int:
    match = re.match(r"\d+", text or "")
    return int(match[0]) if match else otherwise


def _gres_of_tres(tres: str) -> str:
    """Return the GPUs of ``cpu=8,mem=4G,gres/gpu:a100=4`` as ``gpu:a100:4``."""
    typed = re.findall(r"gres/gpu:([^=,]+)=(\d+)", tres)
    plain = re.findall(r"gres/gpu=(\d+)", tres)
    return ",".join(f"gpu:{kind}:{n}" for kind, n in typed) or ",".join(f"gpu:{n}" for n in plain)


def gpus_by_kind(gres: str) -> dict[str, int]:
    """Return how many GPUs a Gres names of each type, "" for those of none.

    >>> gpus_by_kind("gpu:a100:4(S:0-1),nvme:1,gpu:2")
    {'a100': 4, '': 2}
    """
    found = Counter[str]()
    for part in re.sub(r"\([^)]*\)", "", gres).split(","):
        if match := _GRES.fullmatch(part.strip()):
            found[match[1] or ""] += int(match[2] or 1)
    return dict(found)


def gpus_of(gres: str) -> tuple[int, str]:
    """Return how many GPUs a Gres names, and of which types.

    >>> gpus_of("gpu:a100:4(S:0-1),nvme:1"), gpus_of("gpu:2"), gpus_of("craynetwork:4")
    ((4, 'a100'), (2, ''), (0, ''))
    """
    found = gpus_by_kind(gres)
    return sum(found.values()), "+".join(filter(None, found))


def hardware_of(cpus: int, memory_mb: int, gres: str, features: str) -> str:
    """Return what tells kinds of nodes apart as text: ``4 x a100, 64 CPUs, 512 GB, icelake``.

    Memory is rounded to two digits, as nodes of one kind differ by a little.
    """
    gpus, kind = gpus_of(gres)
    parts = [f"{gpus} x {kind or 'GPU'}"] if gpus else []
    if cpus > 0:
        parts.append(f"{cpus} CPU" + "s" * (cpus != 1))
    if memory_mb > 0:
        size = float(f"{memory_mb / 1024:.2g}")
        parts.append(f"{size:,.0f} GB" if size >= 10 else f"{size:g} GB")
    if features:
        parts.append("+".join(sorted(set(features.split(",")))))
    return ", ".join(parts)


def _inventory(
    nodes: Iterable[_Node],
    limits: dict[str, int],
    seen: int | None,
    source: str,
    cleaning: Cleaning,
    zone: str | None,
) -> Inventory:
    by_name = {node.name: node for node in nodes}
    rows = [by_name[name] for name in in_order(list(by_name))]

    boot = moments_of(pl.Series([row.boot for row in rows], dtype=pl.String), zone)

    def column(values: Iterable[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.fromiter(values, np.int64, len(rows))

    return Inventory(
        tuple(row.name for row in rows),
        column(row.cpus for row in rows),
        column(gpus_of(row.gres)[0] for row in rows),
        column(row.memory for row in rows),
        tuple(tuple(row.partitions) for row in rows),
        tuple(hardware_of(row.cpus, row.memory, row.gres, row.features) for row in rows),
        tuple(row.state for row in rows),
        tuple(row.reason for row in rows),
        np.where(boot.first < NEVER, boot.first, -1),
        dict(limits),
        seen,
        source,
        cleaning,
        tuple(row.gres for row in rows),
        tuple(row.features for row in rows),
    )
