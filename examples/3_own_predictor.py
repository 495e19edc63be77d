# %% [markdown]
# # A predictor of your own
#
# Any object with these five methods can serve the promise policy as a predictor. This one counts
# each node's failures so far.
# %%
import numpy as np

import forestall as fs


class Rates:
    """Each node fails at its rate so far."""

    def __init__(self, nodes, prior_days=60.0):
        self.count = np.zeros(nodes)
        self.prior = prior_days * 86_400
        self.now = 0

    def fit(self, history):
        np.add.at(self.count, history.node, 1)

    def update(self, time, node):
        self.now = max(self.now, time)
        self.count[node] += 1

    def _rates(self, nodes):
        return (self.count[nodes] + 1) / (self.prior + self.now)

    def failure_probability(self, nodes, start, end):
        return 1 - np.exp(-self._rates(nodes) * (end - start))

    def partition_failure_probability(self, nodes, start, end):
        return float(1 - np.exp(-self._rates(nodes).sum() * (end - start)))

    def time_to_failure(self, nodes):
        return 1 / self._rates(nodes)


# %%
jobs = fs.generate_jobs(nodes=64, seed=1, count=60, load=0.7)
failures = fs.generate_failures(nodes=64, days=30, seed=1, rate_per_year=1500)
for name, predictor in (("rates", Rates(64)), ("perfect", fs.TracePredictor(accuracy=1.0))):
    run = fs.simulate(jobs, failures, nodes=64, predictor=predictor, risk=0.0)
    print(f"{name:8} quality of service {run.qos:.3f}, Brier score {run.measures['brier']:.4f}")
