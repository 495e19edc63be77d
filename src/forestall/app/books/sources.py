"""Where a report's records come from: a live Slurm, files of any known kind, or a mix of them.

Files are told apart by what is in them: Slurm's own output, a folder written by ``forestall import
slurm``, job logs in SWF, and failure logs of any known format. What was read is put on one clock
and cut to what was asked.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from forestall.app.books.swf_jobs import accounting_of_swf
from forestall.app.books.words import brief, counted
from forestall.model.accounting import Accounting
from forestall.model.errors import ParameterError, TraceError
from forestall.model.failures import Failures
from forestall.model.job_records import NEVER
from forestall.model.site_records import SiteRecords
from forestall.model.units import SECONDS, parse_duration, parse_time
from forestall.traces.places import placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from forestall.app.books.asked import Asked

    Progress = Callable[[int, int], None]

LIVE_DAYS: Final = 90
"""A live Slurm is asked for so many days where nothing else was said."""
TIMEOUT: Final = 600
"""Seconds that one question to Slurm may take."""
ALL: Final = "all"
SLACK: Final = 60
"""Records that begin so many seconds late are not called younger than what was asked for."""
LEAST_DATE: Final = 100_000_000
"""Of dated records, a number below this (in 1973) is no time but something else."""


@dataclass(frozen=True)
class Given:
    """What a command was told about its records; see `forestall.cli.options_site`.

    Attributes
    ----------
    paths : files and folders, told apart by content
    slurm : whether to ask the Slurm of this machine
    failures : a failure log; `system`, `start`, `days`, `fold_nodes` and `failure_format` say how
        to read it, as in `forestall.traces.read.read_failures`
    processors_per_node : of an SWF log, whose sizes are processors
    zone : time zone of times without one, and of `since` and `until`; None: UTC, or Slurm's own
    since, until : the window, as text
    partition, min_nodes : the cut
    timeout : s that a question to Slurm may take
    strict : whether a row that must be left out or changed is an error
    """

    paths: tuple[Path, ...] = ()
    slurm: bool = False
    failures: Path | None = None
    system: str | None = None
    start: str | None = None
    days: float | None = None
    fold_nodes: int = 1
    failure_format: str | None = None
    processors_per_node: int = 1
    zone: str | None = None
    since: str | None = None
    until: str | None = None
    partition: str | None = None
    min_nodes: int = 1
    timeout: int = TIMEOUT
    strict: bool = False

    @property
    def nothing(self) -> bool:
        """Whether no source was named at all."""
        return not (self.paths or self.slurm or self.failures)


def gather(given: Given, progress: Progress | None = None) -> SiteRecords:
    """Return all records that were named, on one clock. Raises TraceError and ParameterError."""
    if given.nothing:
        raise ParameterError("FILES", "", "files to read, --slurm or --failures")
    check_zone(given.zone)
    files = _by_kind(given)
    _refuse_idle(given, files)
    steps = _Steps(progress, len(files) + given.slurm)
    parts: list[SiteRecords] = []
    if given.slurm:
        parts.append(_asked_slurm(given))
        steps.done()
    for kind, paths in files.items():
        if kind != "failures":
            parts.append(_read(kind, paths, given))
            steps.done()
    site = _together(parts)
    for path in files.get("failures", ()):
        site = _with_failures(site, path, given)
        steps.done()
    late = younger(site, given)
    return replace(site, sources=(*site.sources, late)) if late else site


def younger(site: SiteRecords, given: Given) -> str:
    """Return a sentence that the records, and so the window, begin later than was asked for, ""
    where they do not."""
    since = (f"{LIVE_DAYS}d" if given.slurm else ALL) if given.since is None else given.since
    if since == ALL or not is_dated(site):
        return ""
    first, last = span(site)
    until = int(time.time()) if given.slurm else last
    if given.until is not None:
        until = min(until, moment(given.until, "--until", given.zone, True))
    if _is_duration(since):
        wanted = until - parse_duration(since, "--since")
    else:
        wanted = moment(since, "--since", given.zone, True)
    if first <= wanted + SLACK:
        return ""
    return (
        f"Asked for the time since {spoken(wanted, True)}; the records begin "
        f"{spoken(first, True)} (UTC), and so does the window."
    )


def asked_of(site: SiteRecords, given: Given, **assumed: Any) -> Asked:
    """Return what was asked of these records: window and cut of `given`, and what is `assumed`."""
    from forestall.app.books.asked import Asked

    if given.min_nodes < 1:
        raise ParameterError("--min-nodes", given.min_nodes, "a whole number of at least 1")
    begin, until = window(site, given.since, given.until, given.zone)
    return Asked(
        begin,
        until,
        partition=given.partition,
        min_nodes=given.min_nodes,
        zone=given.zone,
        **assumed,
    )


def window(
    site: SiteRecords, since: str | None = None, until: str | None = None, zone: str | None = None
) -> tuple[int, int]:
    """Return the window [begin, until): all that the records cover, as far as it is asked for.

    `since` is a date such as ``2024-01-01``, a duration before the end such as ``30d``, or
    ``all``; `until` a date. Dates are in `zone`. Raises ParameterError where the window would be
    empty, and for a date where the records have none.
    """
    first, last = span(site)
    dated = is_dated(site)
    end = last if until is None else moment(until, "--until", zone, dated)
    if since is None or since == ALL:
        begin = first
    elif _is_duration(since):
        begin = max(first, end - parse_duration(since, "--since"))
    else:
        begin = moment(since, "--since", zone, dated)
    if max(begin, first) < min(end, last):
        return max(begin, first), min(end, last)
    within = f"within the records, {_exact(first, dated)} to {_exact(last, dated)}"
    if until is not None and end <= first:
        raise ParameterError("--until", until, f"a time {within}")
    if since is None or since == ALL:
        raise ParameterError("--until", until, f"a time {within}")
    before = f", before --until {until}" if until is not None and begin < last else ""
    raise ParameterError("--since", since, f"a time {within}{before}")


def _exact(time: int, dated: bool) -> str:
    """Return a time as an option takes it."""
    return spoken(time, True) if dated else f"{time:,} s"


def span(site: SiteRecords) -> tuple[int, int]:
    """Return the time [begin, until) that the records cover: that of the jobs where there are
    any, else that of outages or failures. Raises ParameterError where there are neither."""
    if site.accounting is not None:
        return site.accounting.begin, max(site.accounting.until, site.accounting.begin + 1)
    if site.events is not None:
        return site.events.span
    if site.failures is not None:
        return failure_span(site.failures)
    allowed = (
        "records of jobs (sacct), outages (sacctmgr show event) or failures beside what describes "
        "nodes or foretells starts"
    )
    raise ParameterError("FILES", "; ".join(site.sources), allowed)


def failure_span(failures: Failures) -> tuple[int, int]:
    """Return the time that a failure log covers, on its own clock."""
    if failures.service_start is not None and failures.service_end is not None:
        there = failures.service_end > failures.service_start
        if bool(there.any()):
            return (
                int(failures.service_start[there].min()),
                int(failures.service_end[there].max()),
            )
    if not len(failures):
        return 0, max(failures.span, 1)
    first = min(0, int(failures.time[0]))
    return first, max(first + failures.span, int(failures.time[-1]) + 1)


def is_dated(site: SiteRecords) -> bool:
    """Return whether times are Unix seconds."""
    for part in (site.accounting, site.events):
        if part is not None:
            return part.dated
    return site.failures is not None and site.failures.origin is not None


def moment(text: str, name: str, zone: str | None, dated: bool) -> int:
    """Return a date as Unix seconds; of undated records a number of seconds."""
    more = ", a duration such as 30d, or all" if name == "--since" else ""
    if not dated:
        try:
            return int(text)
        except ValueError:
            allowed = f"seconds{more}: these records have no dates"
            raise ParameterError(name, text, allowed) from None
    if text.strip().isdecimal() and int(text) < LEAST_DATE:
        raise ParameterError(name, text, f"a date such as 2024-01-31{more}")
    if zone is None:
        return parse_time(text, name)
    from datetime import datetime
    from zoneinfo import ZoneInfo

    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return parse_time(text, name)
    if when.tzinfo is None:
        when = when.replace(tzinfo=ZoneInfo(zone))
    return int(when.timestamp())


def spoken(time: int, dated: bool) -> str:
    """Return a time as a reader takes it: a date, or days where there are no dates.

    >>> spoken(1_700_000_000, True), spoken(0, False), spoken(1_221_811, False)
    ('2023-11-14 22:13', 'day 0', 'day 14.1')
    """
    if dated:
        try:
            return str(np.datetime64(time, "s")).replace("T", " ")[:16]
        except (OverflowError, ValueError):
            pass
    return f"day {brief(round(time / 86_400, 1))}"


def check_zone(zone: str | None) -> None:
    """Raise ParameterError for a time zone that is not known."""
    if zone is None:
        return
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(zone)
    except (OSError, ValueError):  # the error for unknown keys is a KeyError of its own
        raise ParameterError("--zone", zone, "a time zone such as Europe/Berlin") from None
    except KeyError:
        raise ParameterError("--zone", zone, "a time zone such as Europe/Berlin") from None


def cut(site: SiteRecords, asked: Asked) -> SiteRecords:
    """Return what was asked for: whole runs that touch the window, in the partition and on enough
    nodes; outages and failures of the window, on the partition's nodes where those are known.

    A run touches the window from its submission to its end. What falls out is counted in
    `sources`. Nothing is copied where nothing falls out.
    """
    from forestall.app.books.cutting import cut_accounting, cut_events, cut_failures, cut_nodes

    said: list[str] = []
    if asked.partition is not None and site.accounting is None and site.inventory is None:
        allowed = "none: the records tell no partitions"
        raise ParameterError("--partition", asked.partition, allowed)
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


class _Steps:
    """Tells a progress bar of each source that was read."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def done(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _by_kind(given: Given) -> dict[str, list[Path]]:
    """Return the files by kind: slurm, folder, swf, failures."""
    found: dict[str, list[Path]] = {}
    for path in given.paths:
        found.setdefault(_kind(path), []).append(path)
    if given.failures is not None:
        found.setdefault("failures", []).append(given.failures)
    for kind, what in (("swf", "job log in SWF"), ("failures", "failure log")):
        several = found.get(kind, [])
        if len(several) > 1:
            named = ", ".join(str(path) for path in several)
            raise ParameterError("FILES", named, f"no more than one {what}")
    if len(found.get("folder", [])) > 1:
        raise ParameterError("FILES", str(found["folder"][1]), "no more than one imported folder")
    return found


