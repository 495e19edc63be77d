"""Machines whose nodes are shared, as CSV, TOML or one line of equal nodes.

CSV has a node a row: ``name,cores,memory,gpus[,gpu_type][,features][,partitions]``; memory in MiB
or with a unit (``64G``); features and partitions are separated by blanks. TOML has a table
``[[nodes]]`` a group: `name` is a hostlist such as ``"gpu[01-16]"``, memory is as in CSV, features
and partitions are lists, and any other whole number is a resource of that name. A line is
``nodes=32 cores=64 memory=512G gpus=8``, or ``nodes=64 like=alibaba-2023`` for nodes of the kinds
of that cluster.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core.files.delimited import read_sheet
from forestall.core.files.documents import settings_text
from forestall.core.files.findings import shown
from forestall.core.files.guard import reader
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import expand
from forestall.core.model.nodes import RESOURCES, MachineSpec
from forestall.core.model.units import parse_size
from forestall.logs.generate.shared import generate_machine
from forestall.logs.jobs.table import in_mebibytes

FORM: Final = (
    "a file of nodes (CSV, TOML, scontrol show node), or 'nodes=32 cores=64 memory=512G gpus=8'"
)
LIKE: Final = {"alibaba-2023": generate_machine}
"""Machines that can be made up for any number of nodes."""
_MEBI: Final = 1 << 20
_MOST: Final = 2**40
_WORDS: Final = ("gpu_type", "features", "partitions")


def is_line(given: str | Path) -> bool:
    """Return whether a machine is told by a line, not by a file."""
    return isinstance(given, str) and "=" in given and not Path(given).exists()


def machine_from(given: str | Path) -> MachineSpec:
    """Return the machine of a line, or of a CSV or TOML file. Raises ParameterError, TraceError."""
    if isinstance(given, str) and is_line(given):
        return machine_of_line(given)
    if not Path(given).exists():
        raise ParameterError("machine", str(given), FORM)
    return read_machine_file(given)


@reader
def read_machine_file(path: str | Path, *, strict: bool = False) -> MachineSpec:
    """Return the machine of a CSV or TOML file. Raises TraceError where it cannot be used."""
    place = Path(path)
    if place.suffix == ".toml":
        return _of_toml(place)
    sheet = read_sheet(place, ("name", *RESOURCES), _WORDS, strict=strict)
    in_mebibytes(sheet, "memory")
    columns = [sheet.whole(name, low=0, below=_MOST, blank=0) for name in RESOURCES]
    bad = sheet.findings.cleaning(1, "nodes")
    if not bool(sheet.keep.all()):
        raise TraceError(place, f"{bad.remarks[0].counted}: every node of a machine is needed")
    words = {n: sheet.text(n) if sheet.has(n) else [""] * len(sheet) for n in _WORDS}
    return _machine(
        place, sheet.text("name"), RESOURCES, np.stack(columns, axis=1), words["gpu_type"],
        [text.split() for text in words["features"]],
        [text.split() for text in words["partitions"]],
    )  # fmt: skip


def machine_of_line(text: str) -> MachineSpec:
    """Return the machine that a line describes: equal nodes, or such as are made up.

    >>> machine_of_line("nodes=2 cores=64 memory=512G gpus=8").capacity.tolist()
    [[64, 524288, 8], [64, 524288, 8]]
    """
    values = {"nodes": 0, "cores": 0, "memory": 0, "gpus": 0}
    told = dict.fromkeys(part.partition("=")[0] for part in text.split())
    if "like" in told:
        return _made_up(text, told)
    for part in text.split():
        name, sign, value = part.partition("=")
        if name not in values or not sign:
            raise ParameterError("machine", text, FORM)
        values[name] = _amount("machine", name, value)
    if not values["nodes"] or not values["cores"]:
        raise ParameterError("machine", text, "nodes and cores of 1 at least")
    return MachineSpec.of_equal(**values)


def _made_up(text: str, told: Iterable[str]) -> MachineSpec:
    values = dict(part.split("=", 1) for part in text.split() if "=" in part)
    if set(told) != {"nodes", "like"} or values.get("like") not in LIKE:
        raise ParameterError(
            "machine", text, f"'nodes=N like=NAME', NAME being {' or '.join(LIKE)}"
        )
    return LIKE[values["like"]](_amount("machine", "nodes", values.get("nodes")))


def _amount(where: str | Path, name: str, value: Any) -> int:
    """Return an amount; memory in MiB, a size with or without its unit."""
    if name == "memory" and isinstance(value, str) and not value.isdigit():
        return parse_size(value, "memory") // _MEBI
    text = str(value)
    if isinstance(value, bool) or not text.isdigit() or int(text) >= _MOST:
        if isinstance(where, Path):
            raise TraceError(where, f"{name} is {shown(text)}; expected a whole number")
        raise ParameterError(where, f"{name}={value}", "a whole number")
    return int(text)


def _of_toml(path: Path) -> MachineSpec:
    try:
        document = tomllib.loads(settings_text(path))
    except tomllib.TOMLDecodeError as error:
        raise TraceError(path, f"is no TOML: {error}") from None
    groups = document.get("nodes")
    if not isinstance(groups, list) or not all(isinstance(one, dict) for one in groups):
        raise TraceError(path, "has no [[nodes]]; expected one for each group of equal nodes")
    further = sorted({name for one in groups for name in one} - {"name", *RESOURCES, *_WORDS})
    resources = (*RESOURCES, *further)
    names: list[str] = []
    rows, types, features, partitions = [], [], [], []
    for group in groups:
        mine = _names(path, group)
        names += mine
        row = [_amount(path, name, group.get(name, 0)) for name in resources]
        rows += [row] * len(mine)
        types += [str(group.get("gpu_type", ""))] * len(mine)
        features += [_list(path, group, "features")] * len(mine)
        partitions += [_list(path, group, "partitions")] * len(mine)
    return _machine(
        path, names, resources, np.array(rows, np.int64).reshape(-1, len(resources)), types,
        features, partitions,
    )  # fmt: skip


def _names(path: Path, group: Mapping[str, Any]) -> list[str]:
    given = group.get("name")
    if not isinstance(given, str) or not given:
        raise TraceError(
            path, 'a group of [[nodes]] has no name; expected one such as "gpu[01-16]"'
        )
    try:
        return list(expand(given))
    except ParameterError:
        raise TraceError(path, f"name {shown(given)} is no list of hosts") from None


def _list(path: Path, group: Mapping[str, Any], name: str) -> list[str]:
    given = group.get(name, [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise TraceError(path, f'{name} is {shown(str(given))}; expected a list such as ["a", "b"]')
    return given


def _machine(
    path: Path,
    names: list[str],
    resources: tuple[str, ...],
    capacity: Any,
    types: list[str],
    features: Iterable[Iterable[str]],
    partitions: Iterable[Iterable[str]],
) -> MachineSpec:
    if not names:
        raise TraceError(path, "has no node")
    twice = (
        next((name for k, name in enumerate(names) if name in set(names[:k])), None)
        if len(set(names)) < len(names)
        else None
    )
    if twice is not None:
        raise TraceError(path, f"node {shown(twice)} is there twice")
    empty = next(
        (name for name, cores in zip(names, capacity[:, 0], strict=True) if not cores), None
    )
    if empty is not None:
        raise TraceError(path, f"node {shown(empty)} has no cores; expected 1 at least")
    return MachineSpec(
        tuple(names), resources, np.asarray(capacity, np.int64), tuple(types),
        tuple(map(frozenset, features)), tuple(map(frozenset, partitions)), str(path),
    )  # fmt: skip
