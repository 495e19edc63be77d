"""The host agent as a command: its settings, how it is run and ended, what it says of itself."""

from __future__ import annotations

import math
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeAlias

from forestall.core.model.errors import InputError, ParameterError
from forestall.core.model.settings import Setting
from forestall.core.model.units import format_duration, parse_duration
from forestall.core.processes.lock import only_agent, only_agent_here, running
from forestall.core.show.blocks import Table
from forestall.core.show.report import Report, Section
from forestall.prediction.availability.place import default_folder
from forestall.prediction.availability.states import HOLD, PERIOD, TH1, TH2
from forestall.prediction.availability.status import read_status
from forestall.sharing.agent.clock import SystemClock
from forestall.sharing.agent.exporter import Exporter
from forestall.sharing.agent.forecaster import Forecaster
from forestall.sharing.agent.guests import registered_guests
from forestall.sharing.agent.loop import Agent, AgentSettings, boot_id
from forestall.sharing.agent.sampler import Sampler, machine_counters
from forestall.sharing.agent.store import SAMPLES, DayStore, next_serial
from forestall.sharing.api import condor
from forestall.sharing.api.agent.calibrated import calibrated
from forestall.vaults.hosts.disk import StorageEye, StorageSample

LISTEN: Final = "127.0.0.1:9108"
CONDOR_EVERY: Final = 300.0
"""Seconds between two looks for HTCondor's processes."""
AD_EVERY: Final = 30.0
STATES: Final = "States"
Folder: TypeAlias = Annotated[
    Path | None,
    Setting("The agent's folder (default: ~/.local/state/forestall)", shown="DIR"),
]
_BYTES: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

Hook = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class AgentOptions:
    """What a user can say, as text; None where it was not said.

    `th1`, `th2` come from FOLDER/calibration.json where they are not given and it is there.
    """

    folder: Folder = None
    period: Annotated[
        str | None, Setting("Time between samples (default 6s)", shown="DURATION")
    ] = None
    th1: Annotated[
        str | None,
        Setting(
            "Load above which a guest runs at lowest priority (default: as calibrated, or 0.2)",
            shown="SHARE", group=STATES,
        ),
    ] = None  # fmt: skip
    th2: Annotated[
        str | None,
        Setting(
            "Load above which a guest must leave (default: as calibrated, or 0.6)",
            shown="SHARE", group=STATES,
        ),
    ] = None  # fmt: skip
    hold: Annotated[
        str | None,
        Setting(
            "How long a heavy load or a gap must last to count (default 60s)",
            shown="DURATION", group=STATES,
        ),
    ] = None  # fmt: skip
    guest_memory: Annotated[
        str | None,
        Setting(
            "Free memory a guest needs, such as 512M or 10% (default 0)",
            shown="AMOUNT", group=STATES,
        ),
    ] = None  # fmt: skip
    keep: Annotated[
        str | None, Setting("How long files are kept (default 400d)", shown="DURATION")
    ] = None
    storage: Annotated[
        Path | None,
        Setting(
            "Folder of forestall storage serve: also sample how busy its disk is, its clients and "
            "bytes",
            shown="DIR",
        ),
    ] = None
    speed: Annotated[
        str | None,
        Setting(
            "How fast this host is, as a multiple of an average one of its pool, for HTCondor "
            "(default 1)",
            shown="FACTOR",
        ),
    ] = None

    @property
    def place(self) -> Path:
        """The agent's folder."""
        return self.folder or default_folder()

    def settings(self) -> AgentSettings:
        """Return them checked. Raises ParameterError, and TraceError for the calibration."""
        period = _of(self.period, PERIOD, parse_duration, "period")
        if period < 1:
            raise ParameterError("period", self.period, "a duration of at least 1s")
        found: Mapping[str, float] = {}
        if self.th1 is None or self.th2 is None:
            found = calibrated(self.place)
        th1 = _of(self.th1, found.get("th1", TH1), _share, "th1")
        th2 = _of(self.th2, found.get("th2", TH2), _share, "th2")
        if th1 > th2:
            name, value = ("th1", self.th1) if self.th1 is not None else ("th2", self.th2)
            raise ParameterError(name, value, f"Th1 <= Th2; they are {th1:g} and {th2:g}")
        keep = _of(self.keep, 400 * 86_400, parse_duration, "keep")
        if keep < 86_400:
            raise ParameterError("keep", self.keep, "a duration of at least 1d")
        return AgentSettings(
            folder=self.place,
            period=period,
            th1=th1,
            th2=th2,
            hold=_of(self.hold, HOLD, parse_duration, "hold"),
            guest_memory=_of(self.guest_memory, 0.0, parse_memory_share, "guest_memory"),
            keep=math.ceil(keep / 86_400),
            storage=self.storage,
            speed=_of(self.speed, 1.0, _speed, "speed"),
        )


