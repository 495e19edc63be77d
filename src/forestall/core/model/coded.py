"""Text columns in which few words come often: a number for each row, and the words by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from forestall.core.model.arrays import Bools, Ints, brief_repr

UNTOLD = -1
"""The code of a row that says nothing."""


@dataclass(frozen=True)
class Coded:
    """A column of text.

    Attributes
    ----------
    code : int32[n], the place of each row's word in `words`, `UNTOLD` where it has none
    words : each once, none of them ""
    """

    code: npt.NDArray[np.int32]
    words: tuple[str, ...]

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        assert self.code.dtype == np.int32, "codes are int32"
        assert int(self.code.max(initial=-1)) < len(self.words), "a code beyond the words"

    @classmethod
    def of(cls, texts: Sequence[str]) -> Coded:
        """Return the column of these texts, words in order of first appearance."""
        places: dict[str, int] = {"": UNTOLD}
        codes = [places.setdefault(text, len(places) - 1) for text in texts]
        return cls(np.asarray(codes, dtype=np.int32), tuple(places)[1:])

    @classmethod
    def untold(cls, count: int) -> Coded:
        """Return a column of which nothing is known."""
        return cls(np.full(count, UNTOLD, dtype=np.int32), ())

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, row: int) -> str:
        code = int(self.code[row])
        return self.words[code] if code >= 0 else ""

    def texts(self) -> list[str]:
        """Return the text of every row, "" where it has none."""
        words = (*self.words, "")
        return [words[code] for code in self.code.tolist()]

    @property
    def told(self) -> Bools:
        """Whether a row says anything, bool[n]."""
        return self.code >= 0

    def among(self, words: Iterable[str]) -> Bools:
        """Return which rows have one of these words, bool[n]."""
        wanted = set(words)
        table = np.fromiter((word in wanted for word in (*self.words, None)), np.bool_)
        return table[self.code]

    def mapped(self, words: Sequence[str]) -> Coded:
        """Return the column with other words, one for each of `words`; those alike become one."""
        assert len(words) == len(self.words), "one new word for each word"
        new = Coded.of(words)
        table = np.append(new.code, np.int32(UNTOLD))
        return Coded(table[self.code], new.words)

    def take(self, index: Ints | Bools) -> Coded:
        """Return the rows at these positions or where the mask holds, all words kept."""
        return Coded(self.code[index], self.words)

    def counts(self) -> dict[str, int]:
        """Return how many rows have each word, the most frequent first, ties by word."""
        number = np.bincount(self.code[self.code >= 0], minlength=len(self.words)).tolist()
        pairs = ((word, count) for word, count in zip(self.words, number, strict=True) if count)
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))
