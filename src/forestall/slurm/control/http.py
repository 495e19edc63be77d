"""Requests to slurmrestd, over HTTP or its Unix socket, bounded in time and size."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from forestall.core.model.errors import ParameterError

_PIECE: Final = 1 << 16
_ALLOWED: Final = "http://HOST:PORT, https://HOST:PORT or unix:/PATH/OF/SOCKET"


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: bytes


class NoReply(Exception):  # noqa: N818 - turned into an error of a look or an action by who asks
    """No whole answer came.

    Parameters
    ----------
    message : what was wrong
    heard : whether slurmrestd may have heard the request
    late, large : whether time ran out; whether the answer was too large
    """

    def __init__(
        self, message: str, *, heard: bool, late: bool = False, large: bool = False
    ) -> None:
        self.heard = heard
        self.late = late
        self.large = large
        super().__init__(message)


class _OverSocket(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Server:
    """A slurmrestd at an address. Redirects are not followed and proxies not used.

    Parameters
    ----------
    address : ``http://HOST:PORT``, ``https://HOST:PORT`` or ``unix:/PATH``
    user : in whose name to ask where a token is given
    token : returns the JSON web token, asked anew for each request as tokens end; None for
        ``rest_auth/local``, which knows who asks through the socket
    """

    def __init__(
        self, address: str, user: str = "", token: Callable[[], str] | None = None
    ) -> None:
        parts = urlsplit(address)
        known = parts.path if parts.scheme == "unix" else parts.hostname
        if parts.scheme not in ("http", "https", "unix") or not known:
            raise ParameterError("address", address, _ALLOWED)
        if any(ord(sign) < 33 for sign in user):
            raise ParameterError("user", user, "a user's name")
        self._parts = parts
        self._user = user
        self._token = token

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        timeout: float,
        most: int,
    ) -> Reply:
        """Send a request and return the whole answer, whatever its status.

        Parameters
        ----------
        body : sent as JSON
        timeout : seconds for all of it
        most : bytes that the answer may have

        Raises NoReply.
        """
        end = time.monotonic() + timeout
        connection = self._connection(timeout)
        heard = False
        try:
            connection.connect()
            heard = True
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, self._headers(data is not None))
            response = connection.getresponse()
            return Reply(response.status, _whole(response, connection, end, most))
        except TimeoutError:
            message = f"gave no answer in {timeout:g} s"
            raise NoReply(message, heard=heard, late=True) from None
        except (OSError, http.client.HTTPException) as error:
            what = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NoReply(f"does not answer ({what})", heard=heard) from None
        finally:
            connection.close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        parts = self._parts
        if parts.scheme == "unix":
            return _OverSocket(parts.path, timeout)
        host = parts.hostname or ""
        if parts.scheme == "https":
            secure = ssl.create_default_context()
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=secure)
        return http.client.HTTPConnection(host, parts.port, timeout=timeout)

    def _headers(self, with_body: bool) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if with_body:
            headers["Content-Type"] = "application/json"
        if self._token is not None:
            headers["X-SLURM-USER-TOKEN"] = self._token().strip()
            if self._user:
                headers["X-SLURM-USER-NAME"] = self._user
        return headers


def _whole(
    response: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    end: float,
    most: int,
) -> bytes:
    pieces, size = [], 0
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        piece = response.read1(_PIECE)
        if not piece:
            break
        size += len(piece)
        if size > most:
            raise NoReply(f"answered with more than {most:,} bytes", heard=True, large=True)
        pieces.append(piece)
    if response.length:  # fewer bytes than were announced
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)
