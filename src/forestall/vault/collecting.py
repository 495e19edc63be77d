"""Which checkpoints go, and what goes with them: only what no other checkpoint and no save under
way has need of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from forestall.model.errors import InputError
from forestall.vault import keys
from forestall.vault.hosts.host import HostError
from forestall.vault.leases import LIFE, living
from forestall.vault.manifests import Manifest
from forestall.vault.pool import LostError
from forestall.vault.repository import Vault
from forestall.vault.upkeep import packs_of


@dataclass(frozen=True)
class Retention:
    """Which checkpoints of each label stay: the newest `last`, and all that are younger than
    `within`, s."""

    last: int = 3
    within: float = 0.0


@dataclass
class CollectedTold:
    """What a collection came to: checkpoints that went, objects and bytes removed, packs that stay,
    and what was in the way, in words."""

    forgotten: list[str] = field(default_factory=list)
    objects: int = 0
    removed: int = 0
    stays: int = 0
    said: list[str] = field(default_factory=list)


def outdated(manifests: Sequence[Manifest], rule: Retention, now: float) -> list[Manifest]:
    """Return the checkpoints that a rule lets go, of all that there are, oldest first."""
    by_label: dict[str, list[Manifest]] = {}
    for one in manifests:
        by_label.setdefault(one.label, []).append(one)
    gone = []
    for several in by_label.values():
        newest = sorted(several, key=lambda one: one.name, reverse=True)
        gone += [one for one in newest[rule.last :] if one.at < now - rule.within]
    return sorted(gone, key=lambda one: one.name)


def forget(vault: Vault, name: str) -> None:
    """Take a checkpoint away: from now on it is not there. What it was made of goes with the next
    collection."""
    vault.put_told(keys.FORGOTTEN + name, {"at": vault.clock()})
    vault.pool.delete_everywhere(keys.MANIFESTS + name)


def collect(
    vault: Vault,
    *,
    wait: float = 0.0,
    tell: Callable[[CollectedTold], None] = lambda told: None,
    sleep: Callable[[float], None] = time.sleep,
) -> CollectedTold:
    """Remove what no checkpoint needs: packs and directories of forgotten ones, and of saves that
    died.

    Packs are first told to be about to go; saves that begin then leave them alone, and those that
    began before are waited for, for `wait` s at most: what they may need then stays for the next
    time. Raises InputError where too few hosts answer to know what is needed.
    """
    told = CollectedTold()
    there = _there(vault)
    _clear_collections(vault)
    moment = datetime.fromtimestamp(vault.clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    key = f"{keys.COLLECTIONS}{moment}"
    _, doomed = _split(vault, there)
    vault.put_told(key, {"at": vault.clock(), "packs": sorted(_packs_in(doomed))})
    try:
        before = [one for one, alive in living(vault).items() if alive]
        left = _outlived(vault, before, wait, sleep)
        if left:
            told.said.append(f"{len(left)} saves are under way; what they may need stays")
            return told
        for lease in (one for one, alive in living(vault).items() if not alive):
            vault.pool.delete_everywhere(keys.LEASES + lease)
        stays, gone = _split(vault, there)  # anew: a save may have come to its end
        told.stays = len(stays)
        for one in sorted(gone & doomed):
            told.objects += 1
            told.removed += sum(there[one].values())
            for error in vault.pool.delete_everywhere(one).values():
                told.said.append(str(error))
            tell(told)
        since = vault.clock() - LIFE
        for swept in vault.pool.each(lambda host: host.sweep(since)).values():
            told.objects += swept if isinstance(swept, int) else 0
    finally:
        vault.pool.delete_everywhere(key)
    return told


def _there(vault: Vault) -> dict[str, dict[int, int]]:
    """Return packs and directories that are on any host. Raises InputError where not enough of them
    answer."""
    found: dict[str, dict[int, int]] = {}
    for prefix in (keys.PACKS, keys.DIRECTORIES):
        some, wrong = vault.pool.keys(prefix)
        if len(vault.pool.hosts) - len(wrong) < vault.majority:
            raise InputError(f"too few storage hosts answer: {next(iter(wrong.values()))}")
        found |= some
    return found


def _split(vault: Vault, there: dict[str, dict[int, int]]) -> tuple[set[str], set[str]]:
    """Return which of the objects stay and which may go. What belongs to a save under way stays."""
    manifests = []
    for name in vault.names():
        try:
            manifests.append(vault.manifest(name))
        except LostError:
            raise InputError(
                f"no manifest of checkpoint {name} is whole: nothing is removed; forget it first"
            ) from None
    directories = {name for one in manifests for name in one.directories}
    packs = {
        f"{keys.save_of(directory.name)}/{directory.packs[number].tobytes().hex()}"
        for directory, number in packs_of(vault, manifests)
    }
    alive = {one for one, lives in living(vault).items() if lives}
    stays = set()
    for key in there:
        kind, _, rest = key.partition("/")
        needed = rest in directories if kind == "directories" else rest.rpartition(".")[0] in packs
        if needed or keys.save_of(rest.partition("/")[0]) in alive:
            stays.add(key)
    return stays, set(there) - stays


def _packs_in(objects: set[str]) -> set[str]:
    """Return the packs of which these objects are pieces, as SAVE/PACK."""
    return {
        key.removeprefix(keys.PACKS).rpartition(".")[0]
        for key in objects
        if key.startswith(keys.PACKS)
    }


def _outlived(
    vault: Vault, before: Sequence[str], wait: float, sleep: Callable[[float], None]
) -> list[str]:
    """Wait for saves to end; return those that have not."""
    until = vault.clock() + wait
    while True:
        alive = living(vault)
        left = [one for one in before if alive.get(one, False)]
        if not left or vault.clock() >= until:
            return left
        sleep(min(1.0, max(until - vault.clock(), 0.01)))


def _clear_collections(vault: Vault) -> None:
    """Take away what collections that died said. A collection that runs beside this one removes
    nothing that this one's second look does not allow, so both may run."""
    there, _ = vault.pool.keys(keys.COLLECTIONS)
    for key in there:
        try:
            at = float(vault.read_told(key)["at"])
        except (LostError, HostError):
            continue
        if vault.clock() - at > COLLECTION_LIFE:
            vault.pool.delete_everywhere(key)


COLLECTION_LIFE = 86_400.0
"""s after which a collection counts as dead."""
