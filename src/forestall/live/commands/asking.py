"""What the commands that ask a controller share: the connection, and how answers are shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from forestall.core._lazy import lazily
from forestall.core.commands.screen import say, show
from forestall.core.model.errors import InputError, ParameterError, UnreachableError
from forestall.core.show.clean import clean
from forestall.core.show.words import probability

with lazily():
    from forestall.live.client import connection, moments

_LOCAL = {"localhost", "127.0.0.1", "::1"}


@contextmanager
def asked(options: connection.ServerOptions) -> Iterator[connection.ServerConnection]:
    """Give the connection to a controller; say so where a token travels in the clear."""
    with connection.ServerConnection(options) as server:
        parts = urlsplit(server.place.url)
        if server.has_token and parts.scheme == "http" and parts.hostname not in _LOCAL:
            say(
                f"forestall: the token is sent to {parts.hostname} unencrypted; use https",
                error=True,
            )
        try:
            yield server
        except (KeyError, TypeError, AttributeError) as error:
            what = f"sent an answer that this version cannot read: {error!r}"
            raise UnreachableError(f"{server.place.name} {what}") from None


def now_of(server: connection.ServerConnection) -> int:
    """Return the controller's clock, s since 1970."""
    return int(server.get("/cluster").value["now"])


def checked_probability(value: float, name: str = "probability") -> float:
    """Return a probability in (0, 1). Raises ParameterError."""
    if not 0 < value < 1:
        raise ParameterError(name, value, "a probability above 0 and below 1, such as 0.9")
    return value


def chance(value: float | None) -> str:
    """Return a probability for people, "-" where nobody knows."""
    return "-" if value is None else probability(value)


def show_offers(offers: Sequence[Mapping[str, Any]], now: int, *, named: int | None = None) -> None:
    """Print offers, a numbered row each; the row `named` is marked."""
    rows = []
    for row, one in enumerate(offers, 1):
        why = "; ".join(clean(str(reason)) for reason in one["reasons"])
        record = clean(str(one["record"]["words"]))
        rows.append(
            (
                f"{row}*" if row == named else str(row),
                moments.told_when(one["start"], now),
                moments.told_when(one["deadline"], now),
                chance(one["probability"]),
                record,
                why,
            )
        )
    show(rows, ("", "Start", "Done by", "Probability", "Record", "Why"), right=(0, 3),
         wrap=(-2, -1))  # fmt: skip


def one_of(told: Sequence[Mapping[str, Any]], name: str, what: str) -> str:
    """Return the whole id that begins so. Raises InputError for none, or several."""
    found = [str(one["id"]) for one in told if str(one["id"]).startswith(name)]
    if name in found:
        return name
    if len(found) != 1:
        many = "none" if not found else f"{len(found)} of them"
        raise InputError("", before=f"{clean(name)}: {many} {what} begins with this")
    return found[0]
