"""Object stores as storage hosts: S3, Google Cloud Storage, Azure, and memory, by obstore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import MemoryStore, from_url

from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored, checked_key
from forestall.vaults.hosts.progress import ENTRY, SILENCE, progress_here

_RETRY: Final[Any] = {"max_retries": 3, "retry_timeout": timedelta(seconds=SILENCE)}
"""Without it a store that does not answer is asked for three minutes."""


class ObjectHost(StorageHost):
    """A bucket, or a folder in one. Credentials come from the environment, as each store has it.

    Parameters
    ----------
    url : such as ``s3://bucket/folder``, or ``memory://``
    """

    def __init__(self, url: str) -> None:
        self.name = urlsplit(url)._replace(query="", fragment="").geturl()
        with self._said():
            self._store: Any = MemoryStore() if url.startswith("memory:") else from_url(
                url, retry_config=_RETRY
            )  # fmt: skip

    def put(self, key: str, data: bytes) -> None:
        """Store an object; stores of this kind have it whole or not at all."""
        with self._said():
            progress_here().expect(len(data))  # nobody sees how far it is
            obstore.put(self._store, checked_key(key), data)

    def get(self, key: str) -> bytes:
        """Return an object."""
        with self._said():
            try:
                parts = []
                for part in obstore.get(self._store, checked_key(key)).stream():
                    progress_here().add(len(part))
                    parts.append(bytes(part))
                return b"".join(parts)
            except (NotFoundError, FileNotFoundError):
                raise AbsentError(self.name, f"{key} is not there") from None

    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects below a prefix."""
        with self._said():
            for batch in obstore.list(self._store, prefix=checked_key(prefix.rstrip("/"))):
                progress_here().add(ENTRY * len(batch))
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
