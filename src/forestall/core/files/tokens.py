"""Lines of words parted by any white space, made fit for a fast reader of separated values."""

from __future__ import annotations

import re

import numpy as np

_BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")
_TRAILING = re.compile(rb" +\n")


def single_spaced(text: bytes) -> bytes:
    """Return whole lines with one space between words, none at their ends, and no empty lines.

    The order of the lines stays; `filled_lines` gives the numbers of those that are left.
    """
    text = text.translate(_BLANKS)
    if b" \n" in text:
        text = _TRAILING.sub(b"\n", text)
    raw = np.frombuffer(text, dtype=np.uint8)
    if raw.size == 0:
        return b""
    # Now a run of blanks within a line is spaces only and one at its end starts with the newline,
    # so the first blank after each word is the one to keep.
    word = raw > 32
    keep = word.copy()
    keep[1:] |= word[:-1]
    return raw[keep].tobytes()


def filled_lines(text: bytes) -> list[int]:
    """Return the 0-based numbers of the lines that hold more than blanks."""
    return [number for number, line in enumerate(text.split(b"\n")) if line.strip()]
