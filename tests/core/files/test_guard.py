"""Whatever a library raises while a file is read is one line that names the file."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.files.delimited import csv_frame
from forestall.core.files.documents import MOST_DEEP, _looks_shallow, json_of, read_toml
from forestall.core.files.guard import quiet, reader, reading, within
from forestall.core.model.errors import ParameterError, TraceError


class PanicException(BaseException):
    """As Rust's panics look in Python."""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), r"^log: cannot be read: it is damaged \(KeyError: 'x'\)$"),
        (PanicException("called `Option::unwrap()`\nmore"), "PanicException: called"),
        (RecursionError(), "is nested too deep"),
        (MemoryError(), "needs more memory than there is"),
        (OverflowError("too large"), "OverflowError: too large"),
        (ValueError(), r"\(ValueError\)"),
    ],
)
def test_what_is_raised_names_the_file(error: BaseException, said: str) -> None:
    @reader
    def read(path: Path) -> None:
        raise error

    with pytest.raises(TraceError, match=said) as caught:
        read(Path("log"))
    assert caught.value.__cause__ is error
    with pytest.raises(TraceError, match="log: "):
        read(path=Path("log"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, BrokenPipeError, GeneratorExit])
def test_what_is_no_matter_of_the_file_passes(error: type[BaseException]) -> None:
    with pytest.raises(error), reading("log"):
        raise error


def test_errors_of_ours_pass() -> None:
    with pytest.raises(ParameterError), reading("log"):
        raise ParameterError("nodes", 0, "more")
    with pytest.raises(TraceError, match="log: nodes: 0 is not allowed"), within("log"):
        raise ParameterError("nodes", 0, "more")


def test_json_of_any_depth_and_with_any_text(tmp_path: Path) -> None:
    assert json_of('{"a": [1, "\\u00e9\\ud83d\\ude00"]}') == {"a": [1, "é\U0001f600"]}
    assert json_of('["\\ud800x"]') == ["?x"]
    assert json_of(b'["\\udfff", "\\\\u"]') == ["?", "\\u"]
    for depth in (MOST_DEEP + 1, 1_000, 100_000):
        with pytest.raises(ValueError, match="is nested too deep"):
            json_of("[" * depth + "]" * depth)
    assert json_of("[" * 50 + "]" * 50)
    assert json_of(f"[{2**64 - 1}, {-(2**63)}]") == [2**64 - 1, -(2**63)]
    for large in (2**64, -(2**63) - 1, 10**400):
        with pytest.raises(ValueError, match="more than 64 bits"):
            json_of(f'{{"a": [{large}]}}')
    path = tmp_path / "a.toml"
    deep, large = "[" * 200 + "]" * 300, "9" * 5000
    for text in (f"a = {deep}", f"a = {large}", f"a = {2**64}", "a = ", "a = '\\ud800'\nb"):
        path.write_text(text)
        with pytest.raises(TraceError, match=r"a\.toml: is not TOML"):
            read_toml(path)
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(TraceError, match=r"a\.toml:1: is not UTF-8"):
        read_toml(path)


HELD = st.sampled_from([1, 2**63, 2**64, -(2**63) - 1, 1.5, None, "[", "]}", "a\\", '"', "\u00e9"])
ANY = st.recursive(
    HELD, lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from("ab[{"), one)
)


@given(value=ANY, around=st.sampled_from((0, 1, 50, 90, 97, 98, 99, 100)), kinds=st.integers(0, 3))
def test_a_text_that_looks_shallow_is(value: object, around: int, kinds: int) -> None:
    for k in range(around):
        value = [value] if (k & kinds) else {"a": value}
    text = json.dumps(value)
    try:
        json_of(text)  # every value of a str is looked at
        sound = True
    except ValueError:
        sound = False
    for raw in (
        text.encode(),
        json.dumps(value, ensure_ascii=False).encode(),
        text.encode("utf-16"),
    ):
        assert sound or not _looks_shallow(raw)


def test_an_ordinary_text_looks_shallow() -> None:
    rows = [[1_700_000_000 + k, f"{k}"] for k in range(9)]
    assert _looks_shallow(json.dumps({"data": {"result": [{"values": rows}]}}).encode())
    assert not _looks_shallow(b'["[", 1]')


def _panics(text: str) -> None:
    with quiet(), quiet():
        os.write(2, text.encode())
        raise PanicException("x")


TOLD = """
thread 'async-executor-1' (7) panicked at crates/x.rs:3:9:
assertion `left == right` failed
  left: 500
 right: 502
stack backtrace:
   0: rust_begin_unwind
             at a.rs:1
note: Some details are omitted
note: run with it
thread 'main' panicked at y.rs:1:1:
unwrap on None
"""


def test_what_rust_prints_of_a_panic_is_kept_back(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PanicException):
        _panics(f"before\n{TOLD}after\n")
    assert capfd.readouterr().err == "before\nafter\n"
    _said(TOLD)  # nothing was raised: it is somebody's matter
    assert capfd.readouterr().err == TOLD
    os.write(2, b"still there\n")
    assert capfd.readouterr().err == "still there\n"


def test_a_second_thread_is_not_held_up(capfd: pytest.CaptureFixture[str]) -> None:
    with quiet():
        other = threading.Thread(target=lambda: _said("other\n"))
        other.start()
        other.join(20)
        assert not other.is_alive()
    assert capfd.readouterr().err == "other\n"


def _said(text: str) -> None:
    with quiet():
        os.write(2, text.encode())


def test_what_was_kept_back_is_logged(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(PanicException):
        _panics(TOLD)
    assert capfd.readouterr().err == ""
    assert ["panicked" in one.message for one in caplog.records] == [True, True]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a file is needed")
def test_files_are_read_where_nothing_may_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise FileNotFoundError("No usable temporary directory")

    monkeypatch.setattr(tempfile, "TemporaryFile", none)
    assert csv_frame(b"a\n1\n").rows() == [(1,)]
