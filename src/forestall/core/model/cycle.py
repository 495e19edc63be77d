"""Guest jobs on hosts that their owners share: what happens, and what is decided.

Source: S. Bagchi et al., the FALCON and iShare work, slides. A guest runs on one host, and a host
runs one guest at most. Work is counted in millionths of a second of a host of speed 1 that nobody
else uses, rates in millionths of such a host: sums of them are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

MILLION: Final = 1_000_000
"""A host of speed 1 without load, in the millionths that rates are counted in."""

FAR: Final = 2**60
"""Stands for a time that never comes."""

S1, S2, S3, S4, S5 = 0, 1, 2, 3, 4
"""States of a host as numbers; see `forestall.prediction.models.semi_markov.states`."""


class GuestEventKind(IntEnum):
    """What an engine is told; the value is the rank among events of the same second.

    Ties within a kind go by job or host. GUEST_ENDED: a guest has done its work; HOST_STATE: a host
    is in another state from now on (S5: it is away, until it is told to be in another);
    GUEST_AT_RISK: a guest's host is not expected to stay; GUEST_SAVED: a guest that is to move has
    been saved, and leaves its host; TRY: a job is to be placed, having been submitted, having
    waited, or having lost or left its host.

    Only real hosts bring the later ones. GUEST_FAILED: a guest failed by itself; CANCELLED: a job
    was taken back; REQUEUED and START_REFUSED: a guest was ended, or its start did not come off,
    and the job waits again; STARTED: a guest is seen to run on a host, asked for or not;
    HOST_DRAINED: a host takes no guest any more, and one on it stays; HOST_RETURNED: it takes
    guests again. A guest has no reservation that it could run past: its host is its own.
    """

    GUEST_ENDED = 0
    HOST_STATE = 1
    GUEST_AT_RISK = 2
    GUEST_SAVED = 3
    TRY = 4
    GUEST_FAILED = 5
    CANCELLED = 6
    REQUEUED = 7
    START_REFUSED = 8
    STARTED = 9
    HOST_DRAINED = 10
    HOST_RETURNED = 11

    @property
    def about_host(self) -> bool:
        """Whether the event's key is a host's number; else it is a job's position."""
        return self in _ABOUT_HOSTS

    @property
    def rank(self) -> int:
        """The place among events of the same second that are told together: what frees hosts
        first, then what is seen, then what is to be decided."""
        return _RANKS[self]


_ABOUT_HOSTS: Final = frozenset(
    {GuestEventKind.HOST_STATE, GuestEventKind.HOST_DRAINED, GuestEventKind.HOST_RETURNED}
)
_RANKS: Final = {
    GuestEventKind[name]: rank
    for rank, name in enumerate(
        [
            "GUEST_ENDED",
            "GUEST_FAILED",
            "CANCELLED",
            "REQUEUED",
            "START_REFUSED",
            "HOST_STATE",
            "HOST_RETURNED",
            "STARTED",
            "HOST_DRAINED",
            "GUEST_AT_RISK",
            "GUEST_SAVED",
            "TRY",
        ]
    )
}


class GuestDecisionKind(IntEnum):
    """What an engine asks its driver to do: start a job on a host, try it again later, give it up
    as unscheduled, end it where its host left, or save it and let it leave its host, to be tried
    again."""

    START = 0
    WAIT = 1
    GIVE_UP = 2
    END = 3
    MOVE = 4


class GuestReason(IntEnum):
    """Why. The text's placeholders are fields of the decision."""

    ENDS_FIRST = 0
    LONGEST_LEFT = 1
    BEST_RANK = 2
    TRUE_END = 3
    TRUE_LONGEST = 4
    NO_HOST = 5
    DOOMED = 6
    TRIED_ENOUGH = 7
    CONTENTION = 8
    THRASHING = 9
    AWAY = 10
    OWN_CHOICE = 11
    DECLINED = 12
    AT_RISK = 13


_TEXT: Final = {
    GuestReason.ENDS_FIRST: "host {host} is expected to end it first, failures considered, {jctf}",
    GuestReason.LONGEST_LEFT: "no host is expected to live so long; host {host} has the most "
    "effective time, {etl}",
    GuestReason.BEST_RANK: "host {host} has the best rank, {rank}",
    GuestReason.TRUE_END: "host {host} ends it first, {jctf}",
    GuestReason.TRUE_LONGEST: "no host ends it before it leaves; host {host} gives most time, "
    "{etl}",
    GuestReason.NO_HOST: "no host is free and available; again at {at}",
    GuestReason.DOOMED: "each free host will leave before the job ends; again at {at}",
    GuestReason.TRIED_ENOUGH: "no host is free and available after {tries} tries",
    GuestReason.CONTENTION: "host {host} is in use by its owner (S3)",
    GuestReason.THRASHING: "host {host} has too little free memory (S4)",
    GuestReason.AWAY: "host {host} is away (S5)",
    GuestReason.OWN_CHOICE: "a scheduler of one's own takes host {host}",
    GuestReason.DECLINED: "a scheduler of one's own takes none of the free hosts; again at {at}",
    GuestReason.AT_RISK: "its host may leave; host {host} is expected to end it first, the move "
    "and failures considered, {jctf}",
}

