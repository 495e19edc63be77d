"""A program run so that it outlives its machine: what `forestall run` does."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import ForestallError, InputError, ParameterError, of_system
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import format_duration, parse_duration, told_bytes
from forestall.core.processes.follow import Writer
from forestall.core.show.words import counted
from forestall.prediction.availability.place import default_folder
from forestall.prediction.availability.status import read_status
from forestall.slurm.cluster.actions import Requeue
from forestall.slurm.control.orders import requeue
from forestall.slurm.run import SlurmError, read
from forestall.vaults.acting.calls import ask, is_driven
from forestall.vaults.acting.driver import OUTPUT, Driver
from forestall.vaults.acting.plan import RunPlan, RunRules, Surroundings
from forestall.vaults.acting.upload import ImageSaving
from forestall.vaults.acting.ways import ProgramStart, SavingWay, SelfSaving, checked_files
from forestall.vaults.adapters.criu import command as criu
from forestall.vaults.adapters.criu.way import CriuWay
from forestall.vaults.adapters.qemu_guest import parse_memory
from forestall.vaults.api.checkpoints import Coding, open_for_saves, save_placed
from forestall.vaults.api.stores import PlacingOptions
from forestall.vaults.chunks import KIB, Cutting
from forestall.vaults.manifests import Manifest
from forestall.vaults.repository import Vault
from forestall.vaults.rules.moments import FailureOutlook, forecast, learned, mean_time
from forestall.vaults.runs import RunHistory, checked_name
from forestall.vaults.saving import SaveTold

AUTO: Final = "auto"
STALE: Final = 600.0
"""s after which what an agent said counts no more."""
ENDED: Final = 120.0
"""s in which Slurm ends a job that it was asked to requeue."""
IMAGES: Final = Cutting("blocks", 16 * KIB)
"""How a vault is cut that begins with an image of a process: pages stay where they are."""
RUN_NAME: Final = "FORESTALL_RUN"
"""The variable by which a program hears its name."""
SCRATCH: Final = "_CONDOR_SCRATCH_DIR"
"""The variable by which a job of HTCondor hears of the folder that is its own on a machine."""
AGENT: Final = "FORESTALL_AGENT"
"""The variable by which a job hears of the folder of its machine's agent."""
ASKED_EVERY: Final = 5.0
"""s between two looks at what the agent says of leaving."""
OWNED: Final = ("S3", "S4")
SAVING: Final = "How it is saved"
WHEN: Final = "When it is saved"
HERE: Final = "This host"
Say = Callable[[str], None]


def _every(text: str) -> float | None:
    """Return s between saves: None by cost and risk, inf for none. Raises ParameterError."""
    if text == AUTO:
        return None
    if text == "none":
        return math.inf
    return _duration(text, "checkpoint_every")


def _mtbf(text: str) -> float:
    return _duration(text, "mtbf")


def _duration(text: str, name: str) -> float:
    seconds = parse_duration(text, name)
    if not seconds > 0:
        raise ParameterError(name, text, "a duration above 0")
    return float(seconds)


def _signal(text: str) -> int:
    """Return the number of a signal from its name or number. Raises ParameterError."""
    name = text.upper().removeprefix("SIG")
    known = {one.name.removeprefix("SIG"): int(one) for one in signal.Signals}
    number = known.get(name, int(text) if text.isdecimal() else 0)
    if number not in known.values() or number in (signal.SIGKILL, signal.SIGSTOP):
        raise ParameterError("signal", text, "a signal that a program can catch, such as USR1")
    return number


def _bytes(text: str) -> int:
    return parse_memory(text, "local_limit")


