"""Rules of `summary.json`: counts, rates and the account of capacity, anew."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from forestall.core.certify.finding import Finding, Rule
from forestall.core.certify.sheet import NONE, Int, spelled
from forestall.core.certify.sums import per, ratio, recomputed, spread_of, total
from forestall.core.model.virtual_books import Begun, Ended, MoveEnd
from forestall.machines.certify.facts import Facts
from forestall.machines.certify.files import DROPPED, JOB_FATES, PARTS, RATES

DAY: Final = 86_400
UNITS: Final = 20
OTHERS: Final = (
    *("model", "strategy", "seed", "parameters", "predictor", "sources", "skipped", "versions"),
    *("processor_seconds", "job_completion_interval", "task_completion_interval"),
)
"""What stands in the summary beside the measures."""


def account(run: Facts, finding: Finding) -> str:
    """The parts of the account are as computed here, where they add up, and none is negative."""
    mine = {name: value / PARTS for name, value in run.account.items()}
    for name in mine:
        run.summary.measure(f"processor_seconds.{name}")
    recomputed(lambda _: mine, "processor_seconds")(run, finding)
    finding.all([f"{name} is negative: {value}" for name, value in mine.items() if value < 0])
    whole = mine["total"]
    return f"useful + lost + stopped + paused + idle + down = {whole:,.3f} processor-seconds"


def alone(run: Facts, finding: Finding) -> str:
    """Counts of the summary, from the stays; and it has nothing that no run has."""
    for name in (counts := _counts(run)):
        run.summary.measure(name)
    recomputed(lambda _: counts)(run, finding)
    known = {*counts, *RATES, *_of_moves(run), *OTHERS}
    odd = [name for name in run.summary.held if name not in known]
    finding.each([f"summary.json has {name}, which no run has" for name in odd])
    return "jobs, tasks, moves, failures"


def _counts(run: Facts) -> dict[str, float]:
    jobs, moves, stays, final = run.jobs, run.moves, run.chain.stays, run.chain.final
    job = np.bincount(run.fates["fate"], minlength=len(JOB_FATES)).tolist()
    ended = np.bincount(stays.ended[final], minlength=DROPPED + 1).tolist()
    tasks, outcome = int(jobs.first[-1]), moves.outcome
    failed = (outcome == MoveEnd.TARGET_FAILED) | (outcome == MoveEnd.SOURCE_FAILED)
    return {
        "jobs_count": len(jobs),
        **{f"jobs_{name}": job[JOB_FATES.index(name)] for name in ("completed", "late", "dropped")},
        "tasks_count": tasks,
        "tasks_completed": ended[Ended.COMPLETED],
        "tasks_late": ended[Ended.LATE],
        "tasks_aborted": ended[Ended.ABORTED],
        "tasks_stopped": ended[Ended.STOPPED],
        "tasks_dropped": tasks - int(final.sum()),
        "lost_work": run.account["lost"] / PARTS,
        "stopped_work": run.account["stopped"] / PARTS,
        "restarts": int((stays.begun == Begun.RESTARTED).sum()),
        "checkpoints": int(stays.checkpoints.sum()),
        "migrations": len(moves),
        "migrations_failed": int(failed.sum()),
        "failures_played": len(run.failures),
        "failures_hit": int((run.failures.tasks > 0).sum()),
    }


def _rates(run: Facts) -> dict[str, float]:
    counts, account = _counts(run), run.account
    jobs, tasks = (counts[f"{of}_completed"] / counts[f"{of}_count"] for of in ("jobs", "tasks"))
    useful = ratio(account["useful"], account["total"]) or 0.0
    return dict(zip(RATES, (jobs, tasks, useful), strict=True))


# ------------------------------------------------------------------------------------- intervals


def intervals(run: Facts, finding: Finding) -> str:
    """The 95 % intervals of the rates, anew."""
    jobs = run.jobs
    day, every = jobs.submit // DAY, np.arange(len(jobs))
    single = np.ones(len(jobs), dtype=np.int64)
    by_jobs = _design_effect(jobs.completed, single, day)
    by_tasks = _design_effect(jobs.done, jobs.size, day)
    by_tasks = by_tasks or _design_effect(jobs.done, jobs.size, every)
    for name, done, of, effect in (
        ("job", int(jobs.completed.sum()), len(jobs), by_jobs),
        ("task", int(jobs.done.sum()), int(jobs.size.sum()), by_tasks),
    ):
        if done > of:
            finding.wrong("{0} of {1} {2}s are done", done, of, name)
            continue
        here = {f"{name}_completion_interval": _wilson(done, of, effect or 1.0)}
        recomputed(lambda _, here=here: here)(run, finding)  # type: ignore[misc]
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


# ----------------------------------------------------------------------------------------- moves


def _of_moves(run: Facts) -> dict[str, Any]:
    """Return what moves cost and bought, how long jobs waited, and where useful work was done."""
    jobs, moves, stays, start = run.jobs, run.moves, run.stays, run.fates["start"]
    wait = (start - jobs.submit)[start != NONE]
    came = stays.take(stays.begun == Begun.MIGRATED)
    until: Int = np.minimum(came.runs_from, came.end)
    outcomes = np.bincount(moves.outcome, minlength=len(MoveEnd)).tolist()
    return {
        "makespan": max(run.span[1] - run.span[0], 0),
        "wait": spread_of(wait) if len(wait) else None,
        "migration_outcomes": dict(zip(spelled(MoveEnd, " "), outcomes, strict=True)),
        "migration_work": total(came.rate * (until - came.start)) / PARTS,
        "least_reliable_share": _least_reliable(run),
        **_flights(run),
    }


def _flights(run: Facts) -> dict[str, int]:
    """Return s that tasks stood still, tasks saved, and moves in vain, move by move."""
    chain, stays = run.chain, run.chain.stays
    failed: dict[int, list[int]] = {}
    for node, time in zip(run.failures.node.tolist(), run.failures.time.tolist(), strict=True):
        failed.setdefault(node, []).append(time)
    eased = run.moves.take(run.moves.predicted == NONE)
    for_load = set(zip(eased.index.tolist(), eased.time.tolist(), strict=True))
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
        if any(gone <= time < would for time in failed.get(int(stays.node[k - 1]), [])):
            saved |= {task} if final[task] == Ended.COMPLETED else set()
        else:
            in_vain += 1
    return {"migration_time": still, "tasks_saved": len(saved), "moves_in_vain": in_vain}


def _least_reliable(run: Facts) -> float | None:
    """Return the share of useful work done on the quarter of the nodes that failed most."""
    chain, stays, nodes = run.chain, run.chain.stays, run.given.nodes
    failed = np.bincount(run.failures.node, minlength=nodes).tolist()
    worst = set(sorted(range(nodes), key=lambda node: (-failed[node], node))[: -(-nodes // 4)])
    done = set(stays.index[chain.final & stays.over].tolist())
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
    return ratio(mine, useful)


RULES: Final = (
    Rule[Facts]("account of capacity", account),
    *(
        Rule[Facts](
            name.replace("_", " "),
            recomputed(lambda run, name=name: {name: _rates(run)[name]}),  # type: ignore[misc]
        )
        for name in RATES
    ),
    Rule[Facts]("counts", alone),
    Rule[Facts]("moves, waits and reliable nodes", recomputed(_of_moves)),
    Rule[Facts]("intervals of the rates", intervals),
)
