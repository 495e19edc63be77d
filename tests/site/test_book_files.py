"""Books to files and back: they go on as if they had never stopped; damaged ones are refused."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import forestall as fs
from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.model.errors import ParameterError, TraceError
from forestall.site.book_files import VERSION, WHAT, load_book, save_book


def told(book: fs.CompletionBook, first: int, count: int) -> list[int]:
    """Tell a book of jobs, and return the deadlines that it promised."""
    deadlines = []
    for k in range(first, first + count):
        at, name = 300 * k, f"job {k}"
        book.submit(name, at, nodes=1 + k % 3, limit=3600, user=f"u{k % 4}", name="fold")
        deadlines.append(book.quote(name, probability=0.8).deadline)
        if k % 50 == 49:
            book.observe("cancel", name, at + 1)
            continue
        book.observe("start", name, at + k % 11)
        book.observe("end", name, at + k % 11 + 60 * (1 + k % 4))
    return deadlines


@pytest.fixture(scope="module")
def book() -> fs.CompletionBook:
    made = fs.CompletionBook({"warm": 20.0})
    told(made, 0, 700)
    return made


def test_it_goes_on_as_if_it_had_never_stopped(tmp_path: Path, book: fs.CompletionBook) -> None:
    save_book(book, tmp_path / "book")
    save_book(load_book(tmp_path / "book"), tmp_path / "again")
    assert (tmp_path / "book").read_bytes() == (tmp_path / "again").read_bytes()
    other, whole = load_book(tmp_path / "again"), fs.CompletionBook({"warm": 20.0})
    told(whole, 0, 700)
    assert len(other) == 700
    assert told(other, 700, 60) == told(whole, 700, 60)
    other.submit("one", 10**6, nodes=2, user="u1")
    assert other.quote("one", probability=0.5).learned_jobs == 500


def test_a_book_of_like_jobs_alone(tmp_path: Path) -> None:
    plain = fs.CompletionBook(learn=False)
    told(plain, 0, 30)
    save_book(plain, tmp_path / "book")
    assert told(load_book(tmp_path / "book"), 30, 5) == told(plain, 30, 5)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="a CompletionBook"):
        save_book("book", tmp_path / "p")  # type: ignore[arg-type]
    odd = fs.CompletionBook()
    odd.submit(("a", 1), 0, nodes=1)
    with pytest.raises(ParameterError, match="a text or a whole number"):
        save_book(odd, tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def refused(path: Path) -> str:
    """Return what is said of a file that is no book: one line."""
    with pytest.raises(TraceError) as error:
        load_book(path)
    text = str(error.value)
    assert "\n" not in text
    return text


def test_damaged_files_are_refused(tmp_path: Path, book: fs.CompletionBook) -> None:
    path = tmp_path / "book"
    save_book(book, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(1)
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert "damaged" in refused(path)
    for _ in range(30):  # a byte of what is packed is changed
        at = int(rng.integers(200, len(whole) // 2))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        with suppress(TraceError):  # where it is a date, nothing is lost
            load_book(path)
    assert "cannot be read" in refused(tmp_path / "none")
    write_bundle(path, "forestall predictor", 1, {}, {})
    assert "but a forestall predictor" in refused(path)
    write_bundle(path, WHAT, VERSION + 1, {}, {})
    assert "version" in refused(path)


def test_every_value_and_array_is_needed(tmp_path: Path, book: fs.CompletionBook) -> None:
    path = tmp_path / "book"
    save_book(book, path)
    values, arrays = read_bundle(path, WHAT, VERSION)
    for name in values:
        write_bundle(path, WHAT, VERSION, {k: v for k, v in values.items() if k != name}, arrays)
        assert "is a damaged" in refused(path), name
    for name in ("jobs", "near", "desk", "told", "learner.rows", "learner.watch.queue"):
        write_bundle(path, WHAT, VERSION, values, {k: v for k, v in arrays.items() if k != name})
        assert "is a damaged" in refused(path), name


@pytest.mark.parametrize(
    ("name", "field", "wrong"),
    [("jobs", "user", 10**9), ("jobs", "keys", -5), ("desk", "open", 10**9), ("near", "held", 99)],
)
def test_places_outside_are_refused(
    tmp_path: Path, book: fs.CompletionBook, name: str, field: str, wrong: int
) -> None:
    path = tmp_path / "book"
    save_book(book, path)
    values, arrays = read_bundle(path, WHAT, VERSION)
    arrays[name][field][0] = wrong
    write_bundle(path, WHAT, VERSION, values, arrays)
    assert "points outside" in refused(path)


def test_a_book_from_before_waits_were_learned_goes_on(tmp_path: Path) -> None:
    """The file was written by the code before: 40 jobs, of which ten have ended. It promised these
    deadlines."""
    book = load_book(Path(__file__).parent / "kept" / "before-waits.book")
    found = book.ask(
        book.now + 5, nodes=2, limit=3600, user="u1", partition="p", probabilities=[0.1, 0.5, 0.9]
    )
    assert [quote.deadline for quote in found] == [1004296, 1005129, 1006463]
    with pytest.raises(ParameterError, match="waits for its first start, in a book that learns"):
        book.wait(28)
    book.submit("new", book.now + 10, nodes=1, user="u1")
    law = book.wait("new").law
    assert law[-1] > law[0]
    save_book(book, tmp_path / "book")
    assert load_book(tmp_path / "book").wait("new").law.tolist() == law.tolist()


def test_a_job_that_waits_again_is_no_question_of_waits() -> None:
    book = fs.CompletionBook()
    book.submit("job", 0, nodes=1, user="u1")
    assert book.wait("job", 5).chance_within(10**9) > 0.9
    book.observe("start", "job", 10)
    book.observe("fail", "job", 20)
    with pytest.raises(ParameterError, match="first start"):
        book.wait("job", 30)
