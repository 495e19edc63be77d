"""`forestall job`: one job of a site's records, as text, page and JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.commands.calls import call
from golden.play import RECORDED

Capsys = pytest.CaptureFixture[str]
FILES = tuple(RECORDED / "22.05" / name for name in ("sacct.jobs.txt", "sacctmgr.event.txt"))
ZONE = ("--zone", "UTC")


def first_job() -> str:
    """Return the number of a job of the records."""
    names, row = FILES[0].read_text().splitlines()[:2]
    return dict(zip(names.split("|"), row.split("|"), strict=True))["JobIDRaw"]


def test_text_page_and_json(tmp_path: Path, capsys: Capsys) -> None:
    job = first_job()
    said = call(capsys, "job", job, *FILES, *ZONE)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Job {job} (")
    told = json.loads(call(capsys, "job", job, *FILES, *ZONE, "--json").out)
    assert told["title"] == f"Job {job}"
    page = tmp_path / "job.html"
    done = call(capsys, "job", job, *FILES, *ZONE, "--out", page)
    assert done.out == f"{said.out}Written: {page}\n"
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert call(capsys, "job", job, *FILES, *ZONE, "--out", tmp_path, "-q").code == 2  # not empty
    quiet = call(capsys, "job", job, *FILES, *ZONE, "--out", tmp_path, "-q", "--force")
    assert quiet == (0, "", "")
    assert (tmp_path / "report.html").read_bytes() == page.read_bytes()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("987654321", "JOB: '987654321' is not allowed; expected a job of these records"),
        ("123_4", "JOB: '123_4' is not allowed; expected a job of these records, which hold"),
        ("123_x", "JOB: '123_x' is not allowed; expected a job id, such as"),
        ("-1", "No such option"),
        ("\u0663", "a job id, such as"),
        ("9" * 40, "a job id, such as"),
    ],
)
def test_what_is_no_job(number: str, expected: str, capsys: Capsys) -> None:
    done = call(capsys, "job", number, *FILES)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert expected in done.err


def test_a_dirty_log(tmp_path: Path, capsys: Capsys) -> None:
    job, dirty = first_job(), tmp_path / "jobs.txt"
    rows = FILES[0].read_text().splitlines()
    dirty.write_text("\n".join([*rows, "x|y", rows[-1][: len(rows[-1]) // 2]]) + "\n")
    done = call(capsys, "job", job, dirty, *ZONE)
    assert done.code == 0, done.err
    strict = call(capsys, "job", job, dirty, *ZONE, "--strict")
    assert (strict.code, strict.out, strict.err.count("\n")) == (2, "", 1)
    assert str(dirty) in strict.err


def test_without_records_it_says_how_to_get_them(capsys: Capsys) -> None:
    done = call(capsys, "job", "12")
    assert done.code == 2
    assert "forestall job 12 --slurm" in done.out
