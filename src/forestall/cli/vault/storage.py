"""`forestall storage`: a daemon that keeps checkpoints of other machines; tokens of its clients."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from forestall._lazy import lazily
from forestall.cli.registry import command, group_of
from forestall.cli.runs.options import Json
from forestall.cli.screen import say, say_json
from forestall.cli.tokens import add_token, revoke_tokens, show_tokens
from forestall.model.settings import Setting

with lazily():
    from forestall.web.api import tokens as api_tokens
    from forestall.web.storage import service

Folder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="DIR", help="The daemon's folder.", show_default=False)
]
Tokens: TypeAlias = Annotated[
    Path | None, Setting("File of the tokens (default: DIR/tokens)", shown="FILE")
]

app = group_of(
    "Keep checkpoints of other machines on this one's disk, and say how storage hosts are.",
    "forestall storage serve /scratch/vault --quota 200GiB --clients 8",
    "forestall storage token add alice /scratch/vault",
)


@command(
    app,
    "serve",
    "forestall storage serve /scratch/vault --quota 200GiB --clients 8",
    "forestall storage serve vault --host 0.0.0.0 --tls-cert host.pem --tls-key host.key",
)
def serve(folder: Folder, options: service.StorageOptions, as_json: Json = False) -> None:
    """Keep objects of several clients in a folder, until Ctrl-C or SIGTERM.

    Each client has a token; what one stored no other reads, lists, changes or removes. The first
    time a token is made and shown.
    """

    def ready(url: str, token: str, swept: int) -> None:
        if as_json:
            say_json({"url": url, "token": token or None, "removed": swept})
        else:
            say(f"Serving {folder} at {url}")
            if token:
                say(f"Token of the client {service.FIRST!r}, shown only once: {token}")
            if swept:
                say(f"{swept:,} half-written objects removed")
        sys.stdout.flush()

    service.serve_storage(folder, options, ready)


token_app = group_of(
    "Tokens by which clients are known to a storage daemon; only their hashes are kept.",
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
def list_(folder: Folder, tokens: Tokens = None, as_json: Json = False) -> None:
    """List who has tokens, without the tokens."""
    show_tokens(_store(folder, tokens), as_json=as_json)


@command(token_app, "revoke", "forestall storage token revoke alice /scratch/vault")
def revoke(
    which: Annotated[
        str, typer.Argument(help="Name, or the id that list shows", metavar="NAME|ID")
    ],
    folder: Folder,
    tokens: Tokens = None,
) -> None:
    """Forget the tokens of a client, or one by its id; a running daemon knows at once. What the
    client stored stays."""
    revoke_tokens(_store(folder, tokens), which)


def _store(folder: Path, tokens: Path | None) -> api_tokens.TokenStore:
    return api_tokens.TokenStore(tokens or folder / "tokens")
