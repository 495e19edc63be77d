"""`forestall --verbose`: what is read, what the command took, and where an error came
from, on standard error."""

from __future__ import annotations

import logging
import resource
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

LOG: Final = logging.getLogger("forestall")
MIB: Final = 1024
"""KiB, in which the system tells memory."""


@contextmanager
def telling() -> Iterator[None]:
    """Tell on standard error what the log of the package is told, and at the end what it took."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("forestall: %(message)s"))
    before, begun = LOG.level, time.monotonic()
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG)
    try:
        yield
    except Exception:
        LOG.debug("%s", traceback.format_exc().rstrip())
        raise
    finally:
        own, ours = (
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        processor = own.ru_utime + own.ru_stime + ours.ru_utime + ours.ru_stime
        LOG.debug(
            "%.1f s, %.1f s of processor, %.0f MiB at most",
            time.monotonic() - begun, processor, own.ru_maxrss / MIB,
        )  # fmt: skip
        LOG.setLevel(before)
        LOG.removeHandler(handler)
