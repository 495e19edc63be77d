"""Buffers of megabytes, of which a save and a recovery use many one after the other."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Final

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # of mallopt(3)
_KEPT: Final = 1 << 30


@cache
def keep_buffers() -> None:
    """Keep large buffers in the process once they are free: asked for anew from the system each
    time, their pages would cost several times what the erasure code does."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_MMAP_THRESHOLD, _KEPT)
            libc.mallopt(_TRIM_THRESHOLD, _KEPT)
