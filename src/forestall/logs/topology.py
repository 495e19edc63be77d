"""Where nodes stand, from Slurm's `topology.conf` or `topology.yaml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from forestall.core._lazy import lazily
from forestall.core.files.documents import settings_text
from forestall.core.files.findings import listed, shown
from forestall.core.files.guard import reader
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import expand, in_order
from forestall.core.model.nodes import NodeSet
from forestall.core.model.topology import CONTIGUOUS, FORM, Topology

with lazily():
    import yaml

_UNITS: Final = {"tree": ("switches", "switch"), "block": ("blocks", "block")}
"""Types of topologies in YAML: their lists of switches, and what names one in them."""
_YAML: Final = (".yaml", ".yml")


@reader
def read_topology(given: str | Path | Topology) -> Topology:
    """Return the topology of a text, or of a file as Slurm has it.

    A file is `topology.conf`, lines with `SwitchName`, `Nodes` and `Switches`, or with `BlockName`
    and `Nodes`; or `topology.yaml` (Slurm 25.05 on), of which ``FILE:NAME`` is the topology of
    that name, and else the first with `cluster_default`, or the only one. A flat topology is
    `contiguous`: Slurm takes nodes in a row then. Nodes of a file, in whichever topology, are
    numbered in the order of the numbers in their names (n2 before n10). Raises TraceError where a
    file cannot be read or used, and ParameterError.
    """
    if isinstance(given, Topology):
        return given
    if not isinstance(given, str | Path):
        raise ParameterError("topology", given, "a text or the name of a file")
    plain = str(given).strip()
    if not isinstance(given, Path) and (plain == CONTIGUOUS or plain.isdigit() or "=" in plain):
        return Topology.of(plain)
    path, wanted = Path(given), ""
    before, colon, after = plain.rpartition(":")
    if colon and not path.exists():
        path, wanted = Path(before), after
    if not path.exists():
        raise ParameterError("topology", plain, f"a file that is there, or {FORM}")
    text = settings_text(path)
    first = next((line for line in text.split("\n") if line.partition("#")[0].strip()), "")
    if path.suffix in _YAML or first.startswith(("-", "[")):
        return _of_yaml(path, text, wanted)
    if wanted:
        raise ParameterError("topology", plain, "a name behind the file only of topology.yaml")
    switches = _lines(path, text)
    if not switches:
        raise TraceError(path, "has no line SwitchName=... or BlockName=...")
    return _topology(path, switches, {name for one in switches.values() for name in one.nodes})


@dataclass(frozen=True)
class _Switch:
    """A switch as it is written: where, the names of its nodes, and of the switches below it."""

    where: str
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


def _topology(path: Path, switches: Mapping[str, _Switch], nodes: set[str]) -> Topology:
    """Return what switches say together; `nodes` are the names of all nodes of the file."""
    number = {name: k for k, name in enumerate(in_order(nodes))}
    held: dict[str, tuple[int, frozenset[int]]] = {}
    for name in switches:
        _under(path, name, switches, number, held, ())
    levels: dict[int, list[tuple[str, NodeSet]]] = {}
    for name in switches:  # in the order of the file
        level, below = held[name]
        if below:
            levels.setdefault(level, []).append((name, NodeSet.of(below)))
    if not levels:
        raise TraceError(path, "has no nodes at its switches")
    try:
        return Topology(tuple(tuple(levels[level]) for level in sorted(levels)))
    except ParameterError as error:
        raise TraceError(path, f"cannot be used: {error}") from None


def _lines(path: Path, text: str) -> dict[str, _Switch]:
    """Return the switches or blocks of `topology.conf`."""
    found: dict[str, _Switch] = {}
    for number, row in enumerate(text.replace("\\\n", " ").split("\n"), 1):
        words = row.partition("#")[0].split()
        if not words:
            continue
        told = {key.lower(): value for key, equals, value in (w.partition("=") for w in words)}
        if "blocksizes" in told:
            continue
        name = told.get("switchname") or told.get("blockname")
        if not name:
            expected = "expected SwitchName=... or BlockName=..."
            raise TraceError(path, f"line {number}: {row.strip()[:40]!r}; {expected}")
        nodes, below = told.get("nodes", ""), told.get("switches", "")
        _add(path, found, name, f"line {number}", nodes, below)
    return found


def _add(
    path: Path, found: dict[str, _Switch], name: str, where: str, nodes: str, below: str
) -> None:
    if name in found:
        raise TraceError(path, f"{where}: switch {name} appears twice")
    try:
        found[name] = _Switch(where, expand(nodes), expand(below))
    except ParameterError as error:
        raise TraceError(path, f"{where}: {error}") from None


def _of_yaml(path: Path, text: str, wanted: str) -> Topology:
    """Return a topology of `topology.yaml`: that wanted, else the cluster's default."""
    entries = _entries(path, text)
    switches = {name: _units(path, name, entry) for name, entry in entries.items()}
    defaults = [name for name, entry in entries.items() if entry.get("cluster_default") is True]
    if not wanted and not defaults and len(entries) > 1:
        said = f"has several topologies ({listed(list(entries))}), and none with cluster_default"
        raise TraceError(path, f"{said}; name one of them, as in {path.name}:{next(iter(entries))}")
    chosen = wanted or next(iter(defaults or entries))
    if chosen not in entries:
        raise ParameterError("topology", chosen, f"one of those in {path}: {listed(list(entries))}")
    if "flat" in entries[chosen]:
        return Topology()
    every = {node for some in switches.values() for one in some.values() for node in one.nodes}
    return _topology(path, switches[chosen], every)


