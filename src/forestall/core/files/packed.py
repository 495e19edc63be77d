"""Log files as they lie about: plain, gzip, xz or Zstandard, told apart by their first bytes.

Their text becomes UTF-8 with lines that end in a newline: byte order marks go, UTF-16 and UTF-32
are decoded, the ends of DOS and old Mac lines become newlines. NUL bytes, as a crash or a rotation
under an open file leaves them, are dropped and noted.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from forestall.core._lazy import lazily
from forestall.core.files import budget
from forestall.core.files.pipes import readable
from forestall.core.model.errors import MissingExtraError, TraceError, of_system

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
HEAD = 1 << 16
"""Bytes by which it is known what a text is."""
HEAD_LINES = 50
GAP = b"\0" * 64
"""So many NUL bytes are a gap: what a crash did not write, or a rotation left. A field that is
padded with NUL bytes has fewer."""
Damage = Literal["encoding", "nul", "nul_gap"]
DAMAGES: Final[Mapping[Damage, tuple[str, str]]] = {
    "encoding": ("lines that are not UTF-8, with signs replaced", "is not UTF-8"),
    "nul": ("lines with NUL bytes, which were removed", "has NUL bytes; expected text"),
    "nul_gap": (
        "lines with a gap of NUL bytes, before which they were cut off",
        "has a gap of NUL bytes; expected text",
    ),
}
"""What is wrong with lines of any text: in words, and as an error says it of one."""
Noted = Callable[[Damage, Iterable[int]], None]
"""Called with what is wrong with lines, and their 1-based numbers."""

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\x00", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # it begins as that of UTF-16 does
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONG_GAP = re.compile(GAP + b"\0+")
_BLANK = b"\0 \t\r\f\v"
_CONTROL = bytes({*range(32), 127} - set(b"\0\t\n\v\f\r\x1b"))
MOST_CONTROL = 0.02
"""Share of control signs from which on what has NUL bytes is no text."""
_PACKED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError)


def chunks_of_lines(
    path: str | Path, size: int = CHUNK, *, noted: Noted | None = None
) -> Iterator[bytes]:
    """Yield the text of a file, unpacked, in pieces of whole lines, each ending with a newline.

    It is UTF-8, whatever was in the file: what is none becomes the sign for that, NUL bytes are
    dropped, and `noted` is told. In a line with a gap of NUL bytes only what follows it is read:
    what stands before was never finished. Raises TraceError where the file cannot be read, is
    packed badly or cut off, or is binary; MissingExtraError where unpacking it needs an extra.
    """
    above: int | None = None  # lines above a piece are counted from the first spoilt one on
    for number, piece in enumerate(_pieces(path, size)):
        text, spoilt = _mended(piece)
        if noted is not None and spoilt:
            if above is None:
                before = islice(_pieces(path, size), number)
                above = sum(one.count(b"\n") for one in before)
            for damage, places in spoilt.items():
                noted(damage, [above + 1 + place for place in places])
        if above is not None:
            above += text.count(b"\n")
        yield text


def _pieces(path: str | Path, size: int) -> Iterator[bytes]:
    rest: list[bytes] = []
    for block in _blocks(path, size):
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, block[:cut]))
            rest = []
        rest.append(block[cut:])
    last = b"".join(rest)
    if last:
        yield last.removesuffix(b"\r") + b"\n"


def _blocks(path: str | Path, size: int) -> Iterator[bytes]:
    """Yield the text of a file piecemeal, decoded; long runs of NUL bytes become gaps."""
    decode: Callable[[bytes], bytes] | None = None
    only_nul = False
    with _unpacked(path) as (file, plain):
        bounds = _Bounds(path, plain)
        while block := _read(path, file, size if decode else max(size, HEAD)):
            bounds.check(len(block))
            if decode is None and not block.strip(b"\0"):  # what was rotated under an open file
                only_nul = True
                yield GAP
                continue
            decode = decode or _decoder(path, block[:HEAD])
            text = decode(block)
            yield _LONG_GAP.sub(GAP, text) if GAP in text else text
    if only_nul and decode is None:
        raise TraceError(path, "holds nothing but NUL bytes; expected text")


def _decoder(path: str | Path, head: bytes) -> Callable[[bytes], bytes]:
    """Return what makes UTF-8 with newlines of blocks of a file that begins so."""
    name = _encoding(head)
    decode: Callable[[bytes], bytes] = bytes
    if name:
        signs = codecs.getincrementaldecoder(name)("surrogatepass")

        def decode(block: bytes) -> bytes:
            return signs.decode(block).encode("utf-8", "surrogatepass")

    signs_of = head.decode(name, "replace").encode() if name else head
    if b"\0" in head and _is_binary(signs_of):
        raise TraceError(path, "is a binary file; expected text")
    head = signs_of
    if b"\r" in head and b"\n" not in head:
        return lambda block: decode(block).replace(b"\r", b"\n")
    return decode


def _encoding(head: bytes) -> str:
    """Return how a text is encoded where its byte order mark or its zeros tell, else ""."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if len(head) >= 4 and not any(head[1:64:2]) and all(head[:64:2]):
        return "utf-16-le"
    if len(head) >= 4 and not any(head[:64:2]) and all(head[1:64:2]):
        return "utf-16-be"
    return ""


