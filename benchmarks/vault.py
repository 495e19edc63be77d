"""The vault beside restic and borg, and beside its own slowest stage.

    python -m benchmarks.vault [versions] [pipeline] [memory] [--mib N] [--folder DIR]

`versions`: N MiB (1,024) that no compression helps, then a version with a tenth of it rewritten in
pieces of 128 KiB and a few bytes put in at the front; both are saved, and the second one restored.
Bytes stored by each save, processor and wall seconds. forestall stores parity (3 + 2), the others
none; all without encryption as far as they allow it (restic always encrypts).
`pipeline`: a save of data that half compresses, beside its slowest stage alone: compression.
`memory`: most memory that a save and a restore of N MiB (16,384) have at once.

What is restored is compared byte for byte. Tools that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import zstandard
from xxhash import xxh3_128_digest

from forestall.vault.chunks import Cutting, cut_stream

MIB: Final = 1024 * 1024
PIECE: Final = 128 * 1024
REWRITTEN: Final = 0.1
SHIFT: Final = b"a shift of 23 bytes ..."


@dataclass
class Tool:
    """A program that saves: how it is called, where it stores, and what it was asked before."""

    name: str
    store: Path
    begin: Sequence[Sequence[str]]
    save: Callable[[Path, str], list[str]]
    restore: Callable[[str, Path], list[str]]
    environment: dict[str, str] = field(default_factory=dict)
    restored: Path = Path()

    def run(self, arguments: Sequence[str], cwd: Path | None = None) -> tuple[float, float]:
        """Run it; return seconds of the processor and of the clock."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            arguments, env=os.environ | self.environment, cwd=cwd, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(f"{self.name}: {done.stderr[-2000:]}")
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent, wall

    def stored(self) -> int:
        """Return the bytes that it has stored."""
        return sum(path.stat().st_size for path in self.store.rglob("*") if path.is_file())


def tools(folder: Path) -> list[Tool]:
    """Return forestall and the others that are installed."""
    stores = [f"--store={folder / 'forestall' / str(k)}" for k in range(5)]
    ours = [sys.executable, "-m", "forestall", "checkpoint"]
    found = [Tool(
        "forestall, 3 + 2", folder / "forestall", [],
        lambda source, name: [*ours, "save", str(source), *stores, "--label=x", "--json"],
        lambda name, to: [*ours, "restore", "latest", *stores, f"--to={to}", "--json"],
    )]  # fmt: skip
    if shutil.which("restic"):
        at = folder / "restic"
        call = ["restic", "-q", "--no-cache", f"--repo={at}"]
        found.append(Tool(
            "restic", at, [[*call, "init"]],
            lambda source, name: [*call, "backup", str(source)],
            lambda name, to: [*call, "restore", "latest", f"--target={to}"],
            {"RESTIC_PASSWORD": "none"},
        ))  # fmt: skip
    if shutil.which("borg"):
        found += [borg("borg", folder / "borg", "19,23,21,4095"),
                  borg("borg, chunks of 16 KiB", folder / "borg-16", "12,17,14,4095")]  # fmt: skip
    for name in ("restic", "borg"):
        if not shutil.which(name):
            print(f"left out: {name} is not installed")
    return found


def borg(name: str, at: Path, chunks: str) -> Tool:
    """Return borg with chunks cut so."""
    return Tool(
        name, at, [["borg", "init", "--encryption=none", str(at)]],
        lambda source, told: ["borg", "create", f"--chunker-params=buzhash,{chunks}",
                              "--compression=zstd,1", f"{at}::{told}", str(source)],
        lambda told, to: ["borg", "extract", f"{at}::{told}"],
        {"BORG_BASE_DIR": str(at.parent / "borg-base"), "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes"},
    )  # fmt: skip


def write_versions(folder: Path, mib: int) -> Path:
    """Write the first version; return its path."""
    chance = np.random.default_rng(18)
    path = folder / "data"
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(chance.bytes(MIB))
    return path


def write_second(path: Path) -> None:
    """Rewrite a tenth of a file in pieces, and put a few bytes in at its front."""
    chance = np.random.default_rng(19)
    old = path.read_bytes()
    data = bytearray(old)
    for _ in range(int(REWRITTEN * len(data) / PIECE)):
        at = int(chance.integers(0, len(data) - PIECE))
        data[at : at + PIECE] = chance.bytes(PIECE)
    path.write_bytes(SHIFT + data)


def versions(folder: Path, mib: int) -> None:
    """Print what two versions take with each tool."""
    used = tools(folder)
    for tool in used:
        for call in tool.begin:
            tool.run(call)
    path = write_versions(folder, mib)
    figures: dict[str, list[float]] = {tool.name: [] for tool in used}
    for number in (1, 2):
        if number == 2:
            write_second(path)
        os.sync()
        for tool in used:
            before = tool.stored()
            spent = tool.run(tool.save(path, f"v{number}"))
            figures[tool.name] += [(tool.stored() - before) / 1e6, *spent]
    for tool in used:
        to = folder / f"restored-{tool.store.name}"
        if tool.name.startswith("borg"):
            to.mkdir()
        os.sync()
        spent = tool.run(tool.restore("v2", to), cwd=to if to.exists() else None)
        (made,) = [one for one in to.rglob("data") if one.is_file()]
        assert filecmp.cmp(made, path, shallow=False), f"{tool.name} restored something else"
        figures[tool.name] += spent
        shutil.rmtree(to)
    told_versions(figures, path.stat().st_size / 1e6)


