"""The certifier's rules of `summary.json`: counts, rates and the account of capacity, anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sheet import NONE, Int, spelled
from forestall.app.kit.certify.sums import close, differences, measured, per, spread_of, told, total
from forestall.app.virtual.certify.facts import Facts, end_of
from forestall.app.virtual.certify.files import DROPPED, JOB_FATES, PARTS
from forestall.model.virtual_books import Begun, Ended, MoveEnd

TOLERANCE: Final = 1e-9
ACCOUNT: Final = ("useful", "lost", "stopped", "paused", "idle", "down", "total")
DAY: Final = 86_400
UNITS: Final = 20
OTHERS: Final = (
    *("model", "strategy", "seed", "parameters", "predictor", "sources", "skipped", "versions"),
    *("processor_seconds", "job_completion_interval", "task_completion_interval"),
)
"""What stands in the summary beside the measures."""
RATES: Final = ("job_completion_rate", "task_completion_rate", "utilization")


def account(run: Facts, finding: Finding) -> str:
    """The parts of the account are as told, none is negative, and they add up."""
    mine, wrong, said = run.account, [], {}
    for name in ACCOUNT:
        value = run.summary.measure(f"processor_seconds.{name}")
        said[name] = round(value * PARTS)
        if not close(said[name], mine[name], TOLERANCE, 0.5):
            wrong.append(f"{name} is {value} in summary.json, {mine[name] / PARTS} recomputed")
    wrong += [f"{name} is negative: {mine[name] / PARTS}" for name in ACCOUNT if mine[name] < 0]
    parts = sum(said[name] for name in ACCOUNT[:-1])
    if not close(parts, said["total"], TOLERANCE, 0.5):
        wrong.append(f"the parts in summary.json add up to {parts / PARTS}, not to its total")
    finding.all(wrong)
    good = "useful + lost + stopped + paused + idle + down = {:,.3f} processor-seconds"
    return good.format(parts / PARTS)


def rate(name: str) -> Callable[[Facts, Finding], str]:
    """Return the rule of one of `RATES`."""

    def check(run: Facts, finding: Finding) -> str:
        said, here = run.summary.measure(name), _measures(run)[name]
        same = close(said, here, TOLERANCE, TOLERANCE)
        finding.each([] if same else [told(said, here, same)])
        return told(said, here, same)

    return check


def counts(run: Facts, finding: Finding) -> str:
    """Counts of the summary, from the stays."""
    mine = {name: here for name, here in _measures(run).items() if name not in RATES}
    finding.all(measured(run.summary, mine, TOLERANCE))
    known = {*mine, *RATES, *_of_moves(run), *OTHERS}
    alone = [name for name in run.summary.held if name not in known]
    finding.each([f"summary.json has {name}, which no run has" for name in alone])
    return "jobs, tasks, moves, failures"


def moves_and_waits(run: Facts, finding: Finding) -> str:
    """What moves cost and bought, how long jobs waited, and where useful work was done."""
    said, mine = run.summary.held, _of_moves(run)
    for name, here in mine.items():
        finding.each(differences(name, said.get(name, "nothing"), here, TOLERANCE))
    return f"{len(mine)} measures"


def intervals(run: Facts, finding: Finding) -> str:
    """The 95 % intervals of the rates, anew."""
    jobs, said = run.jobs, run.summary.held
    day, every = jobs.submit // DAY, np.arange(len(jobs))
    one = np.ones(len(jobs), dtype=np.int64)
    of_jobs = _design_effect(jobs.completed, one, day)
    of_tasks = _design_effect(jobs.done, jobs.size, day)
    if of_tasks is None:
        of_tasks = _design_effect(jobs.done, jobs.size, every)
    for name, done, of, effect in (
        ("job", int(jobs.completed.sum()), len(jobs), of_jobs),
        ("task", int(jobs.done.sum()), int(jobs.size.sum()), of_tasks),
    ):
        if done > of:
            finding.wrong("{0} of {1} {2}s are done", done, of, name)
            continue
        name = f"{name}_completion_interval"
        here = _wilson(done, of, effect or 1.0)
        finding.each(differences(name, said.get(name, "nothing"), here, TOLERANCE))
    return "both intervals"


def _design_effect(done: Int, of: Int, unit: Int) -> float | None:
    """Return the variance of a share where units are drawn over that where each is drawn by itself
    (Kish, Survey Sampling, 1965), at least 1; None with fewer than 20 units, or where all or none
    are done."""
    names, place = np.unique(unit, return_inverse=True)
    hit, count = per(place, len(names), done), per(place, len(names), of)
    whole = int(count.sum())
    share = int(hit.sum()) / whole
    if len(names) < UNITS or share in (0.0, 1.0):
        return None
    off = math.fsum(((hit - share * count) ** 2).tolist())
    drawn = off * len(names) / (len(names) - 1) / whole**2
    return max(drawn / (share * (1 - share) / whole), 1.0)


def _wilson(done: int, of: int, effect: float) -> list[float]:
    """Return Wilson's 95 % interval (1927) of a share, `effect` of which are worth one."""
    share, count, square = done / of, of / effect, float(ndtri(0.975)) ** 2
    middle = share + square / (2 * count)
    half = math.sqrt(square * (share * (1 - share) / count + square / (4 * count**2)))
    low, high = ((middle + sign * half) / (1 + square / count) for sign in (-1, 1))
    return [max(low, 0.0) if done else 0.0, min(high, 1.0) if done < of else 1.0]


