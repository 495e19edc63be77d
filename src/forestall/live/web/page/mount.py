"""Mounts the live page into a web application."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import FastAPI, Form, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from nicegui import ui

from forestall.core.model.live.desk import Desk, Viewer
from forestall.live.web.page.feed import Feed
from forestall.live.web.page.guard import Guard
from forestall.live.web.page.live_page import VIEWS, LivePage
from forestall.live.web.page.login import login_page
from forestall.live.web.page.sessions import COOKIE, Sessions, ViewerOfToken, is_foreign
from forestall.live.web.page.style import STYLE

WRONG: Final = "Unknown token. Check that all of it was pasted."
PAUSE: Final = 0.5
"""s that a wrong token costs."""
ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<rect width="16" height="16" rx="3.5" fill="#0072b2"/>'
    '<path d="M4 8.4 7 11.4 12.2 4.8" fill="none" stroke="#fff" stroke-width="2"/></svg>'
)


def mount_page(
    app: FastAPI, desk: Desk, viewer_of_token: ViewerOfToken, *, every: float = 1.0
) -> None:
    """Add the page to an application, once in a process, after all other routes: it answers every
    address that is left.

    Parameters
    ----------
    desk : who is asked; from threads
    viewer_of_token : tells whose a token is; None: nobody's
    every : least s between two refreshes
    """
    sessions, feed = Sessions(viewer_of_token), Feed(desk, every)
    _add_session_routes(app, sessions)
    _add_documents(app, sessions, feed)
    _add_views(sessions, feed, every)
    app.add_middleware(Guard, sessions=sessions)
    ui.run_with(
        app, title="forestall", favicon=ICON, dark=None, language="en-US", tailwind=False,
        binding_refresh_interval=None, reconnect_timeout=30.0, show_welcome_message=False,
    )  # fmt: skip


def _add_session_routes(app: FastAPI, sessions: Sessions) -> None:
    @app.get("/login", include_in_schema=False)
    def ask_for_token() -> HTMLResponse:
        return HTMLResponse(login_page(), headers={"Cache-Control": "no-store"})

    @app.post("/login", include_in_schema=False)
    async def log_in(request: Request, token: str = Form("")) -> Response:
        if is_foreign(request):
            return Response(status_code=403)
        home = RedirectResponse(
            request.url_for("ask_for_token").path.removesuffix("login") or "/", 303
        )
        if await asyncio.to_thread(sessions.begin, request, home, token.strip()):
            return home
        await asyncio.sleep(PAUSE)
        return HTMLResponse(login_page(WRONG), 401, headers={"Cache-Control": "no-store"})

    @app.post("/logout", include_in_schema=False)
    def log_out(request: Request) -> Response:
        if is_foreign(request):
            return Response(status_code=403)
        answer = RedirectResponse("login", 303)
        sessions.end(request, answer)
        return answer

    @app.get("/page/me", include_in_schema=False)
    def me(request: Request) -> Response:
        known = sessions.viewer(request.cookies.get(COOKIE)) is not None
        return Response(status_code=204 if known else 401)


def _add_documents(app: FastAPI, sessions: Sessions, feed: Feed) -> None:
    @app.get("/page/data/{name}", include_in_schema=False)
    async def document(name: str, request: Request) -> Response:
        viewer = sessions.viewer(request.cookies.get(COOKIE))
        if viewer is None:
            return Response(status_code=401)
        found = (await feed.told(viewer)).documents.get(name)
        if found is None:
            return Response(status_code=404)
        headers = {
            "ETag": f'"{found.version}"', "Cache-Control": "private, no-cache",
            "Vary": "Cookie, Accept-Encoding",
        }  # fmt: skip
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(found.plain, media_type="application/json", headers=headers)
        headers["Content-Encoding"] = "gzip"
        return Response(found.packed, media_type="application/json", headers=headers)


def _add_views(sessions: Sessions, feed: Feed, every: float) -> None:
    def viewing(name: str) -> None:
        def show(request: Request) -> Response | None:
            cookie = request.cookies.get(COOKIE)

            def viewer() -> Viewer | None:
                return sessions.viewer(cookie)

            if viewer() is None:
                return RedirectResponse("login", 303)
            ui.add_head_html(f"<style>{STYLE}</style>")
            LivePage(feed, viewer, name, every)
            return None

        ui.page("/" if name == VIEWS[0] else f"/{name}")(show)

    for name in VIEWS:
        viewing(name)
