"""What the reader of a failure log hands on: failures at the log's own times, whole log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core.model import units
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import EARLIEST, LATEST

Int = npt.NDArray[np.int64]


MAX_NODES = units.MOST_NODES


@dataclass(frozen=True)
class Head:
    """The beginning of a file, by which its format is known: its first lines, unpacked."""

    path: Path
    lines: tuple[str, ...]

    @property
    def first(self) -> str:
        """The first line that is not blank."""
        return next((line for line in self.lines if line.strip()), "")

    @property
    def columns(self) -> tuple[str, ...]:
        """The first line as the header of a comma-separated table."""
        first = self.lines[0] if self.lines else ""
        return tuple(name.strip().strip('"') for name in first.split(","))


@dataclass(frozen=True)
class Options:
    """How to read: which system of a log that holds several, and whether dirt is an error."""

    system: str | None = None
    strict: bool = False


@dataclass(frozen=True)
class Service:
    """When each node was in service, in the log's own count.

    Attributes
    ----------
    start, end : int64[nodes], s, [start, end); equal where a number belongs to no node
    new : bool[nodes], whether the node was new at `start`
    cleaning : what was changed or found odd about them
    """

    start: Int
    end: Int
    new: npt.NDArray[np.bool_]
    cleaning: Cleaning = field(default_factory=Cleaning)

    @classmethod
    def seen(cls, node: Int, start: Int, end: Int, nodes: int) -> Service:
        """Return the service of nodes from what rows tell of them: from the earliest start to the
        latest end; that a node was new then is not told. Nodes without rows are in none."""
        first = np.full(nodes, np.iinfo(np.int64).max)
        last = np.full(nodes, np.iinfo(np.int64).min)
        np.minimum.at(first, node, start)
        np.maximum.at(last, node, end)
        nothing = last < first
        first[nothing] = last[nothing] = 0
        return cls(first, last, np.zeros(nodes, dtype=np.bool_))


@dataclass(frozen=True)
class RawFailures:
    """The failures of a log in any order.

    Attributes
    ----------
    time : int64[n], s, in the log's own count
    node : int64[n], numbers from 0
    nodes : number of nodes of the machine, as far as the log tells
    downtime : int64[n], s, -1 where not told; None where the log never tells
    detectability : float64[n], nan where not told; None where the log never tells
    kind : cause of each, "" where not told; None where the log never tells
    names : of all nodes by number, where the log has names
    repairs : whether the downtimes are repair times as a site recorded them
    calendar : whether times are dates (so that time 0 must be chosen) or count from 0 already
    service : when each of the nodes was in service, where the log tells
    aside : remarks that matter to who studies the log, not to who replays it
    zero : time 0 in the log's own count, where the log itself tells it
    span : seconds that the log covers from there, where it tells that
    predicted : int64[n], s, when each failure was predicted to come, `FAR` where it was not; None
        if the log does not say
    """

    time: Int
    node: Int
    nodes: int
    downtime: Int | None = None
    detectability: npt.NDArray[np.float64] | None = None
    kind: Sequence[str] | None = None
    names: tuple[str, ...] | None = None
    repairs: bool = True
    calendar: bool = True
    cleaning: Cleaning = field(default_factory=Cleaning)
    service: Service | None = None
    aside: Cleaning = field(default_factory=Cleaning)
    zero: int | None = None
    span: int | None = None
    predicted: Int | None = None


@dataclass(frozen=True)
class FailureFormat:
    """A format of failure logs.

    Attributes
    ----------
    name : as `--format` takes it
    text : what it is, in a few words
    looks_like : whether a file that starts so is one
    read : the reader; raises TraceError, and ParameterError for a system that is not there
    """

    name: str
    text: str
    looks_like: Callable[[Head], bool]
    read: Callable[[Path, Options], RawFailures]


def numbered(
    names: Sequence[str], population: Sequence[str] | None = None
) -> tuple[Int, tuple[str, ...]]:
    """Return the number of each name, int64[n], and the names by number, in sorted order.

    `population` holds more names that get numbers too (nodes that never failed).
    """
    everyone = sorted({*names, *(population or ())})
    place = {name: number for number, name in enumerate(everyone)}
    return np.fromiter((place[name] for name in names), np.int64, len(names)), tuple(everyone)


def moments(texts: Sequence[str], pattern: str) -> tuple[Int, npt.NDArray[np.bool_]]:
    """Return dates and times as whole seconds since 1970, int64[n], and which could be read.

    `pattern` is that of `datetime.strptime`; times without a zone are taken as they stand (as UTC).
    """
    seconds = np.zeros(len(texts), dtype=np.int64)
    good = np.ones(len(texts), dtype=np.bool_)
    known: dict[str, int | None] = {}  # logs name the same moment many times
    for row, text in enumerate(texts):
        if text not in known:
            known[text] = _moment(text, pattern)
        value = known[text]
        good[row] = value is not None
        seconds[row] = value or 0
    return seconds, good


def _moment(text: str, pattern: str) -> int | None:
    try:
        moment = datetime.strptime(text, pattern)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    second = int(moment.timestamp() // 1)
    return second if EARLIEST <= second < LATEST else None


def single_system(options: Options, what: str) -> None:
    """Raise ParameterError where a system is asked for of a log that holds just one."""
    if options.system is not None:
        raise ParameterError("system", options.system, f"none: {what} holds a single system")
