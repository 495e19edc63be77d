"""Questions to a live controller's API, over HTTP or its Unix socket.

Redirects are not followed, since a token would go along; proxies are not used, since a controller
is a machine of the site.
"""

from __future__ import annotations

import os
import ssl
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

from forestall.core.files.documents import json_of
from forestall.core.model.errors import (
    InputError,
    MissingExtraError,
    ParameterError,
    UnreachableError,
    of_system,
)
from forestall.core.model.settings import Declared, Setting
from forestall.core.show.clean import clean

PREFIX: Final = "/api/v1"
SERVER: Final = "FORESTALL_SERVER"
TOKEN: Final = "FORESTALL_TOKEN"
SOCKET: Final = Path("/run/forestall/api.sock")
USUAL: Final = "http://127.0.0.1:8642"
"""Where `forestall serve` listens unless it is told otherwise."""
WAIT: Final = 60.0
"""s for an answer."""
_ADDRESS: Final = "http://HOST:PORT, https://HOST:PORT or unix:/PATH"
NOBODY: Final = 401
"""What a controller answers to somebody whom it does not know."""
UNIX: Final = "unix:"
"""What an address begins with that is the path of a socket, as `forestall serve` shows it."""
_NOT_THERE: Final = "does not exist"
_LONGEST: Final = 400
_ACCEPTED: Final = 64 * 2**20


@dataclass(frozen=True)
class ServerOptions(Declared, group="Server"):
    """Where the controller is asked, and in whose name."""

    server: Annotated[
        str | None,
        Setting(
            f"Address of the controller (default: ${SERVER}, else its Unix socket on this machine, "
            f"else {USUAL})",
            shown="URL",
        ),
    ] = None
    token: Annotated[
        str | None,
        Setting(
            f"Your token (default: ${TOKEN}); visible to others in the process list",
            shown="TOKEN",
        ),
    ] = field(default=None, repr=False)
    token_file: Annotated[
        Path | None,
        Setting(
            "File with your token (default: ~/.config/forestall/token, if it exists)",
            shown="FILE",
        ),
    ] = None
    socket: Annotated[
        Path | None,
        Setting(
            f"Unix socket of the controller (default: {SOCKET}); needs no token",
            shown="PATH",
        ),
    ] = None


class ServerPlace(NamedTuple):
    """Where a controller listens: a URL, or a socket (then the URL names nobody)."""

    url: str
    socket: Path | None

    @property
    def name(self) -> str:
        """Where it is, in words."""
        return self.url if self.socket is None else f"the socket {self.socket}"


class ServerAnswer(NamedTuple):
    """What the controller answered: its text as it came, and what that says."""

    text: str
    value: Any


class RequestRefusedError(InputError):
    """The controller answered that it will not do that.

    Parameters
    ----------
    status : of HTTP, from 400 to 499
    detail : its reason, one line
    """

    def __init__(self, status: int, detail: str) -> None:
        self.status = status
        self.detail = detail
        needed = f"; a valid token is needed ({{token}}, {{token_file}} or ${TOKEN})"
        super().__init__(needed if status == NOBODY else "", before=detail)


