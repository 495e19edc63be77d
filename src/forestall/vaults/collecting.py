"""Which checkpoints go, and what goes with them: only what no other checkpoint and no save under
way has need of."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from forestall.model.errors import InputError
from forestall.vaults import keys
from forestall.vaults.hosts.host import HostError
from forestall.vaults.leases import LIFE, living
from forestall.vaults.manifests import Manifest
from forestall.vaults.moving import move, settle, sparse_packs
from forestall.vaults.pool import LostError
from forestall.vaults.repository import Vault
from forestall.vaults.upkeep import packs_of

SHARE: Final = 0.5
"""Of a pack of which less is needed, what is needed is moved to others."""


@dataclass(frozen=True)
class Retention:
    """Which checkpoints of each label stay: the newest `last`, and all that are younger than
    `within`, s."""

    last: int = 3
    within: float = 0.0


@dataclass
class CollectedTold:
    """What a collection came to: checkpoints that went, objects and bytes removed, objects that
    stay, bytes of chunks moved and of how many packs, and what was in the way, in words."""

    forgotten: list[str] = field(default_factory=list)
    objects: int = 0
    removed: int = 0
    stays: int = 0
    moved: int = 0
    packs: int = 0
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
    for key in vault.pool.keys(keys.MANIFESTS)[0]:
        if (told := keys.manifest_of(key)) is not None and told[0] == name:
            vault.pool.delete_everywhere(key)


def collect(
    vault: Vault,
    *,
    wait: float = 0.0,
    share: float = SHARE,
    tell: Callable[[CollectedTold], None] = lambda told: None,
    sleep: Callable[[float], None] = time.sleep,
) -> CollectedTold:
    """Remove what no checkpoint needs: packs and directories of forgotten ones, and of saves that
    died; and packs of which less than a `share` is needed, once that has been moved to others.

    Packs are first told to be about to go; saves that begin then leave them alone, and those that
    began before are waited for, for `wait` s at most: what they may need then stays for the next
    time. Raises InputError where too few hosts answer to know what is needed.
    """
    told = CollectedTold()
    there, everybody = _there(vault)
    _clear_collections(vault)
    moment = datetime.fromtimestamp(vault.clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    key = f"{keys.COLLECTIONS}{moment}"
    _, doomed = _split(vault, there, everybody=everybody)
    sparse = {one.key for one in sparse_packs(vault, vault.manifests(), share)}
    vault.put_told(key, {"at": vault.clock(), "packs": sorted(_packs_in(doomed) | sparse)})
    try:
        before = [one for one, alive in living(vault).items() if alive]
        left = _outlived(vault, before, wait, sleep)
        if left:
            told.said.append(f"{len(left)} saves are under way; objects that they may need stay")
            return told
        for lease in (one for one, alive in living(vault).items() if not alive):
            vault.pool.delete_everywhere(keys.LEASES + lease)
        _move(vault, sparse, share, told)
        stays, gone = _split(vault, there, everybody=everybody)  # anew: a save may have ended
        told.stays = len(stays)
        for one in sorted(gone & doomed | {one for one in gone if _packs_in({one}) & sparse}):
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


def _move(vault: Vault, sparse: set[str], share: float, told: CollectedTold) -> None:
    """Move what is needed out of packs that were told to be about to go. No save is under way that
    may rest on them; what has been saved meanwhile counts."""
    try:
        settle(vault)
        wanted = [one for one in sparse_packs(vault, vault.manifests(), share) if one.key in sparse]
        if wanted:
            found = move(vault, wanted)
            told.moved, told.packs = found.moved, found.packs
            told.said += found.said
    except (HostError, LostError) as error:
        told.said.append(f"chunks that {len(sparse)} packs still hold could not be moved: {error}")


def _there(vault: Vault) -> tuple[dict[str, dict[int, int]], bool]:
    """Return packs and directories that are on any host, and whether all answer. Raises InputError
    where not enough of them do."""
    found: dict[str, dict[int, int]] = {}
    everybody = True
    for prefix in (keys.PACKS, keys.DIRECTORIES, keys.MANIFESTS):
        some, wrong = vault.pool.keys(prefix)
        everybody = everybody and not wrong
        if len(vault.pool.hosts) - len(wrong) < vault.majority:
            raise InputError(f"too few storage hosts answer: {next(iter(wrong.values()))}")
        if prefix != keys.MANIFESTS:
            found |= some
    return found, everybody


def _split(
    vault: Vault, there: dict[str, dict[int, int]], *, everybody: bool
) -> tuple[set[str], set[str]]:
    """Return which of the objects stay and which may go. What belongs to a save under way stays;
    and what belongs to a move, unless `everybody` answers: a host that does not may have a manifest
    that names it, and that stands for the one which the others have."""
    directories, packs = _needed(vault)
    alive = {one for one, lives in living(vault).items() if lives}
    stays = set()
    for key in there:
        kind, _, rest = key.partition("/")
        needed = rest in directories if kind == "directories" else rest.rpartition(".")[0] in packs
        save = keys.save_of(rest.partition("/")[0])
        if needed or save in alive or (keys.is_move(save) and not everybody):
            stays.add(key)
    return stays, set(there) - stays


def _needed(vault: Vault) -> tuple[set[str], set[str]]:
    """Return the directories and packs that any manifest names, also those that others stand for:
    whoever began to move chunks may have to take that back."""
    directories, packs = set[str](), set[str]()
    for name, moves in vault.moves().items():
        for number in range(len(moves)):
            try:
                made = vault.manifest_after(name, moves[number:])
                packs |= {
                    f"{keys.save_of(directory.name)}/{directory.packs[pack].tobytes().hex()}"
                    for directory, pack in packs_of(vault, [made])
                }
                directories.update(made.directories)
            except LostError:
                if number:
                    continue
                raise InputError(
                    f"no manifest of checkpoint {name} is intact: nothing is removed; forget it "
                    "first"
                ) from None
    return directories, packs


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
            at = vault.read_told(key, lambda held: held.number("at"))
        except (LostError, HostError):
            continue
        if vault.clock() - at > COLLECTION_LIFE:
            vault.pool.delete_everywhere(key)


COLLECTION_LIFE = 86_400.0
"""s after which a collection counts as dead."""
