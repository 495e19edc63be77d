"""The command lines of CRIU, what it says of a dump, and why it failed, in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from forestall.vaults.acting.held import ALONE
from forestall.vaults.acting.ways import last_line

DUMP_LOG, RESTORE_LOG, PIDFILE, HOOK = "dump.log", "restore.log", "pid", "hook"
STATS: Final = "stats-dump"
_NOISE: Final = ("RLIMIT_NOFILE", "kdat cache")
_HOOK: Final = """\
#!/bin/sh
# CRIU runs this; once everything stands still it waits until the files are copied
[ "$CRTOOLS_SCRIPT_ACTION" = post-dump ] || exit 0
echo frozen > "$FORESTALL_FROZEN"
read -r word < "$FORESTALL_GO"
[ "$word" = go ]
"""
_COMMON: Final = ("-v2", "--manage-cgroups=ignore", "--file-locks")


def dump(program: str, pid: int, folder: Path, hook: Path, *, last: bool) -> list[str]:
    """Return the command that saves a process and all below it; unless it is the `last` time, they
    go on."""
    words = [program, "dump", "-t", str(pid), "-D", str(folder), "-o", DUMP_LOG, *_COMMON,
             "--action-script", str(hook)]  # fmt: skip
    return words if last else [*words, "--leave-running"]


def restore(program: str, folder: Path, pidfile: Path) -> list[str]:
    """Return the command that brings processes back, as children of whoever runs it."""
    return [program, "restore", "-D", str(folder), "-o", RESTORE_LOG, *_COMMON, "-d",
            "--restore-sibling", "--pidfile", str(pidfile)]  # fmt: skip


def write_hook(path: Path) -> None:
    """Write the script that CRIU runs at each step. Raises OSError."""
    path.write_text(_HOOK, encoding="ascii")
    path.chmod(0o700)


def why_not(program: str) -> str:
    """Return why a program cannot be saved with CRIU here; empty where it can."""
    if shutil.which(program) is None:
        return f"{program} is not installed (Debian: apt-get install criu)"
    for words, what in (
        ([*ALONE, "true"], "processes cannot be given numbers of their own"),
        ([program, "check"], f"{program} check fails"),
    ):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"{what}: {error}"
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            user = "" if os.geteuid() == 0 else "; it needs root"
            return f"{what}: {said[-1] if said else f'code {done.returncode}'}{user}"
    return ""


def failure(log: Path) -> str:
    """Return why CRIU failed, from its log: the first error that is one."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "it left no log"
    for line in lines:
        if "Error (" in line and not any(noise in line for noise in _NOISE):
            return line.partition("): ")[2].strip() or line.strip()
    return last_line(log)


def frozen_time(folder: Path) -> float | None:
    """Return the s for which processes stood still in a dump, from the statistics that CRIU left:
    times to freeze them, and that they were frozen; None where there are none."""
    try:
        raw = (folder / STATS).read_bytes()
        size = int.from_bytes(raw[8:12], "little")
        inner = dict(_fields(raw[12 : 12 + size]))[1]
        assert isinstance(inner, bytes)
        told = dict(_fields(inner))
        return (int(told.get(1, 0)) + int(told[2])) / 1e6
    except (OSError, KeyError, IndexError, ValueError, AssertionError):
        return None


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield numbers and values of the fields of a message (Protocol Buffers): whole numbers, and
    bytes of messages in it."""
    at = 0
    while at < len(raw):
        tag, at = _number(raw, at)
        if tag & 7 == 0:
            value, at = _number(raw, at)
            yield tag >> 3, value
        elif tag & 7 == 2:
            size, at = _number(raw, at)
            yield tag >> 3, raw[at : at + size]
            at += size
        else:
            raise ValueError(f"wire type {tag & 7}")


def _number(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
