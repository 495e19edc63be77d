"""A command for each study, made of its entry."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer

import forestall as fs
from studies.kit.study import Reproduction, Study


@dataclass(frozen=True)
class Option:
    """An option of a command: its name in Python, what it takes, its help, and its default.

    `metavar` stands for its value in help; `least` is the least number.
    """

    name: str
    kind: Any
    help: str
    default: Any = None
    metavar: str | None = None
    least: int | None = None

    def parameter(self) -> inspect.Parameter:
        """Return it as a parameter of a function that Typer makes a command of."""
        told = typer.Option(
            f"--{self.name}", help=self.help, metavar=self.metavar, min=self.least,
            show_default=self.default is not None,
        )  # fmt: skip
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=self.default,
            annotation=Annotated[self.kind, told],
        )  # fmt: skip


DATA: Final = Option(
    "data", Path | None, "Folder with the real logs (default: $FORESTALL_DATA).", metavar="DIR"
)
WORKERS: Final = Option("workers", int | None, "Processes (default: one a core).", least=1)

ON: Final = Option(
    "on",
    str | None,
    "Run on a cluster: slurm, slurm:partition=NAME,time=2h, or dask://HOST:PORT.",
    metavar="WHERE",
)


def quick(help_text: str) -> Option:
    """Return the option of a study that has a quick plan."""
    return Option("quick", bool, help_text, default=False)


@dataclass(frozen=True)
class StudyEntry(fs.Entry):
    """A study that can be chosen by name.

    Attributes
    ----------
    options : of its command, beside `--out`, in their order
    examples : of its command: options, a line each
    real : whether it cannot do without real logs
    counts : what its bar counts
    files : what is in its folder, in words
    """

    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    real: bool = False
    counts: str = "runs"
    files: str = "Figures, tables and verdict.md"

    @property
    def home(self) -> str:
        """The module that holds the study as `STUDY`."""
        return f"studies.{self.name.replace('-', '_')}"

    def study(self) -> Study[Any, Any, Any]:
        """Return the study."""
        found: Study[Any, Any, Any] = import_module(self.home).STUDY
        return found

    @property
    def out(self) -> Option:
        """The option that names the folder of results."""
        text = "Folder for figures and verdict."
        return Option("out", Path, text, Path(f"forestall-{self.name}"), "DIR")


def group(entries: Iterable[StudyEntry]) -> typer.Typer:
    """Return the group with a command for each study, and what of forestall is for research."""
    listed = list(entries)
    app = typer.Typer(
        help="Redraw the figures of the papers that forestall builds on.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        epilog=fs.screen.examples(*(example(one, one.examples[0]) for one in listed)),
    )
    for one in listed:
        fs.screen.command(app, one.name, *(example(one, line) for line in one.examples))(
            function_of(one)
        )
    for name, commands in fs.screen.RESEARCH.items():
        app.add_typer(commands, name=name)
    return app


def example(entry: StudyEntry, options: str) -> str:
    """Return an example as it is typed."""
    return f"python -m studies {entry.name} {options}".strip()


def function_of(entry: StudyEntry) -> Callable[..., None]:
    """Return the function of a study's command."""

    def run(**asked: Any) -> None:
        say_all(entry, reproduced(entry, **asked))

    first = [one for one in entry.options if one is DATA]
    rest = [one for one in entry.options if one is not DATA]
    run.__doc__ = entry.about
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.parameter() for one in (*first, entry.out, *rest)]
    )
    return run


def reproduced(entry: StudyEntry, *, out: Path, **asked: Any) -> Reproduction[Any]:
    """Redo a study as its command was asked to."""
    study = entry.study()
    given: dict[str, Any] = {"workers": asked.pop("workers", None) or 0}
    given["on"] = asked.pop("on", None)
    if DATA in entry.options:
        given["data"] = logs(asked.pop("data"), needed=entry.real)
    changes = {name: asked.pop(name) for name in ("quick", "seed") if name in asked}
    given["plan"] = study.planned(**changes)
    for name, value in asked.items():
        with fs.screen.ProgressBar(name) as bar:
            given[name] = study.asked[name](value, changes.get("quick", False), bar)
    with fs.screen.ProgressBar(entry.counts) as bar:
        return study.reproduce(out, progress=bar, **given)


def logs(data: Path | None, *, needed: bool) -> Path | None:
    """Return the folder with the real logs, as given or as the environment says; None where neither
    does and it is not needed."""
    known = os.environ.get("FORESTALL_DATA")
    named = data or (Path(known) if known is not None else None)
    if named is None and not needed:
        return None
    if named is None or not named.is_dir():
        raise fs.errors.ParameterError("--data", str(named or ""), "a folder with the real logs")
    return named


def say_all(entry: StudyEntry, made: Reproduction[Any]) -> None:
    """Print what a study found."""
    entry.study().say(made)
    fs.screen.say()
    fs.screen.say(f"{entry.files} are in {made.folder}")
