"""Layouts: where pieces lie, and how many hosts may go."""

from __future__ import annotations

from itertools import combinations

import pytest

from forestall.core.model.errors import ParameterError
from forestall.reliability.systems.ring import holders
from forestall.vaults.layouts import StoreLayout, told_code
from forestall.vaults.pieces.codes import Code


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("code", 5), ("code", 3), ("copies:3", 4), ("copies:2", 2), ("copies:1", 3), ("ring:2", 5),
     ("ring:1", 2), ("ring:1", 1)],
)  # fmt: skip
def test_what_survives_is_what_any_loss_leaves(text: str, hosts: int) -> None:
    """Against all sets of lost hosts, and packs that begin with each of them."""
    layout = StoreLayout.named(text, hosts, Code(3, 2))
    told = layout.survives()
    for count in range(hosts + 1):
        kept = all(
            sum(host not in lost for host in layout.place(number)) >= layout.code.data
            for lost in combinations(range(hosts), count)
            for number in range(hosts)
        )
        assert kept == (count <= told)


def test_the_ring_is_that_of_the_model() -> None:
    for hosts in range(1, 8):
        for home in range(hosts):
            layout = StoreLayout.named(f"ring:{home + 1}", hosts, Code())
            assert set(layout.place(3)) == set(holders(home, hosts, 3))
            assert layout.place(3)[0] == home
            assert layout.code == Code(1, min(hosts, 3) - 1)


@pytest.mark.parametrize("text", ["", "copies", "copies:0", "ring:6", "ring:0", "code:3", "raid:5"])
def test_other_layouts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="layout"):
        StoreLayout.named(text, 5, Code())


def test_codes_in_words() -> None:
    assert [told_code(3, 2), told_code(1, 2), told_code(1, 0)] == ["3 + 2", "3 copies", "1 copy"]
