"""Checkpoints by the URLs of their storage hosts: what `forestall checkpoint` and `fs.vault` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.settings import Declared, Setting
from forestall.vaults import keys
from forestall.vaults.api.creation import cutting_of, init_command
from forestall.vaults.api.stores import PlacedTold, PlacingOptions, SavePlacing
from forestall.vaults.chunks import KIB, Cutting
from forestall.vaults.collecting import (
    SHARE,
    CollectedTold,
    Retention,
    collect,
    forget,
    outdated,
    unreadable_error,
)
from forestall.vaults.hosts.places import host_at
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.manifests import Manifest
from forestall.vaults.packs import Compression
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import RecoveryTold, restore
from forestall.vaults.repository import NoVaultError, Vault, VaultRules
from forestall.vaults.saving import SaveSettings, SaveTold, save
from forestall.vaults.seals import Key
from forestall.vaults.trees.sources import UNSURE, check_paths
from forestall.vaults.upkeep import VerifiedTold, repair, verify

Progress = Callable[[int, int], None]
Note = Callable[[list[dict[str, str]]], None]
CODING: Final = "Redundancy"
CUTTING: Final = "Chunks"


@dataclass(frozen=True)
class Coding(Declared):
    """How a checkpoint is coded and cut, as commands ask for it."""

    data: Annotated[
        Annotated[int, Field(ge=1)],
        Setting("Number of pieces that suffice to recover the checkpoint", group=CODING),
    ] = 3
    parity: Annotated[
        Annotated[int, Field(ge=0)], Setting("Number of pieces that may be lost", group=CODING)
    ] = 2
    label: Annotated[
        str, Setting("Label of the checkpoint; versions with the same label share unchanged data")
    ] = ""
    compression: Annotated[Compression, Setting("Compression of chunks", group=CUTTING)] = "auto"
    chunks: Annotated[
        str,
        Setting(
            "How files are cut into chunks: content:KIB by their content, blocks:KIB for "
            "memory images; the same throughout a vault",
            group=CUTTING,
            unset="content:16",
        ),
    ] = ""
    layout: Annotated[
        str,
        Setting(
            "How the checkpoint is spread: code: pieces by {data} and {parity}; copies:N: N "
            "whole copies; ring:K: a copy on this machine's own {store}, the K-th, and one on "
            "each of its two neighbors",
            group=CODING,
        ),
    ] = "code"
    strict: Annotated[
        bool, Setting("Fail unless every piece gets a host of its own", group=CODING)
    ] = False
    init: Annotated[
        bool,
        Setting("Create the vault where no {store} has one; else a vault must be there, by "
                "forestall checkpoint init"),
    ] = False  # fmt: skip

    def rules(self, encrypted: bool) -> VaultRules:
        """Return the rules of a vault that begins so. Raises ParameterError."""
        return VaultRules(cutting_of(self.chunks) if self.chunks else Cutting(), encrypted)

    def laid_out(self, hosts: int) -> StoreLayout:
        """Return the layout on so many hosts. Raises ParameterError."""
        return StoreLayout.named(self.layout, hosts, Code(self.data, self.parity))

    def settings(self, layout: StoreLayout) -> SaveSettings:
        """Return the settings of a save. Raises ParameterError."""
        return SaveSettings(self.label, layout.code, self.compression, self.strict)


def open_vault(
    stores: Sequence[str],
    *,
    key: Path | None = None,
    begin: VaultRules | None = None,
    agree: VaultRules | None = None,
    cutting: Cutting | None = None,
) -> Vault:
    """Open the vault on the storage hosts at these URLs, or `begin` one; it must have the rules
    `agree`, where these are given. Raises InputError; where there is none it says how to create
    one, cut by `cutting`."""
    if not stores:
        raise ParameterError("store", None, "the URL of a storage host, at least one")
    hosts, opening = [host_at(url) for url in stores], None if key is None else Key.read(key)
    try:
        return Vault.open(hosts, begin=begin, agree=agree, key=opening)
    except NoVaultError as error:
        told = init_command(stores, key, cutting)
        raise InputError(f"{error}; if their disks are mounted, create it: {told}") from None


def open_for_saves(
    stores: Sequence[str], coding: Coding, key: Path | None, cutting: Cutting | None = None
) -> Vault:
    """Open the vault that saves go into; it begins only where `coding` says so, and then, unless
    that says how, is cut by `cutting`. Raises InputError."""
    rules = coding.rules(key is not None)
    if cutting is not None and not coding.chunks:
        rules = replace(rules, cutting=cutting)
    return open_vault(
        stores, key=key, begin=rules if coding.init else None,
        agree=rules if coding.chunks else None, cutting=rules.cutting,
    )  # fmt: skip


def told_away(vault: Vault) -> list[dict[str, str]]:
    """Return the stores that a command had to do without, and why."""
    return [one._asdict() for one in vault.pool.away]


def save_paths(
    stores: Sequence[str],
    paths: Sequence[Path],
    coding: Coding,
    placing: PlacingOptions | None = None,
    *,
    key: Path | None = None,
    progress: Callable[[SaveTold], None] = lambda told: None,
) -> dict[str, Any]:
    """Save paths; return what there is to say of the checkpoint."""
    layout = coding.laid_out(len(stores))
    settings = coding.settings(layout)
    check_paths(paths)
    with open_for_saves(stores, coding, key) as vault:
        made, placed = save_placed(vault, paths, settings, layout, placing, progress)
        return told_of(made) | {
            "layout": layout.kind,
            "survives": int(made.figures["survives"]),
            "wanted": layout.survives(),
            "away": told_away(vault),
            "has_identity": bool(vault.members.vault),
            "placement": asdict(placed),
            "complete": not UNSURE & made.remarks.keys(),
            "remarks": {why: list(paths) for why, paths in sorted(made.remarks.items())},
        }  # fmt: skip


def save_placed(
    vault: Vault,
    paths: Sequence[Path],
    settings: SaveSettings,
    layout: StoreLayout,
    placing: PlacingOptions | None = None,
    progress: Callable[[SaveTold], None] = lambda told: None,
) -> tuple[Manifest, PlacedTold]:
    """Save paths on the hosts that are worth it; return the checkpoint and how they were chosen."""
    options = placing or PlacingOptions()
    if layout.kind == "ring":
        options = replace(options, place="turn")  # it says where
    code, label = settings.code, settings.label
    where = SavePlacing(vault.pool, options, code, label, size_of(paths), vault.clock)
    made = save(vault, paths, settings, tell=progress, place=where.place or layout.place)
    return made, where.end(int(made.figures["packed"]))


def size_of(paths: Sequence[Path]) -> int:
    """Return how many bytes are in files and folders, about: what changes meanwhile may count."""
    size = 0
    for path in paths:
        if path.is_dir():
            for where, _, names in os.walk(path):
                for name in names:
                    with suppress(OSError):
                        size += os.lstat(os.path.join(where, name)).st_size
        else:
            with suppress(OSError):
                size += path.stat().st_size
    return size


def restore_to(
    stores: Sequence[str],
    name: str,
    to: Path,
    *,
    label: str | None = None,
    key: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Make a checkpoint's files below a folder; return what there is to say, with newer checkpoints
    that cannot be read where it is the ``latest``, of a `label` or of all."""

    def tell(told: RecoveryTold) -> None:
        last.append(told)
        progress(told.made, told.size)

    last: list[RecoveryTold] = []
    with open_vault(stores, key=key) as vault:
        (name,), unreadable = _chosen(vault, [name], label)
        made = restore(vault, name, to, tell=tell)
        away = told_away(vault)
    return {
        "id": made.name, "label": made.label, "to": str(to), "files": _files(made),
        "bytes": made.size, "done_without": last[-1].wrong,
        "remarks": dict(sorted(last[-1].remarks.items())),
        "when_saved": {why: list(paths) for why, paths in sorted(made.remarks.items())},
        "unreadable": _unreadable(unreadable), "away": away,
    }  # fmt: skip


