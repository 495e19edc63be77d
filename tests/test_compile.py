"""Compiled functions are kept: what one process compiled, others load."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from forestall.core._compile import INTERPRETED
from forestall.core._kept import cache_folder

KERNELS = """
from forestall.core._compile import entry, kernel

@entry
def halved(x):
    return x if x <= 1 else halved(x // 2) + 1

@kernel
def steps(x):
    return 1 if x <= 1 else steps(x // 2) + 1

@entry
def counted(x):
    return steps(x)

@entry
def doubled(x):
    return 2 * steps(x)
"""
CALL = "import kernels_here as k; print(k.halved(9), sum(k.halved.stats.cache_misses.values()))"

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


def begin(folder: Path, code: str = CALL) -> subprocess.Popen[str]:
    source = Path(__file__).parents[1] / "src"
    around = os.environ | {"FORESTALL_KERNEL_CACHE": str(folder / "kept"),
                           "PYTHONPATH": f"{source}:{folder}"}  # fmt: skip
    if not (folder / "kernels_here.py").exists():  # its time counts, with some versions of Numba
        (folder / "kernels_here.py").write_text(KERNELS)
    return subprocess.Popen([sys.executable, "-c", code], env=around, stdout=-1, text=True)


def test_one_of_several_processes_compiles(tmp_path: Path) -> None:
    told = [one.communicate()[0].split() for one in [begin(tmp_path) for _ in range(4)]]
    assert sorted(told) == [["4", "0"]] * 3 + [["4", "1"]]


def test_who_dies_while_compiling_keeps_nobody_waiting(tmp_path: Path) -> None:
    dying = """
import llvmlite.binding, os, signal
llvmlite.binding.parse_assembly = lambda *a: os.kill(os.getpid(), signal.SIGKILL)
"""
    held = begin(tmp_path, dying + CALL)
    assert held.wait() == -signal.SIGKILL
    held.stdout.close()  # type: ignore[union-attr]
    assert begin(tmp_path).communicate()[0].split() == ["4", "1"]


def test_what_only_kernels_call_is_linked_by_who_compiled_it_and_by_who_loads_it(
    tmp_path: Path,
) -> None:
    """It calls itself, and has no machine code of its own."""
    told = [
        begin(
            tmp_path,
            "import kernels_here as k\n"
            + f"print(*[getattr(k, name)(9) for name in {names}], "
            + "sum(k.steps.stats.cache_misses.values()))",
        ).communicate()[0].split()
        for names in (["counted"], ["doubled"], ["doubled", "counted"])
    ]  # fmt: skip
    assert told == [["4", "1"], ["8", "0"], ["8", "4", "0"]]


SPOILS: dict[str, list[Callable[[bytes], bytes]]] = {
    "nbi": [lambda data: data[:-9], lambda data: b""],
    "nbc": [lambda data: data[:-9], lambda data: data[:900] + bytes([data[900] ^ 4]) + data[901:]],
}


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    assert begin(tmp_path).communicate()[0].split() == ["4", "1"]
    for suffix, spoils in SPOILS.items():
        for spoil in spoils:
            (kept,) = (tmp_path / "kept").rglob(f"kernels_here.halved*.{suffix}")
            kept.write_bytes(spoil(kept.read_bytes()))
            assert begin(tmp_path).communicate()[0].split() == ["4", "1"]
    assert begin(tmp_path).communicate()[0].split() == ["4", "0"]


def test_a_full_disk_keeps_nobody_from_compiling(tmp_path: Path) -> None:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
    for _ in range(2):
        assert begin(tmp_path, full + CALL).communicate()[0].split() == ["4", "1"]
    (folder,) = (tmp_path / "kept").iterdir()
    for name, age in (("old", 2e5), ("new", 0.0)):
        place = folder / f"x.nbc.tmp.{name}"
        place.touch()
        os.utime(place, times=(time.time() - age,) * 2)
    assert begin(tmp_path).communicate()[0].split() == ["4", "1"]
    assert [one.name for one in folder.glob("*.tmp.*")] == ["x.nbc.tmp.new"]


def test_only_a_folder_of_ones_own_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESTALL_KERNEL_CACHE", str(tmp_path))
    ask = cache_folder.__wrapped__
    folder = ask()
    assert folder is not None
    folder.chmod(0o777)
    assert ask() == folder
    assert folder.stat().st_mode & 0o777 == 0o755
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert ask() == (None if folder.stat().st_uid else folder)  # root may do all anyway
    if folder.stat().st_uid == 0:
        os.chown(folder, 65_534, 65_534)
        assert ask() is None
