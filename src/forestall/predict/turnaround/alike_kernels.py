"""What the latest similar jobs alone say of a job that is about to be submitted."""

from __future__ import annotations

from forestall._compile import entry
from forestall.predict.turnaround.law_kernels import time_of
from forestall.predict.turnaround.tell_kernels import tell_law


@entry
def tell_alike(book, k, now, levels, out):
    """Write quantiles of the turnaround of job k were it submitted now, float32[L], s, as its
    submission would have them at the same moment. What is written into the book is written again
    when it is submitted."""
    job = book.jobs[k]
    job.slot = book.free[book.desk[0].free - 1]
    tell_law(book, k, now)
    law = book.laws[job.slot]
    for i in range(len(levels)):
        out[i] = time_of(law.plain, law.plain_top, levels[i])
