"""`forestall guest`: guests on this host, run so that its owner does not notice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.lines import Lines
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.registry import command, group_of
from forestall.core.commands.screen import say, say_json, say_report
from forestall.core.model.settings import Setting

with lazily():
    from forestall.core.processes import files
    from forestall.prediction.availability import place as agent_place
    from forestall.sharing.api.guest import guest
    from forestall.sharing.guest import settings as guest_settings

FAILED = 1
LEFT = "`forestall guest list` shows the state of the guest"
RUN = 'forestall guest run --name sum --checkpoint-command "cp sum.now sum.saved" -- python sum.py'


app = group_of(
    "Run guest jobs on a shared host: they yield, stop and leave before the owner notices.",
    "forestall guest run -- ./simulate case7",
    "forestall guest list",
)


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that ends with 1 where something did not come off, with 2 where the input is
    wrong."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except guest.GuestError as error:
            return complain(str(error), FAILED)
        except BrokenPipeError:
            raise
        except OSError as error:
            if error.filename is None and isinstance(error, FileNotFoundError):
                raise  # of the current folder
            where = "" if error.filename is None else f"{error.filename}: "
            return complain(f"{where}{error.strerror or error}")

    return guarded


Folder: TypeAlias = Annotated[
    Path | None,
    Setting(
        "Where agent and guests keep their files (default: forestall in $XDG_STATE_HOME or in "
        "~/.local/state)",
        shown="DIR",
    ),
]
Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Name of the guest.")]
Output: TypeAlias = Annotated[
    Literal["here", "file"],
    Setting(
        "Show the guest's output here as well, or only write it to the files stdout and stderr "
        "in DIR/guests/NAME"
    ),
]
"""Where a guest's output is shown; it is kept in any case."""


@command(
    app,
    "run",
    "forestall guest run -- ./simulate case7",
    RUN,
    left=LEFT,
    context_settings={"allow_interspersed_args": False},
    rare="folder grace tell steps cgroup calm every checkpoint_timeout hold outlive output",
)
@_guarded
def run(
    typed: Annotated[
        list[str] | None,
        typer.Argument(metavar="CMD ARGS...", help="Command to run, after --.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        Setting(
            "Name of the guest; an unfinished guest of this name is resumed (default: taken "
            "from the command)",
            shown="NAME",
        ),
    ] = None,
    folder: Folder = None,
    fresh: Annotated[bool, Setting("Start an unfinished guest from the beginning")] = False,
    th1: Annotated[
        str | None,
        Setting("Owner's load above which the guest gets lowest priority (default: as "
                "calibrated, else 0)",
                shown="SHARE", group="The host"),
    ] = None,
    th2: Annotated[
        str | None,
        Setting("Owner's load above which the guest is stopped (default: as calibrated, else "
                "0.6)",
                shown="SHARE", group="The host"),
    ] = None,
    guest_memory: Annotated[
        str,
        Setting(
            "Memory the guest needs: an amount such as 512M, a share such as 0.25, or auto: "
            "its peak so far plus 10 %",
            shown="AMOUNT",
        ),
    ] = "auto",
    outlive: Annotated[
        str,
        Setting(
            "Options for forestall run, such as '--store /a --store /b': the guest is saved "
            "before it is ended, and resumes on any host where a guest of this name is run",
            shown="OPTIONS",
            group="Checkpoints",
        ),
    ] = "",
    *,
    asked: guest_settings.GuestSettings,
    output: Output = "here",
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Run a command as a guest; ends with its exit code.

    It runs at lowest priority, and at normal priority while the owner needs next to nothing. It is
    stopped in a short spike of the owner's load, and ended after its checkpoint in a long one, or
    if memory runs short. When the host is free again, it resumes. Its output is shown here and kept
    in the files stdout and stderr of DIR/guests/NAME; changes are reported on standard error.
    """
    place = folder or agent_place.default_folder()
    low, high = guest.thresholds(place, th1, th2)
    settings = guest.settings_for(place, asked, (low, high), guest_memory)
    lines = Lines(quiet=quiet)
    show_to = lines.shown(output)
    code = guest.run_guest(
        typed or (), settings, folder=place, name=name, fresh=fresh, outlive=outlive, say=lines,
        show=show_to,
    )  # fmt: skip
    return lines.end(code)


@command(
    app,
    "resume",
    "forestall guest resume sum",
    "forestall guest resume sum --outlive '--store /v/a --store /v/b --data 1 --parity 1'",
    left=LEFT,
)
@_guarded
def resume(
    name: Name,
    folder: Folder = None,
    outlive: Annotated[
        str,
        Setting(
            "To resume a guest from another host: options for forestall run; command and "
            "checkpoint come from the vault",
            shown="OPTIONS",
        ),
    ] = "",
    output: Output = "here",
    quiet: Quiet = False,
) -> int:
    """Resume a guest that has not finished: adopt it if it runs, otherwise start it again."""
    lines = Lines(quiet=quiet)
    place = folder or agent_place.default_folder()
    shown = lines.shown(output)
    return lines.end(guest.resume_guest(place, name, say=lines, outlive=outlive, show=shown))


@command(app, "list", "forestall guest list", "forestall guest list --json")
@_guarded
def listed(folder: Folder = None, as_json: Json = False) -> None:
    """List the guests, their state, and where their output is."""
    place = folder or agent_place.default_folder()
    found, troubles = guest.guests(place)
    for trouble in troubles:
        say(trouble, error=True)
    if as_json:
        say_json(found)
    elif found:
        say_report(guest.guest_report(found))
        print(f"Output: stdout and stderr in {place / 'guests'}/NAME")
    elif not troubles:
        say("no guests")


@command(app, "stop", "forestall guest stop sum")
@_guarded
def stop(name: Name, folder: Folder = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Checkpoint a guest, then end it and its manager; `guest resume` resumes it."""
    place = folder or agent_place.default_folder()
    try:
        record = guest.stop_guest(place, name)
    except KeyboardInterrupt:
        message = f"interrupted; {name} may already be ending: see `forestall guest list`"
        raise KeyboardInterrupt(message) from None
    if as_json:
        say_json(guest.guest_facts(files.GuestFiles(place, name), record))
    elif not quiet:
        say(f"{name}: {record.state}: {record.why}")


@command(app, "log", "forestall guest log sum")
@_guarded
def log(name: Name, folder: Folder = None, as_json: Json = False) -> None:
    """Show why a guest was lowered, stopped, continued and ended; the load is the owner's."""
    place = folder or agent_place.default_folder()
    changes = guest.guest_changes(place, name)
    if as_json:
        say_json(changes)
    else:
        say_report(guest.change_report(changes, name))
        print(f"Output: stdout and stderr in {place / 'guests' / name}")
