"""Events, metrics and planned outages in a run: what is known at a time, and what follows of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import forestall as fs
from core.commands.calls import call
from forestall.core.model.arrays import Ints
from forestall.core.model.errors import ParameterError, TraceError
from forestall.core.model.failures import Failures, PlannedOutages
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.logs.maintenance import read_maintenance
from forestall.logs.ras.write import write_ras
from forestall.logs.write import write_failures
from forestall.prediction.models.base import KnowsOutages
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.prediction.models.learner import Learner
from forestall.prediction.models.registry import new_learner
from forestall.runs.certify import certify
from forestall.scheduling.report.log import replay

DAY, NODES, TRAIN = 86_400, 8, 60 * 86_400


def logs() -> tuple[Failures, RasLog, Metrics]:
    """Each failure has an event half an hour before, and a metric that climbs six hours before;
    some events stand for nothing. [0, TRAIN) is for learning."""
    log = fs.generate_failures(NODES, 80, 3, mttf_hours=200.0)
    rng = np.random.default_rng(5)
    noise = rng.integers(0, 80 * DAY, 40)
    times = np.concatenate((log.time - 1800, noise))
    places = np.concatenate((log.node, rng.integers(0, NODES, 40))).astype(np.int32)
    order = np.lexsort((places, times))
    kind = np.zeros(len(times), dtype=np.int32)
    names = tuple(str(k) for k in range(NODES))
    events = RasLog(
        times[order], places[order], np.full(len(times), 5, dtype=np.int8), kind, names,
        ("memory error",), span=80 * DAY,
    )  # fmt: skip
    step = 1800
    grid = np.arange(0, 80 * DAY, step)
    value = 0.3 + 0.02 * rng.standard_normal((NODES, len(grid)))
    for time, node in zip(log.time.tolist(), log.node.tolist(), strict=True):
        value[node, (grid > time - 6 * 3600) & (grid < time)] += 0.4
    metrics = Metrics(
        np.tile(grid, NODES), np.repeat(np.arange(NODES), len(grid)), value.reshape(-1, 1),
        ("memory_share",), NODES, period=step,
    )  # fmt: skip
    return log, events, metrics


def shifted(part: Any, by: int) -> Any:
    return replace(part, time=part.time - by)


def window(log: Failures, begin: int, end: int) -> Failures:
    part = log.take((log.time >= begin) & (log.time < end))
    return replace(part, time=part.time - begin, span=end - begin)


def learnt(name: str) -> Learner:
    log, events, metrics = logs()
    learner = new_learner(name)
    seen = Observations.of(log, begin=0, end=TRAIN, nodes=NODES, events=events, metrics=metrics)
    learner.fit(seen, end=0)
    return learner


def jobs() -> fs.Jobs:
    return fs.generate_jobs(NODES, 1, count=700, load=0.6)


def played(learner: Any, **more: Any) -> Any:
    log, events, metrics = logs()
    given = {"events": shifted(events, TRAIN), "metrics": shifted(metrics, TRAIN), **more}
    return fs.simulate(
        jobs(), window(log, TRAIN, 80 * DAY), nodes=NODES, predictor=learner, risk=0.5,
        log_events=True, **given,
    )  # fmt: skip


# ------------------------------------------------------------------------- events and metrics


@pytest.mark.parametrize("name", ["rules", "outlier"])
def test_what_is_read_in_the_run_drives_it_and_is_certified_and_replayed(
    tmp_path: Path, name: str
) -> None:
    learner = learnt(name)
    result = played(learner)
    blind = played(learner, events=None, metrics=None)
    assert not result.jobs.equals(blind.jobs)
    folder = result.save(tmp_path / "run", report=False)
    assert certify(folder).passed
    assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes()
    assert learner.now == 0


@pytest.mark.parametrize("name", ["rules", "outlier"])
def test_each_answer_is_that_of_a_predictor_that_was_told_all_before_and_nothing_else(
    name: str,
) -> None:
    """A plain reference: at each moment of the table, a predictor that observes step by step."""
    result = played(learnt(name))
    log, events, metrics = logs()
    whole = Observations.of(
        window(log, TRAIN, 80 * DAY), begin=0, end=20 * DAY, nodes=NODES,
        events=shifted(events, TRAIN), metrics=shifted(metrics, TRAIN),
    )  # fmt: skip
    one = learnt(name)
    table = result.answers
    for row in range(0, len(table.times) // 2, max(len(table.times) // 40, 1)):
        moment = int(table.times[row])
        one.observe(whole.between(one.seen.end, moment))
        one.advance(moment)
        assert np.allclose(table.hazard[row], one.hazards(), rtol=1e-5, atol=1e-7), moment


def test_another_future_changes_no_decision_before_it() -> None:
    _, events, metrics = logs()
    cut = 3 * DAY
    run = shifted(events, TRAIN)
    later = run.time >= cut
    place = np.where(later, (run.place + 3) % NODES, run.place).astype(np.int32)
    extra = replace(run, place=place).take(~later | (np.arange(len(run)) % 3 > 0))
    values = shifted(metrics, TRAIN)
    value = np.where((values.time >= cut)[:, None], 0.9, values.value)
    for name in ("rules", "outlier"):
        one = played(learnt(name))
        other = played(learnt(name), events=extra, metrics=replace(values, value=value))
        tables = [
            run.jobs.filter(pl.col("submit") < cut).select("job", "submit", "promise", "deadline")
            for run in (one, other)
        ]
        starts = [
            run.runs.filter(pl.col("start") < cut).select("job", "start", "nodes")
            for run in (one, other)
        ]
        assert tables[0].equals(tables[1])
        assert starts[0].equals(starts[1])
        assert len(tables[0]) > 20
        assert not one.jobs.equals(other.jobs)


def test_what_is_compiled_is_what_python_answers() -> None:
    """The same table asked from Python one question at a time gives the same run."""
    result = played(learnt("rules"))
    log = window(logs()[0], TRAIN, 80 * DAY)
    plain = fs.simulate(
        jobs(), log, nodes=NODES, predictor=result.answers.copy(), risk=0.5, log_events=True
    )
    assert plain.jobs.equals(result.jobs)


def test_predictors_that_do_not_read_them_are_refused() -> None:
    _, events, metrics = logs()
    with pytest.raises(ParameterError, match="with events or metrics"):
        played(None)
    with pytest.raises(ParameterError, match="metrics"):
        played(learnt("outlier"), metrics=replace(metrics, names=("cpu",)))
    with pytest.raises(ParameterError, match="a log of metrics, with outlier"):
        played(learnt("outlier"), metrics=None)
    other = replace(events, places=tuple(f"x{name}y" for name in "abcdefgh"))
    with pytest.raises(ParameterError, match="names that end in the number of a node"):
        played(learnt("rules"), events=other)


# ------------------------------------------------------------------------------- maintenance


OUT = "1d/1d8h 0-3; 3d/3d2h; 3d1h/3d4h 7"


def outages() -> PlannedOutages:
    return read_maintenance(OUT, Failures.none(), NODES)[0]


def test_windows_by_text_and_by_file(tmp_path: Path) -> None:
    found = outages()
    assert found.time.tolist() == [DAY] * 4 + [3 * DAY] * 8
    assert found.node.tolist() == [0, 1, 2, 3, *range(8)]
    assert found.until[-1] == 3 * DAY + 4 * 3600  # windows of a node that overlap are one
    path = tmp_path / "windows.csv"
    path.write_text("start,end,nodes\n1d,1d8h,0-3\n3d,3d2h,\n3d1h,3d4h,7\n")
    again = read_maintenance(path, Failures.none(), NODES)[0]
    assert [getattr(again, name).tolist() for name in ("time", "until", "node")] == [
        getattr(found, name).tolist() for name in ("time", "until", "node")
    ]
    dated = replace(Failures.none(), origin=1_000_000_000, names=("a1", "a2"))
    one, left_out = read_maintenance("2001-09-10/2001-09-11T00:00 a2; 1d/2d a[1-2]", dated, NODES)
    assert one.node.tolist() == [1, 0] or one.node.tolist() == [0, 1] or len(one) >= 2
    assert left_out.counts() or len(one) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1d", "START/END"), ("2d/1d", "an end after the start"),
        ("2001-01-01/2001-01-02", "has no dates"), ("1d/2d x9y", "names of nodes"),
    ],
)  # fmt: skip
def test_windows_that_are_none(text: str, says: str) -> None:
    log = replace(Failures.none(), names=("n1", "n2"))
    with pytest.raises((ParameterError, TraceError), match=says):
        read_maintenance(text, log, NODES)


def predictors() -> list[tuple[Any, dict[str, Any]]]:
    log, events, metrics = logs()
    hazard = HazardPredictor()
    hazard.fit(window(log, 0, TRAIN), nodes=NODES, end=0)
    beside = {"events": shifted(events, TRAIN), "metrics": shifted(metrics, TRAIN)}
    return [(None, {}), (hazard, {}), (learnt("rules"), beside)]


@pytest.mark.parametrize("which", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_planned_outages_come_and_jobs_that_want_certainty_keep_away(
    tmp_path: Path, which: int
) -> None:
    predictor, beside = predictors()[which]
    log = window(logs()[0], TRAIN, 80 * DAY)
    result = fs.simulate(
        jobs(), log, nodes=NODES, predictor=predictor, risk=0.05, maintenance=OUT,
        log_events=True, **beside,
    )  # fmt: skip
    planned = result.failures.filter(pl.col("kind") == "maintenance")
    assert planned["time"].to_list() == outages().time.tolist()
    assert planned["lost"].sum() == 0  # nobody took a place that meets one for certain
    folder = result.save(tmp_path / "run", report=False)
    assert certify(folder).passed
    assert "".join(replay(folder)).encode() == (folder / "decisions.csv").read_bytes()
    text = (folder / "maintenance.csv").read_text()
    (folder / "maintenance.csv").write_text(text.replace(f"{DAY},", f"{DAY - 60},", 1))
    failed = [check.name for check in certify(folder).checks if not check.passed]
    assert set(failed) == {"files as they were written", "planned outages", "decisions, by replay"}


class Own:
    """A predictor of the user's own: a constant risk of each node, for each second."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []

    def failure_probability(self, nodes: Ints, start: int, end: int) -> Any:
        return np.full(len(nodes), -np.expm1(-1e-7 * max(end - start, 0))) * (1 + nodes) / NODES

    def partition_failure_probability(self, nodes: Ints, start: int, end: int) -> float:
        return float(1 - np.prod(1 - self.failure_probability(nodes, start, end)))

    def time_to_failure(self, nodes: Ints) -> Any:
        return np.full(len(nodes), np.inf)

    def fit(self, history: Failures) -> None:
        """Nothing is learnt."""

    def update(self, time: int, node: int) -> None:
        self.told.append((time, node))


