"""A vault: what it is, who it is made of, and which checkpoints are in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from forestall.model.errors import InputError, ParameterError
from forestall.traces.files.held import Held
from forestall.vaults import keys
from forestall.vaults.chunks import METHODS, Cutting, NameOf, keyed_name, plain_name
from forestall.vaults.envelopes import Content, content_of, enveloped
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.pieces.codes import keep_buffers
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.pool import HostPool, LostError
from forestall.vaults.seals import Key

T = TypeVar("T", Directory, Manifest)
Told = TypeVar("Told")
FORM: Final = 1
"""Of what lies on the hosts."""


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
    """

    pool: HostPool
    rules: VaultRules
    key: Key | None = None
    clock: Callable[[], float] = time.time
    _directories: dict[str, Directory] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        hosts: Sequence[StorageHost],
        *,
        begin: VaultRules | None = None,
        agree: bool = True,
        key: Key | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Vault:
        """Open the vault on these hosts; where there is none yet, begin one by the rules `begin`;
        where there is one, it must `agree` with them, or may be cut otherwise.

        Raises InputError where there is none and none shall begin, where its key is missing or
        another one, or where too few hosts answer; ParameterError for other rules than it has.
        """
        keep_buffers()
        pool = HostPool(hosts)
        try:
            found = cls._rules(pool, key)
            rules = found or begin
            if rules is None:
                raise InputError("there is no vault on these storage hosts")
            made = cls(pool, rules, key, clock)
            made._agree(begin if agree else None)
            if found is None:
                made.put_told(keys.VAULT, {"form": FORM, **_told(rules)})
            return made
        except BaseException:
            pool.close()
            raise

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

    def put_told(self, key: str, told: Mapping[str, Any]) -> None:
        """Write plain data on all hosts; on most of them, or HostError is raised."""
        self.pool.put_everywhere(key, enveloped(told, {}, self.seal), self.majority)

    def read_told(self, key: str, take: Callable[[Held], Told]) -> Told:
        """Return what is taken of plain data; a copy of which it cannot be taken counts as lost.
        Raises LostError."""
        return self.pool.read_any(key, lambda stored: take(self._content(stored).held))

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
        """Return the names of the checkpoints, oldest first. Raises HostError where too few hosts
        answer to know."""
        return sorted(self.moves())

    def moves(self) -> dict[str, list[str]]:
        """Return the checkpoints, and for each the moves of which there is a manifest, the newest
        first; that after the newest counts, and the one as it was saved has an empty name. Raises
        as `names` does."""
        there, wrong = self.pool.keys(keys.MANIFESTS)
        gone, _ = self.pool.keys(keys.FORGOTTEN)
        if len(wrong) == len(self.pool.hosts):
            raise next(iter(wrong.values()))
        found: dict[str, list[str]] = {}
        for told in map(keys.manifest_of, there):
            if told is not None and keys.FORGOTTEN + told[0] not in gone:
                found.setdefault(told[0], []).append(told[1])
        return {name: sorted(moves, reverse=True) for name, moves in found.items()}

    def manifest(self, name: str) -> Manifest:
        """Return a checkpoint by its name, a beginning that no other has, or ``latest``: the last
        whose manifest is whole. Raises InputError where there is none, LostError where no copy is
        whole."""
        moves = self.moves()
        if name == "latest":
            for one in sorted(moves, reverse=True):
                with suppress(LostError):
                    return self.manifest_after(one, moves[one])
            if moves:
                raise LostError(f"none of {len(moves)} checkpoints has an intact manifest")
        whole = _whole_name(sorted(moves), name)
        return self.manifest_after(whole, moves[whole])

    def manifests(self, label: str | None = None) -> list[Manifest]:
        """Return the checkpoints, or those of a label, oldest first; those of which no manifest is
        whole are left out."""
        tag, found = None if label is None else self.tag(label), []
        for name, moves in sorted(self.moves().items()):
            if tag is None or keys.tag_of(name) == tag:
                with suppress(LostError):
                    found.append(self.manifest_after(name, moves))
        return [one for one in found if label is None or one.label == label]

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
