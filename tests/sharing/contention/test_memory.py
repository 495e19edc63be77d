"""The experiment on memory, in a real control group."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.sharing.contention import memory
from forestall.sharing.contention.curves import memory_curves
from forestall.sharing.contention.memory import MB, disk_folder, measure_memory, takes

MOUNTS = """/dev/vda / ext4 rw 0 0
tmpfs /tmp tmpfs rw 0 0
overlay /var overlay rw 0 0
"""


def test_files_lie_on_a_disk() -> None:
    assert disk_folder(MOUNTS, [Path("/tmp")]) is None
    assert disk_folder(MOUNTS, [Path("/tmp"), Path("/usr")]) == Path("/usr")
    assert disk_folder(MOUNTS, [Path("/nowhere/at/all")]) is None
    assert disk_folder("", [Path("/usr")]) is None


def test_without_a_disk_or_a_group_the_part_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "disk_folder", lambda: None)
    found = measure_memory(cpus=[0], repeats=1, left=(4,))
    assert found.points == ()
    assert found.why == "no folder for temporary files is on a disk"


def test_the_time_told_grows_with_the_points() -> None:
    assert takes(0.4, 1, (0,)) < takes(0.4, 2, (0,)) < takes(0.4, 2, (0, 4))


def test_thrashing_persists_at_the_lowest_priority() -> None:
    steps: list[tuple[int, int]] = []
    found = measure_memory(
        cpus=[0], seconds=0.1, repeats=1, left=(16, -12),
        progress=lambda done, total: steps.append((done, total)),
    )  # fmt: skip
    if found.why:
        pytest.skip(f"the experiment on memory: {found.why}")
    assert steps[-1] == (7, 7)
    assert [p.guest for p in found.points].count("none") == 3
    for curve in memory_curves(found.points):
        short, enough = curve.reduction[:, 0][::-1]
        # A share of 12 in 64 of the pages is missing at any time.
        assert curve.faults[1, 0] > 0.05 > curve.faults[0, 0]
        assert short > 0.3
        assert enough < short
        assert curve.free[0, 0] == pytest.approx(16 * MB, abs=2 * MB)
        assert curve.free[1, 0] == pytest.approx(-12 * MB, abs=2 * MB)
        assert (curve.size + memory.OWNER <= memory.LIMIT + 12 * MB).all()
