"""`forestall agent`: watch this host, name its state, say how long it may stay available."""

from __future__ import annotations

import errno
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias

import typer

from forestall.core._lazy import lazily
from forestall.core.commands import complain
from forestall.core.commands.options import Json, Quiet
from forestall.core.commands.output import OutputError, own_codes
from forestall.core.commands.registry import command, group_of, guarded
from forestall.core.commands.screen import say_json, say_report
from forestall.core.commands.spellings import spelled
from forestall.core.model.errors import ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import parse_duration
from forestall.core.show.clean import one_line

with lazily():
    from forestall.prediction.availability import place as agent_place
    from forestall.sharing.agent import exporter
    from forestall.sharing.api import condor as hosts_condor
    from forestall.sharing.api.agent import agent as app_agent

SERVICE = "Service"
Listen: TypeAlias = Annotated[
    str | None,
    Setting(
        "Address of the metrics for Prometheus (default 127.0.0.1:9108)",
        shown="HOST:PORT",
        group=SERVICE,
    ),
]
NoListen: TypeAlias = Annotated[bool, Setting("Serve no metrics", group=SERVICE)]
Beside: TypeAlias = Annotated[bool, Setting("Run beside another agent of yours on this host")]


app = group_of(
    "Monitor this host: sample its load, name its state, and predict how long it stays "
    "available. Without a command this is the agent itself, until Ctrl-C or SIGTERM.",
    "forestall agent",
    "forestall agent --folder here --th1 0.3 --guest-memory 512M --no-listen",
    "forestall agent status",
    invoke_without_command=True,
    no_args_is_help=False,
)


@app.callback()
@guarded
def agent(
    context: typer.Context,
    asked: app_agent.AgentOptions,
    listen: Listen = None,
    no_listen: NoListen = False,
    span: Annotated[
        str | None,
        Setting(
            "How long to watch (default: until Ctrl-C or SIGTERM)", option="for", shown="DURATION"
        ),
    ] = None,
    beside: Beside = False,
    quiet: Quiet = False,
) -> int:
    """Monitor this host: sample its load, name its state, and predict how long it stays
    available."""
    if context.invoked_subcommand is not None:
        return 0
    settings = asked.settings()
    if no_listen and listen is not None:
        raise ParameterError("--listen", listen, "nothing with --no-listen")
    address = None if no_listen else exporter.parse_address(listen or app_agent.LISTEN, "--listen")
    until = float("inf") if span is None else float(parse_duration(span, "--for"))
    terminal = sys.stdout.isatty()
    screen = Screen(live=not quiet and terminal, quiet=quiet)
    try:
        ended = app_agent.run_agent(
            settings, listen=address, until=until, tell=screen.tell,
            show=screen.show if screen.live else None, beside=beside,
        )  # fmt: skip
    finally:
        screen.clear()
    if ended.lost:
        said = f"{ended.lost:,} sample{'' if ended.lost == 1 else 's'} could not be kept"
        screen.tell(f"ended; {said}")
        with suppress(OSError):
            complain(said)
    else:
        screen.tell("ended; all samples are on disk" if ended.samples else "ended; no sample taken")
    screen.leave()
    return 1 if ended.lost else 0


class Screen:
    """What the agent says: on a terminal a line that stays in its place, and lines above it."""

    def __init__(self, *, live: bool, quiet: bool = False) -> None:
        self.live, self._quiet = live, quiet
        self._shown = False

    def tell(self, text: str) -> None:
        """Print a line with the time; with `quiet` none."""
        if not self._quiet:
            self.clear()
            self._print(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} {one_line(text)}\n")

    def show(self, told: Mapping[str, Any]) -> None:
        """Show the status instead of the last one."""
        width = max(shutil.get_terminal_size().columns - 1, 20)
        self._print(f"\r\x1b[K{one_line(app_agent.line(told))[:width]}", codes=True)
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._print("\r\x1b[K", codes=True)
            self._shown = False

    def leave(self) -> None:
        """Have nothing left to print when Python ends."""
        self._print("")

    def _print(self, text: str, *, codes: bool = False) -> None:
        """Print; whatever becomes of the terminal, the pipe or the log, the agent goes on."""
        try:
            with own_codes() if codes else nullcontext():
                print(text, end="", flush=True)
        except OutputError as error:
            if error.errno in (errno.EPIPE, errno.EIO, errno.EBADF, None) or not text:
                # whoever read is gone for good; Python would complain again at its end
                error.out.give_up()


