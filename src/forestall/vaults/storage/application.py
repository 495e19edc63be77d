"""The storage daemon as an application: objects of a client by key, and how the daemon is."""

import math
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated, Any, BinaryIO, Final

from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from forestall.__about__ import __version__
from forestall.core.model.live.desk import Viewer
from forestall.core.web.access import Access
from forestall.core.web.doors import ERRORS, Door, ErrorTold, bare_application, line_of
from forestall.vaults.hosts.disk import DiskWatch
from forestall.vaults.hosts.host import AbsentError, HostError, Stored
from forestall.vaults.hosts.served import ABSENT
from forestall.vaults.storage.seats import Seats
from forestall.vaults.storage.shelves import BusyError, Shelves

ABOUT: Final = """\
Objects of several clients on a shared machine's disk. Each token has a name, and each name its own
objects, which no other name can read, list, change or delete. A confirmed object is on the disk.
Errors are `{"detail": "one line"}`; 503 says in `Retry-After` when to ask again.
"""
LOADED: Final = 0.9
"""Utilisation of the disk from which the daemon calls itself loaded."""
RATE: Final = 10_000
STRANGERS: Final = 20
"""Requests in a second of a client, and of all who have no token."""
PART: Final = 2**20
"""Bytes of an object in memory at once."""
PAGE: Final = 10_000
AGAIN: Final = 1
"""s after which a client that found no seat may ask again."""
KEY: Final = r"^[a-z0-9][a-zA-Z0-9._-]*(/[a-zA-Z0-9][a-zA-Z0-9._-]*){0,3}$"
Key = Annotated[str, Path(pattern=KEY, max_length=200, description="Key of the object")]


@dataclass(frozen=True)
class Daemon:
    """What a storage daemon is made of; `began`: when, s since 1970."""

    shelves: Shelves
    seats: Seats
    disk: DiskWatch
    access: Access
    began: float


class ObjectTold(BaseModel):
    """An object: its key and its size in bytes."""

    key: str
    size: int


class ObjectsTold(BaseModel):
    """A page of objects by key; `next`: with what to ask for the next page, null at the end."""

    objects: list[ObjectTold]
    next: str | None


class StateTold(BaseModel):
    """How the daemon is."""

    state: Annotated[str, Field(description="running, or loaded: its clients or disk at the limit")]
    clients: Annotated[int, Field(description="Clients being served")]
    limit: Annotated[int, Field(description="Maximum number of clients served at once")]
    bytes: Annotated[int, Field(description="Bytes that count against this client's quota")]
    quota: Annotated[int, Field(description="This client's quota, bytes")]
    all_bytes: Annotated[int, Field(description="Bytes of all clients")]
    all_quota: int
    io: Annotated[float | None, Field(description="Share of the last minute with the disk busy")]
    since: Annotated[float, Field(description="When it was started, s since 1970")]
    version: str


class AliveTold(BaseModel):
    """The daemon is there."""

    status: str


class _RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, told: str) -> None:
        self.code, self.told = code, told
        super().__init__(told)


def storage(daemon: Daemon, largest: int) -> FastAPI:
    """Return the application that a server runs."""
    app = bare_application("forestall storage", ABOUT, largest)
    app.add_exception_handler(_RefusedError, _told)
    app.add_exception_handler(HostError, _said)
    door = Door(daemon.access, RATE, STRANGERS)
    app.include_router(_objects(daemon, door))

    @app.get("/healthz", tags=["service"], summary="Whether the daemon answers")
    async def healthz() -> AliveTold:
        """Return that it does. No token is needed."""
        return AliveTold(status="ok")

    return app


_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    **{code: ERRORS[code] for code in (401, 422, 429)},
    503: {"model": ErrorTold, "description": "Loaded; `Retry-After` says when to ask again"},
}
_WRITING: Final[dict[int | str, dict[str, Any]]] = {
    409: {"model": ErrorTold, "description": "A key that is a folder of other keys"},
    413: {"model": ErrorTold, "description": "The object exceeds the size limit"},
    507: {"model": ErrorTold, "description": "A quota is used up, or the disk is full"},
}
_ABSENT: Final[dict[int | str, dict[str, Any]]] = {
    404: {"model": ErrorTold, "description": "There is no such object"}
}


def _objects(daemon: Daemon, door: Door) -> APIRouter:
    """Return the routes."""
    router = APIRouter(prefix="/v1", tags=["objects"], responses=_REFUSED)
    shelves = daemon.shelves
    who = Annotated[Viewer, Depends(door)]

    @router.put("/objects/{key:path}", status_code=204, responses=_WRITING, openapi_extra=_BODY)
    async def put(key: Key, request: Request, viewer: who) -> Response:
        """Store an object: whole and on the disk once this is answered, or not at all."""
        with _seat(daemon, viewer):
            await _take(shelves, viewer.name, key, request)
        return Response(status_code=204)

    @router.get("/objects/{key:path}", responses=_ABSENT, response_class=Response)
    async def get(key: Key, viewer: who) -> Response:
        """Return an object."""
        with ExitStack() as stack:
            stack.enter_context(_seat(daemon, viewer))
            reading = shelves.of(viewer.name).reading(key)
            file = await run_in_threadpool(stack.enter_context, reading)
            return _Sent(file, stack.pop_all())

    @router.delete("/objects/{key:path}", status_code=204)
    async def delete(key: Key, viewer: who) -> Response:
        """Remove an object, if it is there."""
        with _seat(daemon, viewer):
            await run_in_threadpool(_remove, shelves, viewer.name, key)
        return Response(status_code=204)

    @router.get("/objects")
    async def listed(
        viewer: who,
        prefix: Annotated[str, Query(pattern=KEY[:-1] + "/$|^$", max_length=200)] = "",
        after: Annotated[str, Query(pattern=KEY + "|^$", max_length=200)] = "",
        limit: Annotated[int, Query(ge=1, le=PAGE)] = PAGE,
    ) -> ObjectsTold:
        """Return the objects below a prefix, by key, a page at a time."""
        with _seat(daemon, viewer):
            found = await run_in_threadpool(_page, shelves, viewer.name, prefix, after, limit + 1)
        more = len(found) > limit
        told = [ObjectTold(key=one.key, size=one.size) for one in found[:limit]]
        return ObjectsTold(objects=told, next=told[-1].key if more else None)

    @router.get("/state")
    async def state(viewer: who) -> StateTold:
        """Return how the daemon is; this needs no seat."""
        return state_of(daemon, viewer.name)

    return router


