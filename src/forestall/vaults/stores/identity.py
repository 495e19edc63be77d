"""Which storage hosts are a vault's: on each lies an object that names the vault, and the store.

A path is no identity: where a disk is not mounted there is an empty folder, and one place may have
several names. A host without the object, or with another vault's, gets no requests. Vaults made
before there were identities have none on any host: there what lies on a host says whose it is.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults import keys
from forestall.vaults.envelopes import content_of, enveloped
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.hosts.progress import FIRST
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.pool import HostPool

EMPTY: Final = "no store of this vault: it holds nothing of it (is its disk mounted?)"


class StoreIdentity(NamedTuple):
    """The ids of a vault and of one of its stores."""

    vault: str
    store: str


class StoreLook(NamedTuple):
    """What lies on a host: its identity; where it has none, whether it holds a vault's rules, and
    the names of checkpoints. `place`: as `StorageHost.place` returns it."""

    identity: StoreIdentity | None
    holds: bool
    checkpoints: frozenset[str]
    place: str


@dataclass
class Membership:
    """Which hosts are the vault's, by their numbers.

    Attributes
    ----------
    vault : its id; "" where it has none
    stores : the hosts with an identity of it
    older : those that hold it, without an identity
    strangers : those that are no stores of it, and why; `empty` those of them that hold nothing
    silent : those that could not be looked at
    places : of those that could, as `StorageHost.place` returns it
    """

    vault: str = ""
    stores: dict[int, StoreIdentity] = field(default_factory=dict)
    older: list[int] = field(default_factory=list)
    strangers: dict[int, str] = field(default_factory=dict)
    empty: list[int] = field(default_factory=list)
    silent: dict[int, HostError] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        """Whether there is a vault."""
        return bool(self.stores or self.older)


def membership(pool: HostPool) -> Membership:
    """Look at all hosts; return which are a vault's.

    Raises ParameterError where two are one place, InputError where as many hold one vault as hold
    another.
    """
    looks: dict[int, StoreLook] = {}
    made = Membership()
    for number, answer in pool.each(look_at, FIRST).items():
        if isinstance(answer, HostError):
            made.silent[number] = answer
        else:
            looks[number] = answer
    _check_doubles(pool, looks)
    made.places = {number: look.place for number, look in looks.items()}
    made.vault = _vault_of(pool, looks)
    for number, look in looks.items():
        if look.identity is not None and look.identity.vault == made.vault:
            made.stores[number] = look.identity
    unnamed = any(look.holds and look.identity is None for look in looks.values())
    known = _checkpoints(pool, made.stores) if unnamed and made.stores else frozenset()
    for number, look in looks.items():
        if look.identity is not None:
            if number not in made.stores:
                made.strangers[number] = f"a store of another vault, {look.identity.vault}"
        elif not look.holds or (made.stores and not look.checkpoints):
            made.empty.append(number)
        elif not made.stores or look.checkpoints & known:
            made.older.append(number)
        else:
            made.strangers[number] = "no store of this vault: what it holds is another's"
    if made.is_there:
        made.strangers |= dict.fromkeys(made.empty, EMPTY)
    return made


def admit(pool: HostPool, members: Membership) -> None:
    """Let only a vault's stores have requests; what could not be looked at is, before it gets
    any."""
    for number, why in members.strangers.items():
        pool.set_aside(number, HostError(pool.names[number], why))
    if members.vault:
        pool.check = lambda host: _check(host, members.vault)
        for number in members.silent:
            pool.seen[number].check = pool.check


def give(pool: HostPool, numbers: Iterable[int], vault: str) -> None:
    """Write identities on hosts. Raises HostError where one does not take it, or another process
    writes another one at the same time; ParameterError where two of them are one place."""
    wanted = {number: StoreIdentity(vault, secrets.token_hex(8)) for number in numbers}
    for number, identity in wanted.items():
        stored = enveloped(identity._asdict(), {})
        pool.put(number, keys.STORE, [stored]).result()
    looks = {number: look for number, look in pool.each(look_at).items() if number in wanted}
    for number, look in looks.items():
        if isinstance(look, HostError):
            raise look
        if look.identity == wanted[number]:
            continue
        for first, identity in wanted.items():
            if look.identity == identity:  # it was written to by its other name
                raise _double(pool, number, first)
        raise HostError(pool.names[number], "another process is creating a vault there")


def take_back(pool: HostPool, vault: str) -> None:
    """Remove the rules and identities of a vault from hosts, where no other's have come to be."""

    def take(host: StorageHost) -> None:
        look = look_at(host)
        if look.identity is None or look.identity.vault == vault:
            host.delete(keys.STORE)
            host.delete(keys.VAULT)

    pool.each(take)