def _is_binary(head: bytes) -> bool:
    """Return whether what has NUL bytes is no text beside them."""
    signs = head.replace(b"\0", b"")
    control = len(signs) - len(signs.translate(None, _CONTROL))
    return control > len(signs) * MOST_CONTROL or is_tar(head)


def is_tar(head: bytes) -> bool:
    """Return whether a file starts as a tar archive does."""
    return head[257:262] == b"ustar"


def _mended(piece: bytes) -> tuple[bytes, dict[Damage, list[int]]]:
    """Return whole lines as they are read, and the places, from 0, of those that were spoilt."""
    spoilt: dict[Damage, list[int]] = {}
    if b"\r" in piece:
        piece = piece.replace(b"\r\n", b"\n")
    if b"\0" in piece:
        piece = _without_nul(piece, spoilt)
    if codecs.BOM_UTF8 in piece:  # at any line: files are put together
        piece = piece.removeprefix(codecs.BOM_UTF8)
        piece = piece.replace(b"\n" + codecs.BOM_UTF8, b"\n")
    if not _is_utf8(piece):
        spoilt["encoding"] = list(_not_utf8(piece))
        piece = piece.decode("utf-8", errors="replace").encode()
    return piece, spoilt


def _without_nul(piece: bytes, spoilt: dict[Damage, list[int]]) -> bytes:
    lines = piece.split(b"\n")
    for place, line in enumerate(lines):
        if b"\0" not in line:
            continue
        begun, gap, rest = line.rpartition(GAP)
        if gap and begun.strip(_BLANK) and rest.strip(_BLANK):
            spoilt.setdefault("nul_gap", []).append(place)
            line = rest
        else:
            spoilt.setdefault("nul", []).append(place)
        lines[place] = line.replace(b"\0", b"")
    return b"\n".join(lines)


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


def plain_text(raw: bytes, noted: Noted) -> bytes:
    """Return a text that is held already, such as a member of an archive, as `chunks_of_lines`
    reads it."""
    text, spoilt = _mended(_LONG_GAP.sub(GAP, raw))
    for damage, places in spoilt.items():
        noted(damage, [1 + place for place in places])
    return text


def read_lines(path: str | Path, noted: Noted | None = None) -> list[str]:
    """Return the lines of a file, unpacked, without their ends; see `chunks_of_lines`."""
    text = text_of(read_bytes(path, noted, line=LINE))
    return text[:-1].split("\n") if text else []


def read_head(path: str | Path, size: int = HEAD) -> bytes:
    """Return the first bytes of a file, unpacked, as they are (it may be binary)."""
    with _unpacked(path) as (file, _):
        return _read(path, file, size)


def head_text(path: str | Path) -> str:
    """Return the beginning of a text as `chunks_of_lines` reads it, "" where there is only blank.

    Raises TraceError where it is binary.
    """
    begun = b""
    for block in _blocks(path, HEAD):
        begun, _ = _mended(begun + block)
        if begun.strip():
            break
    return text_of(begun)


def head_lines(path: str | Path, *, binary: bool = False) -> tuple[str, ...]:
    """Return the first lines of a text; see `head_text`. Of a file that is none there are none
    where it may be `binary`."""
    try:
        text = head_text(path)
    except TraceError:
        if not binary:
            raise
        return ()
    return tuple(text.removesuffix("\n").split("\n")[:HEAD_LINES])


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
