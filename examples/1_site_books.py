# %% [markdown]
# # A site's books
#
# What do a site's own records show? Here two weeks of generated failures stand in for them;
# on a Slurm cluster, use `fs.site_report(slurm=True)`.
# %%
import forestall as fs

failures = fs.generate_failures(nodes=64, days=14, seed=1, rate_per_year=1500)
failures.table().write_csv("failures.csv")
# %%
found = fs.site_report("failures.csv", learn=False)
found
