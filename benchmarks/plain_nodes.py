"""The yardstick for node sets: a job's nodes as a row of bits as long as the machine.

The straightforward way, and what the engine did until it looked only at words that hold something:
every start and end walks over the whole row, and each node is told its job. The rule is that of
`--placement first`: the nodes of lowest number.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def node_of(bit):
    """Return the number of a bit, the count of those below it, with adds and masks."""
    w = bit - np.uint64(1)
    w = w - ((w >> np.uint64(1)) & np.uint64(0x5555555555555555))
    w = (w & np.uint64(0x3333333333333333)) + ((w >> np.uint64(2)) & np.uint64(0x3333333333333333))
    w = (w + (w >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    w += w >> np.uint64(8)
    w += w >> np.uint64(16)
    w += w >> np.uint64(32)
    return np.int64(w & np.uint64(127))


@numba.njit(cache=True)
def place_by_rows(start, end, size, nodes):
    """Return int64[n], the sum of node numbers of each job, for jobs that run [start, end), s.

    Jobs that start in the same second do so in their order; ends come before starts.
    """
    count, words = len(start), (nodes + 63) // 64
    by_start, by_end = np.argsort(start, kind="mergesort"), np.argsort(end, kind="mergesort")
    idle = np.zeros(words, dtype=np.uint64)
    for node in range(nodes):
        idle[node >> 6] |= np.uint64(1) << np.uint64(node & 63)
    job_of = np.full(nodes, -1, dtype=np.int64)
    rows = np.zeros((64, words), dtype=np.uint64)
    spare = np.arange(64)
    left, row_of = 64, np.zeros(count, dtype=np.int64)
    total = np.zeros(count, dtype=np.int64)
    ended = 0
    for j in by_start:
        while end[by_end[ended]] <= start[j]:
            gone = rows[row_of[by_end[ended]]]
            for i in range(words):
                idle[i] |= gone[i]
                word = gone[i]
                while word != 0:
                    bit = word & (~word + np.uint64(1))
                    job_of[64 * i + node_of(bit)] = -1
                    word ^= bit
            spare[left] = row_of[by_end[ended]]
            left += 1
            ended += 1
        if left == 0:
            held = len(rows)
            more = np.zeros((2 * held, words), dtype=np.uint64)
            more[:held] = rows
            rows, left, spare = more, held, np.arange(2 * held)
            spare[:held] = np.arange(held, 2 * held)
        left -= 1
        row_of[j] = spare[left]
        row, wanted = rows[row_of[j]], size[j]
        for i in range(words):
            row[i] = 0
            word = idle[i]
            while word != 0 and wanted > 0:
                bit = word & (~word + np.uint64(1))
                node = 64 * i + node_of(bit)
                row[i] |= bit
                job_of[node] = j
                total[j] += node
                wanted -= 1
                word ^= bit
            idle[i] = word
    return total
