"""Lists of host names as Slurm, pdsh and others write them: ``node[001-128,200],login1``.

A part is text with any number of brackets; a bracket holds whole numbers and ranges of them. The
lower end of a range says how many digits its numbers have at least, so that leading zeros stay.
Several brackets in one part stand for all their combinations, the last one running fastest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from forestall.core.model.errors import ParameterError

MOST_HOSTS = 1_000_000
"""Lists that name more hosts are taken for mistakes."""

_PIECES = re.compile(r"([^\[\]]*)(?:\[([^\[\]]*)\])?")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})", re.DOTALL)
_ALLOWED = "a list of hosts such as node[001-128,200],login1"


@dataclass(frozen=True)
class Hostlist:
    """An immutable set of host names, each once, in the order in which they were first named.

    >>> str(Hostlist.parse("node[8-11],node12") | Hostlist.parse("login1"))
    'login1,node[8-12]'
    """

    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> Hostlist:
        """Return the set of these names."""
        return cls(tuple(dict.fromkeys(names)))

    @classmethod
    def parse(cls, text: str) -> Hostlist:
        """Return the hosts that a list names; ParameterError where it is none."""
        return cls.of(expand(text))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __or__(self, other: Hostlist) -> Hostlist:
        return Hostlist.of([*self, *other])

    def __and__(self, other: Hostlist) -> Hostlist:
        there = set(other)
        return Hostlist(tuple(name for name in self if name in there))

    def __sub__(self, other: Hostlist) -> Hostlist:
        there = set(other)
        return Hostlist(tuple(name for name in self if name not in there))

    def __xor__(self, other: Hostlist) -> Hostlist:
        return (self - other) | (other - self)

    def __str__(self) -> str:
        return compress(self.names)


def expand(text: str) -> tuple[str, ...]:
    """Return the names that a list stands for, in its order, repeats as they come.

    Parameters
    ----------
    text : parts separated by commas or blanks; "" names no host

    Raises ParameterError where brackets do not match, a bracket holds anything but numbers and
    ascending ranges, or the list names more than `MOST_HOSTS`.

    >>> expand("r[1-2]n[09-10],login1")
    ('r1n09', 'r1n10', 'r2n09', 'r2n10', 'login1')
    """
    names: list[str] = []
    for part in _parts(text):
        if "[" not in part and "]" not in part:
            names.append(part)
        else:
            names.extend(_hosts(part, text, MOST_HOSTS - len(names)))
        if len(names) > MOST_HOSTS:
            raise ParameterError("hosts", _short(text), f"at most {MOST_HOSTS:,} hosts")
    return tuple(names)


def compress(names: Iterable[str]) -> str:
    """Return the shortest usual list of these names: each once, sorted, runs as ranges.

    Names that differ in the number at their end share brackets; `expand` gives them back.

    >>> compress(["n2", "n10", "n1", "n3", "gate"])
    'gate,n[1-3,10]'
    """
    plain: dict[str, list[list[str]]] = {}
    awaited: dict[tuple[str, str], list[str]] = {}
    for prefix, digits in sorted({_split(name) for name in names}, key=_order):
        runs = plain.setdefault(prefix, [])
        run = awaited.pop((prefix, digits), None) if digits else None
        if run is None:
            run = [digits, digits]
            runs.append(run)
        run[1] = digits
        if digits:
            follower = str(int(digits) + 1).zfill(len(run[0]))
            awaited[(prefix, follower)] = run
    return ",".join(part for prefix, runs in plain.items() for part in _written(prefix, runs))


def in_order(names: set[str] | Sequence[str]) -> tuple[str, ...]:
    """Return names in the order of their numbers: n2 before n10."""

    def key(name: str) -> tuple[tuple[str, int], ...]:
        pieces = re.findall(r"(\D*)(\d*)", name)
        return tuple((text, int(digits) if digits else -1) for text, digits in pieces)

    return tuple(sorted(names, key=lambda name: (key(name), name)))


def _written(prefix: str, runs: list[list[str]]) -> Iterator[str]:
    numbered = [run for run in runs if run[0]]
    if len(numbered) < len(runs):
        yield prefix
    if len(numbered) == 1 and numbered[0][0] == numbered[0][1]:
        yield prefix + numbered[0][0]
    elif numbered:
        ranges = (a if a == b else f"{a}-{b}" for a, b in numbered)
        yield f"{prefix}[{','.join(ranges)}]"


def _split(name: str) -> tuple[str, str]:
    """Return what stands before the number at a name's end, and its digits ("" without one)."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], match[2]) if match else (name, "")


def _order(name: tuple[str, str]) -> tuple[str, int, int]:
    prefix, digits = name
    return prefix, int(digits or -1), len(digits)


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a list: commas and blanks within brackets do not separate."""
    depth, part = 0, ""
    for sign in text:
        depth += (sign == "[") - (sign == "]")
        if not 0 <= depth <= 1:
            raise ParameterError("hosts", _short(text), _ALLOWED)
        if depth == 0 and (sign == "," or sign.isspace()):
            if part:
                yield part
            part = ""
        else:
            part += sign
    if depth:
        raise ParameterError("hosts", _short(text), _ALLOWED)
    if part:
        yield part


def _hosts(part: str, text: str, room: int) -> Iterator[str]:
    pieces: list[list[str]] = []
    count = 1
    for match in _PIECES.finditer(part):
        pieces.append([match[1]])
        if match[2] is not None:
            numbers = list(_numbers(match[2], text, room))
            count *= len(numbers)
            pieces.append(numbers)
    if count > room:
        raise ParameterError("hosts", _short(text), f"at most {MOST_HOSTS:,} hosts")
    return ("".join(chosen) for chosen in product(*pieces))


def _numbers(inside: str, text: str, room: int) -> Iterator[str]:
    for item in inside.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ParameterError("hosts", _short(text), _ALLOWED)
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ParameterError("hosts", _short(text), "ranges from the lower to the higher")
        if last - first >= room:
            raise ParameterError("hosts", _short(text), f"at most {MOST_HOSTS:,} hosts")
        yield from (str(number).zfill(len(match[1])) for number in range(first, last + 1))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
