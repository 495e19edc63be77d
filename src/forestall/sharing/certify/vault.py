"""Checkpoints in a vault: what transfers take, as `docs/models/vault-in-runs` has it, who keeps
pieces, and what each stay went on from. All anew, from the files alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.sums import mean, per, ratio
from forestall.core.model.cycle import StayEnd
from forestall.core.model.stores import Stores
from forestall.sharing.certify.facts import Facts
from forestall.sharing.certify.files import LAST, PARTS, RESTORE, SAVE, Transfers
from forestall.sharing.certify.jobs import LOSS, finished

MICRO = 1_000_000
_BEYOND = ("remote", "submitter")


@dataclass(frozen=True)
class Costs:
    """What stores say of a transfer: bytes, and rates between hosts."""

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


# --------------------------------------------------------------------------------- transfers


def transfers(run: Facts, finding: Finding) -> str:
    """Each transfer takes what its size, its paths and those who use them at the time say, and
    carries what it should."""
    rows, given, costs = run.transfers, run.given, costs_of(run)
    late = np.append(False, rows.start[1:] < np.maximum.accumulate(rows.start)[:-1])
    rows.where(finding, late[: len(rows)], "begins before the row above it")
    for row, used in clients_of(rows):
        kind, host, stores = int(rows.kind[row]), int(rows.host[row]), rows.stores(row)
        raw, piece = costs.sizes(kind == RESTORE or rows.base[row] == rows.version[row])
        rates = [costs.rate(host, store, used.get(store, 0) + 1) for store in stores]
        length = costs.seconds(raw, piece, rates)
        length += given.restart if kind == RESTORE else given.overhead
        took = int(rows.until[row] - rows.start[row])
        if took != length if rows.complete[row] else not 0 <= took < length:
            text = "takes {took} s, but {length} s by size, paths and clients"
            rows.wrong(finding, row, text, took=took, length=length)
        if kind == LAST and length > costs.stores.grace:
            text = "a last checkpoint of {length} s, but owners leave {grace} s"
            rows.wrong(finding, row, text, length=length, grace=costs.stores.grace)
        amount = piece * (costs.needed if kind == RESTORE else costs.pieces)
        if rows.bytes[row] != amount:
            rows.wrong(finding, row, "carries {bytes} bytes instead of {amount}", amount=amount)
    return f"{len(rows)} transfers, each consistent with size, paths and clients"


def places(run: Facts, finding: Finding) -> str:
    """Pieces go to so many different hosts that may keep them and are available; they are read from
    hosts that are not away."""
    rows, costs = run.transfers, costs_of(run)
    hosts, layout = len(run.hosts), costs.stores.layout
    allowed = set(costs.stores.numbers(hosts))
    for row in range(len(rows)):
        stores, host, start = rows.stores(row), int(rows.host[row]), int(rows.start[row])
        saves = rows.kind[row] != RESTORE
        count = costs.pieces if saves else costs.needed
        shared = [store for store in stores if store < hosts]
        may = allowed - ({host} if saves else set())
        for bad, text in (
            (
                len(set(stores)) != count or len(stores) != count,
                "pieces on {places} stores instead of {count}",
            ),
            (
                (len(shared) == len(stores)) != (layout in ("code", "local")),
                "pieces in the wrong kind of store",
            ),
            (layout == "local" and saves and stores != [host], "not on the host's own disk"),
            (layout == "code" and not set(shared) <= may, "pieces on a host that keeps none"),
        ):
            if bad:
                rows.wrong(finding, row, text, places=len(set(stores)), count=count)
        most = 1 if saves and layout != "local" else 3
        for store in shared:
            state = state_at(run, store, start)
            if state > most:
                text = "host {store} is in S{state} at {start}"
                rows.wrong(finding, row, text, store=store, state=state + 1)
    return f"{len(rows)} transfers, all to and from reachable hosts"


def costs_of(run: Facts) -> Costs:
    """Return what the stores of a run say."""
    assert run.given.stores is not None, "only runs with a vault are asked"
    return Costs(run.given.stores, len(run.hosts))


def state_at(run: Facts, host: int, time: int) -> int:
    """Return the state of a host at a time, 0 to 4."""
    row = run.axis.row(np.array([host]), np.array([time]))
    return int(run.spans.state[row[0]]) if len(run.spans) else 0


# ------------------------------------------------------------------------------- going on


@dataclass
class KeptVersions:
    """What is kept of one job: rows of complete versions, the oldest first; versions begun."""

    run: Facts
    costs: Costs
    rows: list[int] = field(default_factory=list)
    begun: int = 0

    def chain(self, place: int) -> list[int]:
        """Return the rows that a version leans on, itself among them."""
        rows = self.run.transfers
        base = rows.base[self.rows[place]]
        return [row for row in self.rows[: place + 1] if rows.version[row] >= base]

    def recoverable(self, place: int, time: int) -> bool:
        """Return whether enough pieces of a version and of all it leans on can be read."""
        hosts = len(self.run.hosts)
        for row in self.chain(place):
            stores = self.run.transfers.stores(row)
            there = (one == hosts or state_at(self.run, one, time) < 4 for one in stores)
            if sum(there) < self.costs.needed:
                return False
        return True

    def newest(self, time: int) -> int:
        """Return the place of the newest version that can be had of those kept, -1: none."""
        last = len(self.rows) - 1
        for place in range(last, max(last - self.costs.stores.keep, -1), -1):
            if self.recoverable(place, time):
                return place
        return -1

    def add(self, row: int) -> None:
        """Keep a complete version; forget what is kept no longer and what none leans on."""
        rows = self.run.transfers
        self.rows.append(row)
        oldest = self.rows[max(len(self.rows) - self.costs.stores.keep, 0)]
        self.rows = [one for one in self.rows if rows.version[one] >= rows.base[oldest]]

    def base(self, time: int) -> int:
        """Return the first version that the next one leans on."""
        stores = self.costs.stores
        depth = stores.full if stores.fresh < 1 else 1
        place = len(self.rows) - 1
        if place < 0 or len(self.chain(place)) >= depth or not self.recoverable(place, time):
            return self.begun + 1
        return int(self.run.transfers.base[self.rows[place]])

    @property
    def work(self) -> int:
        """Work in the newest version."""
        return int(self.run.transfers.work[self.rows[-1]]) if self.rows else 0


def resumed(run: Facts, finding: Finding) -> str:
    """Each stay goes on from the newest version of which enough pieces can be read; versions come
    when they are due, and are kept as the vault keeps them."""
    stays, rows, costs = run.stays, run.transfers, costs_of(run)
    rows.where(finding, run.owner_of_transfer < 0, "belongs to no stay of job {job}")
    kept = KeptVersions(run, costs)
    for stay in range(len(stays)):
        if stays.first[stay]:
            kept = KeptVersions(run, costs)
        _went_on(run, kept, stay, finding)
        for row in run.transfers_of_stay(stay):
            if rows.kind[row] != RESTORE:
                _saved(run, kept, stay, row, finding)
        _due(run, stay, finding)
        done = stays.ended[stay] == StayEnd.COMPLETED
        saved = int(run.jobs.runtime[stays.job[stay]]) * PARTS if done else kept.work
        if stays.saved[stay] != saved:
            text = "job {job} has {saved} saved at {end}, but its versions hold {here}"
            stays.wrong(finding, stay, text, here=("saved", saved))
    return f"{len(stays)} stays, each resumed from the newest recoverable version"


def _went_on(run: Facts, kept: KeptVersions, stay: int, finding: Finding) -> None:
    """What a stay goes on from, and what is given up by that."""
    stays, rows = run.stays, run.transfers
    place = kept.newest(int(stays.start[stay]))
    restores = [row for row in run.transfers_of_stay(stay) if rows.kind[row] == RESTORE]
    kept.rows = kept.rows[: place + 1]
    if stays.resumed[stay] != kept.work:
        text = "job {job} resumes from {resumed} at {start}, but {here} can be recovered"
        stays.wrong(finding, stay, text, here=("resumed", kept.work))
    if len(restores) != (place >= 0):
        text = "job {job} restores {count} times in its stay from {start} on"
        stays.wrong(finding, stay, text, count=len(restores))
    for row in restores:
        mine = kept.rows[-1] if kept.rows else row
        same = bool(kept.rows) and set(rows.stores(row)) <= set(rows.stores(mine))
        columns = (rows.version, rows.base, rows.work)
        same &= all(column[mine] == column[row] for column in columns)
        if not same or rows.start[row] != stays.start[stay]:
            rows.wrong(finding, row, "restores a version that is not there")


def _saved(run: Facts, kept: KeptVersions, stay: int, row: int, finding: Finding) -> None:
    """A save has the next number, leans on what it can, and holds what was done by then."""
    rows, base = run.transfers, kept.base(int(run.transfers.start[row]))
    kept.begun += 1
    if rows.version[row] != kept.begun:
        text = "version {version}, but it is number {here} of its job"
        rows.wrong(finding, row, text, here=kept.begun)
    if rows.base[row] != base:
        rows.wrong(finding, row, "builds on version {base} instead of {here}", here=base)
    least, most = run.work_bounds(stay, int(rows.start[row]))
    if not least <= rows.work[row] <= most:
        text = "holds {work} of work, but {least} to {most} are possible"
        rows.wrong(finding, row, text, least=("work", least), most=("work", most))
    if rows.complete[row]:
        kept.add(row)


def _due(run: Facts, stay: int, finding: Finding) -> None:
    """Saves come after each interval of work; one is left out only where too few hosts can be
    reached."""
    stays, rows, costs, every = run.stays, run.transfers, costs_of(run), run.given.interval
    since, end = int(stays.start[stay]), int(stays.end[stay])
    for row in [*run.transfers_of_stay(stay), -1]:
        if row >= 0 and rows.kind[row] == RESTORE:
            since = int(rows.until[row])
            continue
        last = row < 0 or rows.kind[row] == LAST
        start = end if last else int(rows.start[row])
        early = not last and start != stays.asked[stay]
        due = list(range(since + every, start, every)) if every else []
        if early and (not every or (start - since) % every):
            due += [start] if every else []
            rows.wrong(finding, row, "begins at {start}, but none is due then")
        skipped = [time for time in due if _reachable(run, stay, time) >= costs.pieces]
        if skipped:
            text = "job {job} is not saved at {time}, although it is due and hosts are reachable"
            stays.wrong(finding, stay, text, time=skipped[0])
        if last:
            return
        since = int(rows.until[row])


def _reachable(run: Facts, stay: int, time: int) -> int:
    """Return how many stores a save could go to."""
    costs, mine = costs_of(run), int(run.stays.host[stay])
    if costs.stores.layout != "code":
        return costs.pieces
    keep = (store for store in costs.stores.numbers(len(run.hosts)) if store != mine)
    return sum(state_at(run, store, time) <= 1 for store in keep)


def lost(run: Facts, finding: Finding) -> str:
    """What stays lose, as they begin and as they end, and the checkpoints they count."""
    stays, rows = run.stays, run.transfers
    reached = finished(run, finding, stays.resumed)
    gone = stays.before - stays.resumed + np.where(stays.left, reached - stays.saved, 0)
    stays.where(finding, stays.lost != gone, LOSS, gone=("lost", gone))
    owned = (run.owner_of_transfer >= 0) & (rows.kind != RESTORE) & rows.complete
    taken = per(run.owner_of_transfer[owned], len(stays))
    text = "job {job} has {checkpoints} checkpoints, but {taken} were completed"
    stays.where(finding, stays.checkpoints != taken, text, taken=taken)
    return f"{int(stays.checkpoints.sum())} checkpoints in {len(stays)} stays"


def measures(run: Facts) -> dict[str, Any]:
    """Return the measures of the vault."""
    rows, stays, costs = run.transfers, run.stays, costs_of(run)
    over, length = rows.complete, rows.until - rows.start
    save, last, restore = (rows.kind == kind for kind in (SAVE, LAST, RESTORE))
    behind = stays.before - stays.resumed
    held, busy = int((stays.end - stays.start).sum()), int(length[~last].sum())
    return {
        "saves": int((save & over).sum()),
        "last_saves": int((last & over).sum()),
        "restores": int((restore & over).sum()),
        "broken_saves": int((save & ~over).sum()),
        "broken_restores": int((restore & ~over).sum()),
        "behind": int((behind > 0).sum()),
        "unrecovered": math.fsum(behind.tolist()) / PARTS,
        "save_seconds": mean(length[save & over]),
        "restore_seconds": mean(length[restore & over]),
        "time_share": ratio(busy, held),
        "bytes_saved": int(rows.bytes[~restore & over].sum()),
        "bytes_restored": int(rows.bytes[restore & over].sum()),
        "bytes_between_sites": _between_sites(rows, costs),
    }


def _between_sites(rows: Transfers, costs: Costs) -> int:
    found = 0
    for row in np.flatnonzero(rows.complete).tolist():
        stores, amount = rows.stores(row), int(rows.bytes[row])
        if costs.stores.layout in _BEYOND:
            found += amount
        elif costs.stores.layout != "server":
            here = costs.site(int(rows.host[row]))
            far = sum(costs.site(one) != here for one in stores)
            found += far * (amount // max(len(stores), 1))
    return found