def new_vault_id() -> str:
    """Return an id for a vault."""
    return secrets.token_hex(8)


def look_at(host: StorageHost) -> StoreLook:
    """Return what lies on a host, which from now on must be the same one. Raises HostError."""
    place = host.place()
    try:
        stored = host.get(keys.STORE)
    except AbsentError:
        return _without_identity(host, place)
    try:
        held = content_of(stored).held
        identity = StoreIdentity(held.text("vault"), held.text("store"))
    except (DamagedError, ParameterError):
        return _without_identity(host, place)
    host.hold(keys.STORE, stored)
    return StoreLook(identity, True, frozenset(), place)


def _without_identity(host: StorageHost, place: str) -> StoreLook:
    named = [keys.manifest_of(one.key) for one in host.keys(keys.MANIFESTS)]
    saves = frozenset(one[0] for one in named if one is not None)
    return StoreLook(None, bool(saves) or _has_rules(host), saves, place)


def _has_rules(host: StorageHost) -> bool:
    try:
        host.get(keys.VAULT)
    except AbsentError:
        return False
    return True


def _check(host: StorageHost, vault: str) -> None:
    """Raise HostError where a host is no store of a vault."""
    identity = look_at(host).identity
    if identity is None:
        raise HostError(host.name, EMPTY)
    if identity.vault != vault:
        raise HostError(host.name, f"a store of another vault, {identity.vault}")


def _check_doubles(pool: HostPool, looks: dict[int, StoreLook]) -> None:
    """Raise ParameterError where two hosts are one: by their place, or the store's id."""
    seen: dict[str, int] = {}
    for number, look in looks.items():
        marks = [look.place] if look.place else []
        if look.identity is not None:
            marks.append(f"store {look.identity.store}")
        for mark in marks:
            if mark in seen:
                raise _double(pool, number, seen[mark])
        seen |= dict.fromkeys(marks, number)


def _double(pool: HostPool, number: int, first: int) -> ParameterError:
    same = pool.names[first]
    return ParameterError(
        "store", pool.names[number], f"each storage host once: {same} is the same"
    )


def _vault_of(pool: HostPool, looks: dict[int, StoreLook]) -> str:
    """Return the id of the vault that most hosts hold; "" where none has one."""
    votes = Counter(one.identity.vault for one in looks.values() if one.identity is not None)
    most = votes.most_common(2)
    if len(most) > 1 and most[0][1] == most[1][1]:
        of = {number: one.identity.vault for number, one in looks.items() if one.identity}
        told = ", ".join(f"{pool.names[number]}: {vault}" for number, vault in of.items())
        raise InputError(f"these are stores of several vaults; expected those of one ({told})")
    return most[0][0] if most else ""


def _checkpoints(pool: HostPool, stores: Iterable[int]) -> frozenset[str]:
    """Return the names of the checkpoints on these hosts; of those that answer."""
    there, wanted = pool.keys(keys.MANIFESTS)[0], set(stores)
    named = (keys.manifest_of(key) for key, on in there.items() if wanted & set(on))
    return frozenset(one[0] for one in named if one is not None)
