"""Tables made of records, and what of an object stands in a record."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from forestall.core.show.blocks import Table
from forestall.core.show.closing import odd_lines
from forestall.core.show.facts import Fact, Untold, flat, taken
from forestall.core.show.quantities import ends_fixed
from forestall.core.show.words import or_dash, percent


@dataclass
class Rack:
    name: str
    failures: int


RACKS = (Rack("r1", 3), Rack("r2", 12_000))


def test_cells_are_the_records_as_the_columns_write_them() -> None:
    columns = (
        ("Rack", "rack", str.upper),
        ("Failures", "failures", "{:,}".format),
        ("Both", lambda row: f"{row['rack']} {row['ends'][0]}"),
    )
    records = [taken(one, rack="name", failures="failures") | {"ends": [1, 2]} for one in RACKS]
    table = Table.by("racks", columns, records, caption="Racks")
    assert table.heads == ("Rack", "Failures", "Both")
    assert table.texts == (("R1", "3", "r1 1"), ("R2", "12,000", "r2 1"))
    assert table.records == ({"rack": "r1", "failures": 3}, {"rack": "r2", "failures": 12_000})
    assert table.right == (1, 2)
    assert table.caption == "Racks"


def test_a_table_without_records_has_heads_alone() -> None:
    table = Table.by("racks", (("Rack", "rack", str),), [], right=range(1))
    assert (table.rows, table.records, table.right) == ((), (), (0,))


def test_a_record_without_a_column_is_an_error() -> None:
    with pytest.raises(KeyError, match="rack"):
        Table.by("racks", (("Rack", "rack", str),), [{"name": "r1"}])


def test_what_is_taken_stands_in_order_and_under_its_new_name() -> None:
    assert list(taken(RACKS[0], "name", failed="failures").items()) == [
        ("name", "r1"),
        ("failed", 3),
    ]
    assert flat({"a": 1, "b": [1], "c": {"d": 1}, "e": None}) == {"a": 1, "e": None}


@pytest.mark.parametrize(("value", "why"), [(0.5, ""), (None, "of jobs"), (math.nan, "of jobs")])
def test_a_measure_without_a_value_says_why(value: float | None, why: str) -> None:
    fact = Fact.measured("x", "X", value, "ratio", "of jobs", "half", labels={"a": "b"})
    assert fact.why == why
    assert (fact.value is None) is bool(why)
    assert (fact.shown, fact.meaning, fact.labels) == ("half", "of jobs", {"a": "b"})


def test_what_is_not_told_is_a_sentence() -> None:
    assert str(Untold("Waits", "no log", "a log")) == "Waits: no log. It takes a log."
    assert str(Untold("Waits", "no log")) == "Waits: no log."


def test_dashes_stand_for_none() -> None:
    assert [or_dash(percent)(one) for one in (None, 0.25)] == ["-", "25.0 %"]
    assert ends_fixed([1.0, math.nan], [12.0, math.nan]) == ["1.0 to 12.0", "-"]


def test_remarks_on_what_was_read_are_lines() -> None:
    section = odd_lines(f"{k} rows" for k in (1, 2))
    assert section.key == "read"
    assert section.body[0].items == ("1 rows", "2 rows")  # type: ignore[union-attr]
