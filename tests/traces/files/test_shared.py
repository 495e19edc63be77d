"""Folders in which others may write: links of theirs are not followed, theirs are not worked in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forestall.live.agent.lock import only_agent
from forestall.live.agent.status import write_status
from forestall.live.guest.files import MANAGER_LOCK, GuestFiles
from forestall.model.errors import TraceError
from forestall.traces.files.shared import check_not_planted


def test_a_folder_of_another_that_all_may_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o777)
    check_not_planted(tmp_path)  # one's own
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    for work in (lambda: only_agent(tmp_path).__enter__(), GuestFiles(tmp_path, "solver").make):
        with pytest.raises(TraceError, match=r"is another user's, and anyone may write to it"):
            work()
    tmp_path.chmod(0o755)
    check_not_planted(tmp_path)


def test_links_are_not_followed(tmp_path: Path) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "agent"
    victim.write_text("mine")
    guest = GuestFiles(folder, "solver")
    guest.make()
    for link in (
        folder / "agent.lock", folder / ".status.json.new", folder / "status.json",
        guest.place / MANAGER_LOCK, guest.place / "log.jsonl",
    ):  # fmt: skip
        link.symlink_to(victim)
    with pytest.raises(TraceError, match="Too many levels of symbolic links"), only_agent(folder):
        pass
    with pytest.raises(TraceError, match="Too many levels of symbolic links"):
        guest.lock(MANAGER_LOCK)
    with pytest.raises(TraceError, match="Too many levels of symbolic links"):
        guest.log("waiting", "for the host")
    write_status(folder, {"time": 1.0})
    assert not (folder / "status.json").is_symlink()
    assert victim.read_text() == "mine"
