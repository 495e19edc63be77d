"""All that Slurm's records tell of a site: from files, detected from the content, or live."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from forestall.core.files.findings import shown
from forestall.core.files.guard import reader
from forestall.core.files.packed import head_text, text_of
from forestall.core.files.places import called, shortened
from forestall.core.model.cleaning import Cleaning
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.hostlist import in_order
from forestall.core.model.job_records import NEVER
from forestall.slurm import commands
from forestall.slurm.clusters import NAMELESS, without_heads
from forestall.slurm.events import is_header, looks_headless_events, read_events
from forestall.slurm.files.folder import read_folder as read
from forestall.slurm.jobs import read_sacct
from forestall.slurm.nodes import (
    looks_like_nodes,
    looks_like_partitions,
    looks_like_sinfo,
    read_nodes,
)
from forestall.slurm.present import arrays_at_limit, read_present
from forestall.slurm.queue import looks_headless, looks_like_starts, read_starts
from forestall.slurm.records.site_records import SiteRecords
from forestall.slurm.run import TIMEOUT, SlurmError, answer, run

if TYPE_CHECKING:
    from forestall.slurm.records.accounting import Accounting
    from forestall.slurm.records.node_events import NodeEvents
    from forestall.slurm.records.present import PresentQueue
    from forestall.slurm.records.start_estimates import StartEstimates

KINDS: Final = {
    "jobs": "sacct",
    "events": "sacctmgr show event",
    "nodes": "scontrol show node, scontrol show partition, or sinfo",
    "starts": "squeue --start",
}
"""Kinds of files, and the commands that print them."""

LIVE: Final = "Slurm itself"
"""What was read where no files were."""
MOST_LISTED: Final = 12
"""So many files of one kind are named."""

Tell = Callable[[str], None]
T = TypeVar("T")


@reader
def kind_of(path: str | Path) -> str:
    """Return which of `KINDS` a file is, by its beginning. Raises TraceError where it is none."""
    text = without_heads(head_text(path))
    first = next((line for line in text.split("\n") if line.strip()), "")
    if not first:
        raise TraceError(path, f"is empty; expected the output of {_listed()}")
    if first.lstrip().startswith("{"):
        return _json_kind(path, text)
    if looks_like_nodes(text) or looks_like_partitions(text):
        return "nodes"
    if is_header(first):
        return "events"
    names = {name.strip().lower() for name in first.replace("\x1f", "|").split("|")}
    if names & {"jobid", "jobidraw"} and "state" in names and names & {"start", "end", "submit"}:
        return "jobs"
    if looks_like_starts(text):
        return "starts"
    if looks_like_sinfo(text):
        return "nodes"
    if looks_headless(text):
        return "starts"
    if looks_headless_events(text):
        return "events"
    lacking = short_of(first)
    if lacking:
        raise TraceError(path, lacking)
    message = f"the file starts with {shown(first)}; expected the output of {_listed()}"
    raise TraceError(path, message)


def short_of(first: str) -> str:
    """Return what is wrong with output of sacct that cannot be used, by its first line: what sacct
    prints by default has no times, and its tables for people cut their columns. "": it is none."""
    names = {name.strip().lower() for name in first.replace("|", " ").split()}
    if not names & {"jobid", "jobidraw"} or not names & {"state", "jobname", "exitcode"}:
        return ""
    wanted = "JobIDRaw,State,Submit,Start,End and more, as forestall report without files prints it"
    if "|" not in first:
        return f"is sacct's table for reading; expected sacct --parsable2 --format={wanted}"
    return f"is output of sacct without times; expected sacct --parsable2 --format={wanted}"


@reader
def read_files(
    paths: Sequence[str | Path],
    *,
    zone: str | None = None,
    strict: bool = False,
    window: tuple[int, int] | None = None,
    cluster: str | None = None,
    tell: Tell | None = None,
) -> SiteRecords:
    """Read the files that Slurm's commands printed, several of each kind if need be.

    Parameters
    ----------
    paths : the files in any order; text may be compressed (.gz, .xz, .zst)
    zone : time zone of dates without one, such as ``Europe/Berlin`` (None: UTC)
    strict : whether a row that must be left out or changed is an error
    window : the time for which records were asked, [begin, until), Unix seconds (None: as the
        records tell)
    cluster : whose records are read; None: those of the only one
    tell : called with what is being read

    Raises TraceError where a file is none of Slurm's or cannot be used, ParameterError where the
    records are of several clusters or not of the one that is asked for.
    """
    if not paths:
        raise ParameterError("files", "none", "at least one file that Slurm's commands printed")
    kinds: dict[str, list[Path]] = {kind: [] for kind in KINDS}
    for path in dict.fromkeys(Path(one) for one in paths):
        kinds[kind_of(path)].append(path)
    say = tell or (lambda text: None)
    accounting, events, inventory, estimates = None, None, None, None
    if kinds["jobs"]:
        say("reading jobs")
        jobs = partial(read_sacct, kinds["jobs"], zone=zone, strict=strict, window=window)
        try:
            accounting = jobs(cluster=cluster)
        except ParameterError as error:
            # Jobs that name no cluster are those of the one whose outages are chosen.
            if not kinds["events"] or error.allowed != NAMELESS:
                raise
            accounting = jobs()
        short = shortened(accounting.cleaning, kinds["jobs"])
        accounting = replace(accounting, cleaning=short)
    if kinds["events"]:
        say("reading outages of nodes")
        events = read_events(kinds["events"], zone=zone, strict=strict, cluster=cluster)
    if kinds["nodes"]:
        say("reading nodes")
        inventory = read_nodes(kinds["nodes"], zone=zone, cluster=cluster)
    if kinds["starts"]:
        say("reading estimates of starts")
        estimates = read_starts(kinds["starts"], zone=zone, strict=strict, cluster=cluster)
    found = SiteRecords(
        accounting=accounting,
        events=events,
        inventory=inventory,
        estimates=estimates,
    )
    names = called(path for group in kinds.values() for path in group)
    groups = {kind: [names[path] for path in group] for kind, group in kinds.items() if group}
    return together(replace(found, sources=_sources(found, groups)), window)


def _sources(site: SiteRecords, groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return what was read as text: ``jobs.txt: 3,832 runs (sacct)``."""
    told = []
    for kind, names in groups.items():
        listed = ", ".join(names[:MOST_LISTED])
        if len(names) > MOST_LISTED:
            listed += f" and {len(names) - MOST_LISTED:,} files more"
        told.append(f"{listed}: {_held(site, kind)}")
    return tuple(told)


