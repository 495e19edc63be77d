"""Packs: some megabytes of compressed chunks, which are coded and stored together."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, get_args

import zstandard
from blake3 import blake3
from xxhash import xxh3_128_digest

from forestall._lazy import lazily
from forestall.vault.fragments import DamagedError

with lazily():
    import blosc2

PACK: Final = 8 * 1024 * 1024
"""Plain bytes from which on a pack is closed."""
Compression = Literal["auto", "none", "zstd", "blosc2-2", "blosc2-4", "blosc2-8"]
"""`blosc2-N` first sorts the bytes of numbers of N bytes by their place in them; `auto` takes for
each pack what makes the least of a sample of it."""
COMPRESSIONS: Final[tuple[str, ...]] = get_args(Compression)
Data = bytes | memoryview
_LEVEL: Final = 1
_TRIED: Final[tuple[Compression, ...]] = ("zstd", "blosc2-4", "blosc2-8")
_EVERY: Final = 32
"""Of so many chunks of a pack one is tried."""
_ZSTD_BEGINS: Final = b"\x28\xb5\x2f\xfd"
_BLOSC2_HEAD: Final = struct.Struct("<4xI")
"""The plain length, in the head of a chunk of Blosc2."""


class PackedChunk(NamedTuple):
    """A chunk of a pack: its name, its plain length, and the bytes it takes in the pack; where both
    lengths are equal it is stored as it is."""

    name: bytes
    length: int
    stored: int


class Pack(NamedTuple):
    """Chunks and what is stored of them, one behind the other; `name`, 32 bytes, is made from
    both."""

    name: bytes
    chunks: tuple[PackedChunk, ...]
    stored: bytes


def pack_of(
    chunks: Sequence[tuple[bytes, bytes]],
    *,
    compression: Compression = "auto",
    seal: Callable[[bytes], bytes] = bytes,
) -> Pack:
    """Return chunks, given by name and bytes, as a pack; `seal` encrypts what is stored of it."""
    stored, told = [], []
    shrink = _shrinks(chunks, compression)
    for name, data in chunks:
        small = shrink(data)
        if len(small) >= len(data):
            small = data
        stored.append(small)
        told.append(PackedChunk(name, len(data), len(small)))
    body = seal(b"".join(stored))
    return Pack(name_of(told, body), tuple(told), body)


def _shrinks(
    chunks: Sequence[tuple[bytes, bytes]], compression: Compression
) -> Callable[[bytes], bytes]:
    """Return what compresses chunks."""
    if compression == "none":
        return bytes
    if compression == "zstd":
        return zstandard.ZstdCompressor(
            level=_LEVEL, write_content_size=False, write_checksum=False
        ).compress
    if compression == "auto":
        sample = [data for _, data in chunks[::_EVERY]]
        ways = [_shrinks(chunks, one) for one in _TRIED]
        return min(ways, key=lambda way: sum(min(len(way(one)), len(one)) for one in sample))
    size = int(compression.rpartition("-")[2])
    settings = {"typesize": size, "clevel": _LEVEL, "codec": blosc2.Codec.ZSTD, "nthreads": 1}
    return lambda data: blosc2.compress2(data, **settings)


def name_of(chunks: Sequence[PackedChunk], stored: bytes) -> bytes:
    """Return the name of a pack: BLAKE3 of its chunks' names and lengths and of the checksum of
    what is stored."""
    parts = [b"%b%d %d;" % one for one in chunks]
    return blake3(b"".join(parts) + xxh3_128_digest(stored)).digest()


def opened(
    chunks: Sequence[PackedChunk],
    stored: bytes,
    name_chunk: Callable[[memoryview], bytes],
    unseal: Callable[[bytes], bytes] = bytes,
    wanted: frozenset[int] | None = None,
) -> Iterator[tuple[int, Data]]:
    """Yield the chunks of a pack, or those of them that are `wanted`, by their places in it.

    Raises DamagedError where one is not what its name says: nothing of it is handed out.
    """
    body = memoryview(unseal(stored))
    if sum(one.stored for one in chunks) != len(body):
        raise DamagedError("the pack has another length than its chunks")
    grow, at = zstandard.ZstdDecompressor(), 0
    for place, one in enumerate(chunks):
        part = body[at : at + one.stored]
        at += one.stored
        if wanted is not None and place not in wanted:
            continue
        data = part if one.stored == one.length else _grown(grow, part, one.length)
        if len(data) != one.length or name_chunk(memoryview(data)) != one.name:
            raise DamagedError(f"chunk {one.name.hex()[:12]} holds something else")
        yield place, data


def _grown(grow: zstandard.ZstdDecompressor, part: memoryview, length: int) -> bytes:
    """Return a chunk from what is stored; never more than its length, whatever that says."""
    try:
        if bytes(part[:4]) != _ZSTD_BEGINS:
            return _unshuffled(part, length)
        if zstandard.frame_content_size(part) > length:
            raise DamagedError("a chunk says that it is longer than it is")
        return grow.decompress(part, max_output_size=length)
    except (zstandard.ZstdError, struct.error, RuntimeError, ValueError) as error:
        raise DamagedError(f"a chunk does not decompress: {error}") from None


def _unshuffled(part: memoryview, length: int) -> bytes:
    """Return a chunk of Blosc2. Raises DamagedError where its head does not tell these lengths."""
    if len(part) < 32 or _BLOSC2_HEAD.unpack_from(part)[0] != length:
        raise DamagedError("a chunk says that it has another length than it has")
    return bytes(blosc2.decompress2(part))