def _of_moves(run: Facts) -> dict[str, Any]:
    jobs, moves, stays = run.jobs, run.moves, run.stays
    start = run.told["start"]
    wait = (start - jobs.submit)[start != NONE]
    came = stays.take(stays.begun == Begun.MIGRATED)
    until: Int = np.minimum(came.runs_from, came.end)
    held = came.rate * (until - came.start)
    counted = np.bincount(moves.outcome, minlength=len(MoveEnd)).tolist()
    flown = _flights(run)
    return {
        "makespan": max(end_of(run, run.chain) - int(jobs.submit.min()), 0),
        "wait": spread_of(wait) if len(wait) else None,
        "migration_outcomes": dict(zip(spelled(MoveEnd, " "), counted, strict=True)),
        "migration_work": total(held) / PARTS,
        "least_reliable_share": _least_reliable(run),
        **flown,
    }


def _flights(run: Facts) -> dict[str, int]:
    """Return s that tasks stood still, tasks saved, and moves in vain, move by move."""
    chain, stays = run.chain, run.chain.stays
    failed: dict[int, list[int]] = {}
    for node, time in zip(run.failures.node.tolist(), run.failures.time.tolist(), strict=True):
        failed.setdefault(node, []).append(time)
    eased = run.moves.predicted == NONE
    for_load = set(
        zip(run.moves.index[eased].tolist(), run.moves.time[eased].tolist(), strict=True)
    )
    final = dict(zip(stays.index[chain.final], stays.ended[chain.final], strict=True))
    still, in_vain, saved = 0, 0, set()
    for k in np.flatnonzero(stays.begun == Begun.MIGRATED).tolist():
        gone, task = int(stays.end[k - 1]), int(stays.index[k])
        still += max(min(int(stays.runs_from[k]), int(stays.end[k])) - gone, 0)
        if (task, int(stays.start[k])) in for_load:
            continue
        would = int(run.progress.planned[k - 1])
        if run.given.stops:
            would = min(would, int(run.jobs.deadline[stays.job[k]]))
        later = [time for time in failed.get(int(stays.node[k - 1]), []) if time >= gone]
        if later and min(later) < would:
            saved |= {task} if final[task] == Ended.COMPLETED else set()
        else:
            in_vain += 1
    return {"migration_time": still, "tasks_saved": len(saved), "moves_in_vain": in_vain}


def _least_reliable(run: Facts) -> float | None:
    """Return the share of useful work done on the quarter of the nodes that failed most."""
    chain, stays, nodes = run.chain, run.chain.stays, run.given.nodes
    failed = np.bincount(run.failures.node, minlength=nodes).tolist()
    worst = set(sorted(range(nodes), key=lambda node: (-failed[node], node))[: -(-nodes // 4)])
    whole = chain.final & ((stays.ended == Ended.COMPLETED) | (stays.ended == Ended.LATE))
    done = set(stays.index[whole].tolist())
    left: dict[int, int] = {}  # of each part of a task since it began or restarted: what counts
    for k, part in enumerate(chain.begins.tolist()):
        left[part] = left.get(part, 0) + int(stays.work[k]) - int(stays.lost[k])
    mine = useful = 0
    for k, part in enumerate(chain.begins.tolist()):
        kept = min(max(left[part], 0), int(stays.work[k]))  # a loss takes what was done last
        left[part] -= kept
        if int(stays.index[k]) in done:
            useful += kept
            mine += kept if int(stays.node[k]) in worst else 0
    return mine / useful if useful else None


def _measures(run: Facts) -> dict[str, float]:
    jobs, chain, moves, account = run.jobs, run.chain, run.moves, run.account
    stays = chain.stays
    job = np.bincount(run.told["fate"], minlength=len(JOB_FATES))
    final = np.bincount(stays.ended[chain.final], minlength=DROPPED + 1)
    tasks = int(jobs.first[-1])
    failed = (moves.outcome == MoveEnd.TARGET_FAILED) | (moves.outcome == MoveEnd.SOURCE_FAILED)
    whole = account["total"]
    return {
        "job_completion_rate": job[JOB_FATES.index("completed")] / len(jobs),
        "task_completion_rate": final[Ended.COMPLETED] / tasks,
        "utilization": account["useful"] / whole if whole else 0.0,
        "jobs_count": len(jobs),
        "jobs_completed": int(job[JOB_FATES.index("completed")]),
        "jobs_late": int(job[JOB_FATES.index("late")]),
        "jobs_dropped": int(job[JOB_FATES.index("dropped")]),
        "tasks_count": tasks,
        "tasks_completed": int(final[Ended.COMPLETED]),
        "tasks_late": int(final[Ended.LATE]),
        "tasks_aborted": int(final[Ended.ABORTED]),
        "tasks_stopped": int(final[Ended.STOPPED]),
        "tasks_dropped": tasks - int(chain.final.sum()),
        "lost_work": account["lost"] / PARTS,
        "stopped_work": account["stopped"] / PARTS,
        "restarts": int((stays.begun == Begun.RESTARTED).sum()),
        "checkpoints": int(stays.checkpoints.sum()),
        "migrations": len(moves),
        "migrations_failed": int(failed.sum()),
        "failures_played": len(run.failures.time),
        "failures_hit": int((run.failures.tasks > 0).sum()),
    }
