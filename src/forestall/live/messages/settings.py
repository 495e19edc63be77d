"""Whom to tell, by which way, and how seldom: the table ``[messages]`` of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field

from forestall.core.model.errors import InputError, ParameterError, of_system
from forestall.core.model.settings import Declared, Setting
from forestall.live.guard.settings import changed

Seconds = Annotated[int, Field(ge=1)]
Security = Literal["none", "starttls", "tls"]
_ADDRESS: Final = re.compile(r"[^@\s<>,;\"]+@[^@\s<>,;\"]+")
_HOST: Final = re.compile(r"(?P<host>[^\s:/\[\]]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class MessageSettings(Declared):
    """Whom to tell, by which way, and how seldom. Without `mail` and a webhook nobody is told.

    Secrets stand in files that only the controller's user may read; none is shown or logged.
    """

    site: Annotated[str, Setting("Name at the top of every message")] = "forestall"
    mail: Annotated[tuple[str, ...], Setting("Addresses to which mail goes")] = ()
    mail_from: Annotated[str, Setting("Address from which it comes")] = "forestall@localhost"
    smtp: Annotated[str, Setting("Mail server, as HOST:PORT")] = "localhost:25"
    smtp_security: Annotated[Security, Setting("How the connection to it is secured")] = "none"
    smtp_user: Annotated[str, Setting("Login name; empty: no login")] = ""
    smtp_password_file: Annotated[str, Setting("File that holds the password")] = ""
    webhook_file: Annotated[
        str, Setting("File that holds the URL to which JSON is posted: such URLs are secrets")
    ] = ""
    gather: Annotated[
        Seconds, Setting("How long events are gathered before a message is sent", unit="s")
    ] = 60
    every: Annotated[Seconds, Setting("Minimum time between two messages", unit="s")] = 900
    repeat: Annotated[
        Seconds,
        Setting("Time after which the same message is repeated, if its cause lasts", unit="s"),
    ] = 86_400
    give_up: Annotated[
        Seconds, Setting("How long a message that cannot be sent is retried", unit="s")
    ] = 86_400
    unseen: Annotated[
        Seconds,
        Setting(
            "How long a cluster is unreachable before a message says so; at least guard.fresh",
            unit="s",
        ),
    ] = 60
    at_risk: Annotated[
        Annotated[float, Field(ge=0, le=1)],
        Setting(
            "Message about an open promise that has become less likely than this, and than stated"
        ),
    ] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        for address in (*self.mail, self.mail_from):
            if not _ADDRESS.fullmatch(address):
                raise ParameterError("messages.mail", address, "an address such as ops@example.org")
        self.smtp_place()
        if not self.site.isprintable():
            raise ParameterError("messages.site", self.site, "a name in one line")
        if bool(self.smtp_user) != bool(self.smtp_password_file):
            raise ParameterError(
                "messages.smtp_user", self.smtp_user, "both smtp_user and smtp_password_file"
            )
        if self.smtp_user and self.smtp_security == "none":
            raise ParameterError(
                "messages.smtp_security", "none", "starttls or tls, as a password is sent"
            )

    def smtp_place(self) -> tuple[str, int]:
        """Return host and port of the mail server. Raises ParameterError."""
        found = _HOST.fullmatch(self.smtp)
        if found is None or not 0 < int(found["port"]) < 65_536:
            raise ParameterError("messages.smtp", self.smtp, "HOST:PORT, such as localhost:25")
        return found["host"].strip("[]"), int(found["port"])

    @property
    def tells(self) -> bool:
        """Whether anybody is told."""
        return bool(self.mail or self.webhook_file)


def message_settings(table: Mapping[str, Any]) -> MessageSettings:
    """Return the settings that a table says; what it does not say is as it is by default. Raises
    ParameterError that names the key."""
    given = dict(table)
    if "mail" in given:
        told = [given["mail"]] if isinstance(given["mail"], str) else given["mail"]
        if not isinstance(told, list) or not all(isinstance(one, str) for one in told):
            raise ParameterError("messages.mail", str(told), "an address, or a list of them")
        given["mail"] = tuple(told)
    return changed(MessageSettings(), given, "messages")


def secret(path: str) -> str:
    """Return the one line of a file that holds a secret. Raises TraceError or InputError; neither
    says what is in it."""
    place = Path(path)
    with of_system(place, "cannot be read"):
        text = place.read_text(encoding="utf-8", errors="replace").strip()
    if not text or not text.isprintable():
        raise InputError("", before=f"{path}: expected one line")
    return text


def webhook(path: str) -> str:
    """Return the URL in a file. Raises as `secret` does, also for what is no URL."""
    url = secret(path)
    try:
        parts = urlsplit(url)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good or " " in url:
        raise InputError("", before=f"{path}: expected a URL that begins https://")
    return url
