"""What CRIU says, read from recorded words."""

from __future__ import annotations

from pathlib import Path

import pytest

from forestall.vaults.adapters.criu import command

LOG = """\
Error (criu/util.c:1533): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted
 29187: Error (criu/files-reg.c:2175): File tmp/cr/cnt.log has bad size 63 (expect 42)
 29187: Error (criu/files.c:1221): Unable to open fd=1 id=0x16
Error (criu/cr-restore.c:2320): Restoring FAILED.
"""
# stats-dump of CRIU 4.1.1: freezing 113 us, frozen 48,722 us
STATS = bytes.fromhex(
    "40591055063309572600000" "00a24087110d2fc0218de8c0220e6de0128a00e30" "0038bc0d4000480050085808"
    "60006800" "7000"
)  # fmt: skip


def test_why_it_failed(tmp_path: Path) -> None:
    log = tmp_path / "restore.log"
    log.write_text(LOG)
    assert command.failure(log) == "File tmp/cr/cnt.log has bad size 63 (expect 42)"
    log.write_text("Warn  (x): odd\nlast words\n\n")
    assert command.failure(log) == "last words"
    assert command.failure(tmp_path / "none") == "it left no log"


def test_how_long_all_stood_still(tmp_path: Path) -> None:
    assert command.frozen_time(tmp_path) is None
    (tmp_path / "stats-dump").write_bytes(STATS)
    assert command.frozen_time(tmp_path) == pytest.approx((113 + 48_722) / 1e6)
    for damaged in (b"", STATS[:13], STATS[:12] + b"\x0a\xff\xff", b"\xff" * 40, STATS[:16]):
        (tmp_path / "stats-dump").write_bytes(damaged)
        command.frozen_time(tmp_path)  # says nothing, or something; never raises


def test_words(tmp_path: Path) -> None:
    words = command.dump("criu", 7, tmp_path, tmp_path / "hook", last=False)
    assert words[:6] == ["criu", "dump", "-t", "7", "-D", str(tmp_path)]
    assert "--leave-running" in words
    assert "--leave-running" not in command.dump("criu", 7, tmp_path, tmp_path, last=True)
    words = command.restore("criu", tmp_path, tmp_path / "pid")
    assert words[-4:] == ["-d", "--restore-sibling", "--pidfile", str(tmp_path / "pid")]


def test_where_there_is_none() -> None:
    assert "is not installed" in command.why_not("/no/such/criu")
    said = command.why_not("false")
    assert "false check fails" in said or "numbers of their own" in said
