"""Storage daemons (`forestall storage serve`) as storage hosts."""

from __future__ import annotations

import math
import os
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlsplit

import httpx

from forestall.core.files.documents import json_of
from forestall.core.model.errors import ParameterError
from forestall.core.show.clean import clean
from forestall.vaults.hosts.host import (
    AbsentError,
    HostError,
    HostLook,
    LoadedError,
    StorageHost,
    Stored,
    checked_key,
)
from forestall.vaults.hosts.progress import ENTRY, SILENCE, progress_here
from forestall.vaults.hosts.tokens import token_for

SCHEMES: Final = {"forestall": "http", "forestall+https": "https"}
ABSENT: Final = "x-forestall-absent"
"""The header by which a daemon says that an object is not there: no other server's word counts."""
PATIENCE: Final = 30.0
"""s for which a daemon that is loaded is asked again."""
LONGEST: Final = 10.0
"""s between two times that it is, at most."""
CONNECT: Final = 5.0
"""s to connect."""
LARGEST: Final = 2**31
"""Bytes of an answer that are taken."""
_PART: Final = 2**16
"""Bytes that are sent at once, so that it is seen how far it is."""


class DaemonAnswer(NamedTuple):
    """What a daemon answered."""

    code: int
    headers: httpx.Headers
    body: bytes


