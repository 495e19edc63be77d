"""A vault: what it is, who it is made of, and which checkpoints are in it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from forestall.core.files.held import Held
from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults import keys
from forestall.vaults.chunks import METHODS, Cutting, NameOf, keyed_name, plain_name
from forestall.vaults.envelopes import Content, content_of, enveloped
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.pieces.codes import keep_buffers
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.pool import HostPool, LostError
from forestall.vaults.seals import Key
from forestall.vaults.stores.identity import (
    Membership,
    admit,
    give,
    membership,
    new_vault_id,
    take_back,
)

T = TypeVar("T", Directory, Manifest)
Told = TypeVar("Told")
FORM: Final = 1
"""Of what lies on the hosts."""
NONE: Final = "there is no checkpoint"


class NoVaultError(InputError):
    """Storage hosts that answer, and hold no vault."""


@dataclass(frozen=True)
class VaultRules:
    """What all saves into a vault have in common.

    Parameters
    ----------
    cutting : into chunks; saves share chunks only where they are cut alike
    encrypted : whether a key is needed
    """

    cutting: Cutting = field(default_factory=Cutting)
    encrypted: bool = False


@dataclass
class Vault:
    """A vault on storage hosts, open.

    Parameters
    ----------
    pool : its hosts
    rules : of the vault, or those that it begins with
    key : where it is encrypted
    clock : the time, s since 1970
    members : which hosts are its stores, as it was opened; `is_new` : it was begun then
    """

    pool: HostPool
    rules: VaultRules
    key: Key | None = None
    clock: Callable[[], float] = time.time
    members: Membership = field(default_factory=Membership)
    is_new: bool = False
    _directories: dict[str, Directory] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        hosts: Sequence[StorageHost],
        *,
        begin: VaultRules | None = None,
        agree: VaultRules | None = None,
        key: Key | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Vault:
        """Open the vault on these hosts; where there is none yet, begin one by the rules `begin`,
        on all of them; where there is one, it must have the rules `agree`, where these are given.
        Hosts that are no stores of it are set aside.

        Raises NoVaultError where there is none and none shall begin; InputError where its key is
        missing or another one, or where too few hosts answer; ParameterError for other rules than
        it has, and where two hosts are one place.
        """
        keep_buffers()
        pool = HostPool(hosts)
        try:
            members = membership(pool)
            admit(pool, members)
            found = cls._rules(pool, key)
            rules = found or begin
            if rules is None and members.is_there:
                raise InputError("no store that answers has the vault's rules: create them anew")
            if rules is None:
                raise NoVaultError("there is no vault on these storage hosts")
            made = cls(pool, rules, key, clock, members)
            made._agree(agree)
            if found is None:
                made._begin()
            elif begin is not None and (members.empty or members.older):
                made._complete()
            return made
        except BaseException:
            pool.close()
            raise

    def _begin(self) -> None:
        """Begin it, on all hosts or none; of one that is there and has lost its rules, write
        these."""
        if self.members.is_there:
            stores = [*self.members.stores, *self.members.older]
            self.add_stores(stores, self.members.vault or new_vault_id())
            return
        vault = new_vault_id()
        try:
            self.add_stores(range(len(self.pool.hosts)), vault)
            self.is_new = True
        except BaseException:
            take_back(self.pool, vault)
            raise

    def _complete(self) -> None:
        """Begin it on the hosts on which whoever began it did not come to it: nothing was saved
        yet."""
        saved = self.pool.keys(keys.MANIFESTS)[0] or self.pool.keys(keys.FORGOTTEN)[0]
        if not saved and not self.members.silent:
            begun = [*self.members.older, *self.members.empty]
            self.add_stores(begun, self.members.vault or new_vault_id())

    def add_stores(self, numbers: Iterable[int], vault: str) -> None:
        """Make hosts stores of the vault with this id. Raises HostError where one does not take
        that, ParameterError where two are one place."""
        rules = enveloped({"form": FORM, **_told(self.rules)}, {}, self.seal)
        for number in numbers:
            self.pool.admit(number)
            self.pool.put(number, keys.VAULT, [rules]).result()
        give(self.pool, numbers, vault)
        self.members = membership(self.pool)

    @classmethod
    def _rules(cls, pool: HostPool, key: Key | None) -> VaultRules | None:
        """Return the rules of the vault on hosts; None where there is none. Raises InputError where
        nobody can tell."""
        wrong: list[HostError | DamagedError] = []
        for _, told in pool.copies(keys.VAULT, partial(_rules_in, key)):
            if isinstance(told, VaultRules):
                return told
            if not isinstance(told, AbsentError):
                wrong.append(told)
        if wrong:
            raise InputError(str(wrong[0]))
        return None

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the hosts."""
        self.pool.close()

    def _agree(self, wanted: VaultRules | None) -> None:
        if wanted is not None and wanted.cutting != self.rules.cutting:
            cut = self.rules.cutting
            raise ParameterError(
                "chunks", f"{wanted.cutting.method}:{wanted.cutting.size}",
                f"{cut.method}:{cut.size}, as the vault has it",
            )  # fmt: skip
        if self.rules.encrypted != (self.key is not None):
            told = (
                "a key: the vault is encrypted"
                if self.key is None
                else "no key: the vault is not encrypted"
            )
            raise ParameterError("key", "one" if self.key else "none", told)

    # ------------------------------------------------------------------- encryption and names

    @property
    def name_of(self) -> NameOf:
        """What names chunks."""
        return plain_name if self.key is None else keyed_name(self.key.naming)

    def tag(self, label: str) -> str:
        """Return what stands in the names of a label's checkpoints."""
        return self.name_of(memoryview(label.encode())).hex()[: keys.TAG]

    def seal(self, content: bytes) -> bytes:
        """Encrypt, where the vault does."""
        return content if self.key is None else self.key.seal(content)

    def unseal(self, content: bytes) -> bytes:
        """Decrypt, where the vault does."""
        return content if self.key is None else self.key.unseal(content)

    @property
    def unsealing(self) -> Callable[[bytes], bytes] | None:
        """What decrypts; None where the vault is not encrypted."""
        return None if self.key is None else self.key.unseal

    # ------------------------------------------------------------------------- small objects

    @property
    def majority(self) -> int:
        """How many hosts must take what all have to know of."""
        return len(self.pool.hosts) // 2 + 1

    def need_majority(self, wrong: Mapping[int, HostError]) -> None:
        """Raise HostError where so many hosts did not answer that what most of them have may be
        unknown."""
        if len(self.pool.hosts) - len(wrong) < self.majority:
            raise next(iter(wrong.values()))

    def put_told(self, key: str, told: Mapping[str, Any], copies: int = 0) -> None:
        """Write plain data on all hosts; on at least so many of them, and on most, or HostError is
        raised."""
        content = enveloped(told, {}, self.seal)
        self.pool.put_everywhere(key, content, max(copies, self.majority))

    def read_told(self, key: str, take: Callable[[Held], Told]) -> Told:
        """Return what is taken of plain data; a copy of which it cannot be taken counts as lost.
        Raises LostError."""
        return self.pool.read_any(key, lambda stored: take(self._content(stored).held))

    def told_copies(self, key: str, take: Callable[[Held], Told]) -> list[Told]:
        """Return what is taken of each host's copy of plain data: those of hosts that were away
        while it was written are older."""
        found = self.pool.copies(key, lambda stored: take(self._content(stored).held))
        return [one for _, one in found if not isinstance(one, InputError | DamagedError)]

    def directory(self, name: str) -> Directory:
        """Return a directory; it is kept. Raises LostError."""
        if name not in self._directories:
            key = keys.DIRECTORIES + name
            self._directories[name] = self.pool.read_any(
                key, lambda stored: _named(name, Directory.from_content(self._content(stored)))
            )
        return self._directories[name]

    def envelope(self, one: Directory | Manifest) -> bytes:
        """Return a directory or manifest as it is stored."""
        content = one.content()
        return enveloped(content.told, content.arrays, self.seal)

    def _content(self, stored: bytes) -> Content:
        return content_of(stored, self.unseal)

    # --------------------------------------------------------------------------- checkpoints

    def names(self) -> list[str]:
        """Return the names of the checkpoints, oldest first. Raises HostError where no host
        answers."""
        return sorted(self.moves(), key=keys.order_of)

    def moves(self, *, certain: bool = False) -> dict[str, list[str]]:
        """Return the checkpoints, and for each the moves of which there is a manifest, the newest
        first; that after the newest counts, and the one as it was saved has an empty name. Raises
        HostError where no host answers; `certain`: where too few do to know of all."""
        there, wrong = self.pool.keys(keys.MANIFESTS)
        gone, hidden = self.pool.keys(keys.FORGOTTEN)
        if certain:
            self.need_majority(wrong)
            self.need_majority(hidden)
        elif len(wrong) == len(self.pool.hosts):
            raise next(iter(wrong.values()))
        found: dict[str, list[str]] = {}
        for told in map(keys.manifest_of, there):
            if told is not None and not any(keys.FORGOTTEN + part in gone for part in told):
                found.setdefault(told[0], []).append(told[1])
        return {
            name: sorted(moves, key=keys.order_of, reverse=True) for name, moves in found.items()
        }

    def forget(self, name: str) -> None:
        """Take a checkpoint away, from all hosts that answer: it is there no more, whoever still
        has a copy. Raises HostError where too few of them note that."""
        self.put_told(keys.FORGOTTEN + name, {"at": self.clock()})
        for key in self.pool.keys(keys.MANIFESTS)[0]:
            if (told := keys.manifest_of(key)) is not None and told[0] == name:
                self.pool.delete_everywhere(key)
        self.pool.delete_everywhere(keys.FENCES + name)

    def whole_name(self, begins: str) -> str:
        """Return the name of the one checkpoint that begins so, whether or not its manifest can be
        read. Raises InputError."""
        return _whole_name(self.names(), begins)

    def manifest(self, name: str) -> Manifest:
        """Return a checkpoint by its name, a beginning that no other has, or ``latest``: the newest
        whose manifest is whole, with a warning where another one is newer. Raises InputError where
        there is none, LostError where no copy is whole."""
        if name == "latest":
            if (latest := self.latest()) is None:
                raise InputError(NONE)
            return latest
        moves = self.moves()
        whole = _whole_name(sorted(moves), name)
        return self.manifest_after(whole, moves[whole])

    def newest(self, label: str | None = None) -> tuple[Manifest, dict[str, str]]:
        """Return the newest checkpoint, or that of a label, whose manifest is whole; and by name
        why newer ones cannot be read. Raises InputError where there is none, LostError where none
        can be read."""
        made, unreadable = self._newest(label)
        if made is None:
            raise InputError(NONE + (f" with the label {label!r}" if label else ""))
        return made, unreadable

    def latest(
        self, label: str | None = None, takes: Callable[[Manifest], bool] = lambda made: True
    ) -> Manifest | None:
        """Return the newest checkpoint, or that of a label, that is taken and whose manifest is
        whole, with a warning where a newer one cannot be read; None where there is none. Raises
        LostError where none can be read."""
        made, unreadable = self._newest(label, takes)
        if made is not None:
            for newer, why in unreadable.items():
                warnings.warn(
                    f"checkpoint {newer} cannot be read: {why}; the latest that can be is "
                    f"{made.name}",
                    stacklevel=3,
                )
        return made

    def _newest(
        self, label: str | None, takes: Callable[[Manifest], bool] = lambda made: True
    ) -> tuple[Manifest | None, dict[str, str]]:
        unreadable: dict[str, str] = {}
        for one in self._read(label, newest_first=True):
            if not isinstance(one, Manifest):
                unreadable[one[0]] = one[1]
            elif takes(one):
                return one, unreadable
        if unreadable:
            names = ", ".join(unreadable)
            raise LostError(
                f"none of {len(unreadable)} checkpoints has an intact manifest on a reachable "
                f"storage host: {names}"
            )
        return None, {}

    def manifests(self, label: str | None = None) -> list[Manifest]:
        """Return the checkpoints, or those of a label, oldest first, without those that cannot be
        read."""
        return self.readable(label)[0]

    def readable(self, label: str | None = None) -> tuple[list[Manifest], dict[str, str]]:
        """Return the checkpoints, or those of a label, oldest first; and by name why others, of
        which no manifest is whole, cannot be read."""
        found: list[Manifest] = []
        unreadable: dict[str, str] = {}
        for one in self._read(label):
            if isinstance(one, Manifest):
                found.append(one)
            else:
                unreadable[one[0]] = one[1]
        return found, unreadable

    def _read(
        self, label: str | None, *, newest_first: bool = False
    ) -> Iterator[Manifest | tuple[str, str]]:
        """Yield checkpoints, or those of a label; for one that cannot be read its name and why."""
        tag, moves = None if label is None else self.tag(label), self.moves()
        for name in sorted(moves, key=keys.order_of, reverse=newest_first):
            if tag is not None and keys.tag_of(name) != tag:
                continue
            try:
                made = self.manifest_after(name, moves[name])
            except LostError:
                yield name, "no reachable storage host has an intact copy of its manifest"
                continue
            if label is None or made.label == label:
                yield made

    def manifest_after(self, name: str, moves: Sequence[str]) -> Manifest:
        """Return a checkpoint as the first of these moves left it whose manifest can be read.
        Raises LostError where none can."""

        def parse(stored: bytes) -> Manifest:
            found = _named(name, Manifest.from_content(self._content(stored)))
            if found.move != move:
                raise DamagedError("another manifest of this checkpoint is in its place")
            return found

        for move in moves:
            with suppress(LostError):
                return self.pool.read_any(keys.manifest_key(name, move), parse)
        raise LostError(f"no reachable storage host has an intact manifest of {name}")


