"""An independent look at a finished run, whichever model made it."""

from __future__ import annotations

from pathlib import Path

from forestall.app.cycle.certify.certifier import cycle_checks
from forestall.app.cycle.certify.files import is_cycle
from forestall.app.kit.finding import Certificate
from forestall.app.promise.certify.certifier import certify_promise
from forestall.app.virtual.certify.certifier import NOT_CHECKED, virtual_checks
from forestall.app.virtual.certify.files import is_virtual


def certify(folder: Path) -> Certificate:
    """Check a run's folder: `jobs.csv`, `failures.csv`, `summary.json` and, if there, `runs.csv`;
    of a run of virtual machines `tasks.csv` and `migrations.csv`, too; of one of cycle sharing
    `stays.csv`, `hosts.csv` and `availability.csv`, and the log where it is there.

    Returns what was checked and found. Raises TraceError where a file is missing or cannot be read
    as what it should be; one that can be read but tells something impossible fails checks instead.
    """
    place = Path(folder)
    if is_virtual(place):
        return Certificate(virtual_checks(place), {}, NOT_CHECKED)
    if is_cycle(place):
        checks, unknown = cycle_checks(place)
        return Certificate(checks, {}, unknown)
    return certify_promise(place)