class ServedHost(StorageHost):
    """A storage daemon, and a folder of this user's objects there.

    Certificates are checked against those of the system, or the file that $SSL_CERT_FILE names.
    Proxies are not used and redirects not followed: a token would go along.

    Parameters
    ----------
    url : ``forestall://HOST:PORT``, or ``forestall+https://HOST:PORT``; a name may follow, so that
        one token has several vaults
    token : by default that which this user has for it
    patience : s for which it is asked again while it is loaded
    sleep : waits
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        patience: float = PATIENCE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        scheme, address, self._folder = _parts(url)
        self.name = f"{scheme}://{address}" + (f"/{self._folder}" if self._folder else "")
        self._patience, self._sleep = patience, sleep
        self._token = token_for(address) if token is None else token
        self._base = f"{SCHEMES[scheme]}://{address}"
        self._lock = threading.Lock()
        self._open: httpx.Client | None = None

    @property
    def _client(self) -> httpx.Client:
        with self._lock:
            if self._open is None:
                verify = _context() if self._base.startswith("https:") else False
                self._open = httpx.Client(
                    base_url=self._base,
                    headers={"Authorization": f"Bearer {self._token}"},
                    transport=httpx.HTTPTransport(verify=verify, trust_env=False),
                    timeout=httpx.Timeout(SILENCE, connect=CONNECT),
                    trust_env=False,
                )
            return self._open

    def put(self, key: str, data: bytes) -> None:
        """Store an object; the daemon has it on its disk once this returns."""
        self.put_parts(key, [data])

    def put_parts(self, key: str, parts: Sequence[bytes | memoryview]) -> None:
        """Store an object that is given in parts; the daemon has it on its disk once this
        returns."""
        self._ask("PUT", self._place(key), parts)

    def get(self, key: str) -> bytes:
        """Return an object."""
        return self._ask("GET", self._place(key)).body

    def keys(self, prefix: str) -> Iterator[Stored]:
        """Yield the objects below a prefix, a page after the other."""
        top, after = self._key(prefix.rstrip("/")) + "/", ""
        skip = len(self._folder) + 1 if self._folder else 0
        while True:
            told = self._told("/v1/objects", {"prefix": top, "after": after})
            try:
                for one in told["objects"]:
                    progress_here().add(ENTRY)
                    yield Stored(checked_key(one["key"][skip:]), int(one["size"]))
                following = told["next"]
            except (KeyError, TypeError, ValueError, ParameterError):
                raise self._stranger() from None
            if not following:
                return
            if not isinstance(following, str) or following <= after:
                raise self._stranger()
            after = following

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._ask("DELETE", self._place(key))

    def look(self) -> HostLook:
        """Return how the daemon is."""
        told = self._told("/v1/state", {})
        names = ("io", "clients", "limit", "bytes", "quota", "since")
        try:
            found = [told[name] for name in names]
            return HostLook(*(math.nan if one is None else float(one) for one in found))
        except (KeyError, TypeError, ValueError):
            raise self._stranger() from None

    def close(self) -> None:
        """Let go of its connections; the next request makes them anew."""
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def _key(self, key: str) -> str:
        return checked_key(f"{self._folder}/{key}" if self._folder else key)

    def _place(self, key: str) -> str:
        return "/v1/objects/" + quote(self._key(key))

    def _told(self, path: str, query: dict[str, str]) -> dict[str, Any]:
        try:
            told = json_of(self._ask("GET", path, params=query).body)
        except (ValueError, RecursionError):
            raise self._stranger() from None
        if not isinstance(told, dict):
            raise self._stranger()
        return told

    def _ask(
        self, method: str, path: str, sent: Sequence[bytes | memoryview] = (), **more: Any
    ) -> DaemonAnswer:
        """Return an answer that is a good one; while the daemon is loaded, and once where the
        connection breaks, it is asked again. All that is asked may be asked twice."""
        waited, broken = 0.0, False
        while True:
            try:
                if method == "PUT":
                    more |= {"content": _noted(sent),
                             "headers": {"Content-Length": str(sum(map(len, sent)))}}  # fmt: skip
                answer = self._once(method, path, **more)
            except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
                if broken:
                    raise self._wrong(error) from None
                broken = True
                continue
            except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
                raise self._wrong(error) from None
            if answer.code != 503:
                return self._good(answer)
            wait = _after(answer)
            if waited + wait > self._patience:
                raise LoadedError(self.name, _detail(answer) or "loaded")
            self._sleep(wait)
            waited += wait
            progress_here().restart()  # it answered, and said how long it wants to be left alone

    def _once(self, method: str, path: str, **more: Any) -> DaemonAnswer:
        with self._client.stream(method, path, **more) as reply:
            body = bytearray()
            for part in reply.iter_raw():
                body += part
                progress_here().add(len(part))
                if len(body) > LARGEST:
                    raise HostError(self.name, f"answers with more than {LARGEST} bytes")
            return DaemonAnswer(reply.status_code, reply.headers, bytes(body))

    def _good(self, answer: DaemonAnswer) -> DaemonAnswer:
        if 200 <= answer.code < 300:
            return answer
        told = _detail(answer)
        if answer.code == 404 and ABSENT in answer.headers:
            raise AbsentError(self.name, told or "is not there")
        if answer.code == 401:
            raise HostError(self.name, "does not accept the token")
        if told is None:
            raise self._stranger()
        raise HostError(self.name, told)

    def _stranger(self) -> HostError:
        return HostError(self.name, "answers, but is not a storage daemon of forestall")

    def _wrong(self, error: Exception) -> HostError:
        if isinstance(error, httpx.TimeoutException):
            return HostError(self.name, "does not answer in time")
        return HostError(self.name, _line(str(error)) or type(error).__name__)


def _noted(parts: Sequence[bytes | memoryview]) -> Iterator[bytes]:
    """Yield what is sent, and note how far it is; then the daemon waits for its disk."""
    for part in parts:
        view = memoryview(part).cast("B")
        for at in range(0, len(view), _PART):
            yield bytes(view[at : at + _PART])
            progress_here().add(min(_PART, len(view) - at))
    progress_here().expect(sum(map(len, parts)))


def _parts(url: str) -> tuple[str, str, str]:
    """Return scheme, HOST:PORT and folder. Raises ParameterError, without a password."""
    allowed = "forestall://HOST:PORT or forestall+https://HOST:PORT, and a folder's name"
    shown = (
        url.split("://", maxsplit=1)[0]
        + "://"
        + url.rsplit("://", maxsplit=1)[-1].rpartition("@")[2]
    )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ParameterError("store", shown, allowed) from None
    folder = parts.path.strip("/")
    odd = "@" in parts.netloc or parts.query or parts.fragment or "/" in folder
    if parts.scheme not in SCHEMES or not host or not port or odd:
        raise ParameterError("store", shown, allowed)
    if folder:
        checked_key(folder)
    return parts.scheme, f"[{host}]:{port}" if ":" in host else f"{host}:{port}", folder


def _context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or None)


def _after(answer: DaemonAnswer) -> float:
    """Return how many s a loaded daemon asks to wait."""
    text = answer.headers.get("retry-after", "")
    return min(max(float(text), 0.1), LONGEST) if text.isdecimal() and len(text) < 9 else 1.0


def _detail(answer: DaemonAnswer) -> str | None:
    """Return what an answer says is wrong; None where it is no daemon's."""
    try:
        told = json_of(answer.body)["detail"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return _line(told) if isinstance(told, str) else None


def _line(text: str) -> str:
    return clean(" ".join(text.split()))[:200]
