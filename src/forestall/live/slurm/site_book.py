"""What becomes of a site's jobs, told to a book of promises by one look after another.

A job is taken in when it is first seen to wait for nothing but nodes, or to run: it was submitted
then, or could first start. Its start and its end are told with the times that Slurm gives, not
before those of the look before. Of each job that is seen as it comes the book also says what it
would have been promised, for probabilities spread evenly: by what became of these it corrects what
it says (`forestall.site.learning.turnaround.book`).

A book keeps every job that it was told of. So that a year takes no more memory than a month, a
second one is told the same beside the first one once that has learned from many jobs, and takes its
place when it has learned from as many.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final, NamedTuple

from forestall.live.quotes.offers import WantedJob
from forestall.live.slurm.reconcile import holds_nodes, may_start
from forestall.site.learning.turnaround.book import CompletionBook
from forestall.site.learning.turnaround.books.checks import Event
from forestall.site.learning.turnaround.tasks import FAILURES, TAKEN
from forestall.slurm.cluster.nouns import ClusterJob, ClusterRun, ClusterSnapshot

GENERATION: Final = 20_000
"""Ended jobs from which a book has learned when the next one is begun."""
LOST: Final = 900
"""s after which a job that no look and no accounting shows is given up."""
LATEST: Final = 256
"""Turnarounds of which deadlines are named that the book is asked about."""
_GOLDEN: Final = 0.6180339887498949
_SILVER: Final = 0.4142135623730951


@dataclass
class _Followed:
    """A job that the book knows as open: what it said of itself, its submission and its start (-1:
    it waits) as told, how often it was queued again (-1: not known), and since when nobody sees
    it."""

    job: ClusterJob | None
    submit: int
    start: int
    restarts: int
    unseen: int = -1


class _Step(NamedTuple):
    """What is to be told, in this order: when, which of a job's steps it is, the job, and what."""

    time: int
    place: int
    job: int
    event: Event | None
    told: ClusterJob | None