class ServerConnection:
    """A controller that is asked.

    Parameters
    ----------
    options : where it is, and in whose name it is asked
    wait : s for an answer

    Raises ParameterError for an address that is none, TraceError for a file of a token that cannot
    be read, MissingExtraError without httpx.
    """

    def __init__(self, options: ServerOptions, wait: float = WAIT) -> None:
        self.place = place_of(options)
        token = token_of(options)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.has_token = bool(token)
        self._httpx, self._wait = _httpx(), wait
        secure = ssl.create_default_context() if self.place.url.startswith("https") else True
        uds = None if self.place.socket is None else str(self.place.socket)
        self._client = self._httpx.Client(
            base_url=self.place.url,
            headers={**headers, "Accept": "application/json"},
            transport=self._httpx.HTTPTransport(verify=secure, uds=uds, trust_env=False),
            timeout=wait,
            follow_redirects=False,
            trust_env=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(self, path: str, **query: str | int) -> ServerAnswer:
        """Return the answer to a question, below /api/v1.

        Raises UnreachableError where nobody answers, or no controller; RequestRefusedError where it
        refuses.
        """
        return self._ask("GET", PREFIX + path, params=query)

    def post(self, path: str, body: Mapping[str, Any]) -> ServerAnswer:
        """Return the answer to what is asked with a body of JSON. Raises as `get` does."""
        return self._ask("POST", PREFIX + path, json=dict(body))

    def delete(self, path: str) -> ServerAnswer:
        """Return the answer where something is taken back. Raises as `get` does."""
        return self._ask("DELETE", PREFIX + path)

    def health(self) -> ServerAnswer:
        """Return what the controller says of itself, to anybody. Raises as `get` does."""
        return self._ask("GET", "/healthz")

    def _ask(self, method: str, path: str, **more: Any) -> ServerAnswer:
        if self.place.socket is not None and not self.place.socket.exists():
            raise self._unreachable(_NOT_THERE)
        try:
            reply = self._client.request(method, path, **more)
            text = reply.text
        except self._httpx.TimeoutException:
            raise self._unreachable(f"does not answer within {self._wait:g} s") from None
        except (self._httpx.HTTPError, self._httpx.InvalidURL, ssl.SSLError) as error:
            raise self._unreachable(f"cannot be reached: {_said(error)}") from None
        if len(text) > _ACCEPTED:
            raise self._unreachable("answers with more than 64 MiB")
        try:
            value = json_of(text)
        except ValueError:
            value = None
        if 400 <= reply.status_code < 500:
            raise RequestRefusedError(reply.status_code, _detail(value, reply.status_code))
        if reply.status_code >= 500:
            told = _detail(value, reply.status_code)
            raise self._unreachable(f"failed: {told}")
        if reply.status_code >= 300 or not isinstance(value, dict):
            raise self._unreachable("answers, but is not a forestall controller")
        return ServerAnswer(text, value)

    def _unreachable(self, what: str) -> UnreachableError:
        hint = ""
        if self.place.url == USUAL or what == _NOT_THERE:
            hint = "name the controller with {server} URL, or start one: forestall serve"
        return UnreachableError(f"{self.place.name} {what}", hint)


def place_of(options: ServerOptions) -> ServerPlace:
    """Return where the controller is. Raises ParameterError for what is no address."""
    if options.server is not None and options.socket is not None:
        raise ParameterError("socket", str(options.socket), "nothing beside {server}")
    given = options.server
    if given is None and options.socket is None:
        given = os.environ.get(SERVER) or None
    if given is None and (options.socket is not None or SOCKET.exists()):
        return ServerPlace("http://localhost", options.socket or SOCKET)
    given = given or USUAL
    name = "server" if options.server is not None else SERVER
    if given.startswith(UNIX) and Path(given[len(UNIX) :]).is_absolute():
        return ServerPlace("http://localhost", Path(given[len(UNIX) :]))
    try:
        parts = urlsplit(given)
        good = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        raise ParameterError(name, clean(given), _ADDRESS) from None
    if not good or parts.username is not None or parts.query or parts.fragment:
        shown = "an address with a user or more" if parts.username is not None else clean(given)
        raise ParameterError(name, shown, _ADDRESS)
    return ServerPlace(given.rstrip("/"), None)


def token_of(options: ServerOptions) -> str:
    """Return the token that says who asks, "" where none is given."""
    if options.token is not None and options.token_file is not None:
        raise ParameterError("token_file", str(options.token_file), "nothing beside {token}")
    if options.token is not None:
        return _checked(options.token, "{token}")
    if options.token_file is not None:
        return _token_in(options.token_file)
    if options.socket is not None:
        return ""
    if os.environ.get(TOKEN):
        return _checked(os.environ[TOKEN], TOKEN)
    usual = config_folder() / "token"
    return _token_in(usual) if usual.is_file() else ""


def config_folder() -> Path:
    """Return where a user's own settings are: forestall in $XDG_CONFIG_HOME or ~/.config."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(given) if given else Path("~/.config").expanduser()) / "forestall"


def _token_in(path: Path) -> str:
    """Return the token in a file, which nobody else may read."""
    with of_system(path, "cannot be read"):
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        message = f"{path}: others may read this token; chmod 600 it, and get a new one"
        raise InputError("", before=message)
    return _checked(text, str(path))


def _checked(token: str, name: str) -> str:
    """Return a token that can stand in a header; what it is stands in no message."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        said = "holds no token; expected one line of ASCII letters"
        raise (
            InputError(f"{name} {said}")
            if name == "{token}"
            else InputError(said, before=f"{name} ")
        )
    return token


def _detail(value: Any, status: int) -> str:
    """Return the reason of an answer that is none, in one line."""
    told = value if isinstance(value, dict) else {}
    detail = told.get("detail") or told.get("status")
    if isinstance(detail, list):  # what a framework says of a body that is not as declared
        detail = "; ".join(str(one.get("msg", one)) for one in detail if isinstance(one, dict))
    return clean(str(detail) if detail else f"HTTP status {status}", _LONGEST)


def _said(error: BaseException) -> str:
    """Return what an error of a connection says."""
    return clean(str(error) or type(error).__name__, _LONGEST)


def _httpx() -> Any:
    try:
        return import_module("httpx")
    except ModuleNotFoundError:
        raise MissingExtraError("asking a controller", "serve") from None
