"""Has the forecast made, each hour, by a process that ends when it is done."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import ParameterError
from forestall.core.processes.usage import GuestProcesses
from forestall.sharing.agent.store import SAMPLES

EVERY: Final = 3600.0
PATIENCE: Final = 600.0
"""Seconds after which a forecast that is not done is given up."""
HORIZONS: Final = ("1h", "2h", "4h", "8h", "16h", "24h")


class Forecast(NamedTuple):
    """What was learned; `reliability`, `mttf` and `load` by the state that the host is in, "S1" or
    "S2", None while too little was seen."""

    made: int
    learnt_days: float
    reliability: dict[str, dict[str, float]] | None
    mttf: dict[str, int] | None
    memory: int = 0
    load: dict[str, dict[str, float]] | None = None

    def chances(self, state: str) -> dict[str, float] | None:
        """Return the chance to stay available for each horizon from a state, 0 from S3, S4, S5."""
        if self.reliability is None:
            return None
        return self.reliability.get(state, dict.fromkeys(HORIZONS, 0.0))

    def mean_time(self, state: str) -> int | None:
        """Return the mean time to failure from a state, s, 0 from S3, S4 and S5."""
        return None if self.mttf is None else self.mttf.get(state, 0)

    def loads(self, state: str) -> dict[str, float] | None:
        """Return the owner's mean load over each horizon from a state; None from S3, S4 and S5."""
        return None if self.load is None else self.load.get(state)


NOTHING: Final = Forecast(0, 0.0, None, None)


class Forecaster:
    """Starts the process that learns, and takes what it says.

    Parameters
    ----------
    folder, host, hold : what it reads; see `forestall.prediction.availability.forecast`
    tell : takes a line that the user should see
    every : s between two forecasts
    """

    def __init__(
        self,
        folder: Path,
        host: str,
        hold: float,
        *,
        tell: Callable[[str], None],
        every: float = EVERY,
    ) -> None:
        words = (
            "-m",
            "forestall.prediction.availability.forecast",
            str(folder),
            host,
            repr(float(hold)),
        )
        self._words = (sys.executable, *words)
        self._samples = folder / SAMPLES
        self._tell, self._every = tell, every
        self._child: subprocess.Popen[bytes] | None = None
        self._known: GuestProcesses | None = None
        self._began: float | None = None
        self.latest = NOTHING

    def helpers(self) -> Sequence[GuestProcesses]:
        """Return the process that is at work, for the sampler not to take it for the owner's."""
        return () if self._known is None else (self._known,)

    def look(self, now: float) -> Forecast:
        """Return the latest forecast; begins the next when it is time.

        A process that has ended is only waited for here, so that a sample taken before still finds
        what it used. `now`: s of a clock that does not jump.
        """
        if self._child is not None:
            if self._child.poll() is None:
                if self._began is not None and now - self._began > PATIENCE:
                    self._child.kill()
                return self.latest
            self._take(self._child)
            self._child = self._known = None
        if self._began is None or now - self._began >= self._every:
            self._began = now
            self._start()
        return self.latest

    def close(self) -> None:
        """End the process that is at work."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = self._known = None

    def _start(self) -> None:
        if len(list(self._samples.glob("*.fsd*"))) < 2:
            return  # a day was not seen yet
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        try:
            self._child = subprocess.Popen(
                self._words, stdin=nothing, stdout=pipe, stderr=pipe, start_new_session=True
            )
        except OSError as error:
            self._tell(f"no forecast: {error.strerror or error}")
            return
        with suppress(ProcessLookupError):
            self._known = GuestProcesses.of(self._child.pid)

    def _take(self, child: subprocess.Popen[bytes]) -> None:
        said, wrong = child.communicate()
        try:
            self.latest = record_of(Forecast, json_of(said))
        except (ValueError, ParameterError):
            last = (wrong.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
            self._tell(f"no forecast: the process ended with {child.returncode}: {last[:200]}")
