"""`forestall guest`: guests on this host, run so that its owner does not notice."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from forestall._lazy import lazily
from forestall.cli import UNUSABLE, complain
from forestall.cli.registry import command as registered
from forestall.cli.registry import examples
from forestall.cli.runs.options import JSON, QUIET
from forestall.cli.screen import say, say_json, show
from forestall.model.units import parse_duration

with lazily():
    from forestall.app.hosts.agent import agent
    from forestall.app.hosts.guest import guest
    from forestall.live.guest import files
    from forestall.live.guest import settings as guest_settings

Writer = Callable[[bytes], None]
CHECKPOINTS = "Checkpoints"
HOST = "The host"
FAILED = 1
RUN = 'forestall guest run --name sum --checkpoint "cp sum.now sum.saved" -- python sum.py'


def group() -> typer.Typer:
    """Return the group."""
    app = typer.Typer(
        help="Run guests on a shared host: lowered, stopped and ended before its owner notices.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=examples("forestall guest run -- ./simulate case7", "forestall guest list"),
    )
    commands: dict[Callable[..., Any], tuple[str, ...]] = {
        run: ("forestall guest run -- ./simulate case7", RUN),
        resume: ("forestall guest resume sum",),
        listed: ("forestall guest list", "forestall guest list --json"),
        stop: ("forestall guest stop sum",),
        log: ("forestall guest log sum",),
    }
    for function, lines in commands.items():
        name = "list" if function is listed else function.__name__
        more: dict[str, Any] = (
            {"context_settings": {"allow_interspersed_args": False}} if function is run else {}
        )
        registered(app, name, *lines, **more)(_guarded(function))
    return app


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
            where = "" if error.filename is None else f"{error.filename}: "
            return complain(f"{where}{error.strerror or error}")

    return guarded


FOLDER = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="DIR",
        help="Where agent and guests keep their files (default: forestall in $XDG_STATE_HOME or in "
        "~/.local/state).",
        show_default=False,
    ),
]
NAME = Annotated[str, typer.Argument(metavar="NAME", help="The guest.")]


COMMAND = Annotated[
    list[str] | None,
    typer.Argument(metavar="CMD ARGS...", help="What to run, after --.", show_default=False),
]
CALLED = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Of the guest; one that has not finished goes on (default: after the command).",
        show_default=False,
    ),
]
FRESH = Annotated[bool, typer.Option("--fresh", help="Begin a guest that has not finished again.")]
WAIT = Annotated[
    bool,
    typer.Option(
        "--wait/--no-wait",
        help="Wait for the host to be free; else end with code 75 where it is not.",
    ),
]
CHECKPOINT = Annotated[
    str,
    typer.Option(
        "--checkpoint",
        metavar="CMD",
        help="For the shell: writes a checkpoint of the guest, whose process is "
        "$FORESTALL_GUEST_PID, before it returns with code 0.",
        rich_help_panel=CHECKPOINTS,
        show_default=False,
    ),
]
RESUMED = Annotated[
    str,
    typer.Option(
        "--resume",
        metavar="CMD",
        help="For the shell: goes on from the checkpoint (default: CMD again, with "
        "FORESTALL_GUEST_CHECKPOINT=1).",
        rich_help_panel=CHECKPOINTS,
        show_default=False,
    ),
]
CHECKPOINT_EVERY = Annotated[
    str,
    typer.Option(
        "--checkpoint-every",
        metavar="DURATION",
        help="Running time between checkpoints while nothing is wrong; 0: none.",
        rich_help_panel=CHECKPOINTS,
    ),
]
CHECKPOINT_TIMEOUT = Annotated[
    str,
    typer.Option(
        "--checkpoint-timeout",
        metavar="DURATION",
        help="After which a checkpoint has failed.",
        rich_help_panel=CHECKPOINTS,
    ),
]
GRACE = Annotated[
    str,
    typer.Option(
        "--grace",
        metavar="DURATION",
        help="How long it stands still without a manager before it is ended.",
    ),
]
GUEST_MEMORY = Annotated[
    str,
    typer.Option(
        "--guest-memory",
        metavar="AMOUNT",
        help="What it needs: 512M, or a share of the memory such as 0.25.",
    ),
]
LOW = Annotated[
    str | None,
    typer.Option(
        "--th1",
        metavar="LOAD",
        help="Owner's load above which it is lowered (default: as calibrated, else 0.2).",
        show_default=False,
        rich_help_panel=HOST,
    ),
]
HIGH = Annotated[
    str | None,
    typer.Option(
        "--th2",
        metavar="LOAD",
        help="Owner's load above which it stands still (default: as calibrated, else 0.6).",
        show_default=False,
        rich_help_panel=HOST,
    ),
]
HOLD = Annotated[
    str,
    typer.Option(
        "--hold",
        metavar="DURATION",
        help="Such a load for longer ends it.",
        rich_help_panel=HOST,
    ),
]
CALM = Annotated[
    str,
    typer.Option(
        "--calm",
        metavar="DURATION",
        help="How long the load must be low before it is raised, or started again.",
        rich_help_panel=HOST,
    ),
]
EVERY = Annotated[
    str,
    typer.Option(
        "--every", metavar="DURATION", help="Between looks at the host.", rich_help_panel=HOST
    ),
]
CGROUP = Annotated[
    bool,
    typer.Option(
        "--cgroup/--no-cgroup",
        help="Use a control group where this user may make one.",
        rich_help_panel=HOST,
    ),
]
TELL = Annotated[
    str,
    typer.Option(
        "--tell",
        metavar="CMD",
        help="Told of each change, as a line of JSON: a command for the shell, file:PATH or "
        "unix:PATH.",
        show_default=False,
    ),
]


class GuestOutput(StrEnum):
    """Where a guest's output is shown; it is kept in any case."""

    HERE = "here"
    FILE = "file"


