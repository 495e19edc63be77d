"""Log files as they lie about: plain, gzip, xz or Zstandard, told apart by their first bytes."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from forestall._lazy import lazily
from forestall.model.errors import MissingExtraError, TraceError, of_system
from forestall.traces.files import budget
from forestall.traces.files.pipes import readable

with lazily():
    import polars as pl

CHUNK = 8 << 20
"""Bytes of text taken at a time, so that a log never lies in memory as a whole."""

PIECE = 2 << 10
"""Packed bytes that are unpacked at a time: no more than 64 MiB can come of them."""
MOST_RATIO = 500
"""What unpacks to more than so many times its size is taken for a bomb, beyond `FREE_OF_RATIO`."""
FREE_OF_RATIO = 64 << 20
WINDOW = 128 << 20
"""Bytes that a frame of Zstandard may ask to be kept while it is unpacked: what `zstd` itself takes
without being told to take more."""
SURE = 0.5
"""Share of what may be taken from which on what a file will take is told from what it took, and
share of that by which it may be wrong."""
SEVERAL = 4
"""What a text that is held as a whole takes while it is parsed, in times of its own size."""
LINE = 180
"""What a line takes beside that, where each becomes an object of Python."""
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
    above: int | None = None  # lines above a piece are counted from the first spoilt one on
    for number, piece in enumerate(_pieces(path, size, nul)):
        spoilt = not _is_utf8(piece)
        if noted is not None and spoilt:
            if above is None:
                before = islice(_pieces(path, size, nul), number)
                above = sum(one.count(b"\n") for one in before)
            noted([above + 1 + place for place in _not_utf8(piece)])
        if above is not None:
            above += piece.count(b"\n")
        yield piece.decode("utf-8", errors="replace").encode() if spoilt else piece


def _pieces(path: str | Path, size: int, nul: bool) -> Iterator[bytes]:
    rest: list[bytes] = []
    with _unpacked(path) as (file, plain):
        bounds = _Bounds(path, plain)
        while block := _read(path, file, size):
            bounds.check(len(block))
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


def _is_utf8(text: bytes) -> bool:
    """Return whether a text is UTF-8; Polars looks at it thirty times as fast as Python does."""
    if text.isascii():
        return True
    try:
        pl.Series([text], dtype=pl.Binary).cast(pl.String)
    except pl.exceptions.PolarsError:
        return False
    return True


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


class _Bounds:
    """What may come of a file: checked while it is read, since nothing tells it beforehand."""

    def __init__(self, path: str | Path, plain: BinaryIO) -> None:
        self.path, self.plain = path, plain
        self.size = readable(path).stat().st_size
        self.text = 0
        self.before, self.allowed = budget.held(), budget.left()

    def check(self, count: int) -> None:
        """Take note of `count` more bytes of text. Raises TraceError where a packed file becomes
        far too large, MemoryLimitError where what is made of the text does, or will."""
        self.text += count
        if self.text > max(FREE_OF_RATIO, MOST_RATIO * self.size):
            said = f"unpacks to more than {MOST_RATIO} times its size"
            raise TraceError(self.path, f"{said}; where that is right, unpack it first")
        taken = budget.held() - self.before
        whole = taken * self.size / max(1, self.plain.tell())
        if taken > self.allowed or (taken > SURE * self.allowed and whole > self.allowed / SURE):
            raise budget.refusal(whole, self.allowed, "reading it", source=self.path)


def read_bytes(path: str | Path, noted: Noted | None = None, *, line: int = 0) -> bytes:
    """Return the whole text of a file, unpacked; see `chunks_of_lines`.

    What is made of a line takes `line` bytes beside its text, about: MemoryLimitError where all
    of it is too much.
    """
    pieces, needed = [], 0
    for piece in chunks_of_lines(path, noted=noted):
        needed += SEVERAL * len(piece) + (line * piece.count(b"\n") if line else 0)
        budget.require(needed, "its text, held as a whole,", source=path)
        pieces.append(piece)
    return b"".join(pieces)


def read_lines(path: str | Path, noted: Noted | None = None) -> list[str]:
    """Return the lines of a file, unpacked, without their ends; see `chunks_of_lines`."""
    return text_of(read_bytes(path, noted, line=LINE)).splitlines()


def read_head(path: str | Path, size: int = 1 << 16) -> bytes:
    """Return the first bytes of a file, unpacked, as they are (it may be binary)."""
    with _unpacked(path) as (file, _):
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
    """The text of frames (xz: streams) one after the other, of which little is unpacked at a time.

    Zstandard's own stream reader takes a frame without an end for a whole one, and that of xz has
    no limit of memory. `start` returns what unpacks one frame.
    """

    def __init__(self, file: BinaryIO, start: Callable[[], Any]) -> None:
        self._file = file
        self._start = start
        self._frame: Any = None
        self._packed = memoryview(b"")
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or memoryview(self._file.read(CHUNK // 16))
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the last frame has no end")
                return 0
            self._take()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _take(self) -> None:
        """Unpack the next piece of the frame, or of one after it."""
        piece = self._packed[:PIECE]
        taken = len(piece)
        if self._frame is None and piece[0] == 0:  # streams of xz may have zeros between them
            taken -= len(bytes(piece).lstrip(b"\0"))
        else:
            self._frame = self._frame or self._start()
            self._ready = memoryview(self._frame.decompress(piece))
            if self._frame.eof:
                taken -= len(self._frame.unused_data)
                self._frame = None
        self._packed = self._packed[taken:]


@contextmanager
def _unpacked(path: str | Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open a file, and yield its text and the file itself."""
    place = Path(path)
    if place.is_dir():
        raise TraceError(path, "is a folder; expected a file")
    with of_system(path, "cannot be read"):
        plain = readable(place).open("rb")
    with plain:
        first = plain.read(8)
        plain.seek(0)
        kind = next((kind for magic, kind in _MAGIC if first.startswith(magic)), "")
        if kind == "gzip":
            text: Any = gzip.GzipFile(fileobj=plain)
        elif kind == "xz":
            most = max(1, budget.left())
            text = io.BufferedReader(_Frames(plain, lambda: lzma.LZMADecompressor(memlimit=most)))
        elif kind == "zstd":
            unpacker = _zstandard().ZstdDecompressor(max_window_size=WINDOW)
            text = io.BufferedReader(_Frames(plain, unpacker.decompressobj))
        else:
            text = plain
        yield text, plain


def _read(path: str | Path, file: BinaryIO, size: int) -> bytes:
    try:
        return file.read(size)
    except _PACKED as error:
        raise _unusable(path, error) from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except Exception as error:
        if type(error).__name__ == "ZstdError":  # known by name: the package is optional
            raise _unusable(path, error) from None
        raise


def _unusable(path: str | Path, error: Exception) -> TraceError:
    said = _first_line(error)
    what = "is cut off" if isinstance(error, EOFError) else "is damaged"
    if "memory" in said.lower():  # a window, a dictionary
        what = "needs too much memory; unpack it first"
    return TraceError(path, f"{what}: unpacking it failed ({said})")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
