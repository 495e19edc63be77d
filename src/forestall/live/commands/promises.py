"""`forestall promises`, `forestall promise`: what was said, what is likely now, what was done."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json_text, show
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import exact_duration
from forestall.core.show.clean import clean
from forestall.core.show.quantities import counted
from forestall.live.commands.asking import asked, chance, now_of

with lazily():
    from forestall.live.client import connection, moments

app = typer.Typer()
_NAME: Final = re.compile("[0-9a-f]{1,64}")


@command(app, "promises", "forestall promises", "forestall promises --open --json")
def promises(
    options: connection.ServerOptions,
    only_open: Annotated[bool, Setting("Only promises that are still open", option="open")] = False,
    as_json: Json = False,
) -> None:
    """List your promises, newest first; operators see everyone's."""
    with asked(options) as server:
        answer = server.get("/promises", **({"ended": "false"} if only_open else {}))
        if as_json:
            say_json_text(answer.text)
            return
        _show(answer.value["promises"], now_of(server), only_open=only_open)


@command(app, "promise", "forestall promise 17", "forestall promise 6ab1c2d3 --json")
def promise(
    options: connection.ServerOptions,
    name: Annotated[
        str,
        typer.Argument(
            metavar="JOB|ID",
            help="Slurm job id, or the promise's id or the beginning of it.",
            show_default=False,
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show a job's promise: what was promised, what is likely now, and what was done for it."""
    if not _NAME.fullmatch(name):
        raise ParameterError("promise", clean(name), "the number of a job, or the id of a promise")
    with asked(options) as server:
        answer = server.get(f"/promises/{_id_of(server, name)}")
        if as_json:
            say_json_text(answer.text)
            return
        _tell(answer.value, now_of(server))


def _show(told: Sequence[Mapping[str, Any]], now: int, *, only_open: bool) -> None:
    """Print promises, a row each."""
    if not told:
        say("No promises." if not only_open else "No open promises.")
        return
    rows = [_row(one, now) for one in told]
    heads = ("Promise", "Job", "Owner", "Nodes", "Done by", "Stated", "Likely now", "Outcome")
    show(rows, heads, right=(1, 3, 5, 6))
    if any(not one["held"] for one in told):
        say("(recorded): what would have been promised; nothing enforces it.")


def _tell(told: Mapping[str, Any], now: int) -> None:
    """Print a promise, and what was done for it."""
    for line in _story(told, now):
        say(line)
    done = told["done"]
    if done:
        say()
        acts = [
            (moments.told_when(one["at"], now), one["action"], clean(one["target"]), one["state"],
             clean(one["reason"]))
            for one in done
        ]  # fmt: skip
        show(acts, ("When", "Action", "Of", "State", "Why"))


def _id_of(server: connection.ServerConnection, name: str) -> str:
    """Return the id of the promise that is meant: a number is first a job's."""
    if not name.isdigit():
        return name
    told: Sequence[Mapping[str, Any]] = server.get("/promises").value["promises"]
    return next((str(one["id"]) for one in told if one["job"] == int(name)), name)


def _row(one: Mapping[str, Any], now: int) -> tuple[str, ...]:
    outcome = one["outcome"] + (f": {clean(one['cause'])}" if one["cause"] else "")
    return (
        one["id"],
        "-" if one["job"] is None else str(one["job"]),
        clean(one["owner"], 16),
        str(one["nodes"]),
        moments.told_when(one["deadline"], now),
        chance(one["probability"]),
        chance(one["likely"]),
        outcome if one["held"] else f"{outcome} (recorded)",
    )


def _story(one: Mapping[str, Any], now: int) -> list[str]:
    """Return a promise in sentences: the finding first."""
    job = "its job" if one["job"] is None else f"job {one['job']}"
    by = moments.told_when(one["deadline"], now)
    cause = f" ({clean(one['cause'])})" if one["cause"] else ""
    ended = "" if one["ended"] is None else f"; it ended {moments.told_when(one['ended'], now)}"
    now_likely = f"now {chance(one['likely'])}" if one["likely"] is not None else "not known now"
    if one["outcome"] == "open":
        end = moments.told_when(one["likely_end"], now)
        found = f"Open: {job} is done by {by}: {now_likely}"
        found += f"; as planned it ends {end} at the latest." if one["likely_end"] else "."
    else:
        found = f"{one['outcome'].capitalize()}{cause}: {job}, due {by}{ended}."
    if one["why"]:
        why = clean(one["why"])
        found += f" {why[:1].upper()}{why[1:]}."
    if one["submit"]:
        until = moments.told_when(one["submit_by"], now)
        words = shlex.join(["sbatch", *map(clean, one["submit"]), "SCRIPT"])
        found += f" Submit its job by {until}: {words}"
    held = "nothing reserves its start"
    if one["reserved"]:
        held = "a reservation holds its start"
    elif not one["held"]:
        held = "recorded only, nothing is done for it"
    said = (
        f"Quoted {moments.told_when(one['at'], now)}: {counted(one['nodes'], 'node')} for "
        f"{exact_duration(one['length'])} from {moments.told_when(one['start'], now)}, done by "
        f"{by} with {chance(one['probability'])}; {held}."
    )
    return [found, said, f"Promise {one['id']} to {clean(one['owner'])}."]
