"""The whole site: the API, and what is mounted beside it, such as the page and metrics.

A mount is a function that takes the application and its parts and adds what it has. The page's and
the metrics' stand in `MOUNTS`; a mount adds routes of its own below paths that the API has not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI

from forestall.core.model.live.desk import Desk
from forestall.core.web.access import Access
from forestall.core.web.doors import Door
from forestall.live.web.api.application import ApiSettings, application
from forestall.live.web.api.routes import routes
from forestall.live.web.page.mount import mount_page


@dataclass(frozen=True)
class SiteParts:
    """What a mount is given.

    Attributes
    ----------
    desk : the controller, as people meet it
    access : knows viewers by tokens and by who is at the other end of a socket
    door : a dependency of routes that lets in whom `access` knows, and returns the viewer
    settings : of the API
    """

    desk: Desk
    access: Access
    door: Door
    settings: ApiSettings


Mount = Callable[[FastAPI, SiteParts], None]


def page(app: FastAPI, parts: SiteParts) -> None:
    """Mount the live page."""
    mount_page(app, parts.desk, parts.access.tokens.viewer)


MOUNTS: Final[tuple[Mount, ...]] = (page,)
"""In this order: metrics, and the page last, which answers all other paths. A process mounts the
page once."""


def site(
    desk: Desk,
    access: Access,
    settings: ApiSettings | None = None,
    mounts: Sequence[Mount] = (),
) -> FastAPI:
    """Return the application that a server runs."""
    settings = settings or ApiSettings()
    door = Door(access, settings.rate)
    app = application(desk)
    app.include_router(routes(desk, door))
    parts = SiteParts(desk, access, door, settings)
    for mount in mounts:
        mount(app, parts)
    return app
