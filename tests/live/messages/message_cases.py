"""A desk that says what it is told to, servers that take messages, and settings for them."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from forestall.core.model.live.desk import ClusterTold, PromiseTold, ProposalTold, Viewer

NOW = 1_795_000_000
CLUSTER = ClusterTold(
    NOW, NOW - 10, "", 16, 16, 4, 2, 1, 0, 0, 7, 0.1,
    {"advisor": "on", "keeper": "off", "warden": "off"}, False,
)  # fmt: skip


def promise(name: str, **more: Any) -> PromiseTold:
    told = PromiseTold(
        name, "alice", NOW, NOW + 7200, 0.9, True, 17, 4, 3600, NOW + 60, "open", "", None, 0.9,
        NOW + 3700, (),
    )  # fmt: skip
    return replace(told, **more)


def proposal(name: str, **more: Any) -> ProposalTold:
    told = ProposalTold(
        name, "warden", "drain", "n4", "proposed", "fails soon", {}, "", NOW, NOW + 600, ""
    )
    return replace(told, **more)


@dataclass
class ToldDesk:
    """A desk whose answers the test sets."""

    told: ClusterTold = CLUSTER
    made: list[PromiseTold] = field(default_factory=list)
    wanted: list[ProposalTold] = field(default_factory=list)

    def cluster(self, viewer: Viewer) -> ClusterTold:
        assert viewer.operates
        return self.told

    def promises(self, viewer: Viewer, *, ended: bool = True, most: int = 500) -> list[PromiseTold]:
        found = [one for one in self.made if ended or one.outcome == "open"]
        return found[:most]

    def promise(self, viewer: Viewer, name: str) -> PromiseTold:
        return next(one for one in self.made if one.id == name)

    def proposals(self, viewer: Viewer, *, most: int = 500) -> list[ProposalTold]:
        return self.wanted[:most]


class MailSink:
    """A mail server on a port of its own: it keeps what it is sent, or refuses.

    `answers` : replies to DATA, the first one first; then all is taken
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.answers: list[str] = []
        self.logins: list[str] = []
        self.port = 0


class _SmtpTalk(socketserver.StreamRequestHandler):
    """One connection of SMTP."""

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self) -> None:
        sink: MailSink = self.server.sink  # type: ignore[attr-defined]
        self.say("220 sink")
        while raw := self.rfile.readline():
            verb = raw.decode().strip().partition(" ")[0].upper()
            if verb == "EHLO":
                self.say("250-sink")
                self.say("250 AUTH PLAIN LOGIN")
            elif verb == "AUTH":
                sink.logins.append(raw.decode().strip())
                self.say("535 5.7.8 that password is wrong")
            elif verb == "DATA":
                self.say("354 go on")
                body = b""
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    body += line.removeprefix(b".") if line.startswith(b"..") else line
                answer = sink.answers.pop(0) if sink.answers else "250 taken"
                if answer.startswith("250"):
                    parsed = BytesParser(policy=default).parsebytes(body)
                    assert isinstance(parsed, EmailMessage)
                    sink.mails.append(parsed)
                self.say(answer)
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 well")


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    """Run a mail server until the end of the block."""
    sink = MailSink()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _SmtpTalk) as server:
        server.daemon_threads = True
        server.sink = sink  # type: ignore[attr-defined]
        sink.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield sink
        finally:
            server.shutdown()
            thread.join()


class HookSink:
    """A web server that keeps what is posted to it.

    `answers` : HTTP statuses, the first one first; then 200
    """

    def __init__(self) -> None:
        self.posts: list[tuple[str, dict[str, Any]]] = []
        self.answers: list[int] = []
        self.url = ""


@contextmanager
def hook_sink() -> Iterator[HookSink]:
    """Run a web server until the end of the block."""
    sink = HookSink()

    class Posted(BaseHTTPRequestHandler):
        """One request."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = sink.answers.pop(0) if sink.answers else 200
            sink.posts.append((self.path, json.loads(body)))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Posted) as server:
        sink.url = f"http://127.0.0.1:{server.server_port}/hook/SECRET"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield sink
        finally:
            server.shutdown()
            thread.join()
