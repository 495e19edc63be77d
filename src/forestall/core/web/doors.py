"""Doors of an API: who gets in, and what those are told who do not, or whose question is wrong."""

import logging
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.exceptions import HTTPException as AnyHTTPException

from forestall.__about__ import __version__
from forestall.core.model.errors import ForestallError, InputError, LedgerError, ParameterError
from forestall.core.model.faults import LookError, WriteError, WriteFault
from forestall.core.model.live.desk import Viewer
from forestall.core.web.access import Access, RateLimit, client_of
from forestall.core.web.shield import LARGEST, Shield

BURST: Final = 4.0
"""A viewer may ask for so many seconds' worth of requests at once."""
_LOG: Final = logging.getLogger("forestall.live.web")
_BEARER: Final = HTTPBearer(
    auto_error=False, description="A token of `forestall serve token add`. Not needed on the socket"
)


class ErrorTold(BaseModel):
    """What was wrong, in one line."""

    detail: str


class Door:
    """Lets in who may ask: a dependency of routes that returns the viewer."""

    def __init__(self, access: Access, rate: int, strangers: int | None = None) -> None:
        self.access = access
        self._limit = RateLimit(float(rate), BURST * rate)
        others = rate if strangers is None else strangers
        self._strangers = RateLimit(float(others), BURST * others)

    def __call__(self, request: Request, _: Annotated[Any, Depends(_BEARER)] = None) -> Viewer:
        """Return who asks; 401 for nobody that is known, 429 for who asks too often."""
        client = client_of(request.scope)
        viewer = self.access.viewer_of(request.headers.get("authorization", ""), client)
        if viewer is None:
            _wait(self._strangers.wait(client))
            raise HTTPException(
                401, "a token is needed: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )  # fmt: skip
        _wait(self._limit.wait(f"{viewer.role} {viewer.name}"))
        return viewer


def operator_of(door: Door) -> Callable[..., Viewer]:
    """Return a dependency that lets in operators only."""

    def operator(viewer: Annotated[Viewer, Depends(door)]) -> Viewer:
        if not viewer.operates:
            raise HTTPException(403, "only operators may do this")
        return viewer

    return operator


def _wait(seconds: int) -> None:
    if seconds:
        told = f"too many requests; ask again in {seconds} s"
        raise HTTPException(429, told, {"Retry-After": str(seconds)})


def bare_application(title: str, about: str, largest: int = LARGEST) -> FastAPI:
    """Return an application without routes that tells errors in one line, and takes bodies of at
    most so many bytes."""
    app = FastAPI(
        title=title, version=__version__, description=about, docs_url=None, redoc_url=None,
        swagger_ui_oauth2_redirect_url=None, openapi_url="/openapi.json",
    )  # fmt: skip
    app.add_middleware(Shield, largest=largest)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(AnyHTTPException, _http)
    app.add_exception_handler(ForestallError, _refused)
    app.add_exception_handler(Exception, _defect)
    return app


def line_of(text: str) -> str:
    """Return text as one line of printable characters, of a bounded length."""
    words = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return words[:500]


def error_answer(error: ForestallError) -> JSONResponse:
    """Return the answer for an error of ours: 422 for a value, 409 for what cannot be done now, 503
    where the ledger or the cluster is away."""
    headers = {}
    if isinstance(error, ParameterError):
        code = 422
    elif isinstance(error, LookError):
        code, headers = 503, {"Retry-After": "10"}
    elif isinstance(error, LedgerError):
        code, headers = 503, {"Retry-After": "10"}
        _LOG.error("%s", error)
    elif isinstance(error, WriteError):
        away = error.fault in (WriteFault.UNREACHABLE, WriteFault.AMBIGUOUS)
        code = 409
        headers = {"Retry-After": "10"} if away else {}
    else:
        code = 409 if isinstance(error, InputError) else 400
    return JSONResponse({"detail": line_of(str(error))}, code, headers)


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ForestallError)
    return error_answer(error)


async def _defect(_: Request, error: Exception) -> JSONResponse:
    """Say that it is our fault, and no more; the server's log has the whole of it."""
    told = "an error in the server; see its log"
    return JSONResponse({"detail": told}, 500)


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnyHTTPException)
    return JSONResponse({"detail": line_of(str(error.detail))}, error.status_code, error.headers)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a question, without saying it again."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(one) for one in first["loc"] if one != "body") or "body"
    return JSONResponse({"detail": line_of(f"{where}: {first['msg']}")}, 422)


ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": ErrorTold, "description": "The body is no text that can be read as JSON"},
    401: {"model": ErrorTold, "description": "No token, or an unknown one"},
    413: {"model": ErrorTold, "description": "The request is larger than 1 MiB"},
    422: {"model": ErrorTold, "description": "Invalid request"},
    429: {"model": ErrorTold, "description": "Too many requests; `Retry-After` says when to retry"},
    503: {"model": ErrorTold, "description": "The ledger or the cluster cannot be reached"},
}
