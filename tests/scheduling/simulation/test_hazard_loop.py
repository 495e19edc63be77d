"""Promises from hazards: compiled and in Python the same to the byte, and kept as often as said."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forestall as fs
from forestall.core.model.decisions import Reason
from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.prediction.models.hazard.hazard import HazardPredictor
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.report.result import Result
from forestall.scheduling.simulate import simulate
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import rules_of
from forestall.scheduling.simulation.run import first_moment
from scheduling.simulation.cases import (
    Case,
    assert_equal_outcomes,
    cases,
    failures_of,
    jobs_of,
    loaded_case,
    random_case,
)
from scheduling.simulation.rules_in_python import least_risky, lowest

IN_PYTHON = {"fault-aware": least_risky, "first": lowest}


class AskedInPython(HazardPredictor):
    """A class below it, which therefore is asked in Python."""


def in_python(predictor: HazardPredictor) -> HazardPredictor:
    made = AskedInPython(predictor.shape, predictor.prior_failures, predictor.prior_exposure)
    made.__dict__.update(predictor.copy().__dict__)
    return made


def learnt(case: Case, shape: float = 0.7, rate: float = 2.0) -> HazardPredictor:
    """A predictor whose nodes fail so often, some more than others, that cases of seconds see it.

    A gap of 100 s is about 1e-3 days.
    """
    predictor = HazardPredictor(shape, rate, rate * (100 / 86_400) ** shape)
    rng = np.random.default_rng(case.seed + 1)
    count = rng.integers(0, 3 * case.nodes + 1)
    time = np.sort(rng.integers(0, 500, count))
    history = Failures.build([0, *time], [0, *rng.integers(0, case.nodes, count)])
    predictor.fit(history, nodes=case.nodes, end=-int(rng.integers(0, 50)))
    return predictor


def both(case: Case, predictor: HazardPredictor, placement: str, **chosen: Any) -> list[Result]:
    common: dict[str, Any] = {
        "nodes": case.nodes, "checkpoint_overhead": case.overhead, "predictor": predictor,
        "checkpoint_interval": case.interval, "estimates": "requested", "log_events": True,
        **chosen,
    }  # fmt: skip
    jobs, failures = jobs_of(case.jobs), failures_of(case.failures)
    compiled = simulate(jobs, failures, placement=placement, **common)
    ruled = simulate(jobs, failures, placement=IN_PYTHON[placement], **common)
    # What was learnt ends at time 0 or before: nothing is known of the time up to the run's start.
    start = min(first_moment(compiled.outcome.workload, compiled.outcome.failures), 0)
    asked = []
    for rule in (placement, IN_PYTHON[placement]):
        common["predictor"] = in_python(predictor.for_run(case.nodes, start, 120))
        asked.append(simulate(jobs, failures, placement=rule, **common))
    return [compiled, ruled, *asked]


def assert_same_bytes(results: list[Result], *told: object) -> None:
    one, *others = (result.outcome for result in results)
    for other in others:
        assert_equal_outcomes(one, other, *told)
        assert one.promises.tobytes() == other.promises.tobytes(), told
        assert one.log.events.tobytes() == other.log.events.tobytes(), told
        assert one.log.decisions.tobytes() == other.log.decisions.tobytes(), told
        assert one.log.ranges.tobytes() == other.log.ranges.tobytes(), told


@settings(max_examples=80)
@given(
    cases(), st.sampled_from([0.4, 1.0, 1.8]), st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    st.sampled_from(["risk", "periodic", "none"]), st.sampled_from(sorted(IN_PYTHON)),
    st.sampled_from([1, 7, 120, None]),
)  # fmt: skip
def test_compiled_and_in_python(
    case: Case, shape: float, risk: float, checkpoint: str, placement: str, downtime: int | None
) -> None:
    results = both(
        case, learnt(case, shape), placement, risk=risk, checkpoint=checkpoint, downtime=downtime
    )
    assert_same_bytes(results)
    assert [result.own_rules for result in results] == [False, True, True, True]


def test_compiled_and_in_python_on_larger_cases() -> None:
    for seed in range(4):
        case = loaded_case(seed, jobs=60) if seed % 2 else random_case(seed, 30, 300)
        assert_same_bytes(both(case, learnt(case), "fault-aware", risk=0.5), seed)


def test_failures_that_repeat() -> None:
    for seed in range(3):
        case = random_case(seed, 20, 300).with_quiet_end()
        results = both(case, learnt(case), "first", risk=0.9, repeat_failures=True)
        assert_same_bytes(results, seed)


def test_what_is_not_reached_is_the_best_offer() -> None:
    case = Case([(0, 2, 500, 500), (1, 2, 400, 400), (2, 1, 50, 50)], [], 2, seed=3)
    for result in both(case, learnt(case), "fault-aware", risk=1.0):
        assert result.measures["promises_below_wanted"] == 3
        log = result.outcome.log.decisions
        reserved = log[log["kind"] == 0]
        assert set(reserved["reason"].tolist()) == {int(Reason.BEST_OFFER)}
        assert (reserved["count"] >= 1).all()
        assert ((result.outcome.promises > 0) & (result.outcome.promises < 1)).all()


def test_waiting_for_a_safer_start() -> None:
    """Node 0 has just failed; with shape 0.5 its hazard falls fast, and a later start is safer."""
    predictor = HazardPredictor(0.5, 20.0, 20.0 * (10_000 / 86_400) ** 0.5)
    predictor.fit(Failures.build([0, 5000, 9000, 9990], [0] * 4), nodes=1, end=0)
    jobs = fs.Jobs.build(submit=[10, 20], size=[1, 1], runtime=[300, 100])
    alone = simulate(jobs, predictor=predictor, nodes=1, risk=0.0, checkpoint="none")
    first, second = alone.jobs["promise"].to_list()
    assert first < second
    choosy = simulate(
        jobs, predictor=predictor, nodes=1, risk=(first + second) / 2, checkpoint="none"
    )
    assert choosy.jobs["promise"].to_list() == [first, second]  # no later start was there at first
    assert choosy.measures["promises_below_wanted"] == 1


def test_a_run_leaves_the_predictor_as_it_was() -> None:
    case = random_case(5, 30, 300)
    predictor = learnt(case)
    before = predictor.known().tobytes()
    one, other = (both(case, predictor, "fault-aware", risk=0.6)[0] for _ in range(2))
    assert predictor.known().tobytes() == before
    assert_same_bytes([one, other])


def test_a_promise_knows_nothing_of_later_failures() -> None:
    """Of two logs that are the same until a moment, everything promised until then is the same."""
    for seed in range(6):
        case = random_case(seed, 40, 3000)
        cut = 1500
        other = Case(case.jobs, [f for f in case.failures if f[0] < cut], case.nodes,
                     case.overhead, case.interval, case.seed)  # fmt: skip
        predictor = learnt(case)
        logs = []
        for one in (case, other):
            result = both(one, predictor, "fault-aware", risk=0.4, downtime=60)[0]
            table = result.jobs.filter(result.jobs["submit"] < cut)
            logs.append(table["promise"].to_list() + table["deadline"].to_list())
        assert logs[0] == logs[1]


def test_a_quote_leaves_no_trace() -> None:
    case = random_case(8, 10, 100)
    predictor = learnt(case).for_run(case.nodes, 0, 120)
    engine = Engine(case.nodes, rules_of(Parameters(nodes=case.nodes)), predictor.arrays())
    before = engine.state.prediction.nodes.tobytes()
    quote = engine.quote(1, 600, 3600, 50)
    predictor.advance(50)
    [node] = quote.nodes
    risk = predictor.partition_failure_probability(np.array([node]), 50, 50 + 600)
    assert quote.probability == 1 - risk
    assert engine.state.prediction.nodes.tobytes() == before


def test_classic_policies_ask_for_no_risks() -> None:
    case = random_case(3, 30, 300)
    jobs, failures = jobs_of(case.jobs), failures_of(case.failures)
    common = {"nodes": case.nodes, "policy": "easy", "checkpoint_overhead": case.overhead}
    plain = simulate(jobs, failures, **common)
    assert_equal_outcomes(
        plain.outcome, simulate(jobs, failures, predictor=learnt(case), **common).outcome
    )
    for more in ({"checkpoint": "risk"}, {"placement": "fault-aware"}):
        with pytest.raises(ParameterError, match="classic"):
            simulate(jobs, failures, predictor=learnt(case), **common, **more)
    with pytest.raises(ParameterError, match="promise"):
        Engine(4, rules_of(Parameters(nodes=4, policy="fcfs")), learnt(case).arrays())


def test_a_class_below_it_is_asked_in_python() -> None:
    class Doubtful(HazardPredictor):
        def partition_failure_probability(self, nodes: Any, start: int, end: int) -> float:
            return 0.25

    case = random_case(4, 10, 100)
    doubtful = Doubtful(1.0, 1.0, 1.0)
    result = simulate(jobs_of(case.jobs), predictor=doubtful, nodes=case.nodes)
    assert set(result.outcome.promises.tolist()) == {0.75}
    assert result.own_rules
    assert result.summary["predictor"] == {"name": "own"}


def test_who_knows_too_much_is_refused() -> None:
    jobs, failures = fs.Jobs.build([100], [1], [60]), Failures.build([500], [0])
    predictor = HazardPredictor()
    predictor.fit(Failures.build([5, 50, 300], [0, 0, 1]))
    with pytest.raises(ParameterError, match="after the run begins, at 100 s"):
        simulate(jobs, failures, predictor=predictor, nodes=2)
    predictor.fit(Failures.build([5, 50, 300], [0, 0, 1]), end=0)
    assert simulate(jobs, failures, predictor=predictor, nodes=2).qos is not None
    with pytest.raises(ParameterError, match="learned from a training log"):
        simulate(jobs, failures, predictor="hazard", nodes=2)
    with pytest.raises(ParameterError, match="predictor"):
        simulate(jobs, failures, predictor="crystal ball", nodes=2)
    assert simulate(jobs, failures, predictor="trace", nodes=2).predictor is None


# ---------------------------------------------------------------------------------- calibration


def trained_run(shape: float, heterogeneity: float, seed: int, **chosen: Any) -> Result:
    """Two years of failures to learn from, the year after to promise in; 64 nodes."""
    from forestall.logs.generate.times import Bursts

    whole = fs.generate_failures(
        64, 3 * 365, seed, mttf_hours=24 * 40, shape=shape, heterogeneity=heterogeneity,
        bursts=Bursts(), repair="constant",
    )  # fmt: skip
    cut = 2 * 365 * 86_400
    before, after = whole.take(whole.time < cut), whole.take(whole.time >= cut)
    history = Failures(before.time, before.node, before.downtime, before.detectability,
                       span=cut, nodes=64)  # fmt: skip
    predictor = HazardPredictor()
    predictor.fit(history, end=0)
    run = Failures.build(after.time - cut, after.node)
    rng = np.random.default_rng(seed)
    count = 3000
    submit = np.sort(rng.integers(0, 340 * 86_400, count))
    size = 2 ** rng.integers(0, 6, count)
    jobs = fs.Jobs.build(submit, size, np.clip(rng.lognormal(9.0, 1.3, count), 60, 150_000))
    return simulate(jobs, run, predictor=predictor, nodes=64, risk=0.0, downtime=1,
                    checkpoint="none", **chosen)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "heterogeneity", "placement"),
    [(0.7, 0.5, "fault-aware"), (0.7, 0.5, "first"), (1.3, 0.2, "fault-aware")],
)
def test_promises_are_kept_as_often_as_they_say(
    shape: float, heterogeneity: float, placement: str
) -> None:
    """Without checkpoints a promise is kept iff no failure hits: promised is what comes true."""
    promised, kept = [], []
    for seed in range(3):
        jobs = trained_run(shape, heterogeneity, seed, placement=placement).jobs
        promised.append(jobs["promise"].to_numpy())
        kept.append(jobs["kept"].to_numpy())
    promise, came = np.concatenate(promised), np.concatenate(kept)
    broken, allowed = (1 - came).sum(), (1 - promise).sum()
    # jobs share failures: a failure decides on one job only, but rates are shared by all
    assert abs(broken - allowed) < 4 * np.sqrt(allowed) + 0.08 * allowed, (broken, allowed)
    edges = np.quantile(promise, [0, 0.1, 0.25, 0.5, 0.75, 1])
    for low, high in pairwise(edges):
        mine = (promise >= low) & (promise <= high)
        spread = np.sqrt((promise * (1 - promise))[mine].sum())
        off = came[mine].sum() - promise[mine].sum()
        assert abs(off) < 4 * spread + 0.15 * (1 - promise[mine]).sum(), (low, high, off)
    brier = np.mean((promise - came) ** 2)
    assert brier < np.mean((came.mean() - came) ** 2)
