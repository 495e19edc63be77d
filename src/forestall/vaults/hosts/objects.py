"""Object stores as storage hosts: S3, Google Cloud Storage, Azure, and memory, by obstore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import MemoryStore, from_url

from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored, checked_key


class ObjectHost(StorageHost):
    """A bucket, or a folder in one. Credentials come from the environment, as each store has it.

    Parameters
    ----------
    url : such as ``s3://bucket/folder``, or ``memory://``
    """

    def __init__(self, url: str) -> None:
        self.name = urlsplit(url)._replace(query="", fragment="").geturl()
        with self._said():
            self._store: Any = MemoryStore() if url.startswith("memory:") else from_url(url)

    def put(self, key: str, data: bytes) -> None:
        """Store an object; stores of this kind have it whole or not at all."""
        with self._said():
            obstore.put(self._store, checked_key(key), data)

    def get(self, key: str) -> bytes:
        """Return an object."""
        with self._said():
            try:
                return bytes(obstore.get(self._store, checked_key(key)).bytes())
            except (NotFoundError, FileNotFoundError):
                raise AbsentError(self.name, f"{key} is not there") from None

    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects below a prefix."""
        with self._said():
            for batch in obstore.list(self._store, prefix=checked_key(prefix.rstrip("/"))):
                for one in batch:
                    yield Stored(str(one["path"]), int(one["size"]))

    def delete(self, key: str) -> None:
        """Remove an object."""
        with self._said():
            try:
                obstore.delete(self._store, checked_key(key))
            except (NotFoundError, FileNotFoundError):
                return

    @contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            told = str(error).strip().splitlines() or ["it refuses"]
            raise HostError(self.name, told[0]) from None
