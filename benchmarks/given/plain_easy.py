"""The yardstick for EASY: one straightforward compiled loop over plain arrays, counts only.

It does what every EASY simulator has to do and nothing else: no node sets, no failures, no log, no
decisions with reasons. Definitions as in docs/models/classic.md.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def plain_easy(submit, size, runtime, estimate, nodes):  # noqa: PLR0912 one plain loop
    """Return int64[n] starts of EASY backfilling; times in s, jobs in submit order."""
    count = len(submit)
    start = np.full(count, -1, dtype=np.int64)
    end = np.zeros(nodes + 1, dtype=np.int64)
    expected = np.zeros(nodes + 1, dtype=np.int64)
    held = np.zeros(nodes + 1, dtype=np.int64)
    queue = np.zeros(count, dtype=np.int64)
    waiting, running, arrived, done, free = 0, 0, 0, 0, nodes
    while done < count:
        now = np.int64(2**62)
        if arrived < count:
            now = submit[arrived]
        for i in range(running):
            now = min(now, end[i])
        i = 0
        while i < running:  # running jobs lie in order of their expected end
            if end[i] == now:
                free += held[i]
                done += 1
                running -= 1
                for k in range(i, running):
                    end[k], expected[k], held[k] = end[k + 1], expected[k + 1], held[k + 1]
            else:
                i += 1
        while arrived < count and submit[arrived] == now:
            queue[waiting] = arrived
            waiting += 1
            arrived += 1
        shadow, extra, kept = np.int64(-1), 0, 0
        for q in range(waiting):
            j = queue[q]
            if shadow < 0:
                fits = size[j] <= free
                if not fits:
                    there = free
                    for i in range(running):
                        there += held[i]
                        if there >= size[j] and (i + 1 == running or expected[i + 1] > expected[i]):
                            shadow, extra = expected[i], there - size[j]
                            break
            else:
                in_time = now + estimate[j] <= shadow
                fits = size[j] <= free and (in_time or size[j] <= extra)
                if fits and not in_time:
                    extra -= size[j]
            if not fits:
                queue[kept] = j
                kept += 1
                continue
            start[j] = now
            free -= size[j]
            i = running
            while i > 0 and expected[i - 1] > now + estimate[j]:
                end[i], expected[i], held[i] = end[i - 1], expected[i - 1], held[i - 1]
                i -= 1
            end[i], expected[i], held[i] = now + runtime[j], now + estimate[j], size[j]
            running += 1
        waiting = kept
    return start
