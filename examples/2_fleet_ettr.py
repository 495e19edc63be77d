# %% [markdown]
# # A fleet's ETTR
#
# The effective training time ratio (ETTR) is the share of wall-clock time that advances the
# training. How does it fall with the number of nodes, and what do faster checkpoints gain?
# %%
import polars as pl

import forestall as fs

rows = []
for nodes in (32, 128, 512, 2048):
    for cost in (15, 120):
        chosen = fs.checkpoint_interval(60 * 86_400, cost, nodes=nodes, restart=300, downtime=600)
        rows.append(
            {
                "nodes": nodes,
                "checkpoint takes, s": cost,
                "every, min": round(chosen.optimal / 60, 1),
                "ETTR": round(chosen.efficiency, 4),
            }
        )
pl.DataFrame(rows)
# %% [markdown]
# When does a run with ten days of work on 512 nodes end?
# %%
law = fs.completion_time(
    10 * 86_400, 60 * 86_400, nodes=512, interval=3600, cost=120, restart=300, downtime=600
)
law
