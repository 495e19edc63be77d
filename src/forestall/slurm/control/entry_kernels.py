"""Where the entries of a list stand in a JSON document: one pass over its bytes, nothing read.

It runs without Python's lock, so that others are answered while a look of 70 MB is taken apart.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestall.core._compile import entry, kernel

_QUOTE, _ESCAPE, _COMMA, _COLON = np.uint8(34), np.uint8(92), np.uint8(44), np.uint8(58)
_OPEN_LIST, _CLOSE_LIST = np.uint8(91), np.uint8(93)
_OPEN, _CLOSE = np.uint8(123), np.uint8(125)
_BIT = np.uint8(32)
"""By which the signs of an object differ from those of a list."""
_BLANK, _TAB, _LINE, _RETURN = np.uint8(32), np.uint8(9), np.uint8(10), np.uint8(13)
Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@kernel
def _after_blanks(text: Bytes, k: int) -> int:
    while k < len(text) and (
        text[k] == _BLANK or text[k] == _LINE or text[k] == _TAB or text[k] == _RETURN
    ):
        k += 1
    return k


@kernel
def _after_text(text: Bytes, k: int) -> int:
    """Return the place behind the text that begins at `k`; behind the end where it has none."""
    k += 1
    while k < len(text) and text[k] != _QUOTE:
        k += 2 if text[k] == _ESCAPE else 1
    return k + 1


@kernel
def _opens(sign: np.uint8) -> bool:
    return bool(sign | _BIT == _OPEN)


@kernel
def _closes(sign: np.uint8) -> bool:
    return bool(sign | _BIT == _CLOSE)


@kernel
def _after_nest(text: Bytes, k: int) -> int:
    """Return the place behind the object or list that begins at `k`, by counting brackets."""
    depth = 0
    while k < len(text):
        sign = text[k]
        if sign == _QUOTE:
            k = _after_text(text, k)
            continue
        if _opens(sign):
            depth += 1
        elif _closes(sign):
            depth -= 1
            if depth == 0:
                return k + 1
        k += 1
    return len(text) + 1


@kernel
def _is_name(text: Bytes, begin: int, end: int, name: Bytes) -> bool:
    if end - begin != len(name) + 2:
        return False
    for k in range(len(name)):
        if text[begin + 1 + k] != name[k]:
            return False
    return True


@kernel
def _entries(text: Bytes, k: int, out: Places) -> tuple[int, int]:
    """Find the entries of the list whose bracket stands at `k`; return how many (-1: they are not
    objects with commas between them, or too many for `out`), and the place of its end."""
    k, found = _after_blanks(text, k + 1), 0
    if k < len(text) and text[k] == _CLOSE_LIST:
        return 0, k
    while k < len(text) and text[k] == _OPEN and found < len(out):
        out[found, 0] = k
        k = _after_nest(text, k)
        if k > len(text):
            break
        out[found, 1] = k
        found, k = found + 1, _after_blanks(text, k)
        if k < len(text) and text[k] == _CLOSE_LIST:
            return found, k
        if k >= len(text) or text[k] != _COMMA:
            break
        k = _after_blanks(text, k + 1)
    return -1, k


@entry
def places_of(text: Bytes, name: Bytes, out: Places) -> int:
    """Find the entries of the list under a name of the outermost object.

    text : a JSON document, not known to be one
    name : without its quotes
    out : takes [begin, end) of the list's brackets, then of each entry

    Returns how many entries there are; -1 where the document is not of that form, such as cut
    short, or has no such list or two of them: then it must be read as a whole.
    """
    k, found = _after_blanks(text, 0), -1
    if k >= len(text) or text[k] != _OPEN:
        return -1
    k += 1
    while k < len(text):
        sign = text[k]
        if sign == _CLOSE:
            return found if _after_blanks(text, k + 1) == len(text) else -1
        if sign == _QUOTE:
            begin, k = k, _after_text(text, k)
            behind = _after_blanks(text, min(k, len(text)))
            is_key = behind < len(text) and text[behind] == _COLON
            if not is_key or not _is_name(text, begin, k, name):
                continue
            k = _after_blanks(text, behind + 1)
            if found >= 0 or k >= len(text) or text[k] != _OPEN_LIST:
                return -1
            out[0, 0] = k
            found, k = _entries(text, k, out[1:])
            if found < 0:
                return -1
            out[0, 1] = k + 1
            k += 1
        elif _opens(sign):
            k = _after_nest(text, k)
        else:
            k += 1
    return -1
