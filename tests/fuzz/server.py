"""A process that has everything imported and forks a child for each command that it is told.

It is told on one line of JSON, and answers on one. Nothing here may start a thread before it forks:
the child of a process with threads has their locks and not them. So Polars, whose threads start
when first used, is imported and not used. Kernels that a child loaded from the cache are loaded
here after it, so that the next ones have them: that starts no thread.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import io
import json
import os
import pickle
import pkgutil
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from numba.core.dispatcher import Dispatcher

ROOM = 4 << 30
"""Address space of a child beyond what this process has; what it really takes is judged after."""
NOT = (
    *(f"forestall.{name}" for name in ("live.web", "live.ledger.migrations", "vaults.storage")),
    *(f"forestall.core.{name}" for name in ("web", "dask")),
    *(f"forestall.vaults.adapters.{name}" for name in ("torch", "mpi")),
)
"""What is not imported beforehand: it may start threads."""


def import_all(package: str) -> None:
    """Import every module of a package, but those that need extras."""
    whole = importlib.import_module(package)
    for found in pkgutil.iter_modules(whole.__path__, f"{package}."):
        if found.name.startswith(NOT) or found.name.endswith("__main__"):
            continue
        with suppress(ImportError):
            importlib.import_module(found.name)
            if found.ispkg:
                import_all(found.name)


class Kernels:
    """The kernels of all modules that are imported now; which were loaded, told between processes
    through a file in memory."""

    def __init__(self) -> None:
        self._known = {
            (module, name): one
            for module, held in list(sys.modules.items())
            if module.startswith("forestall.")
            for name, one in vars(held).items()
            if isinstance(one, Dispatcher) and one.py_func.__module__ == module
        }
        self._loaded = self._now()

    def _now(self) -> set[tuple[tuple[str, str], Any]]:
        return {(key, kind) for key, one in self._known.items() for kind in one.overloads}

    def tell(self, handle: int) -> None:
        """Write which were loaded since this object was made or told."""
        os.write(handle, pickle.dumps(self._now() - self._loaded))

    def load(self, handle: int) -> None:
        """Load what another process told; nothing where it did not live to tell."""
        os.lseek(handle, 0, os.SEEK_SET)
        with os.fdopen(handle, "rb") as file:
            told = file.read()
        new = pickle.loads(told) if told else set()
        for key, kind in new:
            self._known[key].compile(kind)
        if new:
            self._loaded = self._now()
            gc.collect()
            gc.freeze()


def serve(entry: str) -> None:
    """Run commands of ``module:function`` until nobody tells more."""
    told, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    module, _, name = entry.partition(":")
    if module.startswith("forestall"):
        import_all("forestall")
    run: Callable[[list[str]], int] = getattr(importlib.import_module(module), name)
    kernels = Kernels()
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in told:
        print(json.dumps(_played(run, json.loads(line), kernels)), file=answers, flush=True)


def _played(
    run: Callable[[list[str]], int], asked: dict[str, Any], kernels: Kernels
) -> dict[str, Any]:
    begun = time.monotonic()
    told = os.memfd_create("kernels")
    child = os.fork()
    if child == 0:
        _be_child(run, asked, lambda: kernels.tell(told))
    late = not _ended(child, 3 * asked["seconds"] + 5)
    if late:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it left behind
    kernels.load(told)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "late": late,
        "wall": time.monotonic() - begun,
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": usage.ru_maxrss * 1024,
    }


def _ended(child: int, seconds: float) -> bool:
    handle = os.pidfd_open(child)
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _be_child(
    run: Callable[[list[str]], int], asked: dict[str, Any], tell: Callable[[], None]
) -> NoReturn:
    """Run one command with its output in files, bounded in processor time and address space."""
    code = 70
    try:
        os.setsid()
        os.chdir(asked["folder"])
        for number, (path, flags) in enumerate(
            (
                (os.devnull, os.O_RDONLY),
                (asked["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (asked["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            )
        ):
            os.dup2(os.open(path, flags), number)
        sys.stdout = sys.__stdout__ = io.TextIOWrapper(
            os.fdopen(1, "wb", closefd=False), encoding="utf-8"
        )
        sys.stderr = sys.__stderr__ = io.TextIOWrapper(
            os.fdopen(2, "wb", closefd=False), encoding="utf-8", errors="backslashreplace",
            write_through=True,
        )  # fmt: skip
        faulthandler.enable(file=sys.stderr)
        warnings.simplefilter("always")
        _bound(asked["seconds"])
        code = run(asked["arguments"])
        sys.stdout.flush()
        tell()
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        with suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def _bound(seconds: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    room = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    serve(sys.argv[1])
