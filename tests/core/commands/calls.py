"""Calling the command line in this process, and small logs for it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from forestall.runs.commands.entry import main


class Called(NamedTuple):
    """What a call gave."""

    code: int
    out: str
    err: str


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Called:
    """Run one command and return what it gave."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    return Called(code, *capsys.readouterr())


def job_log(path: Path, count: int = 60, seed: int = 1) -> Path:
    """Write a job table of a small machine."""
    rng = random.Random(seed)
    lines, submit = ["job,submit,size,runtime,estimate"], 0
    for job in range(1, count + 1):
        submit += rng.randrange(3000)
        runtime = rng.randrange(60, 20_000)
        lines.append(f"{job},{submit},{rng.randrange(1, 9)},{runtime},{2 * runtime}")
    path.write_text("\n".join(lines) + "\n")
    return path


def failure_log(path: Path, count: int = 30, seed: int = 2, span: int = 200_000) -> Path:
    """Write a failure log of 16 nodes."""
    rng = random.Random(seed)
    rows = sorted((rng.randrange(span), rng.randrange(16)) for _ in range(count))
    path.write_text("time,node\n" + "".join(f"{time},{node}\n" for time, node in rows))
    return path
