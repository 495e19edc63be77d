"""Encryption, by a key that never leaves the client: AES-GCM with a nonce made from the content.

The nonce is a keyed hash of what is encrypted, so that the same content gives the same bytes and no
nonce ever serves two contents (as in AES-SIV: what an onlooker learns is that two are equal, which
equal names of packs tell anyway).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from forestall.core.model.errors import TraceError, of_system
from forestall.vaults.libraries import blake3
from forestall.vaults.pieces.fragments import DamagedError

LENGTH: Final = 32
_NONCE: Final = 12


@dataclass(frozen=True)
class Key:
    """A key: 32 bytes, from which those for names, nonces and content are made."""

    secret: bytes

    def __post_init__(self) -> None:
        assert len(self.secret) == LENGTH

    @classmethod
    def new(cls) -> Self:
        """Return a key that nobody has."""
        return cls(secrets.token_bytes(LENGTH))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the key in a file: 64 hexadecimal digits. Raises TraceError."""
        with of_system(path, "cannot be read"):
            text = path.read_bytes()[:200].strip()
        try:
            secret = bytes.fromhex(text.decode("ascii"))
        except (UnicodeDecodeError, ValueError):
            secret = b""
        if len(secret) != LENGTH:
            raise TraceError(path, "not a key; expected 64 hexadecimal digits")
        return cls(secret)

    @property
    def text(self) -> str:
        """It as it stands in a file."""
        return self.secret.hex() + "\n"

    @cached_property
    def naming(self) -> bytes:
        """The key by which chunks get their names."""
        return self._made("names of chunks")

    def seal(self, content: bytes) -> bytes:
        """Return content encrypted."""
        nonce = blake3(content, key=self._nonces).digest(_NONCE)
        return nonce + self._cipher.encrypt(nonce, content, None)

    def unseal(self, sealed: bytes) -> bytes:
        """Return what was encrypted. Raises DamagedError where it was not by this key, or is not
        what it was."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
        except (InvalidTag, ValueError):
            raise DamagedError("it was encrypted with another key, or is damaged") from None

    @cached_property
    def _nonces(self) -> bytes:
        return self._made("nonces")

    @cached_property
    def _cipher(self) -> AESGCM:
        return AESGCM(self._made("content"))

    def _made(self, purpose: str) -> bytes:
        return blake3(self.secret, derive_key_context=f"forestall vault 1: {purpose}").digest()
