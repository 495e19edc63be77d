"""Records without the names of people, projects, jobs and machines: stable pseudonyms instead.

A pseudonym is the keyed BLAKE2 hash of a name (RFC 7693): the same key gives the same pseudonyms,
and without the key nobody can go back, nor try names out. What is kept is said in `anonymous`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np

from forestall.core.model.cleaning import Cleaning, Remark
from forestall.core.model.coded import Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.hostlist import compress, expand, in_order
from forestall.slurm.reasons import plain, public, ticket
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.inventory import Inventory
from forestall.slurm.records.node_events import NodeEvents
from forestall.slurm.records.site_records import SiteRecords

LETTERS: Final = "abcdefghijkmnpqr"
"""Sixteen letters for the digits of a hash: names of nodes end in their own numbers, so what stands
before must not. No ``l`` and ``o``, which look like digits."""

_PART: Final = re.compile(
    r"([^,\[\]\s]*?)(\d+|\[[0-9,\- ]+\])(?=,|$)|([^,\[\]\s]*[^,\[\]\s\d])(?=,|$)"
)
_SPLIT: Final = re.compile(r"(.*?)(\d*)", re.DOTALL)
_BY: Final = re.compile(r"\bby\s+(\S+)", re.IGNORECASE)
_WAITING: Final = re.compile(r"[A-Z][A-Za-z]{2,40}")
_PLAIN_HARDWARE: Final = re.compile(r"\d+ x [\w.+-]+|\d+ CPUs?|[\d.]+ [GMT]B")
_SYSTEM: Final = frozenset({"root", "slurm"})
T = TypeVar("T")


class Pseudonyms:
    """Makes pseudonyms with a key of 1 to 64 bytes; each kind of name has its own.

    >>> names = Pseudonyms(b"key")
    >>> names.node("node017") == names.node("node018")[:-1] + "7"
    True
    """

    def __init__(self, key: bytes) -> None:
        if not 1 <= len(key) <= 64:
            raise ParameterError("anonymize_key", f"{len(key)} bytes", "a key of 1 to 64 bytes")
        self._key = key
        self._prefixes: dict[str, str] = {}

    def of(self, kind: str, name: str, size: int = 6) -> str:
        """Return the pseudonym of a name, such as ``user-3f2a9c1d5e6b``; "" for ""."""
        return f"{kind}-{self._hash(kind, name, size).hex()}" if name else ""

    def number(self, kind: str, name: str, digits: int = 6) -> str:
        """Return a pseudonym of this many digits, the first not 0."""
        least = 10 ** (digits - 1)
        return str(least + int.from_bytes(self._hash(kind, name, 8), "big") % (9 * least))

    def node(self, name: str) -> str:
        """Return the pseudonym of a host: its number stays, what stands before it is replaced."""
        match = _SPLIT.fullmatch(name)
        assert match is not None
        return self.prefix(match[1]) + match[2] if name else ""

    def prefix(self, text: str) -> str:
        """Return the pseudonym of what stands before the number of a host."""
        if text not in self._prefixes:
            digest = self._hash("node", text, 4)
            self._prefixes[text] = "n" + "".join(
                LETTERS[byte >> 4] + LETTERS[byte & 15] for byte in digest
            )
        return self._prefixes[text]

    def hostlist(self, text: str) -> str:
        """Return a list of hosts with their pseudonyms; "" for what is none."""
        if not text:
            return ""
        parts = list(_PART.finditer(text))
        whole = sum(len(part[0]) for part in parts) + max(len(parts) - 1, 0) == len(text)
        # Of ``n0[1-4]`` the first digit belongs to the numbers: it must be expanded.
        if whole and not any(part[1] and part[1][-1].isdigit() for part in parts):
            return ",".join(
                self.prefix(part[3]) if part[3] else self.prefix(part[1]) + part[2]
                for part in parts
            )
        try:
            return compress(self.node(name) for name in expand(text))
        except ParameterError:
            return ""

    def _hash(self, kind: str, name: str, size: int) -> bytes:
        data = name.encode("utf-8", errors="surrogateescape")
        # Kinds apart: a user and an account of one name must not look alike.
        return hashlib.blake2b(
            data, digest_size=size, key=self._key, person=kind.encode()[:16]
        ).digest()


def anonymous(site: SiteRecords, key: bytes, *, keep_partitions: bool = False) -> SiteRecords:
    """Return records with pseudonyms for users, accounts, jobs' names, nodes, and, unless they are
    to be kept, partitions and QoS.

    Kept are ids of jobs, times, counts, states, numbers of nodes, types of GPUs, and the users root
    and slurm. Reasons of outages become words of ours (`reasons.public`) with a pseudonym for the
    number of a ticket; reasons for which jobs waited are kept where they are one of Slurm's words.
    Features of nodes become one pseudonym. Remarks keep their counts, not what they name.
    """
    names = Pseudonyms(key)
    part = (lambda text: text) if keep_partitions else _several(names, "partition")
    qos = (lambda text: text) if keep_partitions else _plain(names, "qos")
    return SiteRecords(
        accounting=_maybe(site.accounting, lambda runs: _runs(runs, names, part, qos)),
        events=_maybe(site.events, lambda events: _events(events, names)),
        inventory=_maybe(site.inventory, lambda nodes: _nodes(nodes, names, part)),
        estimates=_maybe(
            site.estimates,
            lambda found: replace(found, source="squeue", cleaning=_nameless(found.cleaning)),
        ),
        sources=("anonymized records",),
        cleaning=_nameless(site.cleaning),
    )


def _maybe(part: T | None, change: Callable[[T], T]) -> T | None:
    return None if part is None else change(part)


def _plain(names: Pseudonyms, kind: str) -> Callable[[str], str]:
    return lambda text: names.of(kind, text)


def _several(names: Pseudonyms, kind: str) -> Callable[[str], str]:
    return lambda text: ",".join(names.of(kind, one) for one in text.split(","))


def _runs(
    runs: Accounting, names: Pseudonyms, part: Callable[[str], str], qos: Callable[[str], str]
) -> Accounting:
    def mapped(column: Coded, change: Callable[[str], str]) -> Coded:
        return column.mapped([change(word) for word in column.words])

    return replace(
        runs,
        user=mapped(runs.user, _plain(names, "user")),
        account=mapped(runs.account, _plain(names, "account")),
        name=mapped(runs.name, _plain(names, "job")),
        partition=mapped(runs.partition, part),
        qos=mapped(runs.qos, qos),
        nodelist=mapped(runs.nodelist, names.hostlist),
        excluded=mapped(runs.excluded, names.hostlist),
        failed_node=mapped(runs.failed_node, names.hostlist),
        state=mapped(runs.state, lambda text: _state(text, names)),
        reason=mapped(runs.reason, _waited),
        source="sacct",
        cleaning=_nameless(runs.cleaning),
    )


def _state(text: str, names: Pseudonyms) -> str:
    """Return a state with a pseudonym for who cancelled; root (0) stays."""

    def who(match: re.Match[str]) -> str:
        return match[0] if match[1] == "0" else f"by {names.number('uid', match[1], 9)}"

    return _BY.sub(who, text)


def _waited(text: str) -> str:
    match = _WAITING.match(text)
    word = match[0] if match else ""
    rest = text[len(word) :]
    return word if word and (not rest or rest[0] in ",(:") else "other"


def _events(events: NodeEvents, names: Pseudonyms) -> NodeEvents:
    changed = [names.node(name) for name in events.names]
    return _in_order(
        replace(
            events,
            names=tuple(changed),
            reason=events.reason.mapped([_reason(word, names) for word in events.reason.words]),
            user=events.user.mapped([_who(word, names) for word in events.user.words]),
            source="sacctmgr",
            cleaning=_nameless(events.cleaning),
        )
    )


def _in_order(events: NodeEvents) -> NodeEvents:
    names = in_order(set(events.names))
    place = {name: number for number, name in enumerate(names)}
    table = np.array([place[name] for name in events.names], dtype=np.int64)
    node = table[events.node] if len(events) else events.node
    order = np.lexsort((node, events.begin))
    return replace(events, node=node, names=names).take(order)


def _reason(text: str, names: Pseudonyms) -> str:
    """Return words of ours for a reason, with a pseudonym for its ticket."""
    said = public(text)
    number = ticket(plain(text))
    if number and said:
        said += f" (ticket {names.number('ticket', number)})"
    return said


def _who(text: str, names: Pseudonyms) -> str:
    user = text.partition("(")[0].strip()
    return user if user.lower() in _SYSTEM else names.of("user", user)


def _nodes(nodes: Inventory, names: Pseudonyms, part: Callable[[str], str]) -> Inventory:
    return replace(
        nodes,
        names=tuple(names.node(name) for name in nodes.names),
        partitions=tuple(tuple(part(one) for one in some) for some in nodes.partitions),
        hardware=tuple(_hardware(text, names) for text in nodes.hardware),
        reason=tuple(_reason(text, names) for text in nodes.reason),
        partition_limits={part(name): limit for name, limit in nodes.partition_limits.items()},
        source="scontrol",
        cleaning=_nameless(nodes.cleaning),
    )


def _hardware(text: str, names: Pseudonyms) -> str:
    parts = text.split(", ") if text else []
    return ", ".join(
        one if _PLAIN_HARDWARE.fullmatch(one) else names.of("features", one, 4) for one in parts
    )


def _nameless(cleaning: Cleaning) -> Cleaning:
    """Return the remarks without what they name."""
    return Cleaning(
        tuple(
            Remark(one.kind, one.text, one.action, ("not named",) * one.count)
            for one in cleaning.remarks
        )
    )
