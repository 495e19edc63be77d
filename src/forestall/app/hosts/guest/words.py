"""Guests and their logs as rows, for people and for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from forestall.app.hosts.guest.guest import known_guest
from forestall.live.guest.files import LOG, STDERR, STDOUT, GuestFiles, StayRecord, all_guests
from forestall.model.errors import TraceError
from forestall.model.units import format_duration

GUESTS: Final = ("Guest", "State", "Process", "Starts", "CPU time", "Since", "Why")
CHANGES: Final = ("Time", "State", "Host", "Load", "Why")


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


def guest_rows(facts: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return guests as rows under `GUESTS`."""
    return [
        (
            one["guest"],
            one["state"],
            "-" if one["pid"] is None else str(one["pid"]),
            str(one["attempts"]),
            format_duration(one["cpu"]),
            _date(one["since"]),
            one["why"],
        )
        for one in facts
    ]


def guest_changes(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the log of a guest. Raises ParameterError where there is none of this name."""
    return known_guest(folder, name)[0].entries()


def change_rows(changes: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a log as rows under `CHANGES`; the load is the owner's."""
    return [
        (
            _date(one["time"]),
            one["state"],
            one.get("host", "-"),
            f"{one['load']:.0%}" if isinstance(one.get("load"), int | float) else "-",
            one["why"],
        )
        for one in changes
    ]


def _date(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}" if time else "-"
