"""Probabilities that somebody else says, corrected by how the earlier ones were kept.

The curve is that of a book's named deadlines, with the rules for laws that were corrected before
(`book_state.CORRECTED`): a rising curve of kept shares (Ayer et al. 1955), drawn towards what was
said as if 100 more promises had agreed with it in each twentieth, older ones fading slowly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forestall.core._lazy import lazily
from forestall.site.learning.turnaround.book_state import CORRECTED, BookState, new_book

with lazily():
    from forestall.site.learning.turnaround.books import correction_kernels as kernels


class Correction:
    """What is learned from promises that ended. It only ever lowers what is said: who says too
    little is not made to say more.

    >>> correction = Correction()
    >>> correction.learn([0.9] * 300, [True] * 150 + [False] * 150)
    >>> round(correction.of(0.9), 2)
    0.6
    """

    def __init__(self) -> None:
        self._book: BookState | None = None  # until something was learned

    def learn(self, said: Sequence[float], kept: Sequence[bool]) -> None:
        """Take in probabilities that were said, and whether each was kept, in the order in which
        that became known."""
        if not len(said):
            return
        if self._book is None:
            self._book = new_book(1, 1, 1, 1, 1, 1, 1, dict(CORRECTED))
        chances, ends = np.asarray(said, np.float64), np.asarray(kept, np.float64)
        kernels.learn(self._book, chances, ends)

    def of(self, said: float) -> float:
        """Return the probability to say in place of one."""
        if self._book is None:
            return said
        return min(said, float(kernels.on_curve(self._book, said)))
