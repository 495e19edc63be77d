"""What a rank saves, as one run of bytes: bytes, an array, or a dictionary of these."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from forestall.core.files.documents import json_of
from forestall.core.files.held import Held
from forestall.core.model.errors import ParameterError
from forestall.vaults.pieces.fragments import DamagedError, sound

Buffer: TypeAlias = npt.NDArray[np.uint8]
Piece: TypeAlias = bytes | npt.NDArray[Any]
State: TypeAlias = Piece | Mapping[str, Piece]
_HEAD: Final = struct.Struct("<4sxxxxQ")
_MAGIC: Final = b"FSST"
_ALIGNED: Final = 64
"""Bytes to whose multiples arrays are moved, so that they can be used where they lie."""
_PLAIN: Final = "biufcSUmM"
"""Kinds of arrays whose bytes are all there is to them."""


def packed(state: State, into: Buffer | None = None) -> Buffer:
    """Return a state as bytes: in `into`, where it has their number, so that no memory is asked
    for. Raises ParameterError for what is no state."""
    pieces, told = _pieces(state)
    head = json.dumps(told, separators=(",", ":")).encode()
    at, places = _aligned(_HEAD.size + len(head)), []
    for one in pieces:
        places.append(at)
        at = _aligned(at + one.nbytes)
    found = into if into is not None and len(into) == at else np.zeros(at, np.uint8)
    found[: _HEAD.size] = np.frombuffer(_HEAD.pack(_MAGIC, len(head)), np.uint8)
    found[_HEAD.size : _HEAD.size + len(head)] = np.frombuffer(head, np.uint8)
    end = _HEAD.size + len(head)
    for place, one in zip(places, pieces, strict=True):
        found[end:place] = 0
        end = place + one.nbytes
        target = found[place:end].view(one.dtype).reshape(one.shape)
        target[...] = one
    found[end:] = 0
    return found


def state_of(stored: Buffer | bytes) -> State:
    """Return the state that was packed, as it was given; arrays are copies. Raises DamagedError."""
    raw = np.frombuffer(stored, np.uint8) if isinstance(stored, bytes) else stored
    with sound():
        magic, length = _HEAD.unpack(raw[: _HEAD.size].tobytes())
        if magic != _MAGIC:
            raise DamagedError("it does not start as a state does")
        told = Held(json_of(raw[_HEAD.size : _HEAD.size + length].tobytes()))
        at, found = _aligned(_HEAD.size + length), {}
        for name, kind, shape in told.listed("pieces"):
            dtype = np.dtype(np.uint8 if kind == "bytes" else kind)
            natural = all(type(one) is int and one >= 0 for one in shape)
            if dtype.kind not in _PLAIN or not natural or not isinstance(name, str):
                raise DamagedError("it has a part that no state has")
            size = dtype.itemsize * math.prod(shape)
            part = raw[at : at + size]
            if len(part) != size:
                raise DamagedError("a state ends too early")
            one = part.copy().view(dtype).reshape(shape)
            found[name] = one.tobytes() if kind == "bytes" else one
            at = _aligned(at + size)
        return found if told.flag("many") else found[""]


def _pieces(state: State) -> tuple[list[npt.NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a state, and what must be told of them."""
    many = isinstance(state, Mapping)
    given: Mapping[str, Piece] = state if isinstance(state, Mapping) else {"": state}
    arrays, told = [], []
    for name, one in given.items():
        if not isinstance(name, str):
            raise ParameterError("state", name, "names that are text")
        if isinstance(one, bytes | bytearray | memoryview):
            array, kind = np.frombuffer(one, np.uint8), "bytes"
        else:
            array = np.ascontiguousarray(one).reshape(np.shape(one))
            kind = array.dtype.str
            if array.dtype.kind not in _PLAIN:
                raise ParameterError("state", name or kind, "bytes and arrays of numbers or text")
        arrays.append(array)
        told.append([name, kind, list(array.shape)])
    return arrays, {"many": many, "pieces": told}


def _aligned(at: int) -> int:
    return -(-at // _ALIGNED) * _ALIGNED
