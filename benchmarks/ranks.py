"""Checkpoints of like ranks: bytes, files, messages and time of a save of all together, beside each
rank compressing its own, by number of ranks and fan-out of the tree.

    python -m benchmarks.ranks [RANKS ...]

Each rank is a process of this machine with a state of 8 MiB; all write into one folder, as on a
parallel file system, without parity.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zstandard

from forestall.vaults.hosts.folder import FolderHost
from forestall.vaults.pieces.codes import Code
from forestall.vaults.ranks.members import Links
from forestall.vaults.ranks.processes import in_processes
from forestall.vaults.ranks.sharing import SharedSave, in_memory
from forestall.vaults.ranks.states import Buffer, packed
from forestall.vaults.ranks.tree import Tree
from forestall.vaults.repository import Vault, VaultRules
from forestall.vaults.saving import SaveSettings

MIB = 1 << 20
RANKS, FANOUTS = (1, 4, 16, 64), (2, 8, 64)


class Measured(NamedTuple):
    """What one rank did: begin and end, CPU seconds, bytes it compressed to, bytes of messages that
    reached it."""

    begin: float
    end: float
    cpu: float
    kept: int
    heard: int


class Counting(Links):
    """Links that count what comes in."""

    def __init__(self, links: Links) -> None:
        self.rank, self.size, self._links, self.heard = links.rank, links.size, links, 0

    def send(self, to: int, message: Buffer) -> None:
        self._links.send(to, message)

    def receive(self, of: int) -> Buffer:
        found = self._links.receive(of)
        self.heard += len(found)
        return found


def state_of(kind: str, rank: int, ranks: int) -> Buffer:
    """Like ranks: 6 MiB of tables that all have, 1.5 MiB of an own field, and a halo: copies of the
    edges, 256 KiB each, of both neighbours' fields. Unlike ones: 8 MiB of an own field."""

    def field(of: int, size: int) -> np.ndarray:
        steps = np.random.default_rng([of, 1]).standard_normal(size // 8)
        return np.round(np.cumsum(steps), 6)

    if kind == "unlike":
        return packed({"field": field(rank, 8 * MIB)})
    own = field(rank, 3 * MIB // 2)
    edge = 256 * 1024 // 8
    left, right = field((rank - 1) % ranks, 3 * MIB // 2), field((rank + 1) % ranks, 3 * MIB // 2)
    table = np.round(np.sort(np.random.default_rng(0).random(6 * MIB // 8)), 9)
    return packed({"table": table, "field": own, "left": left[-edge:], "right": right[:edge]})


def together(kind: str, folder: Path, fanout: int, links: Links, _: int) -> Measured:
    """Save as one of all ranks."""
    data, counted = state_of(kind, links.rank, links.size), Counting(links)
    settings = SaveSettings(code=Code(1, 0))
    _meet(links, fanout)
    begin, cpu = time.monotonic(), time.process_time()
    open_vault = partial(Vault.open, [FolderHost(folder)], begin=VaultRules())
    save = SharedSave(open_vault, counted, settings, fanout=fanout)
    save.write([in_memory(f"rank-{links.rank}", data)])
    if save.is_root:
        save.commit()
    end = time.monotonic()
    return Measured(begin, end, time.process_time() - cpu, save.figures["packed"], counted.heard)


def each(kind: str, folder: Path, fanout: int, links: Links, _: int) -> Measured:
    """Compress one's own, and write it into a file."""
    data = state_of(kind, links.rank, links.size)
    _meet(links, fanout)
    begin, cpu = time.monotonic(), time.process_time()
    small = zstandard.ZstdCompressor(level=1).compress(data.data)
    with (folder / f"rank-{links.rank}").open("wb") as file:
        file.write(small)
        file.flush()
        os.fsync(file.fileno())
    return Measured(begin, time.monotonic(), time.process_time() - cpu, len(small), 0)


def _meet(links: Links, fanout: int) -> None:
    tree = Tree(links, fanout)
    tree.turn(lambda _: {}, lambda _: {}, lambda told: [told] * len(tree.children))


def measured(kind: str, ranks: int, fanout: int, *, shared: bool) -> tuple[str, int]:
    """One row of the table, and the bytes that were kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        work = partial(together if shared else each, kind, folder, fanout)
        found = in_processes(work, range(ranks), fanout)
        files = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
    wall = max(one.end for one in found) - min(one.begin for one in found)
    how = f"fan-out {fanout}" if shared else "each its own"
    kept = sum(one.kept for one in found)
    return (
        f"{kind:<8}{ranks:>5}  {how:<14}{size / MIB:>9.1f} MiB{len(files):>7} files"
        f"{wall:>8.2f} s{sum(one.cpu for one in found):>8.2f} CPU s"
        f"{found[0].heard / 1024:>10.0f} KiB{max(one.heard for one in found) / 1024:>9.0f} KiB"
    ), kept


def main() -> None:
    counts = [int(one) for one in sys.argv[1:]] or RANKS
    print(f"{'state':<8}{'ranks':>5}  {'how':<14}{'in the folder':>13}{'':>13}{'wall':>10}"
          f"{'':>14}{'to root':>14}{'most':>13}")  # fmt: skip
    for kind in ("like", "unlike"):
        for ranks in counts:
            row, alone = measured(kind, ranks, 8, shared=False)
            print(row)
            for fanout in FANOUTS:
                if fanout == FANOUTS[0] or fanout // 2 < ranks:
                    row, kept = measured(kind, ranks, fanout, shared=True)
                    print(f"{row}  {kept / alone:6.1%} of the bytes")


if __name__ == "__main__":
    main()
