"""What stands before every request: limits of size, and headers that keep browsers from harm."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LARGEST: Final = 2**20
"""Bytes of a request's body."""
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
OF_THE_API: Final = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""Of what is no page."""
API: Final = ("/api/", "/v1/", "/healthz", "/openapi.json", "/metrics")


class Shield:
    """Wraps an application. A body that is too large gets 413, whatever it says of its length."""

    def __init__(self, app: App, largest: int = LARGEST) -> None:
        self._app, self._largest = app, largest

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        of_api = str(scope["path"]).startswith(API)
        refused, begun = _length(scope) > self._largest, False
        read = 0

        async def bounded() -> Message:
            nonlocal read, refused
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._largest:  # the rest is not read, nor any of it handed on
                refused = True
                return {"type": "http.disconnect"}
            return message

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if refused and not begun:
                return  # whatever is made of a part
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with(message.get("headers", ()), of_api)}
            await send(message)

        if not refused:
            await self._app(scope, bounded, with_headers)
        if refused and not begun:
            await _refuse(send, of_api, self._largest)


def _with(there: Any, of_api: bool) -> list[tuple[bytes, bytes]]:
    """Return headers with ours, where there are none of that name."""
    headers = list(there)
    known = {name.lower() for name, _ in headers}
    wanted = (*HEADERS, *(OF_THE_API if of_api else ()))
    return headers + [(name, value) for name, value in wanted if name not in known]


def _length(scope: Message) -> int:
    for name, value in scope.get("headers", ()):
        if name == b"content-length":
            return int(value) if value.isdigit() and len(value) < 20 else 2**62
    return 0


async def _refuse(send: Send, of_api: bool, largest: int) -> None:
    told = f'{{"detail":"the request is larger than {largest / 2**20:g} MiB"}}'
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    start = {"type": "http.response.start", "status": 413, "headers": _with(headers, of_api)}
    await send(start)
    await send({"type": "http.response.body", "body": told.encode()})
