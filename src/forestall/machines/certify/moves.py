"""The rule of `migrations.csv`: every move links two stays, or a stay and a reservation."""

from __future__ import annotations

import numpy as np
import polars as pl

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import Axis, levels
from forestall.core.certify.sheet import NONE, Int
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.certify.facts import Facts
from forestall.machines.certify.files import PARTS, MoveRows, StayRows

_KEYS = ["index", "time", "target", "again"]


def moves_and_stays(run: Facts, finding: Finding) -> str:
    """Each move has its stay or reservation at the target, and the stay at its source that it
    ended; it came when it could, and became what is said of it."""
    moves, given = run.moves, run.given
    off = np.full(len(moves), not given.migrates)
    moves.note(finding, off, "is made, but migration is off")
    early = (moves.predicted != NONE) & (moves.time < moves.predicted - given.lead)
    moves.note(finding, early, "is too early for a failure predicted at {predicted}")
    _check_order(run, finding)
    _check_overload(run, finding)
    move, stay = _matched(run, finding)
    mine, here = moves.take(move), run.stays.take(stay)
    held = here.ended == Ended.CANCELLED
    _check_flown(run, finding, mine.take(~held), here.take(~held))
    if held.any():
        _check_broken(run, finding, mine.take(held), here.take(held))
    arrived = int((moves.outcome == MoveEnd.ARRIVED).sum())
    return f"{len(moves)} moves, {arrived} arrived"


def _check_order(run: Facts, finding: Finding) -> None:
    """A node that is predicted to fail is left in order of (deadline, job, task)."""
    moves = run.moves
    deadline, index = run.jobs.deadline[moves.job], moves.index
    of = np.stack((moves.time, moves.source, moves.predicted), axis=1)
    same = (of[1:] == of[:-1]).all(axis=1) & (moves.predicted[1:] != NONE)
    back = deadline[1:] < deadline[:-1]
    back |= (deadline[1:] == deadline[:-1]) & (index[1:] < index[:-1])
    text = "is listed after that of a task with a later deadline, or of a later job"
    moves.note(finding, np.append(False, same & back)[: len(moves)], text)


def _check_overload(run: Facts, finding: Finding) -> None:
    """Moves for no failure leave a node that was above its limit at the end of each second for as
    long as that may be, and go where they overload nothing."""
    stays, given = run.stays, run.given
    moves = run.moves.take(run.moves.predicted == NONE)
    if not len(moves) or not given.limit:
        text = "has no reason: no failure was predicted, and nodes have no load limit"
        moves.note(finding, np.ones(len(moves), dtype=np.bool_), text)
        return
    since = moves.time - given.hold
    axis = Axis.over(stays.start, stays.end, since, moves.time)
    keys, load = levels(axis, stays.node, stays.start, stays.end, stays.rate)
    first = np.searchsorted(keys, axis.key(moves.source, since), side="right") - 1
    last = np.searchsorted(keys, axis.key(moves.source, moves.time - 1), side="right")
    low = np.array(
        [
            load[a:b].min() if 0 <= a < b and axis.owner(keys[a : a + 1])[0] == node else 0
            for a, b, node in zip(first.tolist(), last.tolist(), moves.source, strict=True)
        ],
        dtype=np.int64,
    )
    allowed = given.limit * given.capacity
    text = "leaves node {source} for overload, but the node was within its limit in the "
    idle = low * PARTS <= allowed[moves.source]
    moves.note(finding, idle, text + f"{given.hold} s before")
    # What was placed in that second came after all moves.
    placed = stays.take((stays.begun != Begun.MIGRATED) & (stays.end > stays.start))
    begun = axis.key(placed.node, placed.start)
    order, here = np.argsort(begun, kind="stable"), axis.key(moves.target, moves.time)
    rates = np.concatenate(([0], np.cumsum(placed.rate[order])))
    begun, at = begun[order], np.searchsorted(keys, here, side="right") - 1
    later = rates[np.searchsorted(begun, here, "right")] - rates[np.searchsorted(begun, here)]
    over = (load[at] - later) * PARTS > allowed[moves.target]
    moves.note(finding, over, "overloads node {target}")


