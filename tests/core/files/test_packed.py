"""Packed files: told apart by their bytes, cut at lines, and errors of one line."""

from __future__ import annotations

import gzip
import lzma
import sys
import tracemalloc
from itertools import count
from pathlib import Path

import pytest

from forestall.core.files import budget, packed
from forestall.core.files.findings import SpoiltLines
from forestall.core.files.packed import HEAD, chunks_of_lines, pack, read_bytes, read_head, text_of
from forestall.core.files.tokens import filled_lines, single_spaced
from forestall.core.model.errors import InputError, MemoryLimitError, MissingExtraError, TraceError
from forestall.logs.jobs.swf import read_swf_file

TEXT = b"one\n\n  two \t three\r\nfour \xff\n" * 50 + b"no end"
AS_READ = TEXT.replace(b"\r\n", b"\n").decode(errors="replace").encode()


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_pieces_are_whole_lines(tmp_path: Path, suffix: str, size: int) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / "misnamed.txt"  # known by its bytes
    pack(path, TEXT, suffix)
    pieces = list(chunks_of_lines(path, size))
    assert b"".join(pieces) == AS_READ + b"\n"
    assert all(piece.endswith(b"\n") for piece in pieces)
    if suffix:
        path.write_bytes(path.read_bytes() * 2)  # frames one after the other
        assert read_bytes(path) == AS_READ + AS_READ + b"\n"


def test_packing_is_reproducible(tmp_path: Path) -> None:
    for suffix in (".gz", ".xz"):
        pack(tmp_path / "a", TEXT, suffix)
        pack(tmp_path / "b", TEXT, suffix)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_zstandard_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd rest")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'forestall\[archive\]'"):
        read_bytes(path)


@pytest.mark.parametrize("suffix", ["gz", "xz", "zst"])
def test_damaged_files(tmp_path: Path, suffix: str) -> None:
    if suffix == "zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"a.{suffix}"
    pack(path, TEXT * 100, f".{suffix}")
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:12] + bytes([whole[12] ^ 255]) + whole[13:]):
        path.write_bytes(broken)
        with pytest.raises(InputError) as caught:
            read_bytes(path)
        assert str(caught.value).startswith(f"{path}: is ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_text_that_is_no_utf8_is_replaced_and_told(tmp_path: Path, size: int) -> None:
    path = tmp_path / "log"
    path.write_bytes(TEXT + b"\n\xe9\xff\n")
    told = SpoiltLines()
    read = b"".join(chunks_of_lines(path, size, noted=told.note))
    assert read == AS_READ + text_of(b"\n\xe9\xff\n").encode()
    assert told == {"encoding": [*range(4, 201, 4), 202]}
    assert text_of(b"caf\xe9").encode() == "caf\ufffd".encode()


def test_words() -> None:
    text = b"  a \t b\r\n \n\nc   d \n"
    assert single_spaced(text) == b"a b\nc d\n"
    assert filled_lines(text) == [0, 3]
    assert single_spaced(b"") == b""


def test_a_log_of_many_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = "{} {} -1 1 1 -1 -1 1 1 -1 1 1 1 -1 1 -1 -1 -1\n"
    lines = [row.format(k, k) if k % 7 else f"; {k}\n" for k in range(1, 300)]
    lines[100] = "broken\n"
    path = tmp_path / "a.swf"
    path.write_text("".join(lines))
    whole = read_swf_file(path)
    pieces = chunks_of_lines(path, 200)
    monkeypatch.setattr("forestall.logs.jobs.swf.chunks_of_lines", lambda _, noted: pieces)
    again = read_swf_file(path)
    assert again.line.tolist() == whole.line.tolist()
    assert again.comments == whole.comments
    assert again.cleaning == whole.cleaning
    assert whole.cleaning.remarks[0].names == ("line 101",)


def test_gzip_and_xz_inside_out(tmp_path: Path) -> None:
    """A file packed twice is binary once unpacked."""
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(lzma.compress(TEXT)))
    with pytest.raises(InputError, match="is a binary file"):
        read_bytes(path)


def bomb(path: Path, suffix: str, unit: bytes, size: int) -> Path:
    """Write a packed file of so many bytes, all alike."""
    pack(path, unit * (size // len(unit)), suffix)
    return path


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_little_is_unpacked_at_a_time(tmp_path: Path, suffix: str) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = bomb(tmp_path / "a", suffix, b"a", 300 << 20)
    tracemalloc.start()
    try:
        assert read_head(path, 1000) == b"a" * 1000
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_what_unpacks_to_far_too_much_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = bomb(tmp_path / "a", suffix, b"one line\n", 9 << 20)
    assert len(read_bytes(path)) == 9 << 20  # as large as that may be, whatever the ratio
    monkeypatch.setattr(packed, "FREE_OF_RATIO", 1 << 20)
    with pytest.raises(TraceError, match=r"more than 500 times its size; .* unpack it first"):
        read_bytes(path)


def test_a_window_that_is_too_large_is_told_apart_from_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.xz"
    pack(path, TEXT, ".xz")
    monkeypatch.setattr(budget, "left", lambda: 1000)
    with pytest.raises(TraceError, match="needs too much memory; unpack it first: unpacking"):
        list(chunks_of_lines(path))


def test_a_frame_may_not_ask_for_a_window_of_gigabytes(tmp_path: Path) -> None:
    for power, fits in ((27, True), (28, False), (31, False)):
        head = bytes([0x28, 0xB5, 0x2F, 0xFD, 0, (power - 10) << 3])
        (tmp_path / "a.zst").write_bytes(head + ((3 << 3) | 1).to_bytes(3, "little") + b"a b")
        if fits:
            assert read_bytes(tmp_path / "a.zst") == b"a b\n"
            continue
        with pytest.raises(TraceError, match="needs too much memory; unpack it first"):
            read_bytes(tmp_path / "a.zst")


def test_a_text_that_would_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT * 100)
    monkeypatch.setattr(budget, "left", lambda: len(TEXT) * 399)
    with pytest.raises(MemoryLimitError, match=rf"^{path}: its text, held as a whole, would take"):
        read_bytes(path)
    assert b"".join(chunks_of_lines(path)) == AS_READ * 100 + b"\n"


@pytest.mark.parametrize(("grows", "told"), [(700, "1.00 kB"), (60, None)])
def test_what_is_made_of_a_text_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grows: int, told: str | None
) -> None:
    """A reader that takes so many bytes for each piece; what all will take is told from those."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"abc\n" * 5 * HEAD)
    taken = count(0, grows)
    monkeypatch.setattr(budget, "left", lambda: 1000)
    monkeypatch.setattr(budget, "held", lambda: next(taken))
    if told is None:
        assert sum(map(len, chunks_of_lines(path, 2 * HEAD))) == 20 * HEAD
    else:
        with pytest.raises(MemoryLimitError, match=rf"reading it would take .* and {told} may be"):
            list(chunks_of_lines(path, 2 * HEAD))


def test_zeros_between_streams_of_xz(tmp_path: Path) -> None:
    path = tmp_path / "a.xz"
    one = lzma.compress(TEXT)
    path.write_bytes(one + b"\0" * 8 + one + b"\0" * 4)
    assert read_bytes(path) == AS_READ + AS_READ + b"\n"
    path.write_bytes(one + b"rest")
    with pytest.raises(TraceError, match="is damaged"):
        read_bytes(path)