def _refuse_idle(given: Given, files: dict[str, list[Path]]) -> None:
    """Raise ParameterError for an option that has nothing to act on."""
    if "failures" not in files:
        idle = {
            "--system": given.system,
            "--from": given.start,
            "--days": given.days,
            "--fold-nodes": given.fold_nodes if given.fold_nodes != 1 else None,
            "--failure-format": given.failure_format,
        }
        for name, value in idle.items():
            if value is not None:
                raise ParameterError(name, value, "a failure log to go with it; there is none")
    if "swf" not in files and given.processors_per_node > 1:
        allowed = "a job log in SWF to go with it; there is none"
        raise ParameterError("--processors-per-node", given.processors_per_node, allowed)


def _kind(path: Path) -> str:
    """Return what a file or folder is; TraceError where it is nothing that is known."""
    from forestall.traces.failures.formats import FORMATS
    from forestall.traces.failures.raw import Head
    from forestall.traces.packed import read_head, text_of
    from forestall.traces.swf_rows import is_swf
    from forestall.traces.table import is_parquet

    if not path.exists():
        raise TraceError(path, "cannot be read: there is no such file or folder")
    if path.is_dir():
        return "failures" if list(path.glob("event_trace*.tab*")) else "folder"
    if is_parquet(path):
        return _kind_of_parquet(path)
    head = read_head(path)
    if not head.strip():
        raise TraceError(path, "is empty; expected records of jobs or nodes")
    lines = () if b"\0" in head else tuple(text_of(head).splitlines()[:50])
    if lines and is_swf(lines):
        return "swf"
    if lines and _of_slurm(path):
        return "slurm"
    if any(known.looks_like(Head(path, lines)) for known in FORMATS):
        return "failures"
    expected = (
        "output of sacct, sacctmgr show event, scontrol show node or squeue --start, a folder "
        "written by forestall import slurm, a job log in SWF, or a failure log"
    )
    raise TraceError(path, f"is nothing that is known; expected {expected}")


