"""Polars reads CSV; where it panics, that is one of its errors, and not printed."""

from __future__ import annotations

import os

import polars as pl
import pytest

from forestall.core.files.delimited import csv_frame


class PanicException(BaseException):  # so Polars names it
    """What a panic of Rust is in Python, by its name."""


def test_a_panic_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def panics(*_: object, **__: object) -> None:
        os.write(2, b"\nthread 'main' panicked at src/x.rs:7:9:\nindex out of bounds\n")
        raise PanicException("index out of bounds\nmore")

    monkeypatch.setenv("RUST_BACKTRACE", "1")  # as containers have it
    monkeypatch.setattr(pl, "read_csv", panics)
    with pytest.raises(pl.exceptions.ComputeError, match=r"^index out of bounds$"):
        csv_frame(b"a,b\n")
    assert capfd.readouterr().err == ""


def test_what_is_no_panic_goes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pl, "read_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        csv_frame(b"a,b\n")
