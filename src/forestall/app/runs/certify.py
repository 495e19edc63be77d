"""An independent look at a finished run, whichever model made it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forestall._lazy import lazily
from forestall.app.kit.certify.finding import PARAMETERS, Certificate, Check, Finding, Unchecked
from forestall.app.kit.certify.sheet import Summary, read_summary
from forestall.app.kit.folder import RUN_FOLDER
from forestall.app.kit.log import DECISION_LOG, EVENT_LOG
from forestall.app.kit.output import MANIFEST, changed_files
from forestall.app.runs.models import model_in
from forestall.model.errors import InputError, ParameterError, TraceError
from forestall.model.own import is_own
from forestall.model.spelling import all_named
from forestall.traces.files.folders import mend

with lazily():
    from forestall.app.runs import replay as replays

WITHOUT_MANIFEST = (
    "whether files changed since they were written, and whether all parameters are there "
    "(manifest.json is missing: removed, or not written by an older version)"
)
OF_ALL = (
    Unchecked(
        "summary.json",
        ("sources", "versions"),
        "the inputs and the programs that read them are not in the folder",
    ),
    Unchecked("skipped.csv", ("action", "name"), "no other file records what was left out"),
    Unchecked("report.html", ("*",), "a page for people; only the manifest covers it"),
)


def certify(folder: str | Path, *, spell: Callable[[str], str] = str) -> Certificate:
    """Check a run's folder by its files alone, with the certifier of the model that the summary
    names; see `app.runs.models`. `spell` writes the names of parameters in what was not checked.

    Returns what was checked and found. Raises TraceError if a file is missing or unreadable;
    a readable file with impossible content fails checks instead.
    """
    place = Path(folder)
    mend(place)
    try:
        summary = read_summary(place / "summary.json")
    except TraceError:  # its own certifier says in which words
        summary = {}
    changed = changed_files(place, RUN_FOLDER) if place.is_dir() else None
    try:
        found = model_in(summary).certified(place)
        more = [*_of_all(place), *_replayed(place, summary)]
    except TraceError as error:
        raise _since_written(error, changed) from None
    if changed is None:
        found = replace(found, not_checked=(WITHOUT_MANIFEST, *found.not_checked))
    else:
        more += _complete(place, summary)
        found = replace(found, checks=(_as_written(changed), *found.checks))
    told = [_there(place, summary, one) for one in (*found.unchecked, *OF_ALL)]
    there = tuple(one for one in told if one.fields)
    found = replace(found, checks=(*found.checks, *more), unchecked=there)
    return all_named(found, spell)


def _there(folder: Path, summary: Mapping[str, Any], one: Unchecked) -> Unchecked:
    """Return what was not checked, with those parameters only that the run has."""
    if not (folder / one.file).exists():
        return one._replace(fields=())
    given = summary["parameters"]
    names = [
        name
        for name in one.fields
        if not name.startswith(PARAMETERS) or name.removeprefix(PARAMETERS) in given
    ]
    return one._replace(fields=tuple(names))


def _since_written(error: TraceError, changed: Mapping[str, str] | None) -> TraceError:
    """Return the error, with what the manifest says of the file."""
    told = (changed or {}).get(Path(error.source).name)
    if told is None:
        return error
    field = {} if error.field is None else {"field": error.field}
    message = error.message.removeprefix(f"{error.field}: ") if error.field else error.message
    return TraceError(error.source, f"{message}; the file {told}", line=error.line, **field)


def _as_written(changed: Mapping[str, str]) -> Check:
    finding = Finding("files as they were written")
    finding.all([f"{name} {how}" for name, how in changed.items()])
    return finding.check(f"every file matches its checksum in {MANIFEST}")


def _of_all(folder: Path) -> list[Check]:
    """Check what every model writes: `skipped.csv`, and what stands twice in `summary.json`."""
    summary, found = Summary.of(folder), []
    if (folder / "skipped.csv").exists() or "skipped" in summary.held:
        finding = Finding("what was left out")
        said = summary.value("skipped", (dict,), "counts by kind")
        counted = Counter(_kinds(folder / "skipped.csv"))
        finding.all(
            [
                f"{kind}: {said.get(kind, 0)} in summary.json, {counted[kind]} in skipped.csv"
                for kind in sorted({*said, *counted})
                if said.get(kind, 0) != counted[kind]
            ]
        )
        found.append(finding.check(f"{counted.total()} rows, as counted in summary.json"))
    model, finding = model_in(summary.held), Finding("what the summary says twice")
    parameters = summary.value("parameters", (dict,), "parameters")
    finding.all(
        [
            f"{name} is {summary.held.get(name)}, but {parameters[name]} in the parameters"
            for name in ("seed", model.decides)
            if name in parameters and (name in summary.held or name == model.decides)
            and summary.held.get(name) != parameters[name]
        ]
    )  # fmt: skip
    return [*found, finding.check(f"seed and {model.decides} agree with the parameters")]


def _kinds(path: Path) -> list[str]:
    """Return the kinds of what was left out, row by row."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            if not {"kind", "action", "name"} <= set(rows.fieldnames or ()):
                raise TraceError(path, "has no columns; expected a header with kind,action,name")
            return [row["kind"] for row in rows]
    except FileNotFoundError:
        raise TraceError(path, "is not there") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read: {error.strerror or error}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise TraceError(path, f"not a comma-separated table ({error})") from None


def _complete(folder: Path, summary: Mapping[str, Any]) -> list[Check]:
    """Check that the parameters are all that its model has, none more, and each can be; and that
    all files are there that each of its runs writes."""
    model, finding = model_in(summary), Finding("parameters of the model")
    given = summary["parameters"]
    try:
        whole = model.checked(given).model_dump()
    except ParameterError as error:
        finding.all([str(error)])
        whole = dict(given)
    finding.all([f"{name} is missing" for name in whole if name not in given])
    finding.all([f"{name} is not a parameter here" for name in given if name not in whole])
    finding.all(
        [f"{n} is {given[n]} instead of {v}" for n, v in whole.items() if given.get(n, v) != v]
    )
    needed = ("seed", "sources", "skipped", "versions")
    finding.all([f"summary.json has no {name}" for name in needed if name not in summary])
    finding.all([f"{name} is missing" for name in model.always if not (folder / name).exists()])
    return [finding.check(f"{len(whole)} parameters")]


def _replayed(folder: Path, summary: Mapping[str, Any]) -> list[Check]:
    """Check that the engine decides again as it did, where events were logged and all that decided
    is in the folder."""
    if not any((folder / name).exists() for name in (EVENT_LOG, DECISION_LOG)):
        return []
    decides = summary["parameters"].get(model_in(summary).decides)
    if summary.get("own_rules") or is_own(str(decides)):
        return []
    finding = Finding("decisions, by replay")
    try:
        again = replays.decided_again(folder)
    except InputError as error:
        finding.all([str(error)])
        return [finding.check("")]
    if not again.same:
        finding.all(
            [
                f"{again.verdict}: {again.logged!r} was logged, but the replay gives "
                f"{again.replayed!r}"
            ]
        )
    return [finding.check(again.verdict)]
