"""Numbers of the paper beside ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """One number of the paper beside ours.

    Attributes
    ----------
    item : what it is
    paper : as printed, None where the paper has none
    ours : computed consistently
    paper_way : computed as the paper must have done, where that is another way
    unit : of all three, "" for pure numbers
    digits : decimals to show
    """

    item: str
    paper: float | None
    ours: float
    paper_way: float | None = None
    unit: str = ""
    digits: int = 2


@dataclass(frozen=True)
class Table:
    """A table of the paper redone.

    Attributes
    ----------
    name, title : ``Table 3`` and what it shows
    values : its numbers
    why : why ours differ from theirs, a sentence or two each
    """

    name: str
    title: str
    values: tuple[Value, ...]
    why: tuple[str, ...]
