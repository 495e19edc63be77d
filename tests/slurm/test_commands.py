"""The commands that are run, and those that are printed for others to run."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from forestall.slurm import commands

RECORDED = Path(__file__).parent / "recorded"
VERSIONS = ("20.11", "22.05", "24.11", "26.05")

FAKE = """#!/bin/sh
case "$*" in
  --helpformat) cat {help} ;;
  *) echo "$TZ $SLURM_TIME_FORMAT $LC_ALL"; for word in "$@"; do echo "$word"; done ;;
esac
"""


def helpformat(version: str) -> str:
    """Return what sacct of that version says it knows."""
    return (RECORDED / version / "sacct.helpformat.txt").read_text()


@pytest.mark.parametrize(
    ("version", "absent"),
    [
        ("20.11", {"FailedNode", "Restarts", "SubmitLine"}),
        ("22.05", {"FailedNode", "Restarts"}),
        ("24.11", set()),
        ("26.05", set()),
    ],
)
def test_fields_that_a_version_knows(version: str, absent: set[str]) -> None:
    """In our order, free text last."""
    fields = commands.offered(helpformat(version))
    assert list(fields) == [name for name in commands.FIELDS if name not in absent]
    assert (
        fields[-1] == "JobName" if version == "20.11" else fields[-2:] == ("JobName", "SubmitLine")
    )
    assert set(commands.SINCE_2020) <= set(commands.offered(helpformat(version)))


def test_sacct() -> None:
    command = commands.sacct(("JobIDRaw", "State"), 1_700_000_000, 1_700_086_400)
    assert command == (
        "sacct", "--allusers", "--duplicates", "--allocations", "--parsable2", "--noconvert",
        "--starttime=2023-11-14T22:13:20", "--endtime=2023-11-15T22:13:20",
        "--format=JobIDRaw,State",
    )  # fmt: skip
    assert f"--endtime={commands.FAR_AHEAD}" in commands.sacct(("State",), 0)


def test_all_commands_only_ask() -> None:
    """No word of them changes anything."""
    every = (
        commands.sacct_fields(), commands.sacct(("State",), 0), commands.events(0),
        commands.events(0, 9), commands.nodes(), commands.partitions(), commands.config(),
        commands.starts(),
    )  # fmt: skip
    changing = {"update", "create", "delete", "add", "modify", "remove", "cancel", "requeue",
                "reconfigure", "shutdown", "hold", "release", "suspend", "resume", "archive",
                "reboot", "set", "clear"}  # fmt: skip
    for command in every:
        assert command[0] in {"sacct", "sacctmgr", "scontrol", "squeue"}
        assert not changing & {word.lower() for word in command}
        assert "show" in command or command[0] in {"sacct", "squeue"}
        if command[0] == "sacctmgr":
            assert "--readonly" in command
    assert "End=1970-01-01T00:00:09" in commands.events(0, 9)


@pytest.mark.parametrize("version", VERSIONS)
def test_printed_lines_work_in_a_shell(version: str, tmp_path: Path) -> None:
    """With stand-ins for the commands: each line writes a file, and asks for known fields."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sacct", "sacctmgr", "scontrol"):
        (programs / name).write_text(
            FAKE.format(help=shlex.quote(str(RECORDED / version / "sacct.helpformat.txt")))
        )
        (programs / name).chmod(0o755)
    lines = commands.printed("2024-01-31")
    assert len(lines) == 3
    for line in lines:
        done = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env={"PATH": f"{programs}:/usr/bin:/bin"},
            capture_output=True, check=True,
        )  # fmt: skip
        assert not done.stdout + done.stderr
    jobs = (tmp_path / "jobs.txt").read_text().splitlines()
    assert jobs[0] == "UTC %s C"
    assert jobs[1:10] == ["-a", "-D", "-X", "-P", "--noconvert", "-S", "2024-01-31", "-E",
                          commands.FAR_AHEAD]  # fmt: skip
    fields = jobs[10].removeprefix("--format=").split(",")
    assert fields == list(commands.offered(helpformat(version)))
    assert "Start=2024-01-31" in (tmp_path / "events.txt").read_text().splitlines()
    assert (tmp_path / "nodes.txt").read_text().splitlines()[1:] == ["-a", "show", "node"]
