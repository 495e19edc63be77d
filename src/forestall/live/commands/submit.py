"""`forestall submit`: take an offer, and hand in the job that it is for."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json_text
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.show.clean import clean
from forestall.core.show.words import counted
from forestall.live.commands.asking import asked, chance, now_of
from forestall.live.commands.quote import show_quote, shown_offers

with lazily():
    from forestall.live.client import connection, kept, moments, own_job, script

app = typer.Typer()

AGREED = ("exclude", "requeue", "signal", "start")
GONE = (404, 409, 410)
"""What a controller answers of an offer that does not hold any more."""


@command(
    app,
    "submit",
    "forestall submit --quote 2 job.sh",
    "forestall submit --quote 2 job.sh -A project --gres=gpu:4",
    "forestall submit --quote 6ab1c2d3e4f50617 job.sh --agree requeue",
    left="the job may have been submitted: see `forestall promises`",
    context_settings={"ignore_unknown_options": True},
)
def submit(
    options: connection.ServerOptions,
    job: Annotated[
        Path, typer.Argument(metavar="SCRIPT", help="Job script to submit.", show_default=False)
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SBATCH OPTIONS]",
            help="Options of sbatch, passed on as they are.",
            show_default=False,
        ),
    ] = None,
    quote: Annotated[
        str,
        Setting("Offer to take: its row in the last quote shown to you, or its id", shown="ROW|ID"),
    ] = "",
    agree: Annotated[
        str,
        Setting(
            "Actions allowed on the job to keep the promise: any of exclude, requeue, signal and "
            "start, or none",
            shown="LIST",
        ),
    ] = ",".join(AGREED),
    below: Annotated[
        bool, Setting("Take an offer that is less probable than you asked for")
    ] = False,
    as_json: Json = False,
) -> int:
    """Accept an offer of forestall quote: it becomes a promise, and its job is submitted.

    Your own sbatch submits it, with your environment and groups; where there is no sbatch, the
    controller does, if it may. The script must ask for what was quoted; options of sbatch win over
    its #SBATCH lines. Where the offer does not hold any more, a new list is shown and nothing is
    submitted.
    """
    if not quote:
        raise ParameterError("quote", quote, "a row or the id of an offer (forestall quote)")
    consents = agreed(agree)
    read = script.read_script(job)
    with asked(options) as server:
        place = server.place.name
        offer = kept.KeptQuotes().find(place, quote)
        own = own_job.submits(server)
        order = script.order_of(
            read, words or (), Path.cwd(), consents=consents, quoted=offer.question,
            variables=os.environ if own else None,
        )  # fmt: skip
        order["below"] = below
        try:
            if own:
                answer = own_job.submit(server, offer.id, order, words or (), job)
            else:
                answer = server.post("/promises", {"offer": offer.id, "job": order})
        except connection.RequestRefusedError as error:
            if error.status not in GONE or offer.question is None:
                raise
            return _new_list(server, dict(offer.question), error.detail, as_json=as_json)
        if as_json:
            say_json_text(answer.text)
        else:
            _show(server, answer.value, checked=offer.question is not None)
    return 0


def agreed(text: str) -> tuple[str, ...]:
    """Return what an owner agrees to. Raises ParameterError for other words."""
    words = tuple(word for word in re.split(r"[,\s]+", text.strip().lower()) if word)
    if words == ("none",):
        return ()
    for word in words:
        if word not in AGREED:
            raise ParameterError("agree", word, f"of {', '.join(AGREED)}, or none")
    return tuple(word for word in AGREED if word in words)


def _new_list(
    server: connection.ServerConnection, question: dict[str, Any], why: str, *, as_json: bool
) -> int:
    """Show what can be had instead of an offer that does not hold; nothing was submitted."""
    if as_json:
        return complain(why, 1)
    if question.get("by", now := now_of(server)) < now:
        question.pop("by")
    answer = server.post("/quotes", question)
    show_quote(question, answer.value)
    kept.KeptQuotes().keep(server.place.name, question, shown_offers(answer.value))
    return complain(f"{why}; nothing was submitted; the list above holds now", 1)


def _show(server: connection.ServerConnection, told: dict[str, Any], *, checked: bool) -> None:
    now = now_of(server)
    number = "without a job id yet" if told["job"] is None else str(told["job"])
    say(
        f"Promised: job {number} is done by {moments.told_when(told['deadline'], now)} with "
        f"{chance(told['probability'])}; it starts about {moments.told_when(told['start'], now)}."
    )
    if not told["held"]:
        say("Nothing reserves its start: this controller only records what it would have promised.")
    elif told["why"]:
        likely = "" if told["likely"] is None else f"; now {chance(told['likely'])}"
        why = clean(told["why"])
        say(f"{why[:1].upper()}{why[1:]}{likely}.")
    if not checked:
        say(
            "The offer is not in your last lists, so the script was not compared with it: the "
            f"job has {counted(told['nodes'], 'node')}."
        )
    say(f"Follow it: forestall promise {told['id']}")
