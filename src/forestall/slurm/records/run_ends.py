"""Why runs of jobs ended, by rules that are written out as data.

Batch systems say in one word how a run ended. What that word means for the work of the run is a
matter of rules; `RULES` holds them, for the code and for whoever reads its numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints
from forestall.core.model.coded import Coded
from forestall.core.model.job_records import NEVER, base_state
from forestall.slurm.records.accounting import Accounting

Codes = npt.NDArray[np.int8]

CHUNK: Final = 2**17
"""Runs are taken in pieces of so many: what is worked out of them then stays in the processor's
cache, and takes little memory."""


@dataclass(frozen=True)
class CauseRule:
    """How runs come to a cause.

    Attributes
    ----------
    cause : key of the cause
    label : the cause in words
    states : first words of the raw states (any other text beside them is left aside)
    when : what must hold besides
    lost : what is counted as lost
    """

    cause: str
    label: str
    states: tuple[str, ...]
    when: str = ""
    lost: str = "all since the last checkpoint"


NOTHING: Final = "nothing"
RULES: Final = (
    CauseRule("never_started", "never started", (), "the run has no start", NOTHING),
    CauseRule("completed", "completed", ("COMPLETED",), "", NOTHING),
    CauseRule("running", "still running", (), "it started and has no end; counted up to the "
         "end of the records", NOTHING),
    CauseRule("node_failure", "node failure", ("NODE_FAIL", "REQUEUED"),
         "REQUEUED only where the records name the node that failed; all nodes of the run count"),
    CauseRule("operator_down", "node taken down by an operator", ("NODE_FAIL", "REQUEUED"),
         "as a node failure, but where the outage that ended the run is one that somebody asked "
         "for"),
    CauseRule("out_of_memory", "out of memory", ("OUT_OF_MEMORY",)),
    CauseRule("timeout", "time limit reached", ("TIMEOUT",),
         "the job may have saved its work itself"),
    CauseRule("deadline", "deadline passed", ("DEADLINE",)),
    CauseRule("preemption", "preemption", ("PREEMPTED",)),
    CauseRule("requeue", "requeue", ("REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "CANCELLED"),
         "CANCELLED, and any word that leaves the end open, only where a later run of the same job "
         "follows"),
    CauseRule("job_failure", "failure of the job itself", ("FAILED",)),
    CauseRule("launch_failure", "boot or launch failure",
         ("BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL")),
    CauseRule("user_cancel", "canceled by its user", ("CANCELLED",),
         "by the user's own id: the one named in the state is the user, or is a number that "
         "canceled mostly jobs of this user"),
    CauseRule("operator_cancel", "canceled by another", ("CANCELLED",),
         "by id 0 (root) or any other id"),
    CauseRule("cancel_untold", "canceled, unknown by whom", ("CANCELLED",),
         "no id beside the word, or it cannot be told whose it is"),
    CauseRule("unknown_end", "end unknown", (), "any other word, or none",
         "unknown: excluded from all sums of losses"),
)  # fmt: skip
"""In the order of the codes of `causes_of`. Whether a run started and ended is looked at first."""

CAUSES: Final = tuple(rule.cause for rule in RULES)
LABELS: Final = {rule.cause: rule.label for rule in RULES}
KEPT: Final = ("completed", "running")
LOST: Final = tuple(
    cause for cause in CAUSES if cause not in ("never_started", *KEPT, "unknown_end")
)
"""Causes that take work away."""
INTERRUPTIONS: Final = (
    "node_failure",
    "operator_down",
    "preemption",
    "requeue",
    "launch_failure",
    "operator_cancel",
)
"""Causes by which a run is stopped from outside, not by itself, its user or its own limits."""


def cause(name: str) -> int:
    """Return the code of a cause."""
    return CAUSES.index(name)


_ROOT: Final = ("0", "root")
_PLAIN: Final = {
    state: CAUSES.index(rule.cause)
    for rule in RULES
    for state in rule.states
    if rule.cause
    not in (
        "node_failure",
        "operator_down",
        "requeue",
        "user_cancel",
        "operator_cancel",
        "cancel_untold",
    )
} | {
    "NODE_FAIL": CAUSES.index("node_failure"),
    "REQUEUED": CAUSES.index("requeue"),
    "REQUEUE_HOLD": CAUSES.index("requeue"),
    "REQUEUE_FED": CAUSES.index("requeue"),
    "CANCELLED": CAUSES.index("cancel_untold"),
}


def causes_of(
    records: Accounting, by_operator: Bools | None = None, again: Bools | None = None
) -> Codes:
    """Return why each run ended, int8[n], places in `CAUSES`; see `RULES`.

    Parameters
    ----------
    by_operator : bool[n], runs of which a node was taken down on purpose when they ended; None: no
        run is known to be one
    again : as of `followed`, where that is known already
    """
    words = [_PLAIN.get(base_state(word), cause("unknown_end")) for word in records.state.words]
    table = np.array([*words, cause("unknown_end")], dtype=np.int8)
    found: Codes = table[records.state.code]
    _tell_cancels(records, found)
    again = followed(records) if again is None else again
    back = (found == cause("unknown_end")) | (records.state.among(_bare_cancels(records)))
    found[back & again] = cause("requeue")
    broken = (found == cause("requeue")) & records.failed_node.told
    found[broken] = cause("node_failure")
    if by_operator is not None:
        found[(found == cause("node_failure")) & by_operator] = cause("operator_down")
    found[records.running] = cause("running")
    found[records.start == NEVER] = cause("never_started")
    return found


@dataclass(frozen=True)
class Ends:
    """How runs ended: what all sums over them rest on, worked out once.

    Attributes
    ----------
    causes : int8[n], see `causes_of`
    elapsed : int64[n], s, see `Accounting.elapsed`
    again : bool[n], see `followed`
    """

    causes: Codes
    elapsed: Ints
    again: Bools

    @classmethod
    def of(cls, records: Accounting, by_operator: Bools | None = None) -> Ends:
        """Return how the runs of these records ended; see `causes_of`."""
        again = followed(records)
        return cls(causes_of(records, by_operator, again), elapsed(records), again)


def elapsed(records: Accounting) -> Ints:
    """Return `Accounting.elapsed`, worked out in pieces, which takes a third of the memory."""
    found = np.empty(len(records), dtype=np.int64)
    for low in range(0, len(records), CHUNK):
        rows = slice(low, low + CHUNK)
        start, end = records.start[rows], records.end[rows]
        seconds = np.where(end < NEVER, end, records.until) - start - records.suspended[rows]
        np.maximum(seconds, 0, out=found[rows])
    return found


_COARSE: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "RUNNING", "PENDING", ""})


def tells_interruptions(records: Accounting) -> bool:
    """Return whether the records would tell a failure of a node from one of the job.

    Those that know only good, bad and cancelled (SWF logs) do not. Slurm's do; they have exit codes
    as well.
    """
    known = records.state.counts()
    if any(base_state(word) not in _COARSE or _by(word) for word in known):
        return True
    return bool(np.any(records.exit_code >= 0))


def followed(records: Accounting) -> Bools:
    """Return which runs are followed by a later run of the same job, bool[n]."""
    place = np.arange(len(records), dtype=np.int32)
    last = np.zeros(int(records.which.max(initial=-1)) + 1, dtype=np.int32)
    # Of several values for one place the last is kept: runs of a job are in order.
    last[records.which] = place
    return np.asarray(last[records.which] != place)


def following(records: Accounting, again: Bools | None = None) -> tuple[Ints, Ints]:
    """Return the runs that are followed by another of the same job, and those that follow them;
    `again` is as of `followed`, where that is known already."""
    again = followed(records) if again is None else again
    jobs = np.zeros(int(records.which.max(initial=-1)) + 1, dtype=np.bool_)
    jobs[records.which[again]] = True
    several = np.flatnonzero(jobs[records.which])
    order = several[np.argsort(records.which[several], kind="stable")]
    earlier = order[:-1][again[order[:-1]]]
    later = order[1:][again[order[:-1]]]
    return earlier, later


def _bare_cancels(records: Accounting) -> list[str]:
    """Return the words for a cancellation, whoever is named: a job that is cancelled and then runs
    again was put back into the queue."""
    return [word for word in records.state.words if base_state(word) == "CANCELLED"]


def _by(word: str) -> str:
    """Return who is named in a state such as ``CANCELLED by 1001``; "" for nobody."""
    parts = word.split()
    return parts[2] if len(parts) == 3 and parts[1] == "by" else ""


def _tell_cancels(records: Accounting, found: Codes) -> None:
    """Tell who cancelled runs, in place."""
    rows = np.flatnonzero(found == cause("cancel_untold"))
    if not len(rows):
        return
    by = records.state.mapped([_by(word) for word in records.state.words])
    who, user = by.code[rows].astype(np.int64), records.user.code[rows].astype(np.int64)
    own, certain = _owners(by, records.user, who, user)
    told = who >= 0
    mine = told & (user >= 0) & (own[who] == user)
    other = certain[who] & ((user >= 0) | by.among(_ROOT)[rows])
    answer = np.full(len(rows), cause("cancel_untold"), dtype=np.int8)
    answer[told & other] = cause("operator_cancel")
    answer[mine] = cause("user_cancel")
    found[rows] = answer


def _owners(by: Coded, users: Coded, who: Ints, user: Ints) -> tuple[Ints, Bools]:
    """Return the user (-1: none) that each id in `by` belongs to, and whether it can be told; both
    have an entry more, for nobody.

    An id that is a user's name is that user's. Root, and a name that no user has, are operators. A
    number where users have names is the user's for whom it cancelled more than half of what it
    cancelled; of several such numbers, the one that cancelled most; where that is a tie, it cannot
    be told.
    """
    place = {word: number for number, word in enumerate(users.words)}
    own = np.array([*(place.get(word, -1) for word in by.words), -1], dtype=np.int64)
    certain = np.ones(len(own), dtype=np.bool_)
    certain[-1] = False
    guess = np.array(
        [word.isdigit() and word not in _ROOT and word not in place for word in by.words] + [False]
    )
    # Where all users are numbers, an id that is none of them is somebody else's.
    guess &= not all(word.isdigit() for word in users.words)
    told = (who >= 0) & (user >= 0)
    told &= guess[who]
    width = len(users.words) + 1
    pair, count = np.unique(who[told] * width + user[told], return_counts=True)
    one, other = pair // width, pair % width
    whole = np.bincount(one, weights=count, minlength=len(own)).astype(np.int64)
    most = np.flatnonzero(2 * count > whole[one])
    best = np.zeros(width, dtype=np.int64)
    for k in most.tolist():
        best[other[k]] = max(best[other[k]], count[k])
    winners = most[count[most] == best[other[most]]]
    number = np.bincount(other[winners], minlength=width)
    for k in winners.tolist():
        if number[other[k]] == 1:
            own[one[k]] = other[k]
        else:
            certain[one[k]] = False
    return own, certain