@command(app, "status", "forestall agent status", "forestall agent status --json")
def status(folder: app_agent.Folder = None, as_json: Json = False) -> int:
    """Show what an agent last saw; the exit code is 1 if it is not running."""
    place, now = agent_place.default_folder() if folder is None else folder, time.time()
    told = app_agent.facts(place, now)
    wrong = app_agent.trouble(place, told, now)
    if as_json:
        say_json(told)
    else:
        say_report(app_agent.report_of(place, told, now))
    return complain(wrong, 1) if wrong else 0


@command(app, "unit", "forestall agent unit > ~/.config/systemd/user/forestall-agent.service")
def unit(
    asked: app_agent.AgentOptions,
    listen: Listen = None,
    no_listen: NoListen = False,
    beside: Beside = False,
) -> None:
    """Print a systemd user unit that runs the agent, with the options given here."""
    asked.settings()
    if listen is not None:
        exporter.parse_address(listen, "--listen")
    given = {
        **{
            spelled(name): value
            for name, value in asdict(asked).items()
            if name not in ("folder", "storage")
        },
        "--listen": listen,
    }
    words = [word for name, value in given.items() if value is not None for word in (name, value)]
    flags = {"--no-listen": no_listen, "--beside": beside}
    words += [name for name, said in flags.items() if said]
    places = {"--folder": asked.folder, "--storage": asked.storage}
    where = [word for name, path in places.items() if path is not None
             for word in (name, str(path.resolve()))]  # fmt: skip
    print(app_agent.unit_text([*where, *words]), end="")


@command(app, "ad", "forestall agent ad --folder here", hidden=True)  # HTCondor calls it
def ad(folder: app_agent.Folder = None) -> None:
    """Print what the agent last saw as attributes of an HTCondor machine (STARTD_CRON)."""
    print(hosts_condor.read_ad(agent_place.default_folder() if folder is None else folder), end="")


@command(
    app,
    "condor",
    "forestall agent condor > /etc/condor/config.d/50-forestall",
    "forestall agent condor --submit --hours 4 --prefer falcon",
)
def condor(
    folder: app_agent.Folder = None,
    every: Annotated[str, Setting("Time between two readings", shown="DURATION")] = "60s",
    way: Annotated[
        str, Setting("How the startd reads the prediction", shown="file|command")
    ] = "file",
    submit: Annotated[bool, Setting("Print lines for a job's submit file instead")] = False,
    hours: Annotated[
        float, Setting("With {submit}: run time of the job in hours", shown="H")
    ] = 4.0,
    by: Annotated[
        Literal["stay", "falcon"],
        Setting(
            "With {submit}: prefer the machine most likely to stay available, or the one that "
            "Falcon would choose"
        ),
    ] = "stay",
) -> None:
    """Print the HTCondor configuration that publishes and uses the agent's prediction."""
    if submit:
        with _dashes():
            print(hosts_condor.submit_lines(hours, by=by), end="")
        return
    if way not in ("file", "command"):
        raise ParameterError("--way", way, "file or command")
    place = agent_place.default_folder() if folder is None else folder
    seconds = parse_duration(every, "--every")
    with _dashes():
        print(hosts_condor.condor_config(place, every=seconds, way=way), end="")  # type: ignore[arg-type]


@contextmanager
def _dashes() -> Iterator[None]:
    """Name a parameter that is refused as it is typed."""
    try:
        yield
    except ParameterError as error:
        name = error.name if error.name.startswith("-") else f"--{error.name}"
        raise ParameterError(name, error.value, error.allowed) from None
