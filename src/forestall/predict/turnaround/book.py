"""Promises for single jobs, online: the same book that a replay fills, one event at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from forestall._lazy import lazily
from forestall.model.arrays import Floats
from forestall.model.errors import ParameterError
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
    RUN_CLASSES,
    WAIT_CLASSES,
    WIDE,
    features,
    size_class,
)
from forestall.predict.turnaround.tasks import family

with lazily():
    from forestall.predict.turnaround import book_kernels

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


@dataclass(frozen=True)
class DecileRecord:
    """What became of promises of one decile: no probability is shown without it."""

    low: float
    high: float
    made: int
    kept: int

    def __str__(self) -> str:
        band = f"promises from {self.low:.0%} to {self.high:.0%}"
        if not self.made:
            return f"{band}: none is settled yet"
        return f"{band}: {self.made:,} made, {self.kept:,} kept, {self.kept / self.made:.1%}"


@dataclass(frozen=True)
class TimedQuote:
    """Done by `deadline` with `probability`.

    Attributes
    ----------
    job : as it was named
    deadline : s, on the clock of the events
    probability : what is said
    before : probability of this deadline before correction, by the plain law
    wait, run : quantiles of wait and run time that go with it, s
    reasons : these and what they rest on, in words
    record : what became of promises like it
    """

    job: Hashable
    deadline: int
    probability: float
    before: float
    wait: float
    run: float
    reasons: tuple[str, ...]
    record: DecileRecord


class CompletionBook:
    """A book of promises that is told of jobs as they come.

    Times are whole seconds and never go back; in one second submissions are told before starts and
    these before ends. Told the events of a record in the order of a replay, it promises the same,
    byte for byte.

    >>> book = CompletionBook()
    >>> book.submit("a", 0, nodes=4, limit=3600, user="ann")
    >>> quote = book.quote("a", probability=0.9)
    >>> book.observe("start", "a", 60)
    >>> book.observe("end", "a", 1800)
    >>> quote.deadline
    3600
    """

    def __init__(self, rules: Mapping[str, float] | None = None) -> None:
        self._book: BookState = new_book(64, 64, 64, 64, 4, 8, 4, dict(rules or {}))
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
        law = self._book.laws[int(entry["slot"])]["grid"]
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
        waits = self._book.laws[int(entry["slot"])]["grid"][0, :POINTS]
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

    # ------------------------------------------------------------------------------------ inside

    def _place(self, job: Hashable) -> int:
        if job not in self._places:
            raise ParameterError("job", job, "a job that was submitted to this book")
        return self._places[job]

    def _told(self, time: int, phase: int) -> None:
        if (time, phase) < (self._now, 0):
            raise ParameterError("time", time, f"a time not before {self._now}")
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
        return TimedQuote(
            job,
            int(promise["deadline"]),
            chance,
            min(float(promise["raw"]), 1.0),
            float(promise["wait"]),
            float(promise["run"]),
            reasons_of(entry, promise),
            self.record(chance, asked=asked),
        )


def reasons_of(entry: Any, promise: Any) -> tuple[str, ...]:
    """Return in words what a promise rests on."""
    aim = float(promise["aim"])
    waits = WAIT_CLASSES[int(entry["wait_level"])]
    runs = RUN_CLASSES[int(entry["run_level"])]
    found = [
        f"wait: {aim:.1%} wait {float(promise['wait']):,.0f} s or less "
        f"({int(entry['wait_like']):,} {waits}, and wider classes)",
        f"run time: {aim:.1%} run {float(promise['run']):,.0f} s or less "
        f"({int(entry['run_like']):,} of {runs}, and wider classes)",
    ]
    if float(entry["risk"]) > 0:
        found.append(f"failures: stop it with probability {float(entry['risk']):.2%}")
    return tuple(found)


def _reached(law: Floats, waits: Floats, age: int) -> float:
    """Return the probability of wait and run time together of at most `age`."""
    return float(np.interp(age - waits, law[1], law[2], left=0.0).mean()) if age >= 0 else 0.0


def _larger(array: Any, count: int) -> Any:
    """Return the array with room for more, what is new being 0."""
    grown = np.zeros(count, array.dtype).view(type(array))
    grown[: len(array)] = array
    return grown
