"""A batch of simulated runs as rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import forestall as fs
from studies.cycle_sharing.inputs import DAY, SHAPES, hosts_of, jobs_of
from studies.cycle_sharing.runs import warm_up_of
from studies.kit.kept_runs import Row
from studies.vault.plan import FREE, INTERVAL, KINDS, PATHS, Batch, Case

LOAD = 0.25


@dataclass(frozen=True)
class Given:
    """What batches are played with besides what they draw."""

    days: int
    hosts: int
    data: Path | None = None


def stores_of(case: Case) -> str | None:
    """Return the settings of a case's stores; None where checkpoints cost nothing."""
    return None if case.layout == FREE else f"{KINDS[case.layout]} {PATHS} size={case.size}"


def play_batch(batch: Batch, given: Given) -> list[Row]:
    """Play all runs of a batch on the same hosts and jobs."""
    first = batch[0]
    shape = SHAPES[first.hosts_of]
    days = min(shape.days, given.days)
    warm_up = warm_up_of(first.hosts_of, days)
    hosts = hosts_of(first.hosts_of, first.seed, given.hosts, given.data, days)
    job_days = replace(shape, days=days, warm_up=warm_up).job_days
    jobs = jobs_of(first.hosts_of, first.seed, len(hosts), LOAD, job_days)
    known: fs.hosts.Forecasts | None = None
    rows = []
    for case in batch:
        settings: dict[str, Any] = {
            "scheduler": "falcon", "restart": "checkpoint", "checkpoint_interval": INTERVAL,
            "hold": shape.hold, "warm_up": warm_up * DAY, "predict_step": 300,
            "horizon": 12 * 3600, "vault": stores_of(case),
        }  # fmt: skip
        known = known or fs.hosts.Forecasts(hosts, fs.CycleParameters(**settings))
        result = fs.simulate_cycle(jobs, hosts, forecasts=known, **settings)
        rows.append(asdict(case) | account(result))
    return rows


def account(result: fs.CycleResult) -> Row:
    """Return what came out of a run: `makespan` mean of all jobs that were done, h; `unfinished`
    share of jobs; `failures` a job; `lost` work a job, h; and of the vault's measures those that
    are compared."""
    told, jobs = result.measures, result.measures["jobs_simulated"]
    vault = result.summary.get("vault", {})
    per_job = {
        name: vault[name] / jobs if vault else 0.0
        for name in ("bytes_saved", "bytes_restored", "bytes_between_sites", "unrecovered")
    }
    return {
        "jobs": jobs,
        "makespan": told["makespan"] / 3600 if told["makespan"] else None,
        "unfinished": told["unfinished_share"] + told["unscheduled_share"],
        "failures": told["failures_per_job"],
        "lost": told["lost_work"] / 3600 / jobs,
        "behind": vault.get("behind", 0),
        "restores": vault.get("restores", 0),
        "save_seconds": vault.get("save_seconds"),
        "restore_seconds": vault.get("restore_seconds"),
        "time_share": vault.get("time_share", 0.0),
        **per_job,
    }