OUTPUT = Annotated[
    GuestOutput,
    typer.Option(
        "--output",
        help="Show what it prints here, too, or keep it in the files stdout and stderr of "
        "DIR/guests/NAME only.",
    ),
]


def run(
    command: COMMAND = None,
    name: CALLED = None,
    folder: FOLDER = None,
    fresh: FRESH = False,
    wait: WAIT = True,
    checkpoint: CHECKPOINT = "",
    resumed: RESUMED = "",
    checkpoint_every: CHECKPOINT_EVERY = "0",
    checkpoint_timeout: CHECKPOINT_TIMEOUT = "60s",
    grace: GRACE = "5m",
    guest_memory: GUEST_MEMORY = "0",
    th1: LOW = None,
    th2: HIGH = None,
    hold: HOLD = "1m",
    calm: CALM = "10s",
    every: EVERY = "1s",
    cgroup: CGROUP = True,
    tell: TELL = "",
    output: OUTPUT = GuestOutput.HERE,
    quiet: QUIET = False,
) -> int:
    """Run a command as a guest; ends with its exit code.

    It runs at lowest priority, at normal priority while the owner needs next to nothing; it stands
    still in a short spike of the owner's load, and is ended after its checkpoint in a long one, or
    where memory runs short. When the host is free again it goes on. What it prints is shown here
    and kept in the files stdout and stderr of DIR/guests/NAME; standard error tells of changes.
    """
    place = folder or agent.default_folder()
    low, high = guest.thresholds(place, th1, th2)
    settings = guest_settings.GuestSettings(
        th1=low,
        th2=high,
        hold=parse_duration(hold, "--hold"),
        every=parse_duration(every, "--every"),
        calm=parse_duration(calm, "--calm"),
        guest_memory=agent.parse_memory_share(guest_memory, "--guest-memory"),
        checkpoint=checkpoint,
        resume=resumed,
        checkpoint_every=parse_duration(checkpoint_every, "--checkpoint-every"),
        checkpoint_timeout=parse_duration(checkpoint_timeout, "--checkpoint-timeout"),
        grace=parse_duration(grace, "--grace"),
        wait=wait,
        tell=tell,
        cgroup=cgroup,
    )
    lines = Lines(quiet=quiet)
    show_to = lines.shown(output)
    code = guest.run_guest(
        command or (), settings, folder=place, name=name, fresh=fresh, say=lines, show=show_to
    )
    return lines.end(code)


def resume(
    name: NAME, folder: FOLDER = None, output: OUTPUT = GuestOutput.HERE, quiet: QUIET = False
) -> int:
    """Go on with a guest that has not finished: adopt it where it runs, else start it again."""
    lines = Lines(quiet=quiet)
    place = folder or agent.default_folder()
    return lines.end(guest.resume_guest(place, name, say=lines, show=lines.shown(output)))


def listed(folder: FOLDER = None, as_json: JSON = False) -> None:
    """List the guests, what is with them, and where their output lies."""
    place = folder or agent.default_folder()
    found, troubles = guest.guests(place)
    for trouble in troubles:
        say(trouble, error=True)
    if as_json:
        say_json(found)
    elif found:
        show(guest.guest_rows(found), guest.GUESTS, right=(2, 3, 4), wrap=(0, -1))
        print(f"Output: stdout and stderr in {place / 'guests'}/NAME")
    elif not troubles:
        say("no guests")


def stop(name: NAME, folder: FOLDER = None, as_json: JSON = False, quiet: QUIET = False) -> None:
    """End a guest after its checkpoint, and its manager; `guest resume` goes on with it."""
    place = folder or agent.default_folder()
    try:
        record = guest.stop_guest(place, name)
    except KeyboardInterrupt:
        message = f"interrupted; {name} may be ending already: `forestall guest list` tells"
        raise KeyboardInterrupt(message) from None
    if as_json:
        say_json(guest.guest_facts(files.GuestFiles(place, name), record))
    elif not quiet:
        say(f"{name}: {record.state}: {record.why}")


def log(name: NAME, folder: FOLDER = None, as_json: JSON = False) -> None:
    """Tell why a guest was lowered, stopped, continued and ended; the load is the owner's."""
    place = folder or agent.default_folder()
    changes = guest.guest_changes(place, name)
    if as_json:
        say_json(changes)
    else:
        show(guest.change_rows(changes), guest.CHANGES, right=(3,))
        print(f"Output: stdout and stderr in {place / 'guests' / name}")


class Lines:
    """Prints what a manager says as it comes, on standard error; if quiet, only why there is no
    guest. A terminal or a reader that went away ends the printing, never the guest."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet, self._last = quiet, ""

    def __call__(self, line: str) -> None:
        self._last = line
        if not self._quiet:
            with suppress(OSError), _still_there(sys.stderr):
                say(line, error=True)
                sys.stderr.flush()

    def shown(self, output: GuestOutput) -> tuple[Writer, Writer] | None:
        """Return what shows the guest's output and errors here."""
        if output is GuestOutput.FILE:
            return None
        return (functools.partial(_copy, sys.stdout), functools.partial(_copy, sys.stderr))

    def end(self, code: int) -> int:
        """Return the exit code."""
        return complain(self._last) if self._quiet and code == UNUSABLE else code


def _copy(stream: TextIO, chunk: bytes) -> None:
    with _still_there(stream):
        stream.buffer.write(chunk)
        stream.buffer.flush()


@contextmanager
def _still_there(stream: TextIO) -> Iterator[None]:
    """Print; where nobody reads any more, what is printed from now on goes nowhere: the rest that
    is kept of it must not raise again at the end. Raises OSError."""
    try:
        yield
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)
        raise
