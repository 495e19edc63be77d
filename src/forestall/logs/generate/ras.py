"""Event logs with known truth: failures told many times over, warnings before them, and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.ras import RasLog, Severity
from forestall.core.streams import stream
from forestall.logs.generate.failures import DAY, DEFAULT_MTTF_HOURS, HOUR
from forestall.logs.generate.laws import positive
from forestall.logs.generate.times import Bursts, Lifetimes

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

CAUSES: Final = (
    ("KERNEL machine check interrupt", "KERNEL kernel terminated", "KERNEL ECC error corrected"),
    ("FABRIC link failed", "MPI connection lost", "FABRIC link retrained"),
    ("POWER supply failed", "POWER node power deactivated", "POWER voltage near its limit"),
    ("COOLING temperature over limit", "POWER emergency shutdown", "COOLING fan speed low"),
    ("LUSTRE mount failed", "APP input or output error", "LUSTRE server slow to answer"),
    ("MEMORY uncorrectable error", "KERNEL panic", "MEMORY page retired"),
)
"""Kinds: of a failure (FATAL), of what it brings about (FATAL), of the warning before it."""

NOISE: Final = (
    ("KERNEL instruction cache parity error corrected", Severity.INFO),
    ("SYSTEM job started", Severity.INFO),
    ("SYSTEM clock synchronized", Severity.NOTICE),
    ("FABRIC retransmission", Severity.WARNING),
    ("APP alignment exceptions", Severity.ERROR),
    ("SERVICE node card status", Severity.SEVERE),
)
FATAL_NOISE: Final = "APP program image is missing"
WARNING_SEVERITY: Final = Severity.WARNING

MOST_RECORDS: Final = 50_000_000
BYTES: Final = 210
"""That a record takes while it is made up and written."""


@dataclass(frozen=True)
class Reports:
    """How a failure is told.

    Attributes
    ----------
    repeats : mean number of further records of it by its own node (Poisson)
    echoes : mean number of records of it by other nodes (Poisson)
    follow : share of failures that bring records of another kind after them
    lasting : all of these come within so many seconds of the failure
    """

    repeats: float = 5.0
    echoes: float = 3.0
    follow: float = 0.8
    lasting: float = 120.0

    def __post_init__(self) -> None:
        for name in ("repeats", "echoes"):
            _at_least_zero(name, getattr(self, name))
        _share("follow", self.follow)
        positive("lasting", self.lasting)


@dataclass(frozen=True)
class Warnings:
    """Records that come before failures, and those that come before none.

    Attributes
    ----------
    share : of the failures that have warnings
    lead_hours : mean time from the first warning to the failure (gamma of shape 4)
    count : mean number of warnings of a failure, at least 1
    false_per_node_day : false ones; they look the same
    """

    share: float = 0.5
    lead_hours: float = 1.0
    count: float = 3.0
    false_per_node_day: float = 0.002

    def __post_init__(self) -> None:
        _share("warned", self.share)
        positive("lead-hours", self.lead_hours)
        if not 1 <= self.count < math.inf:
            raise ParameterError("warnings", self.count, "a finite number of at least 1")
        _at_least_zero("false-warnings", self.false_per_node_day)


@dataclass(frozen=True)
class Noise:
    """Records that have to do with no failure.

    Attributes
    ----------
    per_node_day : how many, evenly over time and nodes; of all severities below FATAL
    fatal : share of them that are FATAL all the same
    """

    per_node_day: float = 2.0
    fatal: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("noise", self.per_node_day)
        _share("fatal-noise", self.fatal)


@dataclass(frozen=True)
class Truth:
    """What is behind a made-up event log.

    Attributes
    ----------
    failure : int64[n], which failure each record tells of, -1: of none
    warns_of : int64[n], which failure each record warns of, -1: of none
    false_warning : bool[n], records that warn of nothing
    incident : int64[m], which incident each failure belongs to: those of one burst have one cause
    warned : bool[m], whether a failure has warnings
    lead : int64[m], s from its first warning to the failure, -1 where it has none
    """

    failure: Int
    warns_of: Int
    false_warning: npt.NDArray[np.bool_]
    incident: Int
    warned: npt.NDArray[np.bool_]
    lead: Int


@dataclass(frozen=True)
class _Part:
    """Some of the records: when (s), where, and the number of what, [n]; whose failure."""

    time: Real
    place: Int
    kind: Int
    failure: Int
    role: int


_TELLS, _WARNS, _FALSE, _NOISE = range(4)


def generate_ras(
    nodes: int,
    days: float,
    seed: int,
    *,
    mttf_hours: float = DEFAULT_MTTF_HOURS,
    shape: float = 0.7,
    heterogeneity: float = 0.2,
    bursts: Bursts | None = None,
    reports: Reports | None = None,
    warnings: Warnings | None = None,
    noise: Noise | None = None,
) -> tuple[RasLog, Failures, Truth]:
    """Return an event log, the failures behind it, and which record tells of which.

    Parameters
    ----------
    nodes, days, seed : size of the machine, length of the log, of all that is drawn
    mttf_hours, shape, heterogeneity : of a node's failures, as in `generate_failures`
    bursts : failures of other nodes with the same cause soon after (default: a third of all)
    reports : how each failure is told, again and again and by other nodes too
    warnings : records before failures, and such that are followed by none
    noise : records that have to do with no failure

    Records count from second 0; `alert` labels those that tell of a failure. The kind of a failure
    is that of its first record. Raises ParameterError.
    """
    bursts = Bursts(share=1 / 3, size=3.0, spread=30.0) if bursts is None else bursts
    reports = Reports() if reports is None else reports
    warnings = Warnings() if warnings is None else warnings
    noise = Noise() if noise is None else noise
    _check(nodes, days, noise)
    length = days * DAY
    law = (mttf_hours, shape, heterogeneity)
    time, node, incident = _failures(nodes, length, seed, law, bursts if nodes > 1 else Bursts())
    causes = stream(seed, "ras", "cause").integers(0, len(CAUSES), len(time))
    cause = causes[incident]
    parts = [
        *_told(time, node, cause, nodes, seed, reports),
        *_warned(time, node, cause, (nodes, length, seed), warnings),
        _unrelated(nodes, length, seed, noise),
    ]
    log, failure, role = _log(parts, nodes, length, seed)
    failures = Failures(
        time.astype(np.int64),
        node,
        np.full(len(time), -1),
        np.full(len(time), np.nan),
        kind=tuple(CAUSES[k][0] for k in cause),
        span=log.span,
        nodes=nodes,
        names=log.places,
        source=log.source,
    )
    return log, failures, _truth(log, failures, incident, failure, role)


def _truth(
    log: RasLog, failures: Failures, incident: Int, failure: Int, role: npt.NDArray[np.int8]
) -> Truth:
    warns = role == _WARNS
    latest = np.iinfo(np.int64).max
    first = np.full(len(failures), latest)
    np.minimum.at(first, failure[warns], log.time[warns])
    warned = first < latest
    lead = np.where(warned, failures.time - first, -1)
    tells, told_of = np.where(role == _TELLS, failure, -1), np.where(warns, failure, -1)
    return Truth(tells, told_of, role == _FALSE, incident, warned, lead)


def _check(nodes: int, days: float, noise: Noise) -> None:
    if nodes < 1:
        raise ParameterError("nodes", nodes, "at least 1")
    if not 0 < days * DAY < 2**36:
        raise ParameterError("days", days, "a finite number above 0")
    if noise.per_node_day * nodes * days > MOST_RECORDS:
        raise ParameterError("noise", noise.per_node_day, f"less: {MOST_RECORDS:,} records at most")
    _fits(noise.per_node_day * nodes * days, "{noise}")


def _fits(records: float, name: str) -> None:
    """Raise MemoryLimitError for more records than can be made up at once."""
    what = f"{records:,.0f} records ({name})"
    budget.require(BYTES * records, what, count=round(records), of="records")


def _failures(
    nodes: int, length: float, seed: int, law: tuple[float, float, float], bursts: Bursts
) -> tuple[Real, Int, Int]:
    """Return (time, node, incident) of the failures in order of (second, node); an incident is
    named by one of its failures."""
    mttf_hours, shape, frailty = law
    positive("mttf-hours", mttf_hours)
    lives = Lifetimes(mttf_hours * HOUR / (1 - bursts.share), shape, frailty)
    time, node = lives.draw(nodes, length, seed)
    later, others, leader = bursts.followers(time, node, nodes, seed)
    times, where = np.floor(np.append(time, later)), np.append(node, others)
    incident = np.append(np.arange(len(time)), leader)
    inside = np.flatnonzero(times < math.floor(length))
    order = inside[np.lexsort((where[inside], times[inside]))]
    number = np.unique(incident[order], return_inverse=True)[1]
    return times[order], where[order].astype(np.int64), number.astype(np.int64)


def _told(time: Real, node: Int, cause: Int, nodes: int, seed: int, how: Reports) -> list[_Part]:
    """Return the records that tell of failures: kinds 3 k and 3 k + 1 of cause k."""
    rng = stream(seed, "ras", "reports")
    count = len(time)
    _fits(count * (how.repeats + how.echoes), "{repeats}, {echoes}")

    def some(many: Int, kind: int, *, elsewhere: bool) -> _Part:
        which = np.repeat(np.arange(count), many)
        where = node[which]
        if elsewhere and nodes > 1:
            where = (where + rng.integers(1, nodes, len(which))) % nodes
        after = time[which] + 1 + rng.random(len(which)) * max(0.0, how.lasting - 1)
        return _Part(after, where, 3 * cause[which] + kind, which, _TELLS)

    first = _Part(time, node, 3 * cause, np.arange(count), _TELLS)
    follows = (rng.random(count) < how.follow) * (1 + rng.poisson(1.0, count))
    return [
        first,
        some(rng.poisson(how.repeats, count), 0, elsewhere=False),
        some(rng.poisson(how.echoes, count), 0, elsewhere=True),
        some(follows, 1, elsewhere=False),
    ]


def _warned(
    time: Real, node: Int, cause: Int, size: tuple[int, float, int], how: Warnings
) -> list[_Part]:
    """Return the warnings, true and false: kinds 3 k + 2 of cause k. A failure whose first warning
    would come before second 0 has none."""
    nodes, length, seed = size
    rng = stream(seed, "ras", "warnings")
    count = len(time)
    lead = np.maximum(1.0, rng.gamma(4.0, how.lead_hours * HOUR / 4, count))
    chosen = np.flatnonzero((rng.random(count) < how.share) & (time - lead >= 0))
    more = np.repeat(chosen, rng.poisson(how.count - 1, len(chosen)))
    which = np.append(chosen, more)
    ahead = lead[which] * np.append(np.ones(len(chosen)), rng.random(len(more)))
    before = np.minimum(time[which] - ahead, time[which] - 1)
    _fits(how.false_per_node_day * nodes * length / DAY, "{false_warnings}")
    false = rng.poisson(how.false_per_node_day * nodes * length / DAY)
    return [
        _Part(before, node[which], 3 * cause[which] + 2, which, _WARNS),
        _Part(
            rng.random(false) * length,
            rng.integers(0, nodes, false),
            3 * rng.integers(0, len(CAUSES), false) + 2,
            np.full(false, -1),
            _FALSE,
        ),
    ]


def _unrelated(nodes: int, length: float, seed: int, how: Noise) -> _Part:
    rng = stream(seed, "ras", "noise")
    count = rng.poisson(how.per_node_day * nodes * length / DAY)
    kind = rng.integers(0, len(NOISE), count)
    kind = np.where(rng.random(count) < how.fatal, len(NOISE), kind) + 3 * len(CAUSES)
    return _Part(
        rng.random(count) * length,
        rng.integers(0, nodes, count),
        kind,
        np.full(count, -1),
        _NOISE,
    )


def _log(
    parts: list[_Part], nodes: int, length: float, seed: int
) -> tuple[RasLog, Int, npt.NDArray[np.int8]]:
    """Return the log of all records within its length, whose failure each is, and its role."""
    time = np.floor(np.concatenate([part.time for part in parts])).astype(np.int64)
    place = np.concatenate([part.place for part in parts])
    kind = np.concatenate([part.kind for part in parts])
    failure = np.concatenate([part.failure for part in parts]).astype(np.int64)
    role = np.concatenate([np.full(len(part.time), part.role, dtype=np.int8) for part in parts])
    span = max(1, math.floor(length))
    inside = np.flatnonzero(time < span)
    order = inside[np.argsort(time[inside], kind="stable")]
    kinds = [kind for three in CAUSES for kind in three] + [kind for kind, _ in NOISE]
    severity = [Severity.FATAL, Severity.FATAL, WARNING_SEVERITY] * len(CAUSES)
    severity += [*(one for _, one in NOISE), Severity.FATAL]
    width = len(str(nodes - 1))
    log = RasLog(
        time[order],
        place[order].astype(np.int32),
        np.array(severity, dtype=np.int8)[kind[order]],
        kind[order].astype(np.int32),
        places=tuple(f"node{number:0{width}d}" for number in range(nodes)),
        kinds=(*kinds, FATAL_NOISE),
        alert=role[order] == _TELLS,
        span=span,
        source=f"generated, seed {seed}",
    )
    return log, failure[order], role[order]


def _share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ParameterError(name, value, "from 0 to 1")


def _at_least_zero(name: str, value: float) -> None:
    if not 0 <= value < math.inf:
        raise ParameterError(name, value, "a finite number of at least 0")
