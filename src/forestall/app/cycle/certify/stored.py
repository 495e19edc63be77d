"""What the certifier makes of `checkpoints.csv`: transfers by the stays that they belong to, which
hosts could be reached, and what a transfer takes. All anew, from the files alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from forestall.app.cycle.certify.files import MAX_WORK, CycleRun
from forestall.app.kit.certify import sheet as read
from forestall.app.kit.certify.sheet import Bool, Int, Rows, Sheet
from forestall.model.errors import TraceError
from forestall.model.vault.stores import Stores
from forestall.traces.files.findings import shown

KINDS = ("save", "last", "restore")
SAVE, LAST, RESTORE = range(3)
MICRO = 1_000_000
MAX_BYTES = 2**60


def _flags(sheet: Sheet, name: str) -> Bool:
    flags: Bool = sheet.words(name, ("false", "true")) == 1
    return flags


def _places(sheet: Sheet, name: str) -> Int:
    """Return int64[rows, most]: numbers of hosts, that of the server being the number of hosts; -1
    after them."""
    hosts = sheet.given["hosts"]
    rows = [(text or "").split() for text in sheet.frame[name].to_list()]
    found = np.full((len(rows), max((len(row) for row in rows), default=0)), -1, dtype=np.int64)
    for k, row in enumerate(rows):
        for j, word in enumerate(row):
            number = hosts if word == "server" else int(word) if word.isdecimal() else -1
            if not 0 <= number <= hosts or (number == hosts) != (word == "server"):
                raise TraceError(
                    sheet.path, f"{shown(word)} is not a store", line=k + 2, field=name
                )
            found[k, j] = number
    return found


@dataclass(frozen=True)
class Transfers(Rows):
    """`checkpoints.csv`, as it stands."""

    FILE: ClassVar = "checkpoints.csv"
    job: Int = read.job()
    kind: Int = read.words(KINDS)
    host: Int = read.whole(0, "hosts")
    start: Int = read.seconds()
    until: Int = read.seconds()
    complete: Bool = read.column(_flags)
    version: Int = read.whole(1)
    base: Int = read.whole(1)
    work: Int = read.parts(6, MAX_WORK)
    bytes: Int = read.whole(0, MAX_BYTES)
    places: Int = read.column(_places, "stores")
    line: Int = read.line()

    def stores(self, row: int) -> list[int]:
        """Return the stores of a transfer."""
        return [one for one in self.places[row].tolist() if one >= 0]


def transfers_of(run: CycleRun, folder: Path) -> Transfers:
    """Return the transfers of a run's folder."""
    return Transfers.read(folder, hosts=len(run.hosts), ids=run.jobs.name)


@dataclass(frozen=True)
class Costs:
    """What stores say of a transfer: raw and stored bytes as `docs/models/vault-in-runs` has
    them, and rates between hosts."""

    stores: Stores
    hosts: int

    @cached_property
    def needed(self) -> int:
        """Pieces that give a checkpoint back."""
        return self.stores.data if self.stores.layout == "code" else 1

    @cached_property
    def pieces(self) -> int:
        """Pieces of a checkpoint."""
        return self.needed + (self.stores.parity if self.stores.layout == "code" else 0)

    def sizes(self, whole: bool) -> tuple[int, int]:
        """Return the bytes that are looked at, and those of a piece."""
        raw = self.stores.size if whole else max(1, math.ceil(self.stores.size * self.stores.fresh))
        return raw, -(-math.ceil(raw / self.stores.ratio) // self.needed)

    def site(self, host: int) -> int:
        """Return the site of a host."""
        return host * self.stores.sites // self.hosts

    def rate(self, host: int, store: int, clients: int) -> int:
        """Return B/s between a host and a store that so many transfers use."""
        s = self.stores
        if store == host:
            return s.disk
        if store == self.hosts:
            carried = s.line if s.layout == "submitter" else s.server
            path = s.near if s.layout == "server" else s.far
            return max(min(path, carried // clients), 1)
        path = s.near if self.site(host) == self.site(store) else s.far
        return max(min(path, s.host // clients), 1)

    def seconds(self, raw: int, piece: int, rates: list[int]) -> int:
        """Return the whole seconds of a transfer of a piece at each of these rates."""
        carried = sum(piece * MICRO // rate for rate in rates)
        return max(-(-max(raw * MICRO // self.stores.speed, carried) // MICRO), 1)


def clients_of(transfers: Transfers) -> Iterator[tuple[int, dict[int, int]]]:
    """Return each transfer with how many of those that are under way as it begins use each store:
    those that stand before it and are not over yet.

    Hosts that change in one second do so in order of their numbers: as one takes a last checkpoint,
    what those after it break off in that second is still under way.
    """
    rows = transfers
    active: list[int] = []
    for row in range(len(rows)):
        now = rows.start[row]
        active = [one for one in active if rows.until[one] >= now]
        count: dict[int, int] = {}
        for one in active:
            broken = rows.kind[row] == LAST and not rows.complete[one]
            if rows.until[one] > now or (broken and rows.host[one] > rows.host[row]):
                for store in rows.stores(one):
                    count[store] = count.get(store, 0) + 1
        yield row, count
        active.append(row)
