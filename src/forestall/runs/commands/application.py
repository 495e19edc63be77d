"""The application: all commands, and what becomes of errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from forestall.__about__ import __version__
from forestall.core.commands import INTERRUPTED, UNREACHABLE, UNUSABLE, complain
from forestall.core.commands.registry import StoppedError, examples, placed
from forestall.core.commands.verbose import telling
from forestall.core.files import budget
from forestall.core.model.errors import ForestallError, MissingExtraError, UnreachableError
from forestall.runs.commands.commands import LIVE, Commands, LazyGroup
from forestall.runs.commands.typed import as_typed, options_of

app = typer.Typer(
    name="forestall",
    cls=LazyGroup,
    help="Replay workloads on clusters that fail, promise deadlines with probabilities, and show "
    "how many promises were kept. Measure how machines fail, and plan queues, checkpoints and "
    "spares for it. Report on a site from its own records. Watch shared hosts, and run guest "
    "jobs on them without disturbing their owners.",
    epilog=examples(
        "forestall demo",
        "forestall simulate jobs.swf --failures failures.csv --nodes 128 --out run",
        "forestall report --slurm --out report.html",
        "forestall reliability failures.csv --out study",
        "forestall interval --mtbf 4d --checkpoint-overhead 5m",
        "forestall traces info jobs.swf",
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


USAGE_ERROR: type[Exception] = next(
    one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException"
)
"""What Typer raises for arguments that it cannot use; where it lives depends on the version."""


def run(
    arguments: Sequence[str], commands: typer.Typer | None = None, name: str = "forestall"
) -> int:
    """Run one command, of our own or of `commands`, and return its exit code."""
    if not sys.stdout.isatty():
        os.environ.setdefault(
            "TERMINAL_WIDTH", "100"
        )  # help in a file or a pager: no narrow columns
    try:
        root: Any = typer.main.get_command(commands or app)
        root = root if commands is None else placed(root, ())
        done = root.main(args=list(arguments), prog_name=name, standalone_mode=False)
    except StoppedError as stop:
        return complain(str(stop), INTERRUPTED)
    except USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # Typer has shown the help
            return UNUSABLE
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else name
        text = error.format_message()  # type: ignore[attr-defined]
        return complain(f"{text} (see {path} --help)")
    except UnreachableError as error:
        return complain(as_typed(error), UNREACHABLE)
    except ForestallError as error:
        return complain(as_typed(error, _options(root, arguments)), error.exit_code)
    except MemoryError:
        return complain(
            "not enough memory for this: more was asked for than is free; take a smaller part "
            "(such as --days or --jobs) or smaller numbers"
        )
    return done if isinstance(done, int) else 0


def _options(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Return the options of the command that these arguments name, by parameter; none of one whose
    extra is missing, which is what is to be said then."""
    try:
        for word in arguments:
            inner = getattr(command, "commands", {})
            if word not in inner:
                break
            command = inner[word]
        return options_of(getattr(command, "plain", command).params)
    except MissingExtraError:
        return {}


def _show_version(asked: bool) -> None:
    if asked:
        print(f"forestall {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            help="Report on standard error what is read, the time taken, and where an error comes"
            " from.",
        ),
    ] = False,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--max-memory",
            metavar="SIZE",
            envvar=budget.VARIABLE,
            help="Refuse work that needs more memory than this, such as 4GB (default: 80 % of "
            "free memory).",
        ),
    ] = None,
) -> None:
    if verbose:
        context.with_resource(telling())
    entry = Commands().entries.get(context.invoked_subcommand or "")
    context.with_resource(
        budget.limited(max_memory, held_to_it=entry is None or entry.panel != LIVE)
    )
