"""What checkpoints of a job on so many nodes cost, by their size, the paths and the placement."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core._compile import plain
from forestall.core.model.errors import ParameterError
from forestall.core.model.stores import Stores
from forestall.core.model.units import MAX_SECONDS
from forestall.core.world.transfer_kernels import micros, seconds_of
from forestall.scheduling.simulation.parameters import Parameters

Int = npt.NDArray[np.int64]


def pauses_of(size: Int, parameters: Parameters) -> tuple[Int, Int]:
    """Return what a checkpoint of each job of `size` nodes takes, C, and what going on from one
    takes, s (int64[n]). Raises ParameterError where that is no time that can be waited for."""
    kinds, which = np.unique(size, return_inverse=True)
    told = np.array([pause_of(int(one), parameters) for one in kinds], dtype=np.int64)
    return told[which, 0].copy(), told[which, 1].copy()


def pause_of(size: int, parameters: Parameters) -> tuple[int, int]:
    """Return what a checkpoint of a job on `size` nodes takes, and what going on from one takes, s.

    All its nodes send, or fetch, their pieces at once, each of them one after the other.
    """
    overhead, stores = parameters.checkpoint_overhead, parameters.stores
    if stores is None:
        return overhead, 0
    rates = rates_of(stores, size, parameters.nodes)
    pause = overhead + _seconds(stores, rates)
    # Whichever pieces can be read then: a recovery is given the time for the slowest.
    recovery = _seconds(stores, sorted(rates)[: stores.needed])
    if max(pause, recovery) > MAX_SECONDS:
        allowed = f"checkpoints of {size} nodes that take less than {MAX_SECONDS} s"
        raise ParameterError("vault", stores.text, allowed)
    return pause, recovery


def rates_of(stores: Stores, size: int, nodes: int) -> list[int]:
    """Return the B/s at which a node of a job on `size` nodes sends each of its pieces, and fetches
    it. Pieces go to one site after the other, from the own one on."""
    if stores.layout == "local":
        return [stores.disk]
    if stores.layout == "ring":
        copies = min(stores.pieces, size) - 1  # each node sends so many, and takes in as many
        carried = stores.host // max(copies, 1)
        return [stores.disk, *[max(min(stores.near, carried), 1)] * copies]
    if stores.layout != "code":
        path = stores.near if stores.layout == "server" else stores.far
        carried = stores.line if stores.layout == "submitter" else stores.server
        return [max(min(path, carried // size), 1)]
    keep = len(stores.numbers(nodes))
    shared = stores.host // -(-size // keep)
    paths = (stores.far if k % stores.sites else stores.near for k in range(stores.pieces))
    return [max(min(path, shared), 1) for path in paths]


def _seconds(stores: Stores, rates: list[int]) -> int:
    """Return the whole seconds that a piece at each of these rates takes, one after the other."""
    raw, piece = stores.raw[0], stores.piece[0]
    carried = sum(int(plain(micros)(piece, rate)) for rate in rates)
    return int(plain(seconds_of)(plain(micros)(raw, stores.speed), carried))
