"""`forestall proposals`: what the controller would do, for operators to approve or reject."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command, group_of, guarded
from forestall.core.commands.screen import say, say_json_text, show
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import format_duration
from forestall.core.show.clean import clean
from forestall.core.show.words import figure, node_hours
from forestall.live.commands.asking import asked, now_of, one_of

with lazily():
    from forestall.live.client import connection, moments

LEFT = "`forestall proposals --all` shows whether it was decided"

app = group_of(
    "List the controller's proposals, or approve or reject one; operators only.",
    "forestall proposals",
    "forestall proposals approve 3f0a",
    'forestall proposals reject 3f0a --why "we look at that node today"',
    invoke_without_command=True,
    no_args_is_help=False,
)

Which = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="Id of the proposal, or the beginning of it.", show_default=False
    ),
]
Why = Annotated[str, Setting("Reason, recorded in the ledger", shown="TEXT")]


WORDS: Final = {
    "busy": "nodes in use", "loss": "expected loss in a failure", "jobs": "expected jobs saved",
    "saved": "expected saving", "spent": "expected cost", "until": "back by",
    "fails at": "may fail at", "free": "idle by", "said": "stated probability",
    "start": "reserved from", "time": "reserved for", "restarts": "restarts so far",
}  # fmt: skip
"""What figures of proposals are called."""
AVOID: Final = "avoid "
"""What the names of figures begin with that name a node to keep away from."""
_SHARES: Final = ("probability", "busy", "said")
_NODE_SECONDS: Final = re.compile("cost|spent|saved|loss")
_MOMENTS: Final = ("fails at", "until", "free", "start")


@app.callback()
@guarded
def proposals(
    context: typer.Context,
    options: connection.ServerOptions,
    every: Annotated[
        bool,
        Setting("Also list proposals that were carried out, refused or have expired", option="all"),
    ] = False,
    as_json: Json = False,
) -> None:
    """List the controller's proposals, or approve or reject one; operators only."""
    if context.invoked_subcommand is not None:
        return
    with asked(options) as server:
        answer = server.get("/proposals")
        if as_json:
            say_json_text(answer.text)
            return
        _show(answer.value["proposals"], now_of(server), every=every)


def _show(told: Sequence[Mapping[str, Any]], now: int, *, every: bool) -> None:
    """Print proposals, a row each: those that wait for a person, or all."""
    rows = [_row(one, now) for one in told if every or one["state"] == "proposed"]
    if not rows:
        say("Nothing is proposed." if every else "Nothing waits for approval.")
        return
    show(rows, ("Id", "State", "Role", "Action", "Of", "Until", "Why"))


@command(app, "approve", "forestall proposals approve 3f0a", left=LEFT)
def approve(
    options: connection.ServerOptions, which: Which, why: Why = "", as_json: Json = False
) -> None:
    """Approve a proposal: it is carried out at the next cycle, if it is still true then."""
    _decide(options, which, True, why, as_json=as_json)


@command(app, "reject", 'forestall proposals reject 3f0a --why "not today"', left=LEFT)
def reject(
    options: connection.ServerOptions, which: Which, why: Why = "", as_json: Json = False
) -> None:
    """Reject a proposal: it is not carried out."""
    _decide(options, which, False, why, as_json=as_json)


def _decide(
    options: connection.ServerOptions, which: str, approved: bool, why: str, *, as_json: bool
) -> None:
    if not (which.isascii() and which.isalnum()):
        raise ParameterError("ID", clean(which), "the id of a proposal, or its beginning")
    with asked(options) as server:
        told = server.get("/proposals").value["proposals"]
        name = one_of(told, which, "proposal")
        answer = server.post(f"/proposals/{name}", {"approved": approved, "why": why})
        if as_json:
            say_json_text(answer.text)
            return
        one = answer.value
        said = f": {clean(one['why'])}" if one["why"] else ""
        say(f"{clean(one['action'])} {clean(one['target'])} is {one['state']}{said}.")


def _value(name: str, value: float, now: int) -> str:
    """Return a figure of a proposal with its unit, which its name tells."""
    if name in _SHARES:
        return f"{100 * value:.1f} %"
    if name in _MOMENTS:
        return moments.told_when(int(value), now)
    if _NODE_SECONDS.search(name):
        return node_hours(value)
    return format_duration(value) if name == "time" else figure(value)


def _row(one: Mapping[str, Any], now: int) -> tuple[str, ...]:
    names = sorted(one["figures"])
    told = [f"{WORDS.get(name, clean(name))} {_value(name, one['figures'][name], now)}"
            for name in names if not name.startswith(AVOID)]  # fmt: skip
    if avoided := [clean(name.removeprefix(AVOID)) for name in names if name.startswith(AVOID)]:
        told.append("avoids " + " ".join(avoided))
    why = clean(one["reason"]) + (f" ({', '.join(told)})" if told else "")
    until = moments.told_when(one["expires"], now) if one["state"] == "proposed" else "-"
    return (one["id"], one["state"], one["role"], one["action"], clean(one["target"]), until, why)
