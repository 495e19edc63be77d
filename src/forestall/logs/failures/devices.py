"""Failures of parts that stand for nodes: GPUs of Titan, disks of file systems, drives.

- Titan (OLCF; Ostrouchov et al., SC 2020), ``gc_full.csv``: one row for each stay of a GPU at a
  location. A failure is a stay that ended (`remove`) with a double-bit error (DBE) or the GPU off
  the bus (OTB), its kind; nodes are the locations.
- Disks of Alpine (OLCF) and Campaign (LANL): every row is a failure; nodes are the disk bays,
  ``rack-enclosure-slot``, of which only those that failed are known. Campaign's kind is the action.
- Backblaze drive days: a failure is a row with ``failure`` 1, at the start (UTC) of its day; nodes
  are the drives by serial number, the kind is the model.

Times are the sites' own as they stand, Alpine's (with a zone) UTC. Node numbers follow the sorted
names. None of them tells how long something was down.

A location of Titan is in service from its first stay's `insert` to its last stay's `remove`, a
drive from its first day to the end of its last; a drive that came after the log's first day is
taken to be new then. Of the disk bays that is not told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import Int, TextColumns, read_sheet
from forestall.core.model.units import SECONDS
from forestall.logs.failures.raw import (
    FailureFormat,
    Head,
    Options,
    RawFailures,
    Service,
    moments,
    numbered,
    single_system,
)

with lazily():
    import polars as pl

TITAN = ("location", "remove", "event")
ALPINE = ("Timestamp", "SSU", "Rack id", "Unique enclosure", "Slot")
CAMPAIGN = ("Timestamp", "Action", "Rack id", "Unique enclosure", "Slot")
BACKBLAZE = ("date", "serial_number", "model", "failure")


def read_titan(path: Path, options: Options) -> RawFailures:
    """Read Titan's GPU stays."""
    single_system(options, "Titan's GPU log")
    sheet = read_sheet(path, TITAN, ("insert",), strict=options.strict)
    everyone = sheet.text("location")
    event = np.array(sheet.text("event"), dtype=object)
    raw = _failed(sheet, event != "", ("remove", "%Y-%m-%d %H:%M:%S"), "location", everyone)
    removed = _seconds(sheet, "remove", "%Y-%m-%d %H:%M:%S")
    told = np.flatnonzero(removed >= 0)
    insert = _seconds(sheet, "insert", "%Y-%m-%d %H:%M:%S") if sheet.has("insert") else removed
    start = np.where(insert < 0, removed, np.minimum(insert, removed))
    place = _places(everyone, raw)
    service = Service.seen(place[told], start[told], removed[told] + 1, raw.nodes)
    return replace(raw, service=service)


def read_alpine(path: Path, options: Options) -> RawFailures:
    """Read Alpine's disk failures."""
    single_system(options, "Alpine's disk log")
    sheet = read_sheet(path, ALPINE, strict=options.strict)
    return _bays(sheet, "%Y-%m-%dT%H:%M:%S%z", None)


def read_campaign(path: Path, options: Options) -> RawFailures:
    """Read Campaign's disk failures."""
    single_system(options, "Campaign's disk log")
    sheet = read_sheet(path, CAMPAIGN, strict=options.strict)
    return _bays(sheet, "%Y-%m-%dT%H:%M:%S", sheet.text("Action"))


def read_backblaze(path: Path, options: Options) -> RawFailures:
    """Read Backblaze's drive days."""
    single_system(options, "the drive log")
    sheet = read_sheet(path, BACKBLAZE, strict=options.strict)
    flag = sheet.whole("failure", low=0)
    sheet.refuse("failure", flag > 1, "0 or 1")
    serial = sheet.frame["serial_number"].fill_null("")
    everyone = serial.unique().to_list()
    raw = _failed(sheet, flag == 1, ("date", "%Y-%m-%d"), "serial_number", everyone, "model")
    day = _seconds(sheet, "date", "%Y-%m-%d")
    told = np.flatnonzero(day >= 0)
    if len(told) == 0:
        return raw
    place = _places(serial.to_list(), raw)
    service = Service.seen(place[told], day[told], day[told] + SECONDS["d"], raw.nodes)
    return replace(raw, service=replace(service, new=service.start > int(day[told].min())))


def _seconds(sheet: TextColumns, name: str, pattern: str) -> Int:
    """Return a column of dates as seconds since 1970, -1 where blank or none."""
    column = sheet.frame[name].str.to_datetime(pattern, time_unit="ms", strict=False)
    return column.dt.epoch("s").cast(pl.Int64).fill_null(-1).to_numpy()


def _places(names: Sequence[str], raw: RawFailures) -> Int:
    """Return the node number of each name."""
    number = {name: place for place, name in enumerate(raw.names or ())}
    return np.fromiter((number[name] for name in names), np.int64, len(names))


def _failed(
    sheet: TextColumns,
    failed: npt.NDArray[np.bool_],
    time: tuple[str, str],
    place: str,
    everyone: Sequence[str],
    kind: str = "event",
) -> RawFailures:
    """Return the failures among the rows; `time` is its column and the pattern of it."""
    part = sheet.where(failed)
    seconds, good = moments(part.text(time[0]), time[1])
    part.refuse(time[0], ~good, "a date")
    keep = np.flatnonzero(part.keep)
    places, kinds = part.text(place), part.text(kind)
    node, names = numbered([places[row] for row in keep.tolist()], everyone)
    empty_and_clean = len(keep) == 0 and part.findings.first() is None and len(sheet) > 0
    return RawFailures(
        seconds[keep],
        node,
        len(names),
        kind=[kinds[row] for row in keep.tolist()],
        names=names,
        cleaning=part.findings.cleaning(1 if empty_and_clean else len(keep), "failures"),
    )


def _bays(sheet: TextColumns, pattern: str, kinds: Sequence[str] | None) -> RawFailures:
    seconds, good = moments(sheet.text("Timestamp"), pattern)
    sheet.refuse("Timestamp", ~good, "a date and time")
    rack, enclosure, slot = (
        sheet.whole(name, low=0) for name in ("Rack id", "Unique enclosure", "Slot")
    )
    keep = np.flatnonzero(sheet.keep)
    bays = [f"{rack[row]:03d}-{enclosure[row]:03d}-{slot[row]:03d}" for row in keep.tolist()]
    node, names = numbered(bays)
    again = sheet.lines[sheet.repeated()]
    sheet.findings.note("duplicate", "exact repeats of an earlier row", again)
    return RawFailures(
        seconds[keep],
        node,
        len(names),
        kind=None if kinds is None else [kinds[row] for row in keep.tolist()],
        names=names,
        cleaning=sheet.findings.cleaning(len(keep), "failures"),
    )


def _has(*names: str, without: Sequence[str] = ()):  # type: ignore[no-untyped-def]
    def looks_like(head: Head) -> bool:
        return set(names) <= set(head.columns) and not set(without) & set(head.columns)

    return looks_like


FORMATS = (
    FailureFormat("titan", "Titan's GPU stays (gc_full.csv)", _has("SN", *TITAN), read_titan),
    FailureFormat("alpine", "disk failures of Alpine", _has(*ALPINE), read_alpine),
    FailureFormat("campaign", "disk failures of Campaign", _has(*CAMPAIGN), read_campaign),
    FailureFormat("backblaze", "Backblaze's drive days", _has(*BACKBLAZE), read_backblaze),
)
