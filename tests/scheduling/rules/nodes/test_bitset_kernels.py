"""Sets of nodes as words, against Python's sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.scheduling.engine.plugin import members, row_of
from forestall.scheduling.engine.state import full_row
from forestall.scheduling.rules.nodes import bitset_kernels as bits

WORDS = 3
EDGES = [0, 1, 31, 62, 63, 64, 65, 127, 128, 190, 191]
SETS = st.sets(st.one_of(st.integers(0, 64 * WORDS - 1), st.sampled_from(EDGES)), max_size=80)
SETS = st.one_of(SETS, st.just(set(range(64 * WORDS))), st.just(set(range(64))), st.just(set()))
Set = set[int]


def row(nodes: Set) -> np.ndarray:
    words = np.zeros(WORDS, dtype=np.uint64)
    for node in nodes:
        words[node // 64] |= np.uint64(1 << (node % 64))
    return words


def back(words: np.ndarray) -> Set:
    return {64 * i + k for i, word in enumerate(words.tolist()) for k in range(64) if word >> k & 1}


WORD = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([0, 1, 2**63, 2**64 - 1]))


@given(WORD)
def test_bits_of_a_word(word: int) -> None:
    assert bits.ones(np.uint64(word)) == word.bit_count()
    if word:
        first = (word & -word).bit_length() - 1
        assert bits.lowest(np.uint64(word)) == first
        text = f"{word >> first:b}"[::-1] + "0"
        assert bits.run_after(np.uint64(word), first) == text.index("0")


@given(WORD, st.integers(0, 63))
def test_lowest_bits_of_a_word(word: int, wanted: int) -> None:
    wanted = min(wanted, word.bit_count() - 1)
    if wanted >= 0:
        places = [k for k in range(64) if word >> k & 1][:wanted]
        assert int(bits.lowest_of(np.uint64(word), wanted)) == sum(1 << k for k in places)


@given(st.integers(0, 63), st.integers(1, 64))
def test_a_run_of_bits(first: int, length: int) -> None:
    length = min(length, 64 - first)
    assert int(bits.run_of(first, length)) == sum(1 << k for k in range(first, first + length))


@given(SETS, st.integers(0, 64 * WORDS - 1))
def test_members(nodes: Set, node: int) -> None:
    words = row(nodes)
    assert bits.count(words) == len(nodes)
    assert bool(bits.has(words, node)) == (node in nodes)
    bits.put(words, node)
    assert back(words) == nodes | {node}
    bits.drop(words, node)
    assert back(words) == nodes - {node}


@given(SETS, SETS)
def test_algebra(one: Set, other: Set) -> None:
    for kernel, expected in (
        (bits.unite, one | other),
        (bits.subtract, one - other),
        (bits.copy, other),
    ):
        target = row(one)
        kernel(target, row(other))
        assert back(target) == expected
    target = row(one)
    assert bits.meet(target, row(other)) == len(one & other)
    assert back(target) == one & other
    assert bool(bits.overlaps(row(one), row(other))) == bool(one & other)


@given(SETS, SETS, st.data())
def test_lowest_ones(source: Set, there: Set, data: st.DataObject) -> None:
    wanted = data.draw(st.integers(0, len(source)))
    expected = set(sorted(source)[:wanted])
    target = row(there)
    bits.take_lowest(target, row(source), wanted)
    assert back(target) == expected


@pytest.mark.parametrize("nodes", [0, 1, 63, 64, 65, 127, 128, 129, 191, 192])
def test_full_sets(nodes: int) -> None:
    words = np.full(WORDS, 0xDEAD, dtype=np.uint64)
    bits.fill(words, nodes)
    assert back(words) == set(range(nodes))
    if nodes:
        assert back(full_row(nodes)) == set(range(nodes))


@given(SETS)
def test_rows_from_and_to_node_numbers(nodes: Set) -> None:
    numbers = np.array(sorted(nodes), dtype=np.int64)
    assert row_of(numbers, WORDS).tolist() == row(nodes).tolist()
    assert members(row(nodes)).tolist() == numbers.tolist()
