"""`forestall checkpoint similarity`, and layouts on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from core.commands.calls import call


def ranks(folder: Path, count: int = 3) -> list[Path]:
    table = np.random.default_rng(1).bytes(150_000)
    paths = [folder / f"rank{k}" for k in range(count)]
    for k, path in enumerate(paths):
        path.write_bytes(table + np.random.default_rng(k + 2).bytes(5_000))
    return paths


def test_the_finding_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = call(capsys, "checkpoint", "similarity", *ranks(tmp_path))
    assert done.code == 0
    assert done.out.startswith("Sharing chunks suits 3 paths of 465 kB well: with ")
    assert [line.split()[0] for line in done.out.splitlines()[-5:]] == [
        "content:4", "content:16", "content:64", "content:256", "blocks:4",
    ]  # fmt: skip


def test_json_and_one_way_to_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("checkpoint", "similarity", *ranks(tmp_path), "--chunks", "content:4", "--json")
    told = json.loads(call(capsys, *words).out)
    (one,) = told["by_chunks"]
    assert one["within"] + one["across"] + one["unique"] == told["bytes"] == 465_000
    assert told["suits"] == "well"
    assert one["share_across"] > 0.6


def test_nothing_and_what_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "none").touch()
    done = call(capsys, "checkpoint", "similarity", tmp_path / "none")
    assert (done.code, done.out) == (0, "1 path, and nothing in them.\n")
    done = call(capsys, "checkpoint", "similarity", tmp_path / "nix")
    assert done.code == 2
    assert "nix" in done.err


def test_copies_are_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = [word for k in range(3) for word in ("--store", tmp_path / f"s{k}")]
    (path,) = ranks(tmp_path, 1)
    done = call(capsys, "checkpoint", "save", path, *stores, "--layout", "ring:1", "--init")
    assert "3 copies: it survives the loss of any 2 of 3 hosts" in " ".join(done.out.split())
    done = call(capsys, "checkpoint", "save", path, *stores, "--layout", "ring:4")
    assert done.code == 2
    assert "layout" in done.err
