"""Parts of a checkpoint's files in memory: each pack that they need is fetched once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from forestall.core.model.errors import InputError, ParameterError
from forestall.vaults.manifests import Manifest, references_of, runs_of
from forestall.vaults.pieces.codes import Data
from forestall.vaults.places import offsets_of
from forestall.vaults.pool import LostError
from forestall.vaults.recovery import ahead, needed
from forestall.vaults.repository import Vault
from forestall.vaults.trees.entries import SavedEntry


class Span(NamedTuple):
    """Bytes of a file of a checkpoint."""

    path: str
    offset: int
    length: int


class _SpanPart(NamedTuple):
    """A span among the checkpoint's bytes, and its chunks: from the `first` to before `last`."""

    begin: int
    end: int
    first: int
    last: int


def read_file(vault: Vault, manifest: Manifest, path: str) -> bytes:
    """Return a file of a checkpoint. Raises InputError where there is none, LostError where too few
    pieces are left."""
    entry = _file(manifest, path)
    return bytes(read_spans(vault, manifest, [Span(path, 0, entry.size)])[0])


def read_spans(vault: Vault, manifest: Manifest, spans: Sequence[Span]) -> list[bytearray]:
    """Return parts of files, in order; chunks are checked before anything of them is handed out."""
    offsets = offsets_of(vault, manifest)
    parts = [_part(manifest, offsets, one) for one in spans]
    found = [bytearray(one.end - one.begin) for one in parts]
    users: dict[int, list[int]] = {}
    for number, one in enumerate(parts):
        for chunk in range(one.first, one.last):
            users.setdefault(chunk, []).append(number)
    wanted = sorted(users)
    entry = SavedEntry("spans", "file", 0, 0, 0, 0, len(wanted))
    runs = runs_of(references_of(manifest.runs)[wanted])
    for fetch, need in ahead(vault, needed(vault, replace(manifest, runs=runs, entries=(entry,)))):
        chunks = fetch.wanted(np.unique(need.chunks[:, 0]).tolist())
        for place, index in need.chunks.tolist():
            at = int(offsets[wanted[index]])
            for number in users[wanted[index]]:
                _fill(found[number], parts[number].begin, chunks[place], at)
    return found


def _fill(into: bytearray, begin: int, data: Data, at: int) -> None:
    """Copy what of a chunk `at` its place belongs to a part."""
    low, high = max(at, begin), min(at + len(data), begin + len(into))
    into[low - begin : high - begin] = data[low - at : high - at]


def _part(manifest: Manifest, offsets: npt.NDArray[np.int64], span: Span) -> _SpanPart:
    entry = _file(manifest, span.path)
    if span.offset < 0 or span.length < 0 or span.offset + span.length > entry.size:
        raise ParameterError("span", span, f"within the {entry.size} bytes of the file")
    base = int(offsets[entry.first])
    if int(offsets[entry.first + entry.count]) - base != entry.size:
        raise LostError(f"{span.path} has another size than its chunks")
    begin, end = base + span.offset, base + span.offset + span.length
    if begin == end:
        return _SpanPart(begin, end, 0, 0)
    first = int(np.searchsorted(offsets, begin, side="right")) - 1
    return _SpanPart(begin, end, first, int(np.searchsorted(offsets, end, side="left")))


def _file(manifest: Manifest, path: str) -> SavedEntry:
    for one in manifest.entries:
        if one.path == path and one.kind == "file":
            return one
    raise InputError(f"checkpoint {manifest.name} has no file {path!r}")