def _entries(path: Path, text: str) -> dict[str, Mapping[str, Any]]:
    """Return the topologies of a file by their names."""
    try:
        whole = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        said = getattr(error, "problem", None) or "it cannot be read"
        raise TraceError(path, f"not YAML ({said})", line=mark and mark.line + 1) from None
    found: dict[str, Mapping[str, Any]] = {}
    for number, one in enumerate(_mappings(path, whole, "it"), 1):
        where = f"topology {number}"
        name = _text(path, one, "topology", where)
        types = [key for key in one if key not in ("topology", "cluster_default")]
        if not name or len(types) != 1 or types[0] not in (*_UNITS, "flat") or not one[types[0]]:
            said = f"{where} has {listed([shown(key) for key in one]) or 'nothing'}"
            expected = "expected topology (its name), cluster_default, and one of tree, block, flat"
            raise TraceError(path, f"{said}; {expected}")
        if name in found:
            raise TraceError(path, f"topology {name} appears twice")
        found[name] = one
    if not found:
        raise TraceError(path, "has no topologies; expected those of Slurm's topology.yaml")
    return found


def _units(path: Path, name: str, entry: Mapping[str, Any]) -> dict[str, _Switch]:
    """Return the switches or blocks of a topology; none of a flat one."""
    found: dict[str, _Switch] = {}
    for kind, (many, single) in _UNITS.items():
        inside = entry.get(kind, {})
        if not isinstance(inside, dict):
            raise TraceError(path, f"topology {name}: {kind} has no {many}")
        units = _mappings(path, inside.get(many), f"{many} of topology {name}") if inside else ()
        for number, one in enumerate(units, 1):
            where = f"topology {name}, {single} {number}"
            called = _text(path, one, single, where)
            if not called:
                raise TraceError(path, f"{where}: has no name; expected {single}: NAME")
            nodes, below = (_text(path, one, key, where) for key in ("nodes", "children"))
            _add(path, found, called, where, nodes, below)
    return found


def _mappings(path: Path, value: Any, where: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        expected = "a list of named values, as in Slurm's topology.yaml"
        raise TraceError(path, f"{where} is not {expected}")
    return iter(value)


def _text(path: Path, values: Mapping[str, Any], key: str, where: str) -> str:
    """Return a text of YAML, "" where it is not there; names that are numbers are texts."""
    value = values.get(key, "")
    if value is None or isinstance(value, bool) or not isinstance(value, str | int):
        raise TraceError(path, f"{where}: {key} is not a text")
    return str(value)


def _under(
    path: Path,
    name: str,
    switches: Mapping[str, _Switch],
    number: Mapping[str, int],
    held: dict[str, tuple[int, frozenset[int]]],
    above: tuple[str, ...],
) -> tuple[int, frozenset[int]]:
    """Return a switch's level and the nodes under it."""
    if name not in held:
        switch = switches[name]
        for other in switch.switches:
            if other not in switches or other in (*above, name):
                said = "is not there" if other not in switches else "is above itself"
                raise TraceError(path, f"{switch.where}: switch {other} {said}")
        below = [
            _under(path, other, switches, number, held, (*above, name)) for other in switch.switches
        ]
        nodes = {number[one] for one in switch.nodes}.union(*(one for _, one in below))
        held[name] = 1 + max((level for level, _ in below), default=-1), frozenset(nodes)
    return held[name]
