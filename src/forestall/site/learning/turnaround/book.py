"""Promises for single jobs, online: the same book that a replay fills, one event at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.core.model.quotes import DecileRecord
from forestall.prediction.models.kept import under
from forestall.prediction.models.learner import State
from forestall.site.learning.turnaround.answer import TimedQuote, WaitAnswer, reasons_of, rests_on
from forestall.site.learning.turnaround.book_state import (
    BY_DEADLINE,
    BY_LEVEL,
    CANCEL,
    KEPT,
    MISSED,
    PENDING,
    POINTS,
    RUNNING,
    START,
    SUBMIT,
    BookState,
    new_book,
)
from forestall.site.learning.turnaround.books.aside import unchanged
from forestall.site.learning.turnaround.books.checks import (
    EVENTS,
    Event,
    check_deadline,
    check_level,
    reached,
    told_of,
)
from forestall.site.learning.turnaround.books.kept import kept_book, restored_book
from forestall.site.learning.turnaround.books.names import Alike, Names
from forestall.site.learning.turnaround.books.room import untold, with_room
from forestall.site.learning.turnaround.kept import inside, spelled_out
from forestall.site.learning.turnaround.learned import LEVELS
from forestall.site.learning.turnaround.learner import TurnaroundLearner
from forestall.site.learning.turnaround.replay import rely_on_told
from forestall.site.learning.turnaround.target_learner import (  # fmt: skip
    LEVEL_ARRAY,
    Fitting,
    LearnedLaw,
    at_need,
)

with lazily():
    from forestall.site.learning.turnaround import book_kernels, tell_kernels

if TYPE_CHECKING:
    from forestall.reliability.checkpoints.completion import CompletionTime

Records = tuple[DecileRecord, ...]


class CompletionBook:
    """A book of promises that follows jobs as they arrive.

    Times are whole seconds and never go back; in one second submissions are told before starts and
    these before ends. Told the events of a record in the order of a replay, it promises the same,
    byte for byte.

    Parameters
    ----------
    rules : settings other than `book_state.RULES`
    learn : whether distributions are learned from features of job and queue, where these did better
        so far than similar jobs only
    seed, fitting : of what is learned; see `learner.TurnaroundLearner`. Fitting takes seconds each
        time that some 1,000 jobs have ended, or 6 % more;
        ``fitting=lambda work: pool.submit(work).result`` does it in a thread of a pool

    >>> book = CompletionBook()
    >>> book.submit("a", 0, nodes=4, limit=3600, user="ann")
    >>> quote = book.quote("a", probability=0.9)
    >>> book.observe("start", "a", 60)
    >>> book.observe("end", "a", 1800)
    >>> quote.deadline
    3600
    """

    def __init__(
        self,
        rules: Mapping[str, float] | None = None,
        *,
        learn: bool = True,
        seed: int = 1,
        fitting: Fitting = at_need,
    ) -> None:
        self._book: BookState = new_book(64, 64, 64, 64, 4, 8, 4, dict(rules or {}))
        self._learner: TurnaroundLearner | None = None
        if learn:
            self._learner = TurnaroundLearner(seed, fitting=fitting, waits=True)
            self._book = self._book._replace(told=untold(self._book.told, 64))
        self._rests: dict[int, tuple[float, int]] = {}
        self._wait: LearnedLaw | None = None  # of the job submitted, or asked about, last
        # Rules that somebody chose, while the others may still change.
        self._chosen: dict[str, float] | None = dict(rules or {})
        self._places: dict[Hashable, int] = {}
        self._names = Names()
        self._count, self._phase, self._now = 0, 0, -(1 << 62)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, job: Hashable) -> bool:
        return job in self._places

    @property
    def now(self) -> int:
        """The time of the last event."""
        return self._now

    @property
    def ended(self) -> int:
        """Jobs that ended by themselves, from which it learned."""
        return int(self._book.desk[0]["done"])

    def open_jobs(self) -> dict[Hashable, bool]:
        """Return the jobs that have not ended, and whether each runs."""
        status = self._book.jobs["status"]
        places = self._book.open_jobs[: int(self._book.desk[0]["open"])]
        names = {k: job for job, k in self._places.items()}
        return {names[k]: bool(status[k] == RUNNING) for k in sorted(places.tolist())}

    def submit(
        self,
        job: Hashable,
        time: int,
        *,
        nodes: int,
        limit: int | None = None,
        user: str = "",
        name: str = "",
        partition: str = "",
    ) -> None:
        """Take in a job that was submitted, or could first start, at `time`.

        Raises ParameterError for a job that is there and has not ended, a time before the last one,
        and sizes below 1.
        """
        told = told_of(nodes, limit, user, name, partition)
        known = self._places.get(job)
        if known is not None and self._book.jobs[known]["status"] in (PENDING, RUNNING):
            raise ParameterError("job", job, "one that is not in the book, or has ended")
        self._told(time, 0)
        k, self._count = self._count, self._count + 1
        self._places[job] = k
        alike = self._names.classed(told)
        learn = None if self._learner is None else partial(self._learner.submit, k)
        self._take_in(k, time, told, alike, learn)

    def ask(
        self,
        now: int,
        *,
        nodes: int,
        limit: int | None = None,
        user: str = "",
        name: str = "",
        partition: str = "",
        probabilities: Sequence[float] = (),
        deadlines: Sequence[int] = (),
    ) -> tuple[TimedQuote, ...]:
        """Return what a job would be quoted were it submitted `now`: the deadline that is kept with
        each of the probabilities, then the probability of each of the deadlines.

        Each is to the last bit what `quote` says with ``promise=False`` after such a submission,
        and the book is left as it was: it may be asked as often as somebody likes. The quotes' job
        is None. Raises ParameterError as `submit` and `quote` do.
        """
        told = told_of(nodes, limit, user, name, partition)
        for level in probabilities:
            check_level(level)
        for deadline in deadlines:
            check_deadline(deadline, now)
        with self._left_alone():
            self._told(now, 0)
            k, self._count = self._count, self._count + 1
            alike = self._names.classed(told)
            with unchanged(self._book, k, alike.groups, now):
                learn = None if self._learner is None else self._learner.ask
                self._take_in(k, now, told, alike, learn)
                known = self._records(BY_LEVEL)
                by_level = [self._answer(k, BY_LEVEL, level, 0, known) for level in probabilities]
                known = self._records(BY_DEADLINE)
                by_deadline = [self._answer(k, BY_DEADLINE, 0.0, at, known) for at in deadlines]
        return (*by_level, *by_deadline)

    def observe(self, event: Event, job: Hashable, time: int) -> None:
        """Take in what happened to a job: it started; it ended by itself (well or not), or was
        cancelled by its user; a failure stopped its run, and it waits again (fail) or not (lose);
        the same for other reasons of the system (requeue, stop).

        Raises ParameterError for what cannot happen to it.
        """
        if event not in EVENTS:
            raise ParameterError("event", event, "one of " + ", ".join(EVENTS))
        k, kind = self._place(job), EVENTS[event]
        status = int(self._book.jobs[k]["status"])
        needed = PENDING if kind == START else RUNNING
        if status != needed and not (kind == CANCEL and status == PENDING):
            must = "waits" if needed == PENDING else "runs"
            raise ParameterError("event", f"{event} of {job!r}", f"a job that {must}")
        self._told(time, 1 if kind == START else 2)
        book_kernels.happened(self._book, kind, k, time)
        if self._learner is not None:
            self._learner.happen(kind, k, time)

    def quote(
        self,
        job: Hashable,
        *,
        probability: float | None = None,
        deadline: int | None = None,
        promise: bool = True,
    ) -> TimedQuote:
        """Return the deadline that is kept with `probability`, or the probability of `deadline`.

        To be asked when the job has just been submitted. With `promise` it enters the book, once
        for each of the two questions; else nothing changes. For a job that has waited or run for a
        while ask `chance_left`. Raises ParameterError.
        """
        which = self._which(job, probability, deadline)
        before = self._book.promises[which].copy()
        self._enter(job, which, probability, deadline, promise)
        said = self._quoted(job, which, self._records(which % 2))
        if not promise:
            self._book.promises[which] = before
        return said

    def enter(
        self, job: Hashable, *, probability: float | None = None, deadline: int | None = None
    ) -> None:
        """Enter a promise as `quote` does, where nobody wants to know what it says."""
        which = self._which(job, probability, deadline)
        self._enter(job, which, probability, deadline, promise=True)

    def _which(self, job: Hashable, probability: float | None, deadline: int | None) -> int:
        """Return the row of a promise; ParameterError for a question that cannot be."""
        k = self._place(job)
        if (probability is None) == (deadline is None):
            raise ParameterError("probability", probability, "either a probability or a deadline")
        if probability is not None:
            check_level(probability)
        entry = self._book.jobs[k]
        if int(entry["status"]) != PENDING or int(entry["submit"]) != self._now:
            raise ParameterError("job", job, "a job that was submitted just now; see chance_left")
        if deadline is not None:
            check_deadline(deadline, self._now)
        return 2 * k + (BY_LEVEL if deadline is None else BY_DEADLINE)

    def _enter(
        self, job: Hashable, which: int, level: float | None, deadline: int | None, promise: bool
    ) -> None:
        if promise and int(self._book.promises["state"][which]) != 0:
            raise ParameterError("job", job, "a job without a promise of this kind")
        told = float(level or 0.0), int(deadline or 0), bool(promise)
        book_kernels.offer(self._book, which // 2, which % 2, *told)

    def wait(self, job: Hashable, now: int | None = None) -> WaitAnswer:
        """Return what is left of the wait of a job that has not started, by what is known `now`
        (default: the last event): that it still waits, what is before it, what runs.

        Raises ParameterError for other jobs, and where waits are not learned, or were not yet when
        it was submitted.
        """
        k = self._place(job)
        time = self._not_before(now)
        waits = None if self._learner is None else self._learner.waits
        if waits is None or k not in waits:
            allowed = "a job that waits for its first start, in a book that learns waits"
            raise ParameterError("job", job, allowed)
        return WaitAnswer.of(waits.left(k, time))

    def ask_wait(self, now: int, **job: Any) -> WaitAnswer:
        """Return how long a job would wait were it submitted `now`; the book is left as it was.
        Says and raises what `ask` does; waits must be learned."""
        self.ask(now, **job)
        if self._wait is None:
            raise ParameterError("learn", False, "a book that learns waits")
        return WaitAnswer.of(self._wait)

    def chance_left(self, job: Hashable, deadline: int, now: int | None = None) -> float:
        """Return the probability that an open job is done by `deadline`, knowing that it is not
        done by `now` (default: the last event) and, where it has started, when.

        The distribution is that told at its submission, given how long it has waited or run. It is
        not corrected by the book's record.
        """
        k = self._place(job)
        time = self._not_before(now)
        entry = self._book.jobs[k]
        status = int(entry["status"])
        if status not in (PENDING, RUNNING):
            raise ParameterError("job", job, "a job that has not ended")
        # What is learned is of the whole turnaround; of one that runs, like jobs tell the rest.
        law = self._book.laws[int(entry["slot"])]["grid" if status == PENDING else "plain"]
        begin = int(entry["submit"] if status == PENDING else entry["started"])
        waits = law[0, :POINTS] if status == PENDING else np.zeros(1)
        by, past = (reached(law, waits, at - begin) for at in (deadline, time))
        return float((by - past) / (1 - past)) if past < 1 and by > past else 0.0

    def chance_with(self, job: Hashable, deadline: int, completion: CompletionTime) -> float:
        """Return the probability that a job that has just been submitted is done by `deadline`,
        its wait as learnt here and its time from start to end by a law of one's own: that of a job
        with known work that fails, restarts and goes on from its last checkpoint (see
        `fs.completion_time`). Not corrected by the book's record.
        """
        k = self._place(job)
        entry = self._book.jobs[k]
        if int(entry["status"]) != PENDING:
            raise ParameterError("job", job, "a job that waits")
        waits = self._book.laws[int(entry["slot"])]["plain"][0, :POINTS]
        left = deadline - int(entry["submit"]) - waits
        return float(np.where(left > 0, completion.cdf(np.maximum(left, 0.0)), 0.0).mean())

    def record(
        self, probability: float, *, asked: Literal["probability", "deadline"]
    ) -> DecileRecord:
        """Return what became of the promises in the decile of `probability`: those where it was
        asked for, or those of named deadlines."""
        question = BY_LEVEL if asked == "probability" else BY_DEADLINE
        return self._records(question)[min(int(probability * 10), 9)]

    def _records(self, question: int) -> Records:
        """Return the records of all deciles for one of the two questions."""
        mine = self._book.promises[question : 2 * self._count : 2]
        counted, state = mine["counted"] == 1, mine["state"]
        kept, missed = (
            np.bincount(mine["bin"][counted & (state == end)], minlength=10).tolist()
            for end in (KEPT, MISSED)
        )
        return tuple(
            DecileRecord(k / 10, (k + 1) / 10, kept[k] + missed[k], kept[k]) for k in range(10)
        )

    # -------------------------------------------------------------------------------------- kept

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays, with which `from_state` makes a
        book that goes on as this one; a forest that is being fitted is waited for. Raises
        ParameterError for jobs that are called neither text nor number."""
        named = zip(spelled_out(self._places), self._places.values(), strict=True)
        values = {
            "jobs": [list(one) for one in named],
            **self._names.values(),
            "count": self._count,
            "now": self._now,
            "phase": self._phase,
            "rests": [[k, *rests] for k, rests in self._rests.items()],
            "rules": self._chosen,
            "learner": None,
        }
        arrays = kept_book(self._book)
        if self._learner is not None:
            values["learner"], more = self._learner.state()
            arrays |= {f"learner.{name}": array for name, array in more.items()}
        return values, arrays

    @classmethod
    def from_state(
        cls,
        values: Mapping[str, Any],
        arrays: Mapping[str, npt.NDArray[Any]],
        *,
        fitting: Fitting = at_need,
    ) -> CompletionBook:
        """Return the book of which `state` told. Raises ValueError, or what else missing values
        raise, where they do not fit together."""
        self = cls(learn=False)
        self._book = restored_book(arrays)
        self._chosen = values["rules"]
        self._places = {job: int(k) for job, k in values["jobs"]}
        self._names = Names.from_values(values)
        self._count, self._phase = int(values["count"]), int(values["phase"])
        self._now = int(values["now"])
        self._rests = {int(k): (float(share), int(jobs)) for k, share, jobs in values["rests"]}
        if values["learner"] is not None:
            learner = under("learner.", arrays)
            self._learner = TurnaroundLearner.from_state(
                values["learner"], learner, fitting=fitting
            )
        self._check()
        return self

    def _check(self) -> None:
        """Raise ValueError where what was restored points outside."""
        book, jobs = self._book, len(self._book.jobs)
        inside("jobs", np.array([*self._places.values()], np.int64), self._count)
        inside(
            "rows", np.array(self._names.numbers(), np.int64), max(len(book.near), len(book.far))
        )
        rows = {
            name: (count, len(getattr(book, name))) for name, count in self._names.rows().items()
        }
        rows |= {"count": (self._count, jobs)}
        rows |= {"told": (jobs if self._learner is not None else 0, len(book.told))}
        for name, (count, room) in rows.items():
            inside(name, np.array([count]), room + 1)

    # ------------------------------------------------------------------------------------ inside

    def _place(self, job: Hashable) -> int:
        if job not in self._places:
            raise ParameterError("job", job, "a job that was submitted to this book")
        return self._places[job]

    def _not_before(self, now: int | None) -> int:
        time = self._now if now is None else now
        if time < self._now:
            raise ParameterError("now", time, f"a time not before {self._now}, that of the book")
        return time

    def _told(self, time: int, phase: int) -> None:
        if (time, phase) < (self._now, 0):
            raise ParameterError("time", time, f"a time not before {self._now}")
        if time > self._now:
            self._rests.clear()  # quotes are of jobs that were submitted now
        self._now, self._phase = time, phase

    def _take_in(
        self,
        k: int,
        time: int,
        told: Mapping[str, Any],
        alike: Alike,
        learn: Callable[..., LearnedLaw] | None,
    ) -> None:
        """Take in the submission of job k."""
        rows, learns = self._names.rows(), self._learner is not None
        self._book = with_room(self._book, self._count, rows, learns=learns)
        entry = self._book.jobs[k]
        entry["limit"], entry["size"] = told["limit"], told["size"]
        entry["user"], entry["part"] = alike.user, alike.part
        entry["keys"], entry["groups"] = alike.keys, alike.groups
        if learn is not None:
            self._learn(learn, k, time, told)
        book_kernels.happened(self._book, SUBMIT, k, time)

    @contextmanager
    def _left_alone(self) -> Iterator[None]:
        """Give back all that is not in the book's arrays."""
        names = ("_book", "_count", "_now", "_phase", "_rests", "_chosen")
        before = {name: getattr(self, name) for name in names}
        self._rests = {}
        try:
            with self._names.unchanged():
                yield
        finally:
            vars(self).update(before)

    def _learn(
        self, learn: Callable[..., LearnedLaw], k: int, time: int, told: Mapping[str, Any]
    ) -> None:
        """Write down what is learned of a job's turnaround, before its law is made."""
        alike = np.empty((2, len(LEVELS)), np.float32)
        tell_kernels.tell_alike(self._book, k, time, LEVEL_ARRAY, alike)
        law = learn(time, *alike, **told)
        self._book.told[k] = law.told()
        if law.jobs and self._chosen is not None:
            rely_on_told(self._book, self._chosen)
            self._chosen = None
        self._rests[k] = law.share, law.jobs
        self._wait = law.wait

    def _answer(
        self, k: int, question: int, level: float, deadline: int, records: Records
    ) -> TimedQuote:
        book_kernels.offer(self._book, k, question, float(level), int(deadline), False)
        return self._quoted(None, 2 * k + question, records)

    def _quoted(self, job: Hashable, which: int, records: Records) -> TimedQuote:
        promise, entry = self._book.promises[which], self._book.jobs[which // 2]
        chance = float(promise["stated"])
        share, jobs = self._rests.get(which // 2, (0.0, 0))
        return TimedQuote(
            job,
            int(promise["deadline"]),
            chance,
            min(float(promise["raw"]), 1.0),
            float(promise["wait"]),
            float(promise["run"]),
            reasons_of(entry, promise, rests_on(share, jobs)),
            records[min(int(chance * 10), 9)],
            share,
            jobs,
        )
