"""One file with values and arrays: round trips, the same bytes, and what is refused."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from forestall.core.files.bundle import read_bundle, write_bundle
from forestall.core.model.errors import TraceError

WHAT = "forestall test"


def written(path: Path) -> Path:
    arrays = {"a": np.arange(5), "b": np.array([[0.1, np.nan]]), "empty": np.empty(0, np.int8)}
    write_bundle(path, WHAT, 2, {"x": [1, None], "y": {"z": "ä"}}, arrays)
    return path


def test_a_round_trip(tmp_path: Path) -> None:
    values, arrays = read_bundle(written(tmp_path / "one"), WHAT, 2)
    assert values == {"x": [1, None], "y": {"z": "ä"}}
    np.testing.assert_array_equal(arrays["a"], np.arange(5))
    np.testing.assert_array_equal(arrays["b"], [[0.1, np.nan]])
    assert arrays["empty"].dtype == np.int8
    assert len(arrays["empty"]) == 0


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    assert written(tmp_path / "one").read_bytes() == written(tmp_path / "two").read_bytes()


def test_an_earlier_version_is_read(tmp_path: Path) -> None:
    assert read_bundle(written(tmp_path / "one"), WHAT, 3)[0]["x"] == [1, None]


@pytest.mark.parametrize(
    ("what", "version", "message"),
    [
        ("sheet of music", 2, "not a sheet of music but a forestall test"),
        (WHAT, 1, "has version 2"),
    ],
)
def test_other_content_is_refused(tmp_path: Path, what: str, version: int, message: str) -> None:
    with pytest.raises(TraceError, match=message):
        read_bundle(written(tmp_path / "one"), what, version)


def test_what_is_no_bundle(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("hello")
    with pytest.raises(TraceError, match="not a forestall test"):
        read_bundle(path, WHAT, 1)
    with pytest.raises(TraceError, match="cannot be read"):
        read_bundle(tmp_path / "missing", WHAT, 1)


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    whole = written(tmp_path / "one").read_bytes()
    path = tmp_path / "cut"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(TraceError):
            read_bundle(path, WHAT, 2)


def test_flipped_bytes_are_refused_or_harmless(tmp_path: Path) -> None:
    whole = bytearray(written(tmp_path / "one").read_bytes())
    path = tmp_path / "bent"
    refused = 0
    for place in range(0, len(whole), 11):
        bent = bytearray(whole)
        bent[place] ^= 0x55
        path.write_bytes(bytes(bent))
        try:
            read_bundle(path, WHAT, 2)
        except TraceError:
            refused += 1
    assert refused > len(whole) // 11 // 2


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    """An array of objects would be unpickled by a careless reader."""
    path = tmp_path / "bad"
    with zipfile.ZipFile(path, "w") as archive:
        head = {"format": WHAT, "version": 1, "values": {}}
        archive.writestr("header.json", json.dumps(head))
        with archive.open("evil.npy", "w") as file:
            np.lib.format.write_array(file, np.array([Path], dtype=object), allow_pickle=True)
    assert pickle.dumps(Path)[-20:-2] in path.read_bytes()
    with pytest.raises(TraceError, match="damaged"):
        read_bundle(path, WHAT, 1)


def test_nothing_is_left_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        written(tmp_path / "no" / "such" / "folder")
    assert list(tmp_path.iterdir()) == []


def test_what_unpacks_to_far_more_than_it_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    write_bundle(path, WHAT, 1, {}, {"a": np.zeros(16 << 20)})
    with pytest.raises(TraceError, match="unpacks to more than 100 times its size"):
        read_bundle(path, WHAT, 1)
    write_bundle(path, WHAT, 1, {}, {"a": np.zeros(1 << 20)})  # 8 MB are no matter
    assert not read_bundle(path, WHAT, 1)[1]["a"].any()
