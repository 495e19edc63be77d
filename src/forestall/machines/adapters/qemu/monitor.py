"""One connection to a QEMU's monitor: questions, commands and events, each with a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from forestall.core.model.errors import ForestallError, MissingExtraError

if TYPE_CHECKING:
    from qemu.qmp import QMPClient

PATIENCE: Final = 20.0
"""Seconds that one answer may take; QEMU answers at once, but a busy machine may not run it."""
_RETRY: Final = 0.02
_BUSY: Final = "gives no answer; is another program connected to its monitor?"


class MonitorError(ForestallError):
    """A monitor cannot be reached, does not answer, or was cut off."""


class RefusedError(ForestallError):
    """QEMU answered that it will not do what it was asked."""


class MonitorEvent(NamedTuple):
    """Something that QEMU told unasked.

    Attributes
    ----------
    name : such as STOP, RESUME, SHUTDOWN, MIGRATION
    at : seconds since 1970 by the host's clock
    data : what it said beside
    """

    name: str
    at: float
    data: Mapping[str, Any]


class Monitor:
    """A connection to a monitor; use it in a `with` block, from plain code without an event loop.

    Parameters
    ----------
    socket : path of the monitor's socket, at most 107 bytes
    who : the machine's name, for messages
    patience : seconds that connecting, and each answer, may take
    alive : whether the process is still there; one that is gone is not waited for

    Raises MonitorError on entering where nobody answers, MissingExtraError without the library.
    """

    def __init__(
        self,
        socket: str | Path,
        who: str,
        patience: float = PATIENCE,
        alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self._socket = str(socket)
        self._alive = alive
        self._who = who
        self._patience = patience
        self._runner: asyncio.Runner | None = None
        self._client: QMPClient
        self._events: list[MonitorEvent] = []

    def __enter__(self) -> Self:
        try:
            from qemu.qmp import QMPClient
        except ImportError:
            raise MissingExtraError("talking to QEMU", "qemu") from None
        logging.getLogger("qemu.qmp").addHandler(logging.NullHandler())  # errors are raised too
        self._runner = asyncio.Runner()
        # What fails in the background, as a machine that leaves in the middle of a stop, is told by
        # the next question; the loop would print it, too.
        self._runner.get_loop().set_exception_handler(lambda _loop, _context: None)
        try:
            self._runner.run(self._connect(QMPClient))
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def ask(self, command: str, **arguments: Any) -> Any:
        """Run a command and return its answer; dashes in names are written as underscores.

        Raises RefusedError where QEMU says no, MonitorError where no answer comes.
        """
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        assert self._runner is not None
        return self._runner.run(self._ask(command, named))

    def events(self) -> list[MonitorEvent]:
        """Return what was told so far, oldest first."""
        self._take_events()
        return list(self._events)

    def wait(self, seconds: float) -> None:
        """Wait until QEMU tells something unasked, or so long. Raises MonitorError where it is
        gone."""
        assert self._runner is not None
        self._runner.run(self._wait(seconds))

    async def _connect(self, client: type[QMPClient]) -> None:
        from qemu.qmp import QMPError

        end = time.monotonic() + self._patience
        while True:
            self._client = client(None)
            try:
                if not Path(self._socket).exists():  # the library would log an error
                    raise FileNotFoundError(f"{self._socket} does not exist")
                left = max(end - time.monotonic(), 0.1)
                return await asyncio.wait_for(self._client.connect(self._socket), left)
            except TimeoutError:
                raise MonitorError(f"{self._who}: QEMU {_BUSY}") from None
            except (QMPError, OSError) as error:
                await self._disconnected()
                if not self._alive():
                    raise MonitorError(f"{self._who}: QEMU is gone") from None
                if time.monotonic() > end:
                    if Path(self._socket).exists():  # its queue is full: it hangs
                        raise MonitorError(f"{self._who}: QEMU {_BUSY}") from None
                    raise MonitorError(f"{self._who}: no monitor: {error}") from None
            await asyncio.sleep(_RETRY)

    async def _ask(self, command: str, arguments: dict[str, Any]) -> Any:
        from qemu.qmp import ExecuteError, QMPError

        try:
            waited = self._client.execute(command, arguments or None)
            answer = await asyncio.wait_for(waited, self._patience)
        except ExecuteError as error:
            raise RefusedError(f"{self._who}: QEMU refused {command}: {error}") from None
        except TimeoutError:
            raise MonitorError(f"{self._who}: QEMU {_BUSY} ({command})") from None
        except (QMPError, OSError):
            raise MonitorError(f"{self._who}: QEMU is gone ({command})") from None
        self._take_events()
        return answer

    async def _wait(self, seconds: float) -> None:
        from qemu.qmp import Runstate

        if self._client.runstate is Runstate.RUNNING:
            with contextlib.suppress(TimeoutError):
                self._note(await asyncio.wait_for(self._client.events.get(), seconds))
        if self._client.runstate is not Runstate.RUNNING:
            raise MonitorError(f"{self._who}: QEMU is gone")
        self._take_events()

    def _take_events(self) -> None:
        for told in self._client.events.clear():
            self._note(told)

    def _note(self, told: Mapping[str, Any]) -> None:
        at = told["timestamp"]
        moment = at["seconds"] + at["microseconds"] / 1e6
        self._events.append(MonitorEvent(str(told["event"]), moment, told.get("data", {})))

    async def _disconnected(self) -> None:
        with contextlib.suppress(Exception):
            await asyncio.wait_for(self._client.disconnect(), 2)

    def _leave(self) -> None:
        if (runner := self._runner) is not None:
            self._runner = None
            try:
                if hasattr(self, "_client"):
                    runner.run(self._disconnected())
            finally:
                runner.close()
