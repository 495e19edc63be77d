"""Where work is done, as users say it: `slurm`, `slurm:partition=main,time=2h`, `dask://HOST:PORT`.

Parsing only: no Dask is loaded, and nothing is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from forestall.core.model.errors import ParameterError
from forestall.core.model.units import parse_duration, parse_size

WORKERS: Final = 8
"""Worker jobs that are asked of Slurm unless a number is given."""
EXPECTED: Final = (
    "slurm, slurm:partition=NAME,account=NAME,time=1h,memory=2G,interface=NAME, or dask://HOST:PORT"
)
MEBI: Final = 2**20


@dataclass(frozen=True)
class SlurmPlace:
    """Worker jobs of Slurm, one core each.

    Attributes
    ----------
    partition, account : of the jobs; Slurm's defaults where empty
    time : seconds that a job may last; work goes on in new ones after it
    memory : bytes of a job
    interface : of the network over which jobs and this machine talk, such as ib0; that of the
        host's name where empty
    """

    partition: str = ""
    account: str = ""
    time: int = 3600
    memory: int = 2048 * MEBI
    interface: str = ""


@dataclass(frozen=True)
class DaskPlace:
    """A running Dask scheduler: `HOST:PORT`."""

    address: str


Place = SlurmPlace | DaskPlace


def place_of(text: str) -> Place:
    """Return where work is to be done; ParameterError for what names no place."""
    if text.startswith("dask://"):
        host, colon, port = text.removeprefix("dask://").rpartition(":")
        if not (host and colon and port.isdecimal() and 0 < int(port) < 65_536):
            raise ParameterError("on", text, EXPECTED)
        return DaskPlace(f"{host}:{port}")
    name, colon, rest = text.partition(":")
    if name != "slurm" or (colon and not rest):
        raise ParameterError("on", text, EXPECTED)
    given: dict[str, str | int] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if key not in SlurmPlace.__dataclass_fields__ or not equals or not value:
            raise ParameterError("on", part, EXPECTED)
        # What goes into a job's script is one word.
        if any(not (c.isalnum() or c in "-_.:+") for c in value):
            raise ParameterError("on", part, "a value of letters, digits and -_.:+")
        given[key] = value
    if "time" in given:
        given["time"] = parse_duration(given["time"], "time")
    if "memory" in given:
        given["memory"] = parse_size(str(given["memory"]), "memory")
    for key in ("time", "memory"):
        if key in given and int(given[key]) < 1:
            raise ParameterError("on", f"{key}={given[key]}", f"a {key} above 0")
    return SlurmPlace(**given)  # type: ignore[arg-type]
