"""Heat along a rod, over MPI: ranks kill themselves on the way, and the others go on.

mpirun --with-ft ulfm -n N python heat_program.py '{"folder": ..., "kills": {"7": [2]}, ...}'
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import forestall as fs

CELLS, STEPS = 500, 20


def begin() -> np.ndarray:
    """The rod at the beginning; its ends stay as they are."""
    rod = np.random.default_rng(3).random(CELLS)
    rod[0], rod[-1] = 100.0, 0.0
    return rod


def stepped(left: float, cells: np.ndarray, right: float) -> np.ndarray:
    """The cells one step later, given those beside them."""
    wide = np.concatenate(([left], cells, [right]))
    return wide[1:-1] + 0.25 * (wide[:-2] - 2 * wide[1:-1] + wide[2:])


def alone() -> np.ndarray:
    """What comes out, computed by one process that never fails."""
    rod = begin()
    for _ in range(STEPS):
        rod[1:-1] = stepped(rod[0], rod[1:-1], rod[-1])
    return rod


class Program:
    """One rank's work."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.folder = Path(told["folder"])
        self.kills = {int(step): set(ranks) for step, ranks in told.get("kills", {}).items()}
        self.me = MPI.COMM_WORLD.rank
        self.moment = told.get("moments", {}).get(str(self.me))

    def die_later(self) -> None:
        """Kill this process at any moment from now on, where it is one of those that die so."""
        if self.moment is not None:
            kill = threading.Timer(self.moment, os.kill, (os.getpid(), signal.SIGKILL))
            kill.daemon = True
            kill.start()

    def work(self, ring: fs.vault.Ring, found: fs.vault.Restored) -> np.ndarray:
        """Go on from what was restored."""
        self.tell(ring, found)
        comm, step = ring.comm, found.step or 0
        if found.step is None:
            rod = begin()
        else:
            mine = {rank: (one["first"].item(), one["cells"]) for rank, one in found.states.items()}
            rod = np.zeros(CELLS)
            for there in comm.allgather(mine):
                for at, cells in there.values():
                    rod[at : at + len(cells)] = cells
        begins = [CELLS * k // ring.size for k in range(ring.size + 1)]
        low, high = begins[ring.rank], begins[ring.rank + 1]
        cells = rod[low:high].copy()
        while step < STEPS:
            cells = self.step(comm, ring.rank, ring.size, cells)
            step += 1
            if self.me in self.kills.get(step, ()):
                os.kill(os.getpid(), signal.SIGKILL)
            ring.save({"first": np.array(low), "cells": cells}, step)
        return np.concatenate(comm.allgather(cells))

    def step(self, comm: Any, rank: int, size: int, cells: np.ndarray) -> np.ndarray:
        """One step, with the cells beside them from the neighbours."""
        right, left = (rank + 1) % size, (rank - 1) % size
        from_left = comm.sendrecv(float(cells[-1]), dest=right, source=left)
        from_right = comm.sendrecv(float(cells[0]), dest=left, source=right)
        new = stepped(from_left, cells, from_right)
        if rank == 0:
            new[0] = cells[0]
        if rank == size - 1:
            new[-1] = cells[-1]
        return new

    def tell(self, ring: fs.vault.Ring, found: fs.vault.Restored) -> None:
        """Say what this rank goes on from."""
        with (self.folder / f"log-{self.me}").open("a") as log:
            told = [ring.rank, ring.size, found.step, found.source, sorted(found.states)]
            log.write(json.dumps(told) + "\n")


def main(told: dict[str, Any]) -> None:
    """Run it."""
    program = Program(told)
    more = {"vault": told["stores"], "every": told["every"], "data": 2, "parity": 1,
            "fanout": 2, "init": True} if "stores" in told else {}  # fmt: skip
    ring = fs.vault.ring(MPI.COMM_WORLD, spares=told.get("spares", 0), **more)
    program.die_later()
    try:
        made = ring.run(program.work)
    except fs.vault.LostError as error:
        (program.folder / f"lost-{program.me}").write_text(str(error))
    else:
        name = "unused" if made is None else "made"
        np.save(program.folder / f"{name}-{program.me}.npy", np.zeros(0) if made is None else made)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
