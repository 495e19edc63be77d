"""The certifier's rule of guests that move before their hosts are expected to leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.app.cycle.certify.facts import Facts
from forestall.app.cycle.certify.stored import RESTORE, SAVE
from forestall.app.cycle.certify.sums import occurrences
from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Bool, Int
from forestall.app.kit.certify.sums import differences
from forestall.model.cycle import StayEnd

TOLERANCE = 1e-9


def moves(run: Facts, finding: Finding) -> str:
    """Guests are looked at when it is time, while they work; they are saved, and then leave; and
    the measures of that in `summary.json`, anew."""
    stays, given = run.stays, run.given
    asked = stays.asked != NONE
    told = (run.names, stays.asked, stays.line)
    text = "job {0} is to move from {1} on, {3} (stays.csv, line {2})"

    def check(wrong: Bool, why: str) -> None:
        finding.where(asked & wrong, text, *told, [why] * len(stays))

    check((stays.asked <= stays.start) | (stays.asked > stays.end), "outside its stay")
    check((stays.asked - given.begin) % given.every != 0, "but is not looked at then")
    over = _saved_by(run)
    moved = stays.ended == StayEnd.MOVED
    check(moved & (over != stays.end), "but does not leave when it has been saved")
    check(~moved & (over < stays.end), "but stays after it has been saved")
    check(stays.ended == StayEnd.COMPLETED, "but completes its job there")
    if given.stores is None:
        ran = stays.asked - stays.start - np.where(stays.before > 0, given.restart, 0)
        turn = max(given.interval + given.overhead, 1)
        still = (given.interval > 0) & ((ran - 1) % turn >= given.interval)
        check((ran <= 0) | still, "but is not working then")
    said = run.summary.held.get("moves")
    if not isinstance(said, dict):
        finding.wrong("summary.json has no measures of moves")
        return ""
    for name, value in _measures(run).items():
        finding.each(differences(f"moves.{name}", said.get(name, "nothing"), value, TOLERANCE))
    return f"{int(asked.sum())} moves decided, {int(moved.sum())} made"


def _saved_by(run: Facts) -> Int:
    """Return when the checkpoint of each stay that is to move would be over."""
    stays, given = run.stays, run.given
    if given.stores is None:
        return stays.asked + given.overhead
    rows, owner = run.transfers, run.owner_of_transfer
    over = np.full(len(stays), NONE, dtype=np.int64)
    mine = np.flatnonzero((owner >= 0) & (rows.kind == SAVE))
    mine = mine[rows.start[mine] == stays.asked[owner[mine]]]
    over[owner[mine]] = rows.until[mine]
    return over


def _measures(run: Facts) -> dict[str, Any]:
    stays, spans, given = run.stays, run.spans, run.given
    asked, moved = stays.asked != NONE, stays.ended == StayEnd.MOVED
    leaves = occurrences(spans)
    count = useful = 0
    for row in np.flatnonzero(moved).tolist():
        since = int(stays.asked[row])
        here = leaves & (spans.host == stays.host[row]) & (spans.start > since)
        useful += bool((here & (spans.start <= since + given.ahead)).any())
        count += 1
    seconds = int((stays.end - stays.asked)[asked].sum())
    again = np.flatnonzero(moved & ~stays.last) + 1
    seconds += int((stays.start[again] - stays.end[again - 1]).sum())
    if given.stores is None:
        held = np.minimum(stays.end - stays.start, given.restart)
        seconds += int(held[again][stays.before[again] > 0].sum())
    else:
        rows = run.transfers
        mine = np.isin(run.owner_of_transfer, again) & (rows.kind == RESTORE)
        seconds += int((rows.until - rows.start)[mine].sum())
    return {
        "made": count,
        "useful": useful,
        "needless": count - useful,
        "broken": int(asked.sum()) - count,
        "useful_share": useful / count if count else None,
        "seconds": seconds,
    }
