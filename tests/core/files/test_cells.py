"""Cells of CSV: none of them is a formula, and each comes back as it was."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.files.cells import guarded, harmless, read_back, unguarded
from forestall.core.files.delimited import read_sheet

FORMULA = re.compile("[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
TEXTS = st.text(st.sampled_from("'=+-@\t1.e aé\uff1d\\x\x1b\u202e"), max_size=6)
OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u202e]")


@given(TEXTS)
def test_one(text: str) -> None:
    cell = guarded(text)
    assert unguarded(cell) == text
    number = re.fullmatch(r"-|[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", cell)
    assert number or not FORMULA.match(cell)
    assert not OBEYED.search(cell)


@given(st.lists(TEXTS, min_size=1, max_size=20))
def test_columns_are_as_cells(texts: list[str]) -> None:
    table = pl.DataFrame({"=name": texts, "other": texts, "n": range(len(texts))})
    made = harmless(table)
    assert made.columns == ["'=name", "other", "n"]
    assert made["other"].to_list() == list(map(guarded, texts))
    assert read_back(made)["other"].to_list() == texts


@pytest.mark.parametrize("value", ["-5", "+1.5", "-.5e-3", "-", "", "12", "abc", "a=b"])
def test_numbers_and_plain_texts_stay(value: str) -> None:
    assert guarded(value) == value


def test_a_reader_of_ours(tmp_path: Path) -> None:
    texts = ["=cmd|' /C calc'!A0", "'=x", "''", "-a", "@b", "-1", 'q"u,o']
    path = tmp_path / "t.csv"
    harmless(pl.DataFrame({"=name": texts, "n": range(7)})).write_csv(path)
    cells = [cell for row in csv.reader(io.StringIO(path.read_text())) for cell in row]
    assert [cell for cell in cells if FORMULA.match(cell)] == ["-1"]
    sheet = read_sheet(path, ("=name", "n"))
    assert sheet.text("=name") == texts
    assert sheet.whole("n").tolist() == list(range(7))
