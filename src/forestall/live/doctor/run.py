"""All checks of the doctor, in the order in which they are told."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from forestall.core._lazy import lazily
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.faults import LookError
from forestall.live.client.connection import ServerOptions
from forestall.live.doctor import checks, slurm
from forestall.live.doctor.checks import CheckState, DoctorCheck, PlaceQuestion

with lazily():
    from forestall.live.serving import settings
    from forestall.slurm.control import by_rest, http


def all_checks(asked: PlaceQuestion, options: ServerOptions) -> Iterator[DoctorCheck]:
    """Yield every check as it is done; none changes anything.

    Raises TraceError for settings that cannot be read, ParameterError for an address that is none.
    """
    given = asked
    if asked.settings is not None:
        asked, options = with_settings(asked, options)
    yield from checks.extras()
    yield from slurm.slurm()
    yield slurmrestd(asked.rest)
    try:
        yield from checks.ledger(asked.ledger)
    except ParameterError as error:
        if given.ledger or asked.settings is None:
            raise
        raise TraceError(asked.settings, str(error)) from None
    yield from checks.server(options)


def with_settings(
    asked: PlaceQuestion, options: ServerOptions
) -> tuple[PlaceQuestion, ServerOptions]:
    """Return the question with what a settings file says where nothing was said here."""
    assert asked.settings is not None
    known = settings.read_live_settings(asked.settings)
    url, socket = known.serve.ledger, known.serve.socket
    rest = known.slurm.url if known.slurm.via == "rest" else ""
    asked = replace(asked, ledger=asked.ledger or url or None, rest=asked.rest or rest or None)
    if options.server is None and options.socket is None:
        if socket:
            return asked, replace(options, socket=Path(socket))
        return asked, replace(options, server=f"http://{known.serve.host}:{known.serve.port}")
    return asked, options


def slurmrestd(address: str | None) -> DoctorCheck:
    """Return whether slurmrestd answers. Raises ParameterError for what is no address."""
    subject = "slurmrestd"
    if address is None:
        there = shutil.which("slurmrestd")
        found = "not used: Slurm's commands do all that it does, and more"
        return checks.ok(subject, f"installed, {found}" if there else found)
    try:
        version = by_rest.SlurmRest(http.Server(address)).version()
    except LookError as error:
        return checks.missing(
            subject, str(error), "check that slurmrestd runs there, with this user"
        )
    return checks.ok(subject, f"{address} answers: v0.0.{version}")


def as_json(found: list[DoctorCheck]) -> dict[str, Any]:
    """Return checks in a form for JSON."""
    rows = [{**one._asdict(), "state": str(one.state)} for one in found]
    return {"checks": rows, "missing": how_many_missing(found)}


def how_many_missing(found: list[DoctorCheck]) -> int:
    """Return how many checks are not passed."""
    return sum(one.state is CheckState.MISSING for one in found)
