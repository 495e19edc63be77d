"""A vault on storage hosts is created once, and gets further stores later: what
`forestall checkpoint init` does."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.chunks import KIB, Cutting
from forestall.vaults.hosts.places import host_at
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.seals import Key
from forestall.vaults.stores.identity import new_vault_id


def init_command(
    stores: Sequence[str], key: Path | None = None, cutting: Cutting | None = None, more: str = ""
) -> str:
    """Return the command line that creates the vault; no secrets of URLs stand in it."""
    words = ["forestall", "checkpoint", "init", *([more] if more else [])]
    for url in stores:
        words += ["--store", url if "://" not in url else host_at(url).name]
    if cutting not in (None, Cutting()):
        words += ["--chunks", f"{cutting.method}:{cutting.size // KIB}"]
    if key is not None:
        words += ["--key", str(key)]
    return shlex.join(words)


def init_vault(
    stores: Sequence[str],
    chunks: str = "",
    *,
    key: Path | None = None,
    add: bool = False,
) -> dict[str, Any]:
    """Create the vault on storage hosts, or give a vault that is there what it lacks: identities,
    where it was made before there were any, and with `add` further stores.

    Returns its id, and of each store whether it is ``new``, ``added``, ``adopted`` (it held the
    vault without an identity), ``there`` already, or ``away``, and why. Raises InputError where a
    store holds another vault, or nothing though the others hold one and it shall not be added.
    """
    if not stores:
        raise ParameterError("store", None, "the URL of a storage host, at least one")
    opening = None if key is None else Key.read(key)
    rules = VaultRules(cutting_of(chunks) if chunks else Cutting(), opening is not None)
    hosts = [host_at(url) for url in stores]
    with Vault.open(hosts, begin=rules, agree=rules if chunks else None, key=opening) as vault:
        members, names = vault.members, vault.pool.names
        states = dict.fromkeys(range(len(names)), "new" if vault.is_new else "there")
        others = {k: why for k, why in members.strangers.items() if k not in members.empty}
        for number, why in others.items():
            raise InputError(f"{names[number]}: {why}; nothing was changed")
        if members.empty and not add:
            empty = ", ".join(names[number] for number in members.empty)
            raise InputError(
                f"{empty}: holds nothing of the vault that the other stores hold. If its disk is "
                f"mounted and it shall become a store: {init_command(stores, key, more='--add')}"
            )
        states |= dict.fromkeys(members.older, "adopted") | dict.fromkeys(members.empty, "added")
        states |= dict.fromkeys(members.silent, "away")
        wanted = [*members.older, *members.empty]
        if wanted:
            vault.add_stores(wanted, members.vault or new_vault_id())
        away = {one.store: one.why for one in vault.pool.away}
        return {
            "vault": vault.members.vault,
            "encrypted": vault.rules.encrypted,
            "stores": [{"store": name, "state": states[number], "why": away.get(name, "")}
                       for number, name in enumerate(names)],
        }  # fmt: skip


def cutting_of(text: str) -> Cutting:
    """Return how to cut from text such as ``content:16``. Raises ParameterError."""
    method, _, size = text.partition(":")
    if method not in ("content", "blocks") or not size.isdecimal():
        raise ParameterError("chunks", text, "content:KIB or blocks:KIB, such as content:16")
    return Cutting(method, int(size) * KIB)  # type: ignore[arg-type]
