# %% [markdown]
# # A policy of your own
#
# A policy sets the order in which jobs wait. This one, shortest job first, runs beside the compiled
# policies:
# %%
import polars as pl

import forestall as fs


class ShortestFirst(fs.Policy):
    """Shortest estimate first; no job passes the head of the queue."""

    def order(self, job):
        return job.estimate


jobs = fs.generate_jobs(nodes=64, seed=1, count=200, load=0.9)
failures = fs.generate_failures(nodes=64, days=30, seed=1, rate_per_year=1500)
rows = []
for policy in ("fcfs", "easy", ShortestFirst()):
    run = fs.simulate(jobs, failures, nodes=64, policy=policy)
    rows.append(
        {
            "policy": run.summary["policy"],
            "mean wait, h": round(run.measures["wait"]["mean"] / 3600, 2),
            "utilization": round(run.utilization, 3),
        }
    )
pl.DataFrame(rows)
