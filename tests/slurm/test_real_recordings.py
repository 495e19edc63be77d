"""What was recorded from real installations of four versions, against what truly happened there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forestall.core.model.job_records import NEVER
from forestall.slurm.jobs import read_sacct
from forestall.slurm.read import read_files
from forestall.slurm.records.accounting import Accounting
from forestall.slurm.records.node_events import NATURES

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")
ZONE = "Europe/Berlin"

# As the README tells it, by job: the ends of its runs, and the seconds of the last where they were
# the job's own and not a matter of when somebody looked.
FATES: dict[str, tuple[tuple[str, ...], int | None]] = {
    "overtime": (("TIMEOUT",), None),
    "good": (("COMPLETED",), 4),
    "good2": (("COMPLETED",), 4),
    "goodgpu": (("NODE_FAIL", "COMPLETED"), 9),
    "bad": (("FAILED",), 0),
    "killedbysignal": (("FAILED",), 0),
    "a|b": (("COMPLETED",), 1),
    "oom": (("OUT_OF_MEMORY",), None),
    "notyet": (("CANCELLED",), 0),
    "cancelrun": (("CANCELLED",), None),
    "again": (("REQUEUED", "COMPLETED"), 12),
    "lost-requeue": (("NODE_FAIL", "COMPLETED"), 30),
    "lost-norequeue": (("NODE_FAIL",), None),
    "never": (("PENDING",), 0),
    "tooearly": (("CANCELLED",), 0),
    "bymem": (("PREEMPTED", "COMPLETED"), 8),
    "drainer": (("COMPLETED",), None),
    "lost-last": (("NODE_FAIL",), None),
    "fill1": (("RUNNING",), None),
    "next1": (("PENDING",), 0),
    "wide": (("PENDING",), 0),
}
OTHERWISE = {("24.11", "again"): ("REQUEUED", "NODE_FAIL", "COMPLETED")}
OUTAGES = [
    ("n1", "DRAIN", "ticket 4711: fan | rattles", "fault"),
    ("n2", "DRAIN", "drained while idle", "administrative"),
    ("n3", "DOWN*", "Not responding", "fault"),
    ("n3", "FAIL", "failing: ECC", "fault"),
    ("n4", "DRAIN", "ünklar\\tNHC: check_fs_mount /scratch", "fault"),
    ("n5", "DOWN", "maintenance by hand: PSU swap", "administrative"),
    ("n6", "DOWN*", "Not responding", "fault"),
]


def forms(*names: str) -> list[tuple[str, str]]:
    """Return every version with those of these files that it could write."""
    return [(v, name) for v in VERSIONS for name in names if (v, name) != ("20.11", "sacct.json")]


def accounting(version: str, name: str) -> Accounting:
    """Return what was read of one file."""
    return read_sacct(RECORDED / version / name, zone=ZONE)


def rows(records: Accounting, job: str) -> np.ndarray:
    """Return the runs of the job of this name, oldest first."""
    if job not in records.name.words:
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(records.name.code == records.name.words.index(job))


def ends(records: Accounting, job: str) -> tuple[str, ...]:
    """Return how its runs ended."""
    base = records.base()
    return tuple(base.words[code] for code in base.code[rows(records, job)].tolist())


@pytest.mark.parametrize(
    ("version", "name"), forms("sacct.jobs.txt", "sacct.jobs.delimiter.txt", "sacct.json")
)
def test_every_job_met_the_fate_that_it_met(version: str, name: str) -> None:
    records = accounting(version, name)
    for job, (fate, seconds) in FATES.items():
        assert ends(records, job) == OTHERWISE.get((version, job), fate), job
        if seconds is not None:
            assert abs(int(records.elapsed[rows(records, job)[-1]]) - seconds) <= 1, job


@pytest.mark.parametrize(
    ("version", "name"), forms("sacct.jobs.epoch.txt", "sacct.jobs.txt", "sacct.json")
)
def test_all_forms_tell_the_same(version: str, name: str) -> None:
    """Text in local time, in seconds, with a separator that no name has, and JSON."""
    told, other = accounting(version, "sacct.jobs.delimiter.txt"), accounting(version, name)
    for column in ("job", "which", "attempt", "submit", "start", "end", "nodes", "gpus", "limit"):
        np.testing.assert_array_equal(getattr(other, column), getattr(told, column), column)
    assert other.base().counts() == told.base().counts()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_job_is_one_job_through_all_its_runs(version: str) -> None:
    records = accounting(version, "sacct.jobs.epoch.txt")
    for job in ("again", "lost-requeue", "bymem", "goodgpu"):
        runs = rows(records, job)
        assert len(set(records.which[runs].tolist())) == 1, job
        assert records.attempt[runs].tolist() == list(range(len(runs))), job
    array = rows(records, "array")
    assert len(set(records.which[array].tolist())) == 4
    assert "id_again" not in records.cleaning.counts()


@pytest.mark.parametrize(("version", "name"), forms("sacct.jobs.txt", "sacct.json"))
def test_what_never_ran_took_nothing(version: str, name: str) -> None:
    """20.11 gives a job that was cancelled while it waited a start; a deadline that passed too."""
    records = accounting(version, name)
    for job in ("notyet", "tooearly", "deadline", "next1", "never"):
        runs = rows(records, job)
        assert not records.node_seconds[runs].any(), job
        assert not records.running[runs].any(), job
        if job in ("notyet", "tooearly", "next1", "never"):
            assert (records.start[runs] == NEVER).all(), job


@pytest.mark.parametrize("version", VERSIONS)
def test_outages_are_those_that_were_made(version: str) -> None:
    folder = RECORDED / version
    site = read_files(
        [
            folder / "sacct.jobs.epoch.txt",
            folder / "sacctmgr.event.txt",
            folder / "scontrol.node.txt",
        ],
        zone=ZONE,
    )
    assert site.events is not None
    assert site.inventory is not None
    events = site.events
    told = [
        (
            events.names[events.node[row]],
            events.state.words[events.state.code[row]],
            events.reason.words[events.reason.code[row]],
            NATURES[events.nature[row]],
        )
        for row in range(len(events))
    ]
    assert sorted(told) == OUTAGES
    still = {events.names[node] for node in events.node[events.open].tolist()}
    assert still == {"n4", "n6"}
    assert site.inventory.names == ("n1", "n2", "n3", "n4", "n5", "n6")
    assert site.inventory.gpus.tolist() == [0, 0, 0, 0, 4, 4]
