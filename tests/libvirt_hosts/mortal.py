"""Coordinators in processes of their own, killed with SIGKILL at their n-th lasting write.

One process loads all that is needed, and forks for each: `python -m libvirt_hosts.mortal`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forestall.machines.acting import ledger
from forestall.machines.acting.hosts import records
from forestall.machines.fleet.hosts_fleet import HostsFleet
from forestall.machines.rules.sizes import Candidate, NodeChoice, Size, choose_sized


class Mortals:
    """Starts coordinators that may be killed."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "libvirt_hosts.mortal"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def looks(self, folder: Path, level: str, *, writes: int = -1, steps: int = 1) -> bool:
        """Coordinate a level for so many looks; return whether the coordinator was killed, at the
        write after so many."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps([str(folder), level, writes, steps]) + "\n")
        self._server.stdin.flush()
        code = int(self._server.stdout.readline())
        assert code in {0, -signal.SIGKILL}, code
        return code != 0

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)
        assert self._server.stdout is not None
        self._server.stdout.close()


def coordinate(folder: str, level: str, writes: int, steps: int) -> None:
    """Look so many times; the write after `writes` kills, before it is made."""
    left = [writes]

    def before(write: Callable[..., Any]) -> Callable[..., Any]:
        def mortal(*words: Any, **more: Any) -> Any:
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1
            return write(*words, **more)

        return mortal

    records._write = before(records._write)
    ledger.append_line = before(ledger.append_line)
    fleet = HostsFleet.open(Path(folder))
    assert fleet is not None
    coordinator = fleet.coordinator(level)
    for _ in range(steps):
        coordinator.step()


def serve() -> None:
    one = Candidate("a", Size(1, 1))
    choose_sized([one], Size(1, 1), seconds=1, deadline=2, now=0, choice=NodeChoice())
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            code = 1
            try:
                coordinate(*json.loads(line))
                code = 0
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
