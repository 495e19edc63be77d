"""What an owner loses to a guest: real processes that want every processor, with and without."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forestall.live.agent.processes import TICKS, read_stat
from forestall.live.guest.files import GuestState
from live.guest.managed import PYTHON, Managed, managed, wait_for

BUSY = "while True: pass"
MANY = f"import os\nfor _ in range({os.cpu_count()} - 1):\n  if not os.fork(): break\n{BUSY}"
WINDOW, ROUNDS = 0.25, 7


@contextmanager
def owner() -> Iterator[list[int]]:
    """Give the processes of an owner who uses every processor."""
    busy = [subprocess.Popen([*PYTHON, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield [one.pid for one in busy]
    finally:
        for one in busy:
            one.kill()
            one.wait()


def used(pids: list[int]) -> float:
    """Return the CPU time of processes, s."""
    stats = [read_stat(pid) for pid in pids]
    return sum(stat.used for stat in stats if stat is not None) / TICKS


def window(one: Managed, pids: list[int], load: float, state: GuestState) -> tuple[float, float]:
    """Return the CPU time of owner and guest in a window in which the guest is in this state."""
    one.host.set(load)
    one.wait_state(state)
    time.sleep(0.05)
    guest = [process.pid for process in one.processes()]
    before, guests = used(pids), used(guest)
    time.sleep(WINDOW)
    return used(pids) - before, used(guest) - guests


def test_owner_loses_less_than_a_twentieth(tmp_path: Path) -> None:
    """What a guest has on busy processors is what their owner loses. Other work on this machine
    comes and goes: the bound holds in the calmest window, and a wider one in all together."""
    with managed(tmp_path, hold=600) as one:
        one.host.set(0.3)
        one.start(*PYTHON, "-c", MANY)
        wait_for(lambda: len(one.processes()) >= (os.cpu_count() or 1))
        alone, beside, taken = [], [], []
        with owner() as pids:
            for _ in range(ROUNDS):
                alone.append(window(one, pids, 0.9, GuestState.STOPPED)[0])
                owned, guest = window(one, pids, 0.3, GuestState.LOWERED)
                beside.append(owned)
                taken.append(guest / (owned + guest))
            if os.geteuid() == 0:  # at normal priority it would have a half
                owned, guest = window(one, pids, 0.1, GuestState.NORMAL)
                assert guest > 0.25 * (owned + guest)
        told = f"guest's share {taken}, owner's s {beside}, alone {alone}"
        assert min(taken) < 0.05, told
        assert sum(taken) / ROUNDS < 0.2, told
        assert sum(beside) > 0.7 * sum(alone), told
