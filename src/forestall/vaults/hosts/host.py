"""What the vault asks of a storage host, and what can go wrong with one."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from forestall.core.model.errors import InputError, ParameterError

KEY: Final = re.compile(r"[a-z0-9][a-zA-Z0-9._-]*(?:/[a-zA-Z0-9][a-zA-Z0-9._-]*){0,3}")
"""Names of objects: a few parts, none of which could lead out of a folder."""


class HostError(InputError):
    """A storage host that does not do what it was asked: it is away, full, or refuses.

    Parameters
    ----------
    host : its name
    message : what was wrong
    number : the error's number in the system, 0 where it has none
    """

    def __init__(self, host: str, message: str, number: int = 0) -> None:
        self.host, self.number = host, number
        super().__init__(message, before=f"{host}: ")


class AbsentError(HostError):
    """An object that is not on a host."""


class LoadedError(HostError):
    """A storage host that is at its limit of clients for longer than one waits."""


class Stored(NamedTuple):
    """An object on a host: its key and how many bytes it has."""

    key: str
    size: int


class HostLook(NamedTuple):
    """What a storage host says of itself; nan where it does not.

    Attributes
    ----------
    io : share of the time in which its disk is busy
    clients, limit : that it serves, and at most
    stored, quota : bytes that lie there, and may
    since : when it was started, s since 1970
    """

    io: float = math.nan
    clients: float = math.nan
    limit: float = math.nan
    stored: float = math.nan
    quota: float = math.nan
    since: float = math.nan


class StorageHost(ABC):
    """A storage host. Any thread may use it; all methods raise HostError.

    `name` : by which it is known in manifests and messages; no secrets stand in it
    `folder` : where it lies, if that is a folder of this machine
    """

    name: str
    folder: Path | None = None

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Store an object: whole and durable once this returns, or not at all. What stood there is
        replaced."""

    def put_parts(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        """Store an object that is given in parts that follow one another, as `put` does."""
        self.put(key, b"".join(parts))

    @abstractmethod
    def get(self, key: str) -> bytes:
        """Return an object. Raises AbsentError where there is none."""

    @abstractmethod
    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects whose keys begin with a prefix that ends in a slash."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""

    def sweep(self, before: float) -> int:
        """Remove what is half-written since before a moment, s since 1970, where such can be;
        return how many."""
        return 0

    def look(self) -> HostLook:
        """Return what the host says of itself; it must answer."""
        next(iter(self.keys("leases/")), None)
        return HostLook()

    def place(self) -> str:
        """Return what tells its place from all others, alike for two names of one place; "" where
        nobody can tell."""
        return ""

    def hold(self, key: str, stored: bytes) -> None:  # noqa: B027 - most cannot be swapped
        """From now on be the place where this object lies, and fail where another one is there: a
        disk that was unmounted leaves an empty folder."""

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of connections; the next request makes them anew."""


def checked_key(key: str) -> str:
    """Return a key; ParameterError where it is none."""
    if len(key) > 200 or not KEY.fullmatch(key):
        raise ParameterError("key", key, "a few parts of letters, digits, dots and hyphens")
    return key
