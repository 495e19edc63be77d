"""Where simulated checkpoints go, and what paths and hosts can carry: the settings of `vault`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from forestall.core.model.errors import ParameterError

LAYOUTS: Final = ("code", "server", "remote", "submitter", "local", "ring")
CHOICES: Final = ("rule", "next")
FORM: Final = "such as 'layout=code data=3 parity=2 size=1GiB near=100MB far=10MB sites=2'"
MOST_BYTES: Final = 2**50
MOST_RATE: Final = 10**12
MOST_PIECES: Final = 32
MOST_KEPT: Final = 64
_UNITS: Final = {
    "": 1,
    "B": 1,
    **{f"{prefix}B": 1000**k for k, prefix in enumerate(("k", "M", "G", "T"), 1)},
    **{f"{prefix}iB": 1024**k for k, prefix in enumerate(("K", "M", "G", "T"), 1)},
}
_BYTES: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_RATES: Final = ("near", "far", "host", "server", "line", "disk", "speed")


@dataclass(frozen=True)
class Stores:
    """Where checkpoints go, how large they are, and how fast they get there.

    Attributes
    ----------
    layout : "code": m + k pieces on shared hosts, any m of which give the checkpoint back;
        "server", "remote": all of it on one dedicated server, in the same network or beyond a far
        path; "submitter": on the submitting machine, behind a line that all jobs share; "local": on
        the disk of the host that the job runs on; "ring": on the disk of the node and, copied, on
        its next neighbours among the job's nodes
    data, parity : m and k of "code"; k of "ring", whose copies are 1 + k
    choice : of hosts: "rule", the least cost less benefit; "next", the next ones by number
    stores : hosts that keep pieces, numbers and ranges with commas between; "" all
    size : bytes of a checkpoint of one process (of one node of a job)
    ratio : of compression; 1: none
    fresh : share of a next version that the one before does not hold; 1: no chunks are shared
    full : every so many versions one holds everything anew
    keep : versions kept of each job
    speed : B/s at which a host compresses and codes, and undoes it
    near, far : B/s of a path within a site, and between sites
    sites : in which hosts stand, dealt in order of their numbers
    host, server, line : B/s that a storage host, the server, and the submitting machine's line can
        carry, shared by those who use it at the same time
    disk : B/s of a host's own disk
    grace : s that an owner who comes back leaves a guest for its last checkpoint
    """

    layout: str = "code"
    data: int = 3
    parity: int = 2
    choice: str = "rule"
    stores: str = ""
    size: int = 2**30
    ratio: float = 2.0
    fresh: float = 1.0
    full: int = 8
    keep: int = 2
    speed: int = 400_000_000
    near: int = 100_000_000
    far: int = 10_000_000
    sites: int = 1
    host: int = 100_000_000
    server: int = 100_000_000
    line: int = 1_000_000
    disk: int = 200_000_000
    grace: int = 60

    def __post_init__(self) -> None:
        """Raise ParameterError for what stores cannot be."""
        _hold(self.layout in LAYOUTS, f"layout={self.layout}", "one of " + ", ".join(LAYOUTS))
        _hold(self.choice in CHOICES, f"choice={self.choice}", "one of " + ", ".join(CHOICES))
        _hold(self.data >= 1, f"data={self.data}", "data of at least 1")
        _hold(self.parity >= 0, f"parity={self.parity}", "parity of at least 0")
        pieces = self.data + self.parity
        _hold(pieces <= MOST_PIECES, f"data + parity = {pieces}", f"at most {MOST_PIECES} pieces")
        _hold(1 <= self.size <= MOST_BYTES, f"size={self.size}", "a size of 1 B to 1 PiB")
        _hold(1 <= self.ratio <= 1e6, f"ratio={self.ratio:g}", "a ratio from 1 to 1e6")
        _hold(0 < self.fresh <= 1, f"fresh={self.fresh:g}", "a share above 0, up to 1")
        for name in ("full", "keep"):
            value = getattr(self, name)
            _hold(1 <= value <= MOST_KEPT, f"{name}={value}", f"{name} from 1 to {MOST_KEPT}")
        for name in _RATES:
            value = getattr(self, name)
            _hold(1 <= value <= MOST_RATE, f"{name}={value}", "a rate of 1 B/s to 1 TB/s")
        _hold(1 <= self.sites <= 10_000, f"sites={self.sites}", "sites from 1 to 10,000")
        _hold(0 <= self.grace <= 86_400, f"grace={self.grace}", "a grace of 0 to 86,400 s")
        self.numbers(0)

    @property
    def needed(self) -> int:
        """m: pieces that give a checkpoint back."""
        return self.data if self.layout == "code" else 1

    @property
    def pieces(self) -> int:
        """m + k: pieces of a checkpoint, or copies on a ring."""
        if self.layout == "ring":
            return 1 + self.parity
        return self.data + self.parity if self.layout == "code" else 1

    @property
    def raw(self) -> tuple[int, int]:
        """Bytes that are looked at for a version that holds everything, and for a next one."""
        return self.size, max(1, math.ceil(self.size * self.fresh))

    @property
    def piece(self) -> tuple[int, int]:
        """Bytes of each piece of a version that holds everything, and of a next one."""
        whole, next_one = (-(-math.ceil(raw / self.ratio) // self.needed) for raw in self.raw)
        return whole, next_one

    @property
    def chain(self) -> int:
        """Versions that one leans on, at most, itself among them."""
        return self.full if self.fresh < 1 else 1

    def numbers(self, hosts: int) -> tuple[int, ...]:
        """Return the hosts that keep pieces, of so many."""
        if not self.stores:
            return tuple(range(hosts))
        found: set[int] = set()
        for part in self.stores.split(","):
            first, dash, last = part.partition("-")
            right = first.isdecimal() and (last.isdecimal() if dash else True)
            _hold(right, f"stores={self.stores}", "numbers of hosts such as 0-9,12")
            found |= set(range(int(first), min(int(last or first), max(hosts, int(first))) + 1))
        return tuple(sorted(number for number in found if number < hosts))

    @property
    def text(self) -> str:
        """It as it could be given, always the same way: all that is not as by default."""
        plain = Stores(layout=self.layout)
        told = ((one.name, getattr(self, one.name)) for one in fields(self))
        other = (f"{name}={_plain(value)}" for name, value in told if value != getattr(plain, name))
        return " ".join([f"layout={self.layout}", *other])

    @classmethod
    def of(cls, text: str) -> Stores:
        """Return the stores that settings say. Raises ParameterError.

        >>> Stores.of("layout=code size=2GiB ratio=1.5").piece
        (477218589, 477218589)
        """
        found: dict[str, Any] = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            _hold(bool(equals), word, f"settings {FORM}")
            _hold(name not in found, word, "each setting once")
            found[name] = value
        return cls.made(found)

    @classmethod
    def made(cls, values: Mapping[str, Any]) -> Stores:
        """Return the stores of plain values: words, and numbers or texts of numbers with a unit.
        Raises ParameterError for what is unknown."""
        known = {one.name: one.type for one in fields(cls)}
        made: dict[str, Any] = {}
        for name, value in values.items():
            _hold(name in known, name, "one of " + ", ".join(known))
            kind = known[name]
            made[name] = str(value) if kind == "str" else _number(value, name, kind == "int")
        return cls(**made)


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _number(value: Any, name: str, whole: bool) -> float | int:
    allowed = f"a number, bytes with a unit such as 4GiB or 100MB, {FORM}"
    match = None if isinstance(value, bool) else _BYTES.fullmatch(str(value).strip())
    _hold(match is not None and match[2] in _UNITS, f"{name}={value}", allowed)
    assert match is not None
    if not whole:
        _hold(match[2] == "", f"{name}={value}", "a plain number")
        return float(match[1])
    number = float(match[1]) * _UNITS[match[2]]
    _hold(number == int(number), f"{name}={value}", "a whole number")
    return int(number)


def _hold(right: bool, value: Any, allowed: str) -> None:
    if not right:
        raise ParameterError("vault", value, allowed)
