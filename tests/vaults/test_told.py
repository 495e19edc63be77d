"""What is in a vault and has a good checksum, and yet cannot be: such a copy counts as lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults import keys
from forestall.vaults.envelopes import Content, content_of, enveloped
from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.leases import doomed, leases, presumed_dead
from forestall.vaults.manifests import Directory, Manifest
from forestall.vaults.pieces.codes import Code
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.pool import LostError
from forestall.vaults.ranks.states import packed, state_of
from forestall.vaults.recovery import restore
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.runs import RunHistory, look_at_run, read_history
from forestall.vaults.saving import SaveSettings, save
from forestall.vaults.stores.book import StoreBook
from vaults.earlier_manifests import old_content

Spoil = Callable[[dict[str, Any]], object]


def _vault(tmp_path: Path, hosts: int = 3) -> Vault:
    return Vault.open([FolderHost(tmp_path / f"h{k}") for k in range(hosts)], begin=VaultRules())


def _saved(vault: Vault, tmp_path: Path) -> Manifest:
    (tmp_path / "data").write_bytes(np.random.default_rng(1).bytes(200_000))
    return save(vault, [tmp_path / "data"], SaveSettings(code=Code(2, 1)))


def _put(vault: Vault, key: str, content: Content, hosts: range) -> None:
    for host in hosts:
        vault.pool.put(host, key, [enveloped(*content)]).result()


MANIFESTS: list[Spoil] = [
    lambda told: told.update(at="soon"),
    lambda told: told.update(at=10**400),
    lambda told: told.update(code=[3]),
    lambda told: told.update(code=[2, 10**30]),
    lambda told: told.update(directories=["../../etc"]),
    lambda told: told.update(entries=[[]]),
    lambda told: told.update(move="../x"),
    lambda told: told["figures"].update(read=float("nan")),
    lambda told: told["entries"][0].update(size=-1),
    lambda told: told["entries"][0].update(count=2**62),
    lambda told: told["entries"][0].update(first=7),
    lambda told: told["entries"][0].update(kind="device"),
    lambda told: told["entries"][0].update(mode="rw"),
    lambda told: told["entries"][0].pop("path"),
    lambda told: told.pop("label"),
]


@pytest.mark.parametrize("spoil", MANIFESTS)
def test_a_spoilt_manifest_counts_as_lost(tmp_path: Path, spoil: Spoil) -> None:
    """Of an earlier version, which had an object for each entry."""
    with _vault(tmp_path) as vault:
        made = _saved(vault, tmp_path)
        content = old_content(made, made.entries)
        assert Manifest.from_content(content).entries[0].path == "data"
        spoil(content.told)
        with pytest.raises(ParameterError):
            Manifest.from_content(content)
        _put(vault, made.key, content, range(2))
        restore(vault, made.name, tmp_path / "back")
        assert (tmp_path / "back/data").read_bytes() == (tmp_path / "data").read_bytes()
        _put(vault, made.key, content, range(3))
        with pytest.raises(LostError, match="no reachable storage host has an intact"):
            vault.manifest(made.name)


COLUMNS: list[tuple[str, Callable[[Any], Any]]] = [
    ("kinds", lambda one: one + 7),
    ("kinds", lambda one: one + 1),
    ("kinds", lambda one: one[:0]),
    ("modes", lambda one: one + 0o7777),
    ("sizes", lambda one: one * 0),
    ("sizes", lambda one: one + np.uint64(2**63)),
    ("counts", lambda one: one + 1),
    ("counts", lambda one: one + np.uint64(2**62)),
    ("nanoseconds", lambda one: one + 10**9),
    ("users", lambda one: one - 1_000_000),
    ("groups", lambda one: one + 2**32),
    ("attributes", lambda one: one + 1),
    ("sparse", lambda one: one + 2),
    ("paths", lambda one: one[:-1]),
    ("paths", lambda one: np.append(one, one)),
    ("targets", lambda one: np.frombuffer(b"x\0", np.uint8)),
]


@pytest.mark.parametrize(("name", "spoil"), COLUMNS)
def test_a_spoilt_column_counts_as_lost(
    tmp_path: Path, name: str, spoil: Callable[[Any], Any]
) -> None:
    with _vault(tmp_path) as vault:
        made = _saved(vault, tmp_path)
        told, arrays = content_of(vault.envelope(made))
        name = f"entries.{name}"
        content = Content(told, {**arrays, name: spoil(arrays[name].copy())})
        with pytest.raises(ParameterError):
            Manifest.from_content(content)
        _put(vault, made.key, content, range(2))
        restore(vault, made.name, tmp_path / "back")
        assert (tmp_path / "back/data").read_bytes() == (tmp_path / "data").read_bytes()


@pytest.mark.parametrize(
    "sets", [[], [[["zz", ""]]], [[["61"]]], [[[1, 2]]], [3], [None], {"a": 1}]
)
def test_spoilt_attributes_count_as_lost(tmp_path: Path, sets: Any) -> None:
    with _vault(tmp_path) as vault:
        told, arrays = content_of(vault.envelope(_saved(vault, tmp_path)))
        told["entries"]["attributes"] = sets
        with pytest.raises(ParameterError):
            Manifest.from_content(Content(told, arrays))


ARRAYS: list[tuple[str, Callable[[Any], Any]]] = [
    ("counts", lambda one: one + 1),
    ("placed", lambda one: one + 100),
    ("placed", lambda one: one[:, :1]),
    ("packs", lambda one: one[:, :31]),
    ("chunks", lambda one: one[:-1]),
    ("stored", lambda one: one.astype(np.uint64) + 2**40),
    ("plain", lambda one: one.reshape(1, -1)),
]


@pytest.mark.parametrize(("name", "spoil"), ARRAYS)
def test_a_spoilt_directory_counts_as_lost(
    tmp_path: Path, name: str, spoil: Callable[[Any], Any]
) -> None:
    with _vault(tmp_path) as vault:
        made = _saved(vault, tmp_path)
        told, arrays = content_of(vault.envelope(vault.directory(made.directories[0])))
        content = Content(told, {**arrays, name: spoil(arrays[name])})
        with pytest.raises(ParameterError):
            Directory.from_content(content)
        key = keys.DIRECTORIES + made.directories[0]
        _put(vault, key, content, range(3))
    with _vault(tmp_path) as vault:  # nothing of it is kept
        with pytest.raises(LostError):
            restore(vault, made.name, tmp_path / "back")
        assert not (tmp_path / "back").exists()


def test_runs_that_name_no_directory_are_none(tmp_path: Path) -> None:
    with _vault(tmp_path) as vault:
        told, arrays = content_of(vault.envelope(_saved(vault, tmp_path)))
        runs = arrays["runs"].copy()
        runs[:, 0] = 9
        with pytest.raises(ParameterError, match="numbers of 1 directories"):
            Manifest.from_content(Content(told, {**arrays, "runs": runs}))


@pytest.mark.parametrize(
    "told",
    [{}, {"form": 1}, {"form": "1"}, {"form": 1, "method": "content", "size": -1},
     {"form": 1, "method": "content", "size": 16384, "encrypted": "no"}],
)  # fmt: skip
def test_a_vault_that_says_nothing_is_one_line(tmp_path: Path, told: dict[str, Any]) -> None:
    with _vault(tmp_path) as vault:
        _put(vault, keys.VAULT, Content(told, {}), range(3))
    with pytest.raises(InputError, match="expected"):
        _vault(tmp_path)


@pytest.mark.parametrize("told", [{}, {"at": "x"}, {"at": 1, "pid": -9, "place": ""}])
def test_spoilt_leases_are_those_of_dead_saves(tmp_path: Path, told: dict[str, Any]) -> None:
    with _vault(tmp_path) as vault:
        _put(vault, f"{keys.LEASES}20260101T000000000000Z-abcdef", Content(told, {}), range(3))
        _put(vault, f"{keys.COLLECTIONS}20260101T000000Z", Content({"packs": 3}, {}), range(3))
        name = "20260101T000000000000Z-abcdef"
        assert leases(vault) == {name: None}
        assert presumed_dead(vault, leases(vault)) == {name}
        assert doomed(vault) == frozenset()


@pytest.mark.parametrize("told", [{}, {"words": 3}, {"host": 1, "life": -1}, {"count": 10**4000}])
def test_spoilt_histories_and_signs_of_runs_tell_nothing(tmp_path: Path, told: Any) -> None:
    with _vault(tmp_path) as vault:
        _put(vault, f"{keys.RUNS}job/history", Content(told, {}), range(3))
        _put(vault, f"{keys.RUNS}job/lease-00", Content(told, {}), range(3))
        assert read_history(vault, "job") == RunHistory()
        assert look_at_run(vault, "job") == (RunHistory(), None)


def _state(head: str) -> bytes:
    raw = head.encode()
    return b"FSST\0\0\0\0" + len(raw).to_bytes(8, "little") + raw + bytes(128)


@pytest.mark.parametrize(
    "head",
    ["{}", "[]", '{"pieces": 3, "many": true}', '{"pieces": [["a", "O", [1]]], "many": true}',
     '{"pieces": [["", "f8", [-1]]], "many": false}', '{"pieces": [], "many": false}',
     '{"pieces": [["", "f8", [' + "9" * 40 + ']]], "many": false}',
     '{"pieces": [["", "f8", [1]]]}', '{"pieces": [[[], "f8", [1]]], "many": true}',
     "[" * 5000],
)  # fmt: skip
def test_a_spoilt_state_is_damaged(head: str) -> None:
    assert state_of(packed(b"1")) == b"1"
    with pytest.raises(DamagedError):
        state_of(_state(head))


def test_a_book_with_text_for_numbers_is_one_line(tmp_path: Path) -> None:
    with StoreBook(tmp_path / "book") as book:
        book._base.execute("INSERT INTO paths VALUES ('h', 'many', 1.0, 2.0)")
        book._base.commit()
        with pytest.raises(InputError, match="a text in place of a number"):
            book.path_to("h")
