"""How alike files are, against counting chunks by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.vaults.alike import similarity
from forestall.vaults.chunks import Cutting


def test_blocks_counted_by_hand(tmp_path: Path) -> None:
    """Blocks of 1 KiB: a, b and a again; then in another path b twice and c; and a folder."""
    a, b, c = (np.random.default_rng(k).bytes(1024) for k in range(3))
    (tmp_path / "one").write_bytes(a + b + a)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "x").write_bytes(b + b)
    (tmp_path / "two" / "y").write_bytes(c + a)
    read: list[int] = []
    found = similarity(
        [tmp_path / "one", tmp_path / "two"], [Cutting("blocks", 1024)], tell=read.append
    )
    (one,) = found.by_cutting
    assert (found.paths, found.size) == (2, 7 * 1024)
    assert (one.within, one.across, one.unique) == (2 * 1024, 2 * 1024, 3 * 1024)
    assert one.stored == 3 * 1024  # noise does not shrink
    assert found.ratio == one.stored / found.each
    assert read[-1] == 2 * 7 * 1024


def test_it_says_what_suits(tmp_path: Path) -> None:
    table, chance = np.random.default_rng(1).bytes(300_000), np.random.default_rng(2)
    for k in range(6):
        (tmp_path / f"rank{k}").write_bytes(chance.bytes(2_000 + k) + table)
    found = similarity(sorted(tmp_path.iterdir()))
    assert found.suits == "well"
    assert found.best.cutting.method == "content"  # blocks do not find what has moved
    alone = similarity([tmp_path / "rank0"])
    assert alone.suits == "hardly"


def test_nothing_and_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "none").touch()
    found = similarity([tmp_path / "none"])
    assert (found.size, found.best.stored) == (0, 0)
    with pytest.raises(TraceError):
        similarity([tmp_path / "nix"])
    with pytest.raises(ParameterError):
        similarity([tmp_path / "none", tmp_path / "none"])
