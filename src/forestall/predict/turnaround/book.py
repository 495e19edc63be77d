"""Promises for single jobs, online: the same book that a replay fills, one event at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt

from forestall._lazy import lazily
from forestall.model.arrays import Floats
from forestall.model.errors import ParameterError
from forestall.predict.kept import under
from forestall.predict.learner import State
from forestall.predict.turnaround.book_kept import kept_book, restored_book
from forestall.predict.turnaround.book_state import (
    BY_DEADLINE,
    BY_LEVEL,
    CANCEL,
    DYNAMIC,
    END,
    FAIL,
    KEPT,
    LOSE,
    OPEN,
    PENDING,
    POINTS,
    REQUEUE,
    RUN4,
    RUNNING,
    RUNS,
    START,
    STOP,
    SUBMIT,
    BookState,
    new_book,
)
from forestall.predict.turnaround.classes import (
    NARROW,
    WIDE,
    features,
    size_class,
)
from forestall.predict.turnaround.kept import inside, spelled_out
from forestall.predict.turnaround.learned import LEVELS
from forestall.predict.turnaround.learner import LEVEL_ARRAY, Fitting, TurnaroundLearner, at_need
from forestall.predict.turnaround.replay import rely_on_told
from forestall.predict.turnaround.tasks import family
from forestall.predict.turnaround.timed_quote import DecileRecord, TimedQuote, reasons_of, rests_on

with lazily():
    from forestall.predict.turnaround import alike_kernels, book_kernels

if TYPE_CHECKING:
    from forestall.reliability.checkpoints.completion import CompletionTime

Event = Literal["start", "end", "cancel", "fail", "lose", "requeue", "stop"]
EVENTS: Final[dict[str, int]] = {
    "start": START,
    "end": END,
    "cancel": CANCEL,
    "fail": FAIL,
    "lose": LOSE,
    "requeue": REQUEUE,
    "stop": STOP,
}


class CompletionBook:
    """A book of promises that is told of jobs as they come.

    Times are whole seconds and never go back; in one second submissions are told before starts and
    these before ends. Told the events of a record in the order of a replay, it promises the same,
    byte for byte.

    Parameters
    ----------
    rules : settings other than `book_state.RULES`
    learn : whether distributions are learned from features of job and queue, where these did better
        so far than like jobs alone
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
            self._learner = TurnaroundLearner(seed, fitting=fitting)
            self._book = self._book._replace(told=_untold(self._book.told, 64))
        self._rests: dict[int, tuple[float, int]] = {}
        # Rules that somebody chose, while the others may still change.
        self._chosen: dict[str, float] | None = dict(rules or {})
        self._places: dict[Hashable, int] = {}
        self._codes: dict[str, dict[str, int]] = {"user": {}, "name": {}, "part": {}}
        self._rows: dict[tuple[int, Hashable], int] = {}
        self._groups: dict[Hashable, int] = {"all": 0}
        self._near, self._far = 0, DYNAMIC
        self._count, self._now = 0, -(1 << 62)
        self._phase = 0
        self._none = np.full(1, -1.0)

    def __len__(self) -> int:
        return self._count

    @property
    def now(self) -> int:
        """The time of the last event."""
        return self._now

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
        if nodes < 1:
            raise ParameterError("nodes", nodes, "a whole number of at least 1")
        if limit is not None and limit < 1:
            raise ParameterError("limit", limit, "seconds, at least 1, or None")
        known = self._places.get(job)
        if known is not None and self._book.jobs[known]["status"] in (PENDING, RUNNING):
            raise ParameterError("job", job, "one that is not in the book, or has ended")
        self._told(time, 0)
        k, self._count = self._count, self._count + 1
        self._places[job] = k
        who, part = self._code("user", user), self._code("part", partition)
        keys = self._keys(who, self._code("name", family(name)), part, nodes, limit or 0)
        alike = self._alike(part, nodes)
        self._make_room()
        entry = self._book.jobs[k]
        entry["limit"], entry["size"] = limit or 0, nodes
        entry["user"], entry["part"], entry["keys"], entry["groups"] = who, part, keys, alike
        if self._learner is not None:
            told = {"size": nodes, "limit": limit or 0, "user": user, "name": name}
            self._learn(self._learner, k, time, {**told, "partition": partition})
        self._step(SUBMIT, k, time)

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
        self._step(kind, k, time)
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
        k = self._place(job)
        if (probability is None) == (deadline is None):
            raise ParameterError("probability", probability, "either a probability or a deadline")
        if probability is not None and not 0 < probability < 1:
            raise ParameterError("probability", probability, "a number between 0 and 1")
        entry = self._book.jobs[k]
        if int(entry["status"]) != PENDING or int(entry["submit"]) != self._now:
            raise ParameterError("job", job, "a job that was submitted just now; see chance_left")
        if deadline is not None and deadline <= self._now:
            raise ParameterError("deadline", deadline, f"a time after now, {self._now}")
        which = 2 * k + (BY_LEVEL if deadline is None else BY_DEADLINE)
        before = self._book.promises[which].copy()
        if promise and int(before["state"]) != 0:
            raise ParameterError("job", job, "a job without a promise of this kind")
        self._offer(k, which % 2, probability or 0.0, deadline or 0, promise)
        said = self._quoted(job, which)
        if not promise:
            self._book.promises[which] = before
        return said

    def chance_left(self, job: Hashable, deadline: int, now: int | None = None) -> float:
        """Return the probability that an open job is done by `deadline`, knowing that it is not
        done by `now` (default: the last event) and, where it has started, when.

        The distribution is that told at its submission, given how long it has waited or run. It is
        not corrected by the book's record.
        """
        k = self._place(job)
        time = self._now if now is None else now
        if time < self._now:
            raise ParameterError("now", time, f"a time not before {self._now}, that of the book")
        entry = self._book.jobs[k]
        status = int(entry["status"])
        if status not in (PENDING, RUNNING):
            raise ParameterError("job", job, "a job that has not ended")
        # What is learned is of the whole turnaround; of one that runs, like jobs tell the rest.
        law = self._book.laws[int(entry["slot"])]["grid" if status == PENDING else "plain"]
        begin = int(entry["submit"] if status == PENDING else entry["started"])
        waits = law[0, :POINTS] if status == PENDING else np.zeros(1)
        by, past = (_reached(law, waits, at - begin) for at in (deadline, time))
        return float((by - past) / (1 - past)) if past < 1 and by > past else 0.0

    def chance_with(self, job: Hashable, deadline: int, completion: CompletionTime) -> float:
        """Return the probability that a job that has just been submitted is done by `deadline`,
        its wait as learnt here and its time from start to end by a law of one's own: that of a job
        with known work that fails, restarts and goes on from its last checkpoint (spec page 2,
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
        mine = self._book.promises[question : 2 * self._count : 2]
        decile = min(int(probability * 10), 9)
        settled = (mine["counted"] == 1) & (mine["bin"] == decile) & (mine["state"] > OPEN)
        kept = int((settled & (mine["state"] == KEPT)).sum())
        made = kept + int((settled & (mine["state"] == KEPT + 1)).sum())
        return DecileRecord(decile / 10, (decile + 1) / 10, made, kept)

    # -------------------------------------------------------------------------------------- kept

    def state(self) -> State:
        """Return all of it as values that JSON can hold and arrays, with which `from_state` makes a
        book that goes on as this one; a forest that is being fitted is waited for. Raises
        ParameterError for jobs that are called neither text nor number."""
        named = zip(spelled_out(self._places), self._places.values(), strict=True)
        values = {
            "jobs": [list(one) for one in named],
            "codes": {what: [*known] for what, known in self._codes.items()},
            "rows": [[column, alike, row] for (column, alike), row in self._rows.items()],
            "groups": [*self._groups],
            "near": self._near,
            "far": self._far,
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
        self._codes = {
            what: {word: k for k, word in enumerate(values["codes"][what])} for what in self._codes
        }
        self._rows = {
            (int(column), tuple(alike)): int(row) for column, alike, row in values["rows"]
        }
        self._groups = {
            tuple(one) if isinstance(one, list) else one: k
            for k, one in enumerate(values["groups"])
        }
        self._near, self._far = int(values["near"]), int(values["far"])
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
        rows = np.array([row for _, row in self._rows.items()], np.int64)
        inside("rows", rows, max(len(book.near), len(book.far)))
        for name, count, room in (
            ("count", self._count, jobs),
            ("near", self._near, len(book.near)),
            ("far", self._far, len(book.far)),
            ("groups", len(self._groups), len(book.groups)),
            ("users", len(self._codes["user"]), len(book.users)),
            ("parts", len(self._codes["part"]), len(book.parts)),
            ("told", jobs if self._learner is not None else 0, len(book.told)),
        ):
            inside(name, np.array([count]), room + 1)

    # ------------------------------------------------------------------------------------ inside

    def _place(self, job: Hashable) -> int:
        if job not in self._places:
            raise ParameterError("job", job, "a job that was submitted to this book")
        return self._places[job]

    def _told(self, time: int, phase: int) -> None:
        if (time, phase) < (self._now, 0):
            raise ParameterError("time", time, f"a time not before {self._now}")
        if time > self._now:
            self._rests.clear()  # quotes are of jobs that were submitted now
        self._now, self._phase = time, phase

    def _code(self, what: str, word: str) -> int:
        known = self._codes[what]
        return known.setdefault(word, len(known))

    def _keys(self, user: int, name: int, part: int, nodes: int, limit: int) -> list[int]:
        keys = [0] * (max(*NARROW, *WIDE) + 1)
        for column, alike in features(user, name, part, nodes, limit, size_class(nodes)).items():
            row = self._rows.get((column, alike))
            if row is None and column in NARROW:
                row, self._near = self._near, self._near + NARROW[column]
            elif row is None:
                row, self._far = self._far, self._far + WIDE[column]
            assert row is not None
            self._rows[column, alike] = keys[column] = row
        keys[RUN4] = RUNS + (limit > 0)
        return keys

    def _alike(self, part: int, nodes: int) -> list[int]:
        """Return the calibrations that a job counts for; see `classes.calibrated`."""
        known = self._groups
        told: tuple[Hashable, ...] = (part, (part, size_class(nodes)))
        return [0, *(known.setdefault(one, len(known)) for one in told)]

    def _make_room(self) -> None:
        """Double what has become too small."""
        book = self._book
        jobs, promises = book.jobs, book.promises
        if self._count > len(jobs):
            jobs, promises = _larger(jobs, 2 * len(jobs)), _larger(promises, 4 * len(jobs))
            jobs["settled"][len(book.jobs) :] = -1
            book = book._replace(
                jobs=jobs,
                promises=promises,
                open_jobs=_larger(book.open_jobs, len(jobs)),
                heap=_larger(book.heap, 2 * len(jobs)),
            )
            if self._learner is not None:
                book = book._replace(told=_untold(book.told, len(jobs)))
        if int(book.desk["free"][0]) == 0:
            size = len(book.laws)
            free = np.zeros(2 * size, np.int64)
            free[:size] = np.arange(2 * size - 1, size - 1, -1)
            book = book._replace(laws=_larger(book.laws, 2 * size), free=free)
            book.desk["free"] = size
        wanted = {
            "near": self._near,
            "far": self._far,
            "parts": len(self._codes["part"]),
            "groups": len(self._groups),
            "users": len(self._codes["user"]),
        }
        grown = {
            name: _larger(getattr(book, name), max(count, 2 * len(getattr(book, name))))
            for name, count in wanted.items()
            if count > len(getattr(book, name))
        }
        self._book = book._replace(**grown)

    def _learn(self, learner: TurnaroundLearner, k: int, time: int, told: dict[str, Any]) -> None:
        """Write down what is learned of a job's turnaround, before its law is made."""
        alike = np.empty(len(LEVELS), np.float32)
        alike_kernels.tell_alike(self._book, k, time, LEVEL_ARRAY, alike)
        law = learner.submit(k, time, alike, **told)
        self._book.told[k] = law.told()
        if law.jobs and self._chosen is not None:
            rely_on_told(self._book, self._chosen)
            self._chosen = None
        self._rests[k] = law.share, law.jobs

    def _step(self, kind: int, k: int, time: int) -> None:
        events = np.array([[time], [kind], [k]], np.int64)
        nothing = np.broadcast_to(self._none, (k + 1,)) if kind == SUBMIT else self._none
        book_kernels.replay(
            self._book, events, np.ascontiguousarray(nothing), np.ascontiguousarray(nothing), 0, 1
        )

    def _offer(self, k: int, question: int, level: float, deadline: int, promise: bool) -> None:
        book_kernels.offer(self._book, k, question, float(level), int(deadline), bool(promise))

    def _quoted(self, job: Hashable, which: int) -> TimedQuote:
        promise, entry = self._book.promises[which], self._book.jobs[which // 2]
        asked: Any = "probability" if which % 2 == BY_LEVEL else "deadline"
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
            self.record(chance, asked=asked),
            share,
            jobs,
        )


def _reached(law: Floats, waits: Floats, age: int) -> float:
    """Return the probability of wait and run time together of at most `age`."""
    return float(np.interp(age - waits, law[1], law[2], left=0.0).mean()) if age >= 0 else 0.0


def _larger(array: Any, count: int) -> Any:
    """Return the array with room for more, what is new being 0."""
    grown = np.zeros(count, array.dtype).view(type(array))
    grown[: len(array)] = array
    return grown


def _untold(told: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float32]:
    """Return room for so many laws that are told, the new ones not told yet."""
    grown = np.full((count, POINTS), -1.0, np.float32)
    grown[: len(told)] = told
    return grown
