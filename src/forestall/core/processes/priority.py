"""Lowest and normal priority of processes, by whatever this user may use on this host.

Linux knows several. Each thread has a policy (SCHED_IDLE), a nice value and an I/O class. Where
sessions are scheduled as groups (sched_autogroup), a nice value counts only within the session,
and the session has one of its own. A control group of version 2 has `cpu.idle` and `cpu.weight`.
An unprivileged user may take back those of sessions, control groups and I/O, but a policy and a
nice value only with a resource limit (RLIMIT_NICE) that hardly anyone has.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable
from typing import Final

from forestall.core.processes.processes import Process

NICE: Final = 19
"""The lowest nice value."""

_IOPRIO_SET: Final = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
_IO_IDLE, _IO_NONE = 3 << 13, 0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_OOM_FIRST: Final = "1000"
_AGAIN: Final = 0.12
"""s that the kernel lets pass between two changes of a session's nice value by one user."""

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have the kernel kill this process, or send it another signal, when the thread that made it
    ends."""
    _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def first_out_of_memory() -> None:
    """Have this process and what it starts ended first where the host runs out of memory."""
    path = "/proc/self/oom_score_adj"
    with contextlib.suppress(OSError), open(path, "w", encoding="ascii") as file:
        file.write(_OOM_FIRST)


def in_child(task: Callable[[], bool]) -> bool:
    """Do something in a child of its own; returns whether it came off there."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if task() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def can_raise() -> bool:
    """Try whether this user may raise a priority back: a child lowers its own, then raises it."""
    return in_child(_lowered_and_raised)


def _lowered_and_raised() -> bool:
    before = os.nice(0)
    lower_thread(0)
    try:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, before)
    except OSError:
        return False
    return True


def why_not_raised() -> str:
    """Return in words why a priority cannot be raised back."""
    soft = resource.getrlimit(resource.RLIMIT_NICE)[0]
    return (
        "this user may not raise a priority again (RLIMIT_NICE is "
        f"{soft}, 20 is needed) and has no control group with a CPU controller"
    )


def lower_thread(thread: int) -> None:
    """Give a thread (0: this one) the lowest policy, nice value and I/O class; one that ended is no
    error."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, thread, NICE)
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def raise_thread(thread: int, nice: int) -> None:
    """Give a thread an ordinary policy and this nice value."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, thread, nice)


def set_io(thread: int, *, idle: bool) -> None:
    """Give a thread the I/O class idle, or the one that goes with its nice value."""
    number = _IOPRIO_SET.get(os.uname().machine)
    if number is not None:
        _libc.syscall(number, 1, thread, _IO_IDLE if idle else _IO_NONE)


def set_session(pid: int, nice: int) -> None:
    """Set the nice value of the session that a process is in, where sessions have one."""
    for _ in range(3):
        try:
            with open(f"/proc/{pid}/autogroup", "w", encoding="ascii") as file:
                file.write(str(nice))
            return
        except BlockingIOError:
            time.sleep(_AGAIN)
        except OSError:
            return


def session_nice(pid: int) -> int | None:
    """Return the nice value of the session that a process is in; None where it has none."""
    try:
        with open(f"/proc/{pid}/autogroup", encoding="ascii") as file:
            return int(file.read().split()[-1])
    except (OSError, ValueError, IndexError):
        return None


def set_priorities(
    processes: Iterable[Process], *, level: int, threads: bool, nice: int, session: int
) -> None:
    """Set the priority of all threads of processes.

    Parameters
    ----------
    level : nice values below normal, which is 0; `NICE` stands for the lowest priority there is
    threads : whether policies and nice values are set at all
    nice, session : what is normal for a thread and for a session
    """
    low = level >= NICE
    wanted = NICE if low else min(NICE, session + level)
    for process in processes:
        if session_nice(process.pid) not in (None, wanted):
            set_session(process.pid, wanted)
        for thread in process.threads():
            set_io(thread, idle=low)
            if threads and low:
                lower_thread(thread)
            elif threads:
                raise_thread(thread, min(NICE, nice + level))
