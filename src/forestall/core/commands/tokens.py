"""What commands on tokens print."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forestall.core.commands.screen import say, say_json, show

if TYPE_CHECKING:
    from forestall.core.model.live.desk import SeenRole
    from forestall.core.web.tokens import TokenStore


def add_token(store: TokenStore, name: str, role: SeenRole, *, as_json: bool) -> None:
    """Make a token and print it."""
    token = store.add(name, role)
    if as_json:
        say_json({"name": name, "role": role, "token": token})
    else:
        print(token)


def show_tokens(store: TokenStore, *, as_json: bool) -> None:
    """Print who has tokens."""
    known = store.all()
    if as_json:
        say_json(
            {"tokens": [{"name": one.name, "role": one.role, "id": one.hash[:12], "made": one.made}
                        for one in known]}
        )  # fmt: skip
        return
    rows = [
        (one.hash[:12], one.name, one.role, f"{datetime.fromtimestamp(one.made, UTC):%Y-%m-%d}")
        for one in known
    ]
    show(rows, ("Id", "Name", "Role", "Made"))


def revoke_tokens(store: TokenStore, which: str, *, as_json: bool) -> None:
    """Forget tokens, and say how many."""
    count = store.revoke(which)
    if as_json:
        say_json({"revoked": count})
        return
    say(f"{count} token{'' if count == 1 else 's'} revoked")
