"""The API as an application: a desk, and who may ask it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException as AnyHTTPException

from forestall.__about__ import __version__
from forestall.model.cluster.faults import WriteError, WriteFault
from forestall.model.errors import ForestallError, InputError, LedgerError, ParameterError
from forestall.model.live.desk import Desk, Viewer
from forestall.web.api.access import Access, RateLimit, client_of
from forestall.web.api.asked import ErrorTold, HealthTold
from forestall.web.api.shield import LARGEST, Shield

ABOUT: Final = """\
Deadlines with stated probabilities for jobs on a cluster whose nodes fail, and their outcomes.

Ask for a quote, take one of its offers with the job's script, and follow the promise. Users see
their own jobs and promises, operators all. Times are seconds since 1970, durations seconds,
probabilities from 0 to 1. Errors are `{"detail": "one line"}`.
"""
BURST: Final = 4.0
"""A viewer may ask for so many seconds' worth of requests at once."""
_LOG: Final = logging.getLogger("forestall.web")
_BEARER: Final = HTTPBearer(
    auto_error=False, description="A token of `forestall serve token add`. Not needed on the socket"
)


@dataclass(frozen=True)
class ApiSettings:
    """What an API is told beside its desk.

    Attributes
    ----------
    stale : s; `/healthz` says that all is not well where the last look is older
    rate : requests of one viewer in a second, on average
    """

    stale: int = 240
    rate: int = 50


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


def application(desk: Desk, settings: ApiSettings) -> FastAPI:
    """Return an application that answers `/healthz`; routes are added to it."""
    app = bare_application("forestall", ABOUT)

    @app.get(
        "/healthz", tags=["service"], summary="Whether the controller is healthy",
        responses={503: {
            "model": HealthTold, "description": "The last read is too old, or missing",
        }},
    )  # fmt: skip
    def healthz() -> HealthTold:
        """Return the age of the last look at the cluster and the version. No token is needed."""
        told, code = _health(desk, settings.stale)
        if code != 200:
            return JSONResponse(told.model_dump(), code)  # type: ignore[return-value]
        return told

    return app


def _health(desk: Desk, stale: int) -> tuple[HealthTold, int]:
    try:
        told = desk.cluster(Viewer("", "user"))
    except ForestallError as error:
        return HealthTold(status=str(error), age=None, version=__version__), 503
    age = None if told.looked is None else max(told.now - told.looked, 0)
    well = age is not None and age <= stale
    status = "ok" if well else told.said or f"the last read of the cluster is {age} s old"
    return HealthTold(status=status, age=age, version=__version__), 200 if well else 503


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
    401: {"model": ErrorTold, "description": "No token, or an unknown one"},
    413: {"model": ErrorTold, "description": "The request is larger than 1 MiB"},
    422: {"model": ErrorTold, "description": "Invalid request"},
    429: {"model": ErrorTold, "description": "Too many requests; `Retry-After` says when to retry"},
    503: {"model": ErrorTold, "description": "The ledger cannot be read or written"},
}
