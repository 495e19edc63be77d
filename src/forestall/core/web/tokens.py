"""Tokens: 256 random bits each, of which only a hash is kept, in a file that its owner alone reads.

The file is JSON: ``{"version": 1, "tokens": [{"name", "role", "hash", "made"}]}``; hash is SHA-256,
which is enough for what nobody can guess. It is read anew where it has changed, so that tokens are
added and revoked while the server runs.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.records import record_of
from forestall.core.model.errors import InputError, ParameterError, TraceError, brief, of_system
from forestall.core.model.live.desk import SeenRole, Viewer
from forestall.core.model.units import MAX_SECONDS

PREFIX: Final = "fst_"
"""What tokens begin with, so that they are known where they leak."""
LONGEST: Final = 128
ROLES: Final[tuple[SeenRole, ...]] = ("user", "operator")
_VERSION: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}")


@dataclass(frozen=True)
class KeptToken:
    """A token as it is kept: whose, in which role, its hash, and when it was made, s since 1970."""

    name: str
    role: SeenRole
    hash: str
    made: int


class TokenStore:
    """The tokens of a file. Any thread or process may ask and add.

    Raises TraceError for a file that is none of tokens, cannot be read or written, or may be read
    by others.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._known: tuple[KeptToken, ...] = ()
        self._stamp: tuple[int, int, int] | None = None

    def add(self, name: str, role: SeenRole) -> str:
        """Make a token and return it; it is told only now. One name may have several."""
        if not _NAME.fullmatch(name):
            raise ParameterError("name", name[:80], "a user name of letters, digits and _ . + -")
        if role not in ROLES:
            raise ParameterError("role", role, " or ".join(ROLES))
        token = PREFIX + secrets.token_urlsafe(32)
        with self._changing():
            new = KeptToken(name, role, _hashed(token), int(time.time()))
            self._write((*self.all(), new))
        return token

    def revoke(self, which: str) -> int:
        """Forget the tokens of a name, or the one whose hash begins so (8 digits at least); return
        how many. Raises InputError where there is none."""
        with self._changing():
            known = self.all()
            left = tuple(
                one for one in known
                if one.name != which and not (len(which) >= 8 and one.hash.startswith(which))
            )  # fmt: skip
            if len(left) == len(known):
                raise InputError(f"there is no token of {which[:80]}")
            self._write(left)
        return len(known) - len(left)

    def all(self) -> tuple[KeptToken, ...]:
        """Return all tokens, the oldest first; none where there is no file."""
        with self._lock:
            try:
                status = os.stat(self.path)
            except FileNotFoundError:
                self._known, self._stamp = (), None
                return ()
            except OSError as error:
                raise TraceError(self.path, f"cannot be read: {error.strerror}") from None
            stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
            if stamp != self._stamp:
                if status.st_mode & 0o077:
                    raise TraceError(self.path, "may be read by others; chmod 600 it")
                self._known, self._stamp = tuple(_read(self.path)), stamp
            return self._known

    def viewer(self, token: str) -> Viewer | None:
        """Return whose token it is, None for one that is not known. All hashes are compared, each
        in the same time."""
        if not token.startswith(PREFIX) or len(token) > LONGEST or not token.isascii():
            return None
        asked, found = _hashed(token), None
        for one in self.all():
            if hmac.compare_digest(asked, one.hash):
                found = Viewer(one.name, one.role)
        return found

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Let nobody else change the file meanwhile."""
        with of_system(self.path, "cannot be written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def _write(self, tokens: tuple[KeptToken, ...]) -> None:
        """Put a new file into the place of the old one."""
        text = json.dumps(
            {"version": _VERSION, "tokens": [asdict(one) for one in tokens]}, indent=1
        )
        with atomic_path(self.path, private=True) as beside:
            beside.write_text(text + "\n", encoding="ascii")


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def _read(path: Path) -> Iterator[KeptToken]:
    with of_system(path, "cannot be read"):
        raw = path.read_bytes()
    try:
        told = json_of(raw)
        if told["version"] != _VERSION:
            raise ValueError(f"of version {brief(told['version'])}")
        for one in told["tokens"]:
            kept = record_of(KeptToken, one)
            if kept.role not in ROLES or not kept.hash.isascii() or not _NAME.fullmatch(kept.name):
                raise ValueError("no name, no role, or no hash")
            if kept.made >= MAX_SECONDS:
                raise ValueError(f"made {kept.made} s after 1970")
            yield kept
    except (ValueError, TypeError, LookupError, ParameterError) as error:
        raise TraceError(path, f"not a file of tokens: {error}") from None
