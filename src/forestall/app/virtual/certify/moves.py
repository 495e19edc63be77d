"""The certifier's rule of `migrations.csv`: every move links two stays, or a stay and a
reservation."""

from __future__ import annotations

import numpy as np
import polars as pl

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.intervals import Axis, levels
from forestall.app.kit.certify.sheet import NONE, Bool, Int, spelled
from forestall.app.virtual.certify.facts import Facts
from forestall.app.virtual.certify.files import PARTS, StayRows
from forestall.model.virtual_books import Begun, Ended, MoveEnd

_KEYS = ["index", "time", "target", "again"]


def moves_and_stays(run: Facts, finding: Finding) -> str:
    """Each move has its stay or reservation at the target, and the stay at its source that it
    ended; it came when it could, and became what is said of it."""
    moves, given = run.moves, run.given
    names = run.jobs.name[moves.job]
    line = np.arange(len(moves)) + 2
    none = np.full(len(moves), not given.migrates)
    text = "task {1} of job {0} moves at {2}, but migration is off (migrations.csv, line {3})"
    finding.where(none, text, names, moves.number, moves.time, line)
    early = (moves.predicted != NONE) & (moves.time < moves.predicted - given.lead)
    text = (
        "task {1} of job {0} moves at {2}, too early for a failure predicted at {3} "
        "(migrations.csv, line {4})"
    )
    finding.where(early, text, names, moves.number, moves.time, moves.predicted, line)
    _check_order(run, finding)
    _check_overload(run, finding)
    move, stay = _matched(run, finding)
    here = run.stays.take(stay)
    reserved = here.ended == Ended.CANCELLED
    _check_flown(run, finding, move[~reserved], here.take(~reserved))
    _check_broken(run, finding, move[reserved], here.take(reserved))
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
    _note(run, finding, np.arange(1, len(moves)), same & back, text)


