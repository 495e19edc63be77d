"""A coordinator in a process of its own that is killed with SIGKILL at its n-th lasting write."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

from forestall.app.hosts.machines.hosts_fleet import HostsFleet

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["forestall.app.hosts.machines.hosts_fleet", __name__])


def coordinate(folder: str, level: str, writes: int, steps: int = 1) -> None:
    """Look so many times; each flush to the disk is a write, and the one after `writes` kills."""
    left, plain = [writes], os.fsync

    def mortal(handle: int) -> None:
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        plain(handle)

    os.fsync = mortal  # type: ignore[assignment]
    fleet = HostsFleet.open(Path(folder))
    assert fleet is not None
    coordinator = fleet.coordinator(level)
    for _ in range(steps):
        coordinator.step()
    os._exit(0)


def looks(folder: Path, level: str, *, writes: int = -1, steps: int = 1) -> bool:
    """Coordinate a level in a new process; return whether it was killed."""
    process = _CONTEXT.Process(target=coordinate, args=(str(folder), level, writes, steps))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError("the coordinator hangs")
    assert process.exitcode in {0, -signal.SIGKILL}, process.exitcode
    return process.exitcode != 0
