"""The text of sacct as columns: any columns, any separator, and what real files hold."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import TraceError
from forestall.slurm import sacct_text
from forestall.slurm.notes import OddNotes

NAMES = (
    "JobIDRaw",
    "JobID",
    "State",
    "Submit",
    "Start",
    "End",
    "NodeList",
    "JobName",
    "SubmitLine",
)
HEADER = "|".join(NAMES)


def row(job: int, name: str = "a", line: str = "sbatch run.sh", state: str = "COMPLETED") -> str:
    """Return a row of that header."""
    return f"{job}|{job}|{state}|100000|200000|300000|n[1-2]|{name}|{line}"


def read(
    path: Path, text: str | bytes, strict: bool = False
) -> tuple[pl.DataFrame, list[int], dict[str, int]]:
    """Return what a file with this text gives: rows, their lines, remarks by kind."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    notes = OddNotes(strict)
    found = list(sacct_text.pieces(path, notes))
    frames = [piece.frame for piece in found]
    lines = [line for piece in found for line in piece.lines.tolist()]
    return pl.concat(frames), lines, notes.cleaning().counts()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a place for a file."""
    return tmp_path / "sacct.txt"


def test_rows_in_any_order_of_columns(path: Path) -> None:
    """Columns go by name, whatever its case; unknown ones are passed over; the rest is absent."""
    frame, lines, odd = read(path, "end|JobID|Priority|STATE|START\n3|1|9|FAILED|2\n5||8|X|\n")
    assert frame.columns == ["JobID", "State", "Start", "End"]
    assert frame.rows() == [("1", "FAILED", "2", "3"), ("", "X", "", "5")]
    assert lines == [2, 3]
    assert odd == {}


def test_columns_that_others_make_needless(path: Path) -> None:
    frame, _, _ = read(path, HEADER + "\n" + row(1) + "\n")
    assert "Timelimit" not in frame.columns
    assert {"JobIDRaw", "JobID"} <= set(frame.columns)  # the second names tasks and components


def test_a_column_twice(path: Path) -> None:
    frame, _, _ = read(path, "JobID|State|State|Start|End\n1|A|B|2|3\n")
    assert frame.rows() == [("1", "A", "2", "3")]


@pytest.mark.parametrize("bar", [";", "\x1f", "\t", "@@", "¦", ",", "^"])
def test_other_separators(path: Path, bar: str) -> None:
    """They are told from the header."""
    text = "\n".join([HEADER, row(1), row(2)]).replace("|", bar) + "\n"
    frame, lines, odd = read(path, text)
    assert frame["JobIDRaw"].to_list() == ["1", "2"]
    assert frame["NodeList"].to_list() == ["n[1-2]"] * 2
    assert lines == [2, 3]
    assert odd == {}


def test_a_separator_at_the_end_of_each_line(path: Path) -> None:
    """As `--parsable` writes them."""
    frame, _, odd = read(path, f"{HEADER}|\n{row(1)}|\n")
    assert frame["SubmitLine"].to_list() == ["sbatch run.sh"]
    assert odd == {}


def test_line_ends_of_windows_a_mark_and_no_last_newline(path: Path) -> None:
    text = "\ufeff" + "\r\n".join([HEADER, row(1), row(2)])
    frame, _, odd = read(path, text)
    assert frame["SubmitLine"].to_list() == ["sbatch run.sh"] * 2
    assert odd == {"cut_off": 1}


def test_packed(path: Path) -> None:
    path.write_bytes(gzip.compress(f"{HEADER}\n{row(1)}\n".encode()))
    (piece,) = sacct_text.pieces(path, OddNotes())
    assert piece.frame["JobName"].to_list() == ["a"]
    assert piece.source == str(path)


def test_a_separator_in_a_name(path: Path) -> None:
    """The row is put together where only one way gives times, states and a command."""
    text = [HEADER, row(1, "left|right"), row(2, "a||b|", "sbatch x|y"), row(3, line="srun a | b|")]
    frame, lines, odd = read(path, "\n".join(text) + "\n")
    assert frame["JobName"].to_list() == ["left|right", "a||b|", "a"]
    assert frame["SubmitLine"].to_list() == ["sbatch run.sh", "sbatch x|y", "srun a | b|"]
    assert lines == [2, 3, 4]
    assert odd == {"mended": 3}


def test_a_newline_in_a_name(path: Path) -> None:
    text = [HEADER, row(1), row(2, "two\nlines|and a bar"), row(3, "a\n\nb"), row(4)]
    frame, lines, odd = read(path, "\n".join(text) + "\n")
    assert sorted(zip(lines, frame["JobName"].to_list(), strict=True)) == [
        (2, "a"), (3, "two lines|and a bar"), (5, "a  b"), (8, "a")
    ]  # fmt: skip
    assert odd == {"mended": 5}


def test_names_in_the_middle(path: Path) -> None:
    """With all columns of sacct names stand between numbers, which tell where they end."""
    text = "Account|JobID|JobName|NNodes|Comment|Start|End|State\na|1|x|y|2|c|d|5|6|FAILED\n"
    frame, _, odd = read(path, text)
    assert frame.rows() == [("1", "a", "FAILED", "5", "6", "2", "x|y")]
    assert odd == {"mended": 1}


def test_a_text_that_goes_on_below_its_row(path: Path) -> None:
    """With SubmitLine last, the row itself is whole."""
    text = [HEADER, row(1, line="sbatch --wrap=a\nb | c\nd"), row(2)]
    frame, lines, odd = read(path, "\n".join(text) + "\n")
    assert frame["JobIDRaw"].to_list() == ["1", "2"]
    assert lines == [2, 5]
    assert odd == {"tail": 2}


def test_cut_off_in_the_last_line(path: Path) -> None:
    text = f"{HEADER}\n{row(1)}\n{row(2)[:20]}"
    frame, _, odd = read(path, text)
    assert frame["JobIDRaw"].to_list() == ["1"]
    assert odd == {"malformed": 1, "cut_off": 1}
    with pytest.raises(TraceError, match=r"sacct\.txt:3: has a wrong number of fields"):
        read(path, text, strict=True)


def test_one_row_too_long_and_one_too_short(path: Path) -> None:
    """As many separators as there should be, in the wrong rows."""
    short = "|".join(row(2).split("|")[:-1])
    frame, _, odd = read(path, "\n".join([HEADER, row(1, "x|y"), short, row(3)]) + "\n")
    assert frame["JobIDRaw"].to_list() == ["3", "1"]
    assert odd == {"mended": 1, "malformed": 1}


def test_files_put_together(path: Path) -> None:
    """Headers may come again, with other columns too."""
    text = [HEADER, row(1), HEADER, row(2), "State;JobIDRaw;Start;End", "FAILED;3;4;5"]
    path.write_text("\n".join(text) + "\n")
    notes = OddNotes()
    found = list(sacct_text.pieces(path, notes))
    assert [piece.frame["JobIDRaw"].to_list() for piece in found] == [["1", "2"], ["3"]]
    assert [piece.lines.tolist() for piece in found] == [[2, 4], [6]]
    assert notes.cleaning().counts() == {}


def test_steps_are_passed_over(path: Path) -> None:
    steps = [row(1).replace("1|1", f"1{s}|1{s}", 1) for s in (".batch", ".extern", ".0")]
    frame, lines, odd = read(path, "\n".join([HEADER, row(1), *steps, row(2)]) + "\n", strict=True)
    assert frame["JobIDRaw"].to_list() == ["1", "2"]
    assert lines == [2, 6]
    assert odd == {"step": 3}


def test_what_is_no_text(path: Path) -> None:
    """NUL bytes are taken out, wrong UTF-8 becomes a sign for it; both are named."""
    text = f"{HEADER}\n{row(1, 'a#b')}\n{row(2, 'gr?n')}\n{row(3)}\n".encode()
    frame, lines, odd = read(path, text.replace(b"#", b"\0\0").replace(b"?", b"\xfc"))
    assert frame["JobName"].to_list() == ["ab", "gr\ufffdn", "a"]
    assert lines == [2, 3, 4]
    assert odd == {"nul": 1, "encoding": 1}


def test_messages_before_the_header(path: Path) -> None:
    """As with `2>&1`."""
    frame, lines, odd = read(path, f"sacct: warning: slow\n\n{HEADER}\n{row(1)}\n")
    assert frame["JobIDRaw"].to_list() == ["1"]
    assert lines == [4]
    assert odd == {"before_header": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty; expected the output of sacct"),
        ("\n\n", "is empty"),
        (row(1) + "\n", "has no header with JobID and State"),
        ("JobID           State      Start      End\n----  ----\n1 A 2 3\n", "separated by blanks"),
        ("JobID|State|Submit\n1|A|3\n", "has no column Start"),
        ("a text\n" * 300, "has no header"),
        ("a text\n", "has no header"),
    ],
)
def test_what_is_not_from_sacct(path: Path, text: str, said: str) -> None:
    with pytest.raises(TraceError, match=said) as raised:
        read(path, text)
    assert "\n" not in str(raised.value)


def test_pieces_cut_anywhere(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file is cut into pieces makes no difference, nor to what lines are named."""
    text = [HEADER, *(row(k, "two\nlines" if k % 7 == 0 else f"n{k}") for k in range(60)), "1|x"]
    whole = read(path, "\n".join(text) + "\n")
    for size in (150, 1000):
        monkeypatch.setattr(sacct_text, "CHUNK", size)
        frame, lines, odd = read(path, "\n".join(text) + "\n")
        ours = dict(zip(lines, frame.rows(), strict=True))
        theirs = dict(zip(whole[1], whole[0].rows(), strict=True))
        # A row whose lines fall into two pieces is left out and named.
        assert all(theirs[line] == fields for line, fields in ours.items())
        assert len(theirs) - len(ours) <= odd.get("malformed", 0)


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="|\n\r\0\ufeff"), max_size=12)
ANY = st.text(st.sampled_from("ab |\n/.-x1"), max_size=12)


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=20))
def test_whatever_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    rows = [row(k, name, line) for k, (name, line) in enumerate(texts)]
    place = tmp_path_factory.mktemp("text") / "s.txt"
    frame, lines, _ = read(place, "\n".join([HEADER, *rows]) + "\n")
    assert frame.select("JobName", "SubmitLine").rows() == texts
    assert lines == list(range(2, len(texts) + 2))


@given(st.lists(st.tuples(ANY, ANY), min_size=1, max_size=12))
def test_broken_rows_never_stop_it(
    tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]
) -> None:
    """Each job is found once, or its line is named."""
    rows = [row(k, name, f"sbatch {line}") for k, (name, line) in enumerate(texts)]
    place = tmp_path_factory.mktemp("text") / "s.txt"
    frame, _, odd = read(place, "\n".join([HEADER, *rows, row(99)]) + "\n")
    ids = frame["JobIDRaw"].to_list()
    assert "99" in ids
    assert len(ids) == len(set(ids))
    assert set(ids) <= {str(k) for k in (*range(len(texts)), 99)}
    if not any("\n" in name for name, _ in texts):
        assert len(ids) == len(texts) + 1
        assert "malformed" not in odd
