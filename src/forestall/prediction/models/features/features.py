"""What was seen of each node before a moment, as numbers for a classifier.

Strictly causal: a row of moment t holds what lies strictly before t, and is the same to the last
bit whatever came later. What a source does not tell is left out, what lies before observation began
is nan and not 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from forestall.core.files.held import Held
from forestall.core.model.arrays import Ints
from forestall.core.model.observations import Observations
from forestall.prediction.models.features.events import EventWalk, telling_kinds
from forestall.prediction.models.features.failures import (
    CalendarRows,
    FailureWalk,
    kinds_of,
    tells_downtimes,
)
from forestall.prediction.models.features.metrics import MetricRows, metric_names
from forestall.prediction.models.kept import plain

Rows = npt.NDArray[np.float32]
BLOCK: Final = 1 << 14
"""Cells at a time: their features stay in the processor's cache."""


@dataclass(frozen=True)
class Features:
    """Features of all nodes at some moments.

    Attributes
    ----------
    values : float32[times, nodes, features], nan where not known
    names : what each is, with its unit where it has one
    """

    values: Rows
    names: tuple[str, ...]


@dataclass(frozen=True)
class Vocabulary:
    """Which features there are: settled once, in training, so that columns keep their meaning.

    Attributes
    ----------
    kinds : kinds of failures that are counted, most frequent first
    downtimes : whether downtimes are told
    calendar : whether hour and day are (the log has dates)
    events : kinds of records that are counted; None where there is no event log
    metrics : the metrics that are used; none where there are none
    period : seconds between samples, 0 where not known
    """

    kinds: tuple[str, ...] = ()
    downtimes: bool = False
    calendar: bool = False
    events: tuple[str, ...] | None = None
    metrics: tuple[str, ...] = ()
    period: int = 0

    @classmethod
    def of(cls, past: Observations) -> Vocabulary:
        """Return what a past that has ended has words for."""
        return cls(
            kinds=kinds_of(past.failures),
            downtimes=tells_downtimes(past.failures),
            calendar=past.origin is not None,
            events=None if past.events is None else telling_kinds(past),
            metrics=metric_names(past),
            period=0 if past.metrics is None else int(past.metrics.period),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The features' names, in order."""
        found = FailureWalk.names(self.kinds, self.downtimes)
        found += CalendarRows.NAMES if self.calendar else ()
        found += () if self.events is None else EventWalk.names(self.events)
        return found + (MetricRows.names(self.metrics) if self.metrics else ())

    def state(self) -> dict[str, Any]:
        """Return it as JSON can hold it; `Vocabulary.from_state` takes it back."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Vocabulary:
        """Return what `state` was taken of. Raises ParameterError where it is none."""
        held = Held(state)
        return cls(
            kinds=held.texts("kinds"),
            downtimes=held.flag("downtimes"),
            calendar=held.flag("calendar"),
            events=None if held.value("events") is None else held.texts("events"),
            metrics=held.texts("metrics"),
            period=held.whole("period", 0),
        )


class _Source(Protocol):
    def write(self, times: Ints, first: Ints, nodes: Ints, out: Rows) -> None: ...


class Walk:
    """Goes along what was seen once, and writes features on the way.

    Parameters
    ----------
    seen : what was observed
    words : which features to write; of a source that is missing here they are nan
    """

    def __init__(self, seen: Observations, words: Vocabulary) -> None:
        self.names, self.nodes = words.names, seen.nodes
        self._now: int | None = None
        self._parts: list[tuple[_Source | None, int]] = []
        self._add(
            FailureWalk(seen, words.kinds, words.downtimes),
            FailureWalk.names(words.kinds, words.downtimes),
        )
        if words.calendar:
            self._add(CalendarRows(seen), CalendarRows.NAMES)
        if words.events is not None:
            events = EventWalk(seen, words.events) if seen.events is not None else None
            self._add(events, EventWalk.names(words.events))
        if words.metrics:
            there = seen.metrics is not None
            metrics = MetricRows(seen, words.metrics, words.period) if there else None
            self._add(metrics, MetricRows.names(words.metrics))

    def _add(self, source: _Source | None, names: tuple[str, ...]) -> None:
        self._parts.append((source, len(names)))

    def rows(self, times: Ints, first: Ints, nodes: Ints) -> Rows:
        """Return float32[len(nodes), features]: of nodes[first[j]:first[j + 1]] at times[j].

        The times ascend, also from call to call.
        """
        assert len(times) == 0 or self._now is None or times[0] >= self._now, "times go back"
        assert bool((np.diff(times) >= 0).all()), "times do not ascend"
        out = np.empty((len(nodes), len(self.names)), dtype=np.float32)
        at = 0
        for source, width in self._parts:
            part = out[:, at : at + width]
            if source is None:
                part[:] = np.nan
            else:
                source.write(times, first, nodes, part)
            at += width
        self._now = int(times[-1]) if len(times) else self._now
        return out

    def blocks(self, times: Ints, cells: int = BLOCK) -> Iterator[tuple[slice, Rows]]:
        """Yield, for some of the times after the other, which they are and
        float32[times * nodes, features] of all nodes."""
        many = max(1, cells // max(self.nodes, 1))
        everyone = np.tile(np.arange(self.nodes, dtype=np.int64), min(many, max(len(times), 1)))
        for begin in range(0, len(times), many):
            part = times[begin : begin + many]
            first = np.arange(len(part) + 1, dtype=np.int64) * self.nodes
            yield (
                slice(begin, begin + len(part)),
                self.rows(part, first, everyone[: len(part) * self.nodes]),
            )


def features(seen: Observations, times: Ints, words: Vocabulary | None = None) -> Features:
    """Return the features of all nodes at some moments.

    Parameters
    ----------
    seen : what was observed; of moment t only what lies strictly before t counts
    times : int64[T], ascending, s
    words : which features; those that the past of the first moment has words for if None

    The nodes' rates are shrunken towards the machine's as by a gamma law whose shape follows from
    the moments of the nodes' counts so far (empirical Bayes).
    """
    moments = np.ascontiguousarray(times, dtype=np.int64)
    if words is None:
        words = Vocabulary.of(seen.until(int(moments[0])) if len(moments) else seen)
    walk = Walk(seen, words)
    values = np.empty((len(moments), seen.nodes, len(walk.names)), dtype=np.float32)
    for part, rows in walk.blocks(moments):
        values[part] = rows.reshape(-1, seen.nodes, len(walk.names))
    return Features(values, walk.names)
