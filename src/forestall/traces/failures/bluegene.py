"""Event logs of the Blue Gene systems.

- Blue Gene/L (LLNL): lines of ``time location RAS facility severity text``, already chosen as
  FATAL or FAILURE. Oliner and Stearley, "What supercomputers say", DSN 2007. Every line is a
  failure, its kind facility and severity.
- The same log with alert labels in front (loghub, CFDR): a line is a failure where its label is not
  ``-``; the kind is the label; locations without alerts are nodes that did not fail.
- Blue Gene/Q Mira, filtered fatal events (LogAider's ``.cor``; Di et al., DSN 2018): each ``event``
  line is a failure at its first time; the indented lines are the similar events before it. The kind
  is category and component.

Nodes are the location strings (a chip, a card, a midplane: as the log has them) in sorted order;
times are the site's, as they stand, cut to whole seconds. None of them tells how long a node was
down.
"""

from __future__ import annotations

import re
from functools import partial

from forestall.traces.failures.lines import LineFormat, read_events
from forestall.traces.failures.raw import FailureFormat

_STAMP = r"\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d"
_CLOCK = "%Y-%m-%d-%H.%M.%S"

FATAL = LineFormat(
    "Blue Gene/L's FATAL events",
    re.compile(
        rf"(?P<time>{_STAMP})\.\d+ (?:(?P<place>\S+) )?(?:RAS|NULL) (?P<kind>\S+ \S+)(?: .*)?"
    ),
    _CLOCK,
    skip=lambda line: False,
    is_failure=lambda event: True,
)
LABELLED = LineFormat(
    "Blue Gene/L's labelled log",
    re.compile(
        rf"(?P<kind>\S+) \d+ \d{{4}}\.\d\d\.\d\d (?P<place>\S+) (?P<time>{_STAMP})\.\d+ \S+ .*"
    ),
    _CLOCK,
    skip=lambda line: False,
    is_failure=lambda event: event["kind"] != "-",
)
MIRA = LineFormat(
    "Mira's fatal events",
    re.compile(
        r"event \d+ \S+ \d+ \w+ (?P<kind>\S+ \S+) "
        r"(?P<time>\d{4}-\d\d-\d\d;\d\d:\d\d:\d\d)(?:\.\d+)? \d{4}-\S+ \d+ \S+ (?P<place>\S*) .*"
    ),
    "%Y-%m-%d;%H:%M:%S",
    skip=lambda line: line.startswith("#") or line[:1].isspace(),
    is_failure=lambda event: True,
)


FORMATS = (
    FailureFormat(
        "bluegene-fatal",
        "Blue Gene/L FATAL and FAILURE events",
        lambda head: FATAL.pattern.fullmatch(head.first) is not None,
        partial(read_events, how=FATAL),
    ),
    FailureFormat(
        "bluegene",
        "Blue Gene/L log with alert labels",
        lambda head: LABELLED.pattern.fullmatch(head.first) is not None,
        partial(read_events, how=LABELLED),
    ),
    FailureFormat(
        "mira",
        "Mira's filtered fatal events (.cor)",
        lambda head: any(MIRA.pattern.fullmatch(line) for line in head.lines[:2]),
        partial(read_events, how=MIRA),
    ),
)
