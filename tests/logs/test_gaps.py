"""Tables of gaps: what is read, what is left out, what is an error."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.logs.gaps import read_gaps


def written(folder: Path, text: str) -> Path:
    path = folder / "gaps.csv"
    path.write_text(text)
    return path


def test_gaps_and_flags_are_read_in_any_order_of_columns(tmp_path: Path) -> None:
    text = "cause,censored,gap\n3,0,1.5\n4,1,2e3\n5,TRUE,0\n6,,7\n"
    gaps = read_gaps(written(tmp_path, text))
    np.testing.assert_array_equal(gaps.gap, [1.5, 2000, 0, 7])
    np.testing.assert_array_equal(gaps.censored, [False, True, True, False])
    assert gaps.cleaning.counts() == {"ignored_columns": 1}


def test_without_flags_every_gap_was_seen_to_end(tmp_path: Path) -> None:
    gaps = read_gaps(written(tmp_path, "gap\n1\n1e-300\n1e300\n"))
    assert not gaps.censored.any()
    np.testing.assert_array_equal(gaps.gap, [1, 1e-300, 1e300])


def test_bad_rows_are_left_out_and_named(tmp_path: Path) -> None:
    text = "gap,censored\n1,0\n-2,0\nx,0\n,0\nnan,0\ninf,0\n3,maybe\n4,1\n"
    gaps = read_gaps(written(tmp_path, text))
    np.testing.assert_array_equal(gaps.gap, [1, 4])
    assert gaps.cleaning.counts() == {"bad_gap": 5, "bad_censored": 1}
    with pytest.raises(TraceError, match=r"gaps.csv:3: gap: '-2'; expected a number from 0"):
        read_gaps(written(tmp_path, text), strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("gap\n", "has no gaps"),
        ("hours\n3\n", "has no column gap"),
        ("gap\n-1\n", "expected a number"),
    ],
)
def test_what_cannot_be_used_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said) as caught:
        read_gaps(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_columns_of_our_own_files(tmp_path: Path) -> None:
    text = "gap,censored,resolution,node,begin,end\n1,0,0.5,3,7,8\n0,0,0.5,3,8,8\n"
    gaps = read_gaps(written(tmp_path, text))
    assert gaps.resolution == 0.5
    assert gaps.cleaning.counts() == {}
    assert read_gaps(written(tmp_path, "gap\n1\n")).resolution is None
