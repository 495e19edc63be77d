"""An independent look at a finished run, whichever model made it."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forestall.core._lazy import lazily
from forestall.core.certify.finding import PARAMETERS, Certificate, Check, Finding, Unchecked
from forestall.core.certify.folder import Summary, read_summary
from forestall.core.files.folders import mend
from forestall.core.kit.folder import RUN_FOLDER
from forestall.core.kit.log import DECISION_LOG, EVENT_LOG
from forestall.core.kit.output import MANIFEST, changed_files
from forestall.core.model.errors import InputError, ParameterError, TraceError
from forestall.core.model.own import is_own
from forestall.core.model.spelling import all_named
from forestall.runs.models import model_in

with lazily():
    from forestall.runs import replay as replays

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
    names; see `runs.models`. `spell` writes the names of parameters in what was not checked.

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
        result = model_in(summary).certified(place)
        checks = [check for checks in OF_ANY_MODEL for check in checks(Summary.of(place))]
    except TraceError as error:
        raise _since_written(error, changed) from None
    not_checked = result.not_checked
    if changed is None:
        not_checked = (WITHOUT_MANIFEST, *not_checked)
        checks = [*result.checks, *checks]
    else:
        checks = [_as_written(changed), *result.checks, *checks, _complete(Summary.of(place))]
    parts = [_there(place, summary, part) for part in (*result.unchecked, *OF_ALL)]
    unchecked = tuple(part for part in parts if part.fields)
    certificate = replace(
        result, checks=tuple(checks), not_checked=not_checked, unchecked=unchecked
    )
    return all_named(certificate, spell)


def _there(folder: Path, summary: Mapping[str, Any], part: Unchecked) -> Unchecked:
    """Return what was not checked, with those parameters only that the run has."""
    if not (folder / part.file).exists():
        return part._replace(fields=())
    given = {f"{PARAMETERS}{name}" for name in summary["parameters"]}
    names = [name for name in part.fields if not name.startswith(PARAMETERS) or name in given]
    return part._replace(fields=tuple(names))


# ------------------------------------------------------------------------------- the manifest


def _since_written(error: TraceError, changed: Mapping[str, str] | None) -> TraceError:
    """Return the error, with what the manifest says of the file."""
    how = (changed or {}).get(Path(error.source).name)
    if how is None:
        return error
    field = {} if error.field is None else {"field": error.field}
    message = error.message.removeprefix(f"{error.field}: ") if error.field else error.message
    return TraceError(error.source, f"{message}; the file {how}", line=error.line, **field)


def _as_written(changed: Mapping[str, str]) -> Check:
    finding = Finding("files as they were written")
    finding.all([f"{name} {how}" for name, how in changed.items()])
    return finding.check(f"every file matches its checksum in {MANIFEST}")


def _complete(summary: Summary) -> Check:
    """Check that the parameters are all that its model has, none more, and each can be; and that
    all files are there that each of its runs writes. Older runs, without a manifest, have fewer."""
    model, finding = model_in(summary.held), Finding("parameters of the model")
    given = summary.held["parameters"]
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
    finding.all([f"summary.json has no {name}" for name in needed if name not in summary.held])
    folder = summary.path.parent
    finding.all([f"{name} is missing" for name in model.always if not (folder / name).exists()])
    return finding.check(f"{len(whole)} parameters")


# ------------------------------------------------------------------------- runs of any model


def _left_out(summary: Summary) -> list[Check]:
    """Check `skipped.csv` against the counts in the summary."""
    path = summary.path.parent / "skipped.csv"
    if not (path.exists() or "skipped" in summary.held):
        return []
    finding = Finding("what was left out")
    said = summary.value("skipped", (dict,), "counts by kind")
    counted = Counter(_kinds(path))
    finding.all(
        [
            f"{kind}: {said.get(kind, 0)} in summary.json, {counted[kind]} in skipped.csv"
            for kind in sorted({*said, *counted})
            if said.get(kind, 0) != counted[kind]
        ]
    )
    return [finding.check(f"{counted.total()} rows, as counted in summary.json")]


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


def _said_twice(summary: Summary) -> list[Check]:
    """Check what stands both in the parameters and beside them."""
    parameters, held = summary.value("parameters", (dict,), "parameters"), summary.held
    model, finding = model_in(held), Finding("what the summary says twice")
    finding.all(
        [
            f"{name} is {held.get(name)}, but {parameters[name]} in the parameters"
            for name in ("seed", model.decides)
            if name in parameters and (name in held or name == model.decides)
            and held.get(name) != parameters[name]
        ]
    )  # fmt: skip
    return [finding.check(f"seed and {model.decides} agree with the parameters")]


def _replayed(summary: Summary) -> list[Check]:
    """Check that the engine decides again as it did, where events were logged and all that decided
    is in the folder."""
    folder, held = summary.path.parent, summary.held
    if not any((folder / name).exists() for name in (EVENT_LOG, DECISION_LOG)):
        return []
    decides = held["parameters"].get(model_in(held).decides)
    if held.get("own_rules") or is_own(str(decides)):
        return []
    finding = Finding("decisions, by replay")
    try:
        again = replays.decided_again(folder)
    except InputError as error:
        finding.all([str(error)])
        return [finding.check("")]
    if not again.same:
        lines = f"{again.logged!r} was logged, but the replay gives {again.replayed!r}"
        finding.all([f"{again.verdict}: {lines}"])
    return [finding.check(again.verdict)]


OF_ANY_MODEL: tuple[Callable[[Summary], list[Check]], ...] = (_left_out, _said_twice, _replayed)
"""What is checked of each run beside what its model's certifier checks. A check against something
outside the folder, such as the inputs, is one more."""
