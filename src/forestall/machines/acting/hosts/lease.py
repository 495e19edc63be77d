"""Who a coordinator is: a position (node, cluster, system) that one process holds at a time.

A lease is a file with its holder, until when it counts, and a token that grows with every holder.
A process that was stopped for longer than its lease finds at its next step that another has taken
over; what it was about to do then is held up by the records' revisions, by the machines' locks, and
by the hosts themselves (`MachineHosts.bar`). Source: Gray and Cheriton, SOSP 1989.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import LARGEST, record_of
from forestall.core.model.errors import InputError, ParameterError, TraceError, of_system

_SOON: Final = 0.2
"""s that a process needs to write its lease when it has the lock."""


class LeaseTakenError(InputError):
    """Another process holds a position, or took it over."""


@dataclass(frozen=True)
class Lease:
    """Who holds a position, with which token, and until when, s since 1970."""

    holder: str
    token: int
    until: float

    def counts(self, now: float) -> bool:
        """Whether the holder is taken to be at work."""
        return now < self.until


class Position:
    """A position among coordinators, by the file of its lease.

    Parameters
    ----------
    folder : of all leases
    name : ``system``, ``cluster:NAME`` or ``node:NAME``
    life : s for which a lease counts
    """

    def __init__(self, folder: Path, name: str, life: float) -> None:
        self.name, self._life = name, life
        self._path = folder / f"{name.replace(':', '.')}.json"
        self._file: IO[str] | None = None
        self._me = f"{socket.gethostname()} {os.getpid()} {id(self):x} {_boot()}"
        self.token = 0
        self._over = threading.Event()

    def held(self) -> Lease | None:
        """Return the lease as it is written down; None where there is none."""
        try:
            return record_of(Lease, json_of(self._path.read_bytes()), least=-LARGEST)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, ParameterError):
            # Unreadable: it counts as held, until it can be renewed or is older than its life.
            return self._unreadable()

    def _unreadable(self) -> Lease:
        try:
            return Lease("", 0, self._path.stat().st_mtime + self._life)
        except OSError:
            return Lease("", 0, 0.0)

    def take(self, now: float) -> int:
        """Hold the position, and return the token. Raises LeaseTakenError where another does.

        A holder on this machine that died has let go of its lock, and is not waited for.
        """
        with of_system(self._path, "cannot be written"):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.with_suffix(".lock").open("a")
        found = self.held()
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            here = found is None or found.holder.endswith(_boot())
        except BlockingIOError:
            time.sleep(_SOON)  # its holder may be about to write its lease
            found, here = self.held(), False
        if found is not None and found.counts(now) and not here:
            file.close()
            raise LeaseTakenError(f"{self.name}: another coordinator is running ({_told(found)})")
        self._file = file
        self.token = 1 + (0 if found is None else found.token)
        self._write(now)
        return self.token

    def renew(self, now: float) -> None:
        """Hold the position for longer. Raises LeaseTakenError where another took it over."""
        found = self.held()
        if found is not None and found.holder not in {self._me, ""}:
            raise LeaseTakenError(f"{self.name}: {_told(found)} has taken over")
        self._write(now)

    def beat(self, clock: Callable[[], float]) -> None:
        """Renew the lease from beside until it is given up: a look may take longer than it counts.

        That another took over is told by `renew`.
        """

        def beat() -> None:
            while not self._over.wait(self._life / 3):
                try:
                    self.renew(clock())
                except InputError:
                    continue

        threading.Thread(target=beat, name=f"lease of {self.name}", daemon=True).start()

    def give_up(self) -> None:
        """Let go of the position."""
        self._over.set()
        found = self.held()
        if found is not None and found.holder == self._me:
            self._write(0.0 - self._life)
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, now: float) -> None:
        value = {"holder": self._me, "token": self.token, "until": now + self._life}
        try:
            with atomic_path(self._path, sync=False) as beside:
                beside.write_text(json.dumps(value) + "\n", encoding="utf-8")
        except OSError as error:
            raise TraceError(self._path, f"cannot be written: {error.strerror}") from None


def _boot() -> str:
    """Return in which boot of which machine this process runs."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def _told(lease: Lease) -> str:
    """Return who holds a lease, in words."""
    host, process, *_ = [*lease.holder.split(), "", ""]
    return f"process {process} on {host}" if process else "unknown process"
