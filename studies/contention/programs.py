"""Programs that an owner works with: real ones, as far as they are installed, and one made here.

Each command is a piece of work of some ten milliseconds, as one step of a session at a terminal.
What they read is made here from a seed.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import forestall as fs

BURST: Final = 0.03
"""CPU s of the synthetic owner's piece of work."""
LINES: Final = 30_000
BLOB: Final = 8 * 2**20
FUNCTIONS: Final = 30
ROWS: Final = 4000

SCRIPT: Final = """sort text | od | grep 3 | wc
grep -c 42 text
sort -n text | tail -1
"""
"""Of UnixBench's shell scripts, whose family the slides' Musbus is: sort, od, grep, tail and wc."""


@dataclass(frozen=True)
class Program:
    """A program: words of its command, none for the synthetic one; and what it does."""

    words: tuple[str, ...]
    about: str

    def command(self) -> list[str] | None:
        """Return the command with the path of its program."""
        if not self.words:
            return None
        path = shutil.which(self.words[0])
        assert path is not None
        return [path, *self.words[1:]]


PROGRAMS: Final[Mapping[str, Program]] = {
    "spin": Program((), "synthetic: spins for 30 ms"),
    "shell": Program(("sh", "script.sh"), "a shell script as UnixBench has them"),
    "gcc": Program(("gcc", "-O1", "-c", "code.c", "-o", "code.o"), "compiles 30 functions"),
    "sqlite3": Program(("sqlite3", ":memory:", ".read queries.sql"), "fills and asks a table"),
    "gzip": Program(("gzip", "-c", "text"), "compresses text"),
    "xz": Program(("xz", "-1", "-T1", "-c", "text"), "compresses text"),
    "7zz": Program(
        ("7zz", "a", "-tgzip", "-mx1", "-mmt1", "-so", "x", "text"), "compresses text (7-Zip)"
    ),
    "openssl": Program(("openssl", "dgst", "-sha512", "blob"), "hashes 8 MB"),
    "sysbench": Program(
        ("sysbench", "cpu", "--cpu-max-prime=2000", "--events=150", "--time=0", "run"),
        "looks for primes",
    ),
    "stress-ng": Program(
        ("stress-ng", "--quiet", "--cpu", "1", "--cpu-method", "matrixprod", "--cpu-ops", "10"),
        "multiplies matrices",
    ),
}
"""By name."""


def installed(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of these programs are there."""
    return tuple(
        name
        for name in names
        if not PROGRAMS[name].words or shutil.which(PROGRAMS[name].words[0]) is not None
    )


def make_files(folder: Path, seed: int) -> None:
    """Write what the programs read."""
    chance = fs.stream(seed, "contention", "files")
    numbers = chance.integers(0, 10**6, LINES)
    (folder / "text").write_text("".join(f"{one} {one % 97}\n" for one in numbers), "ascii")
    (folder / "blob").write_bytes(chance.bytes(BLOB))
    (folder / "script.sh").write_text(SCRIPT, "ascii")
    code = (
        f"int f{k}(int a, int b) {{ int s = 0; for (int i = a; i < b; i++) s += i * {k + 3} % "
        "(b + 1); return s; }\n"
        for k in range(FUNCTIONS)
    )
    (folder / "code.c").write_text("".join(code), "ascii")
    values = ",".join(f"({one},{one % 97})" for one in numbers[:ROWS])
    (folder / "queries.sql").write_text(
        f"create table t(a, b); insert into t values {values}; create index i on t(b);\n"
        "select b, sum(a) from t group by b; select count(*) from t x, t y where x.b = y.a;\n",
        "ascii",
    )
