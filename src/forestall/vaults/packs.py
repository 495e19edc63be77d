"""Packs: some megabytes of compressed chunks, which are coded and stored together."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.vaults.libraries import blake3, xxh3_128, zstandard
from forestall.vaults.pieces.codes import Data
from forestall.vaults.pieces.fragments import DamagedError

with lazily():
    import blosc2

PACK: Final = 8 * 1024 * 1024
"""Plain bytes from which on a pack is closed."""
_MOST: Final = 2 * PACK  # the last chunk of a pack has at most 8 MiB
NAME: Final = 32
"""Bytes of the name of a chunk or pack."""
Compression = Literal["auto", "none", "zstd", "blosc2-2", "blosc2-4", "blosc2-8"]
"""`blosc2-N` first sorts the bytes of numbers of N bytes by their place in them; `auto` takes for
each pack what makes the least of a sample of it, and Zstandard where that is as good."""
COMPRESSIONS: Final[tuple[str, ...]] = get_args(Compression)
Counts = npt.NDArray[np.uint32]
_LEVEL: Final = 1
_TRIED: Final = 4, 8
"""Bytes of the numbers that chunks are taken for in turn."""
_EVERY: Final = 32
"""Of so many chunks of a pack one is tried, as far as `_SAMPLE` bytes."""
_SAMPLE: Final = 4096
_BETTER: Final = 0.98
"""Share of what Zstandard makes of a sample at which Blosc2, which is slower, is worth it."""
_WORTH: Final = 0.99
"""Of a sample that takes more than this share no way is any good."""
_PROBE: Final = 1024
"""Bytes from the middle of a chunk by which is seen, in such a pack, whether it is another one."""
_ZSTD_BEGINS: Final = b"\x28\xb5\x2f\xfd"
_BLOSC2_HEAD: Final = struct.Struct("<4xI")
"""The plain length, in the head of a chunk of Blosc2."""


class PackedChunks(NamedTuple):
    """The chunks of a pack, in order: their names, one behind the other; their plain lengths; and
    the bytes that each takes in the pack; where both lengths are equal it is stored as it is."""

    names: bytes
    plain: Counts
    stored: Counts

    def name(self, place: int) -> bytes:
        """Return the name of a chunk."""
        return self.names[NAME * place : NAME * (place + 1)]


class Pack(NamedTuple):
    """Chunks and what is stored of them, one behind the other; `name`, 32 bytes, is made from
    both."""

    name: bytes
    chunks: PackedChunks
    stored: bytes


def pack_of(
    chunks: Sequence[tuple[bytes, Data]],
    *,
    compression: Compression = "auto",
    seal: Callable[[bytes], bytes] = bytes,
) -> Pack:
    """Return chunks, given by name and bytes, as a pack; `seal` encrypts what is stored of it."""
    data = [one for _, one in chunks]
    stored = [
        small if len(small) < len(one) else one
        for small, one in zip(_shrunk(data, compression), data, strict=True)
    ]
    told = PackedChunks(
        b"".join([name for name, _ in chunks]),
        np.fromiter(map(len, data), np.uint32, len(data)),
        np.fromiter(map(len, stored), np.uint32, len(data)),
    )
    body = seal(b"".join(stored))
    return Pack(name_of(told, [body]), told, body)


def _shrunk(data: Sequence[Data], compression: Compression) -> Sequence[Data]:
    """Return chunks compressed, or as they are where that is not tried."""
    if not data:
        return data
    if compression != "auto":
        return _compressed(data, compression)
    sample = [memoryview(one)[:_SAMPLE] for one in data[::_EVERY]]
    sizes = {"zstd": sum(map(len, _compressed(sample, "zstd")))}
    for size in _TRIED:
        sizes[f"blosc2-{size}"] = sum(map(len, _compressed(_sorted(sample, size), "zstd")))
    best = min(sizes, key=lambda way: sizes[way])
    if sizes[best] > _WORTH * sum(map(len, sample)):
        return _probed(data)
    return _compressed(data, best if sizes[best] < _BETTER * sizes["zstd"] else "zstd")


def _sorted(data: Sequence[Data], size: int) -> list[Data]:
    """Return chunks with the bytes of numbers sorted by their place in them, as Blosc2 does it:
    which tells what that would make of them before it has to be loaded."""
    found: list[Data] = []
    for one in data:
        whole = len(one) // size * size
        numbers = np.frombuffer(one, np.uint8, whole).reshape(-1, size)
        found.append(numbers.T.tobytes() + bytes(one[whole:]))
    return found


def _probed(data: Sequence[Data]) -> Sequence[Data]:
    """Return chunks of which few get smaller, those compressed of which a few bytes do."""
    middles = [one[(len(one) - _PROBE) // 2 : (len(one) + _PROBE) // 2]
               if len(one) > _PROBE else one for one in data]  # fmt: skip
    small = _compressed(middles, "zstd")
    hopeful = [k for k, one in enumerate(small) if len(one) < len(middles[k])]
    found = list(data)
    for k, one in zip(hopeful, _compressed([data[k] for k in hopeful], "zstd"), strict=True):
        found[k] = one
    return found


def _compressed(data: Sequence[Data], way: str) -> Sequence[Data]:
    """Return chunks compressed in one way. All go to Zstandard at once: so that many small calls do
    not take turns with other threads."""
    if way == "none" or not data:
        return data
    if way == "zstd":
        shrink = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False)
        found = shrink.multi_compress_to_buffer(list(data))
        return [_view(found[k]) for k in range(len(found))]
    size = int(way.rpartition("-")[2])
    settings = {"typesize": size, "clevel": _LEVEL, "codec": blosc2.Codec.ZSTD, "nthreads": 1}
    return [blosc2.compress2(one, **settings) for one in data]


def _view(segment: zstandard.BufferSegment) -> memoryview:
    return memoryview(segment)  # type: ignore[arg-type] # a buffer for Python, not in its stub


def name_of(chunks: PackedChunks, stored: Sequence[Data]) -> bytes:
    """Return the name of a pack: BLAKE3 of its chunks' names and lengths and of the checksum of
    what is stored, given in parts that follow one another."""
    told, found = blake3(chunks.names), xxh3_128()
    for lengths in (chunks.plain, chunks.stored):
        told.update(lengths.astype("<u4").tobytes())
    for part in stored:
        found.update(part)
    return told.update(found.digest()).digest()


def opened(
    chunks: PackedChunks,
    stored: Sequence[Data],
    name_chunk: Callable[[memoryview], bytes],
    unseal: Callable[[bytes], bytes] | None = None,
    wanted: Sequence[int] | None = None,
) -> Iterator[tuple[int, Data]]:
    """Yield the chunks of a pack, or those of them that are `wanted`, by their places in it, in
    order. What is stored is given in parts that follow one another.

    Raises DamagedError where one is not what its name says: nothing of it is handed out.
    """
    parts = stored if unseal is None else [unseal(b"".join(stored))]
    if int(chunks.plain.sum(dtype=np.int64)) > _MOST:
        raise DamagedError("the pack's stated size exceeds the limit")
    if int(chunks.stored.sum(dtype=np.int64)) != sum(map(len, parts)):
        raise DamagedError("the pack's length is not that of its chunks")
    places = range(len(chunks.plain)) if wanted is None else sorted(wanted)
    plain, small = chunks.plain.tolist(), chunks.stored.tolist()
    pieces = list(_sliced(parts, chunks.stored, places))
    packed = [k for k, place in enumerate(places) if small[place] != plain[place]]
    lengths = [plain[places[k]] for k in packed]
    for k, data in zip(packed, _grown([pieces[k] for k in packed], lengths), strict=True):
        pieces[k] = data
    for place, data in zip(places, pieces, strict=True):
        name = chunks.name(place)
        if len(data) != plain[place] or name_chunk(memoryview(data)) != name:
            raise DamagedError(f"chunk {name.hex()[:12]} has unexpected content")
        yield place, data


def _sliced(parts: Sequence[Data], sizes: Counts, places: Sequence[int]) -> Iterator[Data]:
    """Yield what is stored of chunks, given by ascending places, from parts; only what lies in two
    of them is copied."""
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    views = [memoryview(one) for one in parts]
    part, begun = 0, 0
    for place in places:
        end = ends[place]
        at = end - int(sizes[place])
        while at - begun >= len(views[part]):
            begun += len(views[part])
            part += 1
        if end - begun <= len(views[part]):
            yield views[part][at - begun : end - begun]
        else:
            yield _across(views[part:], at - begun, end - at)


def _across(views: Sequence[memoryview], at: int, length: int) -> bytes:
    """Return bytes that lie in several views."""
    found = []
    for one in views:
        found.append(one[at : at + length])
        at, length = 0, length - len(found[-1])
    return b"".join(found)


def _grown(small: Sequence[Data], lengths: Sequence[int]) -> Sequence[Data]:
    """Return chunks from what is stored; never more than their lengths, whatever that says. Those
    of Zstandard are grown at once."""
    mine = [k for k, one in enumerate(small) if bytes(one[:4]) == _ZSTD_BEGINS]
    found: list[Data] = list(small)
    try:
        if mine:
            sizes = np.array([lengths[k] for k in mine], np.uint64).tobytes()
            grown = zstandard.ZstdDecompressor().multi_decompress_to_buffer(
                [small[k] for k in mine], decompressed_sizes=sizes
            )
            for place, k in enumerate(mine):
                found[k] = _view(grown[place])
        for k in sorted(set(range(len(small))) - set(mine)):
            found[k] = _unshuffled(small[k], lengths[k])
    except (zstandard.ZstdError, struct.error, RuntimeError, ValueError) as error:
        raise DamagedError(f"a chunk does not decompress: {error}") from None
    return found


def _unshuffled(part: Data, length: int) -> bytes:
    """Return a chunk of Blosc2. Raises DamagedError where its head does not tell these lengths."""
    if len(part) < 32 or _BLOSC2_HEAD.unpack_from(part)[0] != length:
        raise DamagedError("a chunk's length is not the stated one")
    return bytes(blosc2.decompress2(part))
