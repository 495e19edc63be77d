"""Whatever is falsified in the folder of a run is found, or in the certifier's list of what it
cannot check; and what the manifest tells. `make lies` tells all of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest

from forestall.core.kit.output import MANIFEST, write_manifest
from forestall.core.model.errors import TraceError
from forestall.runs.certify import certify
from forestall.runs.replay import replay
from runs.falsified import Lie, fates, lies, make, prepare, tell

SAMPLED = ("promise-near", "promise-quiet", "virtual", "cycle-condor")
EACH = 4
"""Lies told of each of these runs."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("falsified")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        prepare(place)
        yield place


@pytest.fixture(scope="module")
def made(root: Path) -> object:
    return cache(lambda name: make(name, root))


@pytest.mark.parametrize("name", SAMPLED)
def test_a_few_lies_are_found_or_listed(name: str, made: object) -> None:
    folder = made(name)  # type: ignore[operator]
    every = list(lies(folder))
    assert not fates(folder, Random(name).sample(every, EACH))["escaped"]


@pytest.mark.parametrize(
    ("name", "file", "field", "how"),
    [
        ("virtual", "summary.json", "strategy", "gone"),
        ("virtual-quiet", "migrations.csv", "*", "exchanged"),
        ("cycle-condor", "decisions.csv", "host", "emptied"),
        ("cycle-condor", "summary.json", "events", "by a little"),
    ],
)
def test_lies_that_once_passed_or_broke_it(
    name: str, file: str, field: str, how: str, made: object
) -> None:
    folder = made(name)  # type: ignore[operator]
    some = [lie for lie in lies(folder) if (lie.file, lie.field) == (file, field)]
    told = [lie for lie in some if how in lie.how]
    assert len(fates(folder, told)["found"]) == len(told) == 1


@pytest.mark.parametrize(
    ("name", "event", "how"),
    [
        ("promise-near", "checkpoint_finished", "later"),
        ("virtual-checkpoint", "migration_ended", "later"),
        ("virtual-checkpoint", "migration_ended", "gone"),
        ("virtual", "foreseen", "later"),
        ("virtual", "foreseen", "twice"),
    ],
)
def test_events_that_once_could_be_changed(name: str, event: str, how: str, made: object) -> None:
    folder = made(name)  # type: ignore[operator]
    rows = (folder / "events.csv").read_text().splitlines()
    row = next(k for k in reversed(range(len(rows))) if rows[k].split(",")[1] == event)
    time, rest = rows[row].split(",", 1)
    rows[row : row + 1] = {"later": [f"{int(time) + 1},{rest}"], "gone": []}.get(
        how, [rows[row]] * 2
    )
    lie = Lie("events.csv", "time", how, "\n".join([*rows, ""]).encode())
    assert fates(folder, [lie])["found"]


NUMBERS = ("promises_kept", "brier", "jobs_count", "makespan", "wait.mean", "response.p95")


def test_the_summary_that_once_passed_fails(made: object) -> None:
    folder = made("promise-quiet")  # type: ignore[operator]
    told = [lie for lie in lies(folder) if lie.file == "summary.json" and lie.field in NUMBERS]
    by_key = {lie.field: lie for lie in told}
    assert set(by_key) == set(NUMBERS)
    for lie in by_key.values():
        certificate = tell(folder, lie, renew=True)
        assert certificate is not None
        assert [one.name for one in certificate.checks if not one.passed], lie


def test_a_deadline_that_was_moved_is_found_by_both(made: object, tmp_path: Path) -> None:
    folder = shutil.copytree(made("promise-near"), tmp_path / "run")  # type: ignore[operator]
    rows = [line.split(",") for line in (folder / "jobs.csv").read_text().splitlines()]
    rows[3][rows[0].index("deadline")] = str(int(rows[3][rows[0].index("deadline")]) + 100_000)
    (folder / "jobs.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    write_manifest(folder)
    failed = [one.name for one in certify(folder).checks if not one.passed]
    assert failed == ["decisions"]
    again = replay(folder)
    assert again.same
    assert not again.passed
    assert "deadline" in again.unlike[0]


# ---------------------------------------------------------------------------------- the manifest


def test_what_changed_since_is_told_and_the_checks_still_run(made: object, tmp_path: Path) -> None:
    folder = shutil.copytree(made("promise-quiet"), tmp_path / "run")  # type: ignore[operator]
    page = folder / "report.html"
    page.write_bytes(page.read_bytes() + b" ")
    (folder / "notes.txt").write_text("mine, and of no matter")
    certificate = certify(folder)
    wrong = [one for one in certificate.checks if not one.passed]
    assert [one.name for one in wrong] == ["files as they were written"]
    assert "report.html changed since it was written" in wrong[0].detail
    assert len(certificate.checks) > 15
    page.unlink()
    assert "report.html was written, but is missing now" in str(certify(folder))
    (folder / "users.csv").write_text("job\n")
    with pytest.raises(TraceError, match=r"users\.csv: has no .*; the file was not there"):
        certify(folder)


def test_a_folder_without_a_manifest_is_still_certified(made: object, tmp_path: Path) -> None:
    folder = shutil.copytree(made("promise-quiet"), tmp_path / "run")  # type: ignore[operator]
    (folder / MANIFEST).unlink()
    certificate = certify(folder)
    assert certificate.passed, str(certificate)
    assert "manifest.json is missing" in certificate.not_checked[0]


@pytest.mark.parametrize("spoilt", ["", "[]", '{"files": 7}', '{"files": {}, "sha256": "0"}'])
def test_a_damaged_manifest_is_told(made: object, tmp_path: Path, spoilt: str) -> None:
    folder = shutil.copytree(made("promise-quiet"), tmp_path / "run")  # type: ignore[operator]
    (folder / MANIFEST).write_text(spoilt)
    assert MANIFEST in next(one.detail for one in certify(folder).checks if not one.passed)


def test_the_manifest_is_the_same_for_the_same_run(root: Path, made: object) -> None:
    folder = made("promise-quiet")  # type: ignore[operator]
    before = json.loads((folder / MANIFEST).read_text())
    assert set(before["files"]) == {path.name for path in folder.iterdir()} - {MANIFEST}
    assert json.loads((make("promise-quiet", root) / MANIFEST).read_text()) == before