_NEVER: Final = (
    "failures considered, no host is expected to end it; of those expected to live so long, "
    "host {host} lives longest"
)
"""What `ENDS_FIRST` says where the job would fail again and again on every host that may be
chosen."""

ESTIMATE: Final = np.dtype(
    [(name, "i8") for name in ("host", "jct", "mttf", "etl", "jctf", "rank", "chance")]
)
"""What a scheduler knows of one free host for one job: its number; estimated completion time
without failures, mean time to failure, and completion time considering failures, s from now (FAR:
never); effective task length, s of a host of speed 1 (FAR: endless); rank, millionths of such a
host; chance that the job ends there before the host is left, millionths. Fields that a scheduler
does not look at are 0."""


@dataclass(frozen=True)
class GuestEvent:
    """One event.

    Attributes
    ----------
    time : when it happened, s
    kind : what
    key : a job's position, or a host's number
    state : of HOST_STATE, the state from now on, 0 (S1) to 4 (S5)
    host : of STARTED, where the guest runs
    estimates : of TRY, ESTIMATE[k] of hosts, in order of their numbers: of all that are free at
        least; of GUEST_AT_RISK, of the guest's own host and of free ones, JCT and JCTF of these
        with what the move takes
    """

    time: int
    kind: GuestEventKind
    key: int
    state: int = -1
    host: int = -1
    estimates: npt.NDArray[Any] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class GuestDecision:
    """One decision with the figures it was made from.

    Attributes
    ----------
    time : when it was taken, s
    kind, reason : what and why
    job : position of the job
    host : number of the host, or -1
    at : when it will be tried again, s, or -1
    tries : how often the job has been tried since it was submitted or lost its host
    candidates : free hosts that were looked at
    jct, mttf, etl, jctf, rank, chance : of the chosen host, see `ESTIMATE`
    """

    time: int
    kind: GuestDecisionKind
    reason: GuestReason
    job: int
    host: int = -1
    at: int = -1
    tries: int = 0
    candidates: int = 0
    jct: int = 0
    mttf: int = 0
    etl: int = 0
    jctf: int = 0
    rank: int = 0
    chance: int = 0

    @property
    def why(self) -> str:
        """The reason in words."""
        never = self.reason is GuestReason.ENDS_FIRST and self.jctf >= FAR
        return (_NEVER if never else _TEXT[self.reason]).format(
            host=self.host,
            at=self.at,
            tries=self.tries,
            jctf=f"in {self.jctf} s",
            etl=f"{self.etl} s" if self.etl < FAR else "without an end",
            rank=f"{self.rank / MILLION:.3f}",
        )


class StayEnd(IntEnum):
    """How a stay of a guest on a host ended; UNFINISHED: the traces ended first; MOVED: it left
    before its host did."""

    COMPLETED = 0
    CONTENTION = 1
    THRASHING = 2
    AWAY = 3
    UNFINISHED = 4
    MOVED = 5


STAY: Final = np.dtype(
    [
        ("job", "i4"),
        ("host", "i4"),
        ("ended", "i4"),
        ("checkpoints", "i4"),
        ("start", "i8"),
        ("end", "i8"),
        ("work", "i8"),
        ("saved", "i8"),
        ("lost", "i8"),
        ("chance", "i8"),
        ("promise", "i8"),
        ("resumed", "i8"),
        ("asked", "i8"),
    ]
)
"""A stay of a guest on a host: position of the job, number of the host; how it ended (`StayEnd`);
checkpoints completed in it; [start, end), s; work done in it, work of the job that is saved when it
ends (of all its stays so far; all of it where COMPLETED), and work lost at its end, in millionths
of a second; the chance that it would end there, as it was foreseen when it began, and as it was
promised, corrected by the record until then, millionths (-1: the scheduler says nothing); the work
of the job that it began with, in millionths of a second; when it was decided that the guest moves,
s (-1: it was not)."""

_OF_A_FATE: Final = ("start", "finish", "outcome", "tries", "failures", "lost", "checkpoints")
FATE: Final = np.dtype([(name, "i8") for name in _OF_A_FATE])
"""What became of a job: first start, and end where it was completed, s (-1: never); `Fate`; times
it was tried in all; stays that a host's leaving ended; work lost, in millionths of a second;
checkpoints completed."""


class Fate(IntEnum):
    """What became of a job; UNFINISHED: the traces ended first."""

    COMPLETED = 0
    UNSCHEDULED = 1
    UNFINISHED = 2
