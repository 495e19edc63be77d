"""Runs the tests of single kernels, which need them uncompiled, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(
    p
    for room in ("decide", "predict", "simulate")
    for p in (TESTS / room).rglob("test_*_kernels.py")
)


@pytest.mark.slow
def test_kernels_one_by_one() -> None:
    assert len(FILES) >= 7, FILES
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, FILES)]
    done = subprocess.run(
        command,
        cwd=TESTS.parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
