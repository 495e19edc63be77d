"""Forms of event logs with a line a record, each taken apart by one regular expression.

- Blue Gene/L (LLNL) as the CFDR has it, ``time [location] RAS facility severity text``, and with an
  alert label and the Unix time in front (loghub). Oliner and Stearley, "What supercomputers say",
  DSN 2007.
- Blue Gene/Q Mira, filtered fatal events (LogAider's ``.cor``; Di et al., DSN 2018): ``event``
  lines are records; the indented lines are similar events before them, and no records here.
- Thunderbird (also Spirit, Liberty): alert label, Unix time, node, then syslog.
- HPC (LANL's system 20, loghub): number, node, component, state, Unix time, flag, text.
- syslog: RFC 5424; lines with ISO times, as newer daemons write them; RFC 3164, whose times have no
  year.

The patterns are read by Rust's regular expressions and by Python's alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from forestall.core.model.ras import Severity

Clock = Literal["unix", "bluegene", "mira", "iso", "yearless"]

_STAMP = r"(?P<time>\d{4}-\d\d-\d\d-\d\d\.\d\d\.\d\d)"
_ISO = r"(?P<time>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,]\d+)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
_DATED = r"(?P<time>[A-Z][a-z]{2} [ \d]?\d \d\d:\d\d:\d\d)"
_PRIORITY = r"<(?P<priority>\d{1,3})>"


@dataclass(frozen=True)
class Layout:
    """A form of lines.

    Attributes
    ----------
    name, text : as `format` takes it; what it is, in a few words
    pattern : matches a whole line; its groups are `time`, `place`, and where it has them `zone`,
        `severity`, `priority` (of syslog), `label` (of alerts, ``-`` for none), `message`, and
        those of `prefix`
    clock : how `time` is written
    prefix : groups that a kind begins with
    masks : whether what varies is blanked in kinds
    skip : matches lines that are no records
    """

    name: str
    text: str
    pattern: str
    clock: Clock
    prefix: tuple[str, ...] = ()
    masks: bool = True
    skip: str = ""

    @property
    def whole(self) -> str:
        """The pattern of a whole line, in ASCII's classes: they are the quick ones."""
        ascii_only = self.pattern.replace(r"\S", "[!-~]").replace(r"\d", "[0-9]")
        return f"^(?:{ascii_only})$"

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled."""
        return re.compile(self.whole)

    @cached_property
    def skipped(self) -> re.Pattern[str] | None:
        """The pattern of lines that are no records, compiled."""
        return re.compile(self.skip) if self.skip else None

    def matches(self, lines: tuple[str, ...]) -> int:
        """Return how many of some lines are of this form."""
        return sum(self.compiled.match(line) is not None for line in lines)


LABELLED = Layout(
    "bluegene",
    "Blue Gene/L log with alert labels",
    r"(?P<label>\S+) \d+ \d{4}\.\d\d\.\d\d (?P<place>\S+) "
    rf"{_STAMP}\.\d+ \S+ \S+ (?P<facility>\S+) (?P<severity>\S+)(?: (?P<message>.*))?",
    "bluegene",
    prefix=("facility",),
)
PLAIN = Layout(
    "bluegene-fatal",
    "Blue Gene/L log, or its FATAL and FAILURE events",
    rf"{_STAMP}\.\d+ (?:(?P<place>\S+) )?(?:RAS|NULL) (?P<facility>\S+) (?P<severity>\S+)"
    r"(?: (?P<message>.*))?",
    "bluegene",
    prefix=("facility",),
)
MIRA = Layout(
    "mira",
    "Mira's filtered fatal events (.cor)",
    r"event \d+ (?P<id>\S+) \d+ (?P<severity>[A-Z]+) (?P<category>\S+) (?P<component>\S+) "
    r"(?P<time>\d{4}-\d\d-\d\d;\d\d:\d\d:\d\d)(?:\.\d+)? \d{4}-\S+ \d+ \S+ (?P<place>\S*) .*",
    "mira",
    prefix=("category", "component", "id"),
    masks=False,
    skip=r"^(?:#|\s)",
)
THUNDERBIRD = Layout(
    "thunderbird",
    "Thunderbird log with alert labels",
    r"(?P<label>\S+) (?P<time>\d{1,10}) \d{4}\.\d\d\.\d\d (?P<place>\S+) "
    r"[A-Z][a-z]{2} +\d+ [0-9:]+ \S+ (?P<message>.*)",
    "unix",
)
HPC = Layout(
    "hpc",
    "loghub's HPC log",
    r"\d+ (?P<place>\S+) (?P<component>\S+) (?P<state>\S+) (?P<time>\d{1,10}) -?\d+"
    r"(?: (?P<message>.*))?",
    "unix",
    prefix=("component", "state"),
)
RFC5424 = Layout(
    "syslog-5424",
    "syslog by RFC 5424",
    rf"{_PRIORITY}\d{{1,2}} {_ISO} (?P<place>\S+) (?P<program>\S+) \S+ \S+ "
    r"(?:-|(?:\[(?:[^\]\\]|\\.)*\])+)(?: (?P<message>.*))?",
    "iso",
    prefix=("program",),
)
ISO_SYSLOG = Layout(
    "syslog-iso",
    "syslog with ISO times",
    rf"(?:{_PRIORITY})?{_ISO} (?P<place>\S+) (?P<message>.*)",
    "iso",
)
RFC3164 = Layout(
    "syslog",
    "syslog by RFC 3164, whose times have no year",
    rf"(?:{_PRIORITY})?{_DATED} (?P<place>\S+) (?P<message>.*)",
    "yearless",
)
LAYOUTS: Final = (LABELLED, PLAIN, MIRA, THUNDERBIRD, HPC, RFC5424, ISO_SYSLOG, RFC3164)

WORDS: Final = {
    **{one.name: one for one in Severity},
    "WARN": Severity.WARNING,
    "ERR": Severity.ERROR,
    "CRIT": Severity.SEVERE,
    "CRITICAL": Severity.SEVERE,
    "ALERT": Severity.FATAL,
    "EMERG": Severity.FAILURE,
    "PANIC": Severity.FAILURE,
    "": Severity.UNKNOWN,
    "NULL": Severity.UNKNOWN,
    "NONE": Severity.UNKNOWN,
}
"""Words of severity, in capitals."""

BY_PRIORITY: Final = (
    Severity.FAILURE,
    Severity.FATAL,
    Severity.SEVERE,
    Severity.ERROR,
    Severity.WARNING,
    Severity.NOTICE,
    Severity.INFO,
    Severity.DEBUG,
)
"""Severities by syslog's numbers: 0 emergency, 1 alert, ... 7 debug (RFC 5424, table 2)."""
