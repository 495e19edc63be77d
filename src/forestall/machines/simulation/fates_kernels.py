"""What became of each task, in one walk over its stays."""

from __future__ import annotations

from forestall.core._compile import entry
from forestall.core.model.virtual_books import Begun, Ended

_CANCELLED = int(Ended.CANCELLED)
_RESTARTED = int(Begun.RESTARTED)


@entry
def tally(numbers, runs, start, latest, totals):
    """Sum the stays by task, and keep the last one of each.

    Parameters
    ----------
    numbers : int64[stays], the number of each stay's task among all tasks
    runs : RUN[stays] in order of their ends; reservations that were never run on are left out
    start : int64[tasks], the start of each task's first stay
    latest : int64[4, tasks], node (-1 where there is no stay), rate, end, and how it ended
    totals : int64[4, tasks], 0 throughout: work done, work lost, restarts, checkpoints
    """
    node, rate, end, ended = runs["node"], runs["rate"], runs["end"], runs["ended"]
    since, begun, work = runs["start"], runs["begun"], runs["work"]
    lost, checkpoints = runs["lost"], runs["checkpoints"]
    for row in range(len(numbers)):
        if ended[row] == _CANCELLED:
            continue
        task = numbers[row]
        # Its first stay.
        if latest[0, task] < 0:
            start[task] = since[row]
        latest[0, task], latest[1, task] = node[row], rate[row]
        latest[2, task], latest[3, task] = end[row], ended[row]
        totals[0, task] += work[row]
        totals[1, task] += lost[row]
        totals[2, task] += 1 if begun[row] == _RESTARTED else 0
        totals[3, task] += checkpoints[row]
