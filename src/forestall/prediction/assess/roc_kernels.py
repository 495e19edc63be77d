"""Scores of failures and of the rest, sorted apart and merged: the ROC curve and its area.

A score is sorted as the bits of its float64, turned so that they order as the numbers do: 8 passes
of a byte each, fewer where all scores share a byte, take a fraction of the time of a comparison
sort. The key 0 belongs to no number and stands for "none left".
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel

Keys = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

SIGN: Final = np.uint64(1 << 63)
ALL: Final = np.uint64(2**64 - 1)
NONE: Final = np.uint64(0)
BYTE: Final = np.uint64(255)
PASSES: Final = 8
DIGITS: Final = 256


@entry
def apart(bits: Keys, failed: Flags, keys: Keys) -> int:
    """Fill `keys` with those of failures first, then those of the rest; return how many failed.

    Parameters
    ----------
    bits : uint64[n], float64 scores seen as bits, none of them nan; -0.0 counts as 0.0
    failed : bool[n]
    keys : uint64[n], filled: unsigned integers in the order of the scores; the rest backwards
    """
    low, high = 0, len(bits) - 1
    for i in range(len(bits)):
        word = bits[i]
        # -0.0, which compares equal to 0.0.
        if word == SIGN:
            word = NONE
        # Negative numbers order backwards by their bits: all bits turn. Positive ones go above
        # them: the sign bit turns. No number becomes 0, for only a nan could.
        key = word ^ (ALL if word & SIGN else SIGN)
        if failed[i]:
            keys[low] = key
            low += 1
        else:
            keys[high] = key
            high -= 1
    return low


@entry
def arrange(keys: Keys, spare: Keys, counts: Ints) -> bool:
    """Sort keys ascending, with `spare` of the same length and counts[PASSES, DIGITS] to work in;
    return whether the result stands in `keys` (else in `spare`)."""
    counts[:] = 0
    total = len(keys)
    # The counts of all 8 bytes in one pass.
    for i in range(total):
        word = keys[i]
        for each in range(PASSES):
            counts[each, (word >> np.uint64(8 * each)) & BYTE] += 1
    source, target = keys, spare
    straight = True
    for each in range(PASSES):
        shift = np.uint64(8 * each)
        place = counts[each]
        # All keys share this byte: the pass would change nothing.
        if total == 0 or place[(source[0] >> shift) & BYTE] == total:
            continue
        begin = 0
        for digit in range(DIGITS):
            size = place[digit]
            place[digit] = begin
            begin += size
        for i in range(total):
            word = source[i]
            digit = (word >> shift) & BYTE
            target[place[digit]] = word
            place[digit] += 1
        source, target = target, source
        straight = not straight
    return straight


@kernel
def _score(key: np.uint64) -> np.uint64:
    """Return the bits of the score of a key."""
    return key ^ (SIGN if key & SIGN else ALL)


@entry
def steps(failed: Keys, well: Keys, threshold: Keys, hits: Ints, false: Ints) -> int:
    """Fill the curve from the highest score down, and return its number of points.

    Parameters
    ----------
    failed, well : uint64[m], uint64[n], keys of failures and of the rest, ascending
    threshold, hits, false : [m + n], of which so many are filled: bits of each distinct score, and
        how many of the failures and of the rest have it or more

    One key of each side is taken a turn, so that no branch depends on the order of the scores.
    """
    m, n = len(failed), len(well)
    i, j, at = m - 1, n - 1, 0
    first = failed[i] if i >= 0 else NONE
    other = well[j] if j >= 0 else NONE
    value = max(first, other)
    while value != NONE:
        # At most one of each side a turn; a value's point is overwritten until its last key is
        # taken.
        i -= int(first == value)
        j -= int(other == value)
        threshold[at] = _score(value)
        hits[at] = m - 1 - i
        false[at] = n - 1 - j
        first = failed[i] if i >= 0 else NONE
        other = well[j] if j >= 0 else NONE
        left = max(first, other)
        at += int(left != value)
        value = left
    return at


@entry
def doubled_wins(failed: Keys, well: Keys) -> int:
    """Return 2 * #(failed above well) + #(failed level with well) of all pairs, both ascending."""
    m, n = len(failed), len(well)
    count = 0
    i, j = 0, 0
    while i < m and j < n:  # those of the rest that are below
        below = int(well[j] < failed[i])
        j += below
        i += 1 - below
        # Each failure, as it is passed, beats the j that are below it; twice over both loops, a tie
        # counts once.
        count += (1 - below) * j
    count += (m - i) * n
    i, j = 0, 0
    while i < m and j < n:  # below or level
        below = int(well[j] <= failed[i])
        j += below
        i += 1 - below
        count += (1 - below) * j
    return count + (m - i) * n


@entry
def places(these: npt.NDArray[np.float64], those: npt.NDArray[np.float64], out: Ints) -> None:
    """Fill out[k] with 2 * #(those below these[k]) + #(those level with it), both ascending."""
    below, upto = 0, 0
    for k in range(len(these)):
        value = these[k]
        while below < len(those) and those[below] < value:
            below += 1
        while upto < len(those) and those[upto] <= value:
            upto += 1
        out[k] = below + upto
