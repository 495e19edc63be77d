"""The certifier's rules of `summary.json`: counts, rates and the account of capacity, anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from forestall.app.kit.certify.finding import Finding
from forestall.app.kit.certify.sums import close, measured, told
from forestall.app.virtual.certify.facts import Facts
from forestall.app.virtual.certify.files import DROPPED, JOB_FATES, PARTS
from forestall.model.virtual_books import Begun, Ended, MoveEnd

TOLERANCE: Final = 1e-12
ACCOUNT: Final = ("useful", "lost", "stopped", "paused", "idle", "down", "total")
RATES: Final = ("job_completion_rate", "task_completion_rate", "utilization")


def account(run: Facts, finding: Finding) -> str:
    """The parts of the account are as told, none is negative, and they add up."""
    mine, wrong, said = run.account, [], {}
    for name in ACCOUNT:
        value = run.summary.measure(f"processor_seconds.{name}")
        said[name] = round(value * PARTS)
        if not close(said[name], mine[name], TOLERANCE, 0.5):
            wrong.append(f"{name} is {value} in summary.json, {mine[name] / PARTS} here")
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
    return "jobs, tasks, moves, failures"


def _measures(run: Facts) -> dict[str, float]:
    jobs, chain, moves, account = run.jobs, run.chain, run.moves, run.account
    stays = chain.stays
    job = np.bincount(run.told["fate"], minlength=len(JOB_FATES))
    final = np.bincount(stays.ended[chain.final], minlength=DROPPED + 1)
    tasks = int(jobs.first[-1])
    failed = (moves.outcome == MoveEnd.TARGET_FAILED) | (moves.outcome == MoveEnd.SOURCE_FAILED)
    total = account["total"]
    return {
        "job_completion_rate": job[JOB_FATES.index("completed")] / len(jobs),
        "task_completion_rate": final[Ended.COMPLETED] / tasks,
        "utilization": account["useful"] / total if total else 0.0,
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
