"""A cell: one command under one fault, run by the server of forks, and what it left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from faults.commands import ROWS, Row, write_inputs
from forestall.core.files.folders import WHOLE, is_left_over, mend


@dataclass(frozen=True)
class Ran:
    """How a command ended, what it printed, and at how many moments it could have been killed."""

    code: int
    out: str
    err: str
    moments: int


@dataclass
class Bench:
    """A place in which cells run one after the other.

    Parameters
    ----------
    folder : for everything; others may read it
    """

    folder: Path
    states: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def server(self) -> subprocess.Popen[str]:
        """The server of forks; where it was started, end its input and wait."""
        tests = Path(__file__).parents[1]
        around = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(tests.parent / "src"), str(tests)])
        }
        return subprocess.Popen(
            [sys.executable, "-m", "faults.served"], stdin=-1, stdout=-1, text=True, env=around
        )

    @cached_property
    def inputs(self) -> Path:
        """The folder of inputs."""
        place = self.folder / "in"
        place.mkdir()

        def call(words: str) -> None:
            done = self.ran(words.replace("IN/", f"{place}/"))
            assert done.code == 0, done.err

        write_inputs(place, call)
        return place

    @property
    def sandbox(self) -> Path:
        """The folder that a command is told of; the same for all, since some write its name."""
        return self.folder / "box"

    @property
    def target(self) -> Path:
        """The folder T."""
        return self.sandbox / "t"

    def close(self) -> None:
        """End the server."""
        if "server" in self.__dict__:
            self.server.communicate()

    def ran(
        self, words: str, fault: str = "none", value: Any = None, times: int = 1, until: str = ""
    ) -> Ran:
        """Run a command once, or so often at once; then return how the worst ended. It gets SIGTERM
        when it has printed `until`, where that is told."""
        for name in ("home", "tmp", "t"):
            (self.sandbox / name).mkdir(parents=True, exist_ok=True)
        asked = []
        for number in range(times):
            notes = self.folder / "notes" / str(number)
            shutil.rmtree(notes, ignore_errors=True)
            notes.mkdir(parents=True)
            asked.append({"words": words.split(), "fault": fault, "value": value, "until": until,
                          "notes": str(notes), "sandbox": str(self.sandbox)})  # fmt: skip
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.server.stdin.write(json.dumps(asked) + "\n")
        self.server.stdin.flush()
        told = [Ran(**one) for one in json.loads(self.server.stdout.readline())]
        return max(told, key=lambda one: one.code)

    def words(self, row: Row, *, old: bool = False) -> str:
        """Return the words of a row."""
        text = row.old if old else row.words
        return text.replace("IN/", f"{self.inputs}/").replace("T/", f"{self.target}/")

    def begin(self, row: Row) -> None:
        """Make T as it is before the command of a row: with what its `old` wrote."""
        known = self.states.get(row.words)
        shutil.rmtree(self.sandbox, ignore_errors=True)
        self.sandbox.mkdir()
        if known is None:
            self.target.mkdir()
            row.given(self.target)
            if row.old:
                done = self.ran(self.words(row, old=True))
                assert (done.code, done.err) == (0, ""), done.err
            kept = self.folder / "kept" / str(len(self.states))
            shutil.copytree(self.target, kept)
            self.states[row.words] = kept
        else:
            shutil.copytree(known, self.target)

    def ends(self, row: Row) -> tuple[Any, Any, int, int]:
        """Return what is seen before and after a command of a row, its moments, and the size of the
        largest file."""
        key = f"ends of {row.words}"
        if key not in self.states:
            self.begin(row)
            before = row.seen(self.target)
            done = self.ran(self.words(row))
            fine(row, done)
            assert done.moments
            after = row.seen(self.target)
            assert after != before
            sizes = [path.stat().st_size for path in self.target.rglob("*") if path.is_file()]
            self.states[key] = (before, after, done.moments, max(sizes))
        known: tuple[Any, Any, int, int] = self.states[key]
        return known


def fine(row: Row, done: Ran) -> None:
    """Assert that a command went well, without a word on standard error that it does not say
    always."""
    assert done.code == 0, done.err
    assert (done.err == "") or row.told, done.err


def litter(place: Path) -> list[str]:
    """Return what is recognised as left over below a folder."""
    return sorted(str(path.relative_to(place)) for path in place.rglob("*") if is_left_over(path))


def mended(place: Path) -> None:
    """Have all folders below one be read, as a command would."""
    for path in sorted(place.rglob(WHOLE)):
        mend(path.parent)
    for path in sorted(place.rglob("*"), reverse=True):
        if is_left_over(path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def rows() -> list[str]:
    """Return the names of all rows."""
    return list(ROWS)
