"""A real PostgreSQL in a folder of its own, on a free port of 127.0.0.1, for one test run.

As root it runs as its own user, as it demands. It dies with the test run, however that ends.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import pytest

PACKAGES = Path(__file__).with_name("debian-packages.txt").read_text().split()
_PLACES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_SETTINGS = (
    "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=20",
    "shared_buffers=16MB", "fsync=off",
)  # fmt: skip


class PostgresqlServer:
    """A server; `stop` kills it without a word, `start` lets it come back with what it had."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._data, self._programs = folder / "data", programs
        owner = folder.stat()
        self._user = ["setpriv", f"--reuid={owner.st_uid}", f"--regid={owner.st_gid}"]
        self._user = [] if os.getuid() else [*self._user, "--clear-groups"]
        self._running: subprocess.Popen[bytes] | None = None
        self._databases = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        call = [programs / "initdb", "-D", self._data, "-A", "trust", "-U", "forestall", "-N"]
        subprocess.run([*self._user, *call], check=True, capture_output=True, cwd=folder)

    @classmethod
    @contextmanager
    def started_or_skipped(cls) -> Iterator[Self]:
        """Yield a server that runs; skips the test where there is none to be had."""
        psycopg = pytest.importorskip("psycopg")
        if not _PLACES or (not os.getuid() and shutil.which("setpriv") is None):
            pytest.skip(f"no PostgreSQL here (Debian: {', '.join(PACKAGES)})")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if not os.getuid():
                account = pwd.getpwnam("postgres")
                os.chown(folder, account.pw_uid, account.pw_gid)
            server = cls(folder, _PLACES[0])
            try:
                server.start()
                yield server
            finally:
                server.stop()
        del psycopg

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [f"-c{one}" for one in _SETTINGS]
        # setpriv resets the signal where it changes the user, so it comes last
        call = [*self._user, "setpriv", "--pdeathsig", "KILL", str(self._programs / "postgres")]
        self._running = subprocess.Popen(
            [*call, "-D", str(self._data), "-p", str(self.port), *settings],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self._data,
        )  # fmt: skip
        until = time.monotonic() + 60
        ready = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            assert time.monotonic() < until, "PostgreSQL did not answer within 60 s"
            assert self._running.poll() is None, "PostgreSQL ended"
            time.sleep(0.05)

    def stop(self) -> None:
        """Have it end at once: connections are cut, what was not committed is lost."""
        if self._running is not None:
            self._running.send_signal(signal.SIGQUIT)
            self._running.wait(30)
            self._running = None

    @property
    def is_away(self) -> bool:
        """Whether it was stopped."""
        return self._running is None

    def new_database(self) -> str:
        """Return the URL of a new empty database."""
        self._databases += 1
        name = f"ledger{self._databases}"
        call = [self._programs / "createdb", "-h", "127.0.0.1", "-p", str(self.port)]
        subprocess.run([*call, "-U", "forestall", name], check=True, capture_output=True)
        return f"postgresql://forestall@127.0.0.1:{self.port}/{name}"
