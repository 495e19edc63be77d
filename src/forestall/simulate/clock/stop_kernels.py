"""Why a compiled loop comes back to Python. Compiled in; so a change empties the cache of kernels,
which goes by the sources of this name."""

from __future__ import annotations

from typing import Final

ENDED: Final = 0
PAUSED: Final = 1
FULL: Final = 2
STALLED: Final = 3
ASKED: Final = 4
"""Of a loop whose predictor or placement rule is Python: it has a question."""