def told_versions(figures: dict[str, list[float]], size: float) -> None:
    """Print the table."""
    print(f"{size:,.0f} MB, then a version with {REWRITTEN:.0%} rewritten and a shift")
    print(f"{'':<24}{'stored, MB':>20}{'processor, s':>20}{'wall, s':>16}{'restore, s':>18}")
    print(f"{'':<24}{'1st':>10}{'2nd':>10}{'1st':>10}{'2nd':>10}{'1st':>8}{'2nd':>8}"
          f"{'processor':>10}{'wall':>8}")  # fmt: skip
    for name, (first, cpu, wall, second, cpu2, wall2, cpu3, wall3) in figures.items():
        print(f"{name:<24}{first:>10,.0f}{second:>10,.0f}{cpu:>10.2f}{cpu2:>10.2f}"
              f"{wall:>8.1f}{wall2:>8.1f}{cpu3:>10.2f}{wall3:>8.1f}")  # fmt: skip
    ours = next(iter(figures.values()))
    print(f"second save: {ours[3] / ours[0]:.1%} of what the first stored")
    for name, other in list(figures.items())[1:]:
        print(f"beside {name}: second save {ours[3] / other[3]:.2f} of its bytes, both saves "
              f"{(ours[1] + ours[4]) / (other[1] + other[4]):.2f} of its processor time, restore "
              f"{ours[7] / other[7]:.2f} of its time")  # fmt: skip


def write_half(path: Path, mib: int) -> None:
    """Write data that compresses to half its size."""
    chance = np.random.default_rng(20)
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(chance.integers(0, 16, MIB, np.uint8).tobytes())


def memory(folder: Path, mib: int) -> None:
    """Print the most memory that saving and restoring take."""
    path, tool = folder / "half", tools(folder)[0]
    write_half(path, mib)
    calls = {"save": tool.save(path, ""), "restore": tool.restore("latest", folder / "again")}
    for name, call in calls.items():
        begun = time.perf_counter()
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, name
        wall = time.perf_counter() - begun
        print(f"{name} of {mib:,} MiB: at most {used.ru_maxrss / 1024:,.0f} MiB of memory, "
              f"{mib / wall:,.0f} MiB/s", flush=True)  # fmt: skip
    assert filecmp.cmp(path, folder / "again" / "half", shallow=False)


def pipeline(folder: Path, mib: int) -> None:
    """Print the speed of a save beside that of its slowest stage alone, compression."""
    path = folder / "half"
    write_half(path, mib)
    cores = len(os.sched_getaffinity(0))
    with path.open("rb") as file:
        chunks = [bytes(one) for cuts in cut_stream(file, Cutting()) for one in cuts.parts]
    parts = [chunks[k::cores] for k in range(cores)]

    def shrink(part: list[bytes]) -> int:
        one = zstandard.ZstdCompressor(level=1, write_content_size=False)
        return sum(len(one.compress(data)) for data in part)

    with ThreadPoolExecutor(cores) as pool:
        begun = time.perf_counter()
        small = sum(pool.map(shrink, parts))
        alone = time.perf_counter() - begun
    del chunks, parts
    tool = tools(folder)[0]
    spent, wall = tool.run(tool.save(path, "half"))
    core, whole = mib / alone / cores, mib / wall
    print(f"{mib:,} MiB that compress to {small / mib / MIB:.0%}, {cores} cores: compression "
          f"{core:,.0f} MiB/s a core, a whole save {whole:,.0f} MiB/s ({whole / core:.0%}; "
          f"{spent:.2f} s of the processor)")  # fmt: skip
    stored = tool.stored()
    block, begun = bytes(PIECE), time.process_time()
    for _ in range(stored // PIECE + small // PIECE):  # of each piece, and of each pack
        xxh3_128_digest(block)
    sums = time.process_time() - begun
    print(
        f"checksums of what is stored: {sums:.2f} s of the processor, {sums / spent:.1%} of a save"
    )


def main(arguments: list[str]) -> None:
    """Run what is asked for, or all."""
    known = argparse.ArgumentParser(description=__doc__)
    known.add_argument("what", nargs="*", default=[])
    known.add_argument("--mib", type=int, default=None)
    known.add_argument("--folder", type=Path, default=None)
    asked = known.parse_args(arguments)
    every = {"versions": (versions, 1024), "pipeline": (pipeline, 1024), "memory": (memory, 16_384)}
    for name in asked.what or every:
        folder = Path(tempfile.mkdtemp(dir=asked.folder))
        try:
            run, mib = every[name]
            run(folder, asked.mib or mib)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
