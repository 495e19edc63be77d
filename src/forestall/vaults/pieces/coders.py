"""Reed-Solomon pieces straight from a pack, without the copies that pyeclib makes of it.

ISA-L itself, as pyeclib has loaded it, writes parity into our memory; pieces of data are views of
the pack, behind the heads that pyeclib's library would have written. Both are compared with what
that makes of samples; where they differ, or ISA-L is not found, it makes the pieces.
"""

from __future__ import annotations

import ctypes
import struct
import zlib
from typing import Final

import numpy as np
import numpy.typing as npt

from forestall.vaults.libraries import ECDriver

Data = bytes | memoryview
Parts = tuple[Data, ...]
KIND: Final = "isa_l_rs_cauchy"
HEAD: Final = 80
"""Bytes that the library puts before a piece."""
_NAMES: Final = "libisal-pyeclib.so.2", "libisal.so.2"
_PLACE: Final = struct.Struct("<II4xQ")
"""In a head: number, bytes of the piece and of the pack."""
_TOLD, _SUM_AT = 59, struct.Struct("<I")
"""Bytes of a head that its checksum covers; the checksum stands 8 bytes behind them."""
_TABLE: Final = 32
_SAMPLES: Final = 1, 251, 4096


class Coder:
    """Makes the pieces of packs, k of parity behind m of data."""

    def __init__(self, driver: ECDriver, data: int, parity: int) -> None:
        self._driver, self._data, self._parity = driver, data, parity
        self._isal = _loaded()
        if self._isal is not None:
            self._head = bytes(driver.encode(b"\0")[0][:HEAD])
            self._tables = _tables(self._isal, data, parity)
            if not all(map(self._agrees, _SAMPLES)):
                self._isal = None

    def pieces(self, pack: Data) -> list[Parts]:
        """Return the pieces of a pack, in order, each in parts that follow one another; some are
        views of the pack."""
        if self._isal is None or not len(pack):
            return [(one,) for one in self._driver.encode(bytes(pack))]
        size = -(-len(pack) // self._data)
        whole = memoryview(pack)
        found: list[Data] = [whole[k * size : (k + 1) * size] for k in range(self._data)]
        found = [one if len(one) == size else bytes(one).ljust(size, b"\0") for one in found]
        found += self._coded(found, size)
        return [(self._headed(k, size, len(pack)), one) for k, one in enumerate(found)]

    def _coded(self, data: list[Data], size: int) -> list[memoryview]:
        """Return the parity of pieces."""
        assert self._isal is not None
        arrays = [np.frombuffer(one, np.uint8) for one in data]
        parity = np.empty((self._parity, size), np.uint8)
        self._isal.ec_encode_data(
            size, self._data, self._parity, _address(self._tables), _addresses(arrays),
            _addresses(list(parity)),
        )  # fmt: skip
        return [one.data for one in parity]

    def _headed(self, place: int, size: int, length: int) -> bytes:
        """Return the head of a piece."""
        head = bytearray(self._head)
        _PLACE.pack_into(head, 0, place, size, length)
        _SUM_AT.pack_into(head, _TOLD + 8, zlib.crc32(head[:_TOLD]))
        return bytes(head)

    def _agrees(self, length: int) -> bool:
        """Whether the library makes the same pieces of a sample."""
        sample = np.arange(length, dtype=np.uint32).astype(np.uint8).tobytes()
        return [b"".join(one) for one in self.pieces(sample)] == self._driver.encode(sample)


def _loaded() -> ctypes.CDLL | None:
    """Return ISA-L, which pyeclib has loaded."""
    for name in _NAMES:
        try:
            found = ctypes.CDLL(name)
            found.ec_encode_data.restype = None
            return found
        except (OSError, AttributeError):
            continue
    return None


def _tables(isal: ctypes.CDLL, data: int, parity: int) -> npt.NDArray[np.uint8]:
    """Return what ISA-L codes by: made from the rows of parity of a Cauchy matrix."""
    matrix = np.zeros((data + parity, data), np.uint8)
    isal.gf_gen_cauchy1_matrix(_address(matrix), data + parity, data)
    tables = np.zeros(_TABLE * data * parity, np.uint8)
    isal.ec_init_tables(data, parity, _address(matrix[data:]), _address(tables))
    return tables


def _address(array: npt.NDArray[np.uint8]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _addresses(arrays: list[npt.NDArray[np.uint8]]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(one.ctypes.data for one in arrays))
