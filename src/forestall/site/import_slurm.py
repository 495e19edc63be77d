"""From Slurm's records to files that every other command takes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from forestall.__about__ import __version__
from forestall.core.files.atomic import atomic_path
from forestall.core.files.packed import head_lines
from forestall.core.files.parquet import is_parquet
from forestall.core.kit.progress import Progress
from forestall.core.model.cleaning import NAMED, Remark
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures
from forestall.core.model.hostlist import in_order
from forestall.logs.info import is_failure_log
from forestall.logs.jobs.swf_rows import is_swf
from forestall.logs.write import write_failures
from forestall.reliability.report.fleet import known_nodes, seen_of
from forestall.slurm.anonymous import anonymous
from forestall.slurm.events import slurm_failures
from forestall.slurm.files.accounting import write_jobs
from forestall.slurm.files.folder import (
    FAILURES,
    JOBS,
    SUMMARY,
    is_site_folder,
    read_folder,
    whole_folder,
    write_summary,
    write_tables,
)
from forestall.slurm.read import kind_of, renumbered
from forestall.slurm.records.node_events import NATURES
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.sources.asked import Asked
from forestall.slurm.sources.sources import GivenRecords, check_zone, cut, gather, spoken, window

__all__ = ["Imported", "import_slurm", "read_folder"]

KEY_BYTES: Final = 32


@dataclass(frozen=True)
class Imported:
    """What was imported.

    Attributes
    ----------
    folder : where it lies
    site : the records as they were written
    told : what ``import.json`` tells, without remarks
    key : the file of the key, where names were replaced
    fell_out : what is outside the window
    """

    folder: Path
    site: SiteRecords
    told: dict[str, Any]
    key: Path | None = None
    fell_out: tuple[str, ...] = ()


def import_slurm(
    given: GivenRecords,
    out: Path,
    *,
    anonymize: bool = False,
    key_file: Path | None = None,
    keep_partitions: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Read Slurm's records, from files or live, and write them to a folder, whole or not at all.

    Parameters
    ----------
    given : which records, and the window
    out : the folder: new, empty, or of an earlier import, which is replaced
    anonymize : whether names become pseudonyms; see `slurm.anonymous`
    key_file : where the key of the pseudonyms lies, or is put when it is not there (default: beside
        the folder, with ``.key`` after its name); the same key gives the same pseudonyms
    keep_partitions : whether partitions and QoS keep their names
    progress : called with how many sources are read, of how many

    Raises TraceError and ParameterError for unusable input, SlurmError where a live Slurm
    does not answer.
    """
    if not anonymize and (key_file is not None or keep_partitions):
        name = "anonymize_key" if key_file is not None else "keep_partitions"
        raise ParameterError(name, str(key_file or "given"), "{anonymize} beside it")
    check_zone(given.zone)
    with whole_folder(out) as folder:
        site = _read(given, progress)
        fell_out = _fell_out(site)
        key: Path | None = None
        if anonymize:
            key = key_file or out.with_name(out.name + ".key")
            site = anonymous(site, _key(key, out), keep_partitions=keep_partitions)
        told = _written(site, folder, given, anonymize)
        write_summary(site, folder, told)
    return Imported(out, site, told, key, fell_out)


def _read(given: GivenRecords, progress: Progress | None) -> SiteRecords:
    for path in given.paths:
        if not is_site_folder(path):
            _check_file(path)
    site = gather(given, progress)
    if site.accounting is None and site.events is None:
        held = "; ".join(site.sources)
        allowed = "jobs (sacct) or outages (sacctmgr show event) to go beside that"
        raise ParameterError("FILES", held, allowed)
    begin, until = window(site, given.since, given.until, given.zone)
    if given.since is None and given.until is None:
        return site
    site = cut(site, Asked(begin, until))
    runs, events = site.accounting, site.events
    if runs is not None:
        site = replace(site, accounting=replace(runs, begin=begin, until=until))
    if events is not None:
        site = replace(site, events=replace(events, span=(begin, until)))
    return site


def _check_file(path: Path) -> None:
    """Raise TraceError for what is no output of Slurm."""
    wanted = "expected files with the output of sacct, or a folder of forestall import"
    if path.is_dir():
        raise TraceError(path, f"is a folder without {SUMMARY}; {wanted}")
    if not path.exists():
        raise TraceError(path, "cannot be read: there is no such file, nor an imported folder")
    try:
        kind_of(path)
    except TraceError as error:
        if _is_log(path):
            takers = "forestall report and forestall simulate read it directly"
            raise TraceError(
                path, f"is not output of Slurm but a log that needs no import; {takers}"
            ) from None
        raise error from None


def _is_log(path: Path) -> bool:
    """Return whether a file is a job log in SWF or a failure log."""
    if is_parquet(path):
        return False
    return is_swf(head_lines(path, binary=True)) or is_failure_log(path)


