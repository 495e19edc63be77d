"""Data shows itself in a few lines, however much of it there is."""

from __future__ import annotations

from pathlib import Path

import pytest

import forestall as fs
from forestall.core.model.coded import Coded

T0 = 1_700_000_000
ACCOUNTS = "JobID|User|State|Submit|Start|End|NNodes|NodeList\n" + "".join(
    f"{k}|user{k % 7}|COMPLETED|{T0 + k}|{T0 + k + 100}|{T0 + k + 900}|1|n{k % 9}\n"
    for k in range(400)
)


def test_arrays_by_type_and_shape_and_long_values_by_their_length() -> None:
    jobs = fs.generate_jobs(16, 1, days=40, load=0.7)
    text = repr(jobs)
    assert text.startswith("Jobs(job=int64[")
    assert f"submit=int64[{len(jobs):,}]" in text
    assert "nodes=16" in text
    assert "source='Lublin-Feitelson model, all jobs, seed 1'" in text
    long = repr(Coded.of([f"word {k}" for k in range(5000)]))
    assert long == "Coded(code=int32[5,000], words=tuple of 5,000)"
    assert repr(Coded.of(["a", "b"])) == "Coded(code=int32[2], words=('a', 'b'))"


def test_nothing_public_fills_a_screen(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text(ACCOUNTS)
    site = fs.read_site(tmp_path / "jobs.txt")
    assert site.accounting is not None
    for one in (
        site, site.accounting, fs.read_job_records(tmp_path / "jobs.txt"),
        fs.generate_failures(64, 400, 1, rate_per_year=800), fs.generate_hosts(3, 2, 1),
        fs.generate_ras(64, 30, 1)[0],
    ):  # fmt: skip
        text = repr(one)
        assert text.startswith(f"{type(one).__name__}(")
        assert text.count("\n") < 12, text
        assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("given", [["jobs.txt", "events.txt"], 3, None])
def test_files_that_are_no_paths_are_refused(given: object) -> None:
    with pytest.raises(fs.errors.ParameterError, match="expected paths, one after the other"):
        fs.site_report(given)  # type: ignore[arg-type]
