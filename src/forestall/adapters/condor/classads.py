"""Values and attributes as HTCondor reads them from what a program prints: one a line.

That is the older way to write ClassAds: in a string only ``\\"`` is an escape, any other backslash
is one. (HTCondor's manual, "ClassAd syntax" and "Startd cron".)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

Value = bool | int | float | str


def literal(value: Value) -> str:
    r"""Return a value as a ClassAd literal; in strings, control characters become spaces.

    A backslash before a quotation mark and one at the end would be taken for an escape: there it
    becomes a slash. Numbers have to be finite.

    >>> print(literal(True), literal(2), literal(0.5), literal('a "b"'))
    true 2 0.5 "a \"b\""
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    assert math.isfinite(value)
    return repr(value)


def _string(text: str) -> str:
    plain = "".join(" " if ord(c) < 32 or 127 <= ord(c) < 160 else c for c in text)
    plain = plain.encode("utf-8", "replace").decode()  # half of a pair has no bytes
    told = [
        "/" if c == "\\" and plain[k + 1 : k + 2] in {"", '"'} else c for k, c in enumerate(plain)
    ]
    return '"{}"'.format("".join(told).replace('"', '\\"'))


def lines(attributes: Mapping[str, Value]) -> str:
    """Return attributes as text, one a line.

    >>> print(lines({"Cores": 4, "State": "S1"}), end="")
    Cores = 4
    State = "S1"
    """
    return "".join(f"{name} = {literal(value)}\n" for name, value in attributes.items())
