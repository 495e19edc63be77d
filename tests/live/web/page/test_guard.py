"""A page keeps a connection in a session of its own, and from its own site only."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from forestall.core.model.live.desk import Viewer
from forestall.live.web.page.guard import LINK, Guard
from forestall.live.web.page.sessions import COOKIE, Sessions

SESSION = {"cookie": f"{COOKIE}=mark.secret"}


def first_answer(kind: str, headers: dict[str, str]) -> Any:
    """Return the first message of what a connection gets that asks with such headers."""
    sent: list[Any] = []

    async def inner(_: Any, receive: Any, send: Any) -> None:
        await send({"type": f"{kind}.accept"})

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "path": f"{LINK}socket.io/", "headers": [(b"host", b"site"), *pairs]}
    guard = Guard(inner, Sessions({"secret": Viewer("alice", "user")}.get))
    asyncio.run(guard(scope, receive, send))
    return sent[0]


@pytest.mark.parametrize(
    ("headers", "is_let_in"),
    [
        ({}, False),
        ({"origin": "http://site"}, False),
        ({"cookie": f"{COOKIE}=mark.guess"}, False),
        ({**SESSION, "origin": "http://site"}, True),
        ({**SESSION, "origin": "http://evil.example"}, False),
        ({**SESSION, "origin": "null"}, False),
    ],
)
def test_who_may_keep_a_connection(headers: dict[str, str], is_let_in: bool) -> None:
    by_link, by_polling = first_answer("websocket", headers), first_answer("http", headers)
    if is_let_in:
        assert (by_link["type"], by_polling["type"]) == ("websocket.accept", "http.accept")
    else:
        assert by_link == {"type": "websocket.close", "code": 1008}
        assert by_polling["status"] == 403
