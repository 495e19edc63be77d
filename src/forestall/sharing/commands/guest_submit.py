"""`forestall guest submit` and `guest queue`: guests that HTCondor places by Falcon's choice."""

from __future__ import annotations

from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.lines import Lines
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.registry import command
from forestall.core.commands.screen import say, say_json, say_report
from forestall.core.model.settings import Setting
from forestall.sharing.commands.guest import Folder, app

with lazily():
    from forestall.prediction.availability import place as agent_place
    from forestall.sharing.api.guest import submitted

STORES = "'--store /v/a --store /v/b --data 1 --parity 1'"


@command(
    app,
    "submit",
    f"forestall guest submit --time 4h --outlive {STORES} -- ./simulate case7",
    left="it may have been submitted: see `forestall guest queue` and condor_q",
    context_settings={"allow_interspersed_args": False},
)
def submit(
    typed: Annotated[
        list[str] | None,
        typer.Argument(metavar="CMD ARGS...", help="Command to run, after --.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, Setting("Name of the guest (default: taken from the command)", shown="NAME")
    ] = None,
    folder: Folder = None,
    outlive: Annotated[
        str,
        Setting("Options for forestall run, such as '--store /a --store /b'", shown="OPTIONS"),
    ] = "",
    line: Annotated[
        list[str] | None,
        typer.Option(
            "--line",
            metavar="LINE",
            help="A line for the submit file, such as 'request_memory = 2GB'; may be repeated.",
            show_default=False,
        ),
    ] = None,
    *,
    asked: submitted.SubmitQuestion,
    watch: Annotated[
        bool, Setting("Show the guest's progress until it ends, and exit with its exit code")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Have HTCondor run a command as a guest on the machine that Falcon chooses.

    It is run by forestall run: saved into a vault, and before its machine is taken, it leaves and
    goes on elsewhere. Its output goes into NAME.JOB.out and NAME.JOB.err here.
    """
    place = folder or agent_place.default_folder()
    made = submitted.submit_guest(typed or (), outlive, asked, place, name=name, lines=line or ())
    if watch:
        return submitted.watch_guest(made, Lines(quiet=quiet))
    (told,) = submitted.submitted_facts([made])
    if as_json:
        say_json(told)
    elif not quiet:
        say(f"{made.name}: job {made.cluster}, {submitted.told_line(told)}")
    return 0


@command(app, "queue", "forestall guest queue", "forestall guest queue --json")
def queue(folder: Folder = None, as_json: Json = False) -> None:
    """List the submitted guests: where they run, how far they are, and when they will be done."""
    found, troubles = submitted.submitted(folder or agent_place.default_folder())
    for trouble in troubles:
        say(trouble, error=True)
    facts = submitted.submitted_facts(found)
    if as_json:
        say_json(facts)
    elif facts:
        say_report(submitted.submitted_page(facts))
    elif not troubles:
        say("no guests were submitted")
