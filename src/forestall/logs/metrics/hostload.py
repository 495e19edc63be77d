"""Host-load traces: CPU and memory of virtual machines over a day, every five minutes.

- PlanetLab (CoMon; Park and Pai 2006, days chosen by Beloglazov and Buyya 2012), repacked: a CSV a
  day, ``vm,t000,...,t287``, CPU in percent.
- One file a machine, in a folder or a tar archive, a row a sample: CPU in percent (PlanetLab as
  CloudSim has it), or CPU and memory in percent (1,600 machines made of Google's trace of 2011).

Percent become shares: `cpu` is the load, `memory_free` one less the memory in use. When the day
began is not told: time 0 is its first sample.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forestall.core._lazy import lazily
from forestall.core.files.delimited import read_sheet
from forestall.core.files.findings import Findings, LineFinding, shown
from forestall.core.files.packed import (
    Noted,
    head_lines,
    is_tar,
    plain_text,
    read_bytes,
    read_head,
    text_of,
)
from forestall.core.model.errors import TraceError
from forestall.logs.metrics.raw import MetricSelection, RawSamples, no_such_metric, readable
from forestall.logs.metrics.table import no_numbers

with lazily():
    import polars as pl

PERIOD = 300
"""Seconds between samples."""

NAMES = ("cpu", "memory_free")

_COLUMN = re.compile(r"t[0-9]+")
_ROW = re.compile(r"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?(\s+[-+]?[0-9.]+([eE][-+]?[0-9]+)?)?\s*")


def looks_like_rows(columns: Sequence[str]) -> bool:
    """Return whether a header is a machine's name and then samples by number."""
    return len(columns) > 2 and all(_COLUMN.fullmatch(name) for name in columns[1:])


def looks_like_samples(lines: Sequence[str]) -> bool:
    """Return whether most lines are one or two numbers each, as in the file of one machine."""
    filled = [line for line in lines if line.strip()][:20]
    return 2 * sum(_ROW.fullmatch(line) is not None for line in filled) > len(filled)


def is_archive(path: Path) -> bool:
    """Return whether an unpacked file starts as a tar archive does."""
    return is_tar(read_head(path, 512))


def read_rows(path: Path, asked: MetricSelection) -> RawSamples:
    """Read a day of PlanetLab; fields that are no number are missing samples, and named."""
    header = head_lines(path)[0].split(",")
    names = [name.strip() for name in header]
    if any(readable(name) != name for name in names):
        raise TraceError(path, "has a name of a column that is not UTF-8", line=1)
    _offered(path, asked, NAMES[:1])
    sheet = read_sheet(path, names, strict=asked.strict)
    if len(sheet) == 0:
        raise TraceError(path, "has no machines")
    machine = sheet.frame[names[0]].fill_null("")
    columns = []
    for name in names[1:]:
        text = sheet.frame[name]
        value = text.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        bad = np.isnan(value) & (text.fill_null("") != "").to_numpy()
        no_numbers(sheet.findings, text, sheet.lines, bad)
        columns.append(value)
    share = np.column_stack(columns) / 100
    cleaning = sheet.findings.cleaning(len(sheet), "machines")
    there = np.isfinite(share).ravel()
    time = np.tile(np.arange(len(columns), dtype=np.int64) * PERIOD, len(sheet))
    index = pl.Series(np.repeat(np.arange(len(sheet)), len(columns))[there])
    table = pl.DataFrame({NAMES[0]: share.ravel()[there]})
    line = np.repeat(sheet.lines, len(columns))[there]
    return RawSamples(
        time[there], machine.gather(index), table, False, line=line, cleaning=cleaning
    )


def read_machines(path: Path, asked: MetricSelection) -> RawSamples:
    """Read a folder, a tar archive, or the one file of a machine; see `read_rows`."""
    machines: list[str] = []
    values: list[npt.NDArray[np.float64]] = []
    findings = Findings(path, asked.strict)
    for name, data in _files(path, findings.spoilt):
        machines.append(readable(name))
        values.append(_numbers(name, data, findings))
    width = max((value.shape[1] for value in values), default=0)
    if width == 0:
        raise TraceError(path, "has no files of samples")
    _offered(path, asked, NAMES[:width])
    sizes = [len(value) for value in values]
    share = np.full((sum(sizes), width), np.nan)
    end = 0
    for value in values:
        share[end : end + len(value), : value.shape[1]] = value / 100
        end += len(value)
    if width > 1:
        share[:, 1] = 1 - share[:, 1]
    cleaning = findings.cleaning(len(share), "samples")
    place = np.concatenate([np.arange(size, dtype=np.int64) for size in sizes])
    index = pl.Series(np.repeat(np.arange(len(machines)), sizes))
    there = np.isfinite(share).any(axis=1)
    wanted = asked.names or NAMES[:width]
    table = pl.DataFrame({name: share[there, NAMES.index(name)] for name in wanted})
    node = pl.Series(machines, dtype=pl.String).gather(index).filter(pl.Series(there))
    return RawSamples((place * PERIOD)[there], node, table, False, cleaning=cleaning)


def _offered(path: Path, asked: MetricSelection, there: Sequence[str]) -> None:
    missing = [name for name in asked.names or () if name not in there]
    if missing:
        raise no_such_metric(path, missing, there)


def _files(path: Path, noted: Noted) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the text of each machine's file, in order of names."""
    if path.is_dir():
        for file in sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] != "."):
            lines = head_lines(file, binary=True)
            if looks_like_samples(lines[:-1] or lines):
                yield str(file.relative_to(path).with_suffix("")), read_bytes(file, noted)
        return
    if not is_archive(path):
        yield path.name.split(".")[0], read_bytes(path, noted)
        return
    try:
        with tarfile.open(fileobj=io.BytesIO(read_head(path, -1))) as archive:
            members = [member for member in archive.getmembers() if member.isfile()]
            for member in sorted(members, key=lambda one: one.name):
                held = archive.extractfile(member)
                if held is not None and not Path(member.name).name.startswith("."):
                    yield Path(member.name).name, plain_text(held.read(), noted)
    except (tarfile.TarError, OSError, EOFError) as error:
        raise TraceError(path, f"is damaged: reading the archive failed ({error})") from None


def _numbers(name: str, data: bytes, findings: Findings) -> npt.NDArray[np.float64]:
    """Return the samples of a file, percent, float64[n, 1 or 2]; what is no number is nan."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    width = min(2, max((len(line.split()) for line in lines[:20]), default=1))
    try:
        value = np.array(data.split(), dtype=np.float64)
        if len(value) == width * len(lines):
            return value.reshape(-1, width)
    except ValueError:
        pass
    out = np.full((len(lines), width), np.nan)
    wrong = []
    for row, line in enumerate(lines):
        try:
            fields = [float(field) for field in line.split()]
        except ValueError:
            fields = []
        if len(fields) == width:
            out[row] = fields
        else:
            message = f"{shown(text_of(line))} in {name}; expected {width} numbers"
            wrong.append(LineFinding(row + 1, message))
    findings.add("bad_row", "rows that are not samples (missing)", "left out", wrong)
    return out
