"""What the world of guests keeps of their checkpoints where a vault holds them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core._compile import record_of

IDLE, RESTORING, WORKING, SAVING = map(np.int64, range(4))

KEEPING: Final = record_of("phase since mark row held number taken shot version unrecovered")
"""A guest as the vault knows it: phase, and since when; work done in this stay up to then;
its transfer's row; versions kept and the number of the last one; checkpoints of this stay; work of
the job in the checkpoint under way, the version it will be; work that was kept and could not be
recovered when the stay began. Work in millionths of a second of a host of speed 1."""

VERSION: Final = record_of("number base work")
"""A checkpoint that is complete: its number among those of its job; the number of the first one
that it leans on; work of the job in it, millionths."""

SAVE, LAST, RESTORE = map(np.int64, range(3))
TRANSFER: Final = record_of("job kind host start until complete version base work bytes")
"""A transfer: position of the job; SAVE, LAST (of a guest whose host is taken back) or RESTORE; the
host that it is from or to; [start, until) s; whether it was completed; the version, the first one
that it leans on, and its work; bytes that were to be carried."""

ROWS, SKIPPED, ACTIVE, COUNTERS = range(4)
MOMENTS: Final = 48
"""Evenly spaced moments that hosts are remembered at, at most."""
FAILURES: Final = 32
"""Last failures of a compute host that are remembered, at most."""
SHORTLIST: Final = 12
"""Storage hosts of which all choices are looked at."""
OPINION: Final = 4.0
"""Failures' weight that the evenly spaced moments have together."""


class NoVault(NamedTuple):
    """Checkpoints cost what the parameters say, and are always there."""

    none: int


class StoreRules(NamedTuple):
    """Stores (`forestall.core.model.stores`) as kernels read them: `layout`, `choice` are numbers;
    `raw` and `piece` in bytes, of a version that holds everything and of a next one; `depth`
    versions that one leans on at most; `history` s that are looked back; `room` versions held of a
    job."""

    layout: int
    choice: int
    needed: int
    pieces: int
    raw: int
    raw_next: int
    piece: int
    piece_next: int
    depth: int
    keep: int
    room: int
    speed: int
    near: int
    far: int
    host: int
    server: int
    disk: int
    grace: int
    history: int


class SeenHosts(NamedTuple):
    """What is known of hosts: int64[runs] the state of each run; int64[hosts] sites, and 1 for
    those that keep pieces; int64[n] when hosts were lost, one host after the other, and
    int64[hosts + 1] where each begins."""

    states: npt.NDArray[np.int64]
    site: npt.NDArray[np.int64]
    keeps: npt.NDArray[np.int64]
    lost: npt.NDArray[np.int64]
    lost_first: npt.NDArray[np.int64]


class StoreDesk(NamedTuple):
    """Room to choose hosts in: int64[hosts] candidates, float64[hosts] s that a piece takes to
    each, float64[hosts] the chance that each is up, int8[hosts, moments] whether it was,
    float64[moments] their weights, int64[hosts] order of the short list; the same for that;
    int64[pieces], int8[pieces + 1, moments], and int64[pieces] the choice."""

    hosts: npt.NDArray[np.int64]
    cost: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    up: npt.NDArray[np.int8]
    weight: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]
    short_cost: npt.NDArray[np.float64]
    short_up: npt.NDArray[np.int8]
    scratch: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int8]
    chosen: npt.NDArray[np.int64]


class GuestVault(NamedTuple):
    """KEEPING[jobs]; VERSION[jobs, room] and int64[jobs, room, pieces] the hosts of each;
    TRANSFER[capacity] and int64[capacity, pieces] the hosts of each (-1: none); int64[jobs + 1]
    rows of the transfers under way; int64[3] counters: transfers, saves for which there were too
    few hosts, transfers under way; rules, what is known of hosts, room to choose in."""

    guests: npt.NDArray[Any]
    versions: npt.NDArray[Any]
    held: npt.NDArray[np.int64]
    transfers: npt.NDArray[Any]
    places: npt.NDArray[np.int64]
    active: npt.NDArray[np.int64]
    at: npt.NDArray[np.int64]
    rules: StoreRules
    seen: SeenHosts
    desk: StoreDesk
