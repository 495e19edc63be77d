# %% [markdown]
# # The promise paper's main figure, small
#
# Oliner et al. (DSN 2005) asked what failure prediction is worth to a scheduler that promises
# deadlines: quality of service and lost work over prediction accuracy. Generated logs replace the
# paper's; `python -m studies promises` redraws all figures from real logs.
# %%
import polars as pl

import forestall as fs

jobs = fs.generate_jobs(nodes=128, seed=1, days=7, load=0.75)
failures = fs.generate_failures(nodes=128, days=14, seed=1, rate_per_year=1500)
rows = []
for accuracy in (0.0, 0.5, 1.0):
    run = fs.simulate(
        jobs, failures, nodes=128, predictor=fs.TracePredictor(accuracy=accuracy), risk=0.9
    )
    rows.append(
        {
            "accuracy": accuracy,
            "quality of service": round(run.qos, 4),
            "lost work, node-hours": round(run.lost_work / 3600),
        }
    )
table = pl.DataFrame(rows)
table
# %% [markdown]
# Check: perfect prediction loses no more work than no prediction.
# %%
assert table["lost work, node-hours"][-1] <= table["lost work, node-hours"][0]
