"""`fs.vault.open`: a vault as Python has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import forestall as fs
from forestall.vaults.api.checkpoints import new_key


def stores(folder: Path, count: int = 3) -> list[str]:
    return [str(folder / f"store{k}") for k in range(count)]


def test_a_life_of_checkpoints(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "state").write_bytes(np.random.default_rng(1).bytes(100_000))
    vault = fs.vault.open(stores(tmp_path))
    first = vault.save(work, data=2, parity=1, label="job", init=True)
    (work / "state").write_bytes(np.random.default_rng(2).bytes(50_000))
    told: list[object] = []
    second = vault.save([str(work)], data=2, parity=1, label="job", progress=told.append)
    assert told
    assert [one["id"] for one in vault.list("job")] == sorted([first["id"], second["id"]])
    assert vault.list("other") == []
    (file,) = (tmp_path / "store1" / "packs" / first["id"]).iterdir()
    file.write_bytes(b"spoilt")
    assert {one["spare"] for one in vault.verify()} == {0, 1}
    assert vault.repair(first["id"])[0]["mended"] == 1
    assert vault.verify(first["id"], deep=True)[0]["spare"] == 1
    assert vault.restore(first["id"], tmp_path / "out")["files"] == 1
    assert len((tmp_path / "out" / "work" / "state").read_bytes()) == 100_000
    assert vault.read(second["id"], "work/state") == (work / "state").read_bytes()
    with pytest.raises(fs.errors.InputError, match="no file"):
        vault.read(second["id"], "work/nix")
    assert vault.stat()["checkpoints"] == 2
    assert vault.collect(first["id"])["forgotten"] == [first["id"]]
    assert len(vault.collect(keep_last=1)["forgotten"]) == 0
    assert [one["id"] for one in vault.list()] == [second["id"]]


def test_layouts_and_what_they_survive(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 5000)
    vault = fs.vault.open(stores(tmp_path, 4))
    for layout, survives in (("copies:2", 1), ("copies:4", 3), ("ring:4", 2), ("code", 1)):
        made = vault.save(tmp_path / "x", layout=layout, label=layout, init=True)
        assert (made["survives"], made["layout"]) == (survives, layout.partition(":")[0])
    ring = next(one for one in vault.list() if one["label"] == "ring:4")
    held = [k for k in range(4) if (tmp_path / f"store{k}" / "packs" / ring["id"]).exists()]
    assert held == [0, 2, 3]


def test_an_encrypted_vault_and_one_url(tmp_path: Path) -> None:
    new_key(tmp_path / "key")
    (tmp_path / "x").write_bytes(b"secret" * 100)
    vault = fs.vault.open(str(tmp_path / "store"), key=tmp_path / "key")
    made = vault.save(tmp_path / "x", layout="copies:1", init=True)
    assert vault.read(made["id"], "x") == b"secret" * 100
    with pytest.raises(fs.errors.InputError, match="key"):
        fs.vault.open(str(tmp_path / "store")).list()


def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(fs.errors.ParameterError, match="ftp"):
        fs.vault.open("ftp://there")
    with pytest.raises(fs.errors.TraceError):
        fs.vault.open("store", key=tmp_path / "nix")
    with pytest.raises(fs.errors.ParameterError, match="settings"):
        fs.vault.open("store").save("x", redundancy=3)
    with pytest.raises(fs.errors.InputError, match="no vault"):
        fs.vault.open(stores(tmp_path)).list()


@pytest.mark.slow
def test_files_of_ranks_by_processes(tmp_path: Path) -> None:
    table = np.random.default_rng(1).bytes(200_000)
    paths = [tmp_path / f"rank{k}" for k in range(3)]
    for k, path in enumerate(paths):
        path.write_bytes(table + bytes([k]) * 3000)
    made = fs.vault.save_ranks(stores(tmp_path), paths, fanout=2, data=2, parity=1, init=True)
    assert made is not None
    assert made["ranks"] == 3
    assert made["new"] < 260_000
    vault = fs.vault.open(stores(tmp_path))
    assert all(vault.read(made["id"], one.name) == one.read_bytes() for one in paths)
    with pytest.raises(fs.errors.InputError, match="nix"):
        fs.vault.save_ranks(stores(tmp_path), [paths[0], tmp_path / "nix"])


def test_ranks_need_paths_or_a_communicator(tmp_path: Path) -> None:
    with pytest.raises(fs.errors.ParameterError, match="given"):
        fs.vault.save_ranks(stores(tmp_path), str(tmp_path / "one"))


def test_similarity_in_figures(tmp_path: Path) -> None:
    data = np.random.default_rng(1).bytes(100_000)
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(data)
    found = fs.vault.similarity([tmp_path / "a", tmp_path / "b"], chunks=["blocks:4"])
    assert found["suits"] == "well"
    assert found["by_chunks"][0]["share_across"] == 0.5
    with pytest.raises(fs.errors.ParameterError, match="chunks"):
        fs.vault.similarity([tmp_path / "a"], chunks=["4"])
