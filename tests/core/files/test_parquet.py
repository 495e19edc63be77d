"""Our Parquet files tell when a bit of them is another one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

from forestall.core.files.parquet import put_parquet, read_parquet, told_by, write_parquet
from forestall.core.model.errors import TraceError
from forestall.logs.ras.read import read_ras

TABLE = pl.DataFrame({"number": range(500), "word": [f"w{k % 7}" for k in range(500)]})


def test_no_flipped_bit_is_silent(tmp_path: Path) -> None:
    path, rng = tmp_path / "table.parquet", Random(1)
    write_parquet(TABLE, path, {"kind": "test"})
    assert read_parquet(path).equals(TABLE)
    assert told_by(path) == {"kind": "test"}
    raw, refused = path.read_bytes(), 0
    for k in range(300):
        spoilt = bytearray(raw)
        spoilt[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        path = tmp_path / f"{k}.parquet"
        path.write_bytes(spoilt)
        try:
            read = read_parquet(path)
        except TraceError:
            refused += 1
        else:
            assert read.equals(TABLE)  # a bit of the checksum's own name
    assert refused > 280


def test_files_of_others_are_read_without_a_checksum(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "other.parquet")
    assert read_parquet(tmp_path / "other.parquet").equals(TABLE)
    assert told_by(tmp_path / "other.parquet") == {}


def test_event_logs_are_checked_before_they_are_scanned(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    rows = {"time": ["1"] * 9, "place": ["n"] * 9, "severity": ["INFO"] * 9, "kind": ["k"] * 9}
    put_parquet(pl.DataFrame(rows), path)
    raw = bytearray(path.read_bytes())
    raw[20] ^= 1
    path.write_bytes(raw)
    with pytest.raises(TraceError, match="checksum"):
        read_ras(path)
