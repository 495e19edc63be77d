"""Why a compiled loop comes back to Python. Compiled in; so a change empties the cache of kernels,
which goes by the sources of this name."""

from __future__ import annotations

ENDED, PAUSED, FULL, STALLED, ASKED, MET = range(6)
"""ASKED: of a loop whose predictor or placement rule is Python: it has a question. MET: of one with
users who bargain: one of them is about to submit a job."""
