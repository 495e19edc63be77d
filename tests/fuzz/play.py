"""One mutation after the other: a damaged file, a command that reads it, and a judgement."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType

from forestall.core.streams import stream
from fuzz.formats import Format
from fuzz.hostile import Draw
from fuzz.judge import MEMORY, REFUSED, SECONDS, Found, Outcome, judged

ENTRY = "forestall.runs.commands.entry:main"
HERE = Path(__file__).resolve().parent
ONE_THREAD = ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")


class Server(AbstractContextManager["Server"]):
    """The process that forks a child for each command; see `fuzz.server`."""

    def __init__(self, home: Path, entry: str = ENTRY) -> None:
        (home / "state").mkdir(parents=True, exist_ok=True)
        self._home = home
        root = HERE.parent.parent
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"},
            **dict.fromkeys(ONE_THREAD, "1"),
            "PYTHONPATH": os.pathsep.join(map(str, (root / "src", HERE.parent, root))),
            "PYTHONUNBUFFERED": "1",
            "HOME": str(home / "state"),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "state"),
            "MPLBACKEND": "agg",
            "TZ": "UTC",
            "COLUMNS": "100",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.server", entry],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip
        self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server is gone"
        told: dict[str, float] = json.loads(line)
        return told

    def run(self, arguments: list[str], folder: Path, seconds: int = SECONDS) -> Outcome:
        """Run one command in a folder and return what it did."""
        out, err = self._home / "out", self._home / "err"
        for path in (out, err):
            path.write_bytes(b"")
        asked = {"arguments": arguments, "folder": str(folder), "seconds": seconds}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asked | {"out": str(out), "err": str(err)}) + "\n")
        self._process.stdin.flush()
        told = self._answer()
        return Outcome(
            int(told["code"]), bool(told["late"]), told["cpu"], told["wall"], int(told["memory"]),
            out.read_bytes(), err.read_bytes(),
        )  # fmt: skip

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@dataclass(frozen=True)
class Played:
    """One mutation: of which format, by which seed, the command, what it did, and what was found
    (None: nothing)."""

    format: str
    seed: int
    file: str
    arguments: tuple[str, ...]
    outcome: Outcome
    found: Found | None

    @property
    def line(self) -> str:
        """How to repeat it."""
        return f"make fuzz FORMATS={self.format} SEED={self.seed} COUNT=1"


class Stage:
    """A folder with the good examples, made when first asked for, and one to play in."""

    def __init__(
        self,
        home: Path,
        server: Server,
        *,
        seconds: int = SECONDS,
        compiling: int = 15 * SECONDS,
        memory: int = MEMORY,
    ) -> None:
        self.home = home
        self.server = server
        self.seconds, self.compiling, self.memory = seconds, compiling, memory

    def example(self, format: Format) -> Path:
        """Return the folder of the good example of a format."""
        folder = self.home / "examples" / format.name
        if not folder.is_dir():
            folder.mkdir(parents=True)
            format.make(folder)
            for line in format.made:
                done = self.server.run(shlex.split(line), folder, self.compiling)
                assert done.code == 0, f"{format.name}: {line}: {done.err.decode()}"
        return folder

    def set(self, format: Format) -> Path:
        """Return a folder with the good example anew."""
        folder = self.home / "case"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.example(format), folder)
        return folder

    def play(self, format: Format, seed: int, *, slow: bool = True) -> Played:
        """Play the mutation of a seed, by slow commands too or only by those that are not."""
        draw = Draw(stream(seed, "fuzz", format.name))
        folder = self.set(format)
        some = sorted(
            {path for name in format.files for path in folder.glob(name) if path.is_file()}
        )
        path = draw.pick(some)
        data = path.read_bytes()
        for _ in range(draw.pick((1, 1, 1, 2, 3))):
            data = format.mutator(draw, data)
        path.write_bytes(data)
        line, file = (
            draw.pick(format.lines if slow else format.commands),
            str(path.relative_to(folder)),
        )
        played = self.command(format, seed, line, file)
        if played.found is not None and played.found.what == "slow":  # it may have been compiling
            self.warm(format, line, file)
            self.set(format)
            path.write_bytes(data)
            played = self.command(format, seed, line, file)
        return played

    def warm(self, format: Format, line: str, file: str) -> None:
        """Run a line on the good file, so that what it compiles is kept."""
        arguments = [word.replace("{file}", file) for word in shlex.split(line)]
        self.server.run(arguments, self.set(format), self.compiling)

    def check(self, format: Format) -> list[Played]:
        """Return what is found where nothing is damaged: that should be nothing."""
        found = []
        for line in format.lines:
            folder = self.set(format)
            path = next(
                path
                for name in format.files
                for path in sorted(folder.glob(name))
                if path.is_file()
            )
            file = str(path.relative_to(folder))
            self.warm(format, line, file)
            self.set(format)
            played = self.command(format, 0, line, file)
            if played.found or played.outcome.code == REFUSED:
                found.append(played)
        return found

    def command(self, format: Format, seed: int, line: str, file: str) -> Played:
        """Run a line on the file that stands in the folder now."""
        folder = self.home / "case"
        arguments = [word.replace("{file}", file) for word in shlex.split(line)]
        before = _state(folder)
        outcome = self.server.run(arguments, folder, self.seconds)
        after = _state(folder)
        new = tuple(sorted(after.keys() - before.keys()))
        gone = tuple(sorted(before.keys() - after.keys()))
        both = before.keys() & after.keys()
        changed = tuple(sorted(name for name in both if before[name] != after[name]))
        found = judged(
            outcome,
            names=(
                *Path(file).parts,
                *(f"{option}: " for option, word in pairwise(arguments) if word == file),
                *(word for word in arguments if (folder / word).is_file()),
            ),
            codes=format.codes,
            json_asked="--json" in arguments,
            seconds=self.seconds,
            memory=self.memory,
            left=((), (), ()) if format.writes else (new, changed, gone),
        )
        return Played(format.name, seed, file, tuple(arguments), outcome, found)


def _state(folder: Path) -> dict[str, str]:
    """Return what stands in a folder, each file with a digest."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        )
        for path in folder.rglob("*")
    }