@dataclass(frozen=True)
class RunQuestion(Declared):
    """How a program is run and saved."""

    checkpoint_every: Annotated[
        float | None,
        Setting("Work between checkpoints; auto: from the cost of a checkpoint and the work at "
                "risk; none: no checkpoints",
                shown="auto|DURATION|none", typed=AUTO, read=_every, group=WHEN),
    ] = None  # fmt: skip
    mtbf: Annotated[
        float | None,
        Setting("Mean time between failures, for auto (default: the agent's forecast for this "
                "host, else the failures of this run so far)", shown="DURATION",
                read=_mtbf, group=WHEN),
    ] = None  # fmt: skip
    agent: Annotated[
        Path | None,
        Setting("Folder of the agent whose forecast is used (default: this user's agent)",
                shown="DIR", group=WHEN),
    ] = None  # fmt: skip
    leave_below: Annotated[
        Annotated[float, Field(ge=0, le=1)] | None,
        Setting("Save the program and exit with code 75 (a Slurm job is requeued) when the "
                "probability that this host stays available for an hour falls below this, or "
                "when its owner needs it (default: stay)", shown="P", group=WHEN),
    ] = None  # fmt: skip
    method: Annotated[
        Literal["auto", "criu", "signal", "command"],
        Setting("How the program is saved: by criu from outside, or by itself into {files} "
                "after a signal or a command",
                group=SAVING),
    ] = "auto"  # fmt: skip
    signal: Annotated[
        int,
        Setting("Signal that makes the program save itself; the save is complete when one of "
                "{files} has changed",
                shown="SIGNAL", typed="", read=_signal, group=SAVING),
    ] = 0  # fmt: skip
    save_command: Annotated[
        str,
        Setting("Shell command that saves the program, process $FORESTALL_RUN_PID, into "
                "{files} and then exits with code 0", shown="CMD", group=SAVING),
    ] = ""  # fmt: skip
    save_timeout: Annotated[
        float, Setting("Time limit of a save", shown="DURATION", group=SAVING)
    ] = 600.0
    criu: Annotated[str, Setting("Path of criu", shown="PROGRAM", group=SAVING)] = "criu"
    keep: Annotated[
        Annotated[int, Field(ge=1)],
        Setting("Number of checkpoints to keep", group=SAVING),
    ] = 3
    folder: Annotated[
        Path | None,
        Setting("Folder for images until they are in the vault (default: forestall/runs in "
                "$XDG_STATE_HOME or ~/.local/state)", shown="DIR", group=HERE),
    ] = None  # fmt: skip
    local_limit: Annotated[
        int, Setting("Maximum disk space for images on this host", shown="SIZE", typed="",
                     read=_bytes, unset="free memory", group=HERE)
    ] = 1 << 50  # fmt: skip
    lease: Annotated[
        float,
        Setting("Time without a heartbeat after which another host may take over the run",
                shown="DURATION", group=HERE),
    ] = 30.0  # fmt: skip
    patience: Annotated[
        float, Setting("Time between SIGTERM and SIGKILL", shown="DURATION", group=HERE)
    ] = 5.0
    fresh: Annotated[bool, Setting("Start from the beginning and ignore what was saved")] = False

    def place(self, name: str) -> Path:
        """Return the folder of a run."""
        scratch = os.environ.get(SCRATCH, "")
        usual = Path(scratch) if scratch else default_folder()
        return (self.folder or usual / "runs").absolute() / checked_name(name)

    def agents_folder(self) -> Path:
        """Return the folder of the agent whose word counts."""
        told = os.environ.get(AGENT, "")
        return self.agent or (Path(told) if told else default_folder())


@dataclass(frozen=True)
class Into:
    """A vault that images go into.

    Attributes
    ----------
    stores : URLs of its hosts
    coding, placing : how checkpoints are coded and where they go
    key : the file with its key, where it is encrypted
    """

    stores: Sequence[str]
    coding: Coding
    placing: PlacingOptions | None = None
    key: Path | None = None

    def saving(self, label: str) -> ImageSaving:
        """Return how images are saved; `label` is that of the checkpoints unless another was asked
        for. Raises ParameterError."""
        coding = replace(self.coding, label=self.coding.label or label)
        layout = coding.laid_out(len(self.stores))
        settings = coding.settings(layout)

        def save(vault: Vault, folder: Path, tell: Callable[[SaveTold], None]) -> Manifest:
            return save_placed(vault, [folder], settings, layout, self.placing, tell)[0]

        return ImageSaving(coding.label, save)

    def opened(self, *, processes: bool) -> Vault:
        """Open it, or begin one where `coding` says so: for images of `processes`, or for files.
        Raises InputError."""
        cutting = IMAGES if processes else None
        return open_for_saves(self.stores, self.coding, self.key, cutting)