def _held(site: SiteRecords, kind: str) -> str:
    """Return how much there is of a kind, and which command told it."""
    part, what, command = {
        "jobs": (site.accounting, "runs", "sacct"),
        "events": (site.events, "outages", "sacctmgr show event"),
        "nodes": (site.inventory, "nodes", "scontrol or sinfo"),
        "starts": (site.estimates, "start estimates", "squeue --start"),
    }[kind]
    count = 0 if part is None else len(part)
    text = f"{count:,} {what.removesuffix('s') if count == 1 else what}"
    limits = (
        0 if kind != "nodes" or site.inventory is None else len(site.inventory.partition_limits)
    )
    if limits:
        text += f" and the limits of {limits:,} partition{'s' * (limits != 1)}"
    return f"{text} ({command})"


def ask(
    since: int,
    until: int | None = None,
    *,
    timeout: float = TIMEOUT,
    strict: bool = False,
    cluster: str | None = None,
    tell: Tell | None = None,
) -> SiteRecords:
    """Ask Slurm itself: `sacct`, `sacctmgr`, `scontrol` and `squeue`, none of which changes
    anything.

    Parameters
    ----------
    since, until : the window, Unix seconds (None: up to now)
    timeout : seconds that each command may take
    strict : whether a row that must be left out or changed is an error
    cluster : which one is asked; None: the one that this machine belongs to
    tell : called with what is being asked

    Where the records are younger than `since`, the window begins with them: with the first
    submission or the first outage, whichever came first.

    Without `sacct` there is nothing to report: SlurmError. What another command refuses is a
    remark (``not_told``), and the rest is read.
    """
    say = tell or (lambda text: None)
    at = partial(commands.at, cluster)
    now = int(time.time())
    window = (since, now + 1 if until is None else min(until, now + 1))
    if window[1] <= window[0]:
        raise ParameterError("since", since, "a time before the end of the window")
    refused: list[str] = []

    def other(command: tuple[str, ...], read: Callable[[Path], T], what: str) -> T | None:
        say(f"asking {command[0]} for {what}")
        try:
            with answer(command, timeout=timeout) as path:
                try:
                    return read(path)
                except TraceError as error:
                    raise _of_command(error, command[0]) from None
        except (SlurmError, TraceError) as error:
            if strict and isinstance(error, TraceError):
                raise
            refused.append(f"{what}: {error}")
            return None

    def starts(path: Path) -> StartEstimates:
        return read_starts([path], strict=strict, asked=now)

    # First what is true of this moment: the others may take minutes.
    present = None if until is not None else _present(partial(other, read=_text), at, now)
    estimates = other(at(commands.starts()), starts, "starts")
    say("asking sacct for jobs")
    # sacct leaves out what may not start before the end that it is asked for.
    end = until if until is not None and until < now else None
    limited = () if present is None else arrays_at_limit(present).tolist()
    fields = commands.offered(run(commands.sacct_fields(), timeout=timeout))
    asked = [commands.sacct(fields, since, end), *commands.sacct_tasks(fields, limited)]
    accounting = _jobs(map(at, asked), timeout=timeout, strict=strict, window=window)
    events = other(
        at(commands.events(since, until)),
        lambda path: read_events([path], strict=strict),
        "outages",
    )
    inventory = other(at(commands.nodes()), lambda path: read_nodes([path], seen=now), "nodes")
    limits = other(at(commands.partitions()), lambda path: read_nodes([path]), "partitions")
    if inventory is not None and limits is not None:
        inventory = replace(inventory, partition_limits=limits.partition_limits)
    odd = Cleaning().plus("not_told", "questions that Slurm did not answer", "left out", refused)
    window = (max(since, _first(accounting, events, since)), window[1])
    accounting = replace(accounting, begin=window[0])
    found = SiteRecords(accounting, events, inventory, estimates, present=present, cleaning=odd)
    return _live(found, window)