def _matched(run: Facts, finding: Finding) -> tuple[Int, Int]:
    """Return rows of moves and of the stays (or reservations) at their targets that go together."""
    moves, stays = run.moves, run.stays
    rows = np.flatnonzero(stays.begun == Begun.MIGRATED)
    right = {"index": stays.index[rows], "time": stays.start[rows], "target": stays.node[rows]}
    left = {"index": moves.index, "time": moves.time, "target": moves.target}
    again = pl.int_range(pl.len()).over(_KEYS[:3]).alias("again")
    mine = pl.DataFrame({**left, "move": np.arange(len(moves))}).with_columns(again)
    theirs = pl.DataFrame({**right, "stay": rows}).with_columns(again)
    alone = mine.join(theirs, on=_KEYS, how="anti", maintain_order="left")["move"].to_numpy()
    text = "goes to node {target}, but has no stay there"
    moves.take(alone).note(finding, np.ones(len(alone), dtype=np.bool_), text)
    alone = theirs.join(mine, on=_KEYS, how="anti", maintain_order="left")["stay"].to_numpy()
    text = "arrives on node {node} at {start} without a move"
    stays.take(alone).note(finding, np.ones(len(alone), dtype=np.bool_), text)
    both = mine.join(theirs, on=_KEYS, maintain_order="left")
    return both["move"].to_numpy(), both["stay"].to_numpy()


def _check_flown(run: Facts, finding: Finding, moves: MoveRows, here: StayRows) -> None:
    """Moves that left their source: the stay before ended there for them."""
    stays = run.chain.stays
    place = np.zeros(len(run.stays), dtype=np.int64)
    place[stays.line - 2] = np.arange(len(stays))
    at = place[here.line - 2]
    before = stays.take(np.maximum(at - 1, 0))
    gone = run.chain.fresh[at] | (before.ended != Ended.MOVED) | (before.node != moves.source)
    moves.note(finding, gone, "leaves node {source}, but the previous stay does not end in a move")
    left = moves.time + run.given.copy
    text = "should leave its source at {left}, but leaves at {gone}"
    moves.note(finding, ~gone & (before.end != left), text, left=left, gone=before.end)
    broken = here.end < here.runs_from
    stopped = here.ended == Ended.STOPPED
    broke = np.where(stopped, MoveEnd.DEADLINE_FIRST, MoveEnd.TARGET_FAILED)
    _check_outcome(moves, finding, np.where(broken, broke, MoveEnd.ARRIVED))
    ended = np.where(broken, here.end, here.runs_from)
    text = "ends at {end}, but at {ended} according to its stay"
    moves.note(finding, moves.end != ended, text, ended=ended)


def _check_outcome(moves: MoveRows, finding: Finding, here: Int) -> None:
    text = "is recorded as '{outcome}', but was '{here}' according to its stays"
    moves.note(finding, moves.outcome != here, text, here=("outcome", here))


def _check_broken(run: Facts, finding: Finding, moves: MoveRows, here: StayRows) -> None:
    """Live moves that broke: the task was at the source until then, or longer."""
    failures = run.failures
    axis = Axis.over(run.chain.stays.end, here.end, failures.time)
    ends = axis.key(run.chain.stays.index, run.chain.stays.end)
    at = np.minimum(np.searchsorted(ends, axis.key(here.index, here.end)), len(ends) - 1)
    stays = run.chain.stays.take(at)
    home = (stays.index == here.index) & (stays.node == moves.source) & (stays.start <= moves.time)
    text = "reserved node {target}, but the task was not at its source meanwhile"
    moves.note(finding, ~home, text)
    late = here.end > moves.time + run.given.copy
    moves.note(finding, late, "breaks at {until}, after it was over", until=here.end)
    over, aborted = stays.end == here.end, stays.ended == Ended.ABORTED
    failing = axis.key(failures.node, failures.time)
    target = np.isin(axis.key(moves.target, here.end), failing)
    # What ended the task's stay comes first of what can have happened in that second ...
    kinds = [over & stays.over, over & (stays.ended == Ended.STOPPED), target]
    names = [MoveEnd.ENDED_FIRST, MoveEnd.DEADLINE_FIRST, MoveEnd.TARGET_FAILED]
    mine = np.select(kinds, names, default=MoveEnd.SOURCE_FAILED)
    # ... save where both nodes failed in it, one of them first.
    both = over & aborted & target & (moves.outcome == MoveEnd.SOURCE_FAILED)
    mine = np.where(both, MoveEnd.SOURCE_FAILED, mine)
    why = (mine == MoveEnd.SOURCE_FAILED) & ~(over & aborted)
    moves.note(finding, why, "broke at {until} for no reason", until=here.end)
    _check_outcome(moves, finding, mine)
    text = "ends at {end}, but its reservation at {until}"
    moves.note(finding, moves.end != here.end, text, until=here.end)
