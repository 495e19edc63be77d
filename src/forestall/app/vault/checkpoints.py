"""Checkpoints by the URLs of their storage hosts: what `forestall checkpoint` and `fs.vault` do."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from forestall.app.vault.stores import PlacedTold, PlacingOptions, SavePlacing
from forestall.model.errors import ParameterError
from forestall.model.settings import Declared, Setting
from forestall.traces.files.atomic import atomic_path
from forestall.vaults import keys
from forestall.vaults.chunks import KIB, Cutting
from forestall.vaults.collecting import SHARE, CollectedTold, Retention, collect, forget, outdated
from forestall.vaults.hosts.places import host_at
from forestall.vaults.layouts import StoreLayout
from forestall.vaults.manifests import Manifest
from forestall.vaults.packs import Compression
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import RecoveryTold, restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings, SaveTold, save
from forestall.vaults.seals import Key
from forestall.vaults.sources import check_paths
from forestall.vaults.upkeep import VerifiedTold, repair, verify

Progress = Callable[[int, int], None]
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

    def rules(self, encrypted: bool) -> VaultRules:
        """Return the rules of a vault that begins so. Raises ParameterError."""
        return VaultRules(cutting_of(self.chunks) if self.chunks else Cutting(), encrypted)

    def laid_out(self, hosts: int) -> StoreLayout:
        """Return the layout on so many hosts. Raises ParameterError."""
        return StoreLayout.named(self.layout, hosts, Code(self.data, self.parity))

    def settings(self, layout: StoreLayout) -> SaveSettings:
        """Return the settings of a save. Raises ParameterError."""
        return SaveSettings(self.label, layout.code, self.compression, self.strict)


def cutting_of(text: str) -> Cutting:
    """Return how to cut from text such as ``content:16``. Raises ParameterError."""
    method, _, size = text.partition(":")
    if method not in ("content", "blocks") or not size.isdecimal():
        raise ParameterError("chunks", text, "content:KIB or blocks:KIB, such as content:16")
    return Cutting(method, int(size) * KIB)  # type: ignore[arg-type]


def open_vault(
    stores: Sequence[str],
    *,
    key: Path | None = None,
    begin: VaultRules | None = None,
    agree: bool = False,
) -> Vault:
    """Open the vault on the storage hosts at these URLs, or `begin` one; where there is one, it
    must `agree` with those rules, or may have others. Raises InputError."""
    if not stores:
        raise ParameterError("store", None, "the URL of a storage host, at least one")
    return Vault.open(
        [host_at(url) for url in stores], begin=begin, agree=agree,
        key=None if key is None else Key.read(key),
    )  # fmt: skip


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
    layout, begin = coding.laid_out(len(stores)), coding.rules(key is not None)
    settings = coding.settings(layout)
    check_paths(paths)
    with open_vault(stores, key=key, begin=begin, agree=bool(coding.chunks)) as vault:
        made, placed = save_placed(vault, paths, settings, layout, placing, progress)
        return told_of(made) | {
            "layout": layout.kind,
            "survives": layout.survives(int(made.figures["missing"])),
            "placement": asdict(placed),
            "skipped": {name.removeprefix("skipped "): int(count)
                        for name, count in made.figures.items() if name.startswith("skipped ")},
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
        if path.is_dir() and not path.is_symlink():
            for where, _, names in os.walk(path):
                for name in names:
                    with suppress(OSError):
                        size += os.lstat(os.path.join(where, name)).st_size
        else:
            with suppress(OSError):
                size += path.lstat().st_size
    return size


def restore_to(
    stores: Sequence[str],
    name: str,
    to: Path,
    *,
    key: Path | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Make a checkpoint's files below a folder; return what there is to say."""

    def tell(told: RecoveryTold) -> None:
        last.append(told)
        progress(told.made, told.size)

    last: list[RecoveryTold] = []
    with open_vault(stores, key=key) as vault:
        made = restore(vault, name, to, tell=tell)
    wrong = last[-1].wrong if last else []
    return {"id": made.name, "to": str(to), "files": _files(made), "bytes": made.size,
            "done_without": wrong}  # fmt: skip


def listed(
    stores: Sequence[str], *, key: Path | None = None, label: str | None = None
) -> list[dict[str, Any]]:
    """Return the checkpoints, oldest first."""
    with open_vault(stores, key=key) as vault:
        return [told_of(one) for one in vault.manifests(label)]


def looked_after(
    stores: Sequence[str],
    names: Sequence[str],
    *,
    mend: bool,
    deep: bool = False,
    key: Path | None = None,
    progress: Callable[[VerifiedTold], None] = lambda told: None,
) -> list[dict[str, Any]]:
    """Verify or repair checkpoints, or all of them where none is named."""
    with open_vault(stores, key=key) as vault:
        told = []
        for name in names or vault.names():
            manifest = vault.manifest(name)
            found = (
                repair(vault, manifest, tell=progress)
                if mend
                else verify(vault, manifest, deep=deep, tell=progress)
            )
            told.append({**asdict(found), "recoverable": found.recoverable})
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
    nothing needs any more."""
    with open_vault(stores, key=key) as vault:
        named = [vault.manifest(name).name for name in forgotten]
        if keep is not None:
            named += [one.name for one in outdated(vault.manifests(), keep, vault.clock())]
        for name in named:
            forget(vault, name)
        least = SHARE if share is None else share
        told = collect(vault, wait=wait, share=least, tell=progress)
        return {**asdict(told), "forgotten": named}


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
        checkpoints = vault.manifests()
        cut = rules.cutting
        return {
            "checkpoints": len(checkpoints),
            "bytes": sum(one.size for one in checkpoints),
            "stored": sum(one["bytes"] for one in hosts),
            "chunks": f"{cut.method}:{cut.size // KIB}",
            "encrypted": rules.encrypted,
            "hosts": hosts,
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