def _present(
    told: Callable[..., str | None], at: Callable[[tuple[str, ...]], tuple[str, ...]], now: int
) -> PresentQueue:
    """Return what the controller says of this moment."""
    waiting = told(at(commands.queue()), what="priorities")
    reserved = told(at(commands.reservations()), what="reservations")
    return read_present(waiting or "", reserved or "", now)


def _jobs(
    asked: Iterable[tuple[str, ...]], *, timeout: float, strict: bool, window: tuple[int, int]
) -> Accounting:
    """Return what sacct answered: of a time, and of arrays whose tasks it hides then."""
    with ExitStack() as stack:
        paths = [stack.enter_context(answer(one, timeout=timeout)) for one in asked]
        for path in paths[1:]:
            _keep_waiting(path)
        return read_sacct(paths, strict=strict, window=window, names=["sacct"] * len(paths))


def _keep_waiting(path: Path) -> None:
    """Keep of an answer of sacct the header and tasks that wait: it has had the other runs."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1] + [one for one in lines[1:] if b"_[" in one]))


def _text(path: Path) -> str:
    return text_of(path.read_bytes())


def _live(found: SiteRecords, window: tuple[int, int]) -> SiteRecords:
    """Return what Slurm answered put together, with where it is from and how much of each."""
    parts = {
        "accounting": ("jobs", "sacct"),
        "events": ("events", "sacctmgr"),
        "inventory": ("nodes", "scontrol"),
        "estimates": ("starts", "squeue"),
    }
    there: dict[str, Any] = {name: getattr(found, name) for name in parts}
    there = {name: part for name, part in there.items() if part is not None}
    told = {parts[name][0]: [LIVE] for name in there}
    named = {name: replace(part, source=parts[name][1]) for name, part in there.items()}
    return together(replace(found, **named, sources=_sources(found, told)), window)


def _first(accounting: Accounting, events: NodeEvents | None, since: int) -> int:
    """Return when the records begin: a database is asked for more than it holds."""
    firsts = [int(accounting.submit[0])] if len(accounting) else []
    if events is not None and len(events):
        firsts.append(int(events.begin[0]))
    return min(firsts, default=since)


def _of_command(error: TraceError, program: str) -> TraceError:
    """Return an error in a command's answer without the file in which that lay."""
    where = error.source if error.line is None else f"{error.source}:{error.line}"
    said = str(error).removeprefix(where).removeprefix(": ")
    return TraceError(program if error.line is None else f"{program} line {error.line}", said)


