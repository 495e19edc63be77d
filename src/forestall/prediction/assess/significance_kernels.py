"""Areas of many random samples: subsets of ranks, and cases drawn again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@entry
def sums_of_subsets(ranks: Ints, uniform: Floats, out: Ints) -> None:
    """Fill out[r] with the sum of a random subset of the ranks, as large as a row is long.

    Parameters
    ----------
    ranks : int64[n], left in another order: any order is as good a start for the next subset
    uniform : float64[r, k] on [0, 1), k <= n: the first k places of a Fisher-Yates shuffle
    """
    for row in range(len(uniform)):
        total = 0
        for k in range(uniform.shape[1]):
            # Only the first k places are shuffled: a subset without replacement in O(k).
            other = k + int(uniform[row, k] * (len(ranks) - k))
            rank = ranks[other]
            ranks[other] = ranks[k]
            ranks[k] = rank
            total += rank
        out[row] = total


@entry
def areas_again(
    uniform: Floats,
    begin: Ints,
    size: Ints,
    unit: Ints,
    failed: Flags,
    ends: Flags,
    times: Ints,
    out: Floats,
) -> None:
    """Fill out[r] with the area of cases drawn again; nan where one class was not drawn.

    Parameters
    ----------
    uniform : float64[r, u] on [0, 1): one for each unit (a case, or a group of cases) to draw
    begin, size : int64[u], unit k is drawn from the units begin[k] to begin[k] + size[k] - 1
    unit, failed : [n], of each case, in the order of the scores
    ends : bool[n], whether the next case has a higher score
    times : int64[u], to work in: how often each unit was drawn
    """
    for row in range(len(uniform)):
        # How often each unit was drawn is its weight: the cases need not be sorted again.
        times[:] = 0
        for k in range(uniform.shape[1]):
            times[begin[k] + int(uniform[row, k] * size[k])] += 1
        wins, ill, well = 0, 0, 0
        tied_ill, tied_well = 0, 0
        for i in range(len(unit)):
            drawn = times[unit[i]]
            if failed[i]:
                tied_ill += drawn
            else:
                tied_well += drawn
            if ends[i]:
                # At the end of a run of equal scores, twice the pairs won; ties count half.
                wins += tied_ill * (2 * well + tied_well)
                ill += tied_ill
                well += tied_well
                tied_ill, tied_well = 0, 0
        out[row] = wins / (2.0 * ill * well) if ill > 0 and well > 0 else np.nan
