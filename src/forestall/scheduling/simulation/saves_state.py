"""What the world of jobs keeps of their checkpoints where a vault holds them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of

SAVE, LOST = map(np.int64, range(2))
STORED: Final = record_of("job kind start until complete work")
"""What became of a job's checkpoints: its position; SAVE, or LOST, where it found as it was about
to start that its newest one cannot be had; [start, until) s; whether it was completed; work of the
job in it, s: of LOST, in the newest one that can be had."""

KEEPING: Final = record_of("slot held row unrecovered")
"""A job as the vault knows it: where its checkpoints are (0: nowhere yet), and how many are kept;
one more than the row of the one under way (0: none is); work that was saved and could not be had,
and has not been told of yet, s."""

ROWS, SPARE, NEWS = range(3)
RAN_ON, REACHED = range(2)
"""Rows of nodes of a checkpoint: those of the run, and the stores that could be reached."""


class NoSaves(NamedTuple):
    """Checkpoints cost C, and are always there."""

    none: int


class SaveRules(NamedTuple):
    """Stores (`forestall.core.model.stores`) as kernels read them: whether pieces are on nodes of
    the machine, and then on the own one alone; pieces needed and made; checkpoints kept of a job;
    copies on a ring of the job's nodes (0: there is none).
    """

    shared: int
    local: int
    needed: int
    pieces: int
    keep: int
    ring: int


class JobVault(NamedTuple):
    """KEEPING[jobs]; STORED[capacity]; of each slot int64[slots, keep + 1] the work of its
    checkpoints, s, and uint64[slots, keep + 1, 2, words] RAN_ON and REACHED, the last place being
    that of the one under way; int64[slots] those that nobody has; int64[3] rows of STORED, spare
    slots, and jobs that the engine has to be told of; int64[nodes + 1] these; uint64[words] the
    nodes that keep pieces; int64[sites + 1] the first node of each site; int64[pieces] the stores
    of one node; the rules."""

    jobs: npt.NDArray[Any]
    rows: npt.NDArray[Any]
    works: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.uint64]
    spare: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]
    news: npt.NDArray[np.int64]
    keeps: npt.NDArray[np.uint64]
    first: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.int64]
    rules: SaveRules
