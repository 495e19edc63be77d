"""What browsers are told to refuse: nothing is fetched from, or sent to, another host. And what is
refused them: a page's connection without a session, or from a page of another site."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from forestall.live.web.page.sessions import COOKIE, Sessions

POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval';"
    " style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:;"
    " connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self';"
    " frame-ancestors 'none'"
)
"""Of the page. Vue compiles templates in the browser; NiceGUI starts from a script in the page."""


LINK: Final = "/_nicegui_ws/"
"""Below this pages keep their connection."""


class Guard:
    """Wraps an application: its pages name `POLICY`, where they name none of their own, and keep a
    connection in a session and from this site only."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        linked = scope["type"] == "websocket" or str(scope.get("path", "")).startswith(LINK)
        if linked and not self._is_let_in(HTTPConnection(scope)):
            await _refuse(scope, receive, send)
            return

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", POLICY)
                headers.setdefault("x-content-type-options", "nosniff")
            await send(message)

        await self._app(scope, receive, with_policy if scope["type"] == "http" else send)

    def _is_let_in(self, asked: HTTPConnection) -> bool:
        """Whether a page of ours, in a session, asks: browsers say from where a page comes."""
        origin, host = asked.headers.get("origin"), asked.headers.get("host", "")
        if origin is not None and urlsplit(origin).netloc != host:
            return False
        return self._sessions.viewer(asked.cookies.get(COOKIE)) is not None


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()  # that it connects
        await send({"type": "websocket.close", "code": 1008})
        return
    await PlainTextResponse("a session of this page is needed", 403)(scope, receive, send)
