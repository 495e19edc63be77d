"""The table of commands: what it says is what commands say of themselves, and nothing is loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

import forestall
from core.commands.calls import call, failure_log, job_log
from forestall.runs.commands import commands
from forestall.runs.commands.application import app

ROOT: Any = typer.main.get_command(app)


@pytest.mark.parametrize("entry", commands.COMMANDS, ids=lambda entry: entry.name)
def test_the_line_of_a_command_is_its_own(entry: commands.CommandEntry) -> None:
    command = ROOT.commands[entry.name]
    assert command.name == entry.name
    assert (command.short_help or command.help).split("\n\n")[0] == entry.help
    assert command.rich_help_panel == entry.panel


def test_every_module_of_commands_is_in_the_table() -> None:
    folder = Path(forestall.__file__).parent
    defined = {
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if re.search(r"\napp = (typer\.Typer\(\)\n|group_of|commands_of_models)", path.read_text())
    }
    groups = {entry.module for entry in commands.COMMANDS}
    # These add to a group, which they load.
    assert defined == groups - {"sharing.commands.guest_submit", "runs.commands.assess"} | {
        "sharing.commands.guest",
        "prediction.commands.assess",
    }


def test_the_help_shows_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    told = " ".join(call(capsys, "--help").out.replace("│", " ").split())
    for entry in commands.COMMANDS:
        assert f"{entry.name} {' '.join(entry.help.split())}" in told


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a call loads."""
    code = (
        "import sys; from forestall.runs.commands.entry import main\n"
        f"main({list(arguments)!r}); print('MODULES', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split("MODULES")[1].split())


def test_listing_commands_loads_none() -> None:
    theirs = {f"forestall.{entry.module}" for entry in commands.COMMANDS}
    assert not loaded("--help") & theirs
    assert loaded("fit", "--help") & theirs == {"forestall.reliability.commands.fit"}


def test_a_wrong_name_says_what_may_be_meant(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "simulat")
    assert (code, out) == (2, "")
    assert "'simulate'" in err


WITHOUT_KERNELS: tuple[tuple[str, ...], ...] = (
    ("interval", "--mtbf", "4d", "--checkpoint-overhead", "5m"),
    ("spares", "--nodes", "100", "--hours", "24", "--mtbf", "1000h"),
    ("fit", "GAPS"),
    ("traces", "info", "JOBS"),
    ("traces", "convert", "FAILURES", "OUT"),
    ("traces", "generate", "failures", "OUT", "--nodes", "8", "--days", "30"),
    ("reliability", "FAILURES"),
    ("lemons", "JOBS", "--failures", "FAILURES"),
    ("agent", "status", "--folder", "FOLDER"),
    ("guest", "list", "--folder", "FOLDER"),
    ("machines", "list", "FOLDER"),
    ("report", "--help"),
    ("assess", "--help"),
    ("predict", "--help"),
    ("simulate", "--help"),
)
"""Commands that need no kernel: all but those that simulate, promise, predict or assess."""


@pytest.mark.parametrize(
    "arguments", WITHOUT_KERNELS, ids=lambda arguments: " ".join(arguments[:2])
)
def test_commands_without_kernels_load_no_numba(arguments: tuple[str, ...], tmp_path: Path) -> None:
    gaps = tmp_path / "gaps.csv"
    gaps.write_text("gap\n" + "".join(f"{gap}\n" for gap in (10, 20, 35, 80, 120, 7, 9, 60)))
    files = {
        "GAPS": gaps,
        "JOBS": job_log(tmp_path / "jobs.csv"),
        "FAILURES": failure_log(tmp_path / "failures.csv"),
        "OUT": tmp_path / "out.csv",
        "FOLDER": tmp_path,
    }
    there = loaded(*(str(files.get(one, one)) for one in arguments))
    assert not {"numba", "matplotlib"} & there
