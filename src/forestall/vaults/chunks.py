"""Data cut into chunks, each with a name made from its content.

Content-defined: where data is cut depends on the data about that place alone, so that an insertion
moves the chunks behind it and does not change them (FastCDC: Xia et al., USENIX ATC 2016). In
blocks: at multiples of a size, for images of memory, whose pages stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, NamedTuple, get_args

import numpy as np

from forestall.core.model.errors import ParameterError
from forestall.vaults.libraries import FastCDC, blake3

KIB: Final = 1024
WINDOW: Final = 8 * KIB * KIB
"""Bytes that are read at once."""
_SMALL: Final = KIB * KIB
Method = Literal["content", "blocks"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
NameOf = Callable[[memoryview], bytes]


class Cuts(NamedTuple):
    """Chunks that follow one another: their names, 32 bytes each, and their bytes: views of one
    buffer, which is there as long as one of them is."""

    names: list[bytes]
    parts: list[memoryview]

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum(map(len, self.parts))


@dataclass(frozen=True)
class Cutting:
    """How data is cut.

    Parameters
    ----------
    method : ``content`` or ``blocks``
    size : bytes of a chunk: on average where content decides, else of each block; a power of two
        from 1 KiB to 1 MiB
    """

    method: Method = "content"
    size: int = 16 * KIB

    def __post_init__(self) -> None:
        if self.method not in ("content", "blocks"):
            raise ParameterError("method", self.method, "'content' or 'blocks'")
        if self.size & (self.size - 1) or not KIB <= self.size <= KIB * KIB:
            raise ParameterError("size", self.size, "a power of two from 1 KiB to 1 MiB")

    @property
    def largest(self) -> int:
        """Bytes of the largest chunk."""
        return self.size if self.method == "blocks" else 8 * self.size


def plain_name(data: memoryview) -> bytes:
    """Return the name of a chunk: BLAKE3 of its bytes."""
    return blake3(data).digest()


def keyed_name(key: bytes) -> NameOf:
    """Return what names chunks so that nobody without the key can tell what is in them."""
    return lambda data: blake3(data, key=key).digest()


def cut_file(
    file: BinaryIO, size: int, cutting: Cutting, name_of: NameOf = plain_name
) -> Iterator[Cuts]:
    """Yield the chunks of a file that shall have so many bytes, as `cut_stream` does; small ones
    are read at once, which takes half the time."""
    if 0 < size < _SMALL:
        data = file.read(size + 1)
        if len(data) == size:
            parts = list(_parts(memoryview(data), size, cutting))
            yield Cuts(list(map(name_of, parts)), parts)
            return
        file.seek(0)  # it was changed
    yield from cut_stream(file, cutting, name_of)


def cut_stream(stream: BinaryIO, cutting: Cutting, name_of: NameOf = plain_name) -> Iterator[Cuts]:
    """Yield the chunks of a stream, from its present place to its end, some megabytes at a time."""
    left, ended = memoryview(b""), False
    while not ended:
        whole = np.empty(WINDOW + cutting.largest, np.uint8).data.cast("B")
        whole[: len(left)] = left
        held, ended = _filled(stream, whole, len(left))
        # Where less than a largest chunk follows, more data may move a chunk's end.
        until = held if ended else held - cutting.largest + 1
        parts = list(_parts(whole[:held], until, cutting))
        done = sum(map(len, parts))
        yield Cuts(list(map(name_of, parts)), parts)
        left = whole[done:held]


def _filled(stream: BinaryIO, whole: memoryview, held: int) -> tuple[int, bool]:
    """Fill a buffer from a stream; return how much is in it, and whether that is the end."""
    while held < len(whole):
        count = stream.readinto(whole[held:])  # type: ignore[attr-defined]
        if not count:
            return held, True
        held += count
    return held, False


def _parts(data: memoryview, until: int, cutting: Cutting) -> Iterator[memoryview]:
    """Yield the chunks of data that begin before a place."""
    if cutting.method == "blocks":
        for at in range(0, until, cutting.size):
            yield data[at : at + cutting.size]
    elif data:
        small, large = cutting.size // 4, 8 * cutting.size
        if len(data) <= small:
            if until > 0:
                yield data
            return
        cdc = FastCDC(avg_size=cutting.size, min_size=small, max_size=large)
        for one in cdc.cut_buf(data):
            if one.offset >= until:
                break
            yield one.data
