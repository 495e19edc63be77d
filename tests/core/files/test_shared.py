"""Folders in which others may write: links of theirs are not followed, theirs are not worked in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forestall.core.files.shared import check_not_planted, make_own, open_own
from forestall.core.model.errors import TraceError
from forestall.core.processes.files import GuestFiles, StayRecord
from forestall.core.processes.lock import only_agent
from forestall.core.processes.usage import GuestProcesses
from forestall.prediction.availability.status import write_status
from forestall.sharing.agent.guests import register_guest


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    made = tmp_path / "victim"
    made.write_text("precious")
    return made


def test_a_link_is_not_opened(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        open_own(tmp_path / "link", os.O_WRONLY | os.O_TRUNC)
    assert victim.read_text() == "precious"


def test_neither_a_link_nor_the_folder_of_another_user_is_ours(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="link"):
        make_own(tmp_path / "link")
    if os.geteuid() == 0:
        os.chown(tmp_path / "elsewhere", 65534, 65534)
        with pytest.raises(OSError, match="another user"):
            make_own(tmp_path / "elsewhere")
    make_own(tmp_path / "new" / "deep")
    assert (tmp_path / "new" / "deep").is_dir()


def test_an_agent_writes_through_no_link(tmp_path: Path, victim: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("status.json", "agent.lock"):
        (here / name).symlink_to(victim)
    write_status(here, {"time": 1.0})
    assert not (here / "status.json").is_symlink()
    with pytest.raises(TraceError, match="symbolic links"), only_agent(here):
        pass
    (here / "guests").symlink_to(tmp_path)
    with pytest.raises(TraceError, match="link"):
        register_guest(here, "one", GuestProcesses(1, 1.0, None, 1))
    assert victim.read_text() == "precious"


def test_a_guest_writes_through_no_link(tmp_path: Path, victim: Path) -> None:
    files = GuestFiles(tmp_path, "one")
    files.make()
    for name in ("log.jsonl", "manager.lock"):
        (files.place / name).symlink_to(victim)
    with pytest.raises(TraceError, match="symbolic links"):
        files.log("ended", "so")
    with pytest.raises(TraceError, match="symbolic links"):
        files.lock("manager.lock")
    files.write(StayRecord(name="one", id="one-1", command=["true"], cwd="/"))
    (tmp_path / "guests" / "two").symlink_to(tmp_path)
    with pytest.raises(TraceError, match="link"):
        GuestFiles(tmp_path, "two").make()
    assert victim.read_text() == "precious"


def test_a_folder_of_another_that_all_may_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    check_not_planted(tmp_path)  # one's own
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(TraceError, match="is another user's, and anyone may write to it"):
        only_agent(tmp_path).__enter__()
    with pytest.raises(TraceError, match="it belongs to another user"):
        GuestFiles(tmp_path, "solver").make()
    tmp_path.chmod(0o755)
    check_not_planted(tmp_path)
