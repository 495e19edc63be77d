"""The link between two QEMU processes, held by whoever moves the guest.

QEMU goes on copying, and lets the guest stand still once it is done, whether anyone is there to
see to the rest or not. As all bytes pass through the mover, the link breaks when the mover dies,
however it dies; then the source gives up, and its guest runs on.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Final, Self

_CHUNK: Final = 256 * 1024
_REACHING: Final = 10.0
"""Seconds that connecting to the target may take."""


class Relay:
    """Passes bytes on between one that connects to `path` and one that listens at `uri`.

    Parameters
    ----------
    path : of a new socket, at most 107 bytes
    uri : ``unix:PATH`` or ``tcp:HOST:PORT``

    Raises OSError where nobody listens, or the socket cannot be made.
    """

    def __init__(self, path: str, uri: str) -> None:
        self.uri = f"unix:{path}"
        self._far = _connected(uri)
        self._near: socket.socket | None = None
        self._door = socket.socket(socket.AF_UNIX)
        try:
            self._door.bind(path)
            self._door.listen(1)
        except OSError:
            self._door.close()
            self._far.close()
            raise
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _cut(self._door)  # wakes the thread that waits there
        self._door.close()
        _cut(self._far)
        if self._near is not None:
            _cut(self._near)

    def _serve(self) -> None:
        try:
            near, _ = self._door.accept()
        except OSError:
            self._far.close()
            return
        self._near = near
        back = threading.Thread(target=_pass, args=(self._far, near), daemon=True)
        back.start()
        _pass(near, self._far)
        back.join()
        near.close()
        self._far.close()


def _connected(uri: str) -> socket.socket:
    kind, _, where = uri.partition(":")
    if kind == "unix":
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(_REACHING)
        try:
            one.connect(where)
        except OSError:
            one.close()
            raise
    else:
        host, _, port = where.rpartition(":")
        one = socket.create_connection((host, int(port)), _REACHING)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.settimeout(None)
    return one


def _pass(source: socket.socket, sink: socket.socket) -> None:
    """Pass bytes on until the source has no more; what breaks on one side breaks on both."""
    view = memoryview(bytearray(_CHUNK))
    try:
        while count := source.recv_into(view):
            sink.sendall(view[:count])
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        _cut(source)
        _cut(sink)


def _cut(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
