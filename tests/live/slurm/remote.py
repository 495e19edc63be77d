"""A controller in a process of its own, on a world that outlives it; it can be killed at any time.

The process has a real ledger. What it asks of the cluster goes through a pipe to the test, which
has the world; so a process that dies leaves behind what Slurm and the disk have of it.
"""

from __future__ import annotations

import contextlib
import copyreg
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from forestall.core.model.faults import LookError
from forestall.core.model.live.intents import Role
from forestall.live.ledger.rows import PromiseRow
from forestall.live.ledger.store import LiveLedger
from forestall.live.slurm.actor import ClusterActor
from forestall.live.slurm.controller import Controller
from forestall.live.slurm.site_book import SiteBook
from forestall.prediction.watching.foreseen import NodeForecasts
from forestall.slurm.cluster.cluster import LiveCluster
from forestall.slurm.simulation.cluster import Killed
from live.slurm.scenarios import GUARD

_SERVER = get_context("forkserver")  # SQLite's connections and their locks must not be inherited
_SERVER.set_forkserver_preload(["live.slurm.remote", "live.slurm.warmed"])
ASKS = ("look", "act", "find", "clock")
_PATIENCE = 60.0


class _Asked:
    """A cluster at the other end of a pipe."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def ask(*told: Any) -> Any:
            self._pipe.send(("ask", name, told))
            kind, answer = self._pipe.recv()
            if kind == "raised":
                raise _unpacked(answer)
            return answer

        return ask


def _life(pipe: Connection, url: str, forecasts: NodeForecasts) -> None:
    """Live as a controller: take calls from the pipe, one after another."""
    cluster: Any = _Asked(pipe)
    with LiveLedger(url) as ledger:

        def owner_of(promise: str) -> str:
            found = ledger.one(PromiseRow, promise)
            return "" if found is None else found.owner

        actor = ClusterActor(cluster, owner_of)
        actors = {Role.KEEPER: actor, Role.WARDEN: actor}
        one = Controller(cluster, ledger, actors, GUARD, forecasts, cluster.clock)
        pipe.send(("done", None))
        while True:
            name, told, named = pipe.recv()
            try:
                answer = ("done", getattr(one, name)(*told, **named))
            except Exception as error:
                answer = ("raised", _packed(error))
            pipe.send(answer)


class RemoteController:
    """A controller in another process, which may be killed at a moment that is drawn.

    killed_at : draws the share of a call's usual time at which it is killed, or None
    usual : seconds that calls took, by name; it is kept up here
    """

    age = None  # nothing is proposed by hand

    def __init__(
        self,
        cluster: LiveCluster,
        clock: Callable[[], int],
        url: str,
        forecasts: NodeForecasts,
        killed_at: Callable[[], float | None],
        usual: dict[str, float],
    ) -> None:
        self._cluster, self._clock = cluster, clock
        self._killed_at, self._usual = killed_at, usual
        self.site = SiteBook()  # it begins anew with each process
        self._pipe, theirs = _SERVER.Pipe()
        self._process = _SERVER.Process(target=_quietly, args=(theirs, url, forecasts), daemon=True)
        self._process.start()
        theirs.close()
        self._serve(None)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*told: Any, **named: Any) -> Any:
            share, usual = self._killed_at(), self._usual.get(name)
            begun = time.monotonic()
            self._pipe.send((name, told, named))
            found = self._serve(None if share is None or usual is None else share * usual)
            self._usual[name] = time.monotonic() - begun
            return found

        return call

    def kill(self) -> None:
        """Kill it, and wait until it is gone."""
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        self._pipe.close()

    def _serve(self, seconds: float | None) -> Any:
        """Answer for the cluster until the call is done; Killed where its moment comes first."""
        end = time.monotonic() + (_PATIENCE if seconds is None else seconds)
        while True:
            if not self._pipe.poll(max(end - time.monotonic(), 0.0)):
                assert seconds is not None, f"no answer within {_PATIENCE} s"
                self.kill()
                raise Killed("killed at a random moment")
            kind, *told = self._pipe.recv()
            if kind == "done":
                return told[0]
            if kind == "raised":
                raise _unpacked(told[0])
            self._pipe.send(self._answer(*told))

    def _answer(self, name: str, told: tuple[Any, ...]) -> tuple[str, Any]:
        assert name in ASKS, name
        try:
            if name == "clock":
                return "done", self._clock()
            return "done", getattr(self._cluster, name)(*told)
        except Killed:
            self.kill()  # in the middle of an action
            raise
        except Exception as error:
            return "raised", _packed(error)


def _quietly(pipe: Connection, url: str, forecasts: NodeForecasts) -> None:
    with contextlib.suppress(EOFError, BrokenPipeError):
        _life(pipe, url, forecasts)


Packed = tuple[type[Exception], tuple[Any, ...], dict[str, Any]]


def _packed(error: Exception) -> Packed:
    """Return an error as a pipe can take it: those with parameters of their own cannot be."""
    return type(error), error.args, vars(error)


def _unpacked(told: Packed) -> Exception:
    """Return the error again."""
    kind, args, more = told
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(more)
    return error


def _reduced(error: Exception) -> tuple[Callable[[Packed], Exception], tuple[Packed]]:
    return _unpacked, (_packed(error),)


copyreg.pickle(LookError, _reduced)  # a look carries the error of its accounting
