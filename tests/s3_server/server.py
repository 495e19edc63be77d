"""A server that answers as S3 does (moto), on this machine, for the tests of storage hosts."""

from __future__ import annotations

import importlib.util
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BUCKET = "checkpoints"


def why_no_s3() -> str:
    """Return why no such server can be started; "" where it can."""
    if any(importlib.util.find_spec(name) is None for name in ("moto", "flask_cors")):
        return "S3 is NOT tested: moto is missing (pip install 'moto[s3]' flask-cors)"
    return ""


@contextmanager
def s3_bucket() -> Iterator[str]:
    """Start the server; give the URL of an empty bucket. What clients need to find it stands in the
    environment meanwhile."""
    server: Any = importlib.import_module("moto.server").ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        at = f"http://{host}:{port}"
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("AWS_ENDPOINT_URL", at)
            patch.setenv("AWS_ALLOW_HTTP", "true")
            patch.setenv("AWS_REGION", "us-east-1")
            patch.setenv("AWS_ACCESS_KEY_ID", "nobody")
            patch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
            asked = urllib.request.Request(f"{at}/{BUCKET}", method="PUT")
            with urllib.request.urlopen(asked, timeout=30):
                pass
            yield f"s3://{BUCKET}"
    finally:
        server.stop()
