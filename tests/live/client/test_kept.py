"""Rows and ids of the quotes that a user was shown last."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from forestall.core.model.errors import InputError
from forestall.live.client.kept import MOST, KeptQuotes

QUESTION = {"nodes": 16, "time": 21_600}


def offers(*ids: str) -> list[dict[str, str]]:
    return [{"id": one} for one in ids]


def test_rows_are_those_of_the_last_list_of_a_server(tmp_path: Path) -> None:
    kept = KeptQuotes(tmp_path / "new")
    assert kept.keep("one", QUESTION, offers("a1", "a2")) == ""
    kept.keep("two", {"nodes": 4, "time": 60}, offers("b1"))
    assert kept.find("one", "2").id == "a2"
    assert kept.find("two", "1").id == "b1"
    kept.keep("one", QUESTION, offers("c1"))
    assert kept.find("one", "1").id == "c1"
    assert kept.find("one", "a2").question == QUESTION  # an older list, by its id
    assert kept.find("two", "a2").question is None
    assert kept.find("one", "feed").question is None
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("named", "said"),
    [("3", "the last list has 2"), ("0", "has 2"), ("../x", "neither"), ("", "neither")],
)
def test_what_is_no_offer(named: str, said: str, tmp_path: Path) -> None:
    kept = KeptQuotes(tmp_path)
    with pytest.raises(InputError, match="no list has been shown"):
        kept.find("one", "1")
    kept.keep("one", QUESTION, offers("a1", "a2"))
    with pytest.raises(InputError, match=said):
        kept.find("one", named)


def test_a_long_number_is_an_id(tmp_path: Path) -> None:
    assert KeptQuotes(tmp_path).find("one", "1234567890123456").id == "1234567890123456"


def test_only_the_last_lists_are_kept(tmp_path: Path) -> None:
    kept = KeptQuotes(tmp_path)
    for number in range(MOST + 5):
        kept.keep("one", QUESTION, offers(f"o{number}"))
    assert kept.find("one", "o4").question is None
    assert kept.find("one", "o5").question == QUESTION


@pytest.mark.parametrize("text", ["", "{", "[]", '{"quotes": 3}', '{"quotes": [1, {"server": 2}]}'])
def test_a_broken_file_holds_nothing_and_is_replaced(text: str, tmp_path: Path) -> None:
    kept = KeptQuotes(tmp_path)
    kept.path.write_text(text)
    assert kept.find("one", "abc").question is None
    assert kept.keep("one", QUESTION, offers("a1")) == ""
    assert kept.find("one", "1").id == "a1"


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = KeptQuotes(tmp_path / "file").keep("one", QUESTION, offers("a1"))
    assert "cannot be used later" in said


def test_the_cache_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert KeptQuotes().path == tmp_path / "forestall" / "quotes.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert KeptQuotes().path == tmp_path / ".cache" / "forestall" / "quotes.json"