def _whole_name(names: Sequence[str], begins: str) -> str:
    """Return the one name that begins so. Raises InputError."""
    found = [one for one in names if one.startswith(begins)] if begins else []
    if begins in found:
        return begins
    if len(found) != 1:
        told = "no checkpoint" if not found else f"{len(found)} checkpoints"
        raise InputError(f"{told} with the id {begins!r}")
    return found[0]


def _named(name: str, found: T) -> T:
    """Return a directory or manifest. Raises DamagedError where another one lies in its place."""
    if found.name != name:
        raise DamagedError(f"{found.name} is in its place")
    return found


def _told(rules: VaultRules) -> dict[str, Any]:
    cut = rules.cutting
    return {"method": cut.method, "size": cut.size, "encrypted": rules.encrypted}


def _rules_in(key: Key | None, stored: bytes) -> VaultRules:
    """Return the rules of a vault from what is stored of them."""
    try:
        told = content_of(stored, key.unseal if key else bytes).told
    except DamagedError:
        if key is None:
            raise DamagedError("the vault is encrypted, or damaged; expected its key") from None
        try:
            told = content_of(stored).told
        except DamagedError:
            raise DamagedError("the vault has another key, or is damaged") from None
    held = Held(told)
    held.whole("form", FORM, FORM)
    cutting = Cutting(METHODS[METHODS.index(held.text("method", METHODS))], held.whole("size", 0))
    return replace(VaultRules(cutting), encrypted=held.flag("encrypted"))
