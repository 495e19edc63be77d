"""What a section shows, in its order: tables, bars of shares, figures, sentences, things to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from forestall.core.show.facts import records_of
from forestall.core.show.quantities import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text.

    Attributes
    ----------
    text : what it says
    best : whether it is the best of its row or column
    below : what stands quietly below the text, such as an interval
    """

    text: str
    best: bool = False
    below: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.below})" if self.below else self.text


Row = tuple[str | Cell, ...]
Record = Mapping[str, Any]
Column = tuple[str, str, Callable[[Any], str | Cell]] | tuple[str, Callable[[Any], str | Cell]]
"""A column of `Table.by`: its head, the name of its value in a record, and how that is written; or
its head, and how all of a record is."""


@dataclass(frozen=True)
class Table:
    """Rows that belong together. `Table.of` makes one of figures with less to say.

    Attributes
    ----------
    key : its name in JSON
    title : what the rows are; "" where the section's title says it
    heads : of the columns, with units
    rows : cells as text, as they are shown
    records : the same rows as plain values by name, for JSON; names carry their units
    note : a remark below it
    right : columns that are aligned right
    ranked : the first rows matter most; a long table that is not is shown with both its ends
    caption : a quiet line above the heads
    colours : of the rows, ``#rrggbb``: squares that tie them to the parts of a `Bar`; or none
    folded : says how things are counted, and is shown with the section's notes
    summed : the first row is the sum of all others, and stays first
    most : so many rows are shown on a page; None: as many as pages show, 0: all
    elsewhere : where the other rows are
    """

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    records: tuple[Mapping[str, Any], ...]
    note: str = ""
    right: tuple[int, ...] = ()
    ranked: bool = False
    caption: str = ""
    colours: tuple[str, ...] = ()
    folded: bool = False
    summed: bool = False
    most: int | None = None
    elsewhere: str = "the JSON"

    def __post_init__(self) -> None:
        assert len(self.rows) == len(self.records), f"{self.key}: rows and records differ"
        assert all(len(row) == len(self.heads) for row in self.rows), f"{self.key}: ragged rows"
        assert not self.colours or len(self.colours) == len(self.rows), f"{self.key}: colours"
        assert all(not one or _COLOUR.fullmatch(one) for one in self.colours), self.colours

    @property
    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Its rows as plain text."""
        return tuple(tuple(str(cell) for cell in row) for row in self.rows)

    @classmethod
    def of(
        cls,
        key: str,
        heads: Sequence[str],
        rows: Sequence[Sequence[str | Cell]],
        records: Sequence[Mapping[str, Any]] | None = None,
        **rest: Any,
    ) -> Table:
        """Return a table without a title whose first column names the rows and whose others are
        figures, aligned right, unless `rest`, the other attributes, say otherwise.

        Without `records` JSON has the cells' texts by their heads.
        """
        told = tuple(tuple(row) for row in rows)
        names = [head or "name" for head in heads]
        if records is None:
            records = [{name: str(cell) for name, cell in zip(names, row, strict=True)}
                       for row in told]  # fmt: skip
        given = {"title": "", "right": range(1, len(heads))} | rest
        given["right"] = tuple(given["right"])
        return cls(key=key, heads=tuple(heads), rows=told, records=tuple(records), **given)

    @classmethod
    def by(
        cls, key: str, columns: Sequence[Column], records: Iterable[Record], **rest: Any
    ) -> Table:
        """Return a table, as `of` does, whose cells are its records as the columns write them; JSON
        has of the records what is a single value."""
        told = tuple(records)
        rows = [[_cell(column, record) for column in columns] for record in told]
        return cls.of(key, [column[0] for column in columns], rows, records_of(told), **rest)


def _cell(column: Column, record: Record) -> str | Cell:
    return column[1](record) if len(column) == 2 else column[2](record[column[1]])


@dataclass(frozen=True)
class Part:
    """A part of a whole: its name, its share (0 to 1), its colour (``#rrggbb``)."""

    name: str
    share: float
    colour: str

    def __post_init__(self) -> None:
        assert _COLOUR.fullmatch(self.colour), self.colour


@dataclass(frozen=True)
class Bar:
    """Parts of a whole as one bar. A table that follows it tells the shares in figures, and its
    `colours` are those of the parts; so only pages draw bars."""

    parts: tuple[Part, ...]
    alt: str


@dataclass(frozen=True)
class Figure:
    """A figure to draw (with `forestall.core.show.style`).

    Attributes
    ----------
    name : of its files, without suffix
    draw : makes it
    alt : what it is, for those who cannot see it
    caption : what it shows, with its most important number
    """

    name: str
    draw: Callable[[], Drawn]
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Prose:
    """A paragraph; `soft` is quiet: how something is counted rather than what was found."""

    text: str
    soft: bool = False


@dataclass(frozen=True)
class Listing:
    """Lines that stand as a list."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A thing to do: its `kind`, what to do, what it gains, and what says so."""

    kind: str
    text: str
    gain: str = ""
    because: str = ""


@dataclass(frozen=True)
class StepGroup:
    """Things to do under one heading, the most useful first."""

    title: str
    steps: tuple[Step, ...]

    def shortened(
        self, most: int | None = None, of_a_kind: int | None = None
    ) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
        """Return what is shown first and the rest: at most so many, and no more than a few of a
        kind (None: all)."""
        often: dict[str, int] = {}
        kept: list[Step] = []
        rest: list[Step] = []
        for one in self.steps:
            often[one.kind] = often.get(one.kind, 0) + 1
            enough = most is not None and len(kept) >= most
            alike = of_a_kind is not None and often[one.kind] > of_a_kind
            (rest if enough or alike else kept).append(one)
        return tuple(kept), tuple(rest)


@dataclass(frozen=True)
class Steps:
    """What to do, under headings, counted through."""

    groups: tuple[StepGroup, ...]


Block = Table | Bar | Figure | Prose | Listing | Steps


def more_of(rest: Sequence[Step]) -> str:
    """Return how much of a group is not shown, in words; "" for nothing."""
    return f"{counted(len(rest), 'things')} more like these" if rest else ""
