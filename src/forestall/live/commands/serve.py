"""`forestall serve`: answer for a cluster, real or simulated; tokens; the warden's process."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from pydantic import Field

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command, group_of, guarded
from forestall.core.commands.screen import say, say_json
from forestall.core.commands.tokens import add_token, revoke_tokens, show_tokens
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.show.clean import one_line
from forestall.live.commands.files import register

with lazily():
    from forestall.core.web import access
    from forestall.core.web import server as web_server
    from forestall.core.web import tokens as api_tokens
    from forestall.live.serving import places, service, warden
    from forestall.live.serving import settings as live_settings
    from forestall.live.web import site as web_site
    from forestall.live.web.api import application
    from forestall.live.web.metrics import measured, mount

if TYPE_CHECKING:
    from forestall.live.serving.service import LiveService
    from forestall.live.serving.settings import LiveSettings

SIMULATED = "Simulated cluster"
PLACES = "Address"
Settings: TypeAlias = Annotated[
    Path | None,
    Setting("File with the tables serve, guard, keeper, warden, slurm, messages", shown="TOML"),
]
Ledger: TypeAlias = Annotated[
    str | None,
    Setting("Ledger: sqlite:///PATH or postgresql://... (default: that of the settings)",
            shown="URL"),
]  # fmt: skip
Tokens: TypeAlias = Annotated[
    Path | None, Setting("File of the tokens (default: beside the ledger)", shown="FILE")
]
Role: TypeAlias = Literal["user", "operator"]

app = group_of(
    "Serve quotes, promises and proposals for a Slurm cluster over an API. Without a command "
    "this\nis the server itself, until Ctrl-C or SIGTERM.",
    "forestall serve --simulated --nodes 16 --clock-speed 600 --ledger sqlite:///demo.db",
    "forestall serve --settings forestall.toml",
    "forestall serve token add alice --ledger sqlite:///demo.db",
    invoke_without_command=True,
    no_args_is_help=False,
)


@app.callback()
@partial(guarded, left="the ledger keeps what was recorded")
def serve(
    context: typer.Context,
    settings: Settings = None,
    role: Annotated[
        Literal["advisor", "warden"],
        Setting("Process to run: the API with advisor and keeper, or the warden"),
    ] = "advisor",
    ledger: Ledger = None,
    host: Annotated[
        str | None, Setting("Address (default 127.0.0.1)", shown="HOST", group=PLACES)
    ] = None,
    port: Annotated[
        int | None, Setting("Port (default 8642); 0: any free one", shown="PORT", group=PLACES)
    ] = None,
    socket: Annotated[
        Path | None,
        Setting("Unix socket, where users need no token", shown="PATH", group=PLACES),
    ] = None,
    tokens: Tokens = None,
    simulated: Annotated[
        bool, Setting("Serve a simulated cluster instead of Slurm", group=SIMULATED)
    ] = False,
    nodes: Annotated[
        Annotated[int, Field(ge=1, le=100_000)],
        Setting("Nodes of the simulated cluster", group=SIMULATED),
    ] = 16,
    speed: Annotated[
        Annotated[float, Field(ge=0.1, le=10_000)],
        Setting("Speed of the simulated clock, as a multiple of real time", group=SIMULATED),
    ] = 60.0,
    seed: Annotated[
        Annotated[int, Field(ge=0)], Setting("Seed for its jobs and failures", group=SIMULATED)
    ] = 1,
    as_json: Json = False,
) -> int:
    """Serve quotes, promises and proposals for a Slurm cluster over an API. Without a command
    this is the server itself, until Ctrl-C or SIGTERM."""
    if context.invoked_subcommand is not None:
        return 0
    known = _settings(settings, ledger, tokens)
    if role == "warden":
        if simulated:
            raise ParameterError("simulated", True, "nothing with --role warden")
        warden.run_warden(known, _tell)
        return 0
    asked = service.SimulatedOptions(nodes, speed, seed) if simulated else None
    with _somewhere(known, asked is not None) as placed:
        where = _where(placed, host, port, socket)
        if asked is None:
            running = service.real_service(placed, _tell)
        else:
            running = service.simulated_service(placed, asked, _tell)
        _run(running, placed, where, as_json=as_json)
    return 0


def _where(
    settings: LiveSettings, host: str | None, port: int | None, socket: Path | None
) -> web_server.Listening:
    """Return where to listen: what was said here goes before what the settings say."""
    table = settings.serve
    named = table.host if host is None else host
    number = table.port if port is None else port
    if not 0 <= number <= 65_535:
        raise ParameterError("port", number, "from 0 to 65535")
    path = socket or (Path(table.socket) if table.socket else None)
    if not named and path is None:
        raise ParameterError("host", named, "an address, where there is no socket")
    return web_server.Listening(named, number if named else None, path)


def _run(
    running: LiveService, settings: LiveSettings, where: web_server.Listening, *, as_json: bool
) -> None:
    """Serve until the end, and let go of everything."""
    try:
        store = api_tokens.TokenStore(places.tokens_of(settings))
        desk = measured.MeasuredDesk(running.desk)
        figures = mount.metrics_mount(desk, running.counter().counts, running.messenger.told)
        site = web_site.site(
            desk,
            access.Access(store, settings.serve.operators),
            application.ApiSettings(settings.serve.rate),
            (figures, *web_site.MOUNTS),
        )
        server = web_server.SiteServer(site, where)
        first = not any(one.role == "operator" for one in store.all())
        token = store.add("operator", "operator") if first else ""
        running.start()
        told = {"address": server.address, "operator_token": token or None,
                "cluster": running.what, "exposed": where.is_exposed}  # fmt: skip
        server.run(lambda: _greet(told, as_json=as_json))
    finally:
        running.stop()
    _tell("ended")


def _greet(told: Mapping[str, Any], *, as_json: bool) -> None:
    """Say where people are answered, whether others can listen in and, the first time, by which
    token an operator is known."""
    if told["exposed"]:
        _tell("plain HTTP that other machines reach: whoever is on the network can read tokens; "
              "use --host 127.0.0.1, with a proxy that has TLS before it")  # fmt: skip
    if as_json:
        say_json(told)
    else:
        say(f"Serving {told['cluster']} at {told['address']}")
        if told["operator_token"]:
            say(f"Operator's token, shown only once: {told['operator_token']}")
    sys.stdout.flush()


def _tell(line: str) -> None:
    """Print a line with the time on standard error, where services log."""
    told = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {one_line(line)}"
    print(told, file=sys.stderr, flush=True)


def _settings(path: Path | None, ledger: str | None, tokens: Path | None) -> LiveSettings:
    """Return the settings of a file, with what was said here instead of what it says."""
    known = live_settings.LiveSettings() if path is None else live_settings.read_live_settings(path)
    table = known.serve
    if ledger is not None:
        table = replace(table, ledger=ledger)
    if tokens is not None:
        table = replace(table, tokens=str(tokens))
    return replace(known, serve=table)


@contextmanager
def _somewhere(settings: LiveSettings, simulated: bool) -> Iterator[LiveSettings]:
    """Give a simulated cluster without a ledger one that ends with it."""
    if settings.serve.ledger:
        yield settings
        return
    if not simulated:
        raise ParameterError("ledger", None, "sqlite:///PATH or postgresql://USER@HOST/NAME")
    with tempfile.TemporaryDirectory(prefix="forestall-serve-") as folder:
        _tell(f"no --ledger: promises are lost when the server ends ({folder})")
        table = replace(settings.serve, ledger=f"sqlite:///{folder}/ledger.db")
        yield replace(settings, serve=table)


# ------------------------------------------------------------------------------------------ tokens

token_app = group_of(
    "Tokens that identify people to the API; only their hashes are kept.",
    "forestall serve token add alice --ledger sqlite:///demo.db",
    "forestall serve token list --ledger sqlite:///demo.db",
)
app.add_typer(token_app, name="token")


@command(
    token_app, "add",
    "forestall serve token add alice --ledger sqlite:///demo.db",
    "forestall serve token add ops --role operator --settings forestall.toml",
)  # fmt: skip
def add(
    name: Annotated[str, typer.Argument(help="User name in Slurm", metavar="NAME")],
    role: Annotated[Role, Setting("user: sees their own promises; operator: sees all")] = "user",
    settings: Settings = None,
    ledger: Ledger = None,
    tokens: Tokens = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it: it is shown only now."""
    add_token(_store(settings, ledger, tokens), name, role, as_json=as_json)


@command(token_app, "list", "forestall serve token list --ledger sqlite:///demo.db")
def list_(
    settings: Settings = None, ledger: Ledger = None, tokens: Tokens = None, as_json: Json = False
) -> None:
    """List who has tokens, without the tokens."""
    show_tokens(_store(settings, ledger, tokens), as_json=as_json)


@command(
    token_app, "revoke",
    "forestall serve token revoke alice --ledger sqlite:///demo.db",
)  # fmt: skip
def revoke(
    which: Annotated[
        str, typer.Argument(help="Name, or the id that list shows", metavar="NAME|ID")
    ],
    settings: Settings = None,
    ledger: Ledger = None,
    tokens: Tokens = None,
    as_json: Json = False,
) -> None:
    """Forget the tokens of a name, or one by its id; a running server knows at once."""
    revoke_tokens(_store(settings, ledger, tokens), which, as_json=as_json)


def _store(settings: Path | None, ledger: str | None, tokens: Path | None) -> api_tokens.TokenStore:
    return api_tokens.TokenStore(places.tokens_of(_settings(settings, ledger, tokens)))


register(app)