def test_a_predictor_in_python_knows_of_them_too_and_learns_nothing_from_them() -> None:
    own = Own()
    log = window(logs()[0], TRAIN, 80 * DAY)
    result = fs.simulate(jobs(), log, nodes=NODES, predictor=own, risk=0.05, maintenance=OUT)
    assert result.failures.filter(pl.col("kind") == "maintenance")["lost"].sum() == 0
    planned = set(zip(outages().time.tolist(), outages().node.tolist(), strict=True))
    assert own.told
    assert not planned & set(own.told)


@pytest.mark.parametrize("accuracy", [0.0, 0.6])
def test_compiled_and_in_python_are_the_same(accuracy: float) -> None:
    """The trace predictor beside planned outages, compiled, and as a predictor of one's own."""

    class Trace(fs.TracePredictor):
        """Not the compiled one."""

    log = fs.generate_failures(NODES, 20, 9, mttf_hours=100.0)
    log = replace(log, detectability=np.random.default_rng(1).random(len(log)),
                  downtime=np.full(len(log), 120))  # fmt: skip
    own = Trace(accuracy)
    own.fit(log)
    assert isinstance(own, KnowsOutages)

    class Wrapped:
        """The same without its class."""

        def __getattr__(self, name: str) -> Any:
            return getattr(own, name)

        def __init__(self) -> None:
            for name in (
                "failure_probability", "partition_failure_probability", "time_to_failure", "fit",
                "update", "advance", "disruption_probability", "first_disruption",
                "partition_disruption_probability", "next_predicted_recovery",
            ):  # fmt: skip
                setattr(self, name, getattr(own, name))

    given = {"nodes": NODES, "risk": 0.5, "maintenance": OUT, "accuracy": accuracy}
    one = fs.simulate(jobs(), log, **given)
    other = fs.simulate(jobs(), log, predictor=Wrapped(), **given)
    assert one.jobs.equals(other.jobs)
    assert one.runs.equals(other.runs)


