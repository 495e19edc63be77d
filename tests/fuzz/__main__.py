"""`make fuzz`: mutations of every format until all are played, or for ever.

`python -m fuzz [--seed SEED] [--count COUNT] [--formats NAME,...] [--kept DIR] [--workers N]
[--bounds]`
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count as counted
from pathlib import Path

from fuzz.every import FORMATS
from fuzz.formats import Format
from fuzz.play import Played, Server, Stage


class Account:
    """What was played and found, told as it comes; the files of finds are kept."""

    def __init__(self, kept: Path) -> None:
        self.kept = kept
        self.played: Counter[str] = Counter()
        self.finds: Counter[tuple[str, str]] = Counter()
        self.lock = threading.Lock()
        self.begun = time.monotonic()
        self.most = {"cpu": 0.0, "memory": 0.0}

    def add(self, one: Played, case: Path) -> None:
        """Note one mutation; keep its folder where something was found."""
        with self.lock:
            self.played[
                "found" if one.found else "refused" if one.outcome.code == 2 else "read"
            ] += 1
            self.most["cpu"] = max(self.most["cpu"], one.outcome.cpu)
            self.most["memory"] = max(self.most["memory"], one.outcome.memory / 2**30)
            if one.found:
                self.finds[one.found] += 1
                if self.finds[one.found] == 1:
                    place = self.kept / f"{one.format}-{one.seed}"
                    shutil.rmtree(place, ignore_errors=True)
                    shutil.copytree(case, place)
                    print(f"{one.found.what}: {one.found.where}\n  {one.line}  # {one.file}: "
                          f"forestall {' '.join(one.arguments)}", flush=True)  # fmt: skip
            if self.played.total() % 500 == 0:
                print(self.told(), flush=True)

    def told(self) -> str:
        """Return the counts in a line."""
        played = self.played
        return (
            f"{played.total():,} mutations in {time.monotonic() - self.begun:,.0f} s: "
            f"{played['refused']:,} refused, {played['read']:,} read, {played['found']:,} found "
            f"({len(self.finds)} different); at most {self.most['cpu']:.1f} s of processor and "
            f"{self.most['memory']:.2f} GB"
        )


def main() -> int:
    """Play, and return 1 where anything was found."""
    reader = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    reader.add_argument("--seed", type=int, default=1, help="of the first mutation of each format")
    reader.add_argument("--count", type=int, default=0, help="of each format; 0: without end")
    reader.add_argument("--formats", default="all", help="names, parted by commas")
    reader.add_argument("--kept", type=Path, default=Path("fuzz-finds"))
    reader.add_argument("--workers", type=int, default=2)
    reader.add_argument("--bounds", action="store_true",
                        help="compile kernels anew, with a check of each index")  # fmt: skip
    asked = reader.parse_args()
    if asked.bounds:
        kernels = str(asked.kept.absolute() / "kernels")
        os.environ |= {"NUMBA_BOUNDSCHECK": "1", "FORESTALL_KERNEL_CACHE": kernels}
    names = list(FORMATS) if asked.formats == "all" else asked.formats.split(",")
    strange = [name for name in names if name not in FORMATS]
    if strange:
        print(f"no such format: {', '.join(strange)}; there are {', '.join(FORMATS)}")
        return 2
    account = Account(asked.kept)
    rest = iter(
        (FORMATS[name], seed)
        for seed in (
            range(asked.seed, asked.seed + asked.count) if asked.count else counted(asked.seed)
        )
        for name in names
    )
    lock, stop = threading.Lock(), threading.Event()
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(asked.workers) as pool:
        rooms = [Path(home) / str(k) for k in range(asked.workers)]

        def work(room: Path) -> None:
            with Server(room) as server:
                stage = Stage(room, server)
                while not stop.is_set():
                    with lock:
                        given: tuple[Format, int] | None = next(rest, None)
                    if given is None:
                        return
                    account.add(stage.play(*given), room / "case")

        done = [pool.submit(work, room) for room in rooms]
        try:
            for one in done:
                one.result()
        except KeyboardInterrupt:
            stop.set()
    print(account.told())
    for (what, where), times in account.finds.most_common():
        print(f"{times:6} {what}: {where}")
    return int(bool(account.finds))


if __name__ == "__main__":
    sys.exit(main())