def _kind_of_parquet(path: Path) -> str:
    from forestall.traces.failures.own_parquet import looks_like
    from forestall.traces.site_folder import WRITTEN, is_site_folder

    if looks_like(path):
        return "failures"
    if path.name in WRITTEN and is_site_folder(path.parent):
        message = "is a table of an imported folder; give the folder as a whole"
        raise TraceError(path, f"{message}: {path.parent}")
    expected = "a failure log with columns time,node, or the folder of forestall import slurm"
    raise TraceError(path, f"is Parquet of something else; expected {expected}")


def _of_slurm(path: Path) -> bool:
    from forestall.adapters.slurm.read import kind_of

    try:
        kind_of(path)
    except TraceError:
        return False
    return True


def _read(kind: str, paths: list[Path], given: Given) -> SiteRecords:
    if kind == "swf":
        accounting = accounting_of_swf(paths[0], given.processors_per_node, strict=given.strict)
        return SiteRecords(accounting=accounting, sources=(accounting.source,))
    if kind == "folder":
        from forestall.traces.site_folder import read_folder

        site = read_folder(paths[0])
        name = paths[0].resolve().name
        return replace(site, sources=tuple(f"{name}, from {one}" for one in site.sources))
    from forestall.adapters.slurm import read

    return read.read_files(paths, zone=given.zone, strict=given.strict)


