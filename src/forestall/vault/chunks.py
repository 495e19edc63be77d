"""Data cut into chunks, each with a name made from its content.

Content-defined: where data is cut depends on the data about that place alone, so that an insertion
moves the chunks behind it and does not change them (FastCDC: Xia et al., USENIX ATC 2016). In
blocks: at multiples of a size, for images of memory, whose pages stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, NamedTuple

from blake3 import blake3
from pyfastcdc import FastCDC

from forestall.model.errors import ParameterError

KIB: Final = 1024
WINDOW: Final = 8 * KIB * KIB
"""Bytes that are read at once."""
Method = Literal["content", "blocks"]
NameOf = Callable[[memoryview], bytes]


class Cut(NamedTuple):
    """A chunk: its name, 32 bytes, and its bytes: a view that holds until more are asked for."""

    name: bytes
    data: memoryview


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


def cut_stream(
    stream: BinaryIO, cutting: Cutting, name_of: NameOf = plain_name
) -> Iterator[list[Cut]]:
    """Yield the chunks of a stream, from its present place to its end, some megabytes at a time."""
    buffer = bytearray(WINDOW + cutting.largest)
    whole, held, ended = memoryview(buffer), 0, False
    while not ended:
        held, ended = _filled(stream, whole, held)
        keep = 0 if ended else cutting.largest
        found, done = [], 0
        for end in _ends(whole[:held], cutting):
            if held - done < keep:  # more data may move this chunk's end
                break
            part = whole[done:end]
            found.append(Cut(name_of(part), part))
            done = end
        yield found
        left = held - done
        whole[:left] = bytes(whole[done:held])
        held = left


def _filled(stream: BinaryIO, whole: memoryview, held: int) -> tuple[int, bool]:
    """Fill a buffer from a stream; return how much is in it, and whether that is the end."""
    while held < len(whole):
        count = stream.readinto(whole[held:])  # type: ignore[attr-defined]
        if not count:
            return held, True
        held += count
    return held, False


def _ends(data: memoryview, cutting: Cutting) -> Iterator[int]:
    """Yield where chunks end."""
    if not data:
        return
    if cutting.method == "blocks":
        yield from range(cutting.size, len(data), cutting.size)
        yield len(data)
        return
    small, large = cutting.size // 4, 8 * cutting.size
    for one in FastCDC(avg_size=cutting.size, min_size=small, max_size=large).cut_buf(data):
        yield one.offset + one.length
