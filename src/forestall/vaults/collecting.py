"""Which checkpoints go, and what goes with them: only what no other checkpoint and no save under
way has need of."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from forestall.core.model.errors import InputError
from forestall.vaults import keys
from forestall.vaults.hosts.host import HostError
from forestall.vaults.leases import (
    LIFE,
    LeaseLostError,
    SeenLease,
    announce,
    announcements,
    fence,
    leases,
    presumed_dead,
)
from forestall.vaults.machine import is_gone, since_boot
from forestall.vaults.manifests import Manifest
from forestall.vaults.moving import move, settle, sparse_packs
from forestall.vaults.pool import LostError, UnreadableError
from forestall.vaults.repository import Vault
from forestall.vaults.saving import copies_for
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
        newest = sorted(several, key=_order, reverse=True)
        gone += [one for one in newest[rule.last :] if one.at < now - rule.within]
    return sorted(gone, key=_order)


def _order(manifest: Manifest) -> tuple[int, str]:
    return keys.order_of(manifest.name)


def forget(vault: Vault, name: str) -> None:
    """Take a checkpoint away: from now on it is not there. What it was made of goes with the next
    collection."""
    vault.forget(name)


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

    What may go is first announced; saves that begin then leave it alone, and those that began
    before are waited for, for `wait` s at most: what they may need then stays for the next time.
    A save that is presumed dead is fenced: it cannot be completed any more. Raises InputError where
    too few hosts answer to know what is needed, UnreadableError where a manifest cannot be read.
    """
    told = CollectedTold()
    there, everybody = _there(vault)
    _clear_announcements(vault, there, everybody=everybody)
    seen = leases(vault)
    dead = presumed_dead(vault, seen)
    _, doomed = _split(vault, there, set(seen) - dead, everybody=everybody)
    manifests = vault.manifests()
    sparse = {one.key for one in sparse_packs(vault, manifests, share)} if share > 0 else set()
    moment = datetime.fromtimestamp(vault.clock(), UTC).strftime("%Y%m%dT%H%M%SZ")
    key = f"{keys.COLLECTIONS}{moment}-{secrets.token_hex(4)}"
    # No checkpoint may be lost because too many hosts lost what a collection and a save agree by.
    copies = max((copies_for(vault, one.code) for one in manifests), default=0)
    announce(vault, key, _announced(doomed) | sparse, copies)
    may_go_yet = False
    try:
        unsure = _fenced(vault, {save: seen[save] for save in sorted(dead)}, copies, told)
        alive = [save for save in leases(vault) if save not in dead]
        left = _outlived(vault, alive, wait, sleep)
        if left:
            are = "save is" if len(left) == 1 else "saves are"
            told.said.append(f"{len(left)} {are} under way; objects that may be needed stay")
            return told
        _move(vault, sparse, share, told)
        begun = set(leases(vault))
        stays, gone = _split(vault, there, unsure | begun, everybody=everybody)  # anew
        told.stays = len(stays)
        may_go_yet = True
        gone = gone & doomed | {one for one in gone if _announced({one}) & sparse}
        may_go_yet = not _removed(vault, {one: there[one] for one in sorted(gone)}, told, tell)
        if not begun:
            _sweep(vault, told)
    finally:
        if not may_go_yet:  # else no save must use it
            vault.pool.delete_everywhere(key)
    return told


def _removed(
    vault: Vault,
    gone: dict[str, dict[int, int]],
    told: CollectedTold,
    tell: Callable[[CollectedTold], None],
) -> bool:
    """Remove objects; return whether all hosts did so."""
    all_did = True
    for key, sizes in gone.items():
        wrong = vault.pool.delete_everywhere(key)
        all_did = all_did and not wrong
        told.objects += 1
        told.removed += sum(sizes.values())
        told.said += map(str, wrong.values())
        tell(told)
    return all_did


def _sweep(vault: Vault, told: CollectedTold) -> None:
    """Remove what is half-written. No save must be under way: the clock of a host may be behind
    this one, and what it writes now look old."""
    since = vault.clock() - LIFE
    for swept in vault.pool.each(lambda host: host.sweep(since)).values():
        told.objects += swept if isinstance(swept, int) else 0


