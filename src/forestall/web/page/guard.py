"""What browsers are told to refuse: nothing is fetched from, or sent to, another host."""

from __future__ import annotations

from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval';"
    " style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:;"
    " connect-src 'self'; object-src 'none'; base-uri 'self'; form-action 'self';"
    " frame-ancestors 'none'"
)
"""Of the page. Vue compiles templates in the browser; NiceGUI starts from a script in the page."""


class Guard:
    """Wraps an application: its pages name `POLICY`, where they name none of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", POLICY)
                headers.setdefault("x-content-type-options", "nosniff")
            await send(message)

        await self._app(scope, receive, with_policy if scope["type"] == "http" else send)
