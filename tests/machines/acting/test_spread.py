"""What predictors foresee of hosts, with its spread."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.machines.acting.spread import AgentForesight, LearnerForesight
from forestall.prediction.models.registry import new_learner
from forestall.prediction.watching.forecasts import WatchingForecasts
from forestall.prediction.watching.metrics import MetricFiles

DAY = 86_400


def test_agents_forecasts(tmp_path: Path) -> None:
    line = 'forestall_host_reliability_ratio{{horizon="{}"}} {}\n'
    (tmp_path / "h1.prom").write_text(line.format("1h", 0.8) + line.format("2h", 0.2) + "x 1\n")
    (tmp_path / "h2.prom").write_text(line.format("1h", 1.0))
    (tmp_path / "h3.prom").write_text(line.format("1h", 0.1))
    os.utime(tmp_path / "h3.prom", (0, 0))
    found = AgentForesight(tmp_path).foretold(1000, ())
    assert set(found) == {"h1"}
    one = found["h1"]
    assert (one.probability, one.by) == (0.8, "agent")
    # 0.2 within the first hour, 0.6 within the second: the tenth of 0.8 is 0.08, the half 0.4.
    assert one.early == 1000 + int(3600 * 0.08 / 0.2)
    assert one.at == 1000 + 3600 + int(3600 * 0.2 / 0.6)
    assert one.late == 1000 + 3600 + int(3600 * 0.52 / 0.6)
    assert AgentForesight(tmp_path).foretold(1000, ("h1",)) == {}
    assert AgentForesight(tmp_path).drained() == ()


def test_a_learner_of_a_sites_log() -> None:
    """Host a fails every day, host b never did; the spread is that of the fitted law."""
    times = np.arange(1, 101) * DAY
    log = replace(Failures.build(times.tolist(), [0] * 100), nodes=2, names=("a", "b"), origin=0)
    learner = new_learner("rate")
    learner.fit(Observations(log, 0, 100 * DAY + 1, 2))
    foresight = LearnerForesight(WatchingForecasts(learner, horizon=4 * DAY), 4 * DAY)
    now = 100 * DAY + 10
    found = foresight.foretold(now, ())
    assert found["a"].probability > 0.9
    assert now < found["a"].early < found["a"].at < found["a"].late < now + 4 * DAY
    # Of an exponential law of mean a day, cut after four: half by about 0.67 days.
    assert abs((found["a"].at - now) / DAY - 0.67) < 0.15
    assert "a" not in foresight.foretold(now + 60, ("a",))


def test_metrics_out_of_the_ordinary(tmp_path: Path) -> None:
    """A learner of outliers speaks of the host whose metric is high now."""
    generator = np.random.default_rng(1)
    moments = np.arange(0, 200) * 300
    time, node = np.repeat(moments, 4), np.tile(np.arange(4), 200)
    values = generator.normal(10, 1, len(time))
    fails = [(60, 0), (110, 1), (150, 2), (180, 3)]
    for at, who in fails:
        values[(node == who) & (np.abs(time - at * 300) <= 900)] = 40
    names = ("a", "b", "c", "d")
    plain = Failures.build([at * 300 + 1200 for at, _ in fails], [who for _, who in fails])
    log = replace(plain, nodes=4, names=names, origin=0)
    order = np.lexsort((time, node))
    time, node, values = time[order], node[order], values[order]
    metrics = Metrics(time, node, values.reshape(-1, 1), ("load",), 4, names, 300, 0)
    learner = new_learner("outlier")
    learner.fit(Observations(log, 0, 200 * 300, 4, None, metrics))
    now = 200 * 300 + 300
    for name, value in zip(names, (10, 45, 9, 11), strict=True):
        (tmp_path / f"{name}.prom").write_text(f"load {value}\n")
    heard = MetricFiles(tmp_path, wall=lambda: 0.0)
    watching = WatchingForecasts(learner, metrics=heard, every=300, horizon=3600)
    found = LearnerForesight(watching, 3600).foretold(now, ())
    risks = {name: one.probability for name, one in found.items()}
    assert max(risks, key=lambda name: risks[name]) == "b"
    assert risks["b"] > 2 * max(risk for name, risk in risks.items() if name != "b")
