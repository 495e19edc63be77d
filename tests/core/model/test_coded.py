"""Text columns as codes and words."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.coded import UNTOLD, Coded

TEXTS = st.lists(st.sampled_from(["", "a", "b", "CANCELLED by 7", "CANCELLED by 8"]), max_size=30)


@given(TEXTS)
def test_texts_come_back(texts: list[str]) -> None:
    column = Coded.of(texts)
    assert column.texts() == texts
    assert [column[k] for k in range(len(texts))] == texts
    assert column.told.tolist() == [text != "" for text in texts]
    assert "" not in column.words


@given(TEXTS, st.data())
def test_rows_are_taken_by_mask_and_by_position(texts: list[str], data: st.DataObject) -> None:
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))))
    mask = mask.astype(np.bool_)
    wanted = [text for text, keep in zip(texts, mask.tolist(), strict=True) if keep]
    assert Coded.of(texts).take(mask).texts() == wanted
    assert Coded.of(texts).take(np.flatnonzero(mask)).texts() == wanted


@given(TEXTS)
def test_new_words_that_are_alike_become_one(texts: list[str]) -> None:
    column = Coded.of(texts)
    short = column.mapped([word.split()[0] for word in column.words])
    assert short.texts() == [text.split()[0] if text else "" for text in texts]
    assert len(set(short.words)) == len(short.words)


def test_a_word_may_become_nothing() -> None:
    column = Coded.of(["a", "b", "a"]).mapped(["", "c"])
    assert column.texts() == ["", "c", ""]
    assert column.code.tolist() == [UNTOLD, 0, UNTOLD]


@given(TEXTS)
def test_rows_among_words(texts: list[str]) -> None:
    found = Coded.of(texts).among(["a", "CANCELLED by 8", "never seen"])
    assert found.tolist() == [text in ("a", "CANCELLED by 8") for text in texts]


def test_counts_are_in_order_of_frequency_then_of_words() -> None:
    counted = Coded.of(["b", "a", "", "b", "c", "a", "d"]).take(np.arange(6)).counts()
    assert list(counted.items()) == [("a", 2), ("b", 2), ("c", 1)]


def test_an_untold_column_says_nothing() -> None:
    column = Coded.untold(3)
    assert column.texts() == ["", "", ""]
    assert not column.told.any()
    assert not column.among(["a"]).any()
    assert column.counts() == {}
