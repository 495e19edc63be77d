"""`forestall storage`: a daemon that keeps checkpoints of other machines; tokens of its clients."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import say, say_json, show
from forestall.core.commands.tokens import add_token, revoke_tokens, show_tokens
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration, told_bytes
from forestall.core.show.clean import one_line
from forestall.core.show.quantities import duration, percent
from forestall.vaults.commands.told import in_words

with lazily():
    from forestall.core.web import tokens as api_tokens
    from forestall.vaults import layouts
    from forestall.vaults.api import imported, stores
    from forestall.vaults.storage import service

Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of the daemon.", show_default=False)
]
Stores: TypeAlias = Annotated[
    list[str],
    typer.Option(
        "--store",
        metavar="URL",
        help="A storage host; repeat it for each host.",
        show_default=False,
    ),
]
Tokens: TypeAlias = Annotated[
    Path | None, Setting("File of the tokens (default: DIR/tokens)", shown="FILE")
]

app = group_of(
    "Store other machines' checkpoints on this one's disk, and show the state of storage hosts.",
    "forestall storage serve /scratch/vault --quota 200GiB --clients 8",
    "forestall storage token add alice /scratch/vault",
    "forestall storage list --store forestall://n1:9140 --store forestall://n2:9140",
)


@command(
    app,
    "serve",
    "forestall storage serve /scratch/vault --quota 200GiB --clients 8",
    "forestall storage serve vault --host 0.0.0.0 --tls-cert host.pem --tls-key host.key",
)
def serve(folder: Folder, options: service.StorageOptions, as_json: Json = False) -> None:
    """Keep objects of several clients in a folder, until Ctrl-C or SIGTERM.

    Each client has a token; no client can read, list, change or remove another's objects. On the
    first start a token is created and shown.
    """

    def ready(url: str, token: str, swept: int, is_exposed: bool) -> None:
        if is_exposed:
            say(f"Plain HTTP on {options.host}: whoever is on the network can read tokens and "
                "objects. Use --tls-cert and --tls-key, or --host 127.0.0.1.",
                error=True)  # fmt: skip
        if as_json:
            say_json({"url": url, "token": token or None, "removed": swept,
                      "exposed": is_exposed})  # fmt: skip
        else:
            say(f"Serving {folder} at {url}")
            if token:
                say(f"Token of the client {service.FIRST!r}, shown only once: {token}")
            if swept:
                say(f"{swept:,} half-written objects removed")
        sys.stdout.flush()

    service.serve_storage(folder, options, ready)


@command(
    app,
    "list",
    "forestall storage list --store forestall://n1:9140 --store forestall://n2:9140 --data 1 "
    "--parity 0",
    "forestall storage list --store /a --store /b --store /c --data 1 --parity 1 --json",
)
def list_(
    store: Stores,
    choosing: stores.ChoosingOptions,
    stake: stores.StakeOptions,
    no_measure: Annotated[
        bool, Setting("Do not measure; by default 1 MiB is sent to each host of unknown speed")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the state and record of storage hosts, and which ones a checkpoint would use.

    S0: running; S1: loaded; S2: temporarily unavailable; S3: unavailable.
    """
    told = stores.looked_at(store, choosing, stake, measure=not no_measure)
    if as_json:
        say_json(told)
        return
    rows = [
        ("*" if one["chosen"] else "", one["name"], one["state"], percent(one["available"]),
         percent(one["lasting"]), "-" if one["bandwidth"] is None
         else f"{told_bytes(round(one['bandwidth']))}/s", _loads(one))
        for one in told["hosts"]
    ]  # fmt: skip
    within = duration(told["within"])
    heads = ("", "Host", "State", f"Up within {within}", "Without a break", "Speed", "Load")
    show(rows, heads, right=(3, 4, 5))
    for one in told["hosts"]:
        if one["said"]:
            say(one["said"], error=True)
    if told["choice"] is None:
        say(f"No choice: fewer than {told['data'] + told['parity']} hosts answer.")
    else:
        code = layouts.told_code(told["data"], told["parity"])
        say(f"* A checkpoint of {code} would go there: {in_words(told['choice'])}.")


