"""File systems elsewhere as storage hosts: SFTP, and whatever else fsspec knows."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from fsspec import AbstractFileSystem, get_filesystem_class

from forestall.core.model.errors import MissingExtraError, ParameterError
from forestall.core.show.clean import clean
from forestall.vaults.hosts.host import AbsentError, HostError, StorageHost, Stored, checked_key
from forestall.vaults.hosts.progress import ENTRY, SILENCE, progress_here

T = TypeVar("T")
SFTP: Final = ("sftp", "ssh")
ANY: Final = "fsspec+"
"""What stands before the name of any other protocol."""
_PART: Final = 2**18
"""Bytes that are read or written at once."""


class RemoteHost(StorageHost):
    """A folder on a file system of fsspec's.

    Where the file system can rename, an object is written beside its place and renamed into it;
    where it cannot, as object stores cannot, one must be there whole or not at all by itself. One
    request is under way at a time; after one that failed the connection is made anew.

    Parameters
    ----------
    url : ``sftp://USER@HOST:PORT/FOLDER``, or ``fsspec+PROTOCOL://...``
    """

    def __init__(self, url: str) -> None:
        self._url = url.removeprefix(ANY)
        parts = urlsplit(self._url)
        place = parts.netloc.rpartition("@")
        user = place[0].partition(":")[0]
        shown = f"{user}@{place[2]}" if user else place[2]
        prefix = ANY if url.startswith(ANY) else ""
        self.name = f"{prefix}{parts.scheme}://{shown}{parts.path}"
        self._kind = _kind(parts.scheme, self.name)
        self._base = self._kind._strip_protocol(self._url).rstrip("/")
        self._lock = threading.Lock()
        self._open: Any = None

    def put(self, key: str, data: bytes) -> None:
        """Write an object."""
        path = self._path(key)

        def write(at: Any) -> None:
            folder, _, name = path.rpartition("/")
            _make_folders(at, folder)
            renames = type(at).mv is not AbstractFileSystem.mv
            beside = f"{folder}/.{name[:32]}-{secrets.token_hex(6)}" if renames else path
            try:
                with at.open(beside, "wb") as file:
                    if hasattr(file, "set_pipelined"):
                        file.set_pipelined(True)  # SFTP: no wait for each 32 KiB
                    for at_byte in range(0, len(data), _PART):
                        file.write(data[at_byte : at_byte + _PART])
                        progress_here().add(min(_PART, len(data) - at_byte))
                    progress_here().expect(len(data))  # what is buffered goes as it is closed
                if renames:
                    at.mv(beside, path)
            except BaseException:
                _try_remove(at, beside)
                raise

        self._ask(write)

    def get(self, key: str) -> bytes:
        """Return an object."""
        path = self._path(key)

        def read(at: Any) -> bytes:
            with at.open(path, "rb") as file:
                if hasattr(file, "prefetch"):
                    file.prefetch()
                parts = []
                while part := file.read(_PART):
                    progress_here().add(len(part))
                    parts.append(bytes(part))
                return b"".join(parts)

        try:
            return self._ask(read)
        except FileNotFoundError:
            raise AbsentError(self.name, f"{key} is not there") from None

    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects below a prefix; what is half-written has another name."""
        folders = [self._path(prefix.rstrip("/"))]
        while folders:
            folder = folders.pop()
            try:
                found = self._ask(partial(_listed, folder))
            except (FileNotFoundError, NotADirectoryError):  # it went meanwhile, or never was
                continue
            progress_here().add(ENTRY * (1 + len(found)))
            for one in sorted(found, key=lambda one: str(one["name"])):
                path = "/" + str(one["name"]).strip("/")
                name = path.rpartition("/")[2]
                if name.startswith("."):
                    continue
                if one["type"] == "directory":
                    folders.append(path)
                else:
                    key = path.removeprefix("/" + self._base.strip("/")).strip("/")
                    yield Stored(key, int(one["size"]))

    def delete(self, key: str) -> None:
        """Remove an object."""
        path = self._path(key)
        try:
            self._ask(lambda at: at.rm_file(path))
        except FileNotFoundError:
            return

    def close(self) -> None:
        """Let go of the connection, where the file system has one; the next request makes it
        anew."""
        with self._lock:
            opened, self._open = self._open, None
        client = getattr(opened, "client", None)
        if client is not None and hasattr(client, "close"):
            client.close()

    def _path(self, key: str) -> str:
        return f"{self._base}/{checked_key(key)}"

    def _ask(self, ask: Callable[[Any], T]) -> T:
        """Return what a file system answers. Raises FileNotFoundError, NotADirectoryError and
        HostError; others' code raises whatever it likes."""
        with self._turn():
            try:
                if self._open is None:
                    self._open = self._connected()
                return ask(self._open)
            except (FileNotFoundError, NotADirectoryError):
                raise
            except Exception as error:
                self._open = None
                told = getattr(error, "strerror", None) or str(error) or type(error).__name__
                raise HostError(self.name, clean(" ".join(str(told).split()))) from None

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the request before this one: that is not the host's silence."""
        while not self._lock.acquire(timeout=1.0):
            progress_here().restart()
        progress_here().restart()
        try:
            yield
        finally:
            self._lock.release()

    def _connected(self) -> Any:
        more = self._kind._get_kwargs_from_urls(self._url)
        return self._kind(**more, use_listings_cache=False, skip_instance_cache=True)


def _kind(protocol: str, name: str) -> Any:
    """Return the class of a protocol's file systems. Raises ParameterError, MissingExtraError."""
    try:
        if protocol in SFTP:
            return _sftp()
        return get_filesystem_class(protocol)
    except ImportError:
        if protocol in SFTP:
            raise MissingExtraError("SFTP", "sftp") from None
        raise ParameterError("store", name, "a protocol whose package is installed") from None
    except ValueError:
        raise ParameterError("store", name, "a protocol that fsspec knows") from None


def _sftp() -> Any:
    """Return fsspec's SFTP, that talks to hosts only whose keys ~/.ssh/known_hosts has: by itself
    it takes any, and passwords and tokens with it."""
    paramiko = import_module("paramiko")
    logging.getLogger("paramiko").setLevel(logging.CRITICAL + 1)  # errors are raised, and said once
    base: Any = import_module("fsspec.implementations.sftp").SFTPFileSystem

    class KnownHosts(base):  # type: ignore[misc]
        def __init__(self, host: str, use_listings_cache: bool = False, **more: Any) -> None:
            super().__init__(host, **more)

        def _connect(self) -> None:
            self.client = paramiko.SSHClient()
            self.client.load_system_host_keys()
            patience = {"timeout": 5, "banner_timeout": SILENCE, "auth_timeout": SILENCE}
            self.client.connect(self.host, **patience, **self.ssh_kwargs)
            self.ftp = self.client.open_sftp()

    return KnownHosts


def _listed(folder: str, at: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = at.ls(folder, detail=True)
    return found


def _make_folders(at: Any, folder: str) -> None:
    try:
        at.makedirs(folder, exist_ok=True)
    except Exception:  # another request made it meanwhile, or it cannot be made
        if not at.isdir(folder):
            raise


def _try_remove(at: Any, path: str) -> None:
    try:
        at.rm_file(path)
    except Exception:  # what is left half-written has a name that nobody asks for
        return
