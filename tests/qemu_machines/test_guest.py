"""The harness itself: it says why it cannot, and leaves nothing behind."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from qemu_machines.guest import (
    PACKAGES,
    counted,
    images,
    nothing_left_in,
    processes_in,
    unpacked,
    uptimes,
    why_not,
)


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = why_not.__wrapped__()
    assert said.startswith("no real QEMU: qemu-system-x86_64, busybox, cpio, lz4 not found")
    assert all(package in said for package in PACKAGES)


def test_an_image_that_is_no_kernel() -> None:
    with pytest.raises(RuntimeError, match="lz4"):
        unpacked(bytes(4096))


def test_what_was_counted(tmp_path: Path) -> None:
    console = tmp_path / "console.log"
    assert counted(console) == []
    console.write_bytes(b"Booting\r\nCOUNT 0 up=1.50\r\nCOUNT 1 up=1.6\r\nCOUNT 2 up=1")
    assert counted(console) == [0, 1]  # the last line is not whole
    assert uptimes(console) == [1.5, 1.6]
    after = tmp_path / "after.log"
    after.write_bytes(b".7\r\nCOUNT 3 up=1.8\r\n")
    assert counted(console, after) == [0, 1, 2, 3]  # a move fell into a line


def test_nothing_is_left(tmp_path: Path) -> None:
    with nothing_left_in(tmp_path):
        process = subprocess.Popen(("sleep", "60"), cwd=tmp_path)
        assert processes_in(tmp_path, "sleep") == [process.pid]
        assert processes_in(tmp_path) == []
    assert process.wait() == -9


def test_a_kernel_that_boots_without_a_loader() -> None:
    if reason := why_not():
        pytest.skip(reason)
    kernel, initrd = images()
    assert kernel.read_bytes()[:4] == b"\x7fELF"
    assert initrd.read_bytes()[:2] == b"\x1f\x8b"
