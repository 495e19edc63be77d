"""The certifier's rules of checkpoints in a vault: what transfers take, who keeps pieces, what each
stay went on from, and the measures of all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.files import PARTS
from forestall.app.cycle.certify.stored import LAST, RESTORE, SAVE, Costs, Transfers, clients_of
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sums import differences
from forestall.model.cycle import StayEnd

TOLERANCE = 1e-9
_BEYOND = ("remote", "submitter")


def transfers(run: Facts, finding: Finding) -> str:
    """Each transfer takes what its size, its paths and those who use them at the time say, and
    carries what it should."""
    rows, given = run.transfers, run.given
    costs = costs_of(run)
    late = 0
    for row, used in clients_of(rows):
        late = _in_order(rows, row, late, finding)
        kind, host, stores = int(rows.kind[row]), int(rows.host[row]), rows.stores(row)
        whole = kind == RESTORE or rows.base[row] == rows.version[row]
        raw, piece = costs.sizes(whole)
        rates = [costs.rate(host, one, used.get(one, 0) + 1) for one in stores]
        length = costs.seconds(raw, piece, rates)
        length += given.restart if kind == RESTORE else given.overhead
        told = int(rows.until[row] - rows.start[row])
        text = "checkpoints.csv, line {0}: takes {1} s, but {2} s by size, paths and clients"
        if told != length if rows.complete[row] else not 0 <= told < length:
            finding.wrong(text, rows.line[row], told, length)
        if kind == LAST and length > costs.stores.grace:
            text = "checkpoints.csv, line {0}: a last checkpoint of {1} s, but owners leave {2} s"
            finding.wrong(text, rows.line[row], length, costs.stores.grace)
        amount = piece * (costs.needed if kind == RESTORE else costs.pieces)
        if rows.bytes[row] != amount:
            text = "checkpoints.csv, line {0}: carries {1} bytes instead of {2}"
            finding.wrong(text, rows.line[row], rows.bytes[row], amount)
    return f"{len(rows)} transfers, each consistent with size, paths and clients"


def _in_order(rows: Transfers, row: int, late: int, finding: Finding) -> int:
    if rows.start[row] < late:
        text = "checkpoints.csv, line {0}: begins before the row above it"
        finding.wrong(text, rows.line[row])
    return max(int(rows.start[row]), late)


def places(run: Facts, finding: Finding) -> str:
    """Pieces go to so many different hosts that may keep them and are available; they are read from
    hosts that are not away."""
    rows, costs = run.transfers, costs_of(run)
    hosts, layout = len(run.hosts), costs.stores.layout
    allowed = set(costs.stores.numbers(hosts))
    for row in range(len(rows)):
        stores, kind, host = rows.stores(row), int(rows.kind[row]), int(rows.host[row])
        count = costs.needed if kind == RESTORE else costs.pieces
        line = rows.line[row]
        if len(set(stores)) != count or len(stores) != count:
            text = "checkpoints.csv, line {0}: pieces on {1} stores instead of {2}"
            finding.wrong(text, line, len(set(stores)), count)
        shared = [one for one in stores if one < hosts]
        if (len(shared) == len(stores)) != (layout in ("code", "local")):
            finding.wrong("checkpoints.csv, line {0}: pieces in the wrong kind of store", line)
        if layout == "local" and kind != RESTORE and stores != [host]:
            finding.wrong("checkpoints.csv, line {0}: not on the host's own disk", line)
        if layout == "code" and not set(shared) <= (
            allowed - ({host} if kind != RESTORE else set())
        ):
            finding.wrong("checkpoints.csv, line {0}: pieces on a host that keeps none", line)
        most = 3 if kind == RESTORE or layout == "local" else 1
        for one in shared:
            state = state_at(run, one, int(rows.start[row]))
            if state > most:
                text = "checkpoints.csv, line {0}: host {1} is in S{2} at {3}"
                finding.wrong(text, line, one, state + 1, rows.start[row])
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
    lost = run.owner_of_transfer < 0
    finding.where(lost, "checkpoints.csv, line {0}: belongs to no stay of its job", rows.line)
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
            text = "job {0} has {1} saved at {2}, but its versions hold {3} (stays.csv, line {4})"
            told = (stays.saved[stay] / PARTS, stays.end[stay], saved / PARTS, stays.line[stay])
            finding.wrong(text, run.names[stay], *told)
    return f"{len(stays)} stays, each resumed from the newest recoverable version"


def _went_on(run: Facts, kept: KeptVersions, stay: int, finding: Finding) -> None:
    """What a stay goes on from, and what is given up by that."""
    stays, rows = run.stays, run.transfers
    place = kept.newest(int(stays.start[stay]))
    restores = [row for row in run.transfers_of_stay(stay) if rows.kind[row] == RESTORE]
    kept.rows = kept.rows[: place + 1]
    work, line = kept.work, stays.line[stay]
    text = "job {0} resumes from {1} at {2}, but {3} can be recovered (stays.csv, line {4})"
    if stays.resumed[stay] != work:
        told = (stays.resumed[stay] / PARTS, stays.start[stay], work / PARTS, line)
        finding.wrong(text, run.names[stay], *told)
    if len(restores) != (place >= 0):
        text = "job {0} restores {1} times in its stay from {2} on (stays.csv, line {3})"
        finding.wrong(text, run.names[stay], len(restores), stays.start[stay], line)
    for row in restores:
        mine = kept.rows[-1] if kept.rows else -1
        same = mine >= 0 and rows.version[mine] == rows.version[row]
        same = same and rows.base[mine] == rows.base[row] and rows.work[mine] == rows.work[row]
        same = same and set(rows.stores(row)) <= set(rows.stores(mine))
        if not same or rows.start[row] != stays.start[stay]:
            finding.wrong(
                "checkpoints.csv, line {0}: restores a version that is not there", rows.line[row]
            )


def _saved(run: Facts, kept: KeptVersions, stay: int, row: int, finding: Finding) -> None:
    """A save has the next number, leans on what it can, and holds what was done by then."""
    rows, line = run.transfers, run.transfers.line[row]
    base = kept.base(int(rows.start[row]))
    kept.begun += 1
    if rows.version[row] != kept.begun:
        text = "checkpoints.csv, line {0}: version {1}, but it is number {2} of its job"
        finding.wrong(text, line, rows.version[row], kept.begun)
    if rows.base[row] != base:
        text = "checkpoints.csv, line {0}: builds on version {1} instead of {2}"
        finding.wrong(text, line, rows.base[row], base)
    least, most = run.work_bounds(stay, int(rows.start[row]))
    if not least <= rows.work[row] <= most:
        text = "checkpoints.csv, line {0}: holds {1} of work, but {2} to {3} are possible"
        finding.wrong(text, line, *(one / PARTS for one in (rows.work[row], least, most)))
    if rows.complete[row]:
        kept.add(row)


def _due(run: Facts, stay: int, finding: Finding) -> None:
    """Saves come after each interval of work; one is left out only where too few hosts can be
    reached."""
    stays, rows, costs, given = run.stays, run.transfers, costs_of(run), run.given
    since, end = int(stays.start[stay]), int(stays.end[stay])
    mine = run.transfers_of_stay(stay)
    for row in [*mine, -1]:
        if row >= 0 and rows.kind[row] == RESTORE:
            since = int(rows.until[row])
            continue
        last = row >= 0 and rows.kind[row] == LAST
        start = end if row < 0 or last else int(rows.start[row])
        if given.interval:
            due = list(range(since + given.interval, start, given.interval))
            off = row >= 0 and not last and (start - since) % given.interval
            if off and start != stays.asked[stay]:
                due.append(start)
                text = "checkpoints.csv, line {0}: begins at {1}, but none is due then"
                finding.wrong(text, rows.line[row], start)
            skipped = [time for time in due if _reachable(run, stay, time) >= costs.pieces]
            if skipped:
                text = "job {0} is not saved at {1}, although it is due and hosts are reachable"
                finding.wrong(text, run.names[stay], skipped[0])
        elif row >= 0 and not last and start != stays.asked[stay]:
            finding.wrong("checkpoints.csv, line {0}: none is due", rows.line[row])
        if row < 0 or last:
            return
        since = int(rows.until[row])


def _reachable(run: Facts, stay: int, time: int) -> int:
    """Return how many stores a save could go to."""
    costs, hosts = costs_of(run), len(run.hosts)
    if costs.stores.layout != "code":
        return costs.pieces
    mine = int(run.stays.host[stay])
    keep = (one for one in costs.stores.numbers(hosts) if one != mine)
    return sum(state_at(run, one, time) <= 1 for one in keep)


def lost(run: Facts, finding: Finding) -> str:
    """What stays lose, as they begin and as they end, and the checkpoints they count."""
    stays, jobs, rows = run.stays, run.jobs, run.transfers
    names, done = jobs.name[stays.job], stays.ended == StayEnd.COMPLETED
    whole = jobs.runtime[stays.job] * PARTS
    reached = stays.resumed + stays.work
    text = "job {0} is completed with {1} of {2} done (millionths; stays.csv, line {3})"
    finding.where(done & (reached != whole), text, names, reached, whole, stays.line)
    text = "job {0} has {1} of {2} done, but is not completed (millionths; stays.csv, line {3})"
    finding.where(~done & (reached >= whole), text, names, reached, whole, stays.line)
    behind = stays.before - stays.resumed
    gone = behind + np.where(stays.left, reached - stays.saved, 0)
    text = "job {0} lost {1} at {2}, but {3} by its work and saved (stays.csv, line {4})"
    told = (stays.lost / PARTS, stays.end, gone / PARTS)
    finding.where(stays.lost != gone, text, names, *told, stays.line)
    taken = np.zeros(len(stays), dtype=np.int64)
    owned = (run.owner_of_transfer >= 0) & (rows.kind != RESTORE) & rows.complete
    np.add.at(taken, run.owner_of_transfer[owned], 1)
    text = "job {0} has {1} checkpoints, but {2} were completed (stays.csv, line {3})"
    finding.where(stays.checkpoints != taken, text, names, stays.checkpoints, taken, stays.line)
    return f"{int(stays.checkpoints.sum())} checkpoints in {len(stays)} stays"


# ------------------------------------------------------------------------------- measures


def measures(run: Facts, finding: Finding) -> str:
    """The measures of the vault in `summary.json`, anew."""
    said = run.summary.held.get("vault")
    if not isinstance(said, dict):
        finding.wrong("summary.json has no measures of the vault")
        return ""
    mine = _measures(run)
    for name, value in mine.items():
        finding.each(differences(f"vault.{name}", said.get(name, "nothing"), value, TOLERANCE))
    return f"{len(mine)} measures"


def _measures(run: Facts) -> dict[str, Any]:
    rows, stays, costs = run.transfers, run.stays, costs_of(run)
    over, length = rows.complete, rows.until - rows.start
    of = [rows.kind == kind for kind in (SAVE, LAST, RESTORE)]
    behind = stays.before - stays.resumed
    held, busy = int((stays.end - stays.start).sum()), int(length[~of[LAST]].sum())

    def mean(chosen: Any) -> float | None:
        return float(length[chosen].sum()) / int(chosen.sum()) if chosen.any() else None

    return {
        "saves": int((of[SAVE] & over).sum()),
        "last_saves": int((of[LAST] & over).sum()),
        "restores": int((of[RESTORE] & over).sum()),
        "broken_saves": int((of[SAVE] & ~over).sum()),
        "broken_restores": int((of[RESTORE] & ~over).sum()),
        "behind": int((behind > 0).sum()),
        "unrecovered": math.fsum(behind.tolist()) / PARTS,
        "save_seconds": mean(of[SAVE] & over),
        "restore_seconds": mean(of[RESTORE] & over),
        "time_share": busy / held if held else None,
        "bytes_saved": int(rows.bytes[~of[RESTORE] & over].sum()),
        "bytes_restored": int(rows.bytes[of[RESTORE] & over].sum()),
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
