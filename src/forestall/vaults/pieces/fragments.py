"""A piece of a pack as it lies on a storage host: it says what it is, and whether it is whole.

Its checksum (XXH3, 128 bits) finds what happens by itself: flipped bits, cut files, a piece of
another pack or of another place. Against who means harm stand the names of chunks, made by BLAKE3
from what is in them, which are checked of all that is recovered.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from forestall.core.files.guard import first_line
from forestall.vaults.libraries import xxh3_128
from forestall.vaults.pieces.codes import Code, Data, Parts

_MAGIC: Final = b"FSFR"
_VERSION: Final = 1
_HEAD: Final = struct.Struct("<4sBBBBQQ32s")
_SUM: Final = 16
OVERHEAD: Final = _HEAD.size + _SUM
"""Bytes of a fragment besides its piece."""


class DamagedError(ValueError):
    """Bytes that are not what was stored there; the text says what is wrong with them."""


@contextmanager
def sound() -> Iterator[None]:
    """Turn whatever is raised while the content of an object is taken up into a DamagedError: a
    copy whose checksum is right and which says what cannot be counts as lost, as others do."""
    try:
        yield
    except (DamagedError, MemoryError):
        raise
    except Exception as error:
        raise DamagedError(first_line(error)) from None


class Fragment(NamedTuple):
    """A piece: the code and place it has, the length and name of its pack, and its bytes."""

    code: Code
    place: int
    length: int
    pack: bytes
    piece: Data


def stored_parts(code: Code, place: int, length: int, pack: bytes, piece: Parts) -> list[Data]:
    """Return a piece, given in parts that follow one another, as it is stored, in such parts."""
    head = _HEAD.pack(
        _MAGIC, _VERSION, code.data, code.parity, place, length, sum(map(len, piece)), pack
    )
    return [head + _checksum(head, piece), *piece]


def fragment_of(stored: bytes, pack: bytes, place: int) -> Fragment:
    """Return the fragment that is stored as these bytes. Raises DamagedError where they are not
    that piece of that pack."""
    if len(stored) < OVERHEAD:
        raise DamagedError(f"{len(stored)} bytes are too few for a fragment")
    head, piece = stored[: _HEAD.size], memoryview(stored)[OVERHEAD:]
    magic, version, data, parity, where, length, size, name = _HEAD.unpack(head)
    if magic != _MAGIC or version != _VERSION:
        raise DamagedError("it does not start as a fragment does")
    if size != len(piece):
        raise DamagedError(f"its piece has {len(piece)} bytes where {size} were stored")
    if _checksum(head, (piece,)) != stored[_HEAD.size : OVERHEAD]:
        raise DamagedError("its checksum does not match")
    if name != pack or where != place:
        raise DamagedError(f"it is piece {where} of pack {name.hex()[:12]}")
    with sound():
        return Fragment(Code(data, parity), where, length, name, piece)


def _checksum(head: bytes, piece: Parts) -> bytes:
    found = xxh3_128(head)
    for part in piece:
        found.update(part)
    return found.digest()
