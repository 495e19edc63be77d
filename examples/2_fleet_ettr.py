# %% [markdown]
# # A fleet's ETTR
#
# Effective training time ratio: of all time, the share that moves the training forward. How does
# it fall with the number of nodes, and what do faster checkpoints buy?
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
# When does a run of ten days on 512 nodes end?
# %%
law = fs.completion_time(
    10 * 86_400, 60 * 86_400, nodes=512, interval=3600, cost=120, restart=300, downtime=600
)
law
