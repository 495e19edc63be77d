"""Hosts and jobs of the study: drawn as said, and the same for the same seed."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.errors import TraceError
from forestall.core.model.failures import Failures
from forestall.logs.generate.guests import LENGTHS
from forestall.prediction.models.semi_markov.learning import MONDAY
from studies.cycle_sharing import inputs
from studies.kit.planetlab import weekday_slices

DAY = 86_400


def test_jobs_make_up_the_load_between_six_and_ten() -> None:
    jobs = inputs.jobs_of(inputs.OWN_SET, 3, 20, 0.25)
    days = inputs.SHAPES[inputs.OWN_SET].job_days
    assert days == 62
    assert jobs.runtime.sum() / (20 * days * DAY) == pytest.approx(0.25, rel=0.001)
    hour = jobs.submit % DAY / 3600
    assert 6 <= hour.min() < 6.1
    assert 21.9 < hour.max() < 22
    lengths, counts = np.unique(jobs.runtime, return_counts=True)
    assert tuple(lengths) == LENGTHS
    assert counts.max() - counts.min() <= 1
    assert len(inputs.jobs_of(inputs.OWN_SET, 3, 1, 1e-9)) == len(LENGTHS)
    late = inputs.jobs_of(inputs.PLANETLAB_SET, 3, 20, 0.25)
    assert late.submit.max() % DAY < 17 * 3600


def test_generated_hosts_are_on_one_grid() -> None:
    hosts = inputs.hosts_of(inputs.OWN_SET, 1, 3, days=14)
    assert hosts.load.shape == (3, 14 * 1440)
    again = inputs.hosts_of(inputs.OWN_SET, 1, 2, days=14)
    assert np.array_equal(hosts.load[:2], again.load, equal_nan=True)  # any number of hosts
    other = inputs.hosts_of(inputs.ALIKE_SET, 1, 2, days=14)
    assert not np.array_equal(hosts.load[:2], other.load, equal_nan=True)
    later = inputs.generated(inputs.OWN_SET, 1, 2, 7, 7)
    whole = inputs.generated(inputs.OWN_SET, 1, 2, 0, 14)
    assert np.array_equal(later.load, whole.load[:, 7 * 1440 :], equal_nan=True)
    assert later.free_memory is not None
    assert np.array_equal(np.isnan(later.load), np.isnan(later.free_memory))


def log_of(rows: list[tuple[int, int, int]], start: list[int], end: list[int]) -> Failures:
    """Failures of (time, node, downtime)."""
    time, node, down = np.array(sorted(rows), dtype=np.int64).T
    many = len(start)
    return Failures(
        time, node, down, np.full(len(rows), np.nan), nodes=many, origin=MONDAY + 3600,
        names=tuple(f"n{k}" for k in range(many)), service_start=np.array(start),
        service_end=np.array(end), service_new=np.zeros(many, dtype=np.bool_),
    )  # fmt: skip


def test_nodes_are_away_while_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log begins on a Monday at 1:00; the first window of a week begins 167 h later."""
    begin = 7 * DAY - 3600
    rows = [(begin - 30, 0, 90), (begin + 600, 1, 1), (begin + 7 * DAY - 61, 0, 10**6),
            (begin + 100, 2, 50)]  # fmt: skip
    log = log_of(rows, [0, begin, begin + 1], [begin + 7 * DAY] * 3)
    monkeypatch.setattr(inputs, "failure_log", lambda data, name: log)
    hosts = inputs.up_down(Path("nowhere"), inputs.GRID_SET, 5, 1, 7)
    assert hosts.names == ("n0", "n1")  # the third was not in service throughout
    assert hosts.origin == MONDAY + 7 * DAY
    away = [np.flatnonzero(np.isnan(row)).tolist() for row in hosts.load]
    assert away == [[0, 7 * 1440 - 2, 7 * 1440 - 1], [10]]
    assert set(hosts.load[~np.isnan(hosts.load)].tolist()) == {0.0}


def test_a_log_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="fta-lanl"):
        inputs.hosts_of(inputs.LANL_SET, 1, 3, tmp_path)
    with pytest.raises(TraceError, match="planetlab"):
        weekday_slices(tmp_path / "none")
    assert inputs.real_sets(tmp_path) == ()
    assert inputs.real_sets(None) == ()
    (tmp_path / inputs.LANL).mkdir()
    assert inputs.real_sets(tmp_path) == (inputs.LANL_SET,)


def slice_day(folder: Path, date: str, rows: dict[str, int]) -> None:
    head = "vm," + ",".join(map(str, range(288)))
    lines = [head, *(f"{name},{','.join([str(load)] * 288)}" for name, load in rows.items())]
    with gzip.open(folder / f"planetlab_{date}.csv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def test_the_weekdays_of_a_slice_are_joined(tmp_path: Path) -> None:
    folder = tmp_path / inputs.PLANETLAB
    folder.mkdir()
    dates = ("20110303", "20110306", "20110309", "20110322", "20110325")  # the second: a Sunday
    for k, date in enumerate(dates):
        slice_day(folder, date, {"often": 10 * (k + 1), **({"twice": 50} if k < 3 else {})})
    hosts = inputs.hosts_of(inputs.PLANETLAB_SET, 1, 9, tmp_path)
    assert hosts.names == ("often",)
    assert hosts.period == 300
    assert hosts.load[0, ::288].tolist() == pytest.approx([0.1, 0.3, 0.4, 0.5])
    weekday_slices.cache_clear()
    for date in dates[2:]:
        (folder / f"planetlab_{date}.csv.gz").unlink()
    with pytest.raises(TraceError, match="4 weekdays"):
        weekday_slices(tmp_path)


def test_googles_machines_are_read(tmp_path: Path) -> None:
    folder = tmp_path / inputs.GOOGLE
    folder.mkdir()
    with tarfile.open(folder / "GCD_VMs.tar.gz", "w:gz") as archive:
        for name, text in (("b", "50 25\n75 10\n"), ("a", "5 95\n10 20\n")):
            member = tarfile.TarInfo(f"GCD_VMs/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    hosts = inputs.google(tmp_path)
    assert hosts.load.tolist() == [[0.05, 0.1], [0.5, 0.75]]
    assert hosts.free_memory is not None
    assert hosts.free_memory[0].tolist() == pytest.approx([0.05, 0.8])
    (folder / "GCD_VMs.tar.gz").write_bytes(b"none")
    with pytest.raises(TraceError, match="cannot be read"):
        inputs.google(tmp_path)
