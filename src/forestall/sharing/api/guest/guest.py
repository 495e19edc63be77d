"""Guests on this host: what the commands `forestall guest ...` do."""

from __future__ import annotations

import re
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from forestall.core.model.errors import ForestallError, ParameterError, TraceError
from forestall.core.model.units import format_duration
from forestall.core.processes.files import (
    KEEPER_LOCK,
    LOG,
    MANAGER_LOCK,
    STDERR,
    STDOUT,
    GuestFiles,
    GuestState,
    StayRecord,
    all_guests,
    boot_id,
)
from forestall.core.processes.follow import Writer, followed
from forestall.core.processes.processes import look
from forestall.core.show.blocks import Table
from forestall.core.show.report import Report, Section
from forestall.core.show.words import or_dash
from forestall.sharing.api.agent.agent import AgentOptions, parse_memory_share
from forestall.sharing.api.agent.calibrated import calibrated, calibrated_steps
from forestall.sharing.api.guest.outlive import outliving, words_of
from forestall.sharing.guest.eyes import Eyes, HostEyes
from forestall.sharing.guest.keeper import KEPT
from forestall.sharing.guest.manager import Manager
from forestall.sharing.guest.settings import AUTO_MEMORY, GuestSettings
from forestall.sharing.guest.signals import stopped_by_signals
from forestall.sharing.guest.stay import Stay

LIGHT: Final = "0"
"""Th1 of a host that was not calibrated: a guest stays at lowest priority while its owner does
anything at all. At default priority it would gain little, and the owner wait twice as long for each
command (docs/studies/contention/index.md)."""
_SLACK: Final = 15.0
_HEARS: Final = 10.0
"""s within which a manager begins to end its guest, or is killed."""


class GuestError(ForestallError):
    """Something that a guest's processes did not do."""


def thresholds(folder: Path, th1: str | None, th2: str | None) -> tuple[float, float]:
    """Return the loads that options say, those that were calibrated where they say none, or
    `LIGHT` and the model's Th2. Raises ParameterError, and TraceError for a calibration that cannot
    be used."""
    if th1 is None and not calibrated(folder):
        th1 = LIGHT
    settings = AgentOptions(folder, th1=th1, th2=th2).settings()
    return settings.th1, settings.th2


def settings_for(
    folder: Path, asked: GuestSettings, limits: tuple[float, float], memory: str
) -> GuestSettings:
    """Return settings with these thresholds and what a guest needs of memory, "auto" or an amount;
    steps between priorities are those that were calibrated, unless others were asked for. Raises
    ParameterError, and TraceError for a calibration that cannot be used."""
    low, high = limits
    need = AUTO_MEMORY if memory == "auto" else parse_memory_share(memory, "guest_memory")
    steps = asked.steps
    if not steps:
        told = [(load, nice) for load, nice in calibrated_steps(folder) if low < load <= high]
        steps = ",".join(f"{load:g}:{nice}" for load, nice in told)
    return replace(asked, th1=low, th2=high, guest_memory=need, steps=steps)


def run_guest(
    command: Sequence[str],
    settings: GuestSettings,
    *,
    folder: Path,
    name: str | None = None,
    fresh: bool = False,
    outlive: str = "",
    say: Callable[[str], None] = lambda _: None,
    eyes: Eyes | None = None,
    show: tuple[Writer, Writer] | None = None,
) -> int:
    """Run a guest to its end, or until this process is told to end; returns an exit code.

    That is the guest's own where it ended by itself; 75 where the host is not free and it does not
    wait, 130 after a signal, 2 where it cannot be started.

    Parameters
    ----------
    command : the words of its command line; empty only for a guest that is known
    folder : where agent and guests keep their files
    name : of the guest; one that has not finished goes on. By default a new one after the command
    fresh : whether a guest of this name that has not finished is begun again
    outlive : options of `forestall run`, by which it is run; "": it is not
    say : is given a line at each change
    eyes : what looks at the host; by default, what there is
    show : are given what the guest prints, on standard output and standard error, as it comes; in
        any case it is added to the files ``stdout`` and ``stderr`` of its folder

    Raises ParameterError and TraceError for unusable input, MissingExtraError without psutil.
    """
    if command and shutil.which(command[0]) is None:
        raise ParameterError("CMD", command[0], "a program that can be run")
    files = _named(folder, command, name)
    if outlive and fresh:
        raise ParameterError("fresh", fresh, "not with {outlive}; another {name} starts over")
    if outlive and command:
        command, settings = outliving(command, outlive, files.name, folder, settings)
    with files.managed():
        record = _record(files, command, fresh=fresh)
        return _manage(files, record, settings, eyes, say, show)


