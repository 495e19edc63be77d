"""The link to HTCondor: what an agent says of its host becomes attributes of the machine, by which
submit files rank machines."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from forestall.core._lazy import lazily
from forestall.core.files.atomic import atomic_path
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.processes.usage import GuestProcesses
from forestall.prediction.availability.status import STATUS, read_status
from forestall.sharing.adapters.condor import config
from forestall.sharing.adapters.condor.attributes import ad_text
from forestall.sharing.adapters.condor.expressions import MAX_AGE
from forestall.sharing.adapters.condor.processes import masters
from forestall.sharing.agent.guests import GUESTS, register_guest

with lazily():
    from forestall.vaults.stores import paths

__all__ = [
    "ad_text",
    "condor_config",
    "read_ad",
    "register_condor",
    "submit_lines",
    "write_ad",
    "write_ad_of",
]

DAY: Final = 86_400.0
"""s for which the measured bandwidth of a path to a storage host counts."""
EVERY: Final = 60
HOURS: Final = 4.0
_REGISTERED: Final = "htcondor-"


def read_ad(folder: str | Path) -> str:
    """Return the attributes for the last status of the agent that works in a folder, one a line, as
    HTCondor's startd takes them from a program.

    Raises TraceError where there is no status, or one with a value that cannot be.
    """
    place = Path(folder)
    status = read_status(place, ("time",))
    status |= vault_facts(place, float(status["time"]))
    try:
        return ad_text(status)
    except ParameterError as error:
        expected = f"{error.value!r} is not allowed; expected {error.allowed}"
        raise TraceError(Path(folder) / STATUS, expected, field=error.name) from None


def write_ad(folder: str | Path) -> Path:
    """Write condor.ad for the last status in an agent's folder; returns its path.

    Raises TraceError as `read_ad`, and where it cannot be written.
    """
    return _write(Path(folder), read_ad(folder))


def write_ad_of(folder: str | Path, status: Mapping[str, object]) -> Path:
    """Write condor.ad for a status, into the agent's folder; returns its path.

    Raises ParameterError for a value that cannot be, TraceError where it cannot be written.
    """
    return _write(Path(folder), ad_text(status))


def vault_facts(folder: Path, now: float) -> dict[str, float]:
    """Return the median bandwidth to the storage hosts of a vault that were measured within a day,
    B/s, and how many those are: from the book that `forestall checkpoint`, `forestall run` and
    `forestall storage` keep in a folder. Nothing where there is none, or it cannot be read."""
    path = folder / f"stores-{os.uname().nodename}.db"
    if not path.is_file():
        return {}
    try:
        known = paths.measured_paths(path)
    except TraceError:
        return {}
    rates = [one.rate for one in known.values() if now - one.at <= DAY]
    if not rates:
        return {}
    return {"vault_bandwidth": statistics.median(rates), "vault_hosts": len(rates)}


def _write(folder: Path, text: str) -> Path:
    path = folder / config.AD_FILE
    try:
        with atomic_path(path, sync=False) as beside:
            beside.write_text(text, encoding="utf-8")
    except OSError as error:
        raise TraceError(path, f"cannot be written: {error.strerror or error}") from None
    return path


def condor_config(
    folder: str | Path,
    *,
    every: int = EVERY,
    way: Literal["file", "command"] = "file",
    max_age: int = MAX_AGE,
    command: str | Path | None = None,
) -> str:
    """Return lines of HTCondor's configuration by which a machine publishes what its agent says.

    They stand between comments that say where they belong. Where the agent's words are read from
    the file that it writes, that costs next to nothing; the other way starts a Python every time.

    Parameters
    ----------
    folder : the folder of the agent
    every : seconds between two readings
    way : "file" has condor.ad read; "command" runs `forestall agent ad`
    max_age : seconds after which what the agent said no longer counts
    command : path of `forestall` for way "command"; by default the one that runs, or is installed

    Raises ParameterError.
    """
    found = str(command or "")
    if not found and way == "command":
        found = own_program()
        if not found:
            allowed = "forestall on the PATH: install it there, or use file"
            raise ParameterError("way", way, allowed)
    program = str(Path(found).absolute()) if found else ""
    place = str(Path(folder).absolute())
    return config.machine_lines(place, every=every, way=way, max_age=max_age, command=program)


def own_program() -> str:
    """Return the path of the `forestall` that runs, or else is on the PATH; empty: none is."""
    own = sys.argv[0] if Path(sys.argv[0]).name == "forestall" else ""
    return shutil.which(own) or shutil.which("forestall") or ""


def submit_lines(
    hours: float = HOURS, *, max_age: int = MAX_AGE, by: Literal["stay", "falcon"] = "stay"
) -> str:
    """Return the lines of a submit file by which a job of so many hours takes the machine that most
    likely stays available for so long, or the one that Falcon would choose.

    Raises ParameterError where that is no length of a job, or no choice.
    """
    return config.submit_lines(hours, max_age, by)


def register_condor(folder: str | Path) -> list[int]:
    """Have an agent count HTCondor's jobs on this host as guests; returns HTCondor's masters.

    Without that they would be the owner's load, and the agent would find a machine busy because it
    is used as it is meant to be. To be called now and then: HTCondor may be started again. Raises
    TraceError where the folder cannot be written to.
    """
    place, counted = Path(folder), []
    for pid in masters():
        try:
            guest = GuestProcesses.of(pid)
        except ProcessLookupError:
            continue
        register_guest(place, f"{_REGISTERED}{pid}", guest)
        counted.append(pid)
    for old in (place / GUESTS).glob(f"{_REGISTERED}*.json"):
        if old.stem not in {f"{_REGISTERED}{pid}" for pid in counted}:
            old.unlink(missing_ok=True)
    return counted
