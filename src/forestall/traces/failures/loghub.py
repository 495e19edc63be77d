"""Two more samples of system logs from loghub (Zhu et al., ISSRE 2023).

- Thunderbird: lines that start with an alert label and the time in seconds since 1970; a failure is
  a line whose label is not ``-``, its kind the label.
- HPC (LANL's system 20): its events carry no labels, so none counts as a failure. It is known here
  to say that, rather than that its format is strange.

Nodes are the names in sorted order, those without failures included.
"""

from __future__ import annotations

import re
from functools import partial

from forestall.traces.failures.lines import LineFormat, read_events
from forestall.traces.failures.raw import FailureFormat

THUNDERBIRD = LineFormat(
    "Thunderbird's log",
    re.compile(r"(?P<kind>\S+) (?P<time>\d+) \d{4}\.\d\d\.\d\d (?P<place>\S+) [A-Z][a-z]{2} .*"),
    "",
    skip=lambda line: False,
    is_failure=lambda event: event["kind"] != "-",
)
HPC = LineFormat(
    "the unlabelled HPC log",
    re.compile(r"\d+ (?P<place>\S+) (?P<kind>\S+ \S+) (?P<time>\d+) -?\d+ .*"),
    "",
    skip=lambda line: False,
    is_failure=lambda event: False,
)


FORMATS = (
    FailureFormat(
        "thunderbird",
        "Thunderbird log with alert labels",
        lambda head: THUNDERBIRD.pattern.fullmatch(head.first) is not None,
        partial(read_events, how=THUNDERBIRD),
    ),
    FailureFormat(
        "hpc",
        "loghub's HPC log (no labels, so no failures)",
        lambda head: HPC.pattern.fullmatch(head.first) is not None,
        partial(read_events, how=HPC),
    ),
)