def parse_memory_share(text: str, name: str) -> float:
    """Return the share of this host's memory that ``10%``, ``0.1`` or ``512M`` is."""
    stripped = text.strip().lower().removesuffix("ib").removesuffix("b")
    unit = _BYTES.get(stripped[-1:], 0)
    if not unit:
        return _share(text, name)
    try:
        amount = float(stripped[:-1]) * unit
    except ValueError:
        amount = math.nan
    if not amount >= 0:
        raise ParameterError(name, text, "an amount of memory such as 512M, or a share such as 10%")
    share = amount / machine_counters().memory
    if share > 1:
        raise ParameterError(name, text, "no more than the memory of this host")
    return share


class AgentEnd(NamedTuple):
    """What an agent did until it ended: samples taken, and those of them that are not on disk."""

    samples: int
    lost: int


def run_agent(
    settings: AgentSettings,
    *,
    listen: tuple[str, int] | None,
    until: float = math.inf,
    tell: Callable[[str], None],
    show: Hook | None = None,
    beside: bool = False,
) -> AgentEnd:
    """Be the agent of a folder until `until` s have passed or SIGTERM, SIGINT or SIGHUP comes.

    Parameters
    ----------
    listen : where Prometheus may ask; None: nowhere
    tell : takes a line that the user should see
    show : takes each status, for a display
    beside : run beside another agent of this user on this host, on another folder

    Raises TraceError where the folder has an agent or cannot be written to, InputError where the
    user has another agent at work or the port is taken, MissingExtraError without psutil or
    prometheus-client.
    """
    if not sys.platform.startswith("linux"):
        raise InputError(f"the agent reads /proc and needs Linux; this is {sys.platform}")
    clock, host = SystemClock(), socket.gethostname()
    here = only_agent_here(settings.folder, beside=beside)
    with only_agent(settings.folder), here, _stopping() as wait:
        _sweep(settings.folder)
        hooks = (CondorHook(settings.folder),) if show is None else (
            CondorHook(settings.folder), show,
        )  # fmt: skip
        forecaster = Forecaster(settings.folder, host, settings.hold, tell=tell)
        eye = StorageSample if settings.storage is None else StorageEye(
            settings.storage, clock.monotonic, clock.wall
        )  # fmt: skip
        sampler = Sampler(
            lambda: registered_guests(settings.folder), helpers=forecaster.helpers, clock=clock,
            storage=eye,
        )  # fmt: skip
        header = settings.header(host, boot_id(), next_serial(settings.folder))
        store = DayStore(settings.folder, header, keep=settings.keep, clock=clock, tell=tell)
        agent = Agent(
            settings, host, clock=clock, sampler=sampler, store=store, forecaster=forecaster,
            tell=tell, hooks=hooks,
        )  # fmt: skip
        exporter = None if listen is None else Exporter(listen, lambda: agent.status)
        where = "" if exporter is None else f", metrics at {exporter.address}"
        tell(f"watching this host every {settings.period:g} s into {settings.folder}{where}")
        try:
            agent.run(wait, until)
        finally:
            if exporter is not None:
                exporter.close()
    return AgentEnd(agent.samples, store.waiting + store.lost)


def _sweep(folder: Path) -> None:
    """Remove what an agent that was killed had begun to write."""
    for path in (*folder.glob(".condor.ad-*"), *(folder / SAMPLES).glob(".*.fsd-*")):
        path.unlink(missing_ok=True)


