"""What the three engines have in common where Python drives them.

An engine is told what happened and answers with what should be done: `handle(events, now)`. What an
event may do to a job or a node is a literal table beside each engine (`Transitions`); an event that
it rules out is an error that tells the story of its job or node. How a state is kept and taken up
again is in `kept`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import ParameterError, TransitionError

Int = npt.NDArray[np.int64]
Change = tuple[str, str]

REMEMBERED: Final = 10_000
"""Jobs and nodes whose stories are kept: those that something happened to last."""
LONGEST: Final = 24
"""Changes of one job or node that are kept: the last ones."""


class Happening(Protocol):
    """What the events of all engines have."""

    @property
    def time(self) -> int: ...
    @property
    def kind(self) -> IntEnum: ...
    @property
    def key(self) -> int: ...


E = TypeVar("E", bound=Happening)


def in_order(events: Iterable[E], now: int, last: int, rank: Callable[[Any], int]) -> list[E]:
    """Return the events of the second `now` in the order in which they are taken in.

    Raises ParameterError where the second is before the `last` one, or an event of another second.
    """
    if now < last:
        raise ParameterError("time", now, f"no earlier than {last}, the last event's")
    told = list(events)
    for event in told:
        if event.time != now:
            raise ParameterError("event", event, f"one of this second, {now}")
    return told if len(told) < 2 else sorted(told, key=lambda one: (rank(one.kind), one.key))


def check_key(key: int, count: int, thing: str) -> None:
    """Raise ParameterError for an event about a job or node that is not there."""
    if not 0 <= key < count:
        raise ParameterError("key", key, f"a {thing} from 0 to {count - 1}")


def whole(record: Any, names: Sequence[str]) -> dict[str, int]:
    """Return fields of a record, as kernels write decisions, in plain whole numbers."""
    return {name: int(record[name]) for name in names}


@dataclass(frozen=True)
class Transitions:
    """The legal changes of the states that things of one kind are in.

    `states` are the names of the states, by value; `legal` says for a kind of event which changes,
    (from, to), it may bring; the same state twice: it may come in this state and changes nothing.
    What is not there must not happen.
    """

    thing: str
    states: tuple[str, ...]
    legal: Mapping[Any, set[Change]]

    def before(self, kind: IntEnum) -> tuple[str, ...]:
        """Return the states in which an event may come, in order."""
        found = {change[0] for change in self.legal.get(kind, ())}
        return tuple(state for state in self.states if state in found)


class Stories:
    """What happened to jobs and nodes, so that an error can tell: the last `LONGEST` changes of the
    last `REMEMBERED` of them."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, int], deque[tuple[str, int, str]]] = OrderedDict()

    def tell(self, thing: str, number: int, state: str, time: int, event: str) -> None:
        """Take note of the state of a job or node after an event."""
        story = self._told.get((thing, number))
        if story is None:
            story = self._told[thing, number] = deque(maxlen=LONGEST)
            if len(self._told) > REMEMBERED:
                self._told.popitem(last=False)
        self._told.move_to_end((thing, number))
        story.append((state, time, event))

    def of(self, thing: str, number: int) -> tuple[str, ...]:
        """Return the story of a job or node, a line for each event."""
        told = self._told.get((thing, number), ())
        return tuple(f"{state} at {time} s ({event})" for state, time, event in told)

    def renumber(self, thing: str, numbers: Mapping[int, int]) -> None:
        """Give things of a kind new numbers; stories of those without one are forgotten."""
        old, self._told = self._told, OrderedDict()
        for (kind, number), story in old.items():
            if kind != thing:
                self._told[kind, number] = story
            elif number in numbers:
                self._told[kind, numbers[number]] = story

    def as_list(self) -> list[Any]:
        """Return all stories as plain data."""
        return [[*about, [list(line) for line in told]] for about, told in self._told.items()]

    @classmethod
    def of_list(cls, plain: Iterable[Any]) -> Stories:
        """Return the stories of plain data."""
        made = cls()
        for thing, number, lines in plain:
            for state, time, event in lines:
                made.tell(thing, number, state, time, event)
        return made


def check_state(
    table: Transitions, event: Happening, state: str, stories: Stories, number: int = -1
) -> None:
    """Raise TransitionError for an event that this state of its job or node rules out; `number` is
    that of the job where the event's key is another's."""
    fine = table.before(event.kind)
    if state not in fine:
        one = event.key if number < 0 else number
        allowed = f"a {table.thing} that is {' or '.join(fine)}, not {state}"
        raise TransitionError(event, allowed, f"{table.thing} {one}", stories.of(table.thing, one))


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
        self, table: Transitions, one: int, change: Change, kind: IntEnum, time: int
    ) -> None:
        history = self._history.setdefault((table.thing, one), [change[0]])
        history.append(f"{change[1]} at {time} s ({kind.name})")
        if change not in table.legal.get(kind, set()):
            raise AssertionError(
                f"{table.thing} {one} must not go from {change[0]} to {change[1]} with "
                f"{kind.name}; it was {', then '.join(history)}"
            )
