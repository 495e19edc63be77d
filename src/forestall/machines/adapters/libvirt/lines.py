"""Connections to libvirt that are given up when they do not answer in time.

A host that is gone lets a call hang for minutes. So each call is made in a thread of its own; a
line whose last call has not come back is silent, and nothing more is asked of it until it has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from forestall.core.model.errors import MissingExtraError
from forestall.machines.acting.hosts.pool import HostCallError

_Answer = TypeVar("_Answer")
_BEAT: Final = 2
_BEATS: Final = 3
"""s between signs of life on a connection, and how many may be missed."""
_LOCK = threading.Lock()
_BEGUN: list[bool] = []


def module() -> Any:
    """Return the module libvirt, with its event loop running; that is what notices dead links.

    Raises MissingExtraError where it is not installed.
    """
    try:
        import libvirt
    except ImportError:
        raise MissingExtraError("virtual machines on libvirt's hosts", "libvirt") from None
    with _LOCK:
        if not _BEGUN:
            _BEGUN.append(True)
            libvirt.registerErrorHandler(lambda context, error: None, None)
            libvirt.virEventRegisterDefaultImpl()
            threading.Thread(target=_events, args=(libvirt,), name="libvirt", daemon=True).start()
    return libvirt


def _events(libvirt: Any) -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except Exception:
            time.sleep(1)


class HostCall(Generic[_Answer]):
    """A question that was begun."""

    def __init__(self, line: HostLine, act: Callable[[Any], _Answer]) -> None:
        self._line, self._act = line, act
        self._answer: list[_Answer] = []
        self._wrong: BaseException | None = None
        self.over, self.begun = threading.Event(), time.monotonic()

    def run(self) -> None:
        """Ask; in a thread of its own."""
        libvirt = module()
        try:
            self._answer.append(self._act(self._line.connection(libvirt)))
        except libvirt.libvirtError as error:
            # What a host says of its own connection to another is an answer.
            gone = broken(libvirt, error) and not self._line.alive()
            if gone:
                self._line.drop()
            self._wrong = HostCallError(self._line.node, said(error), silent=gone)
            self._wrong.__cause__ = error
        except BaseException as error:
            self._wrong = error
        finally:
            self.over.set()

    def answer(self, timeout: float) -> _Answer:
        """Return the answer. Raises HostCallError, also where it does not come in time."""
        if not self.over.wait(max(timeout, 0.0)):
            raise HostCallError(
                self._line.node, f"gave no answer within {timeout:.0f} s", silent=True
            )
        if self._wrong is not None:
            raise self._wrong
        return self._answer[0]


def broken(libvirt: Any, error: Any) -> bool:
    """Whether an error means that the connection is gone, and not that it was answered no."""
    codes = {libvirt.VIR_ERR_SYSTEM_ERROR, libvirt.VIR_ERR_NO_CONNECT, libvirt.VIR_ERR_RPC,
             libvirt.VIR_ERR_INVALID_CONN, libvirt.VIR_ERR_AUTH_FAILED,
             libvirt.VIR_ERR_GNUTLS_ERROR}  # fmt: skip
    domains = {libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE}
    in_rpc = error.get_error_domain() in domains
    return bool(in_rpc or error.get_error_code() in codes - {libvirt.VIR_ERR_SYSTEM_ERROR})


def said(error: Any) -> str:
    """Return what libvirt says is wrong, in one line."""
    return " ".join(str(error.get_error_message() or error).split())


class HostLine:
    """A connection to one host, opened when it is needed and anew when it broke.

    Parameters
    ----------
    node : its name
    uri : such as ``qemu+ssh://root@host/system``
    """

    def __init__(self, node: str, uri: str) -> None:
        self.node, self.uri = node, uri
        self._connection: Any = None
        self._call: HostCall[Any] | None = None

    def begin(self, act: Callable[[Any], _Answer]) -> HostCall[_Answer]:
        """Begin to ask: `act` gets the connection. Raises HostCallError where the last hangs."""
        if self._call is not None and not self._call.over.is_set():
            since = time.monotonic() - self._call.begun
            raise HostCallError(self.node, f"has not answered for {since:.0f} s", silent=True)
        self._call = call = HostCall(self, act)
        threading.Thread(target=call.run, name=f"to {self.node}", daemon=True).start()
        return call

    def ask(self, act: Callable[[Any], _Answer], timeout: float) -> _Answer:
        """Return what `act` returns. Raises HostCallError."""
        return self.begin(act).answer(timeout)

    def connection(self, libvirt: Any) -> Any:
        """Return the connection; called in the thread of a call."""
        if self.alive():
            return self._connection
        self.drop()
        self._connection = libvirt.open(self.uri)
        try:
            self._connection.setKeepAlive(_BEAT, _BEATS)
        except libvirt.libvirtError as error:
            if error.get_error_code() != libvirt.VIR_ERR_NO_SUPPORT:
                raise  # one on this host has no link that could break
        return self._connection

    def alive(self) -> bool:
        """Whether the connection is there, as far as is known."""
        return self._connection is not None and self._connection.isAlive() == 1

    def drop(self) -> None:
        """Forget the connection: it broke."""
        self._connection = None