class CondorHook:
    """Keeps FOLDER/condor.ad for HTCondor, and counts its jobs as guests.

    The file is written anew each `AD_EVERY` s, and when the state changes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked = self._written = -math.inf
        self._state = ""
        self._vault: Mapping[str, float] = {}

    def __call__(self, status: Mapping[str, Any]) -> None:
        """Write the attributes of this status, where it is time."""
        now = time.monotonic()
        if now - self._looked >= CONDOR_EVERY:
            self._looked = now
            condor.register_condor(self._folder)
            self._vault = condor.vault_facts(self._folder, time.time())
        if now - self._written >= AD_EVERY or status["state"] != self._state:
            self._written, self._state = now, status["state"]
            condor.write_ad_of(self._folder, {**status, **self._vault})


def unit_text(options: list[str]) -> str:
    """Return a systemd user unit that runs the agent with these options."""
    words = [sys.executable, "-m", "forestall", "agent"]
    start = " ".join(_quoted(word) for word in [*words, *options])
    return f"""\
# ~/.config/systemd/user/forestall-agent.service
#   systemctl --user daemon-reload && systemctl --user enable --now forestall-agent
# Without `loginctl enable-linger` it ends when its user logs out, and the host looks away (S5).
[Unit]
Description=forestall host agent: load, state and availability of this host

[Service]
ExecStart={start}
Restart=on-failure
RestartSec=10
# 2: wrong options, a port that is taken, another agent on the folder
RestartPreventExitStatus=2
Nice=5
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


@contextmanager
def _stopping() -> Iterator[Callable[[float], bool]]:
    """Give a way to wait that SIGTERM, SIGINT and SIGHUP end: it returns True from then on.

    A signal that is ignored, as by nohup, stays so.
    """
    inner, outer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        with suppress(OSError):
            os.write(outer, b"x")

    def wait(seconds: float) -> bool:
        if not stopped:
            select.select([inner], [], [], max(seconds, 0.0))
        return stopped

    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {s: signal.signal(s, stop) for s in signals if signal.getsignal(s) != signal.SIG_IGN}
    try:
        yield wait
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        os.close(inner)
        os.close(outer)


def _of(text: str | None, default: Any, parse: Callable[[str, str], Any], name: str) -> Any:
    return default if text is None else parse(text, name)


def _share(text: str, name: str) -> float:
    """Return what ``0.2`` or ``20%`` says."""
    stripped = text.strip()
    try:
        value = float(stripped.removesuffix("%"))
    except ValueError:
        value = math.nan
    value = value / 100 if stripped.endswith("%") else value
    if not 0 <= value <= 1:
        raise ParameterError(name, text, "a share from 0 to 1, such as 0.2 or 20%")
    return value


