"""Jobs as they were submitted: a table of equal-length arrays."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.model.arrays import Bools, Ints, brief_repr
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.nodes import Requests

with lazily():
    import polars as pl


UNKNOWN = -1
"""Stands for a whole number that the log does not tell."""


@dataclass(frozen=True)
class Jobs:
    """Jobs in submit order (ties in the order of the log). All arrays int64[n].

    Attributes
    ----------
    job : ids as the log gives them
    submit : submit time, seconds since the trace's epoch
    size : nodes (UNKNOWN if the log does not say)
    runtime : run time without checkpoints, s (UNKNOWN if the log does not say)
    estimate : requested time, s (UNKNOWN where none was asked for)
    user, queue : as text, or None where the log has none
    source : where they came from
    cleaning : what was left out or changed on reading
    nodes : size of the machine in nodes as the log's header says, or None
    epoch : s since 1970 of time 0, where the log tells it
    requests : cores, memory and GPUs that jobs ask for, where the log tells them
    processor_memory : MiB a processor of each job, 0 where it is not told, of a log whose sizes are
        processors; else None
    """

    job: Ints
    submit: Ints
    size: Ints
    runtime: Ints
    estimate: Ints
    user: tuple[str, ...] | None = None
    queue: tuple[str, ...] | None = None
    source: str = ""
    cleaning: Cleaning = field(default_factory=Cleaning)
    nodes: int | None = None
    epoch: int | None = None
    requests: Requests | None = None
    processor_memory: Ints | None = None

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        lengths = {len(a) for a in (self.job, self.submit, self.size, self.runtime, self.estimate)}
        assert len(lengths) == 1, f"columns of unlike lengths: {lengths}"
        in_order = self.submit[1:] >= self.submit[:-1]
        assert bool(in_order.all()), "jobs are not in submit order"

    def __len__(self) -> int:
        return len(self.job)

    @classmethod
    def build(
        cls,
        submit: npt.ArrayLike,
        size: npt.ArrayLike,
        runtime: npt.ArrayLike,
        estimate: npt.ArrayLike | None = None,
    ) -> Jobs:
        """Return the jobs of plain columns, sorted by submit time and numbered from 1."""
        submits = np.asarray(submit, dtype=np.int64)
        order = np.argsort(submits, kind="stable")
        unknown = np.full(len(submits), UNKNOWN)
        requested = unknown if estimate is None else np.asarray(estimate)
        return cls(
            order + 1,
            submits[order],
            np.asarray(size, dtype=np.int64)[order],
            np.asarray(runtime, dtype=np.int64)[order],
            requested[order].astype(np.int64),
        )

    def take(self, index: Ints | Bools) -> Jobs:
        """Return the jobs at these positions (ascending) or where the mask holds."""
        masked = index.dtype == np.bool_
        if masked and bool(index.all()) and len(index) == len(self):
            return self
        where = np.flatnonzero(index) if masked else index
        chosen = index.tolist()

        def taken(texts: tuple[str, ...] | None) -> tuple[str, ...] | None:
            if texts is None:
                return None
            return tuple(compress(texts, chosen) if masked else map(texts.__getitem__, chosen))

        return replace(
            self,
            job=self.job[where],
            submit=self.submit[where],
            size=self.size[where],
            runtime=self.runtime[where],
            estimate=self.estimate[where],
            user=taken(self.user),
            queue=taken(self.queue),
            requests=None if self.requests is None else self.requests.take(index),
            processor_memory=(
                None if self.processor_memory is None else self.processor_memory[where]
            ),
        )

    def table(self) -> pl.DataFrame:
        """Return a Polars table ``job,submit,size,runtime,estimate[,user][,queue]``, and where jobs
        ask for resources ``[,cores,memory,gpus...,tasks,exclusive,gpu_type,features]``."""
        columns: dict[str, object] = {
            "job": self.job,
            "submit": self.submit,
            "size": self.size,
            "runtime": self.runtime,
            "estimate": self.estimate,
        }
        if self.user is not None:
            columns["user"] = list(self.user)
        if self.queue is not None:
            columns["queue"] = list(self.queue)
        if self.requests is not None:
            columns |= self.requests.columns()
        return pl.DataFrame(columns)
