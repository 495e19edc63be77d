"""The cycles of a controller under a wall clock, one after the other, until it is told to stop."""

from __future__ import annotations

import gc
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final

from forestall.core.model.errors import ForestallError
from forestall.live.desk.desk import ControllerDesk
from forestall.live.slurm.controller import Controller

JITTER: Final = 0.1
"""Share of the time between two cycles by which it varies, so that many controllers do not ask at
once."""
SWITCH: Final = 0.001
"""s after which a thread that works lets another one on; Python's 5 ms would hold up an answer at
each of the many steps at which it waits for the disk."""
_MOST_WAITS: Final = 8
"""After errors the next cycle comes later, up to so many times the time between two."""


def spare_collector() -> None:
    """Let Python's garbage collection pass over all that there is now: programs, and what was built
    first. It goes through everything at once, and nothing else moves meanwhile."""
    gc.collect()
    gc.freeze()


class CycleLoop:
    """Does cycles in a thread of its own.

    An error is told once, and again where it changes; the next cycle comes later each time, and in
    time again after one that went well.

    Parameters
    ----------
    every : s between the beginnings of two cycles
    tell : takes a line for people
    between : called after each cycle
    """

    def __init__(
        self,
        controller: Controller,
        desk: ControllerDesk,
        every: float,
        tell: Callable[[str], None],
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self._controller, self._desk, self._every = controller, desk, every
        self._tell, self._between = tell, between
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cycles")
        self._said = ""
        self._failures = 0
        self._frozen = False

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the cycle that is being done, and wait for that."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._frozen:
            gc.unfreeze()

    def once(self) -> bool:
        """Do one cycle; return whether it went well. Never raises what an error of the cluster or
        the ledger is."""
        began = time.perf_counter()
        try:
            told = self._controller.cycle()
            self._desk.cycled(told, time.perf_counter() - began)
            said = told.said
        except (ForestallError, OSError) as error:
            said = str(error)
            self._desk.failed(said)
        except Exception as error:  # a defect of ours: told in full, and the next cycle tries again
            traceback.print_exc()
            said = f"{type(error).__name__}: {error}"
            self._desk.failed(said)
        if said != self._said:
            self._tell(f"cycle failed: {said}" if said else "cycles continue")
            self._said = said
        return not said

    def _run(self) -> None:
        began = time.monotonic()
        sys.setswitchinterval(SWITCH)
        while not self._stop.is_set():
            self._failures = 0 if self.once() else self._failures + 1
            if not (self._failures or self._frozen):
                spare_collector()
                self._frozen = True
            self._between()
            times = min(2**self._failures, _MOST_WAITS) if self._failures > 1 else 1
            began += self._every * times * random.uniform(1 - JITTER, 1 + JITTER)
            began = max(began, time.monotonic() - self._every)  # what was missed is not made up for
            self._stop.wait(max(began - time.monotonic(), 0.0))
