"""The site's book over restarts: kept, damaged, and where it cannot be written."""

from __future__ import annotations

from pathlib import Path

from forestall.live.serving.kept_book import EVERY, KeptBook
from forestall.site.learning.turnaround.book import CompletionBook


def test_it_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    now = [0.0]
    path = tmp_path / "x.book"
    first = KeptBook(path, told.append, lambda: now[0])
    first.keep()
    assert not path.exists()
    now[0] = EVERY
    first.site.book = _taught()
    first.keep()
    again = KeptBook(path, told.append)
    assert (again.site.ended, again.site.book.now) == (1, 1500)
    assert told == []


def test_a_damaged_one_is_told_and_begun_anew(tmp_path: Path) -> None:
    told: list[str] = []
    path = tmp_path / "x.book"
    path.write_bytes(b"no book")
    kept = KeptBook(path, told.append)
    assert kept.site.ended == 0
    assert "starts over" in told[0]
    kept.keep(now=True)
    assert KeptBook(path, told.append).site.ended == 0
    assert len(told) == 1


def test_what_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    told: list[str] = []
    KeptBook(tmp_path / "none" / "x.book", told.append).keep(now=True)
    assert len(told) == 1
    assert "is not saved" in told[0]


def _taught() -> CompletionBook:
    book = CompletionBook(learn=False)
    book.submit(1, 1000, nodes=1, limit=600)
    book.observe("start", 1, 1000)
    book.observe("end", 1, 1500)
    return book
