"""Packs: some megabytes of compressed chunks, which are coded and stored together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, get_args

import zstandard
from blake3 import blake3
from xxhash import xxh3_128_digest

from forestall.vault.fragments import DamagedError

PACK: Final = 8 * 1024 * 1024
"""Plain bytes from which on a pack is closed."""
Compression = Literal["none", "zstd"]
COMPRESSIONS: Final[tuple[str, ...]] = get_args(Compression)
_LEVEL: Final = 1


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
    compression: Compression = "zstd",
    seal: Callable[[bytes], bytes] = bytes,
) -> Pack:
    """Return chunks, given by name and bytes, as a pack; `seal` encrypts what is stored of it."""
    stored, told = [], []
    shrink = zstandard.ZstdCompressor(level=_LEVEL, write_content_size=False, write_checksum=False)
    for name, data in chunks:
        small = shrink.compress(data) if compression == "zstd" else data
        if len(small) >= len(data):
            small = data
        stored.append(small)
        told.append(PackedChunk(name, len(data), len(small)))
    body = seal(b"".join(stored))
    return Pack(name_of(told, body), tuple(told), body)


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
) -> Iterator[tuple[int, bytes]]:
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
        data = bytes(part) if one.stored == one.length else _grown(grow, part, one.length)
        if len(data) != one.length or name_chunk(memoryview(data)) != one.name:
            raise DamagedError(f"chunk {one.name.hex()[:12]} holds something else")
        yield place, data


def _grown(grow: zstandard.ZstdDecompressor, part: memoryview, length: int) -> bytes:
    """Return a chunk from what is stored; never more than its length, whatever that says."""
    try:
        if zstandard.frame_content_size(part) > length:
            raise DamagedError("a chunk says that it is longer than it is")
        return grow.decompress(part, max_output_size=length)
    except zstandard.ZstdError as error:
        raise DamagedError(f"a chunk does not decompress: {error}") from None
