"""Play a cell: its commands in this process, one after another, in a folder of its own.

Commands are run as `python -m forestall` runs them, so that nothing here knows where inside the
package anything lies. Numba and the imports are paid for once.
"""

from __future__ import annotations

import csv
import io
import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import typer

from golden.draw import draw
from golden.plain import plain_file, plain_output, plain_text

INPUTS = "inputs"
RECORDED = Path(__file__).resolve().parents[1] / "slurm" / "recorded"
RECORDED_VERSIONS = ("20.11", "26.05")
ASKED = "# asked: 2026-11-21T21:16:43\n"
"""When the recorded queues were asked, which their tables do not tell."""
SETTING = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "PATH": "/usr/bin:/bin"}
"""Tables and help are as wide on every terminal, and no other forestall is found."""
FOREIGN = ("FORESTALL_DATA", "FORCE_COLOR", "SOURCE_DATE_EPOCH", "CLICOLOR_FORCE")
"""What would change an output if the caller's environment had it."""


class Cell(NamedTuple):
    """Commands that are run in one folder; what they print and write is frozen."""

    name: str
    steps: tuple[str, ...]


class Said(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str

    def plain(self, root: Path) -> str:
        """Return all three as one text."""
        out, err = plain_output(self.out), self.err
        return plain_text(f"exit code {self.code}\n{out}--- standard error\n{err}", root)


_commands = cache(typer.main.get_command)
"""Typer reads every command's signature for each call; here once, which halves the time."""


def call(arguments: list[str]) -> Said:
    """Run one command of the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        patch.object(sys, "argv", ["forestall", *arguments]),
        patch("typer.main.get_command", _commands),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            runpy.run_module("forestall", run_name="__main__")
        except SystemExit as end:
            code = end.code or 0
    return Said(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue())


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    """Work in a folder, with nothing of the caller's environment that would show."""
    before = Path.cwd()
    with patch.dict(os.environ, {**SETTING, "XDG_STATE_HOME": str(folder)}):
        for name in FOREIGN:
            os.environ.pop(name, None)
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def play(cell: Cell, root: Path) -> dict[str, str]:
    """Return the plain contents of all that a cell prints and writes, by name."""
    folder = root / cell.name
    folder.mkdir(parents=True)
    contents: dict[str, str] = {}
    with _within(folder):
        for k, step in enumerate(cell.steps, 1):
            name, *arguments = shlex.split(step)
            if name in ACTS:
                contents |= ACTS[name](*arguments) or {}
                continue
            said = call([name, *arguments])
            contents[f"{k}-{_title([name, *arguments])}.said"] = said.plain(root)
    for path in sorted(folder.rglob("*")):
        # Matplotlib keeps its list of fonts in the home of whichever cell draws first.
        if path.is_file() and ".cache" not in path.relative_to(folder).parts:
            for part, text in plain_file(path, root).items():
                contents[f"{path.relative_to(folder).as_posix()}{part}"] = text
    return contents


def _title(arguments: list[str]) -> str:
    """Return the command's own words, such as `traces-generate-jobs`."""
    words: list[str] = []
    for one in arguments[:3]:
        if not re.fullmatch(r"[a-z][a-z-]*", one):
            break
        words.append(one)
    return "-".join(words)


def _drop(path: str) -> None:
    """Do away with a file or a folder that is frozen elsewhere."""
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink()


def _copy(folder: str, to: str) -> None:
    """Take a folder a second time."""
    shutil.copytree(folder, to)


def _falsify(file: str, column: str) -> None:
    """Add one to the last number of a column of a CSV: a lie that a check should find."""
    path = Path(file)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    row = next(one for one in reversed(rows) if one[column] not in ("", "-1"))
    row[column] = str(float(row[column]) + 1 if "." in row[column] else int(row[column]) + 1)
    with path.open("w", newline="") as file_:
        writer = csv.DictWriter(file_, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _write(file: str, text: str) -> None:
    """Write a small file; `\\n` in the text ends a line."""
    Path(file).write_text(text.replace("\\n", "\n"), encoding="utf-8")


def _recorded(name: str) -> None:
    """Take what a real Slurm of a version printed, such as `slurm-20.11`."""
    shutil.copytree(RECORDED / name.removeprefix("slurm-"), name)
    table = Path(name, "squeue.start.txt").read_text(encoding="utf-8")
    Path(name, "starts.txt").write_text(ASKED + table, encoding="utf-8")


def _help(*path: str) -> dict[str, str]:
    """Return the help of a command and of all below it, which its own help names."""
    said = call([*path, "--help"])
    contents = {f"{'-'.join(('forestall', *path))}.help": said.plain(Path.cwd())}
    if re.search(r"^ Usage: .* COMMAND \[ARGS\]", said.out, re.MULTILINE):
        for name in re.findall(r"^│ ([a-z][a-z-]*) ", said.out, re.MULTILINE):
            contents |= _help(*path, name)
    return contents


ACTS: dict[str, Callable[..., dict[str, str] | None]] = {
    "@copy": _copy,
    "@draw": draw,
    "@drop": _drop,
    "@falsify": _falsify,
    "@help": _help,
    "@recorded": _recorded,
    "@write": _write,
}
"""Steps that are not commands."""
