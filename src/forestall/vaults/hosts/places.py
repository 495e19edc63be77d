"""From a URL to a storage host."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError
from forestall.vaults.hosts.host import StorageHost

with lazily():
    from forestall.vaults.hosts import folder, objects, remote, served

OBJECTS: Final = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "memory")
SERVED: Final = ("forestall", "forestall+https")
REMOTE: Final = ("sftp", "ssh")
ANY: Final = "fsspec+"


def host_at(url: str) -> StorageHost:
    """Return the storage host at a URL; without a scheme it is a folder.

    Raises ParameterError for what is no such URL; InputError where a daemon's token is missing.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ParameterError("store", url, _allowed()) from None
    if parts.scheme in ("", "file") and (parts.path or parts.netloc):
        if parts.scheme and parts.netloc not in ("", "localhost"):
            raise ParameterError("store", url, "file:///FOLDER, with three slashes")
        return folder.FolderHost(Path(unquote(parts.path) if parts.scheme else url))
    if parts.scheme in OBJECTS:
        return objects.ObjectHost(url)
    if parts.scheme in SERVED:
        return served.ServedHost(url)
    if parts.scheme in REMOTE or parts.scheme.startswith(ANY):
        return remote.RemoteHost(url)
    raise ParameterError("store", url, _allowed())


def _allowed() -> str:
    schemes = (*SERVED, *OBJECTS, *REMOTE, f"{ANY}PROTOCOL")
    return f"a folder, file://, {'://, '.join(schemes)}://"
