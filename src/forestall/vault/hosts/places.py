"""From a URL to a storage host."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from forestall.model.errors import ParameterError
from forestall.vault.hosts.folder import FolderHost
from forestall.vault.hosts.host import StorageHost
from forestall.vault.hosts.objects import ObjectHost

_OBJECTS = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "memory")


def host_at(url: str) -> StorageHost:
    """Return the storage host at a URL; without a scheme it is a folder. Raises ParameterError."""
    parts = urlsplit(url)
    if parts.scheme in ("", "file") and (parts.path or parts.netloc):
        if parts.scheme and parts.netloc not in ("", "localhost"):
            raise ParameterError("store", url, "file:///FOLDER, with three slashes")
        return FolderHost(Path(unquote(parts.path) if parts.scheme else url))
    if parts.scheme in _OBJECTS:
        return ObjectHost(url)
    raise ParameterError("store", url, f"a folder, file://, {'://, '.join(_OBJECTS)}://")
