"""Entries: what a user can choose by name (a policy, a strategy, a learner, a format, a law), once.

Command-line choices, settings, figures, tables of the documentation and contract tests all read
the same entry, so that a new one is one file and one line in a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forestall.core.model.errors import ParameterError
from forestall.core.model.own import is_own


@dataclass(frozen=True)
class Entry:
    """One thing that can be chosen by name.

    Attributes
    ----------
    name : as options and files spell it
    label : as people read it, in tables and legends
    about : what it does, in a sentence that stands in help and in the documentation
    docs : page and heading below ``docs/`` that tell all of it, such as ``models/classic.md#easy``
    colour : of its lines in figures; "" where figures do not show it
    needs : extras that it cannot do without, such as ``learn``
    own : whether it stands for all of the user's own in Python, each of which has a name of its own
    """

    name: str
    label: str
    about: str
    docs: str
    colour: str = ""
    needs: tuple[str, ...] = ()
    own: bool = False


E = TypeVar("E", bound=Entry)


class Entries(Mapping[str, E], Generic[E]):
    """A table of entries by name, in the order in which users see them.

    `what` is the parameter that takes these names; with `own`, the entry of the user's own, it also
    takes the spelling of a class (`forestall.core.model.own`).
    """

    def __init__(self, what: str, entries: Iterable[E], own: E | None = None) -> None:
        listed = tuple(entries)
        self.what = what
        self.own = own
        self._by_name = {one.name: one for one in listed}
        assert len(self._by_name) == len(listed), f"two entries of one name among {what}"

    def __getitem__(self, name: str) -> E:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __hash__(self) -> int:
        return hash(tuple(self))

    @property
    def every(self) -> tuple[E, ...]:
        """All entries, that of the user's own last."""
        return (*self.values(), *(() if self.own is None else (self.own,)))

    def chosen(self, name: str) -> E:
        """Return the entry of a name that a user gave; ParameterError where there is none."""
        if self.own is not None and is_own(name):
            return self.own
        if name not in self._by_name:
            raise ParameterError(self.what, name, "one of " + ", ".join(self))
        return self._by_name[name]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """Let the table stand in the annotation of a parameter: one of its names, or a class."""
        from pydantic_core import core_schema

        def allowed(value: Any, names: Any) -> Any:
            spelled = self.own is not None and isinstance(value, str) and is_own(value)
            return value if spelled else names(value)

        return core_schema.no_info_wrap_validator_function(
            allowed, core_schema.literal_schema(list(self))
        )
