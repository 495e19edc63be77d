"""Packs: what went in comes out, small where it can be; nothing that means harm does."""

from __future__ import annotations

import struct

import blosc2
import numpy as np
import pytest
import zstandard

from forestall.vaults.chunks import plain_name
from forestall.vaults.packs import COMPRESSIONS, Compression, Pack, PackedChunks, opened, pack_of
from forestall.vaults.pieces.fragments import DamagedError

SIZE = 16_384
CHANCE = np.random.default_rng(3)
WALK = np.cumsum(CHANCE.normal(size=40 * SIZE // 8)).tobytes()
COUNTS = CHANCE.integers(0, 5000, 40 * SIZE // 4).astype("<i4").tobytes()
TEXT = (b"the last complete checkpoint; " * 30_000)[: 40 * SIZE]
NOISE = CHANCE.bytes(40 * SIZE)


def chunks_of(data: bytes) -> list[tuple[bytes, bytes]]:
    parts = [data[k : k + SIZE] for k in range(0, len(data), SIZE)]
    return [(plain_name(memoryview(one)), one) for one in parts]


def size(data: bytes, compression: Compression) -> int:
    return len(pack_of(chunks_of(data), compression=compression).stored)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("data", [WALK, COUNTS, TEXT, NOISE, bytes(3), b""])
def test_what_went_in_comes_out(data: bytes, compression: Compression) -> None:
    chunks = chunks_of(data)
    pack = pack_of(chunks, compression=compression)
    again = pack_of(chunks, compression=compression)
    assert (pack.name, pack.stored) == (again.name, again.stored)
    third = len(pack.stored) // 3
    for parts in ([pack.stored], [pack.stored[:third], b"", memoryview(pack.stored)[third:]]):
        assert dict(opened(pack.chunks, parts, plain_name)) == dict(
            enumerate(data for _, data in chunks)
        )
    assert len(pack.stored) <= len(data)


def test_auto_takes_what_makes_the_least() -> None:
    for data in (WALK, COUNTS, TEXT):
        assert size(data, "auto") == min(size(data, one) for one in COMPRESSIONS if one != "auto")
    assert size(WALK, "auto") < 0.92 * size(WALK, "zstd")
    assert size(NOISE, "auto") == len(NOISE)


def test_among_chunks_that_nothing_helps_only_hopeful_ones_are_tried() -> None:
    half = SIZE // 2
    blank = bytes(half)  # in the middle of a chunk, and at its ends
    middle = NOISE[: half // 2] + blank + NOISE[: half // 2]
    ends = blank[: half // 2] + NOISE[:half] + blank[: half // 2]
    pack = pack_of(chunks_of(NOISE[:SIZE] + middle + ends + NOISE[SIZE:]))
    tried = pack.chunks.stored < pack.chunks.plain
    assert tried.nonzero()[0].tolist() == [1]


def told(length: int, stored: bytes) -> Pack:
    """A pack of one chunk that says of itself what it likes."""
    sizes = np.array([length], np.uint32), np.array([len(stored)], np.uint32)
    return Pack(b"", PackedChunks(plain_name(memoryview(bytes(100))), *sizes), stored)


BOMB = zstandard.ZstdCompressor().compress(bytes(1 << 26))
UNSIZED = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 26))
SHUFFLED = bytes(blosc2.compress2(bytes(1 << 22), typesize=8))
LYING = SHUFFLED[:4] + struct.pack("<I", 101) + SHUFFLED[8:]


@pytest.mark.parametrize("stored", [BOMB, UNSIZED, SHUFFLED, LYING, SHUFFLED[:40], b"\x05" * 90])
def test_a_bomb_does_not_go_off(stored: bytes) -> None:
    for length in (101, 1 << 30):
        pack = told(length, stored)
        with pytest.raises(DamagedError):
            list(opened(pack.chunks, [pack.stored], plain_name))
