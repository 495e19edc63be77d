"""What browsers are told, asked of the desk once a cycle for all who may see the same.

Operators see the same, a user their own: so many askings are there, however many tabs are open.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from forestall.core.model.errors import ForestallError
from forestall.core.model.live.desk import ClusterTold, Desk, Viewer
from forestall.live.web.page.documents import PageDocument, of_deadlines, of_jobs, of_nodes, of_rows

RESTS: Final = 8
"""Asking the desk takes at most one part of so many of the time."""
MOST_OPEN: Final = 10_000
"""Open promises whose deadlines the time line can show."""
BEAT: Final = 10
"""s after which browsers are told that nothing is new: those who hear nothing say so."""
FORGOTTEN: Final = 600
"""s after which what nobody looks at is dropped."""
_PASSING: Final = {"now": 0, "looked": None, "cycle": 0, "cycle_s": 0.0}
"""What differs in every look, and is no reason to ask for the rest; a new cycle is."""


@dataclass(frozen=True)
class PageTold:
    """What one kind of viewer is told.

    Attributes
    ----------
    cluster : `ClusterTold` as JSON, None where the desk could not say
    documents : by name: nodes, jobs, promises, record, and for operators proposals
    said : what the desk could not do, in its words; "" where all is well
    """

    cluster: dict[str, Any] | None = None
    documents: dict[str, PageDocument] = field(default_factory=dict)
    said: str = ""

    @property
    def versions(self) -> dict[str, str]:
        """The documents' versions, by name."""
        return {name: one.version for name, one in self.documents.items()}


@dataclass
class _Seen:
    """What one kind of viewer was told last; times are of a monotonic clock."""

    told: PageTold = field(default_factory=PageTold)
    mark: tuple[ClusterTold, int] | None = None
    next_at: float = 0.0
    told_at: float = -BEAT
    wanted_at: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Feed:
    """What all browsers are told. To be used in one event loop; the desk is asked in threads.

    Parameters
    ----------
    desk : who is asked
    every : least s between two askings for the same viewer
    clock : monotonic, s
    """

    def __init__(
        self, desk: Desk, every: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.desk = desk
        self._every, self._clock = every, clock
        self._seen: dict[str, _Seen] = {}

    async def told(self, viewer: Viewer, *, anew: bool = False) -> PageTold:
        """Return what a viewer is told now; `anew`: also where it was asked for a moment ago, as
        somebody did something."""
        now = self._clock()
        self._forget(now)
        key = "" if viewer.operates else viewer.name
        seen = self._seen.setdefault(key, _Seen())
        seen.wanted_at = now
        if now < seen.next_at and not anew:
            return seen.told
        async with seen.lock:
            if self._clock() >= seen.next_at or anew:
                begun = self._clock()
                await asyncio.to_thread(self._look, seen, viewer, anew)
                ended = self._clock()
                seen.next_at = ended + max(self._every, RESTS * (ended - begun))
        return seen.told

    def _forget(self, now: float) -> None:
        old = [key for key, one in self._seen.items() if one.wanted_at < now - FORGOTTEN]
        for key in old:
            if not self._seen[key].lock.locked():
                del self._seen[key]

    def _look(self, seen: _Seen, viewer: Viewer, anew: bool) -> None:
        """Ask the desk: for the cluster in numbers always, for the rest where there is news. What
        was known before stays where it cannot answer."""
        try:
            cluster = self.desk.cluster(viewer)
            mark = (_lasting(cluster), cluster.cycle)
            documents = seen.told.documents
            if anew or mark != seen.mark:
                documents = self._documents(viewer)
            elif not seen.told.said and self._clock() < seen.told_at + BEAT:
                return
            seen.told, seen.mark = PageTold(asdict(cluster), documents), mark
            seen.told_at = self._clock()
        except ForestallError as error:
            seen.told = PageTold(seen.told.cluster, seen.told.documents, str(error))

    def _documents(self, viewer: Viewer) -> dict[str, PageDocument]:
        desk = self.desk
        record = of_rows("deciles", desk.calibration(viewer)) | of_rows(
            "predictors", desk.predictors(viewer)
        )
        if viewer.operates:
            record |= of_rows("costs", desk.costs(viewer))
        content = {
            "nodes": of_nodes(desk.nodes(viewer)),
            "jobs": of_jobs(desk.jobs(viewer)),
            "deadlines": of_deadlines(desk.promises(viewer, ended=False, most=MOST_OPEN)),
            "promises": of_rows("promises", desk.promises(viewer)),
            "record": record,
        }
        if viewer.operates:
            content["proposals"] = of_rows("proposals", desk.proposals(viewer))
        return {name: PageDocument.of(one) for name, one in content.items()}


def _lasting(cluster: ClusterTold) -> ClusterTold:
    """Return what is told of a cluster without what differs in every look."""
    return ClusterTold(**(asdict(cluster) | _PASSING))