def _chosen(
    vault: Vault, names: Sequence[str], label: str | None
) -> tuple[list[str], dict[str, str]]:
    """Return the checkpoints of these names or beginnings of names, or those of a label where none
    is named; and by name why newer ones than the ``latest`` cannot be read."""
    if not names:
        found, unreadable = vault.readable(label)
        return [one.name for one in found], unreadable
    if label is not None and any(name != "latest" for name in names):
        raise ParameterError("label", label, "latest beside it: an id is of one label")
    chosen, unreadable = [], {}
    for name in names:
        if name == "latest":
            made, unreadable = vault.newest(label)
        chosen.append(made.name if name == "latest" else vault.whole_name(name))
    return chosen, unreadable


def _unreadable(why: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the checkpoints that cannot be read, as commands tell them."""
    return [{"id": name, "why": text} for name, text in why.items()]


def listed(
    stores: Sequence[str], *, key: Path | None = None, label: str | None = None
) -> dict[str, Any]:
    """Return the checkpoints, oldest first, those that cannot be read, and the stores that were
    away."""
    with open_vault(stores, key=key) as vault:
        found, unreadable = vault.readable(label)
        return {"checkpoints": [told_of(one) for one in found],
                "unreadable": _unreadable(unreadable), "away": told_away(vault)}  # fmt: skip


def looked_after(
    stores: Sequence[str],
    names: Sequence[str],
    *,
    mend: bool,
    deep: bool = False,
    label: str | None = None,
    key: Path | None = None,
    progress: Callable[[VerifiedTold], None] = lambda told: None,
    note: Note = lambda away: None,
) -> list[dict[str, Any]]:
    """Verify or repair checkpoints, or all of them, or of a label, where none is named; those that
    cannot be read are lost. `note` is given the stores that were away."""
    with open_vault(stores, key=key) as vault:
        chosen, unreadable = _chosen(vault, names, label)
        told = []
        for name in sorted({*chosen, *unreadable}, key=keys.order_of):
            try:
                manifest = vault.manifest(name)
            except LostError as error:
                found = VerifiedTold(name, spare=-1, wrong=[str(error)])
            else:
                found = (
                    repair(vault, manifest, tell=progress)
                    if mend
                    else verify(vault, manifest, deep=deep, tell=progress)
                )
            told.append({**asdict(found), "recoverable": found.recoverable})
        note(told_away(vault))
        return told


def collected(
    stores: Sequence[str],
    *,
    forgotten: Sequence[str] = (),
    keep: Retention | None = None,
    wait: float = 0.0,
    share: float | None = None,
    key: Path | None = None,
    progress: Callable[[CollectedTold], None] = lambda told: None,
) -> dict[str, Any]:
    """Forget checkpoints, those that are named and those that a rule lets go, and remove what
    nothing needs any more. Raises UnreadableError where a checkpoint cannot be read that is not
    named: then nothing is forgotten."""
    with open_vault(stores, key=key) as vault:
        named = _chosen(vault, forgotten, None)[0] if forgotten else []
        if named or keep is not None:
            there, unreadable = vault.readable()
            for name, why in unreadable.items():
                if name not in named:
                    raise unreadable_error(name, why)
            if keep is not None:
                named += [one.name for one in outdated(there, keep, vault.clock())]
        named = list(dict.fromkeys(named))
        for name in named:
            forget(vault, name)
        least = SHARE if share is None else share
        told = collect(vault, wait=wait, share=least, tell=progress)
        return {**asdict(told), "forgotten": named, "away": told_away(vault)}


def state_of(stores: Sequence[str], *, key: Path | None = None) -> dict[str, Any]:
    """Return how a vault is: its rules, its hosts and what lies on each, and its checkpoints."""
    with open_vault(stores, key=key) as vault:
        rules, hosts = vault.rules, []
        for number, name in enumerate(vault.pool.names):
            sizes: dict[str, Any] = {"host": name, "objects": 0, "bytes": 0}
            hosts.append({**sizes, "said": vault.pool.seen[number].said})
        for prefix in (keys.PACKS, keys.DIRECTORIES, keys.MANIFESTS):
            there, wrong = vault.pool.keys(prefix)
            for on in there.values():
                for number, size in on.items():
                    hosts[number]["objects"] += 1
                    hosts[number]["bytes"] += size
            for number, error in wrong.items():
                hosts[number]["said"] = str(error)
        checkpoints, unreadable = vault.readable()
        cut = rules.cutting
        return {
            "checkpoints": len(checkpoints),
            "bytes": sum(one.size for one in checkpoints),
            "stored": sum(one["bytes"] for one in hosts),
            "chunks": f"{cut.method}:{cut.size // KIB}",
            "encrypted": rules.encrypted,
            "vault": vault.members.vault,
            "hosts": hosts,
            "away": told_away(vault),
            "unreadable": _unreadable(unreadable),
        }


def new_key(path: Path) -> None:
    """Write a new key into a file that only its owner can read. Raises TraceError where there is
    one already."""
    with atomic_path(path, private=True, new=True) as beside:
        beside.write_text(Key.new().text, encoding="ascii")


def told_of(made: Manifest) -> dict[str, Any]:
    """Return what there is to say of a checkpoint."""
    figures = {name: int(made.figures.get(name, 0)) for name in ("new", "stored", "missing")}
    return {
        "id": made.name, "at": made.at, "label": made.label, "files": _files(made),
        "bytes": made.size, **figures, "data": made.code.data, "parity": made.code.parity,
    }  # fmt: skip


def _files(made: Manifest) -> int:
    return sum(one.kind == "file" for one in made.entries)