def _fenced(
    vault: Vault, dead: dict[str, SeenLease | None], copies: int, told: CollectedTold
) -> set[str]:
    """Fence the saves that are presumed dead; return those that may be complete all the same, or
    may publish more of their manifests."""
    unsure = fence(vault, set(dead), copies)
    for save, one in dead.items():
        is_gone = one is not None and one.is_gone
        if save in unsure and is_gone:
            vault.pool.delete_everywhere(keys.FENCES + save)
            unsure.remove(save)
        elif save not in unsure and not is_gone:
            told.said.append(f"save {save} is presumed dead and ends unsaved if it still runs")
    return unsure


def _move(vault: Vault, sparse: set[str], share: float, told: CollectedTold) -> None:
    """Move what is needed out of packs that were told to be about to go. No save is under way that
    may rest on them; what has been saved meanwhile counts."""
    try:
        settle(vault)
        manifests = vault.manifests() if sparse else []
        wanted = [one for one in sparse_packs(vault, manifests, share) if one.key in sparse]
        if wanted:
            found = move(vault, wanted)
            told.moved, told.packs = found.moved, found.packs
            told.said += found.said
    except (HostError, LostError, LeaseLostError) as error:
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
            continue
        for key in _hidden(vault, some):  # of hosts that were away when it was forgotten
            vault.pool.delete_everywhere(key)
    return found, everybody


def _hidden(vault: Vault, manifests: Iterable[str]) -> list[str]:
    """Return the manifests, by their keys, of what was forgotten."""
    gone, _ = vault.pool.keys(keys.FORGOTTEN)
    return [
        key for key in manifests
        if any(keys.FORGOTTEN + part in gone for part in keys.manifest_of(key) or ())
    ]  # fmt: skip


def _split(
    vault: Vault, there: dict[str, dict[int, int]], begun: set[str], *, everybody: bool
) -> tuple[set[str], set[str]]:
    """Return which of the objects stay and which may go. What belongs to saves that have `begun`
    and may go on stays; and what belongs to a move, unless `everybody` answers: a host that does
    not may have a manifest that names it, and that stands for the one which the others have."""
    directories, packs = _needed(vault)
    stays = set()
    for key in there:
        kind, _, rest = key.partition("/")
        needed = rest in directories if kind == "directories" else rest.rpartition(".")[0] in packs
        save = keys.save_of(rest.partition("/")[0])
        if needed or save in begun or (keys.is_move(save) and not everybody):
            stays.add(key)
    return stays, set(there) - stays


def _needed(vault: Vault) -> tuple[set[str], set[str]]:
    """Return the directories and packs that any manifest names, also those that others stand for:
    whoever began to move chunks may have to take that back."""
    directories, packs = set[str](), set[str]()
    for name, moves in vault.moves(certain=True).items():
        for number in range(len(moves)):
            try:
                made = vault.manifest_after(name, moves[number:])
                packs |= {
                    f"{keys.save_of(directory.name)}/{directory.packs[pack].tobytes().hex()}"
                    for directory, pack in packs_of(vault, [made])
                }
                directories.update(made.directories)
            except LostError as error:
                if number:
                    continue
                raise unreadable_error(name, str(error)) from None
    return directories, packs


def unreadable_error(name: str, why: str) -> UnreadableError:
    """Return what ends a collection where a checkpoint cannot be read: what it needs is unknown."""
    return UnreadableError(
        f"checkpoint {name} cannot be read: {why}; nothing is removed. Bring its hosts back, or "
        f"forget it: {{forget}} {name}"
    )


def _announced(objects: set[str]) -> set[str]:
    """Return the packs of which these objects are pieces, as SAVE/PACK, and the directories."""
    return {
        key.removeprefix(keys.PACKS).rpartition(".")[0]
        if key.startswith(keys.PACKS)
        else key.removeprefix(keys.DIRECTORIES)
        for key in objects
    }


def _outlived(
    vault: Vault, before: Sequence[str], wait: float, sleep: Callable[[float], None]
) -> list[str]:
    """Wait for saves to end; return those that have not."""
    until = since_boot() + wait
    while True:
        there = leases(vault)
        left = [one for one in before if one in there]
        if not left or since_boot() >= until:
            return left
        sleep(min(1.0, max(until - since_boot(), 0.01)))


def _clear_announcements(
    vault: Vault, there: dict[str, dict[int, int]], *, everybody: bool
) -> None:
    """Take away what collections before this one announced, where their process is gone, or nothing
    of it is left. Else they may go on at any time, and remove it: no save must ever use it."""
    left = _announced(set(there))
    for key, one in announcements(vault).items():
        if is_gone(one.place, one.pid) or (everybody and not one.packs & left):
            vault.pool.delete_everywhere(key)
