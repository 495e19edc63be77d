"""A failure log beside jobs: read, put on their clock, and given times in service."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from forestall.core.files.places import placed
from forestall.core.model.errors import ParameterError
from forestall.core.model.job_records import NEVER
from forestall.core.model.spelling import named
from forestall.core.show.quantities import counted
from forestall.logs.read import read_failures
from forestall.slurm.sources.windows import failure_span

if TYPE_CHECKING:
    from pathlib import Path

    from forestall.core.model.cleaning import Cleaning
    from forestall.core.model.failures import Failures
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.site_records import SiteRecords
    from forestall.slurm.sources.given import GivenRecords

OTHER_MACHINE: Final = "other_machine"
"""The remark on a failure log of another machine than the jobs'."""


def of_two_machines(cleaning: Cleaning) -> bool:
    """Return whether records are of one machine's jobs and another one's failures."""
    return any(remark.kind == OTHER_MACHINE for remark in cleaning.remarks)


def with_failures(site: SiteRecords, path: Path, given: GivenRecords) -> SiteRecords:
    """Return the records with the failures of a log beside them. Raises ParameterError where there
    are outages already, and as `read_failures` does."""
    if site.events is not None and len(site.events):
        allowed = "no failure log beside the outages that Slurm recorded"
        raise ParameterError("failures", str(path), allowed)
    read = read_failures(
        path,
        system=given.system,
        start=given.start,
        days=given.days,
        fold_nodes=given.fold_nodes,
        format=given.failure_format,
        strict=given.strict,
    )
    moved, text = on_clock_of(site.accounting, read, chosen=given.start is not None)
    aside, odd = (placed(one, path.name) for one in (read.aside, read.cleaning))
    machine = None if site.accounting is None else site.accounting.machine_nodes
    if machine is not None and machine != read.nodes:
        what = f"failure logs of another machine than the jobs' ({machine:,} nodes): its names "
        what += "of nodes and its rates are not those of the nodes that jobs ran on"
        aside = aside.plus(OTHER_MACHINE, what, "kept", [f"{path.name} ({read.nodes:,} nodes)"])
    held = f"{counted(len(read), 'failures')} of {counted(read.nodes, 'nodes')}"
    return replace(
        site,
        events=None,
        failures=replace(moved, cleaning=odd),
        sources=(
            *site.sources,
            f"{path.name}: {held}{named(text, given.spell)}",
        ),
        cleaning=site.cleaning + aside,
    )


def on_clock_of(
    accounting: Accounting | None, failures: Failures, *, chosen: bool = False
) -> tuple[Failures, str]:
    """Return a failure log on the clock of the jobs, and in words how it was put there.

    By dates where both have them and overlap; alone by its own dates. Else, and where its time 0
    was `chosen`, its time 0 is put at the begin of the jobs. Times in service are always told
    afterwards: all nodes over all of the log where it does not tell them.
    """
    whole = _in_service(failures)
    origin = whole.origin
    if accounting is None:
        if origin is None:
            return whole, "; the log has no dates"
        return _moved(whole, origin, dated=True), ""
    if origin is not None and accounting.dated and not chosen:
        first, last = failure_span(whole)
        if origin + first < accounting.until and origin + last > accounting.begin:
            return _moved(whole, origin, dated=True), "; aligned with the jobs by date"
    why = "as {from} says" if chosen else "they have no dates in common"
    text = f"; its start is aligned with the start of the jobs ({why})"
    return _moved(whole, accounting.begin, dated=accounting.dated), text


def _in_service(failures: Failures) -> Failures:
    """Return the log with a time in service for every node."""
    if failures.service_start is not None:
        return failures
    first, last = failure_span(failures)
    return replace(
        failures,
        service_start=np.full(failures.nodes, first, dtype=np.int64),
        service_end=np.full(failures.nodes, last, dtype=np.int64),
        service_new=np.zeros(failures.nodes, dtype=np.bool_),
    )


def _moved(failures: Failures, seconds: int, *, dated: bool) -> Failures:
    """Return the same on a clock that shows `seconds` more; its time 0 is then Unix time 0 where
    it is `dated`, and nothing that is known else."""
    low = np.iinfo(np.int64).min // 2
    start, end = failures.service_start, failures.service_end
    assert start is not None
    assert end is not None
    return replace(
        failures,
        time=failures.time + seconds,
        service_start=np.maximum(start, low) + seconds,
        service_end=np.minimum(end, NEVER // 2) + seconds,
        origin=0 if dated else None,
    )
