"""Telling others of each change: a line of JSON to a command, a file or a socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections import deque
from contextlib import suppress
from typing import Any, Final

from forestall.sharing.guest.spawn import SHELL

PATIENCE: Final = 10.0
"""s that a command gets for one change."""
KEPT: Final = 100
"""Changes that wait for a slow command; older ones are dropped."""


class Teller:
    """Tells of changes one after the other, without keeping anyone waiting.

    Parameters
    ----------
    target : ``file:PATH`` (a line is added), ``unix:PATH`` (a stream or datagram socket that
        listens there), or a command for the shell, which finds the line on its standard input and
        the state in FORESTALL_GUEST_STATE; empty: nobody is told
    cwd : where a command works; the root folder where that is gone
    patience : s that a command gets for one change, and all that wait get at the end
    """

    def __init__(self, target: str, cwd: str, patience: float = PATIENCE) -> None:
        self._target, self._cwd, self._patience = target, cwd, patience
        self._waiting: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self._running: subprocess.Popen[bytes] | None = None
        self._late = 0.0

    def tell(self, change: dict[str, Any]) -> str:
        """Tell of a change; returns what went wrong with this or one before, in one line."""
        if not self._target:
            return ""
        line = json.dumps(change, allow_nan=False) + "\n"
        try:
            if self._target.startswith("file:"):
                _add(self._target[5:], line.encode())
                return ""
            if self._target.startswith("unix:"):
                _send(self._target[5:], line.encode())
                return ""
        except OSError as error:
            return f"tell {self._target}: {error.strerror or error}"
        self._waiting.append(change)
        return self.go_on()

    def go_on(self) -> str:
        """Start the command for the next change where the last is done with; returns what went
        wrong."""
        trouble = ""
        if self._running is not None:
            code = self._running.poll()
            if code is None and time.monotonic() < self._late:
                return ""
            trouble = self._done(code)
        if self._waiting:
            change = self._waiting.popleft()
            try:
                self._running = self._started(change)
            except OSError as error:
                return f"tell: the command cannot be started: {error.strerror or error}"
            self._late = time.monotonic() + self._patience
            pipe = self._running.stdin
            assert pipe is not None
            with suppress(OSError):  # a line is shorter than what a pipe holds: this does not wait
                pipe.write(json.dumps(change, allow_nan=False).encode() + b"\n")
            with suppress(OSError):
                pipe.close()
        return trouble

    def _started(self, change: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Start the command, in a session of its own so that all of it can be ended."""
        return subprocess.Popen(
            [SHELL, "-c", self._target],
            cwd=self._cwd if os.access(self._cwd, os.X_OK) else "/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"FORESTALL_GUEST_STATE": str(change["state"])},
            start_new_session=True,
        )

    def finish(self) -> str:
        """Wait until everything was told, no longer than one change may take; returns what went
        wrong last."""
        trouble, late = "", time.monotonic() + self._patience
        self._late = min(self._late, late)
        while self._waiting or self._running is not None:
            if time.monotonic() >= late:
                left = len(self._waiting)
                self._waiting.clear()
                if self._running is not None:
                    trouble = self._done(self._running.poll()) or trouble
                if left:
                    trouble = f"tell: too slow: {left} of the last changes were not reported"
                break
            trouble = self.go_on() or trouble
            time.sleep(0.01)
        return trouble

    def _done(self, code: int | None) -> str:
        running, self._running = self._running, None
        assert running is not None
        if code is None:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)  # not waited for yet: the number is its own
            running.wait()
            return f"tell: the command took longer than {self._patience:g} s, and was ended"
        return "" if code == 0 else f"tell: the command ended with code {code}"


def _add(path: str, line: bytes) -> None:
    """Add a line to a file. A pipe that nobody reads is an error, not something to wait for."""
    how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, how, 0o666)
    try:
        while line:
            line = line[os.write(handle, line) :]
    finally:
        os.close(handle)


def _send(path: str, line: bytes) -> None:
    """Send a line to a socket, of whichever kind it is."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_UNIX, kind) as made:
            made.settimeout(1.0)
            try:
                made.connect(path)
            except OSError as error:
                if error.errno == 91 and kind == socket.SOCK_STREAM:  # EPROTOTYPE: the other kind
                    continue
                raise
            made.sendall(line)
            return
