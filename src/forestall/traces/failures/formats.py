"""The formats of failure logs that can be read. A new one is a module and a line here."""

from __future__ import annotations

from typing import Final

from forestall.traces.failures import bluegene, devices, fta, lanl, loghub, marconi, own
from forestall.traces.failures.raw import FailureFormat

FORMATS: Final[tuple[FailureFormat, ...]] = (
    own.FORMAT,
    lanl.FORMAT,
    fta.FORMAT,
    *bluegene.FORMATS,
    *loghub.FORMATS,
    *devices.FORMATS,
    marconi.FORMAT,
)
"""In the order in which they are tried."""
