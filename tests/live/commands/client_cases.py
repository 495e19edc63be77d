"""Calls of the terminal's client on a controller that is served in this process."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from core.commands.calls import Called, call
from live.web.serving import Served

JOB = "#!/bin/sh\n#SBATCH --nodes=2 --time=10\nsleep 1\n"


class Terminal:
    """A person at a terminal: their name for the controller, and what they type."""

    def __init__(
        self, served: Served, capsys: pytest.CaptureFixture[str], token: str, role: str
    ) -> None:
        self.served, self.role = served, role
        self._capsys, self._token = capsys, token

    def __call__(self, *words: object) -> Called:
        """Run a command as this person."""
        more = ("--server", self.served.address, "--token", self._token)
        return call(self._capsys, *words, *more)

    def told(self, *words: object) -> Any:
        """Run a command that prints the API's answer."""
        done = self(*words, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)


@contextmanager
def answering(answers: Mapping[str, tuple[int, bytes]]) -> Iterator[str]:
    """Serve fixed answers by path (status, body) and give the address; others are 404."""

    class Fixed(http.server.BaseHTTPRequestHandler):
        """One request."""

        def do_GET(self) -> None:
            status, body = answers.get(self.path, (404, b'{"detail": "nothing is there"}'))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", "/api/v1/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fixed) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
