"""Entries: what a user can choose by name (a policy, a strategy, a learner, a format, a law), once.

Command-line choices, settings, figures, tables of the documentation and contract tests all read
the same entry, so that a new one is one file and one line in a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forestall.model.errors import ParameterError


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
    own : whether it stands for a user's own in Python, which no command can name
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
    """A table of entries by name, in the order in which users see them."""

    def __init__(self, what: str, entries: Iterable[E]) -> None:
        listed = tuple(entries)
        self.what = what
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
    def named(self) -> tuple[str, ...]:
        """The names that a command can take."""
        return tuple(name for name, one in self._by_name.items() if not one.own)

    def chosen(self, name: str) -> E:
        """Return the entry of a name that a user gave; ParameterError where there is none."""
        if name not in self._by_name:
            raise ParameterError(self.what, name, "one of " + ", ".join(self.named))
        return self._by_name[name]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> Any:
        """Let the table stand in the annotation of a parameter, which is then one of its names."""
        from pydantic_core import core_schema

        quoted = [f"'{name}'" for name in self.named]
        return core_schema.custom_error_schema(
            core_schema.literal_schema(list(self)),
            custom_error_type="one_of",
            custom_error_message=f"Input should be {', '.join(quoted[:-1])} or {quoted[-1]}",
        )
