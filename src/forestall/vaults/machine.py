"""The machine that this process is on, as leases need it: which of its processes live, and the time
that passes, whatever its clock is set to."""

from __future__ import annotations

import os
import time
from typing import Final

MOST_PID: Final = 2**31 - 1


def process_space() -> str:
    """Return in which boot of a machine, and in which namespace of processes, numbers of processes
    mean what they mean here; empty where nobody can tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def is_gone(place: str, pid: int) -> bool:
    """Whether a process was one of this machine's, and is no more."""
    if not place or place != process_space():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def since_boot() -> float:
    """Return s since this machine was started, with those in which it was suspended."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
