"""Where a report's records come from: a live Slurm, files of any known kind, or a mix of them.

Files are detected from the content: Slurm's own output, a folder written by ``forestall import
slurm``, job logs in SWF, and failure logs of any known format. What was read is put on one clock
and cut to what was asked.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet
from forestall.core.files.pipes import is_there
from forestall.core.kit.progress import Progress, StepProgress
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.core.model.spelling import named
from forestall.core.model.units import parse_duration
from forestall.core.show.quantities import counted
from forestall.logs.failures.formats import FORMATS
from forestall.logs.failures.own_parquet import looks_like
from forestall.logs.failures.raw import Head
from forestall.logs.jobs.swf_rows import is_swf
from forestall.slurm import read
from forestall.slurm.files.folder import WRITTEN, is_site_folder, read_folder
from forestall.slurm.queue import joined_starts
from forestall.slurm.read import kind_of, short_of
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from forestall.slurm.sources.cutting import cut_accounting, cut_events, cut_failures, cut_nodes
from forestall.slurm.sources.failure_logs import on_clock_of, with_failures
from forestall.slurm.sources.given import TIMEOUT, GivenRecords
from forestall.slurm.sources.swf_jobs import accounting_of_swf
from forestall.slurm.sources.windows import (
    ALL,
    LIVE_DAYS,
    check_zone,
    is_dated,
    is_duration,
    moment,
    span,
    spoken,
    window,
    younger,
)

__all__ = [
    "TIMEOUT", "GivenRecords", "asked_of", "check_zone", "cut", "gather", "is_dated", "moment",
    "on_clock_of", "span", "spoken", "window", "younger",
]  # fmt: skip

MOST_SECONDS: Final = 2.0**62
"""Node-seconds of all runs, at most: their sums are 64-bit whole numbers."""


def gather(given: GivenRecords, progress: Progress | None = None) -> SiteRecords:
    """Return all records that were named, on one clock. Raises TraceError and ParameterError."""
    if given.nothing:
        raise ParameterError("FILES", None, "files to read, {slurm} or {failures}")
    check_zone(given.zone)
    files = _by_kind(given)
    _refuse_idle(given, files)
    steps = StepProgress(progress, len(files) + given.slurm)
    parts: list[SiteRecords] = []
    if given.slurm:
        parts.append(_asked_slurm(given))
        steps()
    for kind, paths in files.items():
        if kind != "failures":
            parts.append(_read(kind, paths, given))
            steps()
    site = _together(parts)
    _check_sums(site, given)
    for path in files.get("failures", ()):
        site = with_failures(site, path, given)
        steps()
    late = younger(site, given)
    return replace(site, sources=(*site.sources, late)) if late else site


def asked_of(site: SiteRecords, given: GivenRecords, **assumed: Any) -> Asked:
    """Return what was asked of these records: window and cut of `given`, and what is `assumed`."""
    if given.min_nodes < 1:
        raise ParameterError("min_nodes", given.min_nodes, "a whole number of at least 1")
    begin, until = window(site, given.since, given.until, given.zone)
    return Asked(
        begin,
        until,
        partition=given.partition,
        min_nodes=given.min_nodes,
        zone=given.zone,
        **assumed,
    )


def cut(site: SiteRecords, asked: Asked) -> SiteRecords:
    """Return what was asked for: whole runs that touch the window, in the partition and on enough
    nodes; outages and failures of the window, on the partition's nodes where those are known.

    A run touches the window from its submission to its end. What falls out is counted in
    `sources`. Nothing is copied where nothing falls out.
    """
    said: list[str] = []
    if asked.partition is not None and site.accounting is None and site.inventory is None:
        allowed = "none: the records name no partitions"
        raise ParameterError("partition", asked.partition, allowed)
    accounting, events, failures = site.accounting, site.events, site.failures
    inventory, estimates = site.inventory, site.estimates
    if accounting is not None:
        accounting, text = cut_accounting(accounting, asked)
        said.append(text)
    names = None
    if inventory is not None and asked.partition is not None:
        inventory, names, text = cut_nodes(inventory, asked.partition)
        said.append(text)
    if events is not None:
        events, text = cut_events(events, asked, names)
        said.append(text)
    if failures is not None:
        failures, text = cut_failures(failures, asked, names)
        said.append(text)
    if estimates is not None:
        inside = (estimates.asked >= asked.begin) & (estimates.asked < asked.until)
        if not bool(inside.all()):
            gone = counted(int((~inside).sum()), "start estimates")
            said.append(f"Left out: {gone} outside the window.")
            estimates = replace(
                estimates,
                asked=estimates.asked[inside],
                job=estimates.job[inside],
                submit=estimates.submit[inside],
                start=estimates.start[inside],
            )
    return replace(
        site,
        accounting=accounting,
        events=events,
        inventory=inventory,
        estimates=estimates,
        failures=failures,
        sources=(*site.sources, *(text for text in said if text)),
    )


# ------------------------------------------------------------------------------------- reading


def _by_kind(given: GivenRecords) -> dict[str, list[Path]]:
    """Return the files by kind: slurm, folder, swf, failures."""
    found: dict[str, list[Path]] = {}
    for path in given.paths:
        found.setdefault(_kind(path), []).append(path)
    if given.failures is not None:
        found.setdefault("failures", []).append(given.failures)
    for kind, what in (("swf", "job log in SWF"), ("failures", "failure log")):
        several = found.get(kind, [])
        if len(several) > 1:
            paths = ", ".join(str(path) for path in several)
            raise ParameterError("FILES", paths, f"no more than one {what}")
    if len(found.get("folder", [])) > 1:
        raise ParameterError("FILES", str(found["folder"][1]), "no more than one imported folder")
    return found


def _refuse_idle(given: GivenRecords, files: dict[str, list[Path]]) -> None:
    """Raise ParameterError for an option that has nothing to act on."""
    if not given.slurm and given.timeout != TIMEOUT:
        allowed = "a live Slurm to go with it; files do not change"
        raise ParameterError("timeout", f"{given.timeout}s", allowed)
    if given.cluster is not None and not given.slurm and "slurm" not in files:
        allowed = "records of Slurm to go with it; there are none"
        raise ParameterError("cluster", given.cluster, allowed)
    if "failures" not in files:
        idle = {
            "system": given.system,
            "from": given.start,
            "days": given.days,
            "fold_nodes": given.fold_nodes if given.fold_nodes != 1 else None,
            "failure_format": given.failure_format,
        }
        for name, value in idle.items():
            if value is not None:
                raise ParameterError(name, value, "a failure log to go with it; there is none")
    if "swf" not in files and given.processors_per_node > 1:
        allowed = "a job log in SWF to go with it; there is none"
        raise ParameterError("processors_per_node", given.processors_per_node, allowed)


def _kind(path: Path) -> str:
    """Return what a file or folder is; TraceError where it is nothing that is known."""
    if not is_there(path):
        raise TraceError(path, "cannot be read: there is no such file or folder")
    if path.is_dir():
        return "failures" if list(path.glob("event_trace*.tab*")) else "folder"
    if is_parquet(path):
        return _kind_of_parquet(path)
    lines = head_lines(path, binary=True)
    if lines and not any(map(str.strip, lines)):
        raise TraceError(path, "is empty; expected records of jobs or nodes")
    if lines and is_swf(lines):
        return "swf"
    if lines and _of_slurm(path):
        return "slurm"
    if any(known.looks_like(Head(path, lines)) for known in FORMATS):
        return "failures"
    lacking = short_of(lines[0]) if lines else ""
    if lacking:
        raise TraceError(path, lacking)
    expected = (
        "output of sacct, sacctmgr show event, scontrol show node or squeue --start, a folder "
        "written by forestall import slurm, a job log in SWF, or a failure log"
    )
    raise TraceError(path, f"is in no known format; expected {expected}")


def _kind_of_parquet(path: Path) -> str:
    if looks_like(path):
        return "failures"
    if path.name in WRITTEN and is_site_folder(path.parent):
        message = "is a table of an imported folder; give the folder as a whole"
        raise TraceError(path, f"{message}: {path.parent}")
    expected = "a failure log with columns time,node, or the folder of forestall import slurm"
    raise TraceError(path, f"is Parquet with other columns; expected {expected}")


def _of_slurm(path: Path) -> bool:
    try:
        kind_of(path)
    except TraceError:
        return False
    return True


def _read(kind: str, paths: list[Path], given: GivenRecords) -> SiteRecords:
    if kind == "swf":
        accounting = accounting_of_swf(paths[0], given.processors_per_node, strict=given.strict)
        accounting = replace(accounting, source=named(accounting.source, given.spell))
        return SiteRecords(accounting=accounting, sources=(accounting.source,))
    if kind == "folder":
        site = read_folder(paths[0])
        name = paths[0].resolve().name
        told = (one if one.endswith(".") else f"{name}, from {one}" for one in site.sources)
        return replace(site, sources=tuple(told))

    return read.read_files(paths, zone=given.zone, strict=given.strict, cluster=given.cluster)


def _asked_slurm(given: GivenRecords) -> SiteRecords:
    now = int(time.time())
    until = None if given.until is None else moment(given.until, "until", given.zone, True)
    end = now if until is None else until
    since = f"{LIVE_DAYS}d" if given.since is None else given.since
    if since == ALL:
        begin = 0
    elif is_duration(since):
        begin = end - parse_duration(since, "since")
    else:
        begin = moment(since, "since", given.zone, True)
    return read.ask(begin, until, timeout=given.timeout, strict=given.strict, cluster=given.cluster)


def _check_sums(site: SiteRecords, given: GivenRecords) -> None:
    """Raise TraceError where what runs took does not fit 64 bits: sums would wrap, unseen."""
    runs = site.accounting
    if runs is None:
        return
    took = np.where(runs.end < NEVER, runs.end - runs.start, 0).clip(0).astype(np.float64)
    for what, each in (("node", runs.nodes), ("CPU", runs.cpus), ("GPU", runs.gpus)):
        total = float(np.dot(took, each.clip(0).astype(np.float64)))
        if total >= MOST_SECONDS:
            said = f"its runs took {total / 3600:.1e} {what}-hours; are times in seconds?"
            raise TraceError(", ".join(map(str, given.paths)) or runs.source, said)


def _together(parts: list[SiteRecords]) -> SiteRecords:
    """Return several sources as one; each kind of record may come from one of them only."""
    if len(parts) == 1:
        return parts[0]
    whole = SiteRecords()
    for part in parts:
        taken: dict[str, Any] = {}
        for name in ("accounting", "events", "inventory", "estimates", "failures", "present"):
            mine, theirs = getattr(whole, name), getattr(part, name)
            if name == "estimates" and mine is not None and theirs is not None:
                taken[name] = joined_starts(mine, theirs)
                continue
            if mine is not None and theirs is not None:
                both = ", ".join((*whole.sources, *part.sources))
                raise ParameterError("FILES", both, f"one source of {name} only")
            taken[name] = mine if theirs is None else theirs
        whole = SiteRecords(
            **taken,
            sources=whole.sources + part.sources,
            cleaning=whole.cleaning + part.cleaning,
        )
    return whole
