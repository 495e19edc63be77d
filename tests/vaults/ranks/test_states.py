"""States of ranks as bytes, and back."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forestall.core.model.errors import ParameterError
from forestall.vaults.pieces.fragments import DamagedError
from forestall.vaults.ranks.states import packed, state_of

ARRAYS = hnp.arrays(
    st.sampled_from(["f8", "i4", "u1", "c16", "?", "S3", "U2", "<M8[s]"]),
    hnp.array_shapes(min_side=0),
)
PIECES = st.one_of(ARRAYS, st.binary(max_size=300))


@settings(max_examples=150, deadline=None)
@given(st.one_of(PIECES, st.dictionaries(st.text(max_size=5), PIECES, max_size=4)))
def test_it_comes_back_as_it_was(state: object) -> None:
    raw = packed(state)  # type: ignore[arg-type]
    again = packed(state, np.full(len(raw), 7, np.uint8))  # type: ignore[arg-type]
    assert raw.tobytes() == again.tobytes()
    found = state_of(raw)
    both = zip(state.items(), found.items(), strict=True) if isinstance(state, dict) else [
        (("", state), ("", found))]  # fmt: skip
    for (name, one), (also, other) in both:
        assert name == also
        if isinstance(one, bytes):
            assert other == one
        else:
            assert (other.dtype, other.shape) == (one.dtype, one.shape)
            assert other.tobytes() == one.tobytes()


def test_buffers_are_used_again_and_strides_do_not_matter() -> None:
    whole = np.arange(200.0).reshape(10, 20)
    first = packed(whole[:, ::2])
    assert packed(whole[:, ::2] + 1, first) is first
    assert np.array_equal(state_of(first), whole[:, ::2] + 1)
    assert packed(whole, first) is not first


@pytest.mark.parametrize(
    "state", [np.array([object()]), {"x": [{}]}, {1: b""}, np.zeros(2, "i4,i4")]
)
def test_what_is_no_state_is_refused(state: object) -> None:
    with pytest.raises(ParameterError):
        packed(state)  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 200))
def test_damaged_bytes_are_told(noise: bytes, keep: int) -> None:
    raw = packed({"x": np.arange(3), "y": b"abc"}).tobytes()[:keep] + noise
    with suppress(DamagedError):
        state_of(raw)
