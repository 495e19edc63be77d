"""Whether an engine, driven one event at a time, decides as the simulation did."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from forestall.app.kit.log import DECISION_LOG
from forestall.app.runs.compare import read_summary
from forestall.app.runs.models import model_in
from forestall.decide.cycle.own import HostScheduler
from forestall.decide.virtual.own import Strategy
from forestall.model.errors import TraceError


@dataclass(frozen=True)
class Replayed:
    """What a replay gave: decisions compared, and the first line that differs (None: none does).

    `line` counts from 1, the header included; `logged` and `replayed` are None past the end.
    """

    decisions: int
    line: int | None = None
    logged: str | None = None
    replayed: str | None = None

    @property
    def same(self) -> bool:
        """Whether every byte is the same."""
        return self.line is None


def replay_and_compare(folder: Path, own: Strategy | HostScheduler | None = None) -> Replayed:
    """Replay a run's event log and compare the decisions with `decisions.csv`, byte for byte.

    `own` is the strategy or the scheduler in Python that decided, where one did.

    Raises TraceError where the folder holds no run with an event log.
    """
    summary = read_summary(folder)
    path = folder / DECISION_LOG
    try:
        logged = path.read_bytes().decode("utf-8").splitlines(keepends=True)
    except OSError as error:
        why = f"cannot be read: {error.strerror}; simulate with {{log_events}} writes it"
        raise TraceError(path, why) from None
    except UnicodeDecodeError:
        raise TraceError(path, "is no text") from None
    replayed = model_in(summary).replayed(folder, own)
    for number, (a, b) in enumerate(zip_longest(logged, replayed), 1):
        if a != b:
            return Replayed(len(replayed) - 1, number, a and a.rstrip("\n"), b and b.rstrip("\n"))
    return Replayed(len(replayed) - 1)
