"""The libraries that a vault is made of: they need not be there."""

from __future__ import annotations

from forestall.core.model.errors import MissingExtraError

try:
    import zstandard
    from blake3 import blake3
    from pyeclib.ec_iface import ECDriver, ECDriverError
    from pyfastcdc import FastCDC
    from xxhash import xxh3_128, xxh3_128_digest
except ImportError:
    raise MissingExtraError("a vault", "vault") from None

__all__ = [
    "ECDriver", "ECDriverError", "FastCDC", "blake3", "xxh3_128", "xxh3_128_digest", "zstandard",
]  # fmt: skip