def _check_overload(run: Facts, finding: Finding) -> None:
    """Moves for no failure leave a node that was above its limit at the end of each second for as
    long as that may be, and go where they overload nothing."""
    moves, stays, given = run.moves, run.stays, run.given
    mine = np.flatnonzero(moves.predicted == NONE)
    if not len(mine) or not given.limit:
        every = np.ones(len(mine), dtype=np.bool_)
        _note(
            run,
            finding,
            mine,
            every,
            "has no reason: no failure was predicted, and nodes have no load limit",
        )
        return
    time, source, target = moves.time[mine], moves.source[mine], moves.target[mine]
    axis = Axis.over(stays.start, stays.end, time - given.hold, time)
    keys, load = levels(axis, stays.node, stays.start, stays.end, stays.rate)
    first = np.searchsorted(keys, axis.key(source, time - given.hold), side="right") - 1
    last = np.searchsorted(keys, axis.key(source, time - 1), side="right")
    allowed = given.limit * given.capacity
    low = np.array(
        [
            load[max(a, 0) : b].min()
            if 0 <= a < b and axis.owner(keys[a : a + 1])[0] == node
            else 0
            for a, b, node in zip(first.tolist(), last.tolist(), source.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    what = "leaves node {4} for overload, but the node was within its limit in the {5} s before"
    idle = low * PARTS <= allowed[source]
    _note(run, finding, mine, idle, what, source, np.full(len(mine), given.hold))
    # What was placed in that second came after all moves.
    placed = (stays.begun != Begun.MIGRATED) & (stays.end > stays.start)
    begun = axis.key(stays.node, stays.start)
    places, row = np.unique(begun[placed], return_inverse=True)
    rates = np.zeros(len(places), dtype=np.int64)
    np.add.at(rates, row, stays.rate[placed])
    here = axis.key(target, time)
    held = load[np.searchsorted(keys, here, side="right") - 1]
    at = np.minimum(np.searchsorted(places, here), max(len(places) - 1, 0))
    later = np.where(places[at] == here, rates[at], 0) if len(places) else np.zeros_like(held)
    over = (held - later) * PARTS > allowed[target]
    _note(run, finding, mine, over, "overloads node {4}", target)


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
    every = np.ones(len(alone), dtype=np.bool_)
    text = (
        "task {1} of job {0} moves at {2} to node {3}, but has no stay there (migrations.csv, "
        "line {4})"
    )
    labels = (moves.number[alone], moves.time[alone], moves.target[alone], alone + 2)
    finding.where(every, text, run.jobs.name[moves.job[alone]], *labels)
    odd = stays.take(
        theirs.join(mine, on=_KEYS, how="anti", maintain_order="left")["stay"].to_numpy()
    )
    text = "task {1} of job {0} arrives on node {2} at {3} without a move (runs.csv, line {4})"
    labels = (odd.number, odd.node, odd.start, odd.line)
    finding.where(np.ones(len(odd), dtype=np.bool_), text, run.jobs.name[odd.job], *labels)
    both = mine.join(theirs, on=_KEYS, maintain_order="left")
    return both["move"].to_numpy(), both["stay"].to_numpy()


def _note(run: Facts, finding: Finding, move: Int, bad: Bool, what: str, *values: Int) -> None:
    """Note the moves (rows of migrations.csv) of which `what` holds."""
    moves = run.moves
    labels = (run.jobs.name[moves.job[move]], moves.number[move], moves.time[move], move + 2)
    text = "the move of task {1} of job {0} at {2} " + what + " (migrations.csv, line {3})"
    finding.where(bad, text, *labels, *values)


def _check_flown(run: Facts, finding: Finding, move: Int, here: StayRows) -> None:
    """Moves that left their source: the stay before ended there for them."""
    moves, given, stays = run.moves, run.given, run.chain.stays
    place = np.zeros(len(run.stays), dtype=np.int64)
    place[stays.line - 2] = np.arange(len(stays))
    at = place[here.line - 2]
    back = np.maximum(at - 1, 0)
    gone = (
        run.chain.fresh[at]
        | (stays.ended[back] != Ended.MOVED)
        | (stays.node[back] != moves.source[move])
    )
    what = "leaves node {4}, but the previous stay does not end in a move"
    _note(run, finding, move, gone, what, moves.source[move])
    left = moves.time[move] + given.copy
    what = "should leave its source at {4}, but leaves at {5}"
    off = ~gone & (stays.end[back] != left)
    _note(run, finding, move, off, what, left, stays.end[back])
    broken = here.end < here.runs_from
    said = moves.outcome[move]
    mine = np.where(
        broken,
        np.where(here.ended == Ended.STOPPED, MoveEnd.DEADLINE_FIRST, MoveEnd.TARGET_FAILED),
        MoveEnd.ARRIVED,
    )
    _check_outcome(run, finding, move, said, mine)
    ended = np.where(broken, here.end, here.runs_from)
    what = "ends at {4}, but at {5} according to its stay"
    _note(run, finding, move, moves.end[move] != ended, what, moves.end[move], ended)


def _check_outcome(run: Facts, finding: Finding, move: Int, said: Int, mine: Int) -> None:
    words = np.array(spelled(MoveEnd, " "))
    what = "is recorded as '{4}', but was '{5}' according to its stays"
    _note(run, finding, move, said != mine, what, words[said], words[mine])


def _check_broken(run: Facts, finding: Finding, move: Int, here: StayRows) -> None:
    """Live moves that broke: the task was at the source until then, or longer."""
    if not len(move):
        return
    moves, stays, failures = run.moves, run.chain.stays, run.failures
    axis = Axis.over(stays.end, here.end, failures.time)
    ends = axis.key(stays.index, stays.end)
    at = np.minimum(np.searchsorted(ends, axis.key(here.index, here.end)), len(ends) - 1)
    home = (stays.index[at] == here.index) & (stays.node[at] == moves.source[move])
    home &= stays.start[at] <= moves.time[move]
    what = "reserved node {4}, but the task was not at its source meanwhile"
    _note(run, finding, move, ~home, what, moves.target[move])
    live = moves.time[move] + run.given.copy
    what = "breaks at {4}, after it was over"
    _note(run, finding, move, here.end > live, what, here.end)
    over = stays.end[at] == here.end
    failing = axis.key(failures.node, failures.time)
    target = np.isin(axis.key(moves.target[move], here.end), failing)
    ended = stays.ended[at]
    # What ended the task's stay comes first of what can have happened in that second ...
    mine = np.select(
        [
            over & ((ended == Ended.COMPLETED) | (ended == Ended.LATE)),
            over & (ended == Ended.STOPPED),
            target,
        ],
        [MoveEnd.ENDED_FIRST, MoveEnd.DEADLINE_FIRST, MoveEnd.TARGET_FAILED],
        default=MoveEnd.SOURCE_FAILED,
    )
    said = moves.outcome[move]
    # ... save where both nodes failed in it, one of them first.
    both = over & (ended == Ended.ABORTED) & target & (said == MoveEnd.SOURCE_FAILED)
    mine = np.where(both, MoveEnd.SOURCE_FAILED, mine)
    unlike = (mine == MoveEnd.SOURCE_FAILED) & ~(over & (ended == Ended.ABORTED))
    _note(run, finding, move, unlike, "broke at {4} for no reason", here.end)
    _check_outcome(run, finding, move, said, mine)
    what = "ends at {4}, but its reservation at {5}"
    _note(run, finding, move, moves.end[move] != here.end, what, moves.end[move], here.end)
