"""Which nodes are near each other, in words."""

from __future__ import annotations

import pytest

from forestall.core.model.errors import ParameterError
from forestall.core.model.nodes import NodeSet
from forestall.core.model.topology import Topology


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (" contiguous ", "contiguous"),
        ("016", "16"),
        ("a=3,0-1  b=7;top=0-7", "a=0-1,3 b=7; top=0-7"),
    ],
)
def test_it_is_always_written_the_same_way(given: str, text: str) -> None:
    topology = Topology.of(given)
    assert topology.text == text
    assert Topology.of(text) == topology


def test_units_end_with_all_nodes() -> None:
    def units(text: str, nodes: int) -> list[tuple[int, str]]:
        return [(level, str(unit)) for level, unit in Topology.of(text).units(nodes)]

    assert units("2", 5) == [(0, "0-1"), (0, "2-3"), (0, "4"), (1, "0-4")]
    assert units("a=1 b=0,3; c=0-1", 4) == [(0, "1"), (0, "0,3"), (1, "0-1"), (2, "0-3")]
    assert Topology.of("contiguous").units(3) == [(1, NodeSet(((0, 3),)))]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "switches at each level"), ("near", "expected contiguous"), ("0", "at least one node"),
        ("a=", "a node at each switch"), ("a=0-3 b=3", "each node once"), ("a=3-0", "a hostlist"),
        ("a=0 a=1", "of their own"), ("a=0-3; ", "switches at each level"),
        ("=3", "expected contiguous"),
    ],
)  # fmt: skip
def test_what_it_cannot_be(text: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        Topology.of(text)


def test_of_another_machine() -> None:
    with pytest.raises(ParameterError, match=r"node 4 of b.*nodes from 0 to 3"):
        Topology.of("a=0-3 b=4").units(4)