def resume_guest(
    folder: Path,
    name: str,
    *,
    say: Callable[[str], None] = lambda _: None,
    outlive: str = "",
    eyes: Eyes | None = None,
    show: tuple[Writer, Writer] | None = None,
) -> int:
    """Go on with a guest as it was run; returns an exit code as `run_guest` does.

    `outlive`: options of `forestall run`, for a guest that was never on this host and has not
    finished: its command line is in its vault. Raises InputError where it is not.
    """
    if outlive:
        if GuestFiles(folder, name).read() is not None:
            raise ParameterError("outlive", outlive, "nothing: this guest is known here")
        settings = settings_for(folder, GuestSettings(), thresholds(folder, None, None), "auto")
        return run_guest(words_of(name, outlive), settings, folder=folder, name=name,
                         outlive=outlive, say=say, eyes=eyes, show=show)  # fmt: skip
    files, record = known_guest(folder, name)
    with files.managed():
        record = files.read() or record
        if record.state.over and not record.kept():
            raise ParameterError(
                "NAME", name, f"a guest that has not ended: this one {_over(record)}"
            )
        settings = GuestSettings.from_json(record.settings)
        return _manage(files, record, settings, eyes, say, show)


def stop_guest(folder: Path, name: str, say: Callable[[str], None] = lambda _: None) -> StayRecord:
    """End a guest after its checkpoint, and its manager; returns its record.

    A manager that does not end in its time is killed, and the guest is ended without it; where the
    record is damaged, what keeps the guest tells of it. Raises GuestError where it does not end.
    """
    files = GuestFiles(folder, name)
    _end_manager(files, _settings(_found(folder, files)))
    with files.managed():
        record = _found(folder, files)
        if record is None:
            record = _mended(files)
        if record.state.running or files.held(KEEPER_LOCK):
            manager_here = Manager(files, record, _settings(record), _Blind(), say)
            manager_here.stop("`forestall guest stop`")
            manager_here.run()
    return files.read() or record


def _found(folder: Path, files: GuestFiles) -> StayRecord | None:
    """Return a guest's record, None where it is damaged. Raises ParameterError where there is no
    guest of this name."""
    try:
        return known_guest(folder, files.name)[1]
    except TraceError:
        if files.held(MANAGER_LOCK) or files.held(KEEPER_LOCK):
            return None
        raise


def _settings(record: StayRecord | None) -> GuestSettings:
    """Return how a guest is run, as far as its end goes: the keeper knows its own part."""
    with suppress(ParameterError):
        return GuestSettings() if record is None else GuestSettings.from_json(record.settings)
    return GuestSettings()


def _end_manager(files: GuestFiles, settings: GuestSettings) -> None:
    """Have a manager end, and kill one that does not."""
    pid = files.manager()
    manager = look(pid) if pid else None
    if manager is None:
        return
    manager.send(signal.SIGTERM)
    late = time.monotonic() + settings.checkpoint_timeout + settings.patience + _SLACK
    hears = time.monotonic() + _HEARS
    while files.held(MANAGER_LOCK):
        now = time.monotonic()
        if now > late or (now > hears and not _ends(files)):
            manager.send(signal.SIGKILL)
            hears = late = now + _HEARS
        time.sleep(0.05)
        if look(pid) is None and files.held(MANAGER_LOCK):
            raise GuestError(f"{files.name}: another manager has just taken over")


def _ends(files: GuestFiles) -> bool:
    """Return whether a manager that was asked to end has begun to."""
    try:
        record = files.read()
    except TraceError:
        return False
    begun = {GuestState.ENDING, GuestState.ENDED, GuestState.FINISHED, GuestState.FAILED}
    return record is not None and record.state in begun


def _mended(files: GuestFiles) -> StayRecord:
    """Return a record of a guest that runs, and whose own is damaged, by what its keeper says."""
    stay = Stay.found(files)
    if stay is None:
        message = f"{files.name}: its record is damaged and its keeper does not answer; end its "
        raise GuestError(f"{message}processes by hand (`ps`: forestall-keep) and remove the folder")
    stay.link.close()
    facts = stay.facts
    record = StayRecord(
        files.name,
        facts["id"],
        facts["command"],
        facts["cwd"],
        settings=GuestSettings().to_json(),
        state=GuestState.UNWATCHED,
        why="its record was damaged",
        attempts=1,
        boot=boot_id(),
        **{key: facts[key] for key in KEPT},
    )
    files.write(record)
    return record


def known_guest(folder: Path, name: str) -> tuple[GuestFiles, StayRecord]:
    """Return a guest's files and record. Raises ParameterError where there is none of this name."""
    files = GuestFiles(folder, name)
    record = files.read()
    if record is None:
        there = ", ".join(one.name for one in all_guests(folder)) or "there is none"
        raise ParameterError("NAME", name, f"a guest of {folder}: {there}")
    return files, record


def _manage(
    files: GuestFiles,
    record: StayRecord,
    settings: GuestSettings,
    eyes: Eyes | None,
    say: Callable[[str], None],
    show: tuple[Writer, Writer] | None,
) -> int:
    manager = Manager(files, record, settings, eyes or HostEyes(files.folder), say)
    with suppress(OSError):
        say(f"{record.name}: {output_of(files)}")
    paths = (files.place / STDOUT, files.place / STDERR)
    with stopped_by_signals(manager), followed(list(zip(paths, show or (), strict=False))):
        return manager.run()


