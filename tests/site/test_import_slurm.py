"""Slurm's records as files: whole, anonymous, cut, and taken by other commands."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.job_records import NEVER
from forestall.logs.jobs.job_records import read_job_records
from forestall.logs.read import read_failures, read_jobs
from forestall.site.commands.import_ import uses_of
from forestall.site.import_slurm import import_slurm, read_folder, words_of
from forestall.slurm.sources.sources import GivenRecords

RECORDED = Path(__file__).parents[1] / "slurm" / "recorded"
NAMES = ("sacct.jobs.epoch.txt", "sacctmgr.event.epoch.txt", "scontrol.node.epoch.txt",
         "scontrol.partition.txt")  # fmt: skip
ZERO = 1795292094
ALL = {"runs.parquet", "jobs.parquet", "failures.parquet", "events.parquet", "nodes.parquet",
       "import.json"}  # fmt: skip


def given(*more: Path, version: str = "22.05", **options: Any) -> GivenRecords:
    files = (*(RECORDED / version / name for name in NAMES), *more)
    return GivenRecords(paths=files, **options)


@pytest.mark.parametrize("version", ["20.11", "22.05", "24.11", "26.05"])
def test_a_folder_holds_what_was_read(tmp_path: Path, version: str) -> None:
    done = import_slurm(given(version=version), tmp_path / "site")
    assert {path.name for path in done.folder.iterdir()} == ALL
    found = read_folder(done.folder)
    assert found.cleanings().counts() == done.site.cleanings().counts()
    told = json.loads((done.folder / "import.json").read_text())
    assert told["counts"] == done.told["counts"]
    assert told["counts"]["nodes"] == 6
    assert told["files"]["runs.parquet"] == told["counts"]["runs"] == len(found.accounting or ())
    assert not told["anonymized"]


def test_failures_are_those_that_happened(tmp_path: Path) -> None:
    done = import_slurm(given(), tmp_path / "site")
    failures = read_failures(done.folder / "failures.parquet")
    assert failures.names == ("n1", "n2", "n3", "n4", "n5", "n6")
    rows = zip(
        failures.time.tolist(), failures.node.tolist(), failures.downtime.tolist(),
        failures.kind or (), strict=True,
    )  # fmt: skip
    assert list(rows) == [
        (16, 2, 0, "not_responding"),
        (66, 2, 3, "memory"),
        (66, 5, -1, "not_responding"),
        (90, 0, 4, "cooling"),
        (95, 3, -1, "filesystem"),
    ]
    assert (failures.origin, failures.repairs) == (ZERO, True)
    assert failures.span == 1795292201 - ZERO
    assert words_of(done)[2] == ("outages of nodes", "7 (5 fault, 2 administrative, 0 unclear)")


def test_other_readers_take_the_files(tmp_path: Path) -> None:
    folder = import_slurm(given(), tmp_path / "site").folder
    jobs, records = read_jobs(folder / "jobs.parquet"), read_job_records(folder / "runs.parquet")
    assert len(jobs) == 50  # ten of them wait as one array
    assert len(records) == 55
    assert int(jobs.submit.min()) == 0
    requeued = jobs.job.tolist().index(22)  # lost a node after 12 s, then ran 30 s
    assert (jobs.size[requeued], jobs.runtime[requeued]) == (2, 30)
    assert records.node_names == ("n1", "n2", "n3", "n4", "n5", "n6")
    assert records.counts()["NODE_FAIL"] == 4


def test_same_records_same_bytes(tmp_path: Path) -> None:
    one = import_slurm(given(), tmp_path / "a").folder
    other = import_slurm(given(), tmp_path / "b").folder
    for path in one.iterdir():
        assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def bytes_of(folder: Path, scratch: Path) -> bytes:
    """Return all bytes of a folder, with its tables unpacked."""
    parts = []
    for path in sorted(folder.iterdir()):
        parts.append(path.read_bytes())
        if path.suffix == ".parquet":
            bare = scratch / "bare.parquet"
            pl.read_parquet(path).write_parquet(bare, compression="uncompressed")
            parts.append(bare.read_bytes())
            parts.append(repr(pl.read_parquet_metadata(path)).encode())
            table = pl.read_parquet(path)
            parts += [str(table[name].to_list()).encode() for name in table.columns]
    return b"\n".join(parts)


HEAD = "JobID|User|Account|Partition|QOS|State|Submit|Start|End|NNodes|NodeList|Reason|JobName"


def secret_site(folder: Path) -> GivenRecords:
    """Write records whose names are unlike any other text."""
    rows = [HEAD]
    for k in range(40):
        rows.append(
            f"{k}|zausel{k % 3}|quarxprojekt|wumpelpart|zackqos|CANCELLED by 77123|{ZERO + k}|"
            f"{ZERO + k + 1}|{ZERO + k + 9}|2|knulch[{k:02d}-{k + 1:02d}]|None|geheimlauf{k}"
        )
    jobs, events, nodes = (folder / name for name in ("jobs.txt", "events.txt", "nodes.txt"))
    jobs.write_text("\n".join(rows) + "\n")
    events.write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|User|Reason\n"
        f"trumpfcluster|knulch01|{ZERO}|{ZERO + 9}|DOWN|zausel1(77123)|zausel1: fan, RT #918273\n"
        f"fremdcluster|knulch02|{ZERO}|{ZERO + 9}|DOWN||schnurps\n"
        f"trumpfcluster|knulch01|{ZERO + 5}|{ZERO + 3}|DOWN|zausel1(77123)|schnurps\n"
        f"trumpfcluster|knulch03|{ZERO + 20}|Unknown|DRAIN|root(0)|schnurps on knulch03\n"
    )
    nodes.write_text(
        "NodeName=knulch[00-41] CPUTot=4 RealMemory=1000 State=IDLE Partitions=wumpelpart "
        "ActiveFeatures=fimmelfeature Reason=zausel2 knows [zausel2@1700000000]\n"
    )
    return GivenRecords(paths=(jobs, events, nodes), cluster="trumpfcluster")


SECRETS = ("zausel", "quarxprojekt", "wumpelpart", "zackqos", "77123", "knulch", "geheimlauf",
           "918273", "trumpfcluster", "fremdcluster", "schnurps", "fimmelfeature")  # fmt: skip


def test_nothing_of_the_originals_is_in_any_file(tmp_path: Path) -> None:
    asked = secret_site(tmp_path)
    plain = import_slurm(asked, tmp_path / "plain").folder
    written = bytes_of(plain, tmp_path)
    for word in SECRETS[:-4]:
        assert word.encode() in written, word  # the search finds what is there
    done = import_slurm(asked, tmp_path / "hidden", anonymize=True)
    written = bytes_of(done.folder, tmp_path)
    for word in (*SECRETS, str(tmp_path)):
        assert word.encode() not in written, word
    assert done.key is not None
    assert done.key.parent == tmp_path
    assert stat.S_IMODE(done.key.stat().st_mode) == 0o600


def test_the_same_key_gives_the_same_pseudonyms(tmp_path: Path) -> None:
    asked = secret_site(tmp_path)
    first = import_slurm(asked, tmp_path / "a", anonymize=True)
    again = import_slurm(asked, tmp_path / "a", anonymize=True)
    assert again.told == first.told
    assert first.key is not None
    other = import_slurm(asked, tmp_path / "b", anonymize=True, key_file=first.key)
    fresh = import_slurm(asked, tmp_path / "c", anonymize=True)
    names = [pl.read_parquet(d.folder / "runs.parquet")["user"] for d in (first, other, fresh)]
    assert names[0].to_list() == names[1].to_list() != names[2].to_list()
    plain = import_slurm(asked, tmp_path / "d").site
    assert plain.accounting is not None
    assert first.site.accounting is not None
    np.testing.assert_array_equal(plain.accounting.end, first.site.accounting.end)
    np.testing.assert_array_equal(plain.accounting.user.code, first.site.accounting.user.code)


def test_partitions_can_keep_their_names(tmp_path: Path) -> None:
    asked = secret_site(tmp_path)
    done = import_slurm(asked, tmp_path / "site", anonymize=True, keep_partitions=True)
    assert done.site.accounting is not None
    assert done.site.accounting.partition.words == ("wumpelpart",)


def test_keys_that_cannot_be(tmp_path: Path) -> None:
    asked = secret_site(tmp_path)
    inside = tmp_path / "site" / "key"
    with pytest.raises(ParameterError, match="outside the folder"):
        import_slurm(asked, tmp_path / "site", anonymize=True, key_file=inside)
    long = tmp_path / "long"
    long.write_text("x" * 100)
    with pytest.raises(TraceError, match="key of 100 bytes"):
        import_slurm(asked, tmp_path / "site", anonymize=True, key_file=long)
    with pytest.raises(TraceError, match="cannot be the key's file"):
        import_slurm(asked, tmp_path / "s", anonymize=True, key_file=tmp_path / "no" / "key")
    with pytest.raises(ParameterError, match="anonymize"):
        import_slurm(asked, tmp_path / "site", key_file=long)
    assert not (tmp_path / "site").exists()


def test_a_window_cuts(tmp_path: Path) -> None:
    asked = given(since="2026-11-21T20:15:54", until="2026-11-21T20:16:30")
    done = import_slurm(asked, tmp_path / "site")
    begin = ZERO + 60
    assert (done.told["begin"], done.told["until"]) == (begin, begin + 36)
    runs, events = done.site.accounting, done.site.events
    assert runs is not None
    assert events is not None
    assert np.all((runs.end > begin) | (runs.submit >= begin))
    assert np.all((events.end == NEVER) | (events.end > begin))
    assert done.told["counts"]["jobs_before_time_zero"] > 0
    failures = read_failures(done.folder / "failures.parquet")
    assert (failures.origin, failures.span) == (begin, 36)
    assert failures.time.tolist() == [6, 6, 30, 35]


def test_jobs_alone_and_outages_alone(tmp_path: Path) -> None:
    folder = RECORDED / "22.05"
    done = import_slurm(GivenRecords(paths=(folder / NAMES[0],)), tmp_path / "jobs")
    assert {p.name for p in done.folder.iterdir()} == {
        "runs.parquet",
        "jobs.parquet",
        "import.json",
    }
    assert [name for name, _ in uses_of(done)] == ["the folder", "jobs.parquet", "runs.parquet"]
    done = import_slurm(GivenRecords(paths=(folder / NAMES[1],)), tmp_path / "events")
    assert {p.name for p in done.folder.iterdir()} == {
        "events.parquet", "failures.parquet", "import.json",
    }  # fmt: skip
    with pytest.raises(ParameterError, match="sacct"):
        import_slurm(GivenRecords(paths=(folder / NAMES[2],)), tmp_path / "nodes")


def test_what_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_text("hello\n")
    for paths, said in (((bad,), "starts with 'hello'"), ((tmp_path / "no.txt",), "no such file")):
        with pytest.raises(TraceError, match=said):
            import_slurm(GivenRecords(paths=paths), tmp_path / "site")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.txt"]


def test_no_fault_no_failure_log(tmp_path: Path) -> None:
    events = tmp_path / "events.txt"
    events.write_text(
        f"NodeName|TimeStart|TimeEnd|State|Reason\nn1|{ZERO}|{ZERO + 9}|DRAIN|update\n"
    )
    done = import_slurm(GivenRecords(paths=(events,)), tmp_path / "site")
    assert not (done.folder / "failures.parquet").exists()
    assert done.told["counts"]["failures"] == 0
