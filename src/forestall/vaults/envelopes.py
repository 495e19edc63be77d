"""Small objects that lie on every host alike: compressed, checked, and encrypted where packs are.

An envelope holds plain data and named arrays. A copy that was cut or spoilt is found, whatever
became of it, and another host's copy is taken instead.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.files.documents import json_of
from forestall.core.files.held import Held
from forestall.vaults.libraries import blake3, zstandard
from forestall.vaults.pieces.fragments import DamagedError, sound

_MAGIC: Final = b"FSEN"
_VERSION: Final = 1
_HEAD: Final = struct.Struct("<4sB3xQ32s")
_LENGTHS: Final = struct.Struct("<QQ")
MOST: Final = 1 << 30
"""Bytes that an envelope's content may have."""
_KINDS: Final = frozenset({"|u1", "<u2", "<u4", "<u8", "<i8"})

Arrays = Mapping[str, npt.NDArray[Any]]


class Content(NamedTuple):
    """What is in an envelope: plain data, and arrays by name."""

    told: dict[str, Any]
    arrays: Arrays

    @property
    def held(self) -> Held:
        """It, to be taken out piece by piece."""
        return Held(self.told, self.arrays)


def enveloped(
    told: Mapping[str, Any], arrays: Arrays, seal: Callable[[bytes], bytes] = bytes
) -> bytes:
    """Return plain data and arrays as bytes; the same content gives the same ones, where `seal`
    does."""
    shapes = {name: [one.dtype.str, list(one.shape)] for name, one in sorted(arrays.items())}
    head = json.dumps([told, shapes], sort_keys=True, separators=(",", ":")).encode()
    body = b"".join([head, *(np.ascontiguousarray(arrays[name]).tobytes() for name in shapes)])
    small = zstandard.ZstdCompressor(level=3).compress(_LENGTHS.pack(len(head), len(body)) + body)
    sealed = seal(small)
    return _HEAD.pack(_MAGIC, _VERSION, len(sealed), blake3(sealed).digest()) + sealed


def content_of(stored: bytes, unseal: Callable[[bytes], bytes] = bytes) -> Content:
    """Return what is in an envelope. Raises DamagedError where that is not what was put into it."""
    if len(stored) < _HEAD.size:
        raise DamagedError(f"{len(stored)} bytes are too few")
    magic, version, size, name = _HEAD.unpack(stored[: _HEAD.size])
    sealed = stored[_HEAD.size :]
    if magic != _MAGIC or version != _VERSION:
        raise DamagedError("it does not start as expected")
    if len(sealed) != size or blake3(sealed).digest() != name:
        raise DamagedError("its checksum does not match")
    with sound():
        return _parsed(_grown(unseal(sealed)))


def _grown(small: bytes) -> bytes:
    if not 0 < zstandard.frame_content_size(small) <= MOST:
        raise DamagedError("its stated size is too large")
    return zstandard.ZstdDecompressor().decompress(small)


def _parsed(body: bytes) -> Content:
    first, length = _LENGTHS.unpack(body[: _LENGTHS.size])
    body = body[_LENGTHS.size :]
    if len(body) != length or first > length:
        raise DamagedError("its length is not the stated one")
    told, shapes = json_of(body[:first], exact=True)  # names of earlier versions are in it
    if not isinstance(told, dict):
        raise DamagedError("it holds no named values")
    arrays, at = {}, first
    for name, (kind, shape) in shapes.items():
        if kind not in _KINDS:
            raise DamagedError(f"an array of {kind}")
        if not all(type(one) is int and one >= 0 for one in shape):
            raise DamagedError("an array without a shape")
        count = math.prod(shape)
        arrays[name] = np.frombuffer(body, kind, count, at).reshape(shape)
        at += arrays[name].nbytes
    if at != len(body):
        raise DamagedError("there is something after its arrays")
    return Content(told, arrays)
