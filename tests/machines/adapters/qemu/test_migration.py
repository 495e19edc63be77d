"""What QEMU says of a migration, as recorded from version 7.2."""

from __future__ import annotations

import pytest

from forestall.machines.adapters.qemu.migration import MigrationProgress, parse_progress

ACTIVE = {
    "expected-downtime": 300,
    "status": "active",
    "setup-time": 1,
    "total-time": 523,
    "ram": {
        "total": 143212544,
        "postcopy-requests": 0,
        "dirty-sync-count": 2,
        "multifd-bytes": 0,
        "pages-per-second": 1280,
        "downtime-bytes": 0,
        "page-size": 4096,
        "remaining": 76124160,
        "postcopy-bytes": 0,
        "mbps": 33.5,
        "transferred": 2114568,
        "dirty-sync-missed-zero-copy": 0,
        "precopy-bytes": 2114568,
        "duplicate": 15860,
        "dirty-pages-rate": 31,
        "skipped": 0,
        "normal-bytes": 1970176,
        "normal": 481,
    },
}
COMPLETED = {
    "status": "completed",
    "setup-time": 1,
    "downtime": 44,
    "total-time": 121,
    "ram": {"total": 143212544, "dirty-sync-count": 3, "remaining": 0, "transferred": 61865984},
}
FAILED = {
    "status": "failed",
    "error-desc": "Unable to write to socket: Broken pipe",
    "blocked": False,
}


def test_under_way() -> None:
    seen = parse_progress(ACTIVE)
    assert not seen.over
    assert seen == MigrationProgress("active", "", 523, 0, 2114568, 143212544, 76124160, 31, 2)


def test_completed() -> None:
    seen = parse_progress(COMPLETED)
    assert seen.over
    assert (seen.total_ms, seen.downtime_ms, seen.rounds) == (121, 44, 3)


def test_failed() -> None:
    seen = parse_progress(FAILED)
    assert seen.over
    assert seen.error == "Unable to write to socket: Broken pipe"
    assert seen.transferred == 0


def test_before_the_first_migration_qemu_says_nothing() -> None:
    assert parse_progress({}) == MigrationProgress("none")
    assert MigrationProgress("none").over


@pytest.mark.parametrize("status", ["setup", "cancelling", "device", "pre-switchover"])
def test_not_over_yet(status: str) -> None:
    assert not parse_progress({"status": status}).over
