"""Requests to one storage host, in threads of their own: one that does not go on is given up, and
whoever waits for it is told; its thread may wait for ever, and holds up neither the command nor its
end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from forestall.vaults.hosts.progress import RequestProgress, noted_in

T = TypeVar("T")


class _Request(NamedTuple, Generic[T]):
    future: Future[T]
    work: Callable[[], T]
    progress: RequestProgress


@dataclass
class _Crew:
    """Threads, what they are at, and what waits for them; once `over` they take nothing more."""

    waiting: deque[_Request[Any]] = field(default_factory=deque)
    going: dict[int, _Request[Any]] = field(default_factory=dict)
    threads: int = 0
    over: bool = False


class HostRequests:
    """The requests to one host, so many at once. Any thread may ask.

    Parameters
    ----------
    name : of the threads
    threads : requests at once
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name, self._most = name, threads
        self._changed = threading.Condition()
        self._crew = _Crew()

    def submit(self, work: Callable[[], T], progress: RequestProgress) -> Future[T]:
        """Have something done; its progress counts from when it begins."""
        future: Future[T] = Future()
        with self._changed:
            crew = self._crew
            crew.waiting.append(_Request(future, work, progress))
            if crew.threads < min(self._most, len(crew.waiting) + len(crew.going)):
                crew.threads += 1
                threading.Thread(
                    target=self._serve, args=(crew,), name=self._name, daemon=True
                ).start()
            self._changed.notify()
        return future

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        with self._changed:
            return not self._crew.going and not self._crew.waiting

    def late(self, now: float) -> RequestProgress | None:
        """Return the progress of a request that is late; None where none is."""
        with self._changed:
            going = [one.progress for one in self._crew.going.values()]
        return next((one for one in going if one.is_late(now)), None)

    def restart(self) -> None:
        """Begin the windows of all requests: this process stood still, not the host."""
        with self._changed:
            for one in self._crew.going.values():
                one.progress.restart()

    def give_up(self, error: BaseException) -> None:
        """End all requests with an error; those to come have other threads."""
        with self._changed:
            crew, self._crew = self._crew, _Crew()
            crew.over = True
            given = list(crew.going.values())
            given += [one for one in crew.waiting if one.future.set_running_or_notify_cancel()]
            crew.waiting.clear()
            self._changed.notify_all()
            for one in given:
                _settle(one.future, error=error)

    def cancel(self) -> list[Future[Any]]:
        """Cancel what has not begun; return what has."""
        with self._changed:
            for one in self._crew.waiting:
                one.future.cancel()
            self._crew.waiting.clear()
            return [one.future for one in self._crew.going.values()]

    def end(self) -> None:
        """Let the threads end once they have nothing to do."""
        with self._changed:
            crew, self._crew = self._crew, _Crew()
            crew.over = True
            self._changed.notify_all()

    def _serve(self, crew: _Crew) -> None:
        me = threading.get_ident()
        while (request := self._next(crew, me)) is not None:
            made, error = None, None
            try:
                with noted_in(request.progress):
                    made = request.work()
            except BaseException as raised:
                error = raised
            with self._changed:
                del crew.going[me]
                _settle(request.future, made, error)
            del request, made, error  # a thread that waits holds no data

    def _next(self, crew: _Crew, me: int) -> _Request[Any] | None:
        """Wait for the next request; None once it is over."""
        with self._changed:
            while True:
                while not crew.waiting and not crew.over:
                    self._changed.wait()
                if not crew.waiting:
                    return None
                request = crew.waiting.popleft()
                if request.future.set_running_or_notify_cancel():
                    request.progress.restart()
                    crew.going[me] = request
                    return request


def _settle(future: Future[T], made: T | None = None, error: BaseException | None = None) -> None:
    """End a request, unless it was given up before."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(made)  # type: ignore[arg-type]
