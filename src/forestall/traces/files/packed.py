"""Log files as they lie about: plain, gzip, xz or Zstandard, told apart by their first bytes."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from forestall.model.errors import MissingExtraError, TraceError, of_system

CHUNK = 8 << 20
"""Bytes of text taken at a time, so that a log never lies in memory as a whole."""

Noted = Callable[[list[int]], None]
"""Called with the 1-based numbers of lines that are not UTF-8."""

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))
_PACKED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def chunks_of_lines(
    path: str | Path, size: int = CHUNK, *, nul: bool = False, noted: Noted | None = None
) -> Iterator[bytes]:
    """Yield the text of a file, unpacked, in pieces of whole lines, each ending with a newline.

    It is UTF-8, whatever was in the file: what is none becomes the sign for that, and `noted` is
    told. Raises TraceError where the file cannot be read, is packed badly or cut off, or is no text
    (`nul`: a text may hold NUL bytes, as after a crash); MissingExtraError where unpacking it
    needs an extra.
    """
    above = 0
    for piece in _pieces(path, size, nul):
        if piece.isascii():
            yield piece
        else:
            yield _as_utf8(piece, above, noted)
        if noted is not None:
            above += piece.count(b"\n")


def _pieces(path: str | Path, size: int, nul: bool) -> Iterator[bytes]:
    rest: list[bytes] = []
    with _unpacked(path) as file:
        while block := _read(path, file, size):
            if not nul and b"\0" in block:
                raise TraceError(path, "is a binary file; expected text")
            cut = block.rfind(b"\n") + 1
            if cut:
                yield b"".join((*rest, block[:cut]))
                rest = []
            rest.append(block[cut:])
    last = b"".join(rest)
    if last:
        yield last + b"\n"


def _as_utf8(piece: bytes, above: int, noted: Noted | None) -> bytes:
    """Return whole lines with the sign for it in the place of what is not UTF-8."""
    try:
        codecs.utf_8_decode(piece, "strict", True)
    except UnicodeDecodeError:
        if noted is not None:
            noted([above + 1 + place for place in _not_utf8(piece)])
        return piece.decode("utf-8", errors="replace").encode()
    return piece


def _not_utf8(text: bytes) -> Iterator[int]:
    """Yield the places of the lines that are not UTF-8, from 0."""
    begin = line = 0
    while begin < len(text):
        try:
            codecs.utf_8_decode(memoryview(text)[begin:], "strict", True)
        except UnicodeDecodeError as error:
            line += text.count(b"\n", begin, begin + error.start)
            yield line
            begin = text.find(b"\n", begin + error.start) + 1 or len(text)
            line += 1
        else:
            return


def read_bytes(path: str | Path, noted: Noted | None = None) -> bytes:
    """Return the whole text of a file, unpacked; see `chunks_of_lines`."""
    return b"".join(chunks_of_lines(path, noted=noted))


def read_lines(path: str | Path, noted: Noted | None = None) -> list[str]:
    """Return the lines of a file, unpacked, without their ends; see `chunks_of_lines`."""
    return text_of(read_bytes(path, noted)).splitlines()


def read_head(path: str | Path, size: int = 1 << 16) -> bytes:
    """Return the first bytes of a file, unpacked, as they are (it may be binary)."""
    with _unpacked(path) as file:
        return _read(path, file, size)


def text_of(raw: bytes) -> str:
    """Return bytes as text that can be written again: what is not UTF-8 becomes the sign for it."""
    return raw.decode("utf-8", errors="replace")


def pack(path: Path, data: bytes, suffix: str) -> None:
    """Write `data` to `path`, packed as the `suffix` (.gz, .xz, .zst, else plain) says.

    The same data gives the same bytes: no time or name goes into the file.
    """
    if suffix == ".gz":
        path.write_bytes(gzip.compress(data, mtime=0))
    elif suffix == ".xz":
        path.write_bytes(lzma.compress(data, preset=1))  # the default takes ten times as long
    elif suffix == ".zst":
        path.write_bytes(_zstandard().ZstdCompressor(write_checksum=True).compress(data))
    else:
        path.write_bytes(data)


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("a log packed with Zstandard (.zst)", "archive") from None
    return zstandard


class _Frames(io.RawIOBase):
    """The text of Zstandard frames one after the other.

    The package's own stream reader takes a frame without an end for a whole one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decompressor = _zstandard().ZstdDecompressor()
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            rest = self._file.read(CHUNK // 16)
            if not rest:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return 0
            self._ready = memoryview(b"".join(self._take(rest)))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _take(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            if self._frame is None:
                self._frame = self._decompressor.decompressobj()
            yield self._frame.decompress(packed)
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame = None


@contextmanager
def _unpacked(path: str | Path) -> Iterator[BinaryIO]:
    place = Path(path)
    if place.is_dir():
        raise TraceError(path, "is a folder; expected a file")
    with of_system(path, "cannot be read"):
        plain = place.open("rb")
    with plain:
        first = plain.read(8)
        plain.seek(0)
        kind = next((kind for magic, kind in _MAGIC if first.startswith(magic)), "")
        if kind == "gzip":
            yield gzip.GzipFile(fileobj=plain)  # type: ignore[misc]  # reads as a BinaryIO does
        elif kind == "xz":
            with lzma.open(plain) as file:
                yield file  # type: ignore[misc]  # the same
        elif kind == "zstd":
            yield io.BufferedReader(_Frames(plain))
        else:
            yield plain


def _read(path: str | Path, file: BinaryIO, size: int) -> bytes:
    try:
        return file.read(size)
    except _PACKED as error:
        what = "is cut off" if isinstance(error, EOFError) else "is damaged"
        raise TraceError(path, f"{what}: unpacking it failed ({_first_line(error)})") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":  # known by name: the package is optional
            raise TraceError(
                path, f"is damaged: unpacking it failed ({_first_line(error)})"
            ) from None
        raise


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
