"""The API as an application: a desk, and who may ask it."""

from dataclasses import dataclass
from typing import Final

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from forestall.__about__ import __version__
from forestall.core.model.errors import ForestallError
from forestall.core.model.live.desk import Desk, Viewer
from forestall.core.web.doors import bare_application
from forestall.live.web.api.asked import HealthTold

ABOUT: Final = """\
Deadlines with stated probabilities for jobs on a cluster whose nodes fail, and their outcomes.

Ask for a quote, take one of its offers with the job's script, and follow the promise. Users see
their own jobs and promises, operators all. Times are seconds since 1970, durations seconds,
probabilities from 0 to 1. Errors are `{"detail": "one line"}`.
"""


@dataclass(frozen=True)
class ApiSettings:
    """What an API is told beside its desk.

    Attributes
    ----------
    rate : requests of one viewer in a second, on average
    """

    rate: int = 50


def application(desk: Desk) -> FastAPI:
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
        told, code = _health(desk)
        if code != 200:
            return JSONResponse(told.model_dump(), code)  # type: ignore[return-value]
        return told

    return app


def _health(desk: Desk) -> tuple[HealthTold, int]:
    try:
        told = desk.cluster(Viewer("", "user"))
    except ForestallError as error:
        return HealthTold(status=str(error), age=None, version=__version__), 503
    age = None if told.looked is None else max(told.now - told.looked, 0)
    blind = told.is_blind
    status = (told.said or f"the last read of the cluster is {age} s old") if blind else "ok"
    return HealthTold(status=status, age=age, version=__version__), 503 if blind else 200
