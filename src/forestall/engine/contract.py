"""What the three engines have in common where Python drives them.

An engine is told events and answers with decisions: `handle(event)`. Its state is one named tuple
of arrays, which `snapshot` copies. What an event may do to a job or a node is a literal table
beside each engine; with `validate` on, `handle` holds the engine to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from forestall.model.errors import ParameterError

Int = npt.NDArray[np.int64]


def check_time(time: int, now: int) -> None:
    """Raise ParameterError for an event before the last one."""
    if time < now:
        raise ParameterError("time", time, f"no earlier than {now}, the last event's")


def check_key(key: int, count: int, thing: str) -> None:
    """Raise ParameterError for an event about a job or node that is not there."""
    if not 0 <= key < count:
        raise ParameterError("key", key, f"a {thing} from 0 to {count - 1}")


def whole(record: Any, names: Sequence[str]) -> dict[str, int]:
    """Return fields of a record, as kernels write decisions, in plain whole numbers."""
    return {name: int(record[name]) for name in names}


def snapshot(state: Any) -> dict[str, Any]:
    """Return a copy of all that a state holds, arrays and numbers, each under its path."""
    held: dict[str, Any] = {}
    for name, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            held |= {f"{name}.{below}": one for below, one in snapshot(value).items()}
        else:
            held[name] = value.copy() if isinstance(value, np.ndarray) else value
    return held


@dataclass(frozen=True)
class Transitions:
    """The legal changes of the states that things of one kind are in.

    `states` are the names of the states, by value; `legal` says for a kind of event which changes,
    (from, to), it may bring. What is not there must not happen.
    """

    thing: str
    states: tuple[str, ...]
    legal: Mapping[Any, set[tuple[str, str]]]


class Watch:
    """Holds an engine to its tables of legal changes.

    Parameters
    ----------
    tables : one for each kind of thing
    look : returns their present states, int64[things] for each table
    """

    def __init__(self, tables: Sequence[Transitions], look: Callable[[], Sequence[Int]]) -> None:
        self._tables, self._look = tables, look
        self._seen = [states.copy() for states in look()]
        self._history: dict[tuple[str, int], list[str]] = {}

    def after(self, kind: IntEnum, time: int) -> None:
        """Look at what an event has done. Raises AssertionError, with the thing's history, where
        its table does not allow a change."""
        for number, (table, now) in enumerate(zip(self._tables, self._look(), strict=True)):
            before = self._seen[number]
            if len(now) > len(before):  # what is new begins as it is
                before = np.concatenate((before, now[len(before) :]))
            for one in np.flatnonzero(before != now).tolist():
                change = table.states[int(before[one])], table.states[int(now[one])]
                self._check(table, one, change, kind, time)
            self._seen[number] = now.copy()

    def _check(
        self, table: Transitions, one: int, change: tuple[str, str], kind: IntEnum, time: int
    ) -> None:
        history = self._history.setdefault((table.thing, one), [change[0]])
        history.append(f"{change[1]} at {time} s ({kind.name})")
        if change not in table.legal.get(kind, set()):
            raise AssertionError(
                f"{table.thing} {one} must not go from {change[0]} to {change[1]} with "
                f"{kind.name}; it was {', then '.join(history)}"
            )
