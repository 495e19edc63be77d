"""Calling `python -m studies` in this process, and telling what it wrote."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.commands.calls import Called
from forestall.runs.commands.entry import main
from studies import STUDIES
from studies.kit.commands import group


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> Called:
    """Run one study's command and return what it gave."""
    capsys.readouterr()
    words = [str(argument) for argument in arguments]
    code = main(words, app=group(STUDIES.values()), name="python -m studies")
    return Called(code, *capsys.readouterr())


def told_by(folder: Path, *names: str) -> list[str]:
    """Return what tells the texts of some files from all others."""
    return [hashlib.sha256((folder / name).read_bytes()).hexdigest()[:16] for name in names]
