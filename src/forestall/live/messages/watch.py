"""What people should know of a controller, found by comparing what its desk says with the last
time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from forestall.core.model.live.desk import ClusterTold, Desk, PromiseTold, Viewer
from forestall.live.messages.outbox import Notice
from forestall.live.messages.settings import MessageSettings

VIEWER: Final = Viewer("forestall", "operator")
MOST: Final = 5000
"""Open promises and proposals that are looked at."""
UNSEEN: Final = "the cluster cannot be seen"


class DeskWatch:
    """Looks at a desk, and says what is new.

    What was over when it began is not told: a controller that is restarted does not repeat itself
    about missed promises.
    """

    def __init__(self, desk: Desk, settings: MessageSettings) -> None:
        self._desk, self._settings = desk, settings
        self._open: set[str] | None = None
        self._unseen = False

    def look(self) -> list[Notice]:
        """Return what there is to tell. Errors are the desk's."""
        cluster = self._desk.cluster(VIEWER)
        return [*self._sight(cluster), *self._promises(), *self._proposals()]

    def _sight(self, cluster: ClusterTold) -> Iterator[Notice]:
        """Yield that the cluster is out of sight, and that it is seen again."""
        if cluster.looked is None:
            return
        age = cluster.now - cluster.looked
        if age > max(self._settings.unseen, cluster.fresh):
            self._unseen = True
            last = moment(cluster.looked)
            why = cluster.said or "the cluster was not read"
            yield Notice(UNSEEN, f"since {cluster.looked}", f"last seen {last}: {why}")
        elif self._unseen:
            self._unseen = False
            yield Notice(UNSEEN, f"again {cluster.looked}", f"seen again {moment(cluster.looked)}")

    def _promises(self) -> Iterator[Notice]:
        """Yield promises that were missed since the last time, and open ones at risk."""
        told = {one.id: one for one in self._desk.promises(VIEWER, ended=False, most=MOST)}
        for gone in sorted((self._open or set()) - set(told)):
            one = self._desk.promise(VIEWER, gone)
            if one.outcome == "missed":
                cause = one.cause or "cause unknown"
                yield Notice(f"promises missed, {cause}", one.id, _missed(one))
        self._open = set(told)
        for one in told.values():
            least = min(self._settings.at_risk, one.probability)
            if one.likely is not None and one.likely < least:
                stated = f"{100 * one.probability:.0f} % stated"
                line = f"{_job(one)}: {100 * one.likely:.0f} % now, {stated}"
                yield Notice("promises at risk", one.id, line)

    def _proposals(self) -> Iterator[Notice]:
        """Yield proposals that wait for a person, and actions that failed."""
        for one in self._desk.proposals(VIEWER, most=MOST):
            line = f"{one.action} {one.target} ({one.id}): {one.reason}"
            if one.state == "proposed":
                yield Notice(f"{one.action} waits for approval", one.id, line)
            elif one.state == "failed":
                yield Notice(f"{one.action} failed", one.id, f"{line}; {one.why}")


def moment(at: int) -> str:
    """Return a moment as messages tell it."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def _job(one: PromiseTold) -> str:
    job = "a job" if one.job is None else f"job {one.job}"
    return f"{job} of {one.owner} (promise {one.id}, due {moment(one.deadline)})"


def _missed(one: PromiseTold) -> str:
    ended = "it has not ended" if one.ended is None else f"it ended {moment(one.ended)}"
    return f"{_job(one)}: {ended}; {100 * one.probability:.0f} % stated"