class SiteBook:
    """A book that learns from looks.

    Parameters
    ----------
    book : one that was kept, None: an empty one
    fresh : makes an empty book; by default one that goes by similar jobs alone
    generation : ended jobs from which a book has learned when the next one is begun
    """

    def __init__(
        self,
        book: CompletionBook | None = None,
        fresh: Callable[[], CompletionBook] | None = None,
        generation: int = GENERATION,
    ) -> None:
        self._fresh = fresh or (lambda: CompletionBook(learn=False))
        self.book = book if book is not None else self._fresh()
        self._next: CompletionBook | None = None
        self._generation = generation
        self._began = self.book.now
        self._promised = 0
        self._turnarounds = deque[int](maxlen=LATEST)
        self._open: dict[int, _Followed] = {
            job: _Followed(None, self.book.now, self.book.now if runs else -1, -1)
            for job, runs in self.book.open_jobs().items()
            if isinstance(job, int)
        }
        self._over: dict[int, int] = {}
        """When jobs ended that are still seen, and are known to have."""
        self.asking = Lock()
        """Held by whoever asks or saves the book: an answer changes it for a moment."""

    @property
    def ended(self) -> int:
        """Jobs that ended by themselves, from which it learned."""
        return self.book.ended

    def learn(self, seen: ClusterSnapshot) -> None:
        """Take in a look."""
        past = self._began
        for one in sorted(self._steps(seen), key=lambda one: one[:3]):
            self._tell(one, promise=past > 0)
        self._began = seen.began
        self._over = {key: end for key, end in self._over.items() if key in seen.jobs}
        self._succeed()

    def probability_by(self, job: WantedJob, deadline: int, now: int) -> float | None:
        """Return with which probability a job that is submitted now and held by nothing is done by
        a deadline; None where that is over."""
        now = max(now, self.book.now)
        if now >= deadline:
            return None
        quotes = self.book.ask(
            now, nodes=job.nodes, limit=job.time, user=job.user, name=job.name,
            partition=job.partition, deadlines=[deadline],
        )  # fmt: skip
        return quotes[0].probability

    # --------------------------------------------------------------------------- what is new

    def _steps(self, seen: ClusterSnapshot) -> Iterator[_Step]:
        for key, job in seen.jobs.items():
            if job.array and job.waits:
                continue  # its tasks come one by one as they start
            yield from self._of_job(key, job)
        ends = {run.job: run for run in sorted(seen.runs, key=lambda run: run.end or 0) if run.end}
        for key in [key for key in self._open if key not in seen.jobs]:
            yield from self._unseen(key, ends.get(key), seen.began)

    def _of_job(self, key: int, job: ClusterJob) -> Iterator[_Step]:
        followed = self._open.get(key)
        over = not job.waits and not holds_nodes(job) and job.end is not None
        if followed is None:
            if over and (not _ran(job) or self._over.get(key) == job.end):
                return
            if over and (job.end or 0) <= self.book.now:
                return  # it ended before a restart, and is known
            if not (over or holds_nodes(job) or may_start(job)):
                return
            ready = max(job.submit or 0, job.eligible or 0) or self.book.now
            began = job.start if job.start and not job.waits else ready
            submit = self._not_before(min(ready, began))
            followed = self._open[key] = _Followed(job, submit, -1, job.restarts)
            yield _Step(submit, 0, key, None, job)
        followed.job, followed.unseen = job, -1
        again = job.waits or job.restarts > followed.restarts >= 0
        if again and followed.start >= 0:
            yield self._back(key, followed, job.submit or 0, "requeue")
        followed.restarts = job.restarts
        if not job.waits and followed.start < 0 and _ran(job):
            yield self._started(key, followed, job.start or 0)
        if over:
            yield self._ended(key, followed, job.end or 0, job.state)
            self._over[key] = job.end or 0

    def _unseen(self, key: int, run: ClusterRun | None, now: int) -> Iterator[_Step]:
        """Yield the end of a job that the queue has forgotten, by accounting; where that has none,
        wait for it."""
        followed = self._open[key]
        if run is not None and run.end is not None and run.end >= followed.submit:
            if run.start is not None and followed.start < 0:
                yield self._started(key, followed, run.start)
            if run.state != "REQUEUED":
                yield self._ended(key, followed, run.end, run.state)
            return
        if followed.unseen < 0:
            followed.unseen = now
        elif now - followed.unseen >= LOST:
            yield self._ended(key, followed, now, "CANCELLED")

    def _started(self, key: int, followed: _Followed, start: int) -> _Step:
        followed.start = max(self._not_before(start), followed.submit)
        return _Step(followed.start, 2 * max(followed.restarts, 0) + 1, key, "start", None)

    def _back(self, key: int, followed: _Followed, when: int, event: Event) -> _Step:
        time = max(self._not_before(when), followed.start)
        followed.start = -1
        followed.submit = time
        return _Step(time, 2 * max(followed.restarts, 0) + 2, key, event, None)

    def _ended(self, key: int, followed: _Followed, end: int, state: str) -> _Step:
        """Return the end of a job; one that never ran was taken back, whatever is said of it."""
        del self._open[key]
        time = max(self._not_before(end), followed.submit, followed.start)
        event: Event = "end"
        if state == "CANCELLED" or followed.start < 0:
            event = "cancel"
        elif state in FAILURES:
            event = "lose"
        elif state in TAKEN:
            event = "stop"
        else:
            self._turnarounds.append(time - followed.submit)
        return _Step(time, 2 * max(followed.restarts, 0) + 2, key, event, None)

    def _not_before(self, time: int) -> int:
        return max(time, self.book.now)

    # ----------------------------------------------------------------------------- the books

    def _tell(self, step: _Step, *, promise: bool) -> None:
        for book in (self.book, self._next):
            if book is not None:
                _tell(book, step)
        if step.told is not None and promise:
            self._promise(step.job)

    def _promise(self, job: int) -> None:
        """Enter what a job that has just come would have been promised."""
        count, self._promised = self._promised, self._promised + 1
        level = 0.01 + 0.98 * (count * _GOLDEN % 1.0)
        named = sorted(self._turnarounds)
        for book in (self.book, self._next):
            if book is None:
                continue
            book.enter(job, probability=level)
            if named:
                after = named[int(len(named) * (count * _SILVER % 1.0))]
                book.enter(job, deadline=book.now + max(after, 1))

    def _succeed(self) -> None:
        """Begin the next book, or let it take the place of this one, where it is time."""
        if self._next is None and self.book.ended >= self._generation:
            self._next = self._fresh()
            for step in sorted(self._living(), key=lambda one: one[:3]):
                _tell(self._next, step)
        elif self._next is not None and self._next.ended >= self._generation:
            self.book, self._next = self._next, None

    def _living(self) -> Iterator[_Step]:
        """Yield what the next book has to know of jobs that have not ended."""
        for key, one in self._open.items():
            if one.job is None:
                continue
            yield _Step(one.submit, 0, key, None, one.job)
            if one.start >= 0:
                yield _Step(one.start, 1, key, "start", None)


def _ran(job: ClusterJob) -> bool:
    """Whether a job that does not wait has run: one that was taken back before gets a start, too,
    which is its end."""
    taken_back = job.state == "CANCELLED" and job.start == job.end
    return job.start is not None and not taken_back


def _tell(book: CompletionBook, step: _Step) -> None:
    """Tell a book one step; of a job that it does not know nothing but its submission."""
    if step.told is not None:
        job = step.told
        size = max(job.node_count, len(job.nodes), 1)
        book.submit(
            step.job, step.time, nodes=size, limit=job.limit or None,
            user=job.user, name=job.name, partition=job.partition,
        )  # fmt: skip
    elif step.event is not None and step.job in book:
        book.observe(step.event, step.job, step.time)
