"""Runs commands in forks of one process that has loaded everything: a cell costs what it does, not
what Python takes to start. Never runs one itself, since threads do not outlive a fork.

Takes a line of JSON with a list of cells (`cells.Cell`), runs them at once, and answers with a line
of JSON: for each its exit code, its output, and the number of its moments. A cell that says `until`
gets SIGTERM when it has printed that.
"""

from __future__ import annotations

import errno
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from faults.moments import Moments, copies_to

NOBODY = 65_534


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        cells = json.loads(line)
        children = [_forked(cell) for cell in cells]
        told = [_ended(child, cell) for child, cell in zip(children, cells, strict=True)]
        for one in told:
            for name in one.pop("modules"):
                with suppress(ImportError):
                    importlib.import_module(name)
        gc.collect()
        gc.freeze()  # or each fork would copy what it looks at
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def _forked(cell: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        code = _run(cell)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _ended(child: int, cell: dict[str, Any]) -> dict[str, Any]:
    late, place = time.monotonic() + 120, Path(cell["notes"])
    until = cell.get("until", "").encode()
    while (done := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > late:
            os.kill(child, signal.SIGKILL)
        if until and any(until in path.read_bytes() for path in place.iterdir()):
            os.kill(child, signal.SIGTERM)
            until = b""
        time.sleep(0.002)
    told = json.loads((place / "told").read_text()) if (place / "told").exists() else {}
    texts = {
        name: (place / name).read_bytes().decode("utf-8", "replace") for name in ("out", "err")
    }
    return {
        "code": os.waitstatus_to_exitcode(done[1]),
        "moments": 0,
        "modules": [],
        **told,
        **texts,
    }


def _run(cell: dict[str, Any]) -> int:
    notes, sandbox = Path(cell["notes"]), Path(cell["sandbox"])
    keep = os.dup(2)
    for number, name in ((1, "out"), (2, "err")):
        handle = os.open(notes / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(handle, number)
        os.close(handle)
    os.close(keep)
    told = os.open(notes / "told", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for name in [name for name in os.environ if name.startswith("XDG_") or name in ("LC_ALL",)]:
        del os.environ[name]
    os.environ |= {"HOME": str(sandbox / "home"), "TMPDIR": str(sandbox / "tmp")}
    words = cell["words"]
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        os.environ[name] = value
    tempfile.tempdir = None
    os.chdir(sandbox)
    code, count, unlimited = 1, 0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def say() -> None:
        loaded = [name for name in sys.modules if name != "__main__"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))
        data = {"moments": count, "modules": loaded if cell["fault"] == "none" else []}
        os.pwrite(told, json.dumps(data).encode(), 0)

    def at(number: int) -> None:
        nonlocal count
        count = number
        reached(number)

    reached = _broken(cell, sandbox)
    if cell["fault"] in ("none", "copies", "signal"):
        Moments(sandbox / "t", at)
    from forestall.runs.commands.entry import main

    try:
        code = main(words)
    except BaseException:
        traceback.print_exc()
    say()
    return code


def _nothing(number: int) -> None:
    pass


def _broken(cell: dict[str, Any], sandbox: Path) -> Callable[[int], None]:
    """Break what a cell says, and return what is called at each moment."""
    fault, value = cell["fault"], cell["value"]
    if fault == "copies":
        return copies_to(Path(value), sandbox / "t")
    if fault == "signal":
        number, when = value
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        return lambda now: os.kill(os.getpid(), number) if now == when else None
    if fault == "small disk":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (value, resource.RLIM_INFINITY))
    elif fault == "full at last":

        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        os.fsync = full
    elif fault == "stdout":
        handle = os.open(value, os.O_WRONLY) if value else _pipe_without_reader()
        os.dup2(handle, 1)
    elif fault == "another user":
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    elif fault == "surroundings":
        os.umask(value["umask"])
        for name, text in value["environment"].items():
            os.environ.pop(name, None)
            if text is not None:
                os.environ[name] = text.format(sandbox=sandbox)
        place = sandbox / "going"
        place.mkdir()
        os.chdir(place)
        place.rmdir()
    return _nothing


def _pipe_without_reader() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


if __name__ == "__main__":
    main()
