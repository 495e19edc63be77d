"""Messages on their way: to a mail server and a web server that are there, away, or unwilling."""

from __future__ import annotations

import itertools
import logging
import threading
from pathlib import Path
from typing import Any

import pytest

from forestall.core.model.errors import ForestallError, InputError, ParameterError, TraceError
from forestall.live.messages.messenger import FIRST_TRY, MOST, Messenger
from forestall.live.messages.outbox import Message, Notice
from forestall.live.messages.settings import MessageSettings, message_settings
from forestall.live.messages.ways import Mail, NotSentError, Webhook, ways_of
from live.messages.message_cases import hook_sink, mail_sink

MESSAGE = Message("site: nodes failed (2)", "Nodes failed:\n- n1\n.\n- Ünïcode\n")


def file_with(folder: Path, text: str) -> str:
    path = folder / "secret"
    path.write_text(text)
    return str(path)


def test_mail_arrives_as_it_was_written() -> None:
    with mail_sink() as sink:
        settings = MessageSettings(
            mail=("ops@example.org", "night@example.org"), mail_from="forestall@example.org",
            smtp=f"127.0.0.1:{sink.port}",
        )  # fmt: skip
        [way] = ways_of(settings)
        way.send(MESSAGE)
        way.send(MESSAGE)
    first, second = sink.mails
    assert first["Subject"] == MESSAGE.subject
    assert first["To"] == "ops@example.org, night@example.org"
    assert first["Auto-Submitted"] == "auto-generated"
    assert first.get_content().replace("\r\n", "\n") == MESSAGE.text
    assert first.get_content_type() == "text/plain"
    assert first["Message-ID"] == second["Message-ID"]


def test_mail_that_is_refused_or_has_no_server() -> None:
    with mail_sink() as sink:
        sink.answers = ["451 not now, secretly"]
        mail = Mail(MessageSettings(mail=("ops@example.org",), smtp=f"127.0.0.1:{sink.port}"))
        with pytest.raises(NotSentError, match=r"mail: the server answers 451$"):
            mail.send(MESSAGE)
        mail.send(MESSAGE)
    assert len(sink.mails) == 1
    with pytest.raises(NotSentError, match="mail: Connection refused"):
        mail.send(MESSAGE)


def test_a_webhook_gets_json(tmp_path: Path) -> None:
    with hook_sink() as sink:
        settings = MessageSettings(webhook_file=file_with(tmp_path, sink.url + "\n"))
        [way] = ways_of(settings)
        way.send(MESSAGE)
    [(path, told)] = sink.posts
    assert path == "/hook/SECRET"
    assert told["subject"] == MESSAGE.subject
    assert told["text"] == f"{MESSAGE.subject}\n\n{MESSAGE.text}"


@pytest.mark.parametrize(("status", "said"), [(500, "status 500"), (302, "status 302")])
def test_a_webhook_that_fails_or_points_elsewhere(status: int, said: str, tmp_path: Path) -> None:
    with hook_sink() as sink:
        sink.answers = [status]
        hook = Webhook(MessageSettings(webhook_file=file_with(tmp_path, sink.url)))
        with pytest.raises(NotSentError, match=said) as caught:
            hook.send(MESSAGE)
    assert len(sink.posts) == 1
    assert "SECRET" not in str(caught.value)
    with pytest.raises(NotSentError, match="Connection refused") as caught:
        hook.send(MESSAGE)
    assert "SECRET" not in str(caught.value)


def test_no_secret_is_logged_or_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    said: list[str] = []
    with hook_sink() as sink, mail_sink() as mails:
        sink.answers = [403]
        settings = MessageSettings(
            webhook_file=file_with(tmp_path, sink.url), mail=("ops@example.org",),
            smtp=f"127.0.0.1:{mails.port}",
        )  # fmt: skip
        password = tmp_path / "password"
        password.write_text("PASSWORD\n")
        mail = Mail(settings)
        object.__setattr__(settings, "smtp_user", "robot")  # only encrypted logins are allowed
        mail._password = "PASSWORD"
        messenger = Messenger(
            _notices(), (Webhook(settings), mail), settings, said.append, _Clock()
        )
        messenger.step()
        messenger.step()
    assert mails.logins  # it was tried
    told = "\n".join([caplog.text, *said])
    assert "the login is refused (535)" in told
    for secret in ("SECRET", "PASSWORD", "UEFTU1dPUkQ", mails.logins[0]):
        assert secret not in told


class _Clock:
    """Seconds that pass by a minute at each look at them."""

    def __init__(self, step: float = 60.0) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def _notices(count: int = 1) -> Any:
    left = [[Notice("nodes failed", f"n{k}", f"n{k}")] for k in range(count)]
    return lambda: left.pop(0) if left else []


