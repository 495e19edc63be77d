"""Guests: what an owner loses with and without the manager, and what the manager itself costs.

An owner and a guest that both want every processor, in windows that take turns: the owner alone
(the guest stands still), beside a guest at lowest and at normal priority, and beside one without a
manager. Then a manager with its keeper over a guest that sleeps, on this host as it is.
`python -m benchmarks.guest [owner|cost]`
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import ROOT
from forestall.core.processes.files import GuestState
from forestall.core.processes.usage import PAGE, TICKS, all_processes, read_stat

sys.path.insert(0, str(ROOT / "tests"))
from sharing.guest.managed import PYTHON, managed, wait_for

ROUNDS, WINDOW = 12, 1.0
SPAN = 60
BUSY = "while True: pass"
PROCESSORS = os.cpu_count() or 1
MANY = f"import os\nfor _ in range({PROCESSORS} - 1):\n  if not os.fork(): break\n{BUSY}"
KINDS = {
    "lowest": (0.5, GuestState.LOWERED),
    "normal": (0.1, GuestState.NORMAL),
}


def used(pids: list[int]) -> float:
    """Return the CPU time of processes, s."""
    return sum(stat.used for pid in pids if (stat := read_stat(pid)) is not None) / TICKS


def measured(pids: list[int], guest: list[int]) -> tuple[float, float]:
    """Return the CPU time of owner and guest in a window."""
    before, guests = used(pids), used(guest)
    time.sleep(WINDOW)
    return used(pids) - before, used(guest) - guests


def owner() -> None:
    """Print what the owner loses."""
    for cgroup in (True, False):
        with (
            tempfile.TemporaryDirectory() as folder,
            managed(Path(folder), cgroup=cgroup, hold=3600.0) as one,
        ):
            one.host.set(0.5)
            one.start(*PYTHON, "-c", MANY)
            wait_for(lambda: len(one.processes()) >= PROCESSORS)
            owners = [subprocess.Popen([*PYTHON, "-c", BUSY]) for _ in range(PROCESSORS)]
            pids = [process.pid for process in owners]
            sums: dict[str, list[float]] = {}
            try:
                for _ in range(ROUNDS):
                    for kind, (load, state) in KINDS.items():
                        for name, at, wanted in (
                            (f"alone, for {kind}", 0.9, GuestState.STOPPED), (kind, load, state),
                        ):  # fmt: skip
                            one.host.set(at)
                            one.wait_state(wanted)
                            time.sleep(0.1)
                            guest = [process.pid for process in one.processes()]
                            for k, value in enumerate(measured(pids, guest)):
                                sums.setdefault(name, [0.0, 0.0])[k] += value
            finally:
                for process in owners:
                    process.kill()
                    process.wait()
        print("control group" if cgroup else "signals")
        for kind in KINDS:
            alone, (mine, theirs) = sums[f"alone, for {kind}"][0], sums[kind]
            print(
                f"  guest at {kind} priority: owner {mine:.2f} s of {alone:.2f} s alone: loses "
                f"{1 - mine / alone:.1%}; guest {theirs:.2f} s, {theirs / (mine + theirs):.1%} of "
                "what both had"
            )


def cost() -> None:
    """Print the CPU share and memory of a manager and its keeper."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["--folder", folder, "--name", "g", "--th1", "1", "--th2", "1", "-q"]
        for more in ([], ["--no-cgroup"]):
            manager = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "forestall",
                    "guest",
                    "run",
                    *words,
                    *more,
                    "--",
                    "sleep",
                    "600",
                ]
            )
            try:
                time.sleep(4)
                ours = {"manager": [manager.pid]}
                table = all_processes()
                below = [pid for pid, stat in table.items() if stat.parent == manager.pid]
                for pid in below + [p for p, stat in table.items() if stat.parent in below]:
                    name = Path(f"/proc/{pid}/comm").read_text().strip()
                    if name.startswith("forestall"):
                        ours[name] = [pid]
                before = {name: used(pids) for name, pids in ours.items()}
                time.sleep(SPAN)
                print(f"every second {' '.join(more)}")
                for name, pids in ours.items():
                    share = (used(pids) - before[name]) / SPAN
                    pages = int(Path(f"/proc/{pids[0]}/statm").read_text().split()[1])
                    print(f"  {name}: {share:.2%} of a processor, {pages * PAGE / 2**20:.0f} MiB")
            finally:
                manager.terminate()
                manager.wait()


if __name__ == "__main__":
    for name, function in (("owner", owner), ("cost", cost)):
        if name in sys.argv[1:] or len(sys.argv) == 1:
            function()
