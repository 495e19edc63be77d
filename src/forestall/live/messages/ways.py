"""The ways by which messages go: mail, and a webhook. Nothing here says what is secret."""

from __future__ import annotations

import hashlib
import json
import smtplib
import ssl
import urllib.error
import urllib.request
from email.message import EmailMessage
from email.utils import formatdate
from http.client import HTTPException
from typing import Any, Final, Protocol

from forestall.core.model.errors import ForestallError
from forestall.core.show.clean import clean
from forestall.live.messages.outbox import Message
from forestall.live.messages.settings import MessageSettings, secret, webhook

WAIT: Final = 20.0
"""s for a server that is told something."""


class NotSentError(ForestallError):
    """A message that could not be sent; it may be tried again."""

    def __init__(self, way: str, why: str) -> None:
        super().__init__("", before=f"{way}: {clean(why)}")


class Way(Protocol):
    """A way by which a message goes."""

    name: str

    def send(self, message: Message) -> None:
        """Send it, or raise NotSentError."""


class Mail:
    """Mail to some addresses, through a server. Raises ParameterError, TraceError for settings that
    cannot be used."""

    name = "mail"

    def __init__(self, settings: MessageSettings) -> None:
        self._settings = settings
        self._place = settings.smtp_place()
        self._password = secret(settings.smtp_password_file) if settings.smtp_user else ""

    def send(self, message: Message) -> None:
        """Send it; sent again it has the same Message-ID, by which readers know it."""
        settings = self._settings
        mail = EmailMessage()
        mail["Subject"], mail["From"] = message.subject, settings.mail_from
        mail["To"] = ", ".join(settings.mail)
        mail["Date"] = formatdate()
        mark = hashlib.sha256("\0".join(message).encode()).hexdigest()[:32]
        mail["Message-ID"] = f"<{mark}@{settings.mail_from.rpartition('@')[2]}>"
        mail["Auto-Submitted"] = "auto-generated"
        mail.set_content(message.text)
        try:
            with self._connected() as server:
                refused = server.send_message(mail)
        except smtplib.SMTPAuthenticationError as error:
            raise NotSentError(self.name, f"the login is refused ({error.smtp_code})") from None
        except (OSError, smtplib.SMTPException) as error:
            raise NotSentError(self.name, _said(error)) from None
        if refused:
            raise NotSentError(self.name, f"{len(refused)} of the addresses were refused")

    def _connected(self) -> smtplib.SMTP:
        host, port = self._place
        settings, context = self._settings, ssl.create_default_context()
        if settings.smtp_security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=WAIT, context=context)
        else:
            server = smtplib.SMTP(host, port, timeout=WAIT)
        try:
            if settings.smtp_security == "starttls":
                server.starttls(context=context)
            if settings.smtp_user:
                server.login(settings.smtp_user, self._password)
        except BaseException:
            server.close()
            raise
        return server


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: what was told to one server is not for another."""

    def redirect_request(self, *_: Any) -> None:
        """Return nothing to ask instead."""


class Webhook:
    """JSON posted to a URL: ``text`` is what chats show, ``subject`` its first line. Raises
    TraceError, InputError where the URL cannot be read."""

    name = "webhook"

    def __init__(self, settings: MessageSettings) -> None:
        self._url = webhook(settings.webhook_file)
        self._opener = urllib.request.build_opener(_NoRedirect)

    def send(self, message: Message) -> None:
        """Post it. Errors name neither the URL nor what the server answered."""
        told = {"subject": message.subject, "text": f"{message.subject}\n\n{message.text}"}
        headers = {"Content-Type": "application/json", "User-Agent": "forestall"}
        request = urllib.request.Request(
            self._url, json.dumps(told).encode(), headers, method="POST"
        )
        try:
            with self._opener.open(request, timeout=WAIT) as reply:
                reply.read(1000)
        except urllib.error.HTTPError as error:
            error.close()
            raise NotSentError(self.name, f"answered with HTTP status {error.code}") from None
        except urllib.error.URLError as error:
            reason = error.reason
            said = _said(reason) if isinstance(reason, OSError) else "cannot be reached"
            raise NotSentError(self.name, said) from None
        except (OSError, HTTPException) as error:
            raise NotSentError(self.name, type(error).__name__) from None


def ways_of(settings: MessageSettings) -> tuple[Way, ...]:
    """Return the ways that settings name; none: nobody is told."""
    found: list[Way] = []
    if settings.mail:
        found.append(Mail(settings))
    if settings.webhook_file:
        found.append(Webhook(settings))
    return tuple(found)


def _said(error: Exception) -> str:
    """Return what an error says, and nothing secret with it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the server answers {error.smtp_code}"
    return type(error).__name__
