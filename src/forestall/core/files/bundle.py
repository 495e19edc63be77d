"""One file with values and arrays: a ZIP archive of ``header.json`` and ``NAME.npy``.

Nothing in it is ever executed: no pickles, only JSON and arrays of numbers. The same content gives
the same bytes.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.core.files import budget
from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.findings import shown
from forestall.core.files.guard import making
from forestall.core.files.packed import FREE_OF_RATIO
from forestall.core.model.errors import TraceError, of_system

HEADER: Final = "header.json"
COPIES: Final = 2
"""How often a file's content is held while it is read."""
MOST_RATIO: Final = 100
"""What unpacks to more than so many times its size is none of ours, beyond `FREE_OF_RATIO`."""
_HEADS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a ZIP archive can hold


def write_bundle(
    path: str | Path,
    what: str,
    version: int,
    values: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
) -> None:
    """Write values that JSON can hold and arrays of numbers; see `read_bundle`.

    `what` says what the file is, `version` in which form.
    """
    header = {"format": what, "version": version, "values": values}
    text = json.dumps(header, sort_keys=True, allow_nan=True, indent=1).encode()
    with (
        atomic_path(Path(path)) as place,
        zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, compresslevel=4) as archive,
    ):
        _put(archive, HEADER, text)
        for name in sorted(arrays):
            room = io.BytesIO()
            np.lib.format.write_array(room, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            _put(archive, f"{name}.npy", room.getvalue())


def _put(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def read_bundle(
    path: str | Path, what: str, version: int
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return the values and arrays of a file that `write_bundle` wrote.

    Raises TraceError where it is none, holds something else, or is of a later version.
    """
    place = Path(path)
    with making(place, what), _opened(place, what) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
        if size > max(FREE_OF_RATIO, MOST_RATIO * place.stat().st_size):
            said = f"it unpacks to more than {MOST_RATIO} times its size"
            raise TraceError(place, f"not a {what}, or a damaged one: {said}")
        budget.require(COPIES * size, "what it unpacks to", source=place)
        header = json_of(archive.read(HEADER))
        _check(place, header, what, version)
        arrays = {
            name.removesuffix(".npy"): _array(name, archive.read(name))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    return header["values"], arrays


def _opened(path: Path, what: str) -> zipfile.ZipFile:
    try:
        with of_system(path, "cannot be read"):
            return zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise TraceError(path, f"not a {what}, or a damaged one") from None


def _array(name: str, content: bytes) -> npt.NDArray[Any]:
    """Return an array from its file, of exactly the length that it says: where that is wrong, no
    memory is asked for. Raises ValueError."""
    file = io.BytesIO(content)
    form = np.lib.format.read_magic(file)
    if form not in _HEADS:
        raise ValueError(f"{name}: an array of version {form}")
    shape, by_columns, dtype = _HEADS[form](file)
    size = dtype.itemsize * math.prod(shape)
    if dtype.hasobject or file.tell() + size != len(content):
        raise ValueError(f"{name}: {len(content)} bytes for {dtype} of shape {shape}")
    flat = np.frombuffer(content, dtype, offset=file.tell()) if size else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if by_columns else "C").copy()


def _check(path: Path, header: Any, what: str, version: int) -> None:
    if not isinstance(header, dict) or header.get("format") != what:
        told = header.get("format") if isinstance(header, dict) else None
        known = isinstance(told, str) and told.isprintable() and len(told) < 60
        raise TraceError(path, f"not a {what}" + (f" but a {told}" if known else ""))
    if not isinstance(header.get("values"), dict):
        raise TraceError(path, f"is a damaged {what}: it has no values")
    if not isinstance(header.get("version"), int) or header["version"] > version:
        raise TraceError(
            path, f"has version {shown(header.get('version'))}; this program knows up to {version}"
        )
