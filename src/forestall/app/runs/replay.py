"""Whether an engine, driven one event at a time, decides as the simulation did."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from forestall.app.kit.log import DECISION_LOG
from forestall.app.promise.own_policy import own_policy
from forestall.app.runs.compare import read_summary
from forestall.app.runs.models import model_in
from forestall.engine.promise.own import Policy
from forestall.model.errors import ParameterError, TraceError


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


def replay(folder: str | Path, *, policy: str | Policy | None = None) -> Replayed:
    """Replay a run's event log and compare the decisions with `decisions.csv`, byte for byte.

    `policy` is that of a run that was made with a policy in Python, or the spelling of its class:
    a log cannot hold it. Raises TraceError where the folder holds no run with an event log, or the
    policy is missing, and ParameterError for another policy than the run's.
    """
    folder = Path(folder)
    summary, given = read_summary(folder), own_policy(policy)
    if policy is not None and given is None:
        raise ParameterError("policy", policy, "a policy in Python, spelled module:Class")
    path = folder / DECISION_LOG
    try:
        logged = path.read_bytes().decode("utf-8").splitlines(keepends=True)
    except OSError as error:
        why = f"cannot be read: {error.strerror}; simulate with {{log_events}} writes it"
        raise TraceError(path, why) from None
    except UnicodeDecodeError:
        raise TraceError(path, "is no text") from None
    replayed = model_in(summary).replayed(folder, given)
    for number, (a, b) in enumerate(zip_longest(logged, replayed), 1):
        if a != b:
            return Replayed(len(replayed) - 1, number, a and a.rstrip("\n"), b and b.rstrip("\n"))
    return Replayed(len(replayed) - 1)
