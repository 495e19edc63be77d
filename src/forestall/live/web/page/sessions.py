"""Who looks at the page: a token typed once, kept in a cookie that no script can read.

The cookie holds the token behind a random mark of its session. Nothing is stored on the server:
whoever checks tokens decides at every request anew, so that a token that was withdrawn shows
nothing more. The marks of ended sessions are kept, so that other tabs of one end with it.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from fastapi import Request, Response

from forestall.core.model.live.desk import Viewer

COOKIE: Final = "forestall_session"
LONGEST: Final = 7 * 86_400
"""s after which a token must be typed again."""
MOST_ENDED: Final = 10_000
"""Marks of ended sessions that are kept, the latest ones."""
ViewerOfToken = Callable[[str], Viewer | None]


class Sessions:
    """The sessions of one page.

    Parameters
    ----------
    viewer_of_token : tells whose a token is; None: nobody's
    """

    def __init__(self, viewer_of_token: ViewerOfToken) -> None:
        self._viewer_of_token = viewer_of_token
        self._ended: OrderedDict[str, None] = OrderedDict()

    def viewer(self, cookie: str | None) -> Viewer | None:
        """Return who has a cookie, None where it is nobody's or its session has ended."""
        mark, _, token = (cookie or "").partition(".")
        if not token or mark in self._ended:
            return None
        return self._viewer_of_token(token)

    def begin(self, request: Request, response: Response, token: str) -> bool:
        """Begin a session with a token; return whether it is somebody's."""
        if not token or self._viewer_of_token(token) is None:
            return False
        response.set_cookie(
            COOKIE, f"{secrets.token_urlsafe(12)}.{token}", max_age=LONGEST, httponly=True,
            samesite="strict", secure=_is_secret(request), path="/",
        )  # fmt: skip
        return True

    def end(self, request: Request, response: Response) -> None:
        """End the session of a request, in all its tabs."""
        mark, _, token = request.cookies.get(COOKIE, "").partition(".")
        if token:
            self._ended[mark] = None
            while len(self._ended) > MOST_ENDED:
                self._ended.popitem(last=False)
        response.delete_cookie(COOKIE, path="/")


def _is_secret(request: Request) -> bool:
    """Whether the browser speaks TLS, to us or to a proxy before us."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto"))


def is_foreign(request: Request) -> bool:
    """Whether a browser says that a page of another site sends this."""
    return request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
