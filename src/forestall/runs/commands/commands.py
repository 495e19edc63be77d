"""The commands: a line of help each, and the module that is loaded when one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from forestall.core.commands.registry import TidyHelp, placed

BOOKS: Final = "A site's own records"
RUNS: Final = "Runs and promises"
FAILING: Final = "How machines fail, and what to do"
LIVE: Final = "Live: act before nodes fail"
SLURM: Final = "Promises on a Slurm cluster"
PREDICTION: Final = "Failure prediction and its worth"
LOGS: Final = "Logs"
SELF: Final = "This installation"


class CommandEntry(NamedTuple):
    """A command: its name, its module below `forestall`, its panel of the help, and its line
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
        "report", "site.commands.report", BOOKS,
        "Report on a site from its own records: node-hours lost, node health, and what to do.",
    ),
    CommandEntry(
        "job", "site.commands.job", BOOKS,
        "Show one job: what it waited for, used and was promised, and which failures hit it.",
    ),
    CommandEntry(
        "lemons", "site.commands.lemons", BOOKS,
        "Find nodes that fail more often than chance explains, and what replacing them would "
        "save.",
    ),
    CommandEntry(
        "import", "site.commands.import_", BOOKS,
        "Convert a site's records into files that every other command reads.",
    ),
    CommandEntry(
        "backtest", "site.commands.backtest", BOOKS,
        "Replay records in time order, and show how good quotes would have been.",
    ),
    CommandEntry(
        "futures", "site.commands.futures", BOOKS,
        "Simulate the queue: when jobs start and end, when nodes are free, what a drain "
        "affects.",
    ),
    CommandEntry(
        "demo", "runs.commands.demo", RUNS,
        "Generate two weeks of jobs and failures, and show what predicting the failures is worth.",
    ),
    CommandEntry(
        "simulate", "runs.commands.simulate", RUNS,
        "Replay jobs on a machine that fails, promise deadlines, and account for the promises.",
    ),
    CommandEntry(
        "sweep", "runs.commands.sweep", RUNS,
        "Run every combination of parameter values: ranges from:to:by and lists a,b,c.",
    ),
    CommandEntry(
        "compare", "runs.commands.compare", RUNS,
        "Compare runs: measures, differences from the first run, parameters that differ.",
    ),
    CommandEntry(
        "certify", "runs.commands.audit", RUNS,
        "Check a run from its files alone: no node is overbooked or works while down, and all "
        "work adds up.",
    ),
    CommandEntry(
        "replay", "runs.commands.replay", RUNS,
        "Feed the engine what was recorded, a run's event log or the ledger of forestall "
        "serve, and compare its decisions.",
    ),
    CommandEntry(
        "reliability", "reliability.commands.reliability", FAILING,
        "Show how a machine fails: rates, distributions, trend, years, causes, bad nodes, bursts.",
    ),
    CommandEntry(
        "fit", "reliability.commands.fit", FAILING,
        "Fit a lifetime distribution to times between failures, or rank all of them.",
    ),
    CommandEntry(
        "design", "reliability.commands.design", FAILING,
        "Show how likely jobs of each queue are to meet a failure, how often to checkpoint, "
        "how many spares a job needs, and what changes would gain.",
    ),
    CommandEntry(
        "interval", "reliability.commands.interval", FAILING,
        "Find the best checkpoint interval, and show how far the closed forms are from it.",
    ),
    CommandEntry(
        "spares", "reliability.commands.spares", FAILING,
        "Compute how many spares keep jobs from waiting for a node, with a given probability.",
    ),
    CommandEntry(
        "quote", "live.commands.quote", SLURM,
        "Show when a job could start and end, and with what probability; nothing is promised "
        "yet.",
    ),
    CommandEntry(
        "submit", "live.commands.submit", SLURM,
        "Accept an offer of forestall quote: it becomes a promise, and its job is submitted.",
    ),
    CommandEntry(
        "promises", "live.commands.promises", SLURM,
        "List your promises, newest first; operators see everyone's.",
    ),
    CommandEntry(
        "promise", "live.commands.promises", SLURM,
        "Show a job's promise: what was promised, what is likely now, and what was done for it.",
    ),
    CommandEntry(
        "proposals", "live.commands.proposals", SLURM,
        "List the controller's proposals, or approve or reject one; operators only.",
    ),
    CommandEntry(
        "doctor", "live.commands.doctor", SLURM,
        "Check that this machine has what a controller needs, and say how to add what is "
        "missing.",
    ),
    CommandEntry(
        "calibrate", "sharing.commands.calibrate", LIVE,
        "Measure how much guests slow down this host's owner, and from which load on.",
    ),
    CommandEntry(
        "agent", "sharing.commands.agent", LIVE,
        "Monitor this host: sample its load, name its state, and predict how long it stays "
        "available. Without a command this is the agent itself, until Ctrl-C or SIGTERM.",
    ),
    CommandEntry(
        "guest", "sharing.commands.guest_submit", LIVE,
        "Run guest jobs on a shared host: they yield, stop and leave before the owner notices.",
    ),
    CommandEntry(
        "machines", "machines.commands.machines", LIVE,
        "Run virtual machines on a fleet and live-migrate them before nodes fail: with QEMU on "
        "this host, or with libvirt on many.",
    ),
    CommandEntry(
        "checkpoint", "vaults.commands.checkpoint", LIVE,
        "Save files on several storage hosts, and restore them even if some hosts are lost.",
    ),
    CommandEntry(
        "storage", "vaults.commands.storage", LIVE,
        "Store other machines' checkpoints on this one's disk, and show the state of storage "
        "hosts.",
    ),
    CommandEntry(
        "run", "vaults.commands.run", LIVE,
        "Run a program that survives the loss of its machine; exits with its exit code.",
    ),
    CommandEntry(
        "serve", "live.commands.serve", LIVE,
        "Serve quotes, promises and proposals for a Slurm cluster over an API. Without a "
        "command this is the server itself, until Ctrl-C or SIGTERM.",
    ),
    CommandEntry(
        "predict", "prediction.commands.predict", PREDICTION,
        "Train failure predictors on logs, query them, and list them.",
    ),
    CommandEntry(
        "assess", "runs.commands.assess", PREDICTION,
        "Evaluate failure predictors: forestall's own, or others by their scores or alarms.",
    ),
    CommandEntry(
        "traces", "runs.commands.traces", LOGS,
        "Describe a log, convert it, filter it, or generate one.",
    ),
    CommandEntry(
        "settings", "runs.commands.settings", SELF,
        "Write all options of a command as a settings file: what they mean, defaults and units.",
    ),
    CommandEntry(
        "warm-up", "runs.commands.warm_up", SELF,
        "Compile everything that an installation needs, in parallel, so that no run waits for it.",
    ),
    CommandEntry(
        "man", "runs.commands.man", SELF,
        "Write manual pages for all commands, with every option, to read with man(1).",
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
    module = import_module(f"forestall.{entry.module}")
    app = module.app
    if entry.name not in {one.name for one in app.registered_commands}:
        app = typer.Typer()
        app.add_typer(module.app, name=entry.name)
    command: Any = typer.main.get_group(app).commands[entry.name]
    command.rich_help_panel = entry.panel
    return placed(command, (entry.name,))


class LazyGroup(TidyHelp, TyperGroup):
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
        super().format_help(ctx, formatter)
        self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the names that a shell offers, for which no command is loaded."""
        self._listing = True
        offered = super().shell_complete(ctx, incomplete)
        self._listing = False
        return offered
