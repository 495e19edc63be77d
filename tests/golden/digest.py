"""Digests of plain contents that do not depend on the last digits of numbers.

Processors differ in the last bits of logarithms, and what is fitted or subtracted afterwards
differs in more of them. So a digest has a hash of all but the numbers of many digits, and of those
a sum for each `BLOCK`, which may be off by as much as each of them by `PRECISION`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from math import asinh

FEW = 4
"""Numbers with no more digits stand for themselves."""
BLOCK = 50
PRECISION = 1e-6
"""How far a number may be off, of itself."""
LEAST = 1e-9
"""Numbers below it are nothing, give or take rounding."""
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+)(?![\w.])")


def digest(text: str) -> str:
    """Return the digest of a plain content: the hash, and the sums."""
    long: list[float] = []

    def kept(found: re.Match[str]) -> str:
        if len(re.sub(r"^0\.0*|^-0\.0*|[eE].*|\.|-", "", found[0])) <= FEW:
            return found[0]
        long.append(float(found[0]))
        return "#"

    rest = _NUMBER.sub(kept, text)
    blocks = [long[k : k + BLOCK] for k in range(0, len(long), BLOCK)]
    return " ".join([sha256(rest.encode()).hexdigest()[:16], *map(_sum, blocks)])


def _sum(numbers: Sequence[float]) -> str:
    """Return the sum of the numbers' logarithms, each with a weight of its own, so that numbers
    that change places are noticed."""
    total = sum((1 + k / BLOCK) * asinh(one / LEAST) for k, one in enumerate(numbers))
    return f"{total:.5f}"


def same(one: str, other: str) -> bool:
    """Return whether two digests are of contents that are equal but for last digits."""
    (hashed, *sums), (other_hash, *other_sums) = one.split(" "), other.split(" ")
    return (
        hashed == other_hash
        and len(sums) == len(other_sums)
        and all(
            abs(float(a) - float(b)) <= PRECISION * BLOCK
            for a, b in zip(sums, other_sums, strict=True)
        )
    )
