"""Settings of where checkpoints go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.stores import CHOICES, LAYOUTS, Stores


def test_by_default_a_gigabyte_goes_as_3_and_2() -> None:
    stores = Stores.of("")
    assert (stores.layout, stores.needed, stores.pieces, stores.size) == ("code", 3, 5, 2**30)
    # 1 GiB compressed to a half, in thirds, rounded up.
    assert stores.piece == (178956971, 178956971)
    assert stores.chain == 1  # nothing is shared between versions


def test_units_shares_and_other_layouts() -> None:
    stores = Stores.of("layout=remote size=1.5GB ratio=3 fresh=0.1 full=4 near=1GB line=500kB")
    assert stores.size == 1_500_000_000
    assert (stores.needed, stores.pieces, stores.chain) == (1, 1, 4)
    assert stores.raw == (1_500_000_000, 150_000_000)
    assert stores.piece == (500_000_000, 50_000_000)
    assert stores.line == 500_000


def test_hosts_that_keep_pieces() -> None:
    assert Stores.of("").numbers(4) == (0, 1, 2, 3)
    assert Stores.of("stores=0-2,5,9-30").numbers(11) == (0, 1, 2, 5, 9, 10)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("layout=tape", "layout=tape"),
        ("size", "size"),
        ("data=3 data=4", "data=4"),
        ("speed=fast", "speed=fast"),
        ("size=1.5", "size=1.5"),
        ("size=3XB", "size=3XB"),
        ("data=0", "data=0"),
        ("parity=-1", "parity=-1"),
        ("data=30 parity=9", "39"),
        ("ratio=0.5", "ratio=0.5"),
        ("fresh=0", "fresh=0"),
        ("keep=0", "keep=0"),
        ("near=0", "near=0"),
        ("stores=a-b", "stores=a-b"),
        ("colour=red", "colour"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(text: str, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Stores.of(text)
    assert "vault" in str(caught.value)
    assert told in str(caught.value)


@given(
    st.fixed_dictionaries(
        {
            "layout": st.sampled_from(LAYOUTS),
            "choice": st.sampled_from(CHOICES),
            "data": st.integers(1, 8),
            "parity": st.integers(0, 4),
            "size": st.integers(1, 2**40),
            "ratio": st.floats(1, 50),
            "fresh": st.floats(0.01, 1),
            "keep": st.integers(1, 9),
            "near": st.integers(1, 10**12),
        }
    )
)
def test_text_says_the_same_stores_again(values: dict[str, object]) -> None:
    stores = Stores.made(values)
    assert Stores.of(stores.text) == stores
    assert Stores.of(stores.text).text == stores.text
    whole, part = stores.piece
    assert part <= whole
    assert stores.needed * whole * stores.ratio >= stores.size * (1 - 1e-12)
