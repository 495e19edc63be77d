"""Every key of a report's JSON and every name of its OpenMetrics stand in the reference."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from core.commands.calls import call
from forestall.site.report import RENAMED

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "reference" / "report").glob("*.md"))
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
RECORDED = ROOT / "tests" / "slurm" / "recorded" / "24.11"
SLURM = (
    "sacct.jobs.epoch.txt",
    "sacctmgr.event.epoch.txt",
    "scontrol.node.epoch.txt",
    "squeue.json",
)
JOBS = 1300
"""Enough for the warm-up of promises."""
OWN_NAMES = {"options", "versions", "labels"}
"""Keys of JSON whose own keys are options, packages, or the labels of a figure."""


class Told(NamedTuple):
    """What a report gave: its JSON, and each metric's name with its labels."""

    json: dict[str, Any]
    metrics: dict[str, set[str]]


def job_log(path: Path) -> Path:
    """Write a small SWF log with waits, users and two queues."""
    rng = random.Random(5)
    lines = ["; MaxNodes: 64", "; UnixStartTime: 1700000000"]
    time = 0
    for job in range(1, JOBS + 1):
        time += rng.randrange(4000)
        wait, run = int(rng.expovariate(1 / 900)), rng.choice([60, 600, 7200, 90_000])
        nodes, status = rng.choice([1, 2, 4, 8, 32]), rng.choice([1, 1, 1, 0, 5])
        user, queue = job % 7 + 1, job % 2 + 1
        lines.append(
            f"{job} {time} {wait} {run} {nodes} -1 -1 {nodes} {2 * run} -1 {status} "
            f"{user} 1 1 {queue} {queue} -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def failure_log(path: Path) -> Path:
    """Write failures of 64 nodes, of which node 7 is a lemon."""
    rng = random.Random(6)
    day = 86_400
    rows = [(rng.randrange(30 * day), rng.randrange(64)) for _ in range(150)]
    rows += [(rng.randrange(30 * day), 7) for _ in range(60)]
    text = "".join(f"{time},{node},3600,disk\n" for time, node in sorted(set(rows)))
    path.write_text(f"# span: {30 * day}\n# nodes: 64\ntime,node,downtime,kind\n{text}")
    return path


def made(capsys: pytest.CaptureFixture[str], *arguments: object) -> Told:
    told = call(capsys, *arguments, "--json", "--quiet")
    assert (told.code, told.err) == (0, "")
    printed = call(capsys, *arguments, "--openmetrics", "-", "--quiet")
    assert (printed.code, printed.err) == (0, "")
    metrics: dict[str, set[str]] = {}
    for line in printed.out.splitlines():
        if not line.startswith("#"):
            name, _, labels = line.rpartition(" ")[0].partition("{")
            metrics.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return Told(json.loads(told.out), metrics)


@pytest.fixture(params=["recorded", "generated", "lemons"])
def told(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Told:
    if request.param == "recorded":
        files = [RECORDED / name for name in SLURM]
        return made(capsys, "report", *files, "--cost", 0.5, "--partition", "gpu")
    failures = failure_log(tmp_path / "failures.csv")
    if request.param == "lemons":
        return made(capsys, "lemons", failures)
    jobs = job_log(tmp_path / "jobs.swf")
    return made(capsys, "report", jobs, "--failures", failures, "--cost", 0.5, "--min-nodes", 2)


def words() -> set[str]:
    """What stands in backticks on the pages."""
    return set(re.findall(r"`([^`]+)`", TEXT))


def keys_of(value: Any) -> Iterator[str]:
    """Keys of a document, at any depth."""
    if isinstance(value, list):
        for one in value:
            yield from keys_of(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield key
            if key not in OWN_NAMES:
                yield from keys_of(one)


def labels_of(value: Any) -> Iterator[str]:
    """The labels of all figures and all advice of a document."""
    if isinstance(value, list):
        for one in value:
            yield from labels_of(one)
    elif isinstance(value, dict):
        yield from value.get("labels", {})
        for one in value.values():
            yield from labels_of(one)


def parts(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The sections; `forestall lemons` is one itself."""
    return list(document["sections"].values()) if "sections" in document else [document]


@pytest.mark.slow
def test_every_key_and_every_metric_stand_in_the_reference(told: Told) -> None:
    page = words()
    named = [one for one in keys_of(told.json) if not re.fullmatch(r"best_\w+", one)]
    figures = [
        one["key"] for part in parts(told.json) for one in (*part["figures"], *part["series"])
    ]
    advice = [one["key"] for one in told.json["advice"]]
    labels = {*labels_of(told.json), *(one for some in told.metrics.values() for one in some)}
    assert len(figures) > 5
    absent = {*named, *figures, *advice, *labels} - page
    assert not absent, sorted(absent)
    assert len(told.metrics) > 5
    plain = {re.sub(r"_(low|high)(?=_|$)", "", one) for one in told.metrics}
    there = {f"forestall_{one}" for one in page} | page
    assert plain <= there, sorted(plain - there)


def rows(text: str) -> list[list[set[str]]]:
    """The cells of tables of figures, each as what stands in backticks."""
    found = []
    for table in re.findall(r"^\| key \| name in OpenMetrics .*\n\|.*\n((?:\|.*\n)+)", text, re.M):
        for line in table.splitlines():
            found.append([set(re.findall(r"`([^`]+)`", cell)) for cell in line.split(" | ")])
    return found


def test_names_in_the_reference_follow_from_keys() -> None:
    """A name is its key, or what the key is renamed to, with a unit; no other stands there."""
    table = rows(TEXT)
    assert len(table) > 40
    told = set()
    for keys, names, *_ in table:
        told |= keys
        begin = {RENAMED.get(key, key) for key in keys}
        for name in names:
            assert any(name == one or name.startswith(f"{one}_") for one in begin), name
        for one in begin:
            assert any(name == one or name.startswith(f"{one}_") for name in names), one
    assert set(RENAMED) <= told


@pytest.mark.slow
def test_figures_in_the_reference_are_made_somewhere() -> None:
    """Keys of figures stand in the code, whole or up to what they are grouped by."""
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src" / "forestall" / "site").rglob("*.py")
    )
    for keys, *_ in rows(TEXT):
        for key in keys:
            by = re.sub(r"_by_\w+$", "_by_{by}", key)
            assert f'"{key}"' in code or f'"{by}"' in code, key
