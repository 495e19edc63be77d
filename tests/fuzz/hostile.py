"""Values that files should not hold, and what draws them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

NUMBERS = (
    b"-1", b"0", b"1", b"-0.0", b"0.5", b"2147483647", b"2147483648", b"4294967296",
    b"4611686018427387904", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775808", b"18446744073709551616", b"1e18", b"1e308", b"-1e308", b"1e309",
    b"1e-320", b"nan", b"inf", b"-inf", b"NaN", b"0x10", b"1_000", b"1,000", b"00000000001",
    b"9" * 5000, b"1" + b"0" * 400, "\u0663".encode(), b"1e", b"--1", b"+1",
)  # fmt: skip
TEXTS = (
    b"", b" ", b"\0", b"\x1b[31m", b"\x1b]0;title\x07", b"\x9b31m", b"\xc2\x9b31m",
    "\u202egnirts".encode(), "\u2066x\u2069".encode(), "\u2028".encode(), b"\xe9", b"caf\xe9",
    b"\xff\xfe", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"=cmd|' /C calc'!A0",
    b"@SUM(1)", b"../../../etc/passwd", b"a" * 70_000, b'"', b"'", b'"a', b"\r", b"\x85", b"\t",
    b"<script>alert(1)</script>", b"{x}", b"{", b"%s%n", b"[bold]x[/bold]", b"[/x]",
    b"n[1-999999999]", b"n[0-99999999]", b"n[3-1]", b"n[1-", b"null", b"None", b"true", b"Unknown",
    b"\\", b"\\u0000", b"#", b";", b"|", b",", b"=", "n\u00f6de".encode(), "\U0001f4a9".encode(),
)  # fmt: skip
MOMENTS = (
    b"0000-00-00", b"0001-01-01T00:00:00", b"1969-12-31T23:59:59", b"1970-01-01T00:00:00",
    b"2026-02-30T25:61:61", b"2262-04-12T00:00:00", b"9999-12-31T23:59:59", b"10000-01-01",
    b"292277026596-12-04", b"-0001-01-01", b"2026-06-01T00:00:00+99:99", b"1/1/0001 0:00",
    b"99/99/9999 99:99", b"NaT",
)  # fmt: skip
DEPTHS = (200, 1100, 30_000)
"""How deep things are nested: less than Python may recurse, more, and far more."""


@dataclass(frozen=True)
class Draw:
    """What is drawn next, by a generator of its own."""

    rng: np.random.Generator

    def below(self, count: int) -> int:
        """Return a whole number of at least 0 below `count`, 0 where that is none."""
        return int(self.rng.integers(max(1, count)))

    def pick(self, some: Sequence[T]) -> T:
        """Return one of some."""
        return some[self.below(len(some))]

    def chance(self, share: float) -> bool:
        """Return true in this share of all cases."""
        return bool(self.rng.random() < share)

    def span(self, length: int, most: int = 64) -> tuple[int, int]:
        """Return the ends of a short span within a length."""
        start = self.below(length)
        return start, min(length, start + 1 + self.below(most))

    def word(self) -> bytes:
        """Return a hostile field."""
        return self.pick(self.pick((NUMBERS, NUMBERS, TEXTS, TEXTS, MOMENTS)))

    def value(self) -> Any:
        """Return a hostile value of JSON."""
        kind = self.below(4)
        if kind == 0:
            return self.pick(
                (-1, 0, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 1e308, 0.5, float("nan"),
                 float("inf"), True, None, 10**4000)
            )  # fmt: skip
        if kind == 1:
            return self.pick(([], {}, [[]], {"": None}, [None] * 2000, "", {"a": {"b": 1}}))
        return self.word().decode("utf-8", "replace")

    def nest(self, form: str) -> bytes:
        """Return text of JSON or TOML that is nested deep."""
        depth = self.pick(DEPTHS)
        if form == "dict":
            return b'{"a":' * depth + b"1" + b"}" * depth
        return b"[" * depth + (b"]" * depth if self.chance(0.8) else b"")

    def toml(self) -> bytes:
        """Return a hostile value of TOML."""
        some = (
            b"-1", b"0", b"1e308", b"nan", b"inf", b"-inf", b"9223372036854775808", b"9" * 5000,
            b"true", b"[]", b"{}", b'""', b"1979-05-27", b"[[1], [2]]", b"'''", b"0x7fffffffff",
            b"{ a = { b = 1 } }", self.nest("list"), json.dumps(str(self.value())[:2000]).encode(),
        )  # fmt: skip
        return self.pick(some)