def _loads(one: dict[str, Any]) -> str:
    """Return how loaded a host says it is."""
    told = []
    if one["clients"] is not None:
        told.append(f"{one['clients']:.0f} of {one['limit']:.0f} clients")
    if one["stored"] is not None and one["quota"]:
        told.append(f"{percent(one['stored'] / one['quota'])} full")
    return ", ".join(told) or "-"


@command(
    app,
    "watch",
    "forestall storage watch --store forestall://n1:9140 --store forestall://n2:9140",
    "forestall storage watch --store /a --store /b --every 5m --for 2h",
    left="observations so far are saved",
)
def watch(
    store: Stores,
    every: Annotated[str, Setting("Time between two checks", shown="DURATION")] = "1m",
    span: Annotated[
        str | None,
        Setting(
            "How long to watch (default: until Ctrl-C or SIGTERM)", option="for", shown="DURATION"
        ),
    ] = None,
) -> None:
    """Check storage hosts repeatedly, so that saves know which are up when this machine is not.

    Observations are kept for 35 days, beside the host agent's files.
    """
    until = float("inf") if span is None else float(parse_duration(span, "for"))

    def tell(name: str, state: str) -> None:
        print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {one_line(f'{name}: {state}')}", flush=True)

    stores.watch(store, float(parse_duration(every, "every")), until, tell=tell)


@command(
    app,
    "import",
    "forestall storage import n1-agent n2-agent --store forestall://n1:9140 --store "
    "forestall://n2:9140",
    "forestall storage import agent --store /scratch/vault --host-url n1=/scratch/vault",
)
def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="DIR", help="An agent's folder, or a day file.", show_default=False),
    ],
    store: Stores,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            metavar="NAME=URL",
            help="Store URL of the agent's host NAME, where it cannot be told from the URL.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Import what agents on storage hosts sampled there, so that saves know the hosts' history.

    What this machine observed itself stays unchanged.
    """
    names = {}
    for one in host or ():
        name, equals, url = one.partition("=")
        if not (name and equals and url):
            raise ParameterError("host", one, "NAME=URL, such as n1=/scratch/vault")
        names[name] = url
    told = imported.import_samples(paths, store, names)
    if as_json:
        say_json({"hosts": [asdict(one) for one in told]})
        return
    rows = [(one.name, one.host, f"{one.looks:,}", f"{one.away:,}", _day(one.begin), _day(one.end))
            for one in told]  # fmt: skip
    show(rows, ("Store", "Agent's host", "Looks", "Away", "From", "Until"), right=(2, 3))


def _day(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


token_app = group_of(
    "Tokens that identify clients to a storage daemon; only their hashes are kept.",
    "forestall storage token add alice /scratch/vault",
    "forestall storage token list /scratch/vault",
)
app.add_typer(token_app, name="token")


@command(token_app, "add", "forestall storage token add alice /scratch/vault")
def add(
    name: Annotated[str, typer.Argument(help="Name of the client", metavar="NAME")],
    folder: Folder,
    tokens: Tokens = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it: it is shown only now. Tokens of one name share its objects."""
    add_token(_store(folder, tokens), name, "user", as_json=as_json)


@command(token_app, "list", "forestall storage token list /scratch/vault")
def list_tokens(folder: Folder, tokens: Tokens = None, as_json: Json = False) -> None:
    """List who has tokens, without the tokens."""
    show_tokens(_store(folder, tokens), as_json=as_json)


@command(token_app, "revoke", "forestall storage token revoke alice /scratch/vault")
def revoke(
    which: Annotated[
        str, typer.Argument(help="Name, or the id that list shows", metavar="NAME|ID")
    ],
    folder: Folder,
    tokens: Tokens = None,
    as_json: Json = False,
) -> None:
    """Forget the tokens of a client, or one by its id; a running daemon knows at once. What the
    client stored stays."""
    revoke_tokens(_store(folder, tokens), which, as_json=as_json)


def _store(folder: Path, tokens: Path | None) -> api_tokens.TokenStore:
    return api_tokens.TokenStore(tokens or folder / "tokens")
