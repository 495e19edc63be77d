"""Saves and collections under way, so that what one needs the other does not remove.

A save writes its lease before it looks at what is there; a collection writes what it is about to
remove before it looks at leases. Each then sees the other, or was seen: a save leaves alone what is
about to go, and a collection waits for saves that began before it.

Processes stop and go on at any moment, and clocks of machines differ. So a collection that takes a
save for dead does not rely on that. It fences the save, and only then looks whether its manifest is
there. A save looks for its fence once its manifest is there. Whichever comes last sees the other:
either the manifest counts, or the save knows that it does not. A fence is never lifted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple, TypeVar

from forestall.core.files.held import Held
from forestall.core.model.errors import InputError
from forestall.vaults import keys
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost
from forestall.vaults.libraries import blake3
from forestall.vaults.machine import MOST_PID, is_gone, process_space, since_boot
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault

T = TypeVar("T")
BEAT: Final = 60.0
"""s between two signs of life of a save."""
LIFE: Final = 3600.0
"""s without a sign of life, on the clock of one boot of one machine, after which a save is presumed
dead."""
LONG: Final = 86_400.0
"""The same, s, by clocks of different machines."""


class LeaseLostError(InputError):
    """A save that was presumed dead: what it rests on may have been removed."""


class SaveLease:
    """The signs of life of a save."""

    def __init__(self, vault: Vault, save: str, label: str, copies: int) -> None:
        self.vault, self.save, self._label, self._copies = vault, save, label, copies
        self._count, self._lost = 0, ""

    def check(self) -> None:
        """Raise LeaseLostError where its beats found that the save was presumed dead."""
        if self._lost:
            raise LeaseLostError(self._lost)

    def sign(self) -> None:
        """Give a sign of life."""
        self._count += 1
        content = {
            "label": self._label, "at": self.vault.clock(), "pid": os.getpid(),
            "place": process_space(), "count": self._count,
        }  # fmt: skip
        self.vault.put_told(keys.LEASES + self.save, content, self._copies)

    def beat(self) -> bool:
        """Give another sign of life, unless the save was presumed dead; return whether it was not.
        What is gone is never written anew."""
        with suppress(HostError):  # whether it lives still is asked at its end
            try:
                check_lease(self.vault, self.save)
            except LeaseLostError as error:
                self._lost = str(error)
                return False
            self.sign()
        return True


@contextmanager
def lease(vault: Vault, save: str, label: str, copies: int = 0) -> Iterator[SaveLease]:
    """Tell that a save is under way, until it ends, and give signs of life meanwhile; at least so
    many hosts, and most of them, must know of it."""
    held = SaveLease(vault, save, label, copies)
    held.sign()
    stop = beating(held)
    try:
        yield held
    finally:
        stop()
        vault.pool.delete_everywhere(keys.LEASES + save)


def beating(held: SaveLease) -> Callable[[], None]:
    """Begin to give signs of life; return what ends it."""
    over = threading.Event()

    def beats() -> None:
        while not over.wait(BEAT) and held.beat():
            pass

    thread = threading.Thread(target=beats, name="lease", daemon=True)
    thread.start()

    def stop() -> None:
        over.set()
        thread.join()

    return stop


def check_lease(vault: Vault, save: str) -> None:
    """Raise LeaseLostError where a save was presumed dead, or forgotten; HostError where too few
    hosts answer to know."""

    def look(host: StorageHost) -> tuple[bool, bool]:
        fenced = _has(host, keys.FENCES + save) or _has(host, keys.FORGOTTEN + save)
        return fenced, _has(host, keys.LEASES + save)

    answers = vault.pool.each(look)
    known = [one for one in answers.values() if not isinstance(one, HostError)]
    vault.need_majority({k: e for k, e in answers.items() if isinstance(e, HostError)})
    if any(fenced for fenced, _ in known) or not any(here for _, here in known):
        raise LeaseLostError(
            f"save {save} was presumed dead: it gave no sign of life while another process removed "
            "old data. It is not a checkpoint; save again"
        )


def _has(host: StorageHost, key: str) -> bool:
    try:
        host.get(key)
    except AbsentError:
        return False
    return True


class SeenLease(NamedTuple):
    """A lease as a collection sees it: the number of its last sign of life, and its process."""

    sign: float
    pid: int
    place: str

    @property
    def is_gone(self) -> bool:
        """Whether its process was one of this machine's, and is no more."""
        return is_gone(self.place, self.pid)


def leases(vault: Vault) -> dict[str, SeenLease | None]:
    """Return the leases by their saves; None where no copy is intact."""
    there, wrong = vault.pool.keys(keys.LEASES)
    vault.need_majority(wrong)
    return {key.removeprefix(keys.LEASES): _told(vault, key, _lease) for key in there}


def _lease(held: Held) -> SeenLease:
    at = held.number("at")
    sign = held.whole("count", 0, 2**53) if "count" in held.values else at
    return SeenLease(sign, held.whole("pid", 1, MOST_PID), held.text("place"))


# ---------------------------------------------------------------------------- presumed dead