def together(site: SiteRecords, window: tuple[int, int] | None = None) -> SiteRecords:
    """Return records that fit each other: outages over the time that the jobs cover, and numbered
    by the nodes of the inventory and their own.

    Nodes with outages that the inventory does not know (renamed, or taken out) are kept and named.
    """
    events, inventory = site.events, site.inventory
    cleaning = site.cleaning
    if events is None:
        return site
    if inventory is not None and len(inventory):
        there = set(inventory.names)
        gone = [name for name in events.names if name not in there]
        text = "nodes with outages that no longer exist (renamed or removed)"
        cleaning = cleaning.plus("unknown_nodes", text, "kept", gone)
        events = renumbered(events, in_order({*events.names, *there}))
    events = replace(events, span=_span(events, site.accounting, window))
    return replace(site, events=events, cleaning=cleaning)


def renumbered(events: NodeEvents, names: tuple[str, ...]) -> NodeEvents:
    """Return events with their nodes numbered by their places in `names`."""
    place = {name: number for number, name in enumerate(names)}
    table = np.array([place[name] for name in events.names], dtype=np.int64)
    node = table[events.node]
    order = np.lexsort((node, events.begin))
    return replace(replace(events, node=node, names=names).take(order), names=names)


def _span(
    events: NodeEvents, accounting: Accounting | None, window: tuple[int, int] | None
) -> tuple[int, int]:
    """Return the time that the outages cover: the window, else that of the jobs and their own."""
    if window is not None:
        return window
    begin, until = events.span
    if accounting is None or len(accounting) == 0:
        return begin, until
    if len(events) == 0:
        return accounting.begin, accounting.until
    ended = events.end[events.end < NEVER]
    first = min(accounting.begin, int(ended.min()) if len(ended) else accounting.begin)
    return first, max(accounting.until, until)


_LISTS: Final = re.compile(r'"(jobs|nodes|sinfo|partitions)"\s*:\s*\[')
_OF_QUEUE: Final = ('"job_state"', '"accrue_time"')


def _json_kind(path: str | Path, text: str) -> str:
    """Return the kind of a document of JSON by the first list in it."""
    found = _LISTS.search(text)
    if found is None:
        raise TraceError(path, f"is JSON of something else; expected the output of {_listed()}")
    if found[1] != "jobs":
        return "nodes"
    return "starts" if any(mark in text for mark in _OF_QUEUE) else "jobs"


def _listed() -> str:
    return "; ".join(KINDS.values())


def read_folder(path: str | Path) -> SiteRecords:
    """Read a folder that `forestall import slurm` wrote; TraceError where it is none."""
    return read(path)
