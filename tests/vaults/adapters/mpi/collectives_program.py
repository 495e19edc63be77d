"""Ranks that are killed while all are in one collective after the other, and go on each time.

mpirun --with-ft ulfm -n N python collectives_program.py '{"folder": ..., "plan": [...], ...}'

`plan` : rows of a call, the processes that die in it, and whether they die inside the call ("in")
or before it, while the others wait there ("before").
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

import forestall as fs

LONGEST = 60.0
"""s that a call is repeated at most: nobody died then."""
CELLS = 20_000


def state_of(rank: int, step: int) -> np.ndarray:
    """What a rank saves at a step."""
    return np.random.default_rng([rank, step]).random(CELLS)


def calls_of(comm: Any) -> dict[str, Callable[[], object]]:
    """Each collective over a communicator, with arrays and with objects."""
    size, me, n = comm.size, comm.rank, 3_000
    one, many, some, all_ = np.ones(n), np.ones(n * size), np.zeros(n), np.zeros(n * size)
    counts = [n] * size
    right, left = (me + 1) % size, (me - 1) % size
    return {
        "Barrier": comm.Barrier,
        "Bcast": lambda: comm.Bcast(one, size - 1),
        "Reduce": lambda: comm.Reduce(one, some),
        "Allreduce": lambda: comm.Allreduce(one, some),
        "Gather": lambda: comm.Gather(one, all_),
        "Gatherv": lambda: comm.Gatherv(one, [all_, counts]),
        "Allgather": lambda: comm.Allgather(one, all_),
        "Allgatherv": lambda: comm.Allgatherv(one, [all_, counts]),
        "Scatter": lambda: comm.Scatter(many, some),
        "Scatterv": lambda: comm.Scatterv([many, counts], some),
        "Alltoall": lambda: comm.Alltoall(many, all_),
        "Alltoallv": lambda: comm.Alltoallv([many, counts], [all_, counts]),
        "Scan": lambda: comm.Scan(one, some),
        "Exscan": lambda: comm.Exscan(one, some),
        "Reduce_scatter": lambda: comm.Reduce_scatter(many, some, counts),
        "Reduce_scatter_block": lambda: comm.Reduce_scatter_block(many, some),
        "Ibarrier": lambda: comm.Ibarrier().Wait(),
        "Iallreduce": lambda: comm.Iallreduce(one, some).Wait(),
        "Sendrecv": lambda: comm.Sendrecv(one, right, 0, some, left, 0),
        "barrier": comm.barrier,
        "bcast": lambda: comm.bcast([me], size - 1),
        "gather": lambda: comm.gather([me]),
        "allgather": lambda: comm.allgather([me]),
        "scatter": lambda: comm.scatter([[k] for k in range(size)]),
        "alltoall": lambda: comm.alltoall([[k] for k in range(size)]),
        "reduce": lambda: comm.reduce(me),
        "allreduce": lambda: comm.allreduce(me),
        "scan": lambda: comm.scan(me),
        "exscan": lambda: comm.exscan(me),
        "sendrecv": lambda: comm.sendrecv([me], right, 0, None, left, 0),
        "Dup": lambda: comm.Dup().Free(),
        "Split": lambda: comm.Split(me % 2, me).Free(),
    }


RING = ("save", "restore", "agree", "stuck", "rubbish")
"""Calls of the ring itself in which ranks die. In `stuck` the second waits where nobody revokes; in
`rubbish` the loss comes up as another error."""


class Program:
    """One process's work."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.folder, self.plan = Path(given["folder"]), given["plan"]
        self.me, self.next = MPI.COMM_WORLD.rank, 0
        self.failed = ("", 0.0)

    def work(self, ring: fs.vault.Ring, found: fs.vault.Restored) -> int:
        """Go on with the first call that was not yet tried; returns how many there were."""
        wrong = [rank for rank, state in found.states.items()
                 if not np.array_equal(state, state_of(rank, found.step or 0))]  # fmt: skip
        if found.step is not None:
            error, when = self.failed
            self.note(self.next - 1, error, ring.size, found.step, found.source,
                      sorted(found.states), wrong, round(time.monotonic() - when, 2))  # fmt: skip
        self.next = ring.comm.allreduce(self.next, MPI.MAX)
        while self.next < len(self.plan):
            name, victims, where = self.plan[self.next]
            self.next += 1
            ring.save(state_of(ring.rank, self.next), self.next)
            call = self.call_of(ring, name)
            if name == "restore":  # the first dies in a barrier, the others while all meet
                if self.me in victims[1:]:
                    self.dies_in(0.02 * self.next)
                victims = victims[:1]
            if name == "stuck" and self.me in victims[1:]:
                MPI.COMM_WORLD.recv(source=MPI.COMM_WORLD.size - 1, tag=99)
            if self.me in victims:
                if where == "before" or name == "agree":
                    time.sleep(0.05)
                    os.kill(os.getpid(), signal.SIGKILL)
                self.dies_in(0.05)
            if name == "agree" and self.next == len(self.plan):
                break
            self.repeat(call)
        return self.next

    def repeat(self, call: Callable[[], object]) -> None:
        late = time.monotonic() + LONGEST
        try:
            while time.monotonic() < late:
                call()
        except Exception as error:
            if self.plan[self.next - 1][0] == "rubbish":
                raise ValueError("what came of it is rubbish") from None
            said = getattr(error, "Get_error_class", None)
            name = MPI.Get_error_string(said()).split(":")[0] if said else type(error).__name__
            self.failed = (name, time.monotonic())
            raise
        raise AssertionError("nobody died")

    def call_of(self, ring: fs.vault.Ring, name: str) -> Callable[[], object]:
        if name == "save":
            return lambda: ring.save(state_of(ring.rank, self.next), self.next)
        return calls_of(ring.comm)["Barrier" if name in RING else name]

    def dies_in(self, seconds: float) -> None:
        kill = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL))
        kill.daemon = True
        kill.start()

    def note(self, number: int, *facts: object) -> None:
        with (self.folder / f"log-{self.me}").open("a") as log:
            log.write(json.dumps([number, *facts]) + "\n")


def main(given: dict[str, Any]) -> None:
    """Run it."""
    program = Program(given)
    more = {"vault": given["stores"], "every": 1, "data": 2, "parity": 1, "init": True} if (
        "stores" in given) else {}  # fmt: skip
    ring = fs.vault.ring(
        MPI.COMM_WORLD, spares=given.get("spares", 0), patience=given.get("patience", 60.0), **more
    )
    made = ring.run(program.work)
    (program.folder / f"made-{program.me}").write_text(str(made))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
