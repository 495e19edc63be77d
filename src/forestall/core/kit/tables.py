"""Tables that the reports of several models have: parts of a whole, fates of jobs, worst jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from forestall.core.figures.series import amounts
from forestall.core.kit.shares import between, shared_fate
from forestall.core.proportions import wilson
from forestall.core.show import words
from forestall.core.show.blocks import Bar, Block, Part, Table

Column = tuple[str | tuple[str, ...], str, Callable[[Any], str]]
"""Of a table: its name in records, with the unit of its values (several names where a value is as
many); its head; how a value is written."""
Named = tuple[str, str, str]
"""A part of a whole: its key, its name, its colour."""
ENDS: Final = ("low", "high")
MOST: Final = 10
"""Rows of the tables of what lost most."""


def tabled(
    key: str, columns: Sequence[Column], values: Iterable[Sequence[Any]], **rest: Any
) -> Table:
    """Return a table of values: each row as plain values for records, and as text."""
    rows, records = [], []
    for one in values:
        cells = list(zip(columns, one, strict=True))
        rows.append(tuple(tell(value) for (_, _, tell), value in cells))
        records.append(dict(pair for (name, _, _), value in cells for pair in _pairs(name, value)))
    return Table.of(key, [head for _, head, _ in columns], rows, records, **rest)


def _pairs(name: str | tuple[str, ...], value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(name, str):
        yield name, value
    else:
        yield from zip(name, value or (None,) * len(name), strict=True)


def bar_of(parts: Iterable[tuple[str, float, str]]) -> Bar:
    """Return a bar of (name, share of the whole, colour)."""
    given = tuple(Part(*one) for one in parts)
    return Bar(given, ", ".join(f"{one.name}: {words.percent(one.share)}" for one in given))


def parts_table(
    key: str,
    amount: tuple[str, str, Callable[[object], str]],
    named: Sequence[Named],
    amounts_of: Mapping[str, object],
    total: float | None,
) -> tuple[Block, ...]:
    """Return the bar and the table of what became of a whole; nothing where there is none.

    Parameters
    ----------
    amount : of the column of amounts its name in records, its head, how one is written
    named : the parts
    amounts_of : the amount of each part, by its key
    total : the whole
    """
    if not total:
        return ()
    unit, head, tell = amount
    found = [
        (slug, name, words.number(amounts_of.get(slug)) or 0.0, colour)
        for slug, name, colour in named
    ]
    told = Table.of(
        key,
        ("", head, "Share"),
        [
            *((name, tell(one), words.percent(one / total)) for _, name, one, _ in found),
            ("All", tell(total), "100 %"),
        ],
        [
            {"what": slug, unit: one, "share": one / total}
            for slug, one in (*((slug, one) for slug, _, one, _ in found), ("total", total))
        ],
        colours=(*(colour for *_, colour in found), ""),
    )
    return bar_of((name, one / total, colour) for _, name, one, colour in found), told


def fates_of(jobs: pl.DataFrame, named: Iterable[str]) -> dict[str, int]:
    """Return how many jobs ended how: those of each `fate`, 0 where there are none."""
    found = dict(jobs["fate"].value_counts().iter_rows())
    return {name: found.get(name, 0) for name in named}


def fates_table(
    jobs: pl.DataFrame, named: Sequence[Named], always: Sequence[str] = ()
) -> tuple[Block, ...]:
    """Return the bar and the table of how jobs ended, with intervals of the shares; nothing without
    jobs.

    Parameters
    ----------
    jobs : with a column `fate`
    named : the fates
    always : those that have a row even where no job met them
    """
    count = len(jobs)
    if not count:
        return ()
    ends = fates_of(jobs, [slug for slug, _, _ in named])
    shown = [one for one in named if ends[one[0]] or one[0] in always]
    names = {slug: name for slug, name, _ in named}
    shared = {slug: shared_fate(jobs, pl.col("fate") == slug) for slug, _, _ in shown}
    columns: list[Column] = [
        ("fate", "Jobs", lambda slug: names[slug]),
        ("count", "Count", words.count),
        ("share", "Share", words.percent),
        (ENDS, "95 % interval", between),
        (("low_over_days", "high_over_days"), "… over days", between),
    ]
    last = 5 if any(one is not None for one in shared.values()) else 4
    values = [
        (slug, ends[slug], ends[slug] / count,
         *(wilson(ends[slug], count, shared=one or 1.0) for one in (1.0, shared[slug])))
        for slug in shared
    ]  # fmt: skip
    told = tabled(
        "fates", columns[:last], [one[:last] for one in values],
        colours=tuple(colour for *_, colour in shown),
    )  # fmt: skip
    return bar_of((name, ends[slug] / count, colour) for slug, name, colour in named), told


def worst_of(jobs: pl.DataFrame, what: str) -> tuple[pl.DataFrame, str]:
    """Return the jobs that lost most work, at most `MOST`, and how many did `what` in words."""
    worst = jobs.filter(pl.col("lost").cast(pl.Float64) > 0).sort(
        "lost", "job", descending=[True, False]
    )
    text = f"{words.counted(len(worst), 'job')} {what}"
    if len(worst) > MOST:
        share = float(amounts(worst.head(MOST), "lost").sum() / amounts(worst, "lost").sum())
        text += f"; these {MOST} have {words.percent(share)} of it"
    return worst.head(MOST), f"{text}."