class _Sighting(NamedTuple):
    """What a collection saw of a lease: when, on the clock of its boot and that of its machine."""

    sign: float
    place: str
    boot: float
    at: float


def presumed_dead(vault: Vault, seen: dict[str, SeenLease | None]) -> set[str]:
    """Return the saves that are dead: no copy of their lease is intact, their process is gone, or
    they gave no sign of life since a collection saw them long ago. What is seen now is noted."""
    there, _ = vault.pool.keys(keys.SIGHTINGS)
    for key in there:
        if _seen_of(key) not in seen:
            vault.pool.delete_everywhere(key)
    dead = set()
    for save, one in seen.items():
        if one is None or one.is_gone or _is_silent(vault, save, one.sign, list(there)):
            dead.add(save)
    return dead


def _seen_of(key: str) -> str:
    return key.removeprefix(keys.SIGHTINGS).rpartition(".")[0]


def _is_silent(vault: Vault, save: str, sign: float, there: list[str]) -> bool:
    place, boot, now = process_space(), since_boot(), vault.clock()
    mine = f"{keys.SIGHTINGS}{save}.{blake3(place.encode()).hexdigest()[:12]}"
    known = False
    for key in (key for key in there if _seen_of(key) == save):
        found = _told(vault, key, _sighting)
        if found is None or found.sign != sign:
            continue
        here = bool(place) and found.place == place
        if (here and boot - found.boot >= LIFE) or now - found.at >= LONG:
            return True
        known = known or key == mine
    if not known:
        content = _Sighting(sign, place, boot, now)._asdict()
        with suppress(HostError):
            vault.put_told(mine, content)
    return False


def _sighting(held: Held) -> _Sighting:
    numbers = {name: held.number(name) for name in ("sign", "boot", "at")}
    return _Sighting(place=held.text("place"), **numbers)


def fence(vault: Vault, saves: set[str], copies: int) -> set[str]:
    """Fence saves and moves that were presumed dead, and those that a collection before this one
    fenced; return those of which there is a manifest all the same: they may be complete.

    What has none when its fence is there never comes to be: it is forgotten.
    """
    there, wrong = vault.pool.keys(keys.FENCES)
    vault.need_majority(wrong)
    fenced = saves | {key.removeprefix(keys.FENCES) for key in there}
    for save in sorted(saves):
        vault.put_told(keys.FENCES + save, {"at": vault.clock()}, copies)
    if not fenced:
        return fenced
    manifests, wrong = vault.pool.keys(keys.MANIFESTS)
    vault.need_majority(wrong)
    gone, hidden = vault.pool.keys(keys.FORGOTTEN)
    vault.need_majority(hidden)
    complete = {
        part for told in map(keys.manifest_of, manifests) for part in told or ()
        if keys.FORGOTTEN + part not in gone
    }  # fmt: skip
    for save in sorted(fenced - complete):
        if wrong and keys.is_move(save):
            continue  # another collection may see a manifest of it, and take away the older one
        vault.put_told(keys.FORGOTTEN + save, {"at": vault.clock()}, copies)
        vault.pool.delete_everywhere(keys.FENCES + save)
    for save in sorted(fenced):
        vault.pool.delete_everywhere(keys.LEASES + save)
    return {save for save in fenced if save in complete or (wrong and keys.is_move(save))}


# -------------------------------------------------------------------------- about to be removed


def doomed(vault: Vault) -> frozenset[str]:
    """Return the packs, as SAVE/PACK, and directories that are about to be removed."""
    there, wrong = vault.pool.keys(keys.COLLECTIONS)
    vault.need_majority(wrong)
    found: set[str] = set()
    for key in there:
        found.update(_told(vault, key, lambda held: held.texts("packs")) or ())
    return frozenset(found)


class Announcement(NamedTuple):
    """What a collection is about to remove, and its process."""

    packs: frozenset[str]
    pid: int
    place: str


def announcements(vault: Vault) -> dict[str, Announcement]:
    """Return what collections are about to remove, by the keys of what they wrote."""
    there, wrong = vault.pool.keys(keys.COLLECTIONS)
    vault.need_majority(wrong)
    found = {key: _told(vault, key, _announcement) for key in there}
    return {key: one for key, one in found.items() if one is not None}


def _announcement(held: Held) -> Announcement:
    there = "pid" in held.values  # older versions did not say who they were
    return Announcement(
        frozenset(held.texts("packs")), held.whole("pid", 1, MOST_PID) if there else 1,
        held.text("place") if there else "",
    )  # fmt: skip


def announce(vault: Vault, key: str, packs: set[str], copies: int) -> None:
    """Write what is about to be removed."""
    content = {
        "at": vault.clock(), "packs": sorted(packs), "pid": os.getpid(), "place": process_space(),
    }  # fmt: skip
    vault.put_told(key, content, copies)


def _told(vault: Vault, key: str, take: Callable[[Held], T]) -> T | None:
    """Return what an object says; None where it went meanwhile."""
    try:
        return vault.read_told(key, take)
    except LostError:
        return None
