"""Columns of text that come in pieces, as codes and words: one dictionary for all pieces, and never
the text of every row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.coded import UNTOLD, Coded
from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_size

with lazily():
    import polars as pl


Codes = npt.NDArray[np.int32]

_FIRST_ROOM: Final = 1 << 18
MOST_NAMES: Final = 200_000
"""Names of jobs are kept whole up to so many; with more, their numbers become ``#``."""


class Growing:
    """A column of numbers in the making.

    Pieces that were kept apart until the end would leave the memory full of holes. Room that is not
    used yet takes none.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._room = np.empty(_FIRST_ROOM, dtype=dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    def add(self, values: npt.NDArray[Any]) -> None:
        """Take in the next rows."""
        used = self._used + len(values)
        if used > len(self._room):
            wider = np.empty(max(2 * len(self._room), used), dtype=self._room.dtype)
            wider[: self._used] = self.values
            self._room = wider
        self._room[self._used : used] = values
        self._used = used

    @property
    def values(self) -> npt.NDArray[Any]:
        """All rows so far."""
        return self._room[: self._used]


def coded(column: pl.Series) -> tuple[list[str], Codes]:
    """Return the words of a column of text in order of first appearance, and each row's place
    among them, int32[n]."""
    text = column.fill_null("")
    words = text.unique(maintain_order=True)
    if len(words) == 1:
        return words.to_list(), np.zeros(len(text), dtype=np.int32)
    code = text.cast(pl.Enum(words)).to_physical().cast(pl.Int32)
    return words.to_list(), code.to_numpy()


def by_word(
    column: pl.Series, meaning: Callable[[str], Any], dtype: npt.DTypeLike
) -> npt.NDArray[Any]:
    """Return what each row's text means; `meaning` is asked once for each word."""
    words, code = coded(column)
    return np.array([meaning(word) for word in words], dtype=dtype)[code]


class Words:
    """A column of text in the making.

    Parameters
    ----------
    blank : words that say nothing, besides ""
    most : with more words than this, runs of digits in them become ``#``; None: never
    """

    def __init__(self, blank: Iterable[str] = (), most: int | None = None) -> None:
        self._blank = frozenset(blank) | {""}
        self._most = most
        self._places = dict.fromkeys(self._blank, UNTOLD)
        self._codes = Growing(np.int32)
        self.in_families = False
        """Whether there were too many words."""

    def add(self, column: pl.Series) -> None:
        """Take in the next rows."""
        words, code = coded(column)
        if self.in_families:
            words, code = _families(words, code)
        places = self._places
        start = len(places) - len(self._blank)
        table = np.empty(len(words), dtype=np.int32)
        for k, word in enumerate(words):
            place = places.get(word)
            if place is None:
                places[word] = place = start
                start += 1
            table[k] = place
        self._codes.add(table[code])
        if self._most is not None and not self.in_families and start > self._most:
            self._merge()

    def none(self, count: int) -> None:
        """Take in rows that say nothing."""
        self._codes.add(np.full(count, UNTOLD, dtype=np.int32))

    def column(self) -> Coded:
        """Return the whole column."""
        words = tuple(word for word in self._places if word not in self._blank)
        return Coded(self._codes.values, words)

    def _merge(self) -> None:
        """Make families of the words so far."""
        self.in_families = True
        old = [word for word in self._places if word not in self._blank]
        words, code = _families(old, np.arange(len(old), dtype=np.int32))
        self._places = dict.fromkeys(self._blank, UNTOLD)
        self._places.update((word, place) for place, word in enumerate(words))
        table = np.append(code, np.int32(UNTOLD))
        values = self._codes.values
        values[:] = table[values]


def _families(words: list[str], code: Codes) -> tuple[list[str], Codes]:
    """Return words whose runs of digits are ``#``, each once, and the codes of the same rows."""
    family, place = coded(pl.Series(words, dtype=pl.String).str.replace_all("[0-9]+", "#"))
    return family, place[code]


def mebibytes(text: str) -> int:
    """Return an amount of memory in whole MiB, as Slurm writes it: M where it has no unit; -1 where
    it is none."""
    with suppress(ParameterError):
        size = parse_size(f"{text}M" if text[-1:].isdigit() else text)
        return min(-(-size // 2**20), int(np.iinfo(np.int32).max))
    return -1
