"""Failure logs of a line an event.

- Blue Gene/L (LLNL): lines of ``time location RAS facility severity text``, already chosen as
  FATAL or FAILURE. Oliner and Stearley, "What supercomputers say", DSN 2007. Every line is a
  failure, its kind facility and severity.
- The same log with alert labels in front (loghub, CFDR): a line is a failure where its label is not
  ``-``; the kind is the label; locations without alerts are nodes that did not fail.
- Blue Gene/Q Mira, filtered fatal events (LogAider's ``.cor``; Di et al., DSN 2018): each ``event``
  line is a failure at its first time; the indented lines are the similar events before it. The kind
  is category and component.
- Thunderbird (loghub; Zhu et al., ISSRE 2023): lines that start with an alert label and the time in
  seconds since 1970; a failure is a line whose label is not ``-``, its kind the label.
- HPC (loghub; LANL's system 20): its events carry no labels, so none counts as a failure. It is
  known here to say that, rather than that its format is strange.

Nodes are the names or location strings (a chip, a card, a midplane: as the log has them) in sorted
order, those without failures included; times are the site's, as they stand, cut to whole seconds.
None of them tells how long a node was down.
"""

from __future__ import annotations

import re

from forestall.logs.failures.lines import LineFormat

_STAMP = r"\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d"
_CLOCK = "%Y-%m-%d-%H.%M.%S"


def _labelled(event: re.Match[str]) -> bool:
    return event["kind"] != "-"


_FAMILIES = (
    LineFormat(
        "bluegene-fatal",
        "Blue Gene/L FATAL and FAILURE events",
        "Blue Gene/L's FATAL events",
        re.compile(
            rf"(?P<time>{_STAMP})\.\d+ (?:(?P<place>\S+) )?(?:RAS|NULL) (?P<kind>\S+ \S+)(?: .*)?"
        ),
        _CLOCK,
    ),
    LineFormat(
        "bluegene",
        "Blue Gene/L log with alert labels",
        "Blue Gene/L's labeled log",
        re.compile(
            rf"(?P<kind>\S+) \d+ \d{{4}}\.\d\d\.\d\d (?P<place>\S+) (?P<time>{_STAMP})\.\d+ \S+ .*"
        ),
        _CLOCK,
        is_failure=_labelled,
    ),
    LineFormat(
        "mira",
        "Mira's filtered fatal events (.cor)",
        "Mira's fatal events",
        re.compile(
            r"event \d+ \S+ \d+ \w+ (?P<kind>\S+ \S+) "
            r"(?P<time>\d{4}-\d\d-\d\d;\d\d:\d\d:\d\d)(?:\.\d+)? \d{4}-\S+ \d+ \S+ "
            r"(?P<place>\S*) .*"
        ),
        "%Y-%m-%d;%H:%M:%S",
        skip=lambda line: line.startswith("#") or line[:1].isspace(),
    ),
    LineFormat(
        "thunderbird",
        "Thunderbird log with alert labels",
        "Thunderbird's log",
        re.compile(
            r"(?P<kind>\S+) (?P<time>\d+) \d{4}\.\d\d\.\d\d (?P<place>\S+) [A-Z][a-z]{2} .*"
        ),
        is_failure=_labelled,
    ),
    LineFormat(
        "hpc",
        "loghub's HPC log (no labels, so no failures)",
        "the unlabeled HPC log",
        re.compile(r"\d+ (?P<place>\S+) (?P<kind>\S+ \S+) (?P<time>\d+) -?\d+ .*"),
        is_failure=lambda event: False,
    ),
)
FORMATS = tuple(one.format for one in _FAMILIES)
