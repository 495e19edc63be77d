"""What a predictor hears of a live cluster, and what it then foresees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.live.rules.health import HealthCommand, HealthFile, read_lines
from forestall.prediction.models.registry import new_learner
from forestall.prediction.watching.events import EventTail
from forestall.prediction.watching.forecasts import MaintenanceForecasts, WatchingForecasts
from forestall.prediction.watching.foreseen import (
    JoinedForecasts,
    ListedForecasts,
    Maintenance,
    NodeForecast,
)
from forestall.prediction.watching.metrics import MetricFiles, samples
from forestall.slurm.cluster.nouns import ClusterView
from forestall.slurm.simulation.moves import fresh

NOW, DAY, NODES = 1_800_000_000, 86_400, 8
NAMES = tuple(f"n{k}" for k in range(1, NODES + 1))


def view(*down: str) -> ClusterView:
    nodes = {name: fresh(name, NOW) for name in NAMES}
    nodes |= {name: nodes[name]._replace(state="DOWN") for name in down}
    return ClusterView({}, MappingProxyType(nodes), {})


def failures(days: int = 60, origin: int | None = None) -> Failures:
    rng = np.random.default_rng(3)
    time = np.sort(rng.integers(3 * 3600, days * DAY - 3600, 120))
    node = rng.integers(0, NODES, 120)
    return replace(
        Failures.build(time, node), nodes=NODES, span=days * DAY, names=NAMES, origin=origin
    )


def history(origin: int | None = None) -> Observations:
    """Each failure comes half an hour after an event, and while a metric is high."""
    log = failures(origin=origin)
    events = RasLog(
        log.time - 1800, log.node.astype(np.int32), np.full(len(log), 5, dtype=np.int8),
        np.zeros(len(log), dtype=np.int32), NAMES, ("kernel: EDAC MC# CE",),
    )  # fmt: skip
    grid = np.arange(0, 60 * DAY, 1800)
    value = 0.3 + 0.02 * np.random.default_rng(1).standard_normal((NODES, len(grid)))
    for time, node in zip(log.time.tolist(), log.node.tolist(), strict=True):
        value[node, (grid > time - 3 * 3600) & (grid < time)] += 0.5
    metrics = Metrics(
        np.tile(grid, NODES), np.repeat(np.arange(NODES), len(grid)), value.reshape(-1, 1),
        ("memory_share",), NODES, NAMES, 1800,
    )  # fmt: skip
    return Observations.of(log, begin=0, end=60 * DAY, events=events, metrics=metrics)


class Heard:
    """Events that a test lets come."""

    def __init__(self) -> None:
        self.next: RasLog | None = None

    def say(self, place: str, kind: str) -> None:
        one, zero = np.ones(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
        self.next = RasLog(one, zero, np.full(1, 5, dtype=np.int8), zero, (place,), (kind,))

    def new(self, now: int) -> RasLog | None:
        assert now >= NOW
        told, self.next = self.next, None
        return told


def test_an_event_that_was_learnt_to_come_before_failures_raises_its_nodes_risk() -> None:
    learner = new_learner("rules")
    learner.fit(history())
    heard = Heard()
    one = WatchingForecasts(learner, events=heard, horizon=3600)
    before = one.foreseen(view(), NOW)
    heard.say("n3", "kernel: EDAC MC# CE")
    after = one.foreseen(view(), NOW + 30)
    assert after["n3"].probability > 5 * before["n3"].probability
    assert after["n3"].by == "rules"
    for name in set(NAMES) - {"n3"}:
        assert after[name].probability == pytest.approx(before[name].probability, rel=0.5)
    heard.say("elsewhere", "kernel: EDAC MC# CE")
    one.foreseen(view(), NOW + 60)


def test_a_node_that_goes_down_is_told_once() -> None:
    learner = new_learner("recency")
    learner.fit(failures())
    one = WatchingForecasts(learner, every=10_000)
    quiet = one.foreseen(view(), NOW)["n2"].probability
    one.foreseen(view("n2"), NOW + 60)
    known = len(one._learner.seen.failures)
    one.foreseen(view("n2"), NOW + 120)
    loud = one.foreseen(view("n2"), NOW + 120)["n2"].probability
    assert len(one._learner.seen.failures) == known == 121
    assert loud != quiet
    assert learner.seen.end == 60 * DAY  # the predictor is left as it was


def test_the_same_as_a_predictor_that_observes_step_by_step() -> None:
    learner = new_learner("rate")
    learner.fit(failures())
    one = WatchingForecasts(learner, every=0)
    plain = learner.moved(NOW - learner.seen.end)
    for step, down in enumerate([(), ("n1",), (), ("n1", "n4")]):
        now = NOW + 600 * step
        told = one.foreseen(view(*down), now)
        for name in down:
            plain.update(now, NAMES.index(name))
        plain.advance(now)
        risks = plain.failure_probability(np.arange(NODES), now, now + DAY)
        assert [told[name].probability for name in NAMES] == pytest.approx(risks.tolist(), rel=1e-3)


def test_metrics_that_are_high_raise_a_nodes_risk_and_make_it_odd(tmp_path: Path) -> None:
    learner = new_learner("outlier")
    learner.fit(history())
    path = tmp_path / "nodes.prom"
    low = "".join(f'memory_share{{instance="{name}:9100"}} 0.3\n' for name in NAMES)
    path.write_text(low)
    files = MetricFiles(path, old=10**10)
    one = WatchingForecasts(learner, metrics=files, every=60, horizon=3600)
    before = one.foreseen(view(), NOW)
    assert one.odd(view(), NOW) == {}
    path.write_text(low.replace('n5:9100"} 0.3', 'n5:9100"} 0.85'))
    after = one.foreseen(view(), NOW + 60)
    assert after["n5"].probability > 3 * before["n5"].probability
    assert list(one.odd(view(), NOW + 60)) == ["n5"]


def test_what_cannot_be_told_is_refused() -> None:
    learner = new_learner("outlier")
    learner.fit(history())
    with pytest.raises(ParameterError, match="a source of metrics, with outlier"):
        WatchingForecasts(learner)
    nameless = new_learner("rate")
    nameless.fit(replace(failures(), names=None))
    with pytest.raises(ParameterError, match="names of the nodes"):
        WatchingForecasts(nameless)
    late = new_learner("rate")
    late.fit(failures(origin=NOW))
    with pytest.raises(ParameterError, match="training ended before now"):
        WatchingForecasts(late).foreseen(view(), NOW)
    dated = new_learner("rate")
    dated.fit(failures(origin=NOW - 90 * DAY))
    assert WatchingForecasts(dated).foreseen(view(), NOW)


# ------------------------------------------------------------------------------- joined, planned


def test_maintenance_is_certain_while_it_is_to_come_and_while_it_lasts() -> None:
    windows = [Maintenance(NOW + 3600, NOW + 7200, frozenset({"n1"})), Maintenance(NOW, NOW + 900)]
    one = MaintenanceForecasts(windows)
    first = one.foreseen(view(), NOW)
    assert set(first) == set(NAMES)
    assert first["n1"] == NodeForecast(NOW, NOW + 900, 1.0, "maintenance")
    later = one.foreseen(view(), NOW + 1000)
    assert later == {"n1": NodeForecast(NOW + 3600, NOW + 7200, 1.0, "maintenance")}
    under_way = one.foreseen(view(), NOW + 3700)["n1"]
    assert NOW + 3700 <= under_way.at < under_way.until == NOW + 7200
    assert one.foreseen(view(), NOW + 7200) == {}


def test_of_several_forecasters_the_most_probable_counts() -> None:
    learner = new_learner("rate")
    learner.fit(failures(), end=NOW)
    rate = WatchingForecasts(learner, NAMES, horizon=7 * DAY)
    listed = ListedForecasts([("n2", NodeForecast(NOW + 60, NOW + 120, 1.0, "list"))])
    planned = MaintenanceForecasts([Maintenance(NOW + 30, NOW + 90, frozenset({"n3"}))])
    found = JoinedForecasts(rate, listed, planned).foreseen(view(), NOW)
    assert [found[name].by for name in ("n1", "n2", "n3")] == ["rate", "list", "maintenance"]


# ----------------------------------------------------------------------------------- sources


def test_lines_that_come_to_a_log_are_heard_once(tmp_path: Path) -> None:
    path = tmp_path / "syslog"
    line = "Jan 15 08:00:00 n1 kernel: EDAC MC0: 1 CE on DIMM 3\n"
    tail = EventTail(path)
    assert tail.new(NOW) is None  # it is not there yet
    path.write_text(line)
    tail = EventTail(path)
    assert tail.new(NOW) is None  # what was there before is no news
    with path.open("a") as file:
        file.write(line * 2 + "Jan 15 08:00:01 n2 ker")
    told = tail.new(NOW)
    assert told is not None
    assert [told.places[k] for k in told.place.tolist()] == ["n1", "n1"]
    assert tail.new(NOW) is None
    with path.open("a") as file:
        file.write("nel: panic\n")
    told = tail.new(NOW)
    assert told is not None
    assert told.places == ("n2",)
    path.rename(tmp_path / "syslog.1")
    path.write_text(line)
    told = tail.new(NOW)
    assert told is not None
    assert len(told) == 1
    path.write_bytes(b"\xff\xfe\x00 no log\n" * 3)
    tail.new(NOW)  # whatever stands there, nothing is raised


def test_values_by_metric_and_node(tmp_path: Path) -> None:
    (tmp_path / "n1.prom").write_text('# TYPE a gauge\na 1\na{gpu="1"} 3\nb NaN\n')
    (tmp_path / "n2.prom").write_text('a{node="n9"} 2e0 1700000000000\nbroken{\n')
    assert MetricFiles(tmp_path, old=10**10).values(NOW) == {"a": {"n1": 3.0, "n9": 2.0}}
    assert MetricFiles(tmp_path).values(NOW) == {}  # too old
    assert MetricFiles(tmp_path / "none").values(NOW) == {}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('a{node="n2",quantile="0.5"} 3', ("a", "n2", 3.0)),  # of a gauge: the largest counts
        ('a_bucket{node="n2",le="+Inf"} 3', ("a_bucket", "n2", 3.0)),
        ('a_bucket{node="n2",le="1"} 3 # {trace="7}"} 0.5 1700000000.25', ("a_bucket", "n2", 3.0)),
        ('a{node="n2"} 3 1700000000.25', ("a", "n2", 3.0)),  # OpenMetrics: seconds
        ('a{node="n2",} .5', ("a", "n2", 0.5)),
        ('a{ node = "n2" , b = "}" } -3E-1 1700000000000', ("a", "n2", -0.3)),
        ('{"disk.temp",node="n2"} 3', ("disk.temp", "n2", 3.0)),  # Prometheus 3
        ('{"disk.temp", "rack.row"="4", node="n2"} 3', ("disk.temp", "n2", 3.0)),
        ('a{"rack.row"="4"} 3', ("a", "n1", 3.0)),
        ('\ufeffa{node="n2"} 3', ("a", "n2", 3.0)),
        ("# a 3", None), ('{node="n2"} 3', None), ('a{node="n2} 3', None), ("a +Inf", None),
    ],
)  # fmt: skip
def test_lines_of_exporters(line: str, expected: tuple[str, str, float] | None) -> None:
    assert list(samples(line, "n1")) == ([] if expected is None else [expected])


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    list(samples(text, "n1"))
    read_lines(text)


def test_health_lines(tmp_path: Path) -> None:
    path = tmp_path / "health"
    path.write_text("n[1-2]: ok\nn3: no\tfan\nrubbish\nn[4: x\n")
    now = int(path.stat().st_mtime)
    assert HealthFile(path).lines(now) == {"n1": "ok", "n2": "ok", "n3": "no fan"}
    assert HealthFile(path).lines(now + 3600) is None
    assert HealthFile(tmp_path / "none").lines(now) is None
    command = HealthCommand(["cat", str(path)], every=60)
    assert command.lines(NOW) == HealthFile(path).lines(now)
    path.write_text("n1: ill\n")
    assert command.lines(NOW + 59) != {"n1": "ill"}
    assert command.lines(NOW + 60) == {"n1": "ill"}
    assert HealthCommand(["false"]).lines(NOW) is None
    assert HealthCommand(["no-such-command"]).lines(NOW) is None
