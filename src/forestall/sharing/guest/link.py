"""Messages between a manager and a keeper: objects of JSON, a line each, over a socket.

The socket lies in the guest's folder, which only its user may enter. Its end tells either that the
other is gone, whatever became of it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from forestall.core.files.documents import json_of
from forestall.core.processes.files import SOCKET

Message = dict[str, Any]
_CHUNK: Final = 65_536
_PATIENCE: Final = 5.0


class Link:
    """One end of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._socket.settimeout(_PATIENCE)
        self._rest = b""
        self.broken = False

    def fileno(self) -> int:
        """Return the number of its file, to be waited on."""
        return self._socket.fileno()

    def send(self, **message: Any) -> None:
        """Send a message; where the other end is gone the link is broken, and that is all."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.broken = True

    def receive(self, seconds: float = 0.0) -> list[Message]:
        """Return the messages that came, after at most so many s of waiting for the first.

        Those that the other end sent before it left are among them, even where something could not
        be sent to it any more.
        """
        found: list[Message] = []
        while self._socket.fileno() >= 0 and self._ready(0.0 if found else seconds):
            try:
                chunk = self._socket.recv(_CHUNK)
            except OSError:
                chunk = b""
            if not chunk:
                self.broken = True
                break
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            found += [json_of(line) for line in lines]
        return found

    def _ready(self, seconds: float) -> bool:
        return bool(select.select([self._socket], [], [], max(0.0, seconds))[0])

    def close(self) -> None:
        """Leave."""
        self.broken = True
        self._socket.close()


def listen(place: Path) -> socket.socket:
    """Return a socket in a folder to which others can connect. Raises OSError."""
    with _short(place) as path:
        with suppress(FileNotFoundError):
            os.unlink(path)
        made = socket.socket(socket.AF_UNIX)
        made.bind(path)
    made.listen(4)
    return made


def connect(place: Path, patience: float) -> Link | None:
    """Return a link to the keeper of a guest; None where none answers within so many s."""
    late = time.monotonic() + patience
    while True:
        made = socket.socket(socket.AF_UNIX)
        try:
            with _short(place) as path:
                made.connect(path)
            return Link(made)
        except OSError:
            made.close()
        if time.monotonic() > late:
            return None
        time.sleep(0.02)


@contextmanager
def _short(place: Path) -> Iterator[str]:
    """Give a path of the socket that is short, however long that of its folder."""
    handle = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)
