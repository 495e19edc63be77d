"""Failure logs of a line an event, each taken apart by a regular expression."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import read_lines
from forestall.core.model.units import LATEST
from forestall.logs.failures.raw import (
    FailureFormat,
    Head,
    Options,
    RawFailures,
    moments,
    numbered,
    single_system,
)

MOST_DIGITS = 10
"""Digits of seconds since 1970 (to the year 2286)."""

UNKNOWN_PLACE = "unknown"
"""Name of the node of events that name none."""


@dataclass(frozen=True)
class LineFormat:
    """How to read one family of such logs.

    Attributes
    ----------
    name, text : of the format, see `FailureFormat`
    what : the log, in words
    pattern : matches a whole event line; its groups are `time`, `place`, `kind`, where it has them
        `label`
    clock : pattern of `time` for `datetime.strptime`, "" for seconds since 1970
    skip : lines that are no events (comments, details), by their text
    is_failure : whether an event is a failure; the place of another only tells that it exists
    """

    name: str
    text: str
    what: str
    pattern: re.Pattern[str]
    clock: str = ""
    skip: Callable[[str], bool] = lambda line: False
    is_failure: Callable[[re.Match[str]], bool] = lambda event: True

    @property
    def format(self) -> FailureFormat:
        """The format of failure logs."""
        return FailureFormat(self.name, self.text, self._begins, partial(read_events, how=self))

    def _begins(self, head: Head) -> bool:
        filled = (line for line in head.lines if line.strip() and not self.skip(line))
        return self.pattern.fullmatch(next(filled, "")) is not None


def read_events(path: Path, options: Options, how: LineFormat) -> RawFailures:
    """Read the failures of a log of lines; lines that do not match are left out and named."""
    single_system(options, how.what)
    findings = Findings(path, options.strict)
    events, lines = _events(path, how, findings)
    times, good = _seconds([event["time"] for event in events], how.clock)
    kept = [(e, t) for e, t, g in zip(events, times.tolist(), good.tolist(), strict=True) if g]
    _note_times(findings, events, lines, good)
    failed = [(event, time) for event, time in kept if how.is_failure(event)]
    nameless = [n for e, n in zip(events, lines, strict=True) if not _place(e)]
    findings.note("no_place", f"events without a place (node {UNKNOWN_PLACE!r})", nameless)
    if not events and findings.first() is None:
        findings.cleaning(0, "failures")
    if events and not failed and findings.first() is None:
        empty = np.empty(0, dtype=np.int64)
        return RawFailures(empty, empty, 0)
    places = [_place(event) or UNKNOWN_PLACE for event, _ in failed]
    node, names = numbered(places, [_place(event) or UNKNOWN_PLACE for event, _ in kept])
    return RawFailures(
        np.fromiter((time for _, time in failed), np.int64, len(failed)),
        node,
        len(names),
        kind=[event["kind"].strip() for event, _ in failed],
        names=names,
        cleaning=findings.cleaning(len(failed), "failures"),
    )


def _events(
    path: Path, how: LineFormat, findings: Findings
) -> tuple[list[re.Match[str]], list[int]]:
    events, lines, strange = [], [], []
    for number, line in enumerate(read_lines(path, findings.spoilt), 1):
        if not line.strip() or how.skip(line):
            continue
        match = how.pattern.fullmatch(line)
        if match is None:
            message = f"{shown(line)} is not an event of {how.what}"
            strange.append(LineFinding(number, message))
        else:
            events.append(match)
            lines.append(number)
    findings.add("malformed", "malformed lines", "left out", strange)
    return events, lines


def _place(event: re.Match[str]) -> str:
    place = event["place"] or ""
    return "" if place in {"NULL", "null", "UNKNOWN_LOCATION"} else place


def _seconds(texts: Sequence[str], clock: str) -> tuple[np.ndarray, np.ndarray]:
    if clock:
        return moments(texts, clock)
    good = np.array(
        [len(text) <= MOST_DIGITS and int(text) < LATEST for text in texts], dtype=np.bool_
    )
    seconds = [int(text) if fine else 0 for text, fine in zip(texts, good, strict=True)]
    return np.array(seconds, dtype=np.int64), good


def _note_times(
    findings: Findings, events: list[re.Match[str]], lines: list[int], good: np.ndarray
) -> None:
    found = [
        LineFinding(lines[row], f"{shown(events[row]['time'])} is not a date and time", "time")
        for row in np.flatnonzero(~good).tolist()
    ]
    findings.add("bad_time", "events with an unusable time", "left out", found)