class _Unwilling:
    """A way that fails some times."""

    name = "mail"

    def __init__(self, times: int) -> None:
        self.times, self.at, self.sent = times, [0.0], 0
        self.clock: Any = None

    def send(self, message: Message) -> None:
        self.at.append(self.clock.now)
        if self.times:
            self.times -= 1
            raise NotSentError("mail", "away")
        self.sent += 1


def test_what_cannot_be_sent_is_tried_again_ever_more_seldom() -> None:
    clock, way, said = _Clock(10), _Unwilling(6), list[str]()
    way.clock = clock
    messenger = Messenger(_notices(), (way,), MessageSettings(gather=1), said.append, clock)
    for _ in range(1000):
        messenger.step()
    assert way.sent == 1
    gaps = [b - a for a, b in zip(way.at[1:], way.at[2:], strict=False)]
    assert all(b >= 1.5 * a for a, b in itertools.pairwise(gaps))
    assert gaps[0] >= FIRST_TRY
    assert messenger.told() == {("mail", "failed"): 6, ("mail", "sent"): 1}
    assert len(said) == 6


def test_a_message_is_given_up_in_the_end() -> None:
    clock, way, said = _Clock(100), _Unwilling(10**6), list[str]()
    way.clock = clock
    settings = MessageSettings(gather=1, give_up=7200)
    messenger = Messenger(_notices(), (way,), settings, said.append, clock)
    for _ in range(500):
        messenger.step()
    assert messenger.told()["mail", "given up"] == 1
    assert said[-1].startswith("messages: given up by mail")
    assert not messenger._waiting


def test_messages_that_wait_are_bounded() -> None:
    clock, way = _Clock(1000), _Unwilling(10**6)
    way.clock = clock
    settings = MessageSettings(gather=1, every=1, give_up=10**9)
    messenger = Messenger(_notices(3 * MOST), (way,), settings, lambda _: None, clock)
    for _ in range(3 * MOST):
        messenger.step()
    assert len(messenger._waiting) <= MOST
    assert messenger.told()["mail", "given up"] >= 50


def test_a_desk_that_fails_is_told_once_and_ends_nothing() -> None:
    said: list[str] = []

    def failing() -> Any:
        raise ForestallError("", before="the ledger is gone")

    messenger = Messenger(failing, (), MessageSettings(), said.append)
    messenger.step()
    messenger.step()
    assert said == ["messages: the ledger is gone"]


def test_the_thread_sends_and_ends() -> None:
    sent = threading.Event()

    class Quick:
        name = "mail"

        def send(self, message: Message) -> None:
            sent.set()

    clock = _Clock(1000)
    messenger = Messenger(_notices(), (Quick(),), MessageSettings(gather=1), print, clock)
    messenger.step()
    messenger.start()
    assert sent.wait(10)
    messenger.close()
    assert messenger._thread is not None
    assert not messenger._thread.is_alive()


def test_nobody_to_tell_is_no_thread() -> None:
    messenger = Messenger(_notices(), ways_of(MessageSettings()), MessageSettings(), print)
    messenger.start()
    assert messenger._thread is None
    messenger.close()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"mial": "x"}, "messages.mial.*mail?"),
        ({"mail": "ops"}, "messages.mail"),
        ({"mail": [1]}, "an address, or a list of them"),
        ({"mail": ["a@b\nBcc: c@d"]}, "messages.mail"),
        ({"smtp": "localhost"}, "HOST:PORT"),
        ({"smtp": "localhost:0"}, "HOST:PORT"),
        ({"every": 0}, "messages.every"),
        ({"every": "soon"}, "every"),
        ({"smtp_user": "robot"}, "both smtp_user and smtp_password_file"),
        ({"smtp_user": "robot", "smtp_password_file": "x"}, "starttls or tls"),
        ({"smtp_security": "some"}, "smtp_security"),
        ({"at_risk": 1.5}, "messages.at_risk"),
        ({"site": "a\nb"}, "one line"),
    ],
)
def test_settings_that_cannot_be(table: dict[str, Any], said: str) -> None:
    with pytest.raises((ParameterError, InputError), match=said):
        message_settings(table)


def test_settings_as_a_file_says_them() -> None:
    told = message_settings({"mail": "ops@example.org", "every": 600, "smtp": "[::1]:25"})
    assert told.mail == ("ops@example.org",)
    assert told.every == 600
    assert told.smtp_place() == ("::1", 25)
    assert message_settings({"every": "10m"}).every == 600
    assert message_settings({}) == MessageSettings()


@pytest.mark.parametrize("text", ["", "ftp://x/y", "https://", "two\nlines", "http://a b/"])
def test_a_file_without_a_url(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected") as caught:
        ways_of(MessageSettings(webhook_file=file_with(tmp_path, text)))
    assert "lines" not in str(caught.value)
    with pytest.raises(TraceError, match="cannot be read"):
        ways_of(MessageSettings(webhook_file=str(tmp_path / "none")))
