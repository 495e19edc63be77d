"""The server: one address, a Unix socket that knows who asks, or both, until it is told to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from forestall.core.model.errors import InputError, ParameterError, TraceError, of_system
from forestall.core.web.protocol import HurriedProtocol

_BACKLOG: Final = 256
_LEAVE: Final = 5
"""s that connections have to end when the server stops."""


@dataclass(frozen=True)
class Listening:
    """Where to listen; port None: on no address, path None: on no socket.

    `certificate`, `private_key` : files for TLS; without them it is plain HTTP
    `most` : connections at once; None: any number
    """

    host: str = "127.0.0.1"
    port: int | None = 0
    path: Path | None = None
    certificate: Path | None = None
    private_key: Path | None = None
    most: int | None = None

    @property
    def is_exposed(self) -> bool:
        """Whether others can listen in: other machines reach the address, without TLS."""
        if self.port is None or self.certificate is not None or self.host == "localhost":
            return False
        try:
            return not ip_address(self.host).is_loopback
        except ValueError:
            return True  # a name, of this machine in a network

    def check(self) -> None:
        """Raise ParameterError or TraceError for files that are no certificate and its key."""
        if self.certificate is None and self.private_key is None:
            return
        if self.certificate is None or self.private_key is None:
            missing = "tls_cert" if self.certificate is None else "tls_key"
            raise ParameterError(missing, None, "a file: certificate and key go together")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with of_system(self.certificate, "not a certificate, with its key, that can be read"):
            context.load_cert_chain(self.certificate, self.private_key)


class SiteServer:
    """Serves an application; its sockets listen from the beginning, so that its address is known.

    `protocol` : of HTTP. Raises TraceError for an address that cannot be listened on, or files that
    are no certificate; InputError for a socket on which another server listens.
    """

    def __init__(
        self, app: Any, where: Listening, protocol: type[H11Protocol] | None = None
    ) -> None:
        where.check()
        self._path, self._scheme = where.path, "https" if where.certificate else "http"
        self._sockets: list[socket.socket] = []
        try:
            if where.port is not None:
                self._sockets.append(_tcp(where.host, where.port))
            if where.path is not None:
                self._sockets.append(_unix(where.path))
        except BaseException:
            self._close()
            raise
        config = uvicorn.Config(
            app, http=protocol or HurriedProtocol, log_level="warning", access_log=False,
            server_header=False, proxy_headers=False, lifespan="on",
            timeout_graceful_shutdown=_LEAVE, ws_max_size=2**20, backlog=_BACKLOG,
            limit_concurrency=where.most,
            ssl_certfile=where.certificate, ssl_keyfile=where.private_key,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    @property
    def address(self) -> str:
        """Its address, or the path of its socket."""
        for one in self._sockets:
            if one.family != socket.AF_UNIX:
                host, port = one.getsockname()[:2]
                named = f"[{host}]" if ":" in host else host
                return f"{self._scheme}://{named}:{port}"
        return f"unix:{self._path}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Answer until SIGTERM, SIGINT, SIGHUP (but where it is ignored, as by nohup) or `stop`;
        then let those who are being answered end."""

        async def serving() -> None:
            hears = threading.current_thread() is threading.main_thread()
            if hears and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.stop)
            task = asyncio.ensure_future(self._server.serve(sockets=self._sockets))
            while not self._server.started and not task.done():
                await asyncio.sleep(0.005)
            try:
                if self._server.started:
                    ready()
            except BaseException:  # such as standard output that cannot be written
                self.stop()
                raise
            finally:
                await task

        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises the signal again once it has ended
                asyncio.run(serving())
        finally:
            self._close()

    def stop(self) -> None:
        """End `run`; any thread may ask for it."""
        self._server.should_exit = True

    def _close(self) -> None:
        for one in self._sockets:
            one.close()
        if self._path is not None and any(one.family == socket.AF_UNIX for one in self._sockets):
            with suppress(OSError):
                self._path.unlink()


def _tcp(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address."""
    where = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise TraceError(where, f"not an address: {said}") from None
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with of_system(where, "cannot listen on it"):
            made.bind(address)
            made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    made.setblocking(False)
    return made


def _unix(path: Path) -> socket.socket:
    """Return a socket that listens at a path, for all users of this machine: who they are, the
    kernel says. One that a dead server left is replaced."""
    if path.is_socket() and _answers(path):
        raise InputError(f"{path}: another server listens there")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with of_system(path, "cannot listen on it"):
            if path.is_socket():
                path.unlink()
            made.bind(str(path))
            os.chmod(path, 0o666)
            made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    made.setblocking(False)
    return made


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(2.0)
        try:
            asking.connect(str(path))
        except OSError:
            return False
    return True