def state_of(daemon: Daemon, client: str) -> StateTold:
    """Return how a daemon is, as a client is told."""
    busy, seats, shelves = daemon.disk.utilisation(), daemon.seats, daemon.shelves
    loaded = seats.taken >= seats.limit or busy >= LOADED
    return StateTold(
        state="loaded" if loaded else "running", clients=seats.taken, limit=seats.limit,
        bytes=shelves.used(client), quota=shelves.quota.each, all_bytes=shelves.total,
        all_quota=shelves.quota.all, io=None if math.isnan(busy) else round(busy, 4),
        since=round(daemon.began, 3), version=__version__,
    )  # fmt: skip


class _Seat:
    """A seat, as long as the block lasts. Raises _RefusedError where there is none."""

    def __init__(self, daemon: Daemon, viewer: Viewer) -> None:
        self._seats, self._name = daemon.seats, viewer.name

    def __enter__(self) -> None:
        if not self._seats.enter(self._name):
            raise _RefusedError(503, "loaded: the limit of clients served at once is reached")

    def __exit__(self, *error: object) -> None:
        self._seats.leave(self._name)


_seat = _Seat


async def _take(shelves: Shelves, client: str, key: str, request: Request) -> None:
    """Store the body of a request; a part of it is in memory at a time."""
    length = request.headers.get("content-length", "")
    async with _threaded(partial(shelves.changing, client, key)) as room:
        if length.isdecimal() and len(length) < 20:
            room.grow(int(length))
        async with _threaded(partial(shelves.of(client).writing, key)) as file:
            size, parts, held = 0, list[bytes](), 0
            try:
                async for part in request.stream():
                    size, held = size + len(part), held + len(part)
                    parts.append(part)
                    if held >= PART:
                        room.grow(size)
                        await run_in_threadpool(file.write, b"".join(parts))
                        parts, held = [], 0
            except ClientDisconnect:
                raise _RefusedError(400, "the object arrived incomplete") from None
            room.grow(size)
            await run_in_threadpool(file.write, b"".join(parts))


@asynccontextmanager
async def _threaded(make: Callable[[], Any]) -> AsyncIterator[Any]:
    """Enter and leave a context of blocking calls in a thread."""
    stack = ExitStack()
    given = await run_in_threadpool(lambda: stack.enter_context(make()))
    try:
        yield given
    except BaseException as error:
        kind, trace = type(error), error.__traceback__
        if not await run_in_threadpool(stack.__exit__, kind, error, trace):
            raise
    else:
        await run_in_threadpool(stack.close)


def _remove(shelves: Shelves, client: str, key: str) -> None:
    with shelves.changing(client, key):
        shelves.of(client).delete(key)


def _page(shelves: Shelves, client: str, prefix: str, after: str, most: int) -> list[Stored]:
    found: Iterator[Stored] = shelves.of(client).keys(prefix, after)
    return list(islice(found, most))


class _Sent(Response):
    """An object on its way, a part at a time; `held` is let go at the end, whatever that is."""

    media_type = "application/octet-stream"

    def __init__(self, file: BinaryIO, held: ExitStack) -> None:
        super().__init__()
        self._file, self._held = file, held
        file.seek(0, 2)
        self._size = file.tell()
        file.seek(0)
        self.headers["content-length"] = str(self._size)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Send it."""
        request, left = Request(scope, receive), self._size
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while True:
                part = await run_in_threadpool(self._file.read, min(PART, left))
                left -= len(part)
                more = left > 0 and bool(part)
                await send({"type": "http.response.body", "body": part, "more_body": more})
                if not more or await request.is_disconnected():
                    return
        finally:
            await run_in_threadpool(self._held.close)


async def _told(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, _RefusedError)
    return _answer(error.code, error.told)


async def _said(_: Request, error: Exception) -> JSONResponse:
    """Say what a disk said: nothing of where on it things lie."""
    assert isinstance(error, HostError)
    told = str(error).removeprefix(f"{error.host}: ")
    if isinstance(error, AbsentError):
        return _answer(404, told)
    if isinstance(error, BusyError):
        return _answer(503, told)
    if Shelves.is_full(error):
        return _answer(507, told)
    collides = error.number in (17, 20, 21, 39)  # EEXIST, ENOTDIR, EISDIR, ENOTEMPTY
    return _answer(409 if collides else 503, told)


def _answer(code: int, told: str) -> JSONResponse:
    """Return an answer; of an object that is not there it says that this is a daemon's word."""
    headers = {503: {"Retry-After": str(AGAIN)}, 404: {ABSENT: "1"}}.get(code, {})
    return JSONResponse({"detail": line_of(told)}, code, headers)


def new_daemon(shelves: Shelves, seats: Seats, access: Access, disk: DiskWatch) -> Daemon:
    """Return a daemon that begins now."""
    return Daemon(shelves, seats, disk, access, time.time())
