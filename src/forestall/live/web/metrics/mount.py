"""The route ``/metrics``.

FastAPI reads the types of routes where they are made, so they are no text here.
"""

from collections.abc import Callable, Mapping

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from forestall.core.model.live.counts import LedgerCounts
from forestall.live.web.metrics.figures import ControllerFigures
from forestall.live.web.metrics.measured import MeasuredDesk
from forestall.live.web.site import Mount, SiteParts


def metrics_mount(
    desk: MeasuredDesk,
    counts: Callable[[], LedgerCounts],
    messages: Callable[[], Mapping[tuple[str, str], int]] = dict,
) -> Mount:
    """Return what serves the figures of a controller below ``/metrics``, to anybody: no names are
    in them.

    Parameters
    ----------
    desk : the one that the API and the page ask, so that their quotes are counted
    counts : returns the counts of the ledger (`forestall.live.ledger.counts.LedgerCounter`)
    messages : returns how many messages were sent (`forestall.live.messages.Messenger.told`)
    """
    registry = CollectorRegistry()
    registry.register(ControllerFigures(desk, counts, messages))
    registry.register(desk.registry)

    def mounted(app: FastAPI, _: SiteParts) -> None:
        @app.get("/metrics", include_in_schema=False)
        def metrics(request: Request) -> Response:
            """Return all figures, in the form that is asked for."""
            encode, kind = choose_encoder(request.headers.get("accept", ""))
            return Response(encode(registry), media_type=None, headers={"Content-Type": kind})

    return mounted