def _speed(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1e-3 <= value <= 1e3:
        raise ParameterError(name, text, "a factor from 0.001 to 1000, such as 1.5")
    return value


def _quoted(word: str) -> str:
    """Return a word as ExecStart= takes it."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if not text or set(text) & set(" \t'\"\\;") else text


FAR: Final = 10 * 365 * 86_400
OLD: Final = 10
"""Periods after which a status is old: the agent hangs, or the clock was set."""

MEANING: Final = {
    "S1": "available",
    "S2": "available at lowest priority",
    "S3": "not available: the owner needs the CPU",
    "S4": "not available: too little free memory",
    "S5": "not available: away",
}


def line(status: Mapping[str, Any]) -> str:
    """Return the status in one line."""
    parts = [str(status["state"]), f"load {_percent(status['cpu'])}"]
    if status["guest_cpu"]:
        parts.append(f"guests {_percent(status['guest_cpu'])}")
    parts.append(f"memory free {_percent(status['memory_free'])}")
    chances = status["reliability"]
    if chances is None:
        parts.append(f"stays: not known yet ({status['learnt_days']:.1f} of 1 day seen)")
    else:
        told = ", ".join(f"{_hours(key)} {_chance(p)}" for key, p in chances.items())
        parts.append(f"stays {told}")
    return "  ".join(parts)


def rows(folder: Path, status: Mapping[str, Any], now: float) -> list[tuple[str, str]]:
    """Return the status as (name, value) for a table."""
    state = str(status["state"])
    found = [
        ("host", str(status.get("host", ""))),
        ("state", f"{state}, {_meaning(status)}"),
        ("since", f"{_date(status['since'])} ({format_duration(max(now - status['since'], 0))})"),
        ("owner's load", _percent(status["cpu"])),
        ("guests' load", _percent(status["guest_cpu"])),
        ("memory free", _percent(status["memory_free"])),
        ("thresholds", f"Th1 {100 * status['th1']:.0f} %, Th2 {100 * status['th2']:.0f} %, hold "
                       f"{format_duration(status['hold'])}, guest's memory "
                       f"{100 * status['guest_memory']:.0f} %"),
    ]  # fmt: skip
    chances = status["reliability"]
    if chances is None:
        found.append(("stays available", "not known yet: observed for less than a day"))
    else:
        for key, value in chances.items():
            found.append((f"stays {_hours(key)}", _chance(value)))
        found.append(("mean time to failure", _mean_time(status["mttf"])))
    found.append(("learned from", f"{status['learnt_days']:.1f} days"))
    waiting, lost = status.get("samples_waiting", 0), status.get("samples_lost", 0)
    kept = f", {waiting:,} wait to be written" if waiting else ""
    gone = f", {lost:,} lost" if lost else ""
    found.append(("samples", f"{status['samples']:,} of {format_duration(status['period'])} "
                             f"since {_date(status['started'])}{kept}{gone}"))  # fmt: skip
    found.append(("own cost", _cost(status)))
    found.append(("agent", _agent(folder, status, now)))
    return found


def report_of(folder: Path, status: Mapping[str, Any], now: float) -> Report:
    """Return the status as a report."""
    told = rows(folder, status, now)
    records = [{"name": name, "value": value} for name, value in told]
    table = Table.of("status", ("", ""), told, records, right=(), most=0)
    return Report("Status", "", (Section("status", "", body=(table,)),), closing=())


def trouble(folder: Path, status: Mapping[str, Any], now: float) -> str:
    """Return a line where the agent does not run or its status is old, else nothing."""
    age = now - status["time"]
    if running(folder) is None:
        return f"{folder}: no agent is running here; this status is {format_duration(abs(age))} old"
    if abs(age) > OLD * status["period"]:
        return f"{folder}: the agent's status is {format_duration(abs(age))} old"
    return ""


def facts(folder: Path, now: float) -> dict[str, Any]:
    """Return the status with ``running`` and ``age``, s. Raises TraceError where there is none."""
    status = read_status(folder)
    return {**status, "running": running(folder) is not None, "age": round(now - status["time"], 1)}


def _meaning(status: Mapping[str, Any]) -> str:
    load = status["cpu"]
    spike = status["state"] == "S2" and load is not None and load > status["th2"]
    return MEANING[status["state"]] + (", in a spike of its owner's load" if spike else "")


def _agent(folder: Path, status: Mapping[str, Any], now: float) -> str:
    at_work = running(folder)
    if at_work is None:
        return "not running"
    age = format_duration(max(now - status["time"], 0))
    return f"process {at_work or status['pid']}, last sample {age} ago"


def _cost(status: Mapping[str, Any]) -> str:
    share, memory = status.get("own_cpu"), status.get("own_memory")
    if share is None or memory is None:
        return "not known"
    told = f"{100 * share:.2f} % of one processor, {memory / 1e6:.0f} MB"
    most = status.get("forecast_memory")
    return f"{told} ({most / 1e6:.0f} MB while it learns)" if most else told


def _percent(value: Any) -> str:
    return "not known" if value is None else f"{100 * value:.0f} %"


def _chance(value: float) -> str:
    """Return a chance; only what is certain is 100 %."""
    shown = f"{100 * value:.0f} %"
    return "> 99 %" if shown == "100 %" and value < 1 else shown


def _mean_time(value: Any) -> str:
    if value is None:
        return "not known"
    return "never seen to leave" if value >= FAR else format_duration(value)


def _hours(key: str) -> str:
    return key.replace("h", " h")


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S} UTC"
