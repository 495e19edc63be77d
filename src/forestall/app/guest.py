"""Guests on this host: what the commands `forestall guest ...` do."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from forestall.app.agent import AgentOptions
from forestall.live.guest.eyes import Eyes, HostEyes
from forestall.live.guest.files import (
    KEEPER_LOCK,
    MANAGER_LOCK,
    GuestFiles,
    GuestState,
    Record,
    all_guests,
)
from forestall.live.guest.manager import Manager, stopped_by_signals
from forestall.live.guest.processes import look
from forestall.live.guest.settings import GuestSettings
from forestall.model.errors import ForestallError, ParameterError, TraceError

_SLACK: Final = 15.0


class GuestError(ForestallError):
    """Something that a guest's processes did not do."""


def thresholds(folder: Path, th1: str | None, th2: str | None) -> tuple[float, float]:
    """Return the loads that options say, those that were calibrated where they say none, or the
    model's. Raises ParameterError, and TraceError for a calibration that cannot be used."""
    settings = AgentOptions(folder, th1=th1, th2=th2).settings()
    return settings.th1, settings.th2


def run_guest(
    command: Sequence[str],
    settings: GuestSettings,
    *,
    folder: Path,
    name: str | None = None,
    fresh: bool = False,
    say: Callable[[str], None] = lambda _: None,
    eyes: Eyes | None = None,
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
    say : is given a line at each change
    eyes : what looks at the host; by default, what there is

    Raises ParameterError and TraceError for what cannot be used, MissingExtraError without psutil.
    """
    if command and shutil.which(command[0]) is None:
        raise ParameterError("CMD", command[0], "a program that can be run")
    files = _named(folder, command, name)
    with files.managed():
        record = _record(files, command, fresh=fresh)
        return _manage(files, record, settings, eyes, say)


def resume_guest(
    folder: Path,
    name: str,
    *,
    say: Callable[[str], None] = lambda _: None,
    eyes: Eyes | None = None,
) -> int:
    """Go on with a guest as it was run; returns an exit code as `run_guest` does."""
    files, record = known_guest(folder, name)
    with files.managed():
        record = files.read() or record
        if record.state.over and not record.kept():
            raise ParameterError(
                "NAME", name, f"a guest that has not ended: this one {_over(record)}"
            )
        return _manage(files, record, GuestSettings.from_json(record.settings), eyes, say)


def stop_guest(folder: Path, name: str, say: Callable[[str], None] = lambda _: None) -> Record:
    """End a guest after its checkpoint, and its manager; returns its record.

    Raises GuestError where it does not end in its time.
    """
    files, record = known_guest(folder, name)
    settings = GuestSettings.from_json(record.settings)
    late = time.monotonic() + settings.checkpoint_timeout + settings.patience + _SLACK
    if record.managed() and files.held(MANAGER_LOCK):
        manager = look(record.manager)
        if manager is not None:
            manager.send(15)
        while files.held(MANAGER_LOCK):
            if time.monotonic() > late:
                raise GuestError(f"{name}: its manager, process {record.manager}, does not end")
            time.sleep(0.05)
    with files.managed():
        record = files.read() or record
        if record.state.running or files.held(KEEPER_LOCK):
            manager_here = Manager(files, record, settings, _Blind(), say)
            manager_here.stop("`forestall guest stop`")
            manager_here.run()
    return files.read() or record


def known_guest(folder: Path, name: str) -> tuple[GuestFiles, Record]:
    """Return a guest's files and record. Raises ParameterError where there is none of this name."""
    files = GuestFiles(folder, name)
    record = files.read()
    if record is None:
        there = ", ".join(one.name for one in all_guests(folder)) or "there is none"
        raise ParameterError("NAME", name, f"a guest of {folder}: {there}")
    return files, record


def _manage(
    files: GuestFiles,
    record: Record,
    settings: GuestSettings,
    eyes: Eyes | None,
    say: Callable[[str], None],
) -> int:
    manager = Manager(files, record, settings, eyes or HostEyes(files.folder), say)
    with stopped_by_signals(manager):
        return manager.run()


def _named(folder: Path, command: Sequence[str], name: str | None) -> GuestFiles:
    """Return the files of the guest of this name, or of a new one that is named by its command."""
    if name is not None:
        files = GuestFiles(folder, name)
        files.make()
        return files
    if not command:
        raise ParameterError("CMD", "", "a command to run, or --name of a guest that is known")
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


def _record(files: GuestFiles, command: Sequence[str], *, fresh: bool) -> Record:
    """Return the record of the guest that is to run: a new one, or one that goes on."""
    known = files.read()
    if known is not None and known.kept() and fresh:
        message = f"{known.name} still runs; `forestall guest stop {known.name}` ends it"
        raise TraceError(files.place, message)
    if known is None or fresh or (known.state.over and not known.kept()):
        if not command:
            raise ParameterError("CMD", "", "a command to run: there is no guest to go on with")
        mark = f"{files.name}-{secrets.token_hex(4)}"
        return Record(name=files.name, id=mark, command=list(command), cwd=str(Path.cwd()))
    if command and list(command) != known.command:
        raise TraceError(
            files.place,
            f"the guest {known.name} has not finished and runs another command; go on with it by "
            f"`forestall guest resume {known.name}`, or give it up by --fresh",
        )
    return known


def _over(record: Record) -> str:
    code = "" if record.exit_code is None else f" with code {record.exit_code}"
    return f"has {'finished' if record.state is GuestState.FINISHED else 'failed'}{code}"


class _Blind:
    """Looks at nothing: for a guest that is only to be ended."""

    def look(self) -> Any:
        raise AssertionError("a guest that is being ended needs no look at the host")
