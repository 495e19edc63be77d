"""HTTP that knows who is at the other end of a Unix socket, and does not wait for ever: a client
that keeps a connection and does nothing loses it."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from forestall.core.web.access import PEER

PATIENCE: Final = 30.0
"""s that a client has for the next piece of what it sends or takes."""
PIECE: Final = 4096
"""Bytes that it sends or takes in that time, at least, unless it is done."""


class PeerProtocol(H11Protocol):
    """HTTP/1.1 that knows the user at the other end of a Unix socket."""

    def connection_made(self, transport: Any) -> None:
        """Take note of who is there."""
        super().connection_made(transport)
        link = transport.get_extra_info("socket")
        if link is not None and link.family == socket.AF_UNIX:
            self.client = (f"{PEER}{_user_at(link)}", 0)


def _user_at(link: Any) -> int:
    """Return the number of the user of a process, as the kernel says: pid, uid, gid."""
    told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(told[4:8], "little", signed=False)


class HurriedProtocol(PeerProtocol):
    """HTTP/1.1 in which a request, its body, and the taking of an answer go on or are broken off.

    While the server itself is at work nothing is asked of the client.
    """

    patience = PATIENCE
    _timer: asyncio.TimerHandle | None = None
    _received = 0
    _waiting = 0
    _took = False

    def connection_made(self, transport: Any) -> None:
        """Begin to look at what the client does."""
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """End that."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        self._received += len(data)
        super().data_received(data)

    def resume_writing(self) -> None:
        """Take note that the client took a part of what is sent."""
        self._took = True
        super().resume_writing()

    def _arm(self) -> None:
        self._received, self._took = 0, False
        self._waiting = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(self.patience, self._look)

    def _look(self) -> None:
        if self.transport.get_protocol() is not self:  # it became a WebSocket
            self._timer = None
        elif self._stalls():
            self.transport.abort()
        else:
            self._arm()

    def _stalls(self) -> bool:
        """Whether the client had something to do and did next to nothing."""
        left = self.transport.get_write_buffer_size()
        if left > 0:
            return not self._took and 0 < self._waiting < left + PIECE
        cycle = self.cycle
        sends = cycle is None or (not cycle.response_complete and cycle.more_body)
        return sends and not self.flow.read_paused and self._received < PIECE
