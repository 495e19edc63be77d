"""The settings of `forestall serve`: one TOML file, a table each for `TABLES`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from forestall.core.files.documents import read_toml
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.settings import Declared, Setting
from forestall.live.guard.settings import GuardSettings, changed, guard_settings
from forestall.live.messages.settings import MessageSettings, message_settings
from forestall.live.rules.settings import RuleSettings
from forestall.live.serving.watching import WatchTable, as_text

TABLES: Final = ("serve", "guard", "keeper", "warden", "rules", "watch", "slurm", "messages")
Port = Annotated[int, Field(ge=0, le=65535)]
AtLeastOne = Annotated[int, Field(ge=1)]
_RULES: Final = ("drain", "reboot", "steer")
_WARDEN: Final = ("socket", "user", "users", "test", "test_time")


@dataclass(frozen=True)
class ServeTable(Declared):
    """The table ``serve``: where people are answered, and how often the cluster is looked at."""

    host: Annotated[str, Setting("Address that is listened on; empty: only the socket")] = (
        "127.0.0.1"
    )
    port: Annotated[Port, Setting("Port; 0: any free one")] = 8642
    socket: Annotated[
        str, Setting("Path of a Unix socket, where users are known without a token")
    ] = ""
    operators: Annotated[
        tuple[str, ...], Setting("Users of this machine who are operators on the socket")
    ] = ("root",)
    tokens: Annotated[str, Setting("File of the tokens (default: beside the ledger)")] = ""
    ledger: Annotated[str, Setting("URL of the ledger's database")] = ""
    cycle: Annotated[AtLeastOne, Setting("Between two looks at the cluster", unit="s")] = 30
    rate: Annotated[AtLeastOne, Setting("Most requests of one viewer in a second, on average")] = 50
    offer_life: Annotated[AtLeastOne, Setting("For which an offer holds", unit="s")] = 300


@dataclass(frozen=True)
class SlurmTable(Declared):
    """The table ``slurm``: how the cluster is reached, and with whose rights."""

    via: Annotated[Literal["commands", "rest"], Setting("Slurm's own commands, or slurmrestd")] = (
        "commands"
    )
    url: Annotated[
        str, Setting("Of slurmrestd: http://HOST:PORT, https://HOST:PORT or unix:/PATH")
    ] = ""
    user: Annotated[str, Setting("User for slurmrestd, or as whom commands run")] = ""
    token: Annotated[str, Setting("File with the token for slurmrestd")] = ""
    keeper_user: Annotated[str, Setting("User name of the keeper (default: user)")] = ""
    keeper_token: Annotated[
        str, Setting("File with the keeper's token, also for commands (default: token)")
    ] = ""
    default_partition: Annotated[
        str, Setting("Partition of jobs that name none, where slurmrestd does not tell (to 24.11)")
    ] = ""
    timeout: Annotated[AtLeastOne, Setting("That a question or action may take", unit="s")] = 60
    submit_as_owner: Annotated[
        bool, Setting("Submit jobs as their owners, which only root may")
    ] = False


@dataclass(frozen=True)
class WardenProcess(Declared):
    """Keys of the table ``warden`` that name its process."""

    socket: Annotated[str, Setting("Path of the warden's socket")] = ""
    user: Annotated[str, Setting("User as whom the warden must run (default: any)")] = ""
    users: Annotated[tuple[str, ...], Setting("Users who may ask the warden")] = ()
    test: Annotated[
        str, Setting("Script of a job that must end well before a node returns; empty: none")
    ] = ""
    test_time: Annotated[AtLeastOne, Setting("That this job may take", unit="s")] = 300


@dataclass(frozen=True)
class LiveSettings:
    """All of it; `given`: names of the tables that the file has."""

    serve: ServeTable = field(default_factory=ServeTable)
    guard: GuardSettings = field(default_factory=GuardSettings)
    rules: RuleSettings = field(default_factory=RuleSettings)
    watch: WatchTable = field(default_factory=WatchTable)
    slurm: SlurmTable = field(default_factory=SlurmTable)
    warden: WardenProcess = field(default_factory=WardenProcess)
    messages: MessageSettings = field(default_factory=MessageSettings)
    given: frozenset[str] = frozenset()


def live_settings(tables: Mapping[str, Any]) -> LiveSettings:
    """Return the settings that tables say; what they do not say is as it is by default. Raises
    ParameterError."""
    strange = [name for name in tables if name not in TABLES]
    if strange:
        raise ParameterError("table", strange[0], "one of " + ", ".join(TABLES))
    for name, value in tables.items():
        if not isinstance(value, dict):
            raise ParameterError(name, value, "a table")
    warden = dict(tables.get("warden", {}))
    process = {name: warden.pop(name) for name in _WARDEN if name in warden}
    guarding = {name: tables[name] for name in ("guard", "keeper") if name in tables}
    return LiveSettings(
        changed(ServeTable(), _lists(tables.get("serve", {}), "operators"), "serve"),
        guard_settings({**guarding, "warden": warden}),
        changed(RuleSettings(), _lists(tables.get("rules", {}), *_RULES), "rules"),
        changed(
            WatchTable(), _lists(as_text(tables.get("watch", {})), "predictor", "check"), "watch"
        ),
        changed(SlurmTable(), tables.get("slurm", {}), "slurm"),
        changed(WardenProcess(), _lists(process, "users"), "warden"),
        message_settings(tables.get("messages", {})),
        frozenset(tables),
    )


def read_live_settings(path: Path) -> LiveSettings:
    """Return the settings of a TOML file. Raises TraceError that names file and key."""
    told = read_toml(path)
    try:
        return live_settings(told)
    except ParameterError as error:
        raise TraceError(path, str(error)) from None


def _lists(given: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Return a table with its lists of names as tuples."""
    told = dict(given)
    for name in names:
        if name not in given:
            continue
        value = given[name]
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ParameterError(name, str(value), "a list of names")
        told[name] = tuple(value)
    return told
