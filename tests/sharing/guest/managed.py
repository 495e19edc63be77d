"""A manager of its own process whose host is a file: `load available` in it is what is seen.

python managed.py FOLDER NAME HOST SETTINGS CMD ARGS...; SETTINGS are JSON. Beside it, what tests of
guests share.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from forestall.core.processes.files import GuestFiles, GuestState, StayRecord
from forestall.core.processes.processes import Process, look, marked
from forestall.sharing.api.guest.guest import run_guest
from forestall.sharing.guest.policy import Sight
from forestall.sharing.guest.settings import GuestSettings

PYTHON = (sys.executable, "-I", "-S")
QUICK = {
    "every": 0.05, "hold": 0.4, "calm": 0.0, "grace": 30.0, "patience": 1.0,
    "checkpoint_timeout": 5.0,
}  # fmt: skip
COUNTER = """
import os, signal, sys, time
last, pause = int(sys.argv[1]), float(sys.argv[2])
n = 0
if os.environ.get("FORESTALL_GUEST_CHECKPOINT"):
    n = int(open("saved").read())
out = open("counted", "r+" if n else "w+")
for _ in range(n):
    out.readline()
out.seek(out.tell()); out.truncate()
def save(*_):
    out.flush()
    with open("saving", "w") as file:
        file.write(str(n))
    os.replace("saving", "saved")
    open("fresh", "w").close()
signal.signal(signal.SIGUSR1, save)
while n < last:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    n += 1
    out.write(f"{n}\\n"); out.flush()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    time.sleep(pause)
"""
"""Counts aloud into a file; on SIGUSR1 it writes down how far it is, and goes on from there."""
SAVE = "rm -f fresh; kill -USR1 $FORESTALL_GUEST_PID; while [ ! -e fresh ]; do sleep 0.01; done"


class HostFile:
    """A host that is as a file says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = (0.0, 0.9)

    def set(self, load: float, available: float = 0.9) -> None:
        """Say how it is from now on."""
        beside = self.path.with_suffix(".new")
        beside.write_text(f"{load} {available}")
        beside.replace(self.path)

    def look(self) -> Sight:
        """Return what a manager sees."""
        with suppress(OSError, ValueError):
            load, available = self.path.read_text().split()
            self._seen = (float(load), float(available))
        return Sight(time.clock_gettime(time.CLOCK_BOOTTIME), self._seen[0], 0.0, self._seen[1])


class Managed:
    """A guest under a manager in a process of its own."""

    def __init__(self, folder: Path, name: str = "g", **settings: Any) -> None:
        self.folder, self.name = folder, name
        self.files = GuestFiles(folder / "state", name)
        self.host = HostFile(folder / "host")
        self.settings = QUICK | settings
        self.manager: subprocess.Popen[str] | None = None
        self.host.set(0.1)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a manager for the guest."""
        words = [str(self.files.folder), self.name, str(self.host.path), json.dumps(self.settings)]
        self.manager = subprocess.Popen(
            [sys.executable, __file__, *words, *command],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        return self.manager

    def end(self) -> tuple[int, str]:
        """Wait for the manager's end; returns its code and what it said."""
        assert self.manager is not None
        out = self.manager.communicate(timeout=20)[0]
        return self.manager.returncode, out

    def record(self) -> StayRecord:
        """Return the guest's record."""
        record = self.files.read()
        assert record is not None
        return record

    def state(self) -> GuestState | None:
        """Return what is with the guest."""
        record = self.files.read()
        return None if record is None else record.state

    def wait_state(self, *states: GuestState) -> StayRecord:
        """Wait until the guest is in one of these states."""
        wait_for(lambda: self.state() in states, lambda: f"{self.state()}, not {states}")
        return self.record()

    def processes(self) -> list[Process]:
        """Return the processes that bear the guest's mark."""
        record = self.files.read()
        return [] if record is None else marked(record.id)

    def said(self) -> list[tuple[str, str]]:
        """Return the log: states and why."""
        return [(one["state"], one["why"]) for one in self.files.entries()]

    def clear(self) -> None:
        """End whatever is left."""
        if self.manager is not None and self.manager.poll() is None:
            self.manager.kill()
            self.manager.communicate()
        record = self.files.read()
        if record is not None and record.kept():
            with suppress(ProcessLookupError):
                os.kill(record.keeper, signal.SIGKILL)
        for one in self.processes():
            one.send(signal.SIGKILL)


@contextmanager
def managed(folder: Path, name: str = "g", **settings: Any) -> Iterator[Managed]:
    """Give a guest to be started; nothing of it is left afterwards."""
    one = Managed(folder, name, **settings)
    try:
        yield one
    finally:
        one.clear()


def counter(folder: Path, last: int, pause: float = 0.004) -> tuple[str, ...]:
    """Return the command of a guest that counts to `last`."""
    path = folder / "counter.py"
    path.write_text(COUNTER)
    return (*PYTHON, str(path), str(last), str(pause))


def counted(folder: Path) -> list[int]:
    """Return what it counted."""
    try:
        return [int(line) for line in (folder / "counted").read_text().split("\n")[:-1]]
    except FileNotFoundError:
        return []


def stands(one: Managed) -> bool:
    """Return whether the guest stands still: a signal holds its first process, or it counts not."""
    process = look(one.record().pid)
    if process is not None and process.stopped:
        return True
    before = counted(one.folder)
    time.sleep(0.05)
    return counted(one.folder) == before


def wait_for(
    what: Callable[[], object], why: Callable[[], object] = lambda: "", seconds: float = 60.0
) -> None:
    """Wait until something is so."""
    late = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < late, why()
        time.sleep(0.01)


def main() -> int:
    """Run a guest as the command line says."""
    folder, name, host, settings, *command = sys.argv[1:]
    return run_guest(
        command,
        GuestSettings(**json.loads(settings)),
        folder=Path(folder),
        name=name,
        eyes=HostFile(Path(host)),
        say=lambda line: print(line, flush=True),  # noqa: T201 - tests read it
    )


if __name__ == "__main__":
    sys.exit(main())
