"""The load processes: a program of its own, which needs nothing but Python's standard library.

`python workload.py` is the leader of a session. It reads a line of JSON, starts the processes that
it is asked for, lowers their priority where it is told to, writes one line of JSON about them, and
waits; at the end of its input the whole process group ends. Each process also ends when the one
that started it does.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import random
import resource
import select
import signal
import sys
import time
import zlib
from typing import Any

PAGE = 4096
PR_SET_PDEATHSIG = 1
LOWEST_NICE = 19
AUTOGROUP_TRIES = 5
WAIT_BETWEEN_TOUCHES = 0.005
TOUCHED_AT_ONCE = 64
BETWEEN_LOOKS = 64
"""Pages read from one look at the clock to the next."""


def end_with(parent: int) -> None:
    """Die when the process that started this one does; at once if it is gone already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def lower(pids: list[int], nice: int = LOWEST_NICE) -> dict[str, bool]:
    """Give processes of this session a nice value, or the lowest priority that there is, and say by
    which means.

    A session is a scheduling group of its own where the kernel groups them (autogroup): then its
    processes' own priorities say nothing to other sessions, and the group's has to be lowered.
    """
    done = {"nice": False, "idle": False, "autogroup": False}
    with contextlib.suppress(OSError):
        for pid in pids:
            os.setpriority(os.PRIO_PROCESS, pid, nice)
        done["nice"] = True
    with contextlib.suppress(OSError, AttributeError):
        if nice == LOWEST_NICE:
            for pid in pids:
                os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
            done["idle"] = True
    for _ in range(AUTOGROUP_TRIES):
        try:
            with open("/proc/self/autogroup", "w", encoding="ascii") as file:
                file.write(str(nice))
        except BlockingIOError:  # the kernel takes one such wish in a tenth of a second
            time.sleep(0.12)
        except OSError:
            break
        else:
            done["autogroup"] = True
            break
    return done


