"""Mutators that know the grammar of a text: bytes in, bytes that are worse out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, MutableMapping, MutableSequence
from functools import partial
from typing import Any

from fuzz.hostile import MOMENTS, NUMBERS, Draw

Mutator = Callable[[Draw, bytes], bytes]
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
MOMENT = re.compile(rb"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d)?")
WORD = re.compile(rb"[^\s,|=;:\"\[\]{}]+")
VALUE = re.compile(rb"=\s*[^\n#]+")


def bytes_of_any(draw: Draw, data: bytes) -> bytes:  # noqa: PLR0911 # one for each way
    """Damage bytes of which nothing is known."""
    start, stop = draw.span(len(data), draw.pick((1, 8, 64, 4096)))
    at = draw.below(len(data) + 1)
    match draw.below(9):
        case 0:
            return data[:at]
        case 1:
            return data[at:]
        case 2:
            spoilt = bytearray(data)
            for _ in range(draw.pick((1, 1, 2, 8, 64))):
                if spoilt:
                    spoilt[draw.below(len(spoilt))] ^= 1 << draw.below(8)
            return bytes(spoilt)
        case 3:
            return data[:start] + data[stop:]
        case 4:
            return data[:stop] + data[start:stop] * draw.pick((1, 2, 50)) + data[stop:]
        case 5:
            return data[:at] + draw.word() + data[at:]
        case 6:
            return data[:start] + bytes(stop - start) + data[stop:]
        case 7:
            return data[:start] + draw.rng.bytes(stop - start) + data[stop:]
        case _:
            return draw.pick((b"", b"\n", b"\0", data + data, data + b"\0" * 100))


def lines(draw: Draw, data: bytes) -> bytes:
    """Damage a text of lines, or replace a word, number or date in it."""
    rows = data.split(b"\n")
    one, other = draw.below(len(rows)), draw.below(len(rows))
    match draw.below(12):
        case 0:
            rows[one], rows[other] = rows[other], rows[one]
        case 1:
            rows.insert(other, rows[one])
        case 2:
            del rows[one]
        case 3:
            rows[one] = rows[one][: draw.below(len(rows[one]) + 1)]
        case 4:
            rows[one] = draw.pick(
                ((rows[one] * 2000)[: 1 << 20], b"x" * 200_000, rows[one] + rows[other])
            )
        case 5:
            rows.insert(one, draw.word())
        case 6:
            rows[draw.pick((0, one))] = draw.word()
        case 7:
            return _replaced(draw, data, MOMENT, MOMENTS)
        case 8 | 9:
            return _replaced(draw, data, NUMBER, NUMBERS)
        case 10:
            return _replaced(draw, data, WORD, (draw.word(),))
        case _:
            return draw.pick(
                (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data,
                 data.decode("utf-8", "replace").encode("utf-16"), data.rstrip(b"\n"),
                 b"\n" * 50 + data, b"\n".join(rows[:1]), b"\n".join(rows[1:]),
                 b"\n".join(reversed(rows)))
            )  # fmt: skip
    return b"\n".join(rows)


def _replaced(
    draw: Draw, data: bytes, pattern: re.Pattern[bytes], some: tuple[bytes, ...]
) -> bytes:
    """Replace one match, or now and then every match."""
    places = list(pattern.finditer(data))
    if not places:
        return bytes_of_any(draw, data)
    new = draw.pick(some)
    if draw.chance(0.05) and len(new) < 100:
        return pattern.sub(lambda _: new, data)
    match = draw.pick(places)
    return data[: match.start()] + new + data[match.end() :]


def cells(draw: Draw, data: bytes, separator: bytes = b",") -> bytes:
    """Damage a table: fields, columns, its header."""
    rows = [row.split(separator) for row in data.split(b"\n")]
    full = [row for row in rows if len(row) > 1] or rows
    row, width = draw.pick(full), max(len(row) for row in rows)
    one, other = draw.below(len(row)), draw.below(len(row))
    column, far = draw.below(width), draw.below(width)
    some = full[1:] or full
    match draw.below(11):
        case 0 | 1 | 2:
            row[one] = draw.word()
        case 3:
            row[one], row[other] = row[other], row[one]
        case 4:
            row[one] = b""
        case 5:
            row.insert(one, draw.word())
        case 6:
            del row[one]
        case 7:
            for each in full:
                del each[column : column + 1]
        case 8:
            for each in full:
                each.insert(far, each[column] if column < len(each) else b"")
        case 9:
            new = draw.word()[:200]
            for each in some:
                if column < len(each):
                    each[column] = new
        case _:
            full[0][draw.below(len(full[0]))] = draw.word()
    return b"\n".join(separator.join(row) for row in rows)


def table(draw: Draw, data: bytes, separator: bytes = b",") -> bytes:
    """Damage a text of rows of fields."""
    kind = draw.pick((bytes_of_any, lines, lines, partial(cells, separator=separator),
                      partial(cells, separator=separator)))  # fmt: skip
    return kind(draw, data)


def text(draw: Draw, data: bytes) -> bytes:
    """Damage a text of lines of words."""
    return draw.pick((bytes_of_any, lines, lines, partial(cells, separator=b" ")))(draw, data)


def pairs(draw: Draw, data: bytes) -> bytes:
    """Damage a text of ``key=value`` words."""
    match draw.below(5):
        case 0:
            return bytes_of_any(draw, data)
        case 1:
            return lines(draw, data)
        case 2:
            return cells(draw, data, b" ")
        case _:
            places = list(re.finditer(rb"=[^ \n]*", data))
            if not places:
                return lines(draw, data)
            match = draw.pick(places)
            return data[: match.start()] + b"=" + draw.word() + data[match.end() :]


def toml(draw: Draw, data: bytes) -> bytes:
    """Damage a TOML file."""
    places = list(VALUE.finditer(data))
    match draw.below(6) if places else draw.below(2):
        case 0:
            return bytes_of_any(draw, data)
        case 1:
            return lines(draw, data)
        case 2:
            some = (b"\n[a]\n[a]\n", b"\nx = " + draw.toml(), b"\n" + b"[a." * 2000,
                    b"\n[" + b"a." * 3000 + b"b]\n", b"\n[[x]]\n")  # fmt: skip
            return data + draw.pick(some)
        case _:
            match = draw.pick(places)
            return data[: match.start()] + b"= " + draw.toml() + data[match.end() :]


def nested(draw: Draw, data: bytes) -> bytes:
    """Damage a JSON file, or one line of many that are JSON each."""
    if draw.chance(0.3):
        return draw.pick((bytes_of_any, lines))(draw, data)
    if draw.chance(0.05):
        return draw.nest(draw.pick(("dict", "list")))
    try:
        return json.dumps(_value(draw, json.loads(data))).encode()
    except (ValueError, RecursionError):
        rows = data.split(b"\n")
        at = draw.below(len(rows))
        if len(rows) > 1 and rows[at].startswith(b"{"):
            rows[at] = nested(draw, rows[at])
            return b"\n".join(rows)
        return bytes_of_any(draw, data)


def _value(draw: Draw, whole: Any) -> Any:
    """Return a value of JSON with something changed in it."""
    holder, key = [whole], 0
    root: Any = holder
    while isinstance(holder[key], dict | list) and holder[key] and draw.chance(0.85):
        holder = holder[key]
        key = draw.pick(list(holder)) if isinstance(holder, dict) else draw.below(len(holder))
    _change(draw, holder, key)
    return root[0] if root else None


def _change(draw: Draw, holder: Any, key: Any) -> None:
    match draw.below(6):
        case 0 if isinstance(holder, MutableMapping | MutableSequence):
            del holder[key]
        case 1 if isinstance(holder, MutableMapping):
            holder[str(draw.value())[:100]] = holder[key]
        case 1 if isinstance(holder, MutableSequence):
            holder.insert(key, holder[key])
        case 2:
            holder[key] = [holder[key]]
        case 3 if isinstance(holder[key], dict):
            holder[key] = list(holder[key].values())
        case _:
            holder[key] = draw.value()
