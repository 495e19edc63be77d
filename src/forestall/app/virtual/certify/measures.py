"""The certifier's look at `summary.json`: counts, rates and the account of capacity, anew."""

from __future__ import annotations

import math

import numpy as np

from forestall.app.kit.finding import Check
from forestall.app.kit.sheet import Int, value_of
from forestall.app.virtual.certify.chains import Chain
from forestall.app.virtual.certify.files import (
    ABORTED,
    COMPLETED,
    DROPPED,
    JOB_FATES,
    LATE,
    RESTARTED,
    SOURCE_FAILED,
    STOPPED,
    TARGET_FAILED,
    VirtualFolder,
)
from forestall.app.virtual.certify.nodes import Outages, held
from forestall.app.virtual.certify.tables import end_of, job_fates

TOLERANCE = 1e-12
ACCOUNT = ("useful", "lost", "stopped", "paused", "idle", "down", "total")


def account_of(folder: VirtualFolder, chain: Chain, down: Outages) -> dict[str, int]:
    """Return where the capacity went, thousandths of a processor-second."""
    jobs, stays, given = folder.jobs, chain.stays, folder.given
    begin, end = int(jobs.submit.min()), end_of(folder, chain)
    ended = stays.index[chain.final & ((stays.ended == COMPLETED) | (stays.ended == LATE))]
    whole = np.zeros(int(jobs.first[-1]), dtype=np.bool_)
    whole[ended] = True
    counted = stays.work - stays.lost
    full = whole[stays.index]
    done = _total(stays.work)
    hold = _total(held(folder))
    total = given.nodes * given.capacity * (end - begin)
    out = given.capacity * down.seconds(begin, end)
    return {
        "useful": _total(counted[full]),
        "lost": _total(stays.lost),
        "stopped": _total(counted[~full]),
        "paused": hold - done,
        "idle": total - hold - out,
        "down": out,
        "total": total,
    }


def _total(values: Int) -> int:
    """Return the sum of whole numbers, however large."""
    low = values & 0xFFFFFFFF
    return (int((values >> 32).sum()) << 32) + int(low.sum())


def check_account(folder: VirtualFolder, mine: dict[str, int]) -> Check:
    """The parts of the account are as told, none is negative, and they add up."""
    wrong = []
    said = {}
    for name in ACCOUNT:
        keys = f"processor_seconds.{name}"
        value = value_of(folder.path, folder.summary, keys, (int, float), "a number")
        said[name] = round(value * 1000)
        if not math.isclose(said[name], mine[name], rel_tol=TOLERANCE, abs_tol=0.5):
            wrong.append(f"{name} is {value} in summary.json, {mine[name] / 1000} here")
    wrong += [f"{name} is negative: {mine[name] / 1000}" for name in ACCOUNT if mine[name] < 0]
    parts = sum(said[name] for name in ACCOUNT[:-1])
    if not math.isclose(parts, said["total"], rel_tol=TOLERANCE, abs_tol=0.5):
        wrong.append(f"the parts in summary.json add up to {parts / 1000}, not to its total")
    good = "useful + lost + stopped + paused + idle + down = {:,.3f} processor-seconds"
    return Check("account of capacity", not wrong, "; ".join(wrong) or good.format(parts / 1000))


def check_measures(folder: VirtualFolder, chain: Chain, account: dict[str, int]) -> list[Check]:
    """Counts and rates of the summary, computed from the stays."""
    mine = _measures(folder, chain, account)
    wrong, rates = [], []
    for name, here in mine.items():
        said = value_of(folder.path, folder.summary, name, (int, float), "a number")
        same = math.isclose(here, said, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        if name in ("job_completion_rate", "task_completion_rate", "utilization"):
            detail = f"{said} in summary.json" + ("" if same else f", {here} here")
            rates.append(Check(name.replace("_", " "), same, detail))
        elif not same:
            wrong.append(f"{name} is {said} in summary.json, {here} here")
    counts = Check("counts", not wrong, "; ".join(wrong) or "jobs, tasks, moves, failures")
    return [*rates, counts]


def _measures(folder: VirtualFolder, chain: Chain, account: dict[str, int]) -> dict[str, float]:
    jobs, stays, moves = folder.jobs, chain.stays, folder.moves
    job = np.bincount(job_fates(folder, chain)["fate"], minlength=len(JOB_FATES))
    final = np.bincount(stays.ended[chain.final], minlength=DROPPED + 1)
    tasks = int(jobs.first[-1])
    failed = (moves.outcome == TARGET_FAILED) | (moves.outcome == SOURCE_FAILED)
    total = account["total"]
    return {
        "job_completion_rate": job[JOB_FATES.index("completed")] / len(jobs.name),
        "task_completion_rate": final[COMPLETED] / tasks,
        "utilization": account["useful"] / total if total else 0.0,
        "jobs_count": len(jobs.name),
        "jobs_completed": int(job[JOB_FATES.index("completed")]),
        "jobs_late": int(job[JOB_FATES.index("late")]),
        "jobs_dropped": int(job[JOB_FATES.index("dropped")]),
        "tasks_count": tasks,
        "tasks_completed": int(final[COMPLETED]),
        "tasks_late": int(final[LATE]),
        "tasks_aborted": int(final[ABORTED]),
        "tasks_stopped": int(final[STOPPED]),
        "tasks_dropped": tasks - int(chain.final.sum()),
        "lost_work": account["lost"] / 1000,
        "stopped_work": account["stopped"] / 1000,
        "restarts": int((stays.begun == RESTARTED).sum()),
        "checkpoints": int(stays.checkpoints.sum()),
        "migrations": len(moves),
        "migrations_failed": int(failed.sum()),
        "failures_played": len(folder.failures.time),
        "failures_hit": int((folder.failures.tasks > 0).sum()),
    }
