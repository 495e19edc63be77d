"""Saves and collections under way, so that what one needs the other does not remove.

A save writes its lease before it looks at what is there; a collection writes what it is about to
remove before it looks at leases. Each then sees the other, or was seen: a save leaves alone what is
about to go, and a collection waits for saves that began before it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, TypeVar

from forestall.model.errors import InputError
from forestall.traces.files.held import Held
from forestall.vaults import keys
from forestall.vaults.hosts.host import HostError
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault

T = TypeVar("T")
MOST_PID: Final = 2**31 - 1
BEAT: Final = 60.0
"""s between two signs of life of a save."""
LIFE: Final = 3600.0
"""s without a sign of life after which a save counts as dead."""


def process_space() -> str:
    """Return in which boot of a machine, and in which namespace of processes, numbers of processes
    mean what they mean here; empty where nobody can tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


class LeaseLostError(InputError):
    """A save that was taken for dead: what it rests on may have been removed."""


@contextmanager
def lease(vault: Vault, save: str, label: str) -> Iterator[None]:
    """Tell that a save is under way, until it ends, and give signs of life meanwhile."""
    key, over = keys.LEASES + save, threading.Event()

    def say() -> None:
        vault.put_told(
            key,
            {"label": label, "at": vault.clock(), "pid": os.getpid(), "place": process_space()},
        )

    def beat() -> None:
        while not over.wait(BEAT):
            try:
                say()
            except HostError:
                continue  # whether it lives still is asked at its end

    say()
    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        vault.pool.delete_everywhere(key)


def check_lease(vault: Vault, save: str) -> None:
    """Raise LeaseLostError where a save was taken for dead."""
    there, _ = vault.pool.keys(keys.LEASES)
    if keys.LEASES + save not in there:
        raise LeaseLostError(f"save {save} was presumed dead after {LIFE:g} s without a heartbeat")


def living(vault: Vault) -> dict[str, bool]:
    """Return the saves that have a lease, and whether each is alive."""
    there, wrong = vault.pool.keys(keys.LEASES)
    if len(vault.pool.hosts) - len(wrong) < vault.majority:
        raise next(iter(wrong.values()))
    now, found = vault.clock(), {}
    for key in there:
        told = _told(vault, key, _lease)
        if told is not None:
            alive = now - told.at < LIFE and not _died_here(told)
            found[key.removeprefix(keys.LEASES)] = alive
    return found


class _Lease(NamedTuple):
    at: float
    pid: int
    place: str


def _lease(held: Held) -> _Lease:
    return _Lease(held.number("at"), held.whole("pid", 1, MOST_PID), held.text("place"))


def _died_here(told: _Lease) -> bool:
    """Whether a save was one of this machine's, and its process is gone."""
    if not told.place or told.place != process_space():
        return False
    try:
        os.kill(told.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def doomed(vault: Vault) -> frozenset[str]:
    """Return the saves whose packs are about to be removed."""
    there, wrong = vault.pool.keys(keys.COLLECTIONS)
    if len(vault.pool.hosts) - len(wrong) < vault.majority:
        raise next(iter(wrong.values()))
    found: set[str] = set()
    for key in there:
        found.update(_told(vault, key, lambda held: held.texts("packs")) or ())
    return frozenset(found)


def _told(vault: Vault, key: str, take: Callable[[Held], T]) -> T | None:
    """Return what an object says; None where it went meanwhile."""
    try:
        return vault.read_told(key, take)
    except LostError:
        return None