def _key(path: Path, out: Path) -> bytes:
    """Return the key in a file, made where it is not there: 32 random bytes, for its owner only."""
    if out.resolve() in path.resolve().parents:
        allowed = "a file outside the folder: whoever gets the folder must not get the key"
        raise ParameterError("anonymize_key", str(path), allowed)
    try:
        if not path.exists():
            with atomic_path(path, private=True, new=True) as beside:
                beside.write_text(secrets.token_hex(KEY_BYTES) + "\n", encoding="ascii")
        key = path.read_bytes().strip()
    except OSError as error:
        raise TraceError(path, f"cannot be the key's file: {error.strerror or error}") from None
    if not 1 <= len(key) <= 64:
        raise TraceError(path, f"holds a key of {len(key):,} bytes; expected 1 to 64")
    return key


def _written(
    site: SiteRecords, folder: Path, given: GivenRecords, anonymized: bool
) -> dict[str, Any]:
    """Write all tables; return what is to be told of them."""
    rows = write_tables(site, folder)
    begin, until = window(site)
    runs, events = site.accounting, site.events
    zero = begin if events is None else min(begin, events.span[0])
    told: dict[str, Any] = {
        "forestall": __version__,
        "kind": "slurm",
        "begin": begin,
        "until": until,
        "time_zero": zero,
        "zone": given.zone or "UTC",
        "anonymized": anonymized,
    }
    counts: dict[str, int] = {}
    if runs is not None:
        early = write_jobs(runs, folder / JOBS, zero)
        counts["runs"] = len(runs)
        rows[JOBS] = counts["jobs"] = len(np.unique(runs.which))
        counts["jobs_before_time_zero"] = early
    if events is not None:
        failures = _failures(site, zero)
        if len(failures):
            write_failures(failures, folder / FAILURES)
            rows[FAILURES] = len(failures)
        counts["events"] = len(events)
        for number, nature in enumerate(NATURES):
            counts[f"{nature}_events"] = int(np.count_nonzero(events.nature == number))
        counts["failures"] = len(failures)
        counts["known_nodes"] = failures.nodes
    elif runs is not None:
        seen = seen_of(runs, Asked(begin, until), site.inventory)
        if seen is not None:
            counts["known_nodes"] = len(seen.names)
    if site.inventory is not None:
        counts["nodes"] = len(site.inventory)
    if site.estimates is not None:
        counts["estimates"] = len(site.estimates)
    return {**told, "counts": counts, "files": dict(sorted(rows.items()))}


def _failures(site: SiteRecords, zero: int) -> Failures:
    """Return the failures of all nodes that the records name, on a clock that begins with `zero`,
    as the jobs have it."""
    events = site.events
    assert events is not None
    begin, until = events.span
    known = known_nodes(site, events, Asked(begin, until))
    names = in_order(known.names)
    place = {name: k for k, name in enumerate(known.names)}
    order = np.array([place[name] for name in names], dtype=np.int64)
    found = slurm_failures(renumbered(known.events, names))
    first, last, new = known.service
    later = begin - zero
    assert found.service_start is not None
    assert found.service_end is not None
    start = np.maximum(found.service_start, first[order] - begin)
    return replace(
        found,
        time=found.time + later,
        span=found.span + later,
        origin=zero if events.dated else None,
        service_start=start + later,
        service_end=np.maximum(np.minimum(found.service_end, last[order] - begin), start) + later,
        service_new=new[order],
    )


def words_of(done: Imported) -> list[tuple[str, str]]:
    """Return what was imported as rows of label and text."""
    told, counts = done.told, done.told["counts"]
    rows = [("window", f"{spoken(told['begin'], True)} to {spoken(told['until'], True)} UTC")]
    if "runs" in counts:
        rows.append(("jobs", f"{counts['jobs']:,} in {counts['runs']:,} runs"))
    if "events" in counts:
        parts = ", ".join(f"{counts[f'{one}_events']:,} {one}" for one in NATURES)
        rows.append(("outages of nodes", f"{counts['events']:,} ({parts})"))
        rows.append(("failures", f"{counts['failures']:,}"))
    if "nodes" in counts:
        rows.append(("nodes", f"{counts['nodes']:,}"))
    if "estimates" in counts:
        rows.append(("start estimates", f"{counts['estimates']:,}"))
    remarks = done.site.cleanings().remarks
    rows += [("  left out", text.removeprefix("Left out: ")) for text in done.fell_out]
    return rows + [(f"  {one.action}", _said(one)) for one in remarks]


def _said(remark: Remark) -> str:
    """Return a remark; where a file is cut off, everything after that line is missing."""
    if remark.kind != "cut_off":
        return remark.counted
    return f"{remark.counted}: {', '.join(remark.names[:NAMED])}"


def _fell_out(site: SiteRecords) -> tuple[str, ...]:
    """Return what is outside the window, as `cut` tells it."""
    return tuple(one for one in site.sources if one.startswith("Left out: "))
