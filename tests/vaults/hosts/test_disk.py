"""What is sampled of a storage host."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from forestall.vaults.hosts import disk
from forestall.vaults.hosts.disk import DiskWatch, StorageEye, StorageSample, busy_ms


def test_utilisation_is_of_the_last_minute(tmp_path: Path) -> None:
    now, busy = [0.0], [0.0]
    watch = DiskWatch(tmp_path, lambda: now[0], lambda _: busy[0])
    assert math.isnan(watch.utilisation())
    for _ in range(60):  # a minute in which it is half busy
        now[0] += 1.0
        busy[0] += 500.0
        assert watch.utilisation() == pytest.approx(0.5)
    for second in range(60):  # and one in which it is idle
        now[0] += 1.0
        share = watch.utilisation()
        assert share <= 0.5
        assert share == pytest.approx(0.5 * (59 - second) / 60, abs=0.03)
    busy[0] = math.nan
    assert math.isnan(watch.utilisation())


def test_a_disk_of_this_machine(tmp_path: Path) -> None:
    told = busy_ms(tmp_path)
    assert math.isnan(told) or told >= 0
    assert math.isnan(busy_ms(tmp_path / "nothing"))


def test_an_eye_on_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, busy, wall = [10.0], [0.0], [1000.0]
    monkeypatch.setattr(disk, "busy_ms", lambda _: busy[0])
    eye = StorageEye(tmp_path, lambda: now[0], lambda: wall[0])
    now[0], busy[0] = 16.0, 1500.0
    first = eye()
    assert first.disk == pytest.approx(0.25)
    assert math.isnan(first.clients)
    told = {"at": 990.0, "clients": 3, "limit": 8, "bytes": 4096}
    (tmp_path / "state.json").write_text(json.dumps(told))
    now[0] = 22.0
    assert eye() == StorageSample(0.0, 3.0, 4096.0)
    wall[0] += 100  # what it said is old
    assert math.isnan(eye().clients)
    for text in ("{", "[]", '{"at": null}', "[" * 10**5):
        (tmp_path / "state.json").write_text(text)
        assert math.isnan(eye().stored)