def spin(seconds: float) -> None:
    """Use that much CPU time of this process, s."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def work(burst: float, pause: float, offset: float, *, periodic: bool) -> None:
    """Work for `burst` s of CPU time and rest for `pause` s, for ever.

    Where `periodic`, work falls due every burst + pause s by the clock, and what is late by more
    than that is dropped.
    """
    time.sleep(offset)
    if pause <= 0:
        while True:
            spin(1.0)
    due = time.monotonic()
    while True:
        spin(burst)
        if not periodic:
            time.sleep(pause)
            continue
        now = time.monotonic()
        due = max(due + burst + pause, now)
        time.sleep(due - now)


def start_all(processes: list[dict[str, float]], *, periodic: bool) -> list[int]:
    """Start a process for each row of burst, pause and offset, s; return their numbers.

    By then each of them is sure to end with this one, even where it is stopped at once.
    """
    leader = os.getpid()
    started: list[int] = []
    ready, told = os.pipe()
    for one in processes:
        child = os.fork()
        if child == 0:
            try:
                end_with(leader)
                os.write(told, b".")
                work(one["burst"], one["pause"], one["offset"], periodic=periodic)
            finally:
                os._exit(1)
        started.append(child)
    os.close(told)
    heard = 0
    while heard < len(started):
        more = len(os.read(ready, 4096))
        if not more:
            raise ChildProcessError("a process ended at its start")
        heard += more
    return started


def tell(value: dict[str, Any]) -> None:
    """Write a line of JSON to whoever started this program."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def fill(descriptor: int, size: int) -> mmap.mmap:
    """Write `size` bytes to the disk, and map them; their pages are in memory, and clean."""
    block = os.urandom(256 * PAGE)
    os.lseek(descriptor, 0, os.SEEK_SET)
    for _ in range(size // len(block)):
        os.write(descriptor, block)
    os.fsync(descriptor)
    mapped = mmap.mmap(descriptor, size, prot=mmap.PROT_READ)
    mapped.madvise(mmap.MADV_RANDOM)
    return mapped


def waited() -> float:
    """Return how long this process has waited for a core so far, s; 0 where nobody counts that."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


def walk(view: memoryview, chance: random.Random, seconds: float) -> dict[str, float]:
    """Read pages at random for so long, and say how many, and how many came from the disk.

    The seconds told are those in which the process had a core or waited for the disk: what others
    take of the cores is not to be taken for a lack of memory.
    """
    bits = (len(view) // PAGE).bit_length() - 1
    pages, faults = 0, resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    queue = waited()
    began = now = time.monotonic()
    while now - began < seconds:
        for _ in range(BETWEEN_LOOKS):
            place = chance.getrandbits(bits) * PAGE
            zlib.crc32(view[place : place + PAGE])
        pages += BETWEEN_LOOKS
        now = time.monotonic()
    read = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faults
    own = now - began - (waited() - queue)
    return {"pages": pages, "seconds": max(own, 0.001 * seconds), "faults": read}


def owner_of_memory(descriptor: int, size: int, seed: int) -> None:
    """Keep a working set in a file's pages; walk it for as many seconds as each line says, or with
    "refill" read it from end to end, which brings back what a lack of memory has taken."""
    view = memoryview(fill(descriptor, size))
    chance = random.Random(seed)
    tell({"pids": [os.getpid()]})
    for line in sys.stdin:
        if line.strip() == "refill":
            for place in range(0, size, 256 * PAGE):
                os.pread(descriptor, 256 * PAGE, place)
            tell({})
        else:
            tell(walk(view, chance, float(line)))


def once(command: list[str] | None, burst: float, sink: int) -> float:
    """Run a command to its end, or without one spin for `burst` s; return the CPU time used, s."""
    if command is None:
        before = time.process_time()
        spin(burst)
        return time.process_time() - before
    actions = [(os.POSIX_SPAWN_DUP2, sink, 0), (os.POSIX_SPAWN_DUP2, sink, 1),
               (os.POSIX_SPAWN_DUP2, sink, 2)]  # fmt: skip
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
    status, used = os.wait4(pid, 0)[1:]
    if status:
        raise ChildProcessError(f"{command[0]} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime


def owner_of_commands(asked: dict[str, Any]) -> None:
    """Think and work in turn: for each line, a list of s to think, run the command after each of
    them. Tells the s that all of it took, that the command took each time, and its CPU s.

    What children of the command's own use counts where the command waits for them.
    """
    os.chdir(asked["folder"])
    sink = os.open(os.devnull, os.O_RDWR)
    tell({"pids": [os.getpid()]})
    for line in sys.stdin:
        spent, used = [], []
        began = time.monotonic()
        for think in json.loads(line):
            time.sleep(think)
            start = time.monotonic()
            used.append(once(asked["command"], asked["burst"], sink))
            spent.append(time.monotonic() - start)
        tell({"seconds": time.monotonic() - began, "spent": spent, "used": used})


def guest_in_memory(size: int, *, lowest: bool) -> None:
    """Hold so many bytes of memory, and touch all of them again and again with little CPU.

    The priority is lowered when the memory is held: until then a busy host would keep it waiting.
    """
    held = bytearray(size)
    for place in range(0, size, PAGE):
        held[place] = 1
    told = lower([os.getpid()]) if lowest else {}
    tell({"pids": [os.getpid()], **told})
    place = 0
    while not select.select([sys.stdin], [], [], WAIT_BETWEEN_TOUCHES)[0]:
        for _ in range(TOUCHED_AT_ONCE if size else 0):
            held[place] = (held[place] + 1) % 256
            place = (place + PAGE) % size


def lead(asked: dict[str, Any]) -> None:
    """Do what is asked; returns when the input has ended."""
    end_with(asked["parent"])
    if asked["cgroup"]:
        with open(asked["cgroup"], "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    if asked["cpus"]:
        os.sched_setaffinity(0, asked["cpus"])
    kind = asked["kind"]
    if kind == "memory-owner":
        owner_of_memory(asked["descriptor"], asked["size"], asked["seed"])
    elif kind == "memory-guest":
        guest_in_memory(asked["size"], lowest=asked["lowest"])
    elif kind == "commands":
        owner_of_commands(asked)
    else:
        pids = start_all(asked["processes"], periodic=asked["periodic"])
        nice = LOWEST_NICE if asked["lowest"] else asked["nice"]
        tell({"pids": pids, **(lower(pids, nice) if nice else {})})
        while sys.stdin.readline():
            pass


if __name__ == "__main__":
    try:
        lead(json.loads(sys.stdin.readline()))
    finally:
        os.killpg(0, signal.SIGKILL)
