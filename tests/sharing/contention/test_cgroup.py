"""Where memory control groups can be made, of both versions, and real ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forestall.sharing.contention.cgroup import (
    CgroupPlaces,
    MemoryGroup,
    core_group,
    here,
    memory_group,
    places,
)

V1 = """tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0
"""
V2 = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"


def test_places_of_version_1() -> None:
    own = "8:pids:/\n4:memory:/jobs/7\n0::/\n"
    root = Path("/sys/fs/cgroup/memory")
    assert places(V1, own) == CgroupPlaces(1, (root / "jobs/7", root / "jobs", root))


def test_places_of_version_2() -> None:
    root = Path("/sys/fs/cgroup")
    found = places(V2, "0::/user.slice/a.scope\n")
    assert found == CgroupPlaces(2, (root / "user.slice/a.scope", root / "user.slice", root))
    assert places(V2, "0::/../../x\n") == CgroupPlaces(2, (root / "x", root))


def test_a_host_without_such_groups() -> None:
    assert places("proc /proc proc rw 0 0\n", "0::/\n") is None
    assert places(V2, "") is None


def fake(folder: Path, controllers: str) -> CgroupPlaces:
    (folder / "cgroup.subtree_control").write_text(controllers)
    return CgroupPlaces(2, (folder,))


def test_a_group_of_version_2_has_a_limit_and_no_swap(tmp_path: Path) -> None:
    where = fake(tmp_path, "cpu memory pids\n")
    old, used = tmp_path / "forestall-memory-99999999", tmp_path / "forestall-memory-1"
    old.mkdir()
    used.mkdir()  # whose maker lives
    with memory_group(4096, where) as group:
        assert isinstance(group, MemoryGroup)
        assert not old.exists()
        assert used.exists()
        used.rmdir()
        assert group.folder == tmp_path / f"forestall-memory-{os.getpid()}"
        assert (group.folder / "memory.max").read_text() == "4096"
        (group.folder / "memory.current").write_text("3000\n")
        (group.folder / "memory.stat").write_text("anon 900\nfile 2000\n")
        assert group.other == 1000
        for file in group.folder.iterdir():  # a real one's files go with it
            file.unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["cgroup.subtree_control"]


def test_why_there_is_none(tmp_path: Path) -> None:
    with memory_group(4096, fake(tmp_path, "cpu pids\n")) as why:
        assert why == (
            "no memory control group can be made: none of its groups may be written to without "
            "more rights"
        )
    with memory_group(4096, CgroupPlaces(1, (tmp_path / "missing",))) as why:
        assert isinstance(why, str)


def test_a_real_group_goes_with_the_block() -> None:
    with memory_group(64 * 2**20) as group:
        if isinstance(group, str):
            pytest.skip(f"the real group: {group}")
        assert group.folder.is_dir()
        assert group.entrance.exists()
        assert group.other >= 0
    assert not group.folder.exists()
    assert here() is not None


def test_a_group_that_gets_the_cores_first(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    where = fake(own, "memory\n")
    fake(tmp_path, "cpu\n")
    with core_group(CgroupPlaces(2, (*where.folders, tmp_path))) as entrance:
        assert entrance == tmp_path / f"forestall-cpu-{os.getpid()}" / "cgroup.procs"
        assert (entrance.parent / "cpu.weight").read_text() == "10000"
        for file in entrance.parent.iterdir():
            file.unlink()
    assert not entrance.parent.exists()
    with core_group(CgroupPlaces(2, where.folders)) as why:
        assert str(why).startswith("no cpu control group can be made")
    own_group = "2:cpu:/jobs\n4:memory:/x\n"
    root = Path("/sys/fs/cgroup/cpu")
    assert places(V1, own_group, "cpu") == CgroupPlaces(1, (root / "jobs", root))


def test_a_real_group_for_cores_goes_with_the_block() -> None:
    with core_group() as entrance:
        if isinstance(entrance, str):
            pytest.skip(f"the real group: {entrance}")
        assert entrance.exists()
    assert not entrance.parent.exists()
