"""Rules of the stays of tasks on nodes: what nodes hold, places, work, losses and deadlines; and of
what `tasks.csv` and `jobs.csv` say of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestall.core.certify.finding import Finding
from forestall.core.certify.intervals import Axis, inside, levels, overlapping, touches
from forestall.core.certify.sheet import NONE, Bool, Int
from forestall.core.certify.sums import per
from forestall.core.model.virtual_books import Begun, Ended
from forestall.machines.certify.facts import Facts
from forestall.machines.certify.files import DROPPED, JOB_FATES

# ----------------------------------------------------------------------------------------- nodes


def capacity(run: Facts, finding: Finding) -> str:
    """At no second do the rates held on a node exceed its capacity, or machines its memory."""
    stays, given = run.stays, run.given
    stays.note(finding, stays.end < stays.start, "leaves at {end}, before it arrived")
    axis, one = Axis.over(stays.start, stays.end), np.ones(len(stays), np.int64)

    def held(amount: Int, most: Int) -> tuple[Bool, Int]:
        """Return which stays begin when their node holds more, and how much it then holds."""
        keys, level = levels(axis, stays.node, stays.start, stays.end, amount)
        at = np.searchsorted(keys, axis.key(stays.node, stays.start))
        return (level[at] > most[stays.node]) & (stays.end > stays.start), level[at]

    when = " from {start} on, when task {number} of job {job} starts there"
    over, load = held(stays.rate, given.capacity)
    whole = given.capacity[stays.node] / 1000
    text = "node {node} gives {load:.3f} of its {whole:g} processors" + when
    stays.where(finding, over, text, load=load / 1000, whole=whole)
    sizes = " or ".join(f"{size / 1000:g}" for size in np.unique(given.capacity).tolist())
    memory = given.memory.min() < 2**31
    if memory:
        over, count = held(one, given.memory)
        text = "node {node} has {count} machines, but memory for {most}," + when
        stays.where(finding, over, text, count=count, most=given.memory[stays.node])
    also = ", nor hold more machines than fit in memory" if memory else ""
    return f"{given.nodes} nodes never give more than {sizes}{also}"


def rates(run: Facts, finding: Finding) -> str:
    """No stay has more than a task can use, or less than is given."""
    stays, low, high = run.stays, run.given.least, run.given.most
    text = "runs at {rate:g}, but "
    stays.note(finding, stays.rate > high, text + f"task_processors is {high / 1000:g}")
    stays.note(finding, stays.rate < low, text + f"least_rate is {low / 1000:g}")
    return f"{len(stays)} stays at {low / 1000:g} to {high / 1000:g} processors"


def while_down(run: Facts, finding: Finding) -> str:
    """Nothing is on a node that is down, and no stay goes on past a failure of its node."""
    stays, failures, down = run.stays, run.failures, run.down
    axis = Axis.over(stays.start, stays.end, failures.time, down.start, down.end)
    start, end = axis.key(stays.node, stays.start), axis.key(stays.node, stays.end)
    end = np.maximum(end, start + 1)  # also one of no length must not begin while its node is down
    outages = axis.key(down.node, down.start), axis.key(down.node, down.end)
    failing = np.sort(axis.key(failures.node, failures.time))
    text = "is on node {node} from {start} to {end}, "
    past = inside(failing, start, end, at_start=True)
    stays.note(finding, past, text + "past its failure")
    stays.note(finding, touches(*outages, start, end), text + "while it is down")
    return f"{len(stays)} stays avoid {len(down.node)} outages"


def aborts(run: Facts, finding: Finding) -> str:
    """Aborted stays and the failures of their nodes are the same, told twice."""
    stays, failures = run.stays, run.failures
    axis = Axis.over(stays.end, failures.time)
    failing, rows = np.unique(axis.key(failures.node, failures.time), return_inverse=True)
    ends, aborted = axis.key(stays.node, stays.end), stays.ended == Ended.ABORTED
    struck = np.isin(ends, failing)
    text = "is aborted at {end}, but node {node} did not fail then"
    stays.note(finding, aborted & ~struck, text)
    # A move of a machine that was stopped and copied comes after a failure of the same second.
    fled = struck & (stays.ended == Ended.MOVED) & (run.given.copy == 0)
    stays.note(finding, fled, "moves at {end} off node {node}, which has failed")
    stays.note(finding, ~aborted & (stays.lost != 0), "lost {lost:.3f} without being aborted")
    mine = aborted & struck
    at = np.searchsorted(failing, ends[mine])
    for name, values in (("tasks", np.ones(len(at), dtype=np.int64)), ("lost", stays.lost[mine])):
        said = per(rows, len(failing), getattr(failures, name))
        here = per(at, len(failing), values)
        text = f"failure of node {{node}} at {{time}}: {name} is {{said}}, {{here}} recomputed"
        labels = {"said": (name, said[rows]), "here": (name, here[rows])}
        failures.where(finding, (said != here)[rows], text, **labels)
    return f"{int(aborted.sum())} aborted stays, each by a failure of its node"


# ---------------------------------------------------------------------------- one after the other


def places(run: Facts, finding: Finding) -> str:
    """A task is in one place at a time, and each stay follows from the one before; reservations are
    made for moves only, one at a time, and nothing is done in them."""
    chain = run.chain
    stays, fresh, follows = chain.stays, chain.fresh, ~chain.fresh
    before = stays.take(np.maximum(np.arange(len(stays)) - 1, 0))
    placed, came, again = (stays.begun == how for how in Begun)
    live = came & (run.given.copy > 0)
    for bad, text in (
        (follows & (stays.runs_from < before.end), "runs in two places at {runs_from}"),
        (follows & (stays.start < before.end) & ~live, "holds two nodes at {start}"),
        (fresh & ~placed, "begins at {start} without being placed"),
        (follows & placed, "is placed again at {start}"),
        (follows & came & (before.ended != Ended.MOVED), "arrives at {start}, but did not leave"),
        (
            follows & again & (before.ended != Ended.ABORTED),
            "restarts at {start}, but was not aborted",
        ),
        (
            chain.final & (stays.ended == Ended.MOVED),
            "ends its stay from {start} with a move, but arrives nowhere",
        ),
        (
            follows & came & (stays.node == before.node),
            "moves at {start} to the node it is on",
        ),
    ):
        stays.note(finding, bad, text)
    held = run.stays.take(run.stays.ended == Ended.CANCELLED)
    held = held.take(np.lexsort((held.start, held.index)))
    more = (held.begun != Begun.MIGRATED) | (held.work + held.lost + held.checkpoints != 0)
    held.note(finding, more, "canceled more than a reservation")
    axis = Axis.over(held.start, held.end)
    twice = overlapping(axis.key(held.index, held.start), axis.key(held.index, held.end))
    held.note(finding, twice, "has two reservations at {start}")
    return f"{len(stays)} stays of {int(fresh.sum())} tasks, each following from the one before"


def work(run: Facts, finding: Finding) -> str:
    """The work of each stay is its rate times its progress, and that of a task adds up to all."""
    given, progress, stays, over = run.given, run.progress, run.chain.stays, run.chain.stays.over
    wait = np.where(stays.begun == Begun.MIGRATED, given.copy + given.still, 0)
    text = "makes progress from {runs_from} on, not {wait} s after {start}"
    stays.note(finding, stays.runs_from != stays.start + wait, text, wait=wait)
    early = np.where(over, stays.end != progress.planned, stays.end >= progress.planned)
    text = "ends at {end}, but its work at {planned}"
    stays.note(finding, early, text, planned=progress.planned)
    whole = run.jobs.runtime[stays.job] * given.most
    could = np.where(over, whole - run.chain.before, stays.rate * progress.seconds)
    text = "did {work:.3f} of work in a stay that allows {could:.3f}"
    stays.note(finding, stays.work != could, text, could=could / 1000)
    off = stays.checkpoints != progress.checkpoints
    text = "has {checkpoints} checkpoints in a stay that allows {could}"
    stays.note(finding, off, text, could=progress.checkpoints)
    return f"rate x progress of {len(stays)} stays, {int(over.sum())} of them to the end"


def losses(run: Facts, finding: Finding) -> str:
    """An aborted task loses what it did since its last start, restart or checkpoint."""
    chain, stays = run.chain, run.chain.stays
    # Up to the last checkpoint since the task began or restarted, nothing is lost.
    latest = np.where(stays.checkpoints > 0, np.arange(len(stays)), -1)
    latest = np.maximum.accumulate(latest) if len(stays) else latest
    some = latest >= chain.begins
    origin = np.where(some, latest, chain.begins)
    total = np.cumsum(stays.work)
    since = total - total[origin] + stays.work[origin]
    since -= np.where(some, (stays.rate * run.progress.saved)[origin], 0)
    here = np.where(stays.ended == Ended.ABORTED, since, 0)
    text = "lost {lost:.3f} at {end}; it had {here:.3f} to lose"
    stays.note(finding, stays.lost != here, text, here=here / 1000)
    return f"{int(stays.lost.sum()) / 1000:,.3f} processor-seconds, stay by stay"


def deadlines(run: Facts, finding: Finding) -> str:
    """Who ended in time, too late, or was stopped, as the deadlines have it."""
    stays, given = run.chain.stays, run.given
    deadline = run.jobs.deadline[stays.job]
    stopped, again = stays.ended == Ended.STOPPED, stays.begun == Begun.RESTARTED
    bound = (stays.begun == Begun.PLACED) | (again & given.stops)
    for bad, text in (
        (
            (stays.ended == Ended.COMPLETED) & (stays.end > deadline),
            "completes at {end}, after its deadline",
        ),
        (
            (stays.ended == Ended.LATE) & (stays.end <= deadline),
            "is recorded as late at {end}, before its deadline",
        ),
        (stopped & (stays.end != deadline), "is stopped at {end}, not at its deadline"),
        (given.stops & (stays.end > deadline), "runs until {end}, past its deadline"),
        (stopped & (not given.stops), "is stopped, but may run past its deadline"),
        (bound & (stays.start >= deadline), "starts at or after its deadline"),
        (again & (not given.interval), "restarts without checkpoints"),
    ):
        stays.note(finding, bad, text + " (deadline {deadline})", deadline=deadline)
    return "consistent with the outcomes"


# -------------------------------------------------------------------------------- tasks and jobs


def tasks_and_stays(run: Facts, finding: Finding) -> str:
    """`tasks.csv` has every task of every job once, as its stays and moves tell it."""
    jobs, tasks = run.jobs, run.tasks
    count = int(jobs.first[-1])
    rows = per(tasks.index, count)
    owner = np.searchsorted(jobs.first, np.arange(count), side="right") - 1
    number = np.arange(count) - jobs.first[owner]
    text = "task {1} of job {0} is in {2} lines of tasks.csv"
    finding.where(rows != 1, text, jobs.name[owner], number, rows)
    mine = {name: values[tasks.index] for name, values in _by_stays(run, count).items()}
    tasks.compare(finding, "task {number} of job {job}", mine, "according to its stays")
    return f"{count} tasks, each consistent with its stays"


def _by_stays(run: Facts, count: int) -> dict[str, Int]:
    """Return the columns of `tasks.csv`, by number among all tasks."""
    jobs, stays, final = run.jobs, run.chain.stays, run.chain.final

    def column(values: Int, of: Any, empty: int) -> Int:
        result = np.full(count, empty)
        result[stays.index[of]] = values[of]
        return result

    lost = per(stays.index, count, stays.lost)
    return {
        "node": column(stays.node, final, NONE),
        "start": column(stays.start, run.chain.fresh, NONE),
        "end": column(stays.end, final, NONE),
        "rate": column(stays.rate, final, 0),
        "work": np.repeat(jobs.runtime * run.given.most, jobs.size),
        "done": per(stays.index, count, stays.work) - lost,
        "lost": lost,
        "migrations": per(run.moves.index, count),
        "restarts": per(stays.index[stays.begun == Begun.RESTARTED], count),
        "checkpoints": per(stays.index, count, stays.checkpoints),
        "fate": column(stays.ended, final, DROPPED),
    }


def jobs_and_tasks(run: Facts, finding: Finding) -> str:
    """`jobs.csv` agrees with the tasks, and jobs were placed as a whole."""
    jobs, stays, mine = run.jobs, run.chain.stays, run.fates
    jobs.compare(finding, "job {name}", mine, "according to its tasks")
    jobs.where(finding, jobs.deadline <= jobs.submit, "job {name}: deadline at its submission")
    placed = stays.take(stays.begun == Begun.PLACED)
    together = per(placed.job[placed.start == mine["start"][placed.job]], len(jobs))
    torn = (jobs.fate != JOB_FATES.index("dropped")) | (mine["start"] != NONE)
    text = "job {name} has {size} tasks, but {together} of them were placed at once"
    jobs.where(finding, torn & (together != jobs.size), text, together=together)
    return f"{len(jobs)} jobs, each consistent with its tasks"


def sorted_rows(run: Facts, finding: Finding) -> str:
    """Tasks stand by job and number, stays in the order of their ends, moves and failures in that
    of their times."""
    run.tasks.in_order(finding, run.tasks.index)
    run.stays.in_order(finding, run.stays.end)
    run.moves.in_order(finding, run.moves.time)
    run.failures.in_order(finding, run.failures.time)
    return "tasks, stays, moves and failures in order"


def order(run: Facts, finding: Finding) -> str:
    """First come, first served: no job passes one that waits, or a task that waits to restart."""
    jobs, start = run.jobs, run.fates["start"]
    ran = start != NONE
    text = "job {name} starts at {at}, before its submission"
    jobs.where(finding, ran & (start < jobs.submit), text, at=start)
    jobs.in_order(finding, jobs.submit)
    if run.given.backfill:
        return "no job starts before its submission; jobs may overtake others"
    waits = np.where(ran, start, jobs.deadline)  # until when each is in the queue
    floor = np.maximum.accumulate(np.concatenate(([NONE], waits[:-1])))
    text = "job {name} starts at {at}, while an earlier one waits until {floor}"
    jobs.where(finding, ran & (start < floor), text, at=start, floor=floor)
    if run.given.interval:
        since, until = _waits_to_restart(run)
        order = np.argsort(since, kind="stable")
        until = np.append(NONE, np.maximum.accumulate(until[order]))
        held = until[np.searchsorted(since[order], start, side="right")]
        text = "job {name} starts at {at}, while a task waits until {held} to restart"
        jobs.where(finding, ran & (held > start), text, at=start, held=held)
    return "first come, first served"


def _waits_to_restart(run: Facts) -> tuple[Int, Int]:
    """Return [since, until) in which aborted tasks waited to restart."""
    stays, final = run.chain.stays, run.chain.final
    rows = np.flatnonzero(stays.ended == Ended.ABORTED)
    again = stays.start[np.minimum(rows + 1, len(stays) - 1)]
    return stays.end[rows], np.where(final[rows], run.jobs.deadline[stays.job[rows]], again)
