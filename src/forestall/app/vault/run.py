"""A program run so that it outlives its machine: what `forestall run` does."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from forestall.adapters.criu import command as criu
from forestall.adapters.criu.way import CriuWay
from forestall.adapters.qemu.guest import parse_memory
from forestall.adapters.slurm.control.orders import requeue
from forestall.adapters.slurm.run import SlurmError, read
from forestall.app.vault.checkpoints import Coding, open_vault
from forestall.decide.vault.moments import Outlook, forecast, learned, mean_time
from forestall.live.agent.place import default_folder
from forestall.live.agent.status import read_status
from forestall.live.guest.follow import Writer
from forestall.live.runner.calls import ask
from forestall.live.runner.driver import (
    OUTPUT,
    Driver,
    Run,
    RunRules,
    Surroundings,
    is_driven,
)
from forestall.live.runner.ways import SelfSaving, Start, Way, checked_files
from forestall.model.cluster.actions import Requeue
from forestall.model.errors import ForestallError, InputError, ParameterError, of_system
from forestall.model.settings import Declared, Setting
from forestall.model.units import format_duration, parse_duration
from forestall.show.quantities import told_bytes
from forestall.vault.chunks import KIB, Cutting
from forestall.vault.repository import VaultRules
from forestall.vault.runs import RunHistory, checked_name

AUTO: Final = "auto"
STALE: Final = 600.0
"""s after which what an agent said counts no more."""
ENDED: Final = 120.0
"""s in which Slurm ends a job that it was asked to requeue."""
IMAGES: Final = Cutting("blocks", 16 * KIB)
"""How a vault is cut that begins with an image of a process: pages stay where they are."""
RUN_NAME: Final = "FORESTALL_RUN"
"""The variable by which a program hears its name."""
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
        Setting("Work between saves: auto by what a save costs and what is at risk, or none",
                shown="auto|DURATION|none", typed=AUTO, read=_every, group=WHEN),
    ] = None  # fmt: skip
    mtbf: Annotated[
        float | None,
        Setting("Mean time between failures, for auto (default: the forecast of this host's agent, "
                "else what befell this run so far)", shown="DURATION", read=_mtbf, group=WHEN),
    ] = None  # fmt: skip
    agent: Annotated[
        Path | None,
        Setting("Folder of the agent whose forecast counts (default: that of this user's agent)",
                shown="DIR", group=WHEN),
    ] = None  # fmt: skip
    method: Annotated[
        Literal["auto", "criu", "signal", "command"],
        Setting("criu: from outside, as it is; signal or command: it saves itself into {files}",
                group=SAVING),
    ] = "auto"  # fmt: skip
    signal: Annotated[
        int,
        Setting("Tells the program to save itself; done when one of {files} has changed",
                shown="SIGNAL", typed="", read=_signal, group=SAVING),
    ] = 0  # fmt: skip
    save_command: Annotated[
        str,
        Setting("For the shell: saves the program, whose process is $FORESTALL_RUN_PID, into "
                "{files} before it returns with code 0", shown="CMD", group=SAVING),
    ] = ""  # fmt: skip
    save_timeout: Annotated[
        float, Setting("After which it was not saved", shown="DURATION", group=SAVING)
    ] = 600.0
    criu: Annotated[str, Setting("The program criu", shown="PROGRAM", group=SAVING)] = "criu"
    keep: Annotated[
        Annotated[int, Field(ge=1)], Setting("Checkpoints that stay, the newest", group=SAVING)
    ] = 3
    folder: Annotated[
        Path | None,
        Setting("Where images lie until they are in the vault (default: runs in forestall in "
                "$XDG_STATE_HOME or ~/.local/state)", shown="DIR", group=HERE),
    ] = None  # fmt: skip
    local_limit: Annotated[
        int, Setting("Disk that images may take here", shown="SIZE", typed="", read=_bytes,
                     unset="what is free", group=HERE)
    ] = 1 << 50  # fmt: skip
    lease: Annotated[
        float,
        Setting("Without a sign of life for so long it counts as dead, and may be taken over",
                shown="DURATION", group=HERE),
    ] = 30.0  # fmt: skip
    patience: Annotated[
        float, Setting("Between SIGTERM and SIGKILL", shown="DURATION", group=HERE)
    ] = 5.0
    fresh: Annotated[bool, Setting("Begin again, whatever was saved")] = False

    def place(self, name: str) -> Path:
        """Return the folder of a run."""
        return (self.folder or default_folder() / "runs").absolute() / checked_name(name)


def run_program(
    stores: Sequence[str],
    words: Sequence[str],
    asked: RunQuestion,
    coding: Coding,
    *,
    name: str | None = None,
    files: Sequence[Path] = (),
    key: Path | None = None,
    account: Path | None = None,
    say: Say = lambda line: None,
    show: tuple[Writer, ...] = (),
) -> int:
    """Run a program to its end, or until this is asked to end; return the exit code.

    Raises InputError for what cannot be used, a run of this name elsewhere, or too little left of
    its checkpoints; RunError where it cannot be brought back.
    """
    if not words:
        raise ParameterError("CMD", "", "a command to run, after --")
    known = checked_name(name or _name_of(words[0]))
    way = way_of(asked, files)
    place = asked.place(known)
    output = tuple(place / one for one in OUTPUT) if way.alone else ()
    start = Start(tuple(words), Path.cwd(), {RUN_NAME: known}, output)
    saving = replace(coding, label=coding.label or f"run:{known}")
    rules = RunRules(
        asked.checkpoint_every, asked.keep, asked.local_limit, asked.patience, asked.lease,
        asked.fresh, saving.settings(saving.laid_out(len(stores))),
    )  # fmt: skip
    job = os.environ.get("SLURM_JOB_ID", "")
    around = Surroundings(outlook_of(asked), say, show, requeues=job.isdecimal())
    begin = VaultRules(IMAGES, key is not None) if way.alone and not coding.chunks else (
        coding.rules(key is not None))  # fmt: skip
    with of_system(place, "cannot be used"), open_vault(
        stores, key=key, begin=begin, agree=bool(coding.chunks)
    ) as vault:  # fmt: skip
        driver = Driver(vault, Run(known, start, place), way, rules, around)
        code = driver.run()
    for line in told_account(driver.history):
        say(f"{known}: {line}")
    if account is not None:
        with of_system(account, "cannot be written"):
            account.write_text(json.dumps(asdict(driver.history)) + "\n", encoding="utf-8")
    if driver.requeue:
        _requeue(int(job), say)
    return code


def save_now(asked: RunQuestion, name: str) -> None:
    """Have the run of this name on this host saved now, and wait until that is in the vault. Raises
    InputError where nobody runs it here, RunError where it was not saved."""
    place = asked.place(name)
    if not place.is_dir() or not is_driven(place):
        raise InputError(f"nobody runs {name} here ({place})")
    ask(place, asked.save_timeout, lambda: is_driven(place))


def way_of(asked: RunQuestion, files: Sequence[Path]) -> Way:
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
        raise ParameterError(option, "", f"how to have it save itself, for {{method}} {method}")
    if not paths:
        raise ParameterError("files", "", "the files that the program goes on from")
    return SelfSaving(paths, asked.signal, asked.save_command, asked.save_timeout)


def outlook_of(asked: RunQuestion) -> Callable[[RunHistory], Outlook]:
    """Return what says how likely a failure is: what was asked for, the forecast of an agent that
    is at work, or the run's own past."""
    if asked.mtbf is not None:
        given = mean_time(asked.mtbf)
        return lambda history: given
    folder = asked.agent or default_folder()

    def seen(history: RunHistory) -> Outlook:
        try:
            said = agents_outlook(folder)
        except ForestallError:
            said = None
        return said or learned(history.evictions, history.ran + history.lost)

    if asked.agent is not None:
        agents_outlook(folder)  # what is wrong with it is told at once
    return seen


def agents_outlook(folder: Path) -> Outlook | None:
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
    lost = f"; {history.lost:.1f} s had to be run again" if history.lost else ""
    return [
        f"ran {format_duration(history.ran)} in {history.starts} starts, {history.evictions} "
        f"evictions{lost}",
        f"{history.saves} saves: it stood still for {history.still:.2f} s; "
        f"{told_bytes(history.read)} in checkpoints, {told_bytes(history.stored)} stored with "
        "parity",
    ]


def _name_of(program: str) -> str:
    base = re.sub(r"[^A-Za-z0-9._-]", "", Path(program).name).strip("._-")[:60]
    return base or "run"