def _asked_slurm(given: Given) -> SiteRecords:
    from forestall.adapters.slurm import read

    now = int(time.time())
    until = None if given.until is None else moment(given.until, "--until", given.zone, True)
    end = now if until is None else until
    since = f"{LIVE_DAYS}d" if given.since is None else given.since
    if since == ALL:
        begin = 0
    elif _is_duration(since):
        begin = end - parse_duration(since, "--since")
    else:
        begin = moment(since, "--since", given.zone, True)
    return read.ask(begin, until, timeout=given.timeout, strict=given.strict)


def _together(parts: list[SiteRecords]) -> SiteRecords:
    """Return several sources as one; each kind of record may come from one of them only."""
    if len(parts) == 1:
        return parts[0]
    whole = SiteRecords()
    for part in parts:
        taken: dict[str, Any] = {}
        for name in ("accounting", "events", "inventory", "estimates", "failures"):
            mine, theirs = getattr(whole, name), getattr(part, name)
            if name == "estimates" and mine is not None and theirs is not None:
                from forestall.adapters.slurm.queue import joined_starts

                taken[name] = joined_starts(mine, theirs)
                continue
            if mine is not None and theirs is not None:
                named = ", ".join((*whole.sources, *part.sources))
                raise ParameterError("FILES", named, f"one source of {name} only")
            taken[name] = mine if theirs is None else theirs
        whole = SiteRecords(
            **taken,
            sources=whole.sources + part.sources,
            cleaning=whole.cleaning + part.cleaning,
        )
    return whole


def _with_failures(site: SiteRecords, path: Path, given: Given) -> SiteRecords:
    from forestall.traces.read import read_failures

    if site.events is not None and len(site.events):
        allowed = "no failure log beside the outages that Slurm recorded"
        raise ParameterError("--failures", str(path), allowed)
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
        what = f"failure logs of another machine than the jobs' ({machine:,} nodes), whose names "
        what += "of nodes and rates are not those of the nodes that jobs ran on"
        aside = aside.plus("other_machine", what, "kept", [f"{path.name} ({read.nodes:,} nodes)"])
    return replace(
        site,
        events=None,
        failures=replace(moved, cleaning=odd),
        sources=(
            *site.sources,
            f"{path.name}: {counted(len(read), 'failures')} of {counted(read.nodes, 'nodes')}{text}",
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
            return _moved(whole, origin, dated=True), "; put beside the jobs by their dates"
    why = "as --from says" if chosen else "they have no dates in common"
    text = f"; its begin is put at the begin of the jobs ({why})"
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


def _is_duration(text: str) -> bool:
    stripped = text.strip().lower()
    return bool(stripped) and stripped[-1] in SECONDS and stripped[0].isdigit()
