"""A folder with all that is known of a site: tables as Parquet, and ``import.json`` beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Final

from forestall.core.files import budget
from forestall.core.files.atomic import atomic_path
from forestall.core.files.documents import json_of
from forestall.core.files.findings import listed
from forestall.core.files.folders import filling, is_left_over, mend
from forestall.core.files.guard import reader
from forestall.core.files.records import held_to
from forestall.core.model.cleaning import Action, Cleaning, Remark
from forestall.core.model.errors import ParameterError, TraceError
from forestall.slurm.files import accounting as files
from forestall.slurm.records.site_records import SiteRecords

SUMMARY: Final = "import.json"
MOST_NAMED: Final = 1000
"""So many of what a remark names are written down; the count is always whole."""
UNNAMED: Final = "not named"


_A_NAME: Final = 16
"""Bytes of a name that a remark only counts."""


@dataclass(frozen=True)
class _ToldRemark:
    """A remark as ``import.json`` has it."""

    part: str
    kind: str
    text: str
    action: Action
    count: int
    names: list[str]


@dataclass(frozen=True)
class _FolderTable:
    part: str
    file: str
    write: Callable[[Any, Path], None]
    read: Callable[[Path], Any]


TABLES: Final = (
    _FolderTable("accounting", "runs.parquet", files.write_accounting, files.read_accounting),
    _FolderTable("events", "events.parquet", files.write_events, files.read_events),
    _FolderTable("inventory", "nodes.parquet", files.write_inventory, files.read_inventory),
    _FolderTable("estimates", "estimates.parquet", files.write_estimates, files.read_estimates),
)
"""Parts of `SiteRecords`, and the files that they are in."""


JOBS: Final = "jobs.parquet"
FAILURES: Final = "failures.parquet"
WRITTEN: Final = frozenset({SUMMARY, JOBS, FAILURES, *(table.file for table in TABLES)})
"""All files of such a folder; the jobs and failures are there for other commands."""


def is_site_folder(path: str | Path) -> bool:
    """Return whether a folder was written by `forestall import`."""
    mend(Path(path))
    return (Path(path) / SUMMARY).is_file()


def write_tables(site: SiteRecords, folder: Path) -> dict[str, int]:
    """Write the tables of what there is; return the number of rows by file."""
    rows: dict[str, int] = {}
    for table in TABLES:
        part = getattr(site, table.part)
        if part is not None:
            table.write(part, folder / table.file)
            rows[table.file] = len(part)
    return rows


def write_summary(site: SiteRecords, folder: Path, told: Mapping[str, Any]) -> None:
    """Write ``import.json``: what is told, the sources, and all remarks."""
    whole = {**told, "sources": list(site.sources), "remarks": _remarks(site)}
    text = json.dumps(whole, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    with atomic_path(folder / SUMMARY) as beside:
        beside.write_bytes(text.encode("utf-8", errors="replace"))


def _remarks(site: SiteRecords) -> list[dict[str, Any]]:
    cleanings = {"all": site.cleaning}
    for table in TABLES:
        part = getattr(site, table.part)
        if part is not None:
            cleanings[table.part] = part.cleaning
    return [
        {
            "part": part,
            "kind": one.kind,
            "text": one.text,
            "action": one.action,
            "count": one.count,
            "names": [name for name in one.names[:MOST_NAMED] if name != UNNAMED],
        }
        for part, cleaning in cleanings.items()
        for one in cleaning.remarks
    ]


@reader
def read_folder(path: str | Path) -> SiteRecords:
    """Read a folder that `forestall import` wrote. Raises TraceError where it is none.

    Remarks name as much as was written down; their counts are whole.
    """
    folder = Path(path)
    told = read_summary(folder)
    remarks = _cleanings(folder, told)
    parts: dict[str, Any] = {}
    for table in TABLES:
        if (folder / table.file).is_file():
            part = table.read(folder / table.file)
            parts[table.part] = replace(part, cleaning=remarks.get(table.part, Cleaning()))
        elif table.file in told["files"]:
            raise TraceError(folder / table.file, f"is missing, though {SUMMARY} names it")
    return SiteRecords(
        **parts,
        sources=tuple(told["sources"]),
        cleaning=remarks.get("all", Cleaning()),
    )


@reader
def read_summary(folder: Path) -> dict[str, Any]:
    """Return ``import.json`` of a folder. Raises TraceError where there is none, or no such one."""
    mend(folder)
    path = folder / SUMMARY
    try:
        told: Any = json_of(path.read_bytes().decode("utf-8"))
    except OSError:
        message = f"not a folder that forestall import wrote: it has no {SUMMARY}"
        raise TraceError(folder, message) from None
    except ValueError as error:
        raise TraceError(path, f"not JSON, or cut off ({error})") from None
    wanted = {"files": dict[str, int], "sources": list[str], "remarks": list[_ToldRemark]}
    for name, kind in wanted.items():
        if not isinstance(told, dict) or name not in told:
            raise TraceError(path, f"has no {name}; expected what forestall import wrote")
        try:
            held_to(kind, told[name], least=0, name=name)
        except ParameterError as error:
            raise TraceError(path, str(error)) from None
    return dict(told)


def _cleanings(folder: Path, told: Mapping[str, Any]) -> dict[str, Cleaning]:
    found: dict[str, Cleaning] = {}
    for one in held_to(list[_ToldRemark], told["remarks"]):
        budget.require(_A_NAME * one.count, "what a remark counts", source=folder / SUMMARY)
        names = (*one.names, *repeat(UNNAMED, one.count - len(one.names)))
        remark = Remark(one.kind, one.text, one.action, names)
        found[one.part] = found.get(one.part, Cleaning()) + Cleaning((remark,))
    return found


@contextmanager
def whole_folder(path: str | Path) -> Iterator[Path]:
    """Give an empty folder; on a clean exit its files take the place of those at `path`.

    What stands at `path` may be an empty folder, or one with files of `WRITTEN` only, which is
    replaced; anything else is a TraceError. On an error nothing is left behind, and what stood
    there stays.
    """
    target = Path(path)
    mend(target)
    _refuse_others(target)
    with filling(target, (*sorted(WRITTEN - {SUMMARY}), SUMMARY)) as fresh:
        yield fresh


def _refuse_others(target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        return
    if not target.is_dir():
        raise TraceError(target, "is a file; expected a folder to write to")
    others = sorted(
        entry.name
        for entry in target.iterdir()
        if entry.name not in WRITTEN and not is_left_over(entry)
    )
    if others:
        message = f"is a folder with {listed(others, 3)} in it; expected a new or empty one"
        raise TraceError(target, message)
