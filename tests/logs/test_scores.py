"""Tables of scores as they come: good, dirty, packed, Parquet, and what is no such table."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.logs.scores import Scores, read_scores


def write(folder: Path, text: str, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def remarks(found: Scores) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.names for one in found.cleaning.remarks}


def test_a_plain_table(tmp_path: Path) -> None:
    found = read_scores(write(tmp_path, "score,failed\n.5,1\n-2e3,0\ninf,1\n"))
    assert found.scores["score"].tolist() == [0.5, -2000, np.inf]
    assert found.failed.tolist() == [True, False, True]
    assert (found.group, found.rows, len(found), found.cleaning.remarks) == (None, 3, 3, ())


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("gap", ["", "\n"])
def test_what_cannot_be_used_is_left_out_and_named(tmp_path: Path, ends: str, gap: str) -> None:
    rows = [
        "score,failed",
        gap + ".5,1",
        ",1",
        " nan ,0",
        "NA,0",
        "abc,1",
        ".3,maybe",
        ".4,",
        " .7 , TRUE ",
    ]
    found = read_scores(write(tmp_path, "\n".join(rows).replace("\n", ends) + ends))
    shift = len(gap)
    assert found.scores["score"].tolist() == [0.5, 0.7]
    assert found.failed.tolist() == [True, True]
    assert found.rows == 8
    assert remarks(found) == {
        "blank_score": tuple(f"line {k + shift}" for k in (3, 4, 5)),
        "bad_score": (f"line {6 + shift}",),
        "blank_failed": (f"line {8 + shift}",),
        "bad_failed": (f"line {7 + shift}",),
    }


@pytest.mark.parametrize("words", ["1 0", "true false", "True FALSE", "yes no", "1.0 0.0", "t f"])
def test_outcomes_in_any_of_their_spellings(tmp_path: Path, words: str) -> None:
    yes, no = words.split()
    found = read_scores(write(tmp_path, f"score,failed\n1,{yes}\n2,{no}\n"))
    assert found.failed.tolist() == [True, False]


def test_rows_of_other_lengths(tmp_path: Path) -> None:
    found = read_scores(write(tmp_path, "score,failed\n1,1,9\n2,0\n"))
    assert found.scores["score"].tolist() == [2]
    assert remarks(found) == {"malformed": ("line 2",)}
    assert found.rows == 2
    short = read_scores(write(tmp_path, "score,failed\n1\n2,0\n"))
    assert list(remarks(short).values()) == [("line 2",)]
    assert len(short) == 1


def test_several_scores_and_groups(tmp_path: Path) -> None:
    text = "p,q,y,node\n1,0,1,n2\n2,1,0,n1\n3,,0,n1\n4,4,1,\n"
    found = read_scores(write(tmp_path, text), ("p", "q"), "y", "node")
    assert {name: value.tolist() for name, value in found.scores.items()} == {
        "p": [1, 2, 4], "q": [0, 1, 4]
    }  # fmt: skip
    assert found.group is not None
    assert found.group.tolist() == [2, 1, 0]  # by name; the blank one first
    assert found.group_name == "node"
    assert remarks(found) == {"blank_q": ("line 4",)}


def test_a_column_called_group_is_taken_unasked(tmp_path: Path) -> None:
    found = read_scores(write(tmp_path, "score,failed,group\n1,1,7\n2,0,10\n3,0,7\n"))
    assert found.group is not None
    assert found.group[0] == found.group[2] != found.group[1]


def test_packed_and_parquet(tmp_path: Path) -> None:
    text = "score,failed,group\n0.25,1,a\n0.5,0,b\n"
    plain = read_scores(write(tmp_path, text))
    packed = tmp_path / "scores.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    table = pl.DataFrame({"score": [0.25, 0.5], "failed": [True, False], "group": ["a", "b"]})
    table.write_parquet(tmp_path / "scores.parquet")
    for path in (packed, tmp_path / "scores.parquet"):
        found = read_scores(path)
        assert found.scores["score"].tolist() == plain.scores["score"].tolist()
        assert found.failed.tolist() == plain.failed.tolist()
        assert found.group is not None
        assert found.group.tolist() == [0, 1]


@pytest.mark.parametrize("kind", [pl.Boolean, pl.Int8, pl.Float64, pl.String])
def test_parquet_with_other_types_and_gaps(tmp_path: Path, kind: type[pl.DataType]) -> None:
    truth = pl.Series([1, 0, None]).cast(pl.Boolean).cast(pl.Int8 if kind is pl.String else kind)
    table = pl.DataFrame(
        {"score": pl.Series([1, 2, 3], dtype=pl.Float32), "failed": truth.cast(kind)}
    )
    table.write_parquet(tmp_path / "s.parquet")
    found = read_scores(tmp_path / "s.parquet")
    assert found.failed.tolist() == [True, False]
    assert remarks(found) == {"blank_failed": ("line 3",)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; expected a header with score,failed"),
        ("\n \n", "is empty"),
        ("score,failed", "has a header but no rows"),
        ("score,failed\n\n", "has a header but no rows"),
        ("a,b\n1,2\n", ":1: has no column score, failed; it has 'a', 'b'"),
        ("\nscore;failed\n1;0\n", ":2: has no column"),
        ("score,failed,score\n1,0,1\n", "column score more than once"),
        ("score,failed\n.5,maybe\n,1\n", ":2: failed: 'maybe'; expected 0 or 1"),
        ("score,failed\n,1\n", ":2: score: is empty or nan; expected a number"),
        ("score,failed\nhigh,1\n", ":2: score: 'high'; expected a number"),
    ],
)
def test_what_is_no_table_of_scores_is_said_in_one_line(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(TraceError) as caught:
        read_scores(write(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read"):
        read_scores(tmp_path / "none.csv")
    with pytest.raises(TraceError, match="folder"):
        read_scores(tmp_path)
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TraceError, match="damaged"):
        read_scores(tmp_path / "cut.parquet")
    (tmp_path / "raw.csv").write_bytes(b"score,failed\n\0\1,1\n")
    with pytest.raises(TraceError, match="binary"):
        read_scores(tmp_path / "raw.csv")


def test_strict_stops_at_the_first_row_that_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "score,failed\n1,1\n2,\nx,0\n")
    with pytest.raises(TraceError, match=r":3: failed: is empty"):
        read_scores(path, strict=True)
    assert len(read_scores(path)) == 1
    with pytest.raises(TraceError, match=r":2: has 3 fields"):
        read_scores(write(tmp_path, "score,failed\n1,1,1\n2,0\n"), strict=True)


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False), st.booleans(), st.sampled_from(["a", "b", "", "node 7"])
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, bool, str]]
) -> None:
    path = tmp_path_factory.mktemp("scores") / "s.csv"
    lines = [f"{value!r},{int(failed)},{group}" for value, failed, group in rows]
    path.write_text("score,failed,group\n" + "\n".join(lines) + "\n")
    found = read_scores(path)
    assert found.scores["score"].tolist() == [row[0] for row in rows]
    assert found.failed.tolist() == [row[1] for row in rows]
    names = sorted({row[2] for row in rows})
    assert found.group is not None
    assert [names[k] for k in found.group] == [row[2] for row in rows]
