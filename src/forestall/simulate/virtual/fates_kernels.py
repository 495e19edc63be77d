"""What became of each task, in one walk over its stays."""

from __future__ import annotations

from forestall._compile import entry
from forestall.model.virtual_books import Begun, Ended

_CANCELLED = int(Ended.CANCELLED)
_RESTARTED = int(Begun.RESTARTED)


@entry
def tally(numbers, ended, begun, since, work, gone, taken, last, start, totals):
    """Sum the stays (in order of their ends, given column by column) by task.

    Parameters
    ----------
    numbers : int64[stays], the number of each stay's task among all tasks
    ended, begun, since, work, gone, taken : columns of RUN: ended, begun, start, work, lost,
        checkpoints; reservations that were never run on are left out
    last, start : int64[tasks], -1 throughout: the row of each task's last stay, and the start of
        its first
    totals : int64[4, tasks], 0 throughout: work done, work lost, restarts, checkpoints
    """
    for row in range(len(numbers)):
        if ended[row] == _CANCELLED:
            continue
        task = numbers[row]
        if last[task] < 0:
            start[task] = since[row]
        last[task] = row
        totals[0, task] += work[row]
        totals[1, task] += gone[row]
        totals[2, task] += 1 if begun[row] == _RESTARTED else 0
        totals[3, task] += taken[row]
