"""What a user gets, in a plain form that is equal where nothing that matters has changed.

Kept out of it: where things lie, versions, the last bits of floating-point numbers, the order of
keys in JSON, and pictures.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import forestall as fs

DIGITS = 9
"""Of numbers."""
PICTURES = {".png", ".svg", ".pdf"}
_LONG = re.compile(r"(?<![\w.])\d+\.\d+(?:[eE][-+]?\d+)?(?![\w.])")
_PICTURE = re.compile(r"data:[\w/+.-]+(?:;[\w=-]+)*,[^\"')\s]+")
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_VERSION = re.compile(
    r"(?i)\b(forestall|python|numpy|numba|polars|scipy|matplotlib|scikit-learn)"
    r"([\"']: [\"']| v?|==)\d+\.\d+[\w.+]*"
)
_INLINE = {"a", "abbr", "b", "code", "em", "i", "small", "span", "strong", "sub", "sup", "tt", "u"}
_UNTOLD = {"script", "style", "svg"}


def plain_text(text: str, root: Path) -> str:
    """Return text without places, versions and the last bits of numbers."""
    for place, name in ((root.resolve(), "<root>"), (root, "<root>"), (sys.executable, "<python>")):
        text = text.replace(str(place), name)
    text = text.replace(f"forestall {fs.__version__}", "forestall <version>")
    text = _VERSION.sub(r"\1\2<version>", text)
    return _LONG.sub(_rounded, text)


def _rounded(found: re.Match[str]) -> str:
    """Return a number of many digits with fewer; a short one stays as it was written."""
    said = found[0]
    if len(re.sub(r"^0\.0*|[eE].*|\.", "", said)) <= DIGITS:
        return said
    short = f"{float(said):.{DIGITS}g}"
    return short if "." in short or "e" in short else f"{short}.0"


def plain_json(text: str) -> str:
    """Return JSON with its keys in order; raises ValueError where it is none."""
    return json.dumps(json.loads(text), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def _plain_line(line: str) -> str:
    """Return a line of JSON, without the check sum that may stand before it: it has all digits."""
    return plain_json(re.sub(r"^[0-9a-f]{8} (?=\{)", "", line))


def plain_output(text: str) -> str:
    """Return what a command printed: JSON with its keys in order, text as it stands."""
    if text.startswith(("{", "[")):
        try:
            return plain_json(text)
        except ValueError:
            pass
    return text


def plain_file(path: Path, root: Path) -> dict[str, str]:
    """Return the plain contents of a file by the ending of their names; a page has two."""
    suffix, data = path.suffix, path.read_bytes()
    if suffix == ".gz":
        suffix, data = Path(path.stem).suffix, gzip.decompress(data)
    if suffix in PICTURES:
        return {"": "a picture\n"}
    if path.name == "manifest.json":  # its checksums are of what is kept out of the others
        return {"": "".join(f"{name}\n" for name in json.loads(data)["files"])}
    if suffix == ".parquet":
        return {"": plain_text("".join(_table_lines(pl.read_parquet(path))), root)}
    if zipfile.is_zipfile(path):
        return {"": plain_text("".join(_array_lines(path)), root)}
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"": data.hex()}
    if suffix == ".html":
        markup = _DRAWING.sub("<picture>", _PICTURE.sub("data:<picture>", text))
        markup = plain_text(markup, root)
        return {"#all": markup, "#told": "\n".join(told(markup)) + "\n"}
    if suffix == ".jsonl":
        text = "".join(_plain_line(line) for line in text.splitlines())
    elif suffix == ".json":
        text = plain_json(text)
    return {"": plain_text(text, root)}


def _table_lines(table: pl.DataFrame) -> Iterator[str]:
    yield json.dumps({name: str(kind) for name, kind in table.schema.items()}) + "\n"
    for row in table.iter_rows():
        yield json.dumps(row, default=str) + "\n"


def _array_lines(path: Path) -> Iterator[str]:
    with np.load(path, allow_pickle=False) as arrays:
        for name in sorted(arrays.files):
            values = arrays[name]
            if isinstance(values, bytes):  # an entry beside the arrays
                yield f"{name}\n{_value(values)}\n"
                continue
            yield f"{name} {values.dtype} {values.shape}\n"
            yield from (f"{_value(one)}\n" for one in values.ravel().tolist())


def _value(one: Any) -> str:
    """Return an entry of an array; bytes and text that are JSON with their keys in order."""
    if isinstance(one, bytes):
        one = one.decode("utf-8", "backslashreplace")
    return plain_output(one) if isinstance(one, str) else json.dumps(one, default=str)


def told(page: str) -> list[str]:
    """Return the words that a reader of a page sees, in order."""
    reader = _Reader()
    reader.feed(page)
    return "".join(reader.parts).split()


class _Reader(HTMLParser):
    """Takes the text of a page; tags within a sentence do not part its words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in _UNTOLD
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _UNTOLD
        if tag not in _INLINE:
            self.parts.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