def test_with_a_classic_policy_they_come_unforeseen() -> None:
    log = window(logs()[0], TRAIN, 80 * DAY)
    result = fs.simulate(jobs(), log, nodes=NODES, policy="easy", maintenance=OUT)
    assert len(result.failures.filter(pl.col("kind") == "maintenance")) == 12


# ---------------------------------------------------------------------------------- commands


def test_the_command_reads_them_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, events, _ = logs()
    write_failures(window(log, TRAIN, 80 * DAY), tmp_path / "failures.csv")
    write_failures(window(log, 0, TRAIN), tmp_path / "train.csv")
    work = jobs()
    columns = {name: getattr(work, name) for name in ("job", "submit", "size", "runtime")}
    pl.DataFrame(columns).write_csv(tmp_path / "jobs.csv")
    write_ras(shifted(events, TRAIN), tmp_path / "events.csv")
    given = [
        "simulate", str(tmp_path / "jobs.csv"), "--failures", str(tmp_path / "failures.csv"),
        "--nodes", str(NODES), "--predictor", "rules", "--train", str(tmp_path / "train.csv"),
        "--events", str(tmp_path / "events.csv"), "--maintenance", OUT, "--risk", "0.5",
        "--log-events", "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    done = call(capsys, *given)
    assert done.code == 0, done.err
    assert call(capsys, "certify", tmp_path / "run").code == 0
    assert call(capsys, "replay", tmp_path / "run").code == 0
    summary = (tmp_path / "run" / "summary.json").read_text()
    assert "events.csv" in summary
    assert '"planned_outages": 12' in summary
    assert call(capsys, *given[:-1], tmp_path / "x", "--model", "virtual").code == 2
