"""The formats of failure logs that can be read. A new one is a module and a line here."""

from __future__ import annotations

from typing import Final

from forestall.logs.failures import devices, event_logs, fta, lanl, marconi, own
from forestall.logs.failures.raw import FailureFormat

FORMATS: Final[tuple[FailureFormat, ...]] = (
    own.FORMAT,
    lanl.FORMAT,
    fta.FORMAT,
    *event_logs.FORMATS,
    *devices.FORMATS,
    marconi.FORMAT,
)
"""In the order in which they are tried."""
