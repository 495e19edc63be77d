"""Programs started as part of a guest: in a session of their own, at lowest priority, marked, and
killed by the kernel when the keeper ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from forestall.core.files.shared import open_own
from forestall.core.processes.priority import die_with_parent, first_out_of_memory
from forestall.core.processes.processes import Process, look
from forestall.sharing.guest.body import Body, lower_self

SHELL: Final = "/bin/sh"


class SpawnError(Exception):
    """A program that could not be started; the text says why, in one line."""


@dataclass(frozen=True)
class Program:
    """What is started, and where its output goes.

    Attributes
    ----------
    words : the command line
    cwd : where it works
    environment : all of it
    stdout, stderr : files that are added to
    """

    words: Sequence[str]
    cwd: str
    environment: Mapping[str, str]
    stdout: Path
    stderr: Path


def spawn(program: Program, body: Body) -> Process:
    """Start a program as part of a body. Raises SpawnError where it cannot be run."""
    parent = os.getpid()
    told, tell = os.pipe()  # closed when the program runs
    try:
        child = os.fork()
    except OSError as error:
        os.close(told)
        os.close(tell)
        raise SpawnError(f"no process can be made: {error.strerror or error}") from None
    if child == 0:
        os.close(told)
        _become(program, body, parent, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as pipe:
        trouble = pipe.read().decode(errors="replace")
    process = look(child)
    if trouble or process is None:
        os.waitpid(child, 0)
        raise SpawnError(trouble or "it was gone at once")
    return process


def _become(program: Program, body: Body, parent: int, tell: int) -> None:
    """Turn this new process into the program; never returns."""
    what = program.words[0]
    try:
        os.setsid()
        die_with_parent()
        if os.getppid() != parent:
            os._exit(1)
        _reset_signals()
        if body.group is not None:
            body.group.join()
        lower_self(body)
        first_out_of_memory()
        what = str(program.stdout)
        _redirect(program)
        what = program.cwd
        os.chdir(program.cwd)
        what = program.words[0]
        os.execvpe(program.words[0], list(program.words), dict(program.environment))
    except OSError as error:
        os.write(tell, f"{what}: {error.strerror or error}".encode())
    except BaseException as error:  # a child must never come back into the keeper's code
        os.write(tell, f"{what}: {error}".encode())
    finally:
        os._exit(127)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _redirect(program: Program) -> None:
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    for number, path in ((1, program.stdout), (2, program.stderr)):
        handle = open_own(path, how)
        os.dup2(handle, number)
        os.close(handle)
    handle = os.open(os.devnull, os.O_RDONLY)
    os.dup2(handle, 0)
    os.close(handle)
