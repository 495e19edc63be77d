"""Where nodes stand, from Slurm's `topology.conf`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from forestall.model.cluster.topology import CONTIGUOUS, FORM, Topology
from forestall.model.errors import ParameterError, TraceError
from forestall.model.nodes import NodeSet
from forestall.model.site.hostlist import expand, in_order
from forestall.traces.files.guard import reader


@reader
def read_topology(given: str | Path | Topology) -> Topology:
    """Return the topology of a text, or of a file as Slurm's `topology.conf`: lines with
    `SwitchName`, `Nodes` and `Switches`, or with `BlockName` and `Nodes`.

    Nodes of a file are numbered in the order of the numbers in their names (n2 before n10).
    Raises TraceError where a file cannot be read or used, and ParameterError.
    """
    if isinstance(given, Topology):
        return given
    if not isinstance(given, str | Path):
        raise ParameterError("topology", given, "a text or the name of a file")
    plain = str(given).strip()
    if not isinstance(given, Path) and (plain == CONTIGUOUS or plain.isdigit() or "=" in plain):
        return Topology.of(plain)
    path = Path(given)
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ParameterError("topology", plain, f"a file that is there, or {FORM}") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise TraceError(path, f"not text ({error})") from None
    return _File(path, text).topology()


@dataclass(frozen=True)
class _Switch:
    """A switch as it is written: the names of its nodes, and of the switches below it."""

    number: int
    nodes: tuple[str, ...]
    switches: tuple[str, ...]


@dataclass(frozen=True)
class _File:
    path: Path
    text: str

    def topology(self) -> Topology:
        """Return what the lines say together."""
        lines = self._lines()
        if not lines:
            raise TraceError(self.path, "has no line SwitchName=... or BlockName=...")
        names = in_order({name for line in lines.values() for name in line.nodes})
        number = {name: k for k, name in enumerate(names)}
        held: dict[str, tuple[int, frozenset[int]]] = {}
        for name in lines:
            self._under(name, lines, number, held, ())
        if not names:
            raise TraceError(self.path, "has no nodes at its switches")
        levels: dict[int, list[tuple[str, NodeSet]]] = {}
        for name in lines:  # in the order of the file
            level, nodes = held[name]
            if nodes:
                levels.setdefault(level, []).append((name, NodeSet.of(nodes)))
        try:
            return Topology(tuple(tuple(levels[level]) for level in sorted(levels)))
        except ParameterError as error:
            raise TraceError(self.path, f"cannot be used: {error}") from None

    def _lines(self) -> dict[str, _Switch]:
        found: dict[str, _Switch] = {}
        for number, row in enumerate(self.text.replace("\\\n", " ").splitlines(), 1):
            words = row.partition("#")[0].split()
            if not words:
                continue
            told = {key.lower(): value for key, equals, value in (w.partition("=") for w in words)}
            if "blocksizes" in told:
                continue
            name = told.get("switchname") or told.get("blockname")
            if not name:
                raise TraceError(
                    self.path, f"line {number}: {row.strip()[:40]!r}; expected SwitchName=... or "
                    "BlockName=...",
                )  # fmt: skip
            if name in found:
                raise TraceError(self.path, f"line {number}: switch {name} appears twice")
            try:
                nodes, below = (expand(told.get(key, "")) for key in ("nodes", "switches"))
            except ParameterError as error:
                raise TraceError(self.path, f"line {number}: {error}") from None
            found[name] = _Switch(number, nodes, below)
        return found

    def _under(
        self,
        name: str,
        lines: Mapping[str, _Switch],
        number: Mapping[str, int],
        held: dict[str, tuple[int, frozenset[int]]],
        above: tuple[str, ...],
    ) -> tuple[int, frozenset[int]]:
        """Return a switch's level and the nodes under it."""
        if name not in held:
            line = lines[name]
            for other in line.switches:
                if other not in lines or other in (*above, name):
                    said = "is not there" if other not in lines else "is above itself"
                    raise TraceError(self.path, f"line {line.number}: switch {other} {said}")
            below = [
                self._under(other, lines, number, held, (*above, name)) for other in line.switches
            ]
            nodes = {number[one] for one in line.nodes}.union(*(one for _, one in below))
            held[name] = 1 + max((level for level, _ in below), default=-1), frozenset(nodes)
        return held[name]
