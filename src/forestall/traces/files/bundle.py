"""One file with values and arrays: a ZIP archive of ``header.json`` and ``NAME.npy``.

Nothing in it is ever executed: no pickles, only JSON and arrays of numbers. The same content gives
the same bytes.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from forestall.model.errors import TraceError
from forestall.traces.files import budget
from forestall.traces.files.atomic import atomic_path
from forestall.traces.files.documents import json_of

HEADER: Final = "header.json"
COPIES: Final = 2
"""How often a file's content is held while it is read."""
DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError,
    NotImplementedError, OverflowError,
)  # fmt: skip
"""What reading a damaged archive raises."""
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
    try:
        with zipfile.ZipFile(place) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            budget.require(COPIES * size, "what it unpacks to", source=place)
            header = json_of(archive.read(HEADER))
            _check(place, header, what, version)
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(
                    io.BytesIO(archive.read(name)), allow_pickle=False
                )
                for name in archive.namelist()
                if name.endswith(".npy")
            }
    except OSError as error:
        raise TraceError(place, f"cannot be read: {error.strerror or error}") from None
    except DAMAGE:
        raise TraceError(place, f"is no {what}, or a damaged one") from None
    except RuntimeError:  # an encrypted archive
        raise TraceError(place, f"is no {what}: it is encrypted") from None
    return header["values"], arrays


def _check(path: Path, header: Any, what: str, version: int) -> None:
    if not isinstance(header, dict) or header.get("format") != what:
        told = header.get("format") if isinstance(header, dict) else None
        raise TraceError(path, f"is no {what}" + (f" but a {told}" if told else ""))
    if not isinstance(header.get("version"), int) or header["version"] > version:
        raise TraceError(
            path, f"has version {header.get('version')}; this program knows up to {version}"
        )
