"""What the plain form keeps, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import forestall as fs
from golden.draw import draw
from golden.plain import plain_file, plain_output, plain_text, told

ROOT = Path("/somewhere/deep")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("0.46687745696266420", "0.466877457"),
        ("0.46687745596266420", "0.466877456"),
        ("1.9999999999999998,2.0", "2.0,2.0"),
        ("0.40 of 1,234.5", "0.40 of 1,234.5"),
        ("-1234567.8901234e-05", "-12.3456789"),
        (f"forestall {fs.__version__}", "forestall <version>"),
        ('"numpy": "2.4.6"', '"numpy": "<version>"'),
        ("Written: /somewhere/deep/run", "Written: <root>/run"),
    ],
)
def test_text(text: str, plain: str) -> None:
    assert plain_text(text, ROOT) == plain


def test_json_in_any_order_is_the_same() -> None:
    assert plain_output('{"b": 1, "a": [2]}') == plain_output('{"a":[2],"b":1}')
    assert plain_output('{"b": 1, "a": [2]}') != plain_output('{"a":[2],"b":2}')
    assert plain_output("[not JSON") == "[not JSON"


def test_a_page_is_kept_as_markup_and_as_what_it_tells(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<style>b {}</style><p>Kept: <b>9</b>, lost: 1</p><td>a</td><td>b</td>"
        '<img src="data:image/png;base64,AAAA"><svg><text>x</text></svg>'
    )
    plain = plain_file(page, tmp_path)
    assert plain["#told"].split() == ["Kept:", "9,", "lost:", "1", "a", "b"]
    assert 'src="data:<picture>"' in plain["#all"]
    assert told("<h1>Kept: 9, lost: 1</h1><li>a<li>b") == plain["#told"].split()


def test_arrays_are_read(tmp_path: Path) -> None:
    path = tmp_path / "it.npz"
    np.savez(path, one=np.array([0.1, 1 / 3]), two=np.array([1 / 3], dtype=np.float32))
    assert plain_file(path, tmp_path)[""].split("\n") == [
        "one float64 (2,)", "0.1", "0.333333333", "two float32 (1,)", "0.333333343", "",
    ]  # fmt: skip


def test_what_is_drawn_is_the_same_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        draw("scores", str(tmp_path / name))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
