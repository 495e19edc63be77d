"""`forestall quote`: when could this job be done, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.options import Json
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json_text
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import exact_duration, parse_duration
from forestall.core.show.clean import clean
from forestall.core.show.words import counted
from forestall.live.commands.asking import asked, chance, checked_probability, now_of, show_offers

with lazily():
    from forestall.live.client import connection, kept, moments

app = typer.Typer()

Nodes = Annotated[int, Setting("Nodes of the job", unit="nodes", short="N", shown="N")]
Time = Annotated[
    str,
    Setting("Time limit of the job, such as 6:00:00, 6h or 1-12:00:00", shown="TIME", short="t"),
]


@command(
    app,
    "quote",
    "forestall quote -N 16 -t 6:00:00",
    'forestall quote -N 16 -t 6h --deadline "tomorrow 8:00"',
    "forestall quote -N 16 -t 6h --ask",
)
def quote(
    options: connection.ServerOptions,
    nodes: Nodes,
    time: Time,
    by: Annotated[
        str | None,
        Setting(
            "Deadline to quote, such as 'tomorrow 8:00', 'fri 18:00', +6h, or a date",
            shown="WHEN",
        ),
    ] = None,
    probability: Annotated[
        float, Setting("Minimum probability of the deadlines offered near {by}", shown="P")
    ] = 0.9,
    partition: Annotated[str, Setting("Partition of the job", shown="NAME", short="p")] = "",
    constraint: Annotated[
        str,
        Setting(
            "Features required of its nodes, such as a100 or 'a100|h100'",
            shown="LIST",
            short="C",
        ),
    ] = "",
    ask: Annotated[
        bool, Setting("Ask for other deadlines interactively until one is good enough")
    ] = False,
    as_json: Json = False,
) -> int:
    """Show when a job could start and end, and with what probability; nothing is promised yet.

    A later deadline buys a higher probability. forestall submit takes an offer.
    """
    if nodes < 1:
        raise ParameterError("nodes", nodes, "a whole number of at least 1")
    if as_json and ask:
        raise ParameterError("ask", "yes", "nothing beside --json")
    question = {
        "nodes": nodes,
        "time": seconds_of(time),
        "probability": checked_probability(probability),
        "partition": partition,
    }
    if constraint:
        question["features"] = constraint
    with asked(options) as server:
        if by is not None:
            question["by"] = moments.parse_when(by, now_of(server), "by")
        answer = server.post("/quotes", question)
        offers = shown_offers(answer.value)
        trouble = kept.KeptQuotes().keep(server.place.name, question, offers)
        if as_json:
            say_json_text(answer.text)
        else:
            show_quote(question, answer.value)
        if trouble:
            complain(trouble)
        if ask:
            return dialogue(server, question)
    return 0 if offers else 1


def seconds_of(time: str) -> int:
    """Return a time limit in s. Raises ParameterError; a bare number would be minutes for Slurm."""
    if time.strip().isdigit():
        raise ParameterError("time", time, "a time with its unit, such as 90m, 6h or 6:00:00")
    seconds = parse_duration(time, "time", exact=True)
    if seconds < 1:
        raise ParameterError("time", time, "a time of at least a second")
    return seconds


def shown_offers(told: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the offers of an answer in the order of their rows: that for a named deadline is
    one of them."""
    offers = list(told["offers"])
    if told.get("by") is not None and named_row(offers, told["by"]) is None:
        offers = sorted([*offers, told["by"]], key=lambda one: (one["deadline"], one["id"]))
    return offers


def named_row(offers: Sequence[Mapping[str, Any]], named: Mapping[str, Any] | None) -> int | None:
    """Return the row of the offer for a named deadline, or of one that says the same; None where
    there is none."""
    if named is None:
        return None
    said = ("start", "deadline", "probability", "held")
    same = (all(one[key] == named[key] for key in said) for one in offers)
    return next((row for row, is_same in enumerate(same, 1) if is_same), None)


def show_quote(question: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Print the answer to a question."""
    now, named = int(told.get("now") or 0), told.get("by")
    offers = shown_offers(told)
    row = named_row(offers, named)
    job = f"{counted(question['nodes'], 'node')} for {exact_duration(question['time'])}"
    if question.get("features"):
        job += f" with {clean(question['features'])}"
    if "by" in question:
        when = moments.told_when(question["by"], now)
        if named is None:
            say(f"{job}: not by {when}.")
        else:
            say(f"{job}, by {when}: {chance(named['probability'])} (row {row}).")
    if offers:
        show_offers(offers, now, named=row)
    if told.get("said"):
        say(clean(str(told["said"])))
    if offers:
        until = moments.told_when(min(one["expires"] for one in offers), now)
        say(f"Offers hold until {until}. Take one: forestall submit --quote ROW job.sh")


def dialogue(server: connection.ServerConnection, question: dict[str, Any]) -> int:
    """Ask for one deadline after another, until none is named any more."""
    said = "Done by when? (tomorrow 8:00, +6h, a minimum probability such as 95 %; Enter ends) "
    while True:
        try:
            line = input(said).strip()
        except EOFError:
            line = ""
        if not line:
            return 0
        try:
            asked_for = changed(question, line, now_of(server))
            answer = server.post("/quotes", asked_for)
        except ParameterError as error:
            complain(str(error))
            continue
        except connection.RequestRefusedError as error:
            complain(str(error))
            continue
        question = asked_for
        trouble = kept.KeptQuotes().keep(server.place.name, question, shown_offers(answer.value))
        show_quote(question, answer.value)
        if trouble:
            complain(trouble)


def changed(question: Mapping[str, Any], line: str, now: int) -> dict[str, Any]:
    """Return a question with another deadline, or with another least probability (``95 %``).
    Raises ParameterError for neither."""
    if line.endswith("%"):
        try:
            value = float(line[:-1]) / 100
        except ValueError:
            raise ParameterError("probability", line, "such as 95 %") from None
        return {**question, "probability": checked_probability(value)}
    return {**question, "by": moments.parse_when(line, now, "by")}
