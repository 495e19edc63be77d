"""`forestall report`: what a site's own records tell, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import UNUSABLE
from forestall.core.commands.options import OUTPUT, Force, Json, Quiet
from forestall.core.commands.questions import Given
from forestall.core.commands.registry import command
from forestall.core.commands.screen import ProgressBar, say, say_json, say_utf8
from forestall.core.commands.spellings import spelled
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.show.text import Short
from forestall.reliability.commands.records import (
    Files,
    OpenMetrics,
    SiteOptions,
    given_of,
    metrics_place,
)

with lazily():
    from forestall.core.files import places
    from forestall.core.show import page as show_page
    from forestall.site import report as site_report
    from forestall.slurm import commands, queue
    from forestall.slurm.sources import asked
    from forestall.slurm.sources import given as asking

if TYPE_CHECKING:
    from forestall.site.report import SiteFindings

PAGE_NAME = "report.html"
SHORT = Short(more="--full", whole="Shortened. All of it: --full, --out report.html, --json.")


app = typer.Typer()


@command(
    app,
    "report",
    "forestall report --slurm --out report.html",
    "forestall report jobs.txt events.txt nodes.txt --since 30d --partition gpu",
    "forestall report jobs.txt events.txt --price 0.60 --currency EUR --json",
    "forestall report jobs.swf --failures lanl.csv --system 20 --out report.html",
    "forestall report --slurm --openmetrics /var/lib/node_exporter/forestall.prom --quiet",
)
def report(
    options: SiteOptions,
    files: Files = None,
    *,
    assumed: asking.Assumptions,
    out: Annotated[
        Path | None,
        Setting(
            "Write the report as one self-contained page; in a folder, as report.html",
            shown="FILE.html|DIR",
            group=OUTPUT,
        ),
    ] = None,
    openmetrics: OpenMetrics = None,
    full: Annotated[
        bool, Setting("Print all rows and the definition of every figure", group=OUTPUT)
    ] = False,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Report on a site from its own records: node-hours lost, node health, and what to do.

    Nothing is changed and nothing leaves this machine. Without files and without --slurm it prints
    the commands that make the files.
    """
    given = given_of(files, options)
    if given.nothing:
        print_commands()
        raise typer.Exit(UNUSABLE)
    metrics_place(openmetrics, as_json=as_json)
    target = None if out is None else page_place(out, force=force)

    written: list[Path] = []

    def early(made: SiteFindings) -> None:
        assert target is not None
        written.append(show_page.write_page(target, site_report.page(made)))
        if not quiet:
            say(f"Written: {target}; quotes are being learned, then it is replaced.", error=True)

    first = None if target is None else early
    told = _options(given.paths, options, assumed)
    try:
        with ProgressBar("report", quiet=quiet) as bar:
            made = site_report.make(given, assumed.told(), told, bar, first)
    except KeyboardInterrupt:
        if written:
            raise KeyboardInterrupt(f"interrupted; {target} is the first page") from None
        raise
    if target is not None:
        with ProgressBar("figures", quiet=quiet) as bar:
            text = site_report.page(made, bar)
        show_page.write_page(target, text)
    how = "json" if as_json else "none" if quiet else "full" if full else "short"
    _print(made, openmetrics, target, how)


def _print(made: SiteFindings, openmetrics: str | None, target: Path | None, how: str) -> None:
    if openmetrics == "-":
        say_utf8(site_report.openmetrics(made))
        return
    if openmetrics is not None:
        site_report.write_openmetrics(openmetrics, made)
    if how == "json":
        say_json(made.as_json())
    elif how != "none":
        print(site_report.text_of(made, full=how == "full", short=SHORT), end="")
        for place in (target, openmetrics):
            if place is not None:
                say(f"Written: {place}")


def _options(
    paths: tuple[Path, ...], options: Given, assumed: asking.Assumptions
) -> dict[str, Any]:
    """Return what was chosen, as the report tells it: files without their folders, which would tell
    of the machine that it was made on."""
    told = {spelled(name): value for name, value in options.items()}
    if "--failures" in told:
        told["--failures"] = Path(told["--failures"]).name
    if paths:
        told = {"files": ", ".join(places.called(paths).values()), **told}
    if assumed.cost is not None:
        told[spelled("cost")] = f"{assumed.cost:g} {assumed.currency} a node-hour"
    interval = assumed.checkpoint_interval
    told["--checkpoint-interval"] = (
        f"{asked.Asked.checkpoint_interval} s (assumed)" if interval is None else f"{interval} s"
    )
    told[spelled("checkpoint_cost")] = f"{assumed.checkpoint_cost} s"
    told[spelled("restart")] = f"{assumed.restart} s"
    if not assumed.learn:
        told["--no-learn"] = "yes"
    return told


def page_place(out: Path, *, force: bool = False) -> Path:
    """Return where the page goes: the file, or ``report.html`` in a folder, which is made.

    Raises ParameterError where that cannot be, and where a folder holds something else.
    """
    if out.suffix.lower() in {".html", ".htm"}:
        if out.is_dir():
            raise ParameterError("--out", str(out), "a file, not a folder of that name")
        if not out.parent.is_dir():
            raise ParameterError("--out", str(out), "a file in a folder that is there")
        return out
    if out.exists() and not out.is_dir():
        raise ParameterError("--out", str(out), "a name that ends in .html, or a folder")
    if out.is_dir() and not force:
        other = [one.name for one in out.iterdir() if one.name != PAGE_NAME]
        if other:
            allowed = "an empty folder or a file .html (--force writes beside what is there)"
            raise ParameterError("--out", str(out), allowed)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError("--out", str(out), f"a folder ({error.strerror})") from None
    return out / PAGE_NAME


def print_commands(command: str = "report", page: str = " --out report.html") -> None:
    """Print the commands that write the files of a command such as report, and how to go on."""
    print("Where Slurm runs, ask it directly; this changes nothing and needs no special rights:")
    print()
    print(f"  forestall {command} --slurm{page}")
    print()
    print("Or write its records to files there, and report on any machine:")
    print()
    for line in commands.printed("$(date -d '-90 days' +%F)"):
        print(f"  {line}")
    print(f"  forestall {command} jobs.txt events.txt nodes.txt{page}")
    print()
    if command == "report":
        print("To judge Slurm's start estimates as well, give starts.txt, to which cron adds what")
        print("Slurm says, every 5 minutes for example (in a crontab write \\% for each %):")
        print()
        print(f"  {queue.SNAPSHOT}")
        print()
    print(
        f"Without Slurm: forestall {command} jobs.swf --failures failures.csv. All options: --help"
    )