def run_program(
    into: Into,
    words: Sequence[str],
    asked: RunQuestion,
    *,
    name: str | None = None,
    files: Sequence[Path] = (),
    account: Path | None = None,
    say: Say = lambda line: None,
    warn: Say = lambda line: None,
    show: tuple[Writer, ...] = (),
) -> int:
    """Run a program to its end, or until this is asked to end; return the exit code: its own,
    whatever of its protection was not kept. That is told at the end (`warn`) and in `account`.

    Raises InputError for unusable input, a run of this name elsewhere, or too little left of
    its checkpoints; RunError where it cannot be brought back.
    """
    if not words:
        raise ParameterError("CMD", None, "a command to run, after --")
    known = checked_name(name or _name_of(words[0]))
    way = way_of(asked, files)
    place = asked.place(known)
    output = tuple(place / one for one in OUTPUT) if way.alone else ()
    start = ProgramStart(tuple(words), Path.cwd(), {RUN_NAME: known}, output)
    rules = RunRules(
        into.saving(f"run:{known}"), asked.checkpoint_every, asked.keep, asked.local_limit,
        asked.patience, asked.lease, asked.fresh,
    )  # fmt: skip
    job = os.environ.get("SLURM_JOB_ID", "")
    around = Surroundings(outlook_of(asked), say, show, job.isdecimal(), leaving_of(asked))
    with of_system(place, "cannot be used"), into.opened(processes=way.alone) as vault:
        driver = Driver(vault, RunPlan(known, start, place), way, rules, around)
        try:
            code = driver.run()
        except ForestallError as error:
            driver.shortfalls.append(str(error))
            _write_account(account, driver, error.exit_code)
            raise
    for line in told_account(driver.history):
        say(f"{known}: {line}")
    for line in driver.shortfalls:
        warn(f"{known}: not kept: {line}")
    _write_account(account, driver, code)
    if driver.requeue:
        _requeue(int(job), say)
    return code


def _write_account(path: Path | None, driver: Driver, code: int) -> None:
    if path is None:
        return
    outcome = {"exit_code": code, "failed_saves": driver.failed_saves,
               "shortfalls": driver.shortfalls}  # fmt: skip
    with atomic_path(path) as beside:
        text = json.dumps(asdict(driver.history) | outcome)
        beside.write_text(text + "\n", encoding="utf-8")


def save_now(asked: RunQuestion, name: str) -> None:
    """Have the run of this name on this host saved now, and wait until that is in the vault. Raises
    InputError where nobody runs it here, RunError where it was not saved."""
    place = asked.place(name)
    if not place.is_dir() or not is_driven(place):
        raise InputError(f"{name} is not running here ({place})")
    ask(place, asked.save_timeout, lambda: is_driven(place))


def way_of(asked: RunQuestion, files: Sequence[Path]) -> SavingWay:
    """Return how a program is saved. Raises InputError where it cannot be."""
    method = asked.method
    if method == AUTO:
        method = "signal" if asked.signal else "command" if asked.save_command else "criu"
    paths = checked_files(files)
    for option, mine in (("signal", asked.signal), ("save_command", asked.save_command)):
        if mine and method != option.removeprefix("save_"):
            told = f"nothing: it is saved by {method}"
            raise ParameterError(option, mine, told)
    if method == "criu":
        if why := criu.why_not(asked.criu):
            raise InputError(f"{why}; a program that saves itself needs {{signal}} or "
                             "{save_command}, and {files}")  # fmt: skip
        return CriuWay(asked.criu, paths, asked.save_timeout)
    if not (asked.signal or asked.save_command):
        option = "signal" if method == "signal" else "save_command"
        raise ParameterError(option, None, f"how to have it save itself, for {{method}} {method}")
    if not paths:
        raise ParameterError("files", None, "the files that the program continues from")
    return SelfSaving(paths, asked.signal, asked.save_command, asked.save_timeout)


