"""Stores and their ids: which hosts get requests, at opening and while a vault is open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError
from forestall.vaults import keys
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.hosts.host import AbsentError, HostError
from forestall.vaults.pieces.codes import Code
from forestall.vaults.recovery import restore
from forestall.vaults.repository import NoVaultError, Vault, VaultRules
from forestall.vaults.saving import SaveSettings, save
from vaults.hosts_that_fail import TestHost, hosts

SETTINGS = SaveSettings(code=Code(1, 1))


def begun(there: list[TestHost]) -> Vault:
    return Vault.open(there, begin=VaultRules())


def test_a_vault_begins_on_all_hosts_or_on_none() -> None:
    there = hosts(3)
    there[2].room = 40  # too little for what names the vault
    with pytest.raises(HostError, match="No space left"):
        begun(there)
    assert [one.objects for one in there] == [{}, {}, {}]
    there[2].room, there[1].away = None, True
    with pytest.raises(InputError, match="refused"):
        begun(there)
    assert [one.objects for one in there] == [{}, {}, {}]
    with pytest.raises(NoVaultError):
        Vault.open([there[0], there[2]])


def test_a_vault_that_was_begun_halfway_is_begun_to_its_end() -> None:
    """Whoever began it was killed at any write; once something was saved, an empty host is none."""
    whole = hosts(3)
    begun(whole).close()
    for rules in range(4):
        for ids in range(1 + (3 if rules == 3 else 0)):
            there = hosts(3)
            for one, made in zip(there[:rules], whole, strict=False):
                one.objects[keys.VAULT] = made.objects[keys.VAULT]
            for one, made in zip(there[:ids], whole, strict=False):
                one.objects[keys.STORE] = made.objects[keys.STORE]
            begun(there).close()
            with Vault.open(there) as vault:
                assert len(vault.members.stores) == 3, (rules, ids)


def test_two_that_begin_a_vault_at_once() -> None:
    """One of them, or neither, has it; nobody takes away what the other made."""
    there, others = hosts(2), hosts(2)
    begun(others).close()

    def meanwhile() -> None:
        if keys.STORE in there[1].objects:  # the first one reads back what it wrote
            for one, other in zip(there, others, strict=True):
                one.on_write = lambda: None
                one.objects.update(other.objects)

    there[1].on_write = meanwhile
    there[0].on_write = lambda: None
    real = there[1].get

    def get(key: str) -> bytes:
        meanwhile()
        return real(key)

    there[1].get = get  # type: ignore[method-assign]
    with pytest.raises(HostError, match="another process is creating a vault there"):
        begun(there)
    assert [one.objects for one in there] == [one.objects for one in others]


def test_a_host_that_was_down_is_looked_at_before_it_gets_anything(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 1000)
    there = hosts(3)
    begun(there).close()
    kept = dict(there[2].objects)
    there[2].away = True
    with Vault.open(there) as vault:
        there[2].away = False
        there[2].objects.clear()  # it is up again, without its disk
        made = save(vault, [tmp_path / "x"], SETTINGS)
        assert there[2].objects == {}
        assert [one.store for one in vault.pool.away] == ["host2"]
        assert made.figures["survives"] == 1
        there[2].objects.update(kept)
        save(vault, [tmp_path / "x"], SETTINGS)
        assert any(key.startswith(keys.MANIFESTS) for key in there[2].objects)
        assert vault.pool.away == []


def test_a_folder_is_watched_while_a_vault_is_open(tmp_path: Path) -> None:
    """Unmounted, mounted again, and another one in its place."""
    folder, disk = tmp_path / "store", tmp_path / "disk"
    with Vault.open([FolderHost(folder)], begin=VaultRules()) as vault:
        host = vault.pool.hosts[0]
        host.put("packs/a", b"1")
        folder.rename(disk)
        for _ in range(2):
            for ask in (lambda: host.put("packs/b", b"1"), lambda: host.get("packs/a"),
                        lambda: list(host.keys("packs/")), lambda: host.delete("packs/a"),
                        host.look):  # fmt: skip
                with pytest.raises(HostError, match="is its disk mounted") as error:
                    ask()
                assert not isinstance(error.value, AbsentError)
            assert not folder.exists() or not any(folder.iterdir())
            folder.mkdir(exist_ok=True)  # the place where a disk was mounted
        folder.rmdir()
        shutil.copytree(disk, folder)  # the same disk, as a system mounts it anew
        host.put("packs/b", b"2")
        assert (host.get("packs/a"), host.get("packs/b")) == (b"1", b"2")


def test_rules_that_are_lost_are_not_taken_for_no_vault(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 1000)
    there = hosts(2)
    with begun(there) as vault:
        name = save(vault, [tmp_path / "x"], SETTINGS).name
        known = vault.members.vault
    for one in there:
        del one.objects[keys.VAULT]
    with pytest.raises(InputError, match="no store that answers has the vault's rules"):
        Vault.open(there)
    with begun(there) as vault:
        assert vault.members.vault == known
        restore(vault, name, tmp_path / "back")


def test_an_id_that_is_damaged_is_given_anew() -> None:
    there = hosts(2)
    begun(there).close()
    there[1].objects[keys.STORE] = b"nothing"
    with Vault.open(there) as vault:
        assert vault.members.empty == [1]
    with Vault.open(there) as vault:
        vault.add_stores([1], vault.members.vault)
    with Vault.open(there) as vault:
        assert set(vault.members.stores) == {0, 1}
