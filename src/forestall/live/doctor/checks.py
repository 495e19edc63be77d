"""The doctor: one check after another, each with what was found and what to do about it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from forestall.core._lazy import lazily
from forestall.core.model.errors import ForestallError, LedgerError, MissingExtraError
from forestall.core.model.settings import Declared, Setting
from forestall.core.model.units import format_duration
from forestall.core.show.clean import clean
from forestall.live.client.connection import RequestRefusedError, ServerConnection, ServerOptions

with lazily():
    from forestall.live.ledger import store

LEAST_FREE: Final = 100 * 2**20
"""Bytes below which a disk is no place for a ledger."""
GOOD_FREE: Final = 2**30
EXTRAS: Final = ("sqlalchemy", "alembic", "fastapi", "uvicorn", "nicegui", "prometheus_client")
OLD_LOOK: Final = 300
"""s after which what a controller knows is too old."""


class CheckState(StrEnum):
    """What a check came to: `note` is worth knowing, and nothing fails by it."""

    OK = "ok"
    NOTE = "note"
    MISSING = "missing"


class DoctorCheck(NamedTuple):
    """One check: what was looked at, what was found, and what to do ("" where all is well)."""

    subject: str
    state: CheckState
    found: str
    todo: str = ""


def ok(subject: str, found: str) -> DoctorCheck:
    """Return a check that is passed."""
    return DoctorCheck(subject, CheckState.OK, clean(found, 400))


def note(subject: str, found: str, todo: str) -> DoctorCheck:
    """Return a check that found something worth knowing."""
    return DoctorCheck(subject, CheckState.NOTE, clean(found, 400), todo)


def missing(subject: str, found: str, todo: str) -> DoctorCheck:
    """Return a check that is not passed."""
    return DoctorCheck(subject, CheckState.MISSING, clean(found, 400), todo)


@dataclass(frozen=True)
class PlaceQuestion(Declared, group="What to check"):
    """What is looked at besides Slurm."""

    settings: Annotated[
        Path | None,
        Setting(
            "The controller's settings, which name ledger, socket and slurmrestd", shown="TOML"
        ),
    ] = None
    ledger: Annotated[
        str | None,
        Setting("The controller's ledger: sqlite:///PATH or postgresql://USER@HOST/NAME",
                shown="URL"),
    ] = None  # fmt: skip
    rest: Annotated[
        str | None,
        Setting("slurmrestd, where the controller uses it: http://HOST:PORT or unix:/PATH",
                shown="URL"),
    ] = None  # fmt: skip


def extras() -> Iterator[DoctorCheck]:
    """Yield whether the libraries of a controller are installed."""
    absent = [name for name in EXTRAS if find_spec(name) is None]
    if absent:
        yield missing("Libraries", "not installed: " + ", ".join(absent),
                      "pip install 'forestall[serve]'")  # fmt: skip
    else:
        yield ok("Libraries", "all of the extra serve")


def ledger(url: str | None) -> Iterator[DoctorCheck]:
    """Yield whether the ledger can be reached, is current, and has room."""
    subject = "Ledger"
    if url is None:
        yield note(subject, "not checked", "name it, or a settings file that names it")
        return
    path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
    if path is not None and not path.exists():
        where = path.absolute().parent
        if where.is_dir():
            yield ok(subject, f"{path} does not exist yet; forestall serve creates it")
        else:
            yield missing(subject, f"there is no folder {where}", f"mkdir -p {where}")
    else:
        yield _opened(subject, url)
    if path is not None:
        yield from room(path.absolute().parent)


def _opened(subject: str, url: str) -> DoctorCheck:
    try:
        with store.LiveLedger(url, writes=False) as found:
            name = found.database.name
    except MissingExtraError as error:
        return missing(subject, "its driver is not installed", str(error))
    except LedgerError as error:
        todo = "check that its server runs, and that this user may use it"
        if "of an older forestall" in str(error):
            todo = "start forestall serve once: it brings the tables up to date"
        elif "of a newer forestall" in str(error):
            todo = "install that version of forestall, or newer"
        elif "not a ledger" in str(error):
            todo = "name another file or database: this one is not a ledger"
        return missing(subject, str(error), todo)
    return ok(subject, f"{name}: reached, its tables are current")


def room(folder: Path) -> Iterator[DoctorCheck]:
    """Yield whether the disk below a folder has room for a ledger."""
    subject = "Disk"
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free in {folder}"
    if free < LEAST_FREE:
        yield missing(
            subject, found, "free some space: no promise is made if it cannot be recorded"
        )
    elif free < GOOD_FREE:
        yield note(subject, found, "free some space soon")
    else:
        yield ok(subject, found)


def server(options: ServerOptions) -> Iterator[DoctorCheck]:
    """Yield whether a controller answers, and whether what it knows is fresh."""
    subject = "Controller"
    connection = ServerConnection(options, wait=10.0)
    named = options.server is not None or options.socket is not None
    with connection:
        try:
            connection.health()
        except (ForestallError, RequestRefusedError) as error:
            found, todo = str(error), "start it: forestall serve"
            yield missing(subject, found, todo) if named else note(subject, found, todo)
            return
        yield ok(subject, f"answers at {connection.place.name}")
        try:
            told: dict[str, Any] = connection.get("/cluster").value
        except ForestallError as error:
            yield missing("Its cluster", str(error), "give a token, or ask through its socket")
            return
    yield _look(told)


def _look(told: dict[str, Any]) -> DoctorCheck:
    subject = "Last read"
    if told["looked"] is None:
        return missing(subject, f"none yet: {told['said'] or 'wait for the first'}",
                       "see what the controller says about Slurm")  # fmt: skip
    age = int(told["now"]) - int(told["looked"])
    found = f"{format_duration(max(age, 0))} ago"
    if told["said"]:
        found += f"; since then: {told['said']}"
    if age > OLD_LOOK:
        return missing(subject, found, "check that Slurm answers the controller's user")
    return ok(subject, found)