def output_of(files: GuestFiles) -> str:
    """Return in words where a guest's output is kept."""
    return f"output is kept in {files.place / STDOUT} and {STDERR}"


def _named(folder: Path, command: Sequence[str], name: str | None) -> GuestFiles:
    """Return the files of the guest of this name, or of a new one that is named by its command."""
    if name is not None:
        files = GuestFiles(folder, name)
        files.make()
        return files
    if not command:
        raise ParameterError("CMD", None, "a command to run, or {name} of a guest that is known")
    base = re.sub(r"[^A-Za-z0-9._-]", "", Path(command[0]).name).strip("._-")[:50] or "guest"
    number = 1
    while True:
        files = GuestFiles(folder, f"{base}-{number}")
        try:
            files.place.mkdir(parents=True, mode=0o700)
        except FileExistsError:
            number += 1
        except OSError as error:
            raise TraceError(files.place, f"cannot be made: {error.strerror or error}") from None
        else:
            return files


def _record(files: GuestFiles, command: Sequence[str], *, fresh: bool) -> StayRecord:
    """Return the record of the guest that is to run: a new one, or one that goes on."""
    known = files.read()
    if known is not None and known.kept() and fresh:
        message = f"{known.name} still runs; `forestall guest stop {known.name}` ends it"
        raise TraceError(files.place, message)
    if known is None or fresh or (known.state.over and not known.kept()):
        if not command:
            raise ParameterError("CMD", None, "a command to run: there is no guest to continue")
        mark = f"{files.name}-{secrets.token_hex(4)}"
        return StayRecord(name=files.name, id=mark, command=list(command), cwd=str(Path.cwd()))
    if command and list(command) != known.command:
        raise TraceError(
            files.place,
            f"the guest {known.name} has not finished and runs another command; continue it "
            f"with `forestall guest resume {known.name}`, or abandon it with {{fresh}}",
        )
    return known


def _over(record: StayRecord) -> str:
    code = "" if record.exit_code is None else f" with code {record.exit_code}"
    return f"has {'finished' if record.state is GuestState.FINISHED else 'failed'}{code}"


class _Blind:
    """Looks at nothing: for a guest that is only to be ended."""

    def look(self) -> Any:
        raise AssertionError("a guest that is being ended needs no look at the host")


def guests(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the guests of a folder as they are now, and what could not be read, a line each."""
    found, troubles = [], []
    for files in all_guests(folder):
        try:
            record = files.read()
        except TraceError as error:
            troubles.append(str(error))
            continue
        if record is not None:
            found.append(guest_facts(files, record))
    return found, troubles


def guest_facts(files: GuestFiles, record: StayRecord) -> dict[str, Any]:
    """Return a guest in a form for JSON; times in Unix s."""
    running = record.now().running
    return {
        "guest": record.name,
        "id": record.id,
        "state": str(record.now()),
        "why": record.why,
        "since": record.since,
        "command": list(record.command),
        "pid": record.pid if running and record.pid else None,
        "manager": record.manager if record.managed() else None,
        "attempts": record.attempts,
        "cpu": record.cpu,
        "checkpoint": record.checkpoint or None,
        "exit_code": record.exit_code,
        "stdout": str(files.place / STDOUT),
        "stderr": str(files.place / STDERR),
        "log": str(files.place / LOG),
    }


def guest_report(facts: Sequence[Mapping[str, Any]]) -> Report:
    """Return what is with guests."""
    columns = (
        ("Guest", "guest", str), ("State", "state", str), ("Process", "pid", or_dash(str)),
        ("Starts", "attempts", str), ("CPU time", "cpu", format_duration),
        ("Since", "since", _date), ("Why", "why", str),
    )  # fmt: skip
    table = Table.by("guests", columns, facts, right=(2, 3, 4), most=0)
    return _report("Guests", table)


def guest_changes(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the log of a guest. Raises ParameterError where there is none of this name."""
    return known_guest(folder, name)[0].entries()


def change_report(changes: Sequence[Mapping[str, Any]], name: str) -> Report:
    """Return the log of a guest; the load is the owner's."""
    columns = (
        ("Time", "time", _date), ("State", "state", str),
        ("Host", lambda one: one.get("host", "-")), ("Load", _load), ("Why", "why", str),
    )  # fmt: skip
    table = Table.by("changes", columns, changes, right=(3,), most=0)
    return _report(name, table)


def _report(title: str, table: Table) -> Report:
    return Report(title, "", (Section(table.key, "", body=(table,)),), closing=())


def _load(change: Mapping[str, Any]) -> str:
    load = change.get("load")
    return f"{100 * load:.0f} %" if isinstance(load, int | float) else "-"


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}" if time else "-"
