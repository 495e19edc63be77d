"""A group of load processes in a session of their own: started, timed, and surely ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from forestall.core.model.errors import ForestallError

PROGRAM: Final = Path(__file__).with_name("workload.py")
START: Final = 20.0
"""Seconds that processes may take to start."""
_CPUCLOCK_SCHED: Final = 2


class ContentionError(ForestallError):
    """The experiment cannot go on; the text says why."""


@dataclass(frozen=True)
class Load:
    """A process: s of CPU time that it works, s that it rests then (0: never), and s until its
    first work."""

    burst: float
    pause: float
    offset: float = 0.0


SPIN: Final = Load(1.0, 0.0)
"""A process that uses all that it gets."""


class Herd:
    """Processes that end with this object, or with the process that made it.

    Parameters
    ----------
    asked : of `forestall.sharing.contention.workload`: "kind", and what that needs
    lowest : whether at the lowest priority that there is; else at this process's own
    nice : else so many nice values below that
    cpus : cores that they may use; None: all
    cgroup : file that takes the number of a process into a control group; None: none
    descriptor : an open file that they inherit

    Raises ContentionError where they do not start.
    """

    def __init__(
        self,
        asked: Mapping[str, Any],
        *,
        lowest: bool = False,
        nice: int = 0,
        cpus: Sequence[int] | None = None,
        cgroup: Path | None = None,
        descriptor: int | None = None,
    ) -> None:
        given = {
            **asked,
            "lowest": lowest,
            "nice": nice,
            "cpus": None if cpus is None else list(cpus),
            "cgroup": None if cgroup is None else str(cgroup),
            "descriptor": descriptor,
            "parent": os.getpid(),
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            pass_fds=() if descriptor is None else (descriptor,),
        )
        try:
            self.told = self.ask(json.dumps(given), START)
        except BaseException:
            self.close()
            raise
        self.pids: list[int] = self.told["pids"]

    @classmethod
    def of(cls, loads: Sequence[Load], *, periodic: bool = False, **options: Any) -> Self:
        """Return a herd that works and rests; `options` as above."""
        rows = [asdict(load) for load in loads]
        return cls({"kind": "herd", "processes": rows, "periodic": periodic}, **options)

    @property
    def leader(self) -> int:
        """The number of the leading process, of its session and of its process group."""
        return self._process.pid

    def cpu_time(self) -> float:
        """Return the CPU time that the processes have used so far, s."""
        try:
            return sum(time.clock_gettime((~pid << 3) | _CPUCLOCK_SCHED) for pid in self.pids)
        except OSError:
            raise ContentionError("a load process ended early") from None

    def ask(self, line: str, patience: float) -> dict[str, Any]:
        """Send a line, and return the answer, which comes within `patience` s."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise ContentionError("a load process ended early") from None
        return self._line(patience)

    def _line(self, patience: float) -> dict[str, Any]:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], patience)[0]:
            raise ContentionError(f"a load process did not answer within {patience:.0f} s")
        line = stdout.readline()
        if not line:
            raise ContentionError("a load process ended early")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def pause(self) -> None:
        """Stop all processes where they are."""
        os.killpg(self.leader, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let them go on."""
        os.killpg(self.leader, signal.SIGCONT)

    def close(self) -> None:
        """End all processes, whatever they do."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
