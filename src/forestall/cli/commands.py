"""The commands: a line of help each, and the module that is loaded when one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from forestall.cli.output import own_codes
from forestall.cli.registry import placed

BOOKS: Final = "A site's own records"
RUNS: Final = "Runs and promises"
FAILING: Final = "How machines fail, and what to do"
LIVE: Final = "Live: act before nodes fail"
SLURM: Final = "Promises on a Slurm cluster"
PREDICTION: Final = "Failure prediction and its worth"
LOGS: Final = "Logs"


class CommandEntry(NamedTuple):
    """A command: its name, its module below `forestall.cli`, its panel of the help, and its line
    there, which is the first paragraph of its own help.

    The module has an `app`: either the command is in it, or it is a command with commands of its
    own.
    """

    name: str
    module: str
    panel: str
    help: str


COMMANDS: Final = (
    CommandEntry(
        "report", "site.report", BOOKS,
        "Report on a site from its own records: node-hours lost, node health, and what to do.",
    ),
    CommandEntry(
        "job", "site.job", BOOKS,
        "Say what one job waited for, what it used, what it was promised and what hit it.",
    ),
    CommandEntry(
        "lemons", "site.lemons", BOOKS,
        "Find nodes that fail more often than chance allows, and what average ones would save.",
    ),
    CommandEntry(
        "import", "site.import_", BOOKS,
        "Convert a site's records into files that every other command reads.",
    ),
    CommandEntry(
        "backtest", "site.backtest", BOOKS,
        "Replay records in time order, and show how good quotes would have been.",
    ),
    CommandEntry(
        "futures", "site.futures", BOOKS,
        "Simulate the queue: when jobs start and end, when nodes are free, what a drain does.",
    ),
    CommandEntry(
        "demo", "runs.demo", RUNS,
        "Generate two weeks of jobs and failures, and show what predicting the failures is worth.",
    ),
    CommandEntry(
        "warm-up", "runs.warm_up", RUNS,
        "Compile everything that an installation needs, in parallel, so that no run waits for it.",
    ),
    CommandEntry(
        "simulate", "runs.simulate", RUNS,
        "Replay jobs on a machine that fails, promise deadlines, and account for the promises.",
    ),
    CommandEntry(
        "sweep", "runs.sweep", RUNS,
        "Run every combination of parameter values: ranges from:to:by and lists a,b,c.",
    ),
    CommandEntry(
        "compare", "runs.compare", RUNS,
        "Put runs side by side: measures, differences to the first run, parameters that differ.",
    ),
    CommandEntry(
        "certify", "runs.audit", RUNS,
        "Check a run by its files alone: no node gives more than it has, none works while down, "
        "and\nwork adds up.",
    ),
    CommandEntry(
        "replay", "replays.replay", RUNS,
        "Drive the engine with what was recorded, a run's event log or the ledger of forestall "
        "serve,\nand compare its decisions.",
    ),
    CommandEntry(
        "reliability", "reliability.reliability", FAILING,
        "Show how a machine fails: rates, distributions, trend, years, causes, bad nodes, bursts.",
    ),
    CommandEntry(
        "fit", "reliability.fit", FAILING,
        "Fit a lifetime distribution to times between failures, or rank all of them.",
    ),
    CommandEntry(
        "design", "reliability.design", FAILING,
        "Say how likely the jobs of each queue meet a failure, how often to write checkpoints, "
        "how\nmany spares a job needs, and what changes would buy.",
    ),
    CommandEntry(
        "interval", "reliability.interval", FAILING,
        "Find the best checkpoint interval, and show how far the closed forms are from it.",
    ),
    CommandEntry(
        "spares", "reliability.spares", FAILING,
        "Say how many spares it takes so that, with the wanted probability, no job waits for a "
        "node.",
    ),
    CommandEntry(
        "quote", "live.quote", SLURM,
        "Say when a job could start and be done, and with what probability; nothing is promised "
        "yet.",
    ),
    CommandEntry(
        "submit", "live.submit", SLURM,
        "Take an offer of forestall quote: it becomes a promise, and its job is submitted.",
    ),
    CommandEntry(
        "promises", "live.promises", SLURM,
        "List your promises, newest first; operators see everyone's.",
    ),
    CommandEntry(
        "promise", "live.promises", SLURM,
        "Show what was promised for a job, what is likely now, and what was done for it.",
    ),
    CommandEntry(
        "proposals", "live.proposals", SLURM,
        "List what the controller proposes to do, or approve or reject one; operators only.",
    ),
    CommandEntry(
        "doctor", "live.doctor", SLURM,
        "Check what a controller needs on this machine, and how to add what is missing.",
    ),
    CommandEntry(
        "calibrate", "hosts.calibrate", LIVE,
        "Measure how much a guest takes from this host's owner, and the loads at which it begins "
        "to.",
    ),
    CommandEntry(
        "agent", "hosts.agent", LIVE,
        "Watch this host: sample its load, name its state, and say how long it may stay "
        "available. Without a command this is the agent itself, until Ctrl-C or SIGTERM.",
    ),
    CommandEntry(
        "guest", "hosts.guest_submit", LIVE,
        "Run guests on a shared host: lowered, stopped and ended before its owner notices.",
    ),
    CommandEntry(
        "machines", "hosts.machines", LIVE,
        "Start virtual machines on the nodes of a fleet, and move them, running, before nodes "
        "fail: with QEMU on this host, or with libvirt on many.",
    ),
    CommandEntry(
        "checkpoint", "vault.checkpoint", LIVE,
        "Save files on storage hosts, some of which may be lost, and restore them.",
    ),
    CommandEntry(
        "storage", "vault.storage", LIVE,
        "Keep checkpoints of other machines on this one's disk, and say how storage hosts are.",
    ),
    CommandEntry(
        "run", "vault.run", LIVE,
        "Run a program so that it outlives its machine; ends with its exit code.",
    ),
    CommandEntry(
        "serve", "live.serve", LIVE,
        "Answer for a Slurm cluster: quotes, promises, proposals, over an API. Without a command "
        "this\nis the server itself, until Ctrl-C or SIGTERM.",
    ),
    CommandEntry(
        "predict", "judge.predict", PREDICTION,
        "Train predictors of failures on logs, ask them, and list them.",
    ),
    CommandEntry(
        "assess", "judge.assess", PREDICTION,
        "Judge failure predictors: forestall's own, or others by their scores or alarms.",
    ),
    CommandEntry(
        "traces", "traces.traces", LOGS,
        "Describe a log, convert it, filter it, or generate one.",
    ),
)  # fmt: skip


class Commands(Mapping[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        self.entries: Final = {entry.name: entry for entry in COMMANDS}
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(self.entries[name])
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


def _load(entry: CommandEntry) -> Any:
    """Import a command's module, and return the command as Typer makes it."""
    module = import_module(f"forestall.cli.{entry.module}")
    app = module.app
    if entry.name not in {one.name for one in app.registered_commands}:
        app = typer.Typer()
        app.add_typer(module.app, name=entry.name)
    command: Any = typer.main.get_group(app).commands[entry.name]
    command.rich_help_panel = entry.panel
    return placed(command, (entry.name,))


class LazyGroup(TyperGroup):
    """All commands: they are listed from the table, and loaded one by one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Commands()  # type: ignore[assignment]
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order of the table."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; where commands are only listed, its line of the table."""
        entry = self.commands.entries.get(cmd_name) if self._listing else None  # type: ignore[attr-defined]
        if entry is not None:
            return TyperCommand(entry.name, help=entry.help, rich_help_panel=entry.panel)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the application, for which no command is loaded."""
        self._listing = True
        with own_codes():
            super().format_help(ctx, formatter)
        self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the names that a shell offers, for which no command is loaded."""
        self._listing = True
        offered = super().shell_complete(ctx, incomplete)
        self._listing = False
        return offered
