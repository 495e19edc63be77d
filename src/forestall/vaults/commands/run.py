"""`forestall run`: a program that outlives its machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from forestall.core._lazy import lazily
from forestall.core.commands.lines import Lines
from forestall.core.commands.options import Quiet
from forestall.core.commands.registry import command
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.vaults.commands.checkpoint import KeyFile

with lazily():
    from forestall.vaults.api import checkpoints, stores
    from forestall.vaults.api import run as running

app = typer.Typer()


@command(
    app,
    "run",
    "forestall run --store /a --store /b --store /c --data 2 --parity 1 -- ./simulate case7",
    "forestall run --name heat --signal USR1 --files heat.state --store /a --store /b --data 1 "
    "--parity 1 -- ./heat",
    "forestall run --save-now --name heat",
    left="completed checkpoints stay in the vault",
    context_settings={"allow_interspersed_args": False},
    rare="agent save_timeout criu folder local_limit lease patience label chunks layout strict "
    "work fails place account",
)
def run(
    typed: Annotated[
        list[str] | None,
        typer.Argument(metavar="CMD ARGS...", help="Command to run, after --.", show_default=False),
    ] = None,
    store: Annotated[
        list[str] | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="A storage host of the vault, as for forestall checkpoint; repeat it for each "
                 "host.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        Setting(
            "Name of the run, by which to find it (default: taken from the command)",
            shown="NAME",
        ),
    ] = None,
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            metavar="PATH",
            help="A file or folder the program resumes from; may be repeated. With criu: saved "
                 "along with the files it writes to.",
            show_default=False,
        ),
    ] = None,
    *,
    asked: running.RunQuestion,
    coding: checkpoints.Coding,
    placing: stores.PlacingOptions,
    key: KeyFile = None,
    account: Annotated[
        Path | None, Setting("Write the outcome of the run to this file, as JSON", shown="FILE")
    ] = None,
    save_now: Annotated[
        bool,
        Setting("Save the run of this {name} on this host now, and wait until it is in the "
                "vault"),
    ] = False,
    quiet: Quiet = False,
) -> int:  # fmt: skip
    """Run a program that survives the loss of its machine; exits with its exit code.

    It is saved into a vault while it runs. Started again with the same --name and command, here or
    elsewhere, it goes on from the last complete checkpoint. Ctrl-C and SIGTERM save it once more
    and end it with code 75; in a Slurm job SIGUSR1 does, and requeues the job. Exit code 3: too
    little is left of its checkpoints. A program that finished with code 0 is not started again.
    What could not be kept, such as a failed save, is said at the end.
    """
    if save_now:
        if name is None:
            raise ParameterError("name", None, "the run that is to be saved")
        running.save_now(asked, name)
        return 0
    lines = Lines(quiet=quiet)
    show = lines.shown("here") or ()
    into = running.Into(store or (), coding, placing, key)
    return running.run_program(
        into, typed or (), asked, name=name, files=files or (), account=account, say=lines,
        warn=lines.always, show=show,
    )  # fmt: skip