def outlook_of(asked: RunQuestion) -> Callable[[RunHistory], FailureOutlook]:
    """Return what says how likely a failure is: what was asked for, the forecast of an agent that
    is at work, or the run's own past."""
    if asked.mtbf is not None:
        given = mean_time(asked.mtbf)
        return lambda history: given
    folder = asked.agents_folder()

    def seen(history: RunHistory) -> FailureOutlook:
        try:
            said = agents_outlook(folder)
        except ForestallError:
            said = None
        return said or learned(history.evictions, history.ran + history.lost)

    if asked.agent is not None:
        agents_outlook(folder)  # what is wrong with it is told at once
    return seen


def agents_outlook(folder: Path) -> FailureOutlook | None:
    """Return what the agent of a folder expects; None where it expects nothing yet, or is silent.

    Raises TraceError where there is no agent's word.
    """
    status = read_status(folder, ("time", "state", "reliability"))
    told = status["reliability"]
    age = time.time() - float(status["time"])
    points = {} if not isinstance(told, dict) or age > STALE else {
        3600.0 * float(hours.removesuffix("h")): float(alive) for hours, alive in told.items()
        if alive is not None and re.fullmatch(r"\d+h", hours)
    }  # fmt: skip
    return forecast(points, f"forecast of this host's agent, state {status['state']}") if (
        points) else None  # fmt: skip


def leaving_of(asked: RunQuestion) -> Callable[[], str]:
    """Return what says why a program should leave this host now, by the word of its agent; it is
    read every few seconds."""
    least = asked.leave_below
    if least is None:
        return lambda: ""
    folder, before = asked.agents_folder(), [-math.inf]

    def leaving() -> str:
        now = time.monotonic()
        if now - before[0] < ASKED_EVERY:
            return ""
        before[0] = now
        try:
            return why_leave(read_status(folder, ("time", "state")), least, time.time())
        except ForestallError:
            return ""  # a silent agent is no reason

    return leaving


def why_leave(status: Mapping[str, Any], least: float, now: float) -> str:
    """Return why a guest should leave a host of which its agent says this; "" where it need not."""
    if abs(now - float(status["time"])) > STALE:
        return ""
    state, chances = status["state"], status.get("reliability")
    if state in OWNED:
        return f"its owner needs it, state {state}"
    chance = chances.get("1h") if isinstance(chances, dict) else None
    if chance is not None and chance < least:
        return (
            f"it stays available for an hour with {100 * chance:.0f} % probability, below "
            f"{100 * least:.0f} %"
        )
    return ""


def _requeue(job: int, say: Say) -> None:
    """Have Slurm start a job again, and wait for its signal: a job that ended by itself meanwhile
    could count as failed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        read(requeue(Requeue(id="run", job=job, restarts=0)).words, timeout=60)
        signal.sigtimedwait({signal.SIGTERM}, ENDED)
    except SlurmError as error:
        say(f"job {job} was not requeued: {error}")


def told_account(history: RunHistory) -> list[str]:
    """Return what a run came to, in lines."""
    lost = f"; {history.lost:.1f} s had to be repeated" if history.lost else ""
    return [
        f"ran {format_duration(history.ran)} in {counted(history.starts, 'start')}, "
        f"{counted(history.evictions, 'eviction')}{lost}",
        f"{counted(history.saves, 'save')}: paused for {history.still:.2f} s; "
        f"{told_bytes(history.read)} in checkpoints, {told_bytes(history.stored)} stored with "
        "parity",
    ]


def _name_of(program: str) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]", "", Path(program).name).strip("._-")[:60]
    return base or "run"
