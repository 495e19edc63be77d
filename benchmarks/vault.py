"""The vault beside restic and borg, and beside its own slowest stage.

    python -m benchmarks.vault [versions] [files] [pipeline] [memory] [hung] [--mib N] [--files N]
        [--folder DIR]

`versions`: N MiB (1,024) that no compression helps, then a version with a tenth of it rewritten in
pieces of 128 KiB and a few bytes put in at the front; both are saved, and the second one restored.
Bytes stored by each save, processor and wall seconds: medians of three rounds in which the tools
take turns, after a file of the size of all has been written and removed. forestall stores parity
(3 + 2), the others none; all without encryption as far as they allow it (restic always encrypts).
`files`: N small files (100,000) of up to 4 KB in folders of 100: saved, a tenth of them rewritten,
saved again and restored; seconds of the processor and of the clock, and ratios to ours.
`pipeline`: a save of noise that half compresses, and one of compiled code, beside their slowest
stage alone: compression, in processor seconds and, as a busy machine leaves little, wall seconds;
what a save of a kilobyte takes, which is the start of the program, is named and taken off.
`memory`: most memory that a save and a restore of N MiB (16,384) have at once.
`hung`: a save of N MiB (16) on four hosts, one of which accepts connections and never answers, and
the same without that one; beside restic with a server that does so, and borg with such an ssh: each
has one repository and nothing to go on with, so they are stopped after a minute.

What is restored is compared byte for byte. Tools that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import filecmp
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import zstandard
from xxhash import xxh3_128_digest

from forestall.vaults.chunks import Cutting, cut_stream

MIB: Final = 1024 * 1024
PIECE: Final = 128 * 1024
REWRITTEN: Final = 0.1
ROUNDS: Final = 3
BALLAST: Final = 5
"""Times the size of a version that both versions, a store and what is restored take at once."""
CAP: Final = 60.0
"""s after which a program is stopped that waits for a host."""
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
        lambda source, name: [*ours, "save", str(source), *stores, "--label=x", "--json", "--init"],
        lambda name, to: [*ours, "restore", "latest", *stores, f"--to={to}", "--json"],
        # Compiled once and kept, as in an installation.
        {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "compiled")},
    )]  # fmt: skip
    alone = ["--data=1", "--parity=0", "--init"]
    found[0].run([*ours, "save", __file__, f"--store={folder / 'none'}", *alone])
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


def write_versions(folder: Path, mib: int) -> tuple[Path, Path]:
    """Write two versions; return their paths. In the second one a tenth is rewritten in pieces, and
    a few bytes are put in at the front."""
    chance, first, second = np.random.default_rng(18), folder / "first", folder / "second"
    with first.open("wb") as file:
        for _ in range(mib):
            file.write(chance.bytes(MIB))
    data = bytearray(first.read_bytes())
    for _ in range(int(REWRITTEN * len(data) / PIECE)):
        at = int(chance.integers(0, len(data) - PIECE))
        data[at : at + PIECE] = chance.bytes(PIECE)
    second.write_bytes(SHIFT + data)
    return first, second


def versions(folder: Path, mib: int) -> None:
    """Print what two versions take with each tool: medians of rounds, in which all take turns, each
    with a store of its own that begins empty."""
    source, used = folder / "source" / "data", tools(folder)
    source.parent.mkdir()
    first, second = write_versions(folder, mib)
    use_memory(folder, BALLAST * mib)
    figures: dict[str, list[list[float]]] = {tool.name: [] for tool in used}
    loads = [os.getloadavg()[0]]
    for turn in range(ROUNDS):
        for tool in [*used[turn % len(used) :], *used[: turn % len(used)]]:
            figures[tool.name].append(one_round(tool, source, [first, second], folder / "again"))
            loads.append(os.getloadavg()[0])
    print(f"load average from {min(loads):.1f} to {max(loads):.1f}, {os.cpu_count()} cores")
    told_versions(
        {name: np.median(rounds, axis=0).tolist() for name, rounds in figures.items()},
        first.stat().st_size / 1e6,
    )


def use_memory(folder: Path, mib: int) -> None:
    """Write and remove a file, so that no tool is the first to touch memory that a virtual machine
    has to get from its host."""
    with (folder / "ballast").open("wb") as file:
        for _ in range(mib):
            file.write(bytes(MIB))
    (folder / "ballast").unlink()


def one_round(tool: Tool, source: Path, made: Sequence[Path], to: Path) -> list[float]:
    """Save both versions and restore the second one; return for each save megabytes stored and
    seconds of the processor and of the clock, and for the restore these seconds."""
    figures: list[float] = []
    for call in tool.begin:
        tool.run(call)
    for number, path in enumerate(made, 1):
        source.unlink(missing_ok=True)
        source.hardlink_to(path)
        os.sync()
        before = tool.stored()
        spent = tool.run(tool.save(source, f"v{number}"))
        figures += [(tool.stored() - before) / 1e6, *spent]
    to.mkdir()
    os.sync()
    figures += tool.run(tool.restore("v2", to), cwd=to)
    (again,) = [one for one in to.rglob("data") if one.is_file()]
    assert filecmp.cmp(again, made[-1], shallow=False), f"{tool.name} restored something else"
    shutil.rmtree(to)
    shutil.rmtree(tool.store)
    shutil.rmtree(tool.store.parent / "borg-base", ignore_errors=True)
    return figures


def told_versions(figures: dict[str, list[float]], size: float) -> None:
    """Print the table."""
    print(f"{size:,.0f} MB, then a version with {REWRITTEN:.0%} rewritten and a shift; medians of "
          f"{ROUNDS} rounds")  # fmt: skip
    print(f"{'':<24}{'stored, MB':>16}{'processor, s':>30}{'wall, s':>30}")
    columns = "".join(f"{name:>10}" for name in ("1st", "2nd", "restore"))
    print(f"{'':<24}{'1st':>8}{'2nd':>8}{columns}{columns}")
    for name, (first, cpu, wall, second, cpu2, wall2, cpu3, wall3) in figures.items():
        spent = "".join(f"{one:>10.2f}" for one in (cpu, cpu2, cpu3, wall, wall2, wall3))
        print(f"{name:<24}{first:>8,.0f}{second:>8,.0f}{spent}")
    ours = next(iter(figures.values()))
    print(f"second save: {ours[3] / ours[0]:.1%} of what the first stored")
    for name, other in list(figures.items())[1:]:
        spent, wall = (sum(ours[k : k + 4 : 3]) / sum(other[k : k + 4 : 3]) for k in (1, 2))
        print(f"beside {name}: second save {ours[3] / other[3]:.2f} of its bytes; processor time "
              f"of both saves {spent:.2f}, of the restore {ours[6] / other[6]:.2f}; wall time "
              f"{wall:.2f} and {ours[7] / other[7]:.2f}")  # fmt: skip


SMALL: Final = 4000
"""Bytes of the largest small file."""
IN_FOLDER: Final = 100


def write_files(folder: Path, count: int) -> list[Path]:
    """Write small files; return their paths."""
    chance, paths = np.random.default_rng(35), []
    for number in range(count):
        path = folder / f"{number // IN_FOLDER // 20}" / f"{number // IN_FOLDER}" / f"{number}"
        if number % IN_FOLDER == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(chance.bytes(int(chance.integers(100, SMALL))))
        paths.append(path)
    return paths


def files(folder: Path, count: int) -> None:
    """Print what many small files take with each tool, one after the other."""
    source, used = folder / "source" / "data", tools(folder)
    paths = write_files(source, count)
    changed = paths[:: round(1 / REWRITTEN)]
    print(f"{count:,} files, {sum(path.stat().st_size for path in paths) / 1e6:,.0f} MB; then "
          f"{len(changed):,} of them rewritten")  # fmt: skip
    heads = [f"{what}, {unit}" for unit in ("cpu s", "wall s")
             for what in ("1st", "2nd", "restore")]  # fmt: skip
    print(f"{'':<24}" + "".join(f"{head:>16}" for head in heads) + f"{'load':>8}")
    ours: list[float] = []
    for tool in used:
        figures = one_round_of_files(tool, source, changed, folder / "again")
        ours = ours or figures
        print(f"{tool.name:<24}" + "".join(f"{one:>16.2f}" for one in figures)
              + f"{os.getloadavg()[0]:>8.1f}", flush=True)  # fmt: skip
        if figures is not ours:
            ratios = (mine / other for mine, other in zip(ours, figures, strict=True))
            print(f"{'  forestall, of that':<24}" + "".join(f"{one:>16.2f}" for one in ratios))


def one_round_of_files(tool: Tool, source: Path, changed: Sequence[Path], to: Path) -> list[float]:
    """Save, change some and save again, restore; return seconds of the processor for each, and of
    the clock."""
    for call in tool.begin:
        tool.run(call)
    os.sync()
    spent = [tool.run(tool.save(source, "v1"))]
    for number, path in enumerate(changed):
        path.write_bytes(b"%d of %s" % (number, tool.name.encode()))
    os.sync()
    spent.append(tool.run(tool.save(source, "v2")))
    to.mkdir()
    os.sync()
    spent.append(tool.run(tool.restore("v2", to), cwd=to))
    again = next(path for path in to.rglob("data") if path.is_dir())
    same = subprocess.run(["diff", "-rq", source, again], capture_output=True, check=False)
    assert not same.returncode, f"{tool.name} restored something else"
    for folder in (to, tool.store, tool.store.parent / "borg-base"):
        shutil.rmtree(folder, ignore_errors=True)
    return [cpu for cpu, _ in spent] + [wall for _, wall in spent]


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


def write_libraries(path: Path, mib: int) -> None:
    """Write compiled code, most of what the image of a process has beside its data: the libraries
    that are installed for this interpreter."""
    found = sorted(Path(sysconfig.get_path("platlib")).rglob("*.so*"))
    with path.open("wb") as file:
        for one in found:
            if file.tell() < mib * MIB and one.is_file() and not one.is_symlink():
                file.write(one.read_bytes())


def pipeline(folder: Path, mib: int) -> None:
    """Print the speed of a save beside that of its slowest stage alone, compression; medians of
    rounds in which they take turns."""
    tool = tools(folder)[0]
    use_memory(folder, 2 * mib)
    for name, write in {"noise of 4 bits": write_half, "compiled code": write_libraries}.items():
        path = folder / name.replace(" ", "-")
        write(path, mib)
        one_pipeline(path, tool, name)


def one_pipeline(path: Path, tool: Tool, name: str) -> None:
    """Print it for one file."""
    found, mib, tiny = [], path.stat().st_size / MIB, path.with_name("tiny")
    tiny.write_bytes(bytes(1024))
    for _ in range(ROUNDS):
        small, core, alone = compression_alone(path)
        whole = tool.run(tool.save(path, "x"))
        stored = tool.stored()
        shutil.rmtree(tool.store)
        found.append((core, alone, *whole, tool.run(tool.save(tiny, "x"))[1]))
        shutil.rmtree(tool.store)
    core, alone, spent, wall, start = np.median(found, axis=0).tolist()
    cores = len(os.sched_getaffinity(0))
    print(f"{mib:,.0f} MiB, {name}, that compress to {small / mib / MIB:.0%}: compression alone "
          f"{core:.2f} s of the processor ({mib / core:,.0f} MiB/s a core) and {alone:.2f} s of "
          f"wall time, a whole save {spent:.2f} s, {wall:.2f} s of wall time ({mib / wall:,.0f} "
          f"MiB/s, {core / wall:.0%} of one core's compression), of which {start:.2f} s to start: "
          f"without them {core / (wall - start):.0%} of one core's compression, "
          f"{alone / (wall - start):.0%} of its wall time beside others; {cores} cores, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    block, begun = bytes(PIECE), time.process_time()
    for _ in range(stored // PIECE + small // PIECE):  # of each piece, and of each pack
        xxh3_128_digest(block)
    sums = time.process_time() - begun
    print(
        f"checksums of what is stored: {sums:.2f} s of the processor, {sums / spent:.1%} of a save"
    )


def hung(folder: Path, mib: int) -> None:
    """Print what a host costs that accepts connections and never answers."""
    path, ours = folder / "noise", [sys.executable, "-m", "forestall", "checkpoint"]
    path.write_bytes(np.random.default_rng(21).bytes(mib * MIB))
    stores = [f"--store={folder / name}" for name in "abc"]
    there = f"--store={folder / 'd'}"
    code, state = ["--data=2", "--parity=1", "--json"], {"XDG_STATE_HOME": str(folder / "state")}
    tool = Tool("forestall", folder, [], lambda *_: [], lambda *_: [],
                state | {"FORESTALL_STORAGE_TOKEN": "none"})  # fmt: skip
    tool.run([*ours, "init", *stores, there])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        more = [*stores, f"--store=forestall://{address}"]
        walls = np.array([
            [tool.run([*ours, "save", str(path), *where, *code, f"--label={k}-{turn}"])[1]
             for k, where in enumerate(([*stores, there], more))] for turn in range(ROUNDS)
        ])  # fmt: skip
        whole, waits = np.median(walls, axis=0)
        print(f"forestall, 2 + 1, {mib:,} MiB: {whole:.1f} s on four hosts, {waits:.1f} s where "
              f"one hangs: {waits / whole:.1f} times, {waits - whole:.1f} s more; load "
              f"{os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
        others = {
            "restic": ["restic", "-q", f"--repo=rest:http://{address}/", "backup", str(path)],
            "borg": ["borg", "create", f"ssh://{address}/./at::one", str(path)],
        }
        hangs = {"RESTIC_PASSWORD": "none", "BORG_RSH": "sh -c 'sleep 600'"}
        for name, call in others.items():
            if shutil.which(name):
                begun = time.perf_counter()
                with subprocess.Popen(call, env=os.environ | hangs, start_new_session=True,
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as process:  # fmt: skip
                    try:
                        told = f"ends with {process.wait(CAP)}"
                    except subprocess.TimeoutExpired:
                        os.killpg(process.pid, signal.SIGKILL)
                        told = "waits on"
                print(f"{name}: nothing saved; after {time.perf_counter() - begun:.0f} s it {told}")


def compression_alone(path: Path) -> tuple[int, float, float]:
    """Return the bytes of a file's distinct chunks, compressed as a save does it, and the
    processor's seconds and the clock's."""
    shrink, small, spent, passed = zstandard.ZstdCompressor(level=1), 0, 0.0, 0.0
    seen: set[bytes] = set()
    with path.open("rb") as file:
        for cuts in cut_stream(file, Cutting()):
            new = dict(zip(cuts.names, cuts.parts, strict=True))
            parts = [part for name, part in new.items() if name not in seen]
            seen.update(new)
            begun, at = time.process_time(), time.perf_counter()
            if parts:
                small += shrink.multi_compress_to_buffer(parts).size()
            spent += time.process_time() - begun
            passed += time.perf_counter() - at
    return small, spent, passed


def main(arguments: list[str]) -> None:
    """Run what is asked for, or all."""
    known = argparse.ArgumentParser(description=__doc__)
    known.add_argument("what", nargs="*", default=[])
    known.add_argument("--mib", type=int, default=None)
    known.add_argument("--files", type=int, default=100_000)
    known.add_argument("--folder", type=Path, default=None)
    asked = known.parse_args(arguments)
    every = {"versions": (versions, 1024), "files": (files, 0), "pipeline": (pipeline, 1024),
             "memory": (memory, 16_384), "hung": (hung, 16)}  # fmt: skip
    for name in asked.what or every:
        folder = Path(tempfile.mkdtemp(dir=asked.folder))
        try:
            run, mib = every[name]
            run(folder, asked.files if run is files else asked.mib or mib)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
