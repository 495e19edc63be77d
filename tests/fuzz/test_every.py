"""Whatever is read has a format that is fuzzed: a reader without an example fails here."""

from __future__ import annotations

import ast
from pathlib import Path

from forestall.logs.failures.formats import FORMATS as FAILURE_FORMATS
from forestall.logs.failures.raw import Head
from forestall.logs.metrics.read import FORMATS as METRIC_FORMATS
from forestall.logs.metrics.read import guess
from forestall.logs.ras.read import FORMATS as EVENT_FORMATS
from forestall.logs.ras.read import ras_format
from forestall.prediction.models.registry import LEARNERS
from forestall.runs.models import MODELS
from fuzz.every import FORMATS
from fuzz.formats import Format
from fuzz.ours import PREDICTORS, RUNS

SOURCE = Path(__file__).parents[2] / "src" / "forestall"
READERS = {
    "read_alarms": "alarms", "read_arms": "arms", "read_failures": "failures",
    "is_failure_log": "failures", "read_files": "scontrol", "read_folder": "site",
    "read_gaps": "gaps", "read_host_traces": "hosts", "read_job_records": "records",
    "read_jobs": "jobs", "read_machine_file": "machine-nodes",
    "read_maintenance": "maintenance", "read_metrics": "metrics",
    "is_metrics": "metrics", "read_ras": "events-own", "ras_format": "events-own",
    "read_sacct": "sacct", "read_scores": "scores", "read_speeds": "host-speeds",
    "read_summary": "site", "read_swf_file": "swf", "read_topology": "topology",
    "read_training": "training", "read_users": "users", "kind_of": "sacct",
}  # fmt: skip
"""Functions that read a file, and the format whose commands call them."""

ASKED = ("--as metrics", "--as events", "report --failures")


def examples(folder: Path) -> list[tuple[Format, Path]]:
    """Return the formats of logs of machines, each with the files that it makes itself."""
    found = []
    for name, one in FORMATS.items():
        if not any(asked in line for asked in ASKED for line in one.lines):
            continue
        place = folder / name
        place.mkdir()
        one.make(place)
        found += [(one, path) for files in one.files for path in sorted(place.glob(files))]
    return found


def test_every_form_of_a_log_is_fuzzed(tmp_path: Path) -> None:
    failures, events, metrics = set(), set(), set()
    for one, path in examples(tmp_path):
        if any("--as metrics" in line for line in one.lines):
            known = guess(path)
            metrics |= {known.name} if known else set()
        elif any("--as events" in line for line in one.lines):
            events.add(ras_format(path))
        if any("report --failures" in line for line in one.lines):
            lines = path.read_bytes().decode("utf-8", "replace").splitlines()[:60]
            failures |= {
                known.name for known in FAILURE_FORMATS if known.looks_like(Head(path, lines))
            }
    failures.add("hpc")  # it tells of none, and so is an event log only
    assert failures == {known.name for known in FAILURE_FORMATS}
    assert metrics == {known.name for known in METRIC_FORMATS}
    assert events >= set(EVENT_FORMATS)


def test_every_predictor_and_model_is_fuzzed() -> None:
    assert set(PREDICTORS) == set(LEARNERS)
    assert set(MODELS) <= {*RUNS, "promise"}


def test_every_reader_is_fuzzed() -> None:
    found = {
        function.name
        for path in SOURCE.rglob("*.py")
        if "@reader" in (text := path.read_text(encoding="utf-8"))
        for function in ast.walk(ast.parse(text))
        if isinstance(function, ast.FunctionDef)
        and any(isinstance(one, ast.Name) and one.id == "reader" for one in function.decorator_list)
    }
    assert found == READERS.keys()
    assert set(READERS.values()) <= FORMATS.keys()
