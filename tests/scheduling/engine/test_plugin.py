"""A predictor or a placement rule in plain Python: the same results; clear errors for bad ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.world.failures import prepare_failures
from forestall.prediction.models.base import Predictor
from forestall.prediction.models.trace import TracePredictor
from forestall.scheduling.simulate import simulate
from forestall.scheduling.simulation.run import Outcome
from scheduling.engine.driving import decisions_of
from scheduling.simulation.cases import (
    SHARES,
    Case,
    assert_equal_outcomes,
    cases,
    failures_of,
    jobs_of,
    loaded_case,
    random_case,
)
from scheduling.simulation.rules_in_python import least_risky, lowest

DOWNTIME = 7
IN_PYTHON = {"fault-aware": least_risky, "first": lowest}


class Wrapped:
    """A predictor that is no TracePredictor, though it asks one; it offers no arrays."""

    def __init__(self, accuracy: float, failures: Any) -> None:
        self.oracle = TracePredictor(accuracy)
        self.oracle.fit(failures)
        self.told: list[tuple[int, int]] = []

    def failure_probability(self, nodes: Any, start: int, end: int) -> Any:
        return self.oracle.failure_probability(nodes, start, end).tolist()

    def partition_failure_probability(self, nodes: Any, start: int, end: int) -> float:
        return self.oracle.partition_failure_probability(nodes, start, end)

    def time_to_failure(self, nodes: Any) -> Any:
        return self.oracle.time_to_failure(nodes)

    def fit(self, history: Any) -> None:
        raise AssertionError("a user's predictor comes fitted")

    def update(self, time: int, node: int) -> None:
        self.told.append((time, node))
        self.oracle.update(time, node)

    def next_predicted_failure(self, time: int) -> int | None:
        return self.oracle.next_predicted_failure(time)


class Knowing(Wrapped):
    """One that knows how long each outage lasts."""

    def advance(self, time: int) -> None:
        self.oracle.advance(time)

    def disruption_probability(self, nodes: Any, start: int, end: int) -> Any:
        return self.oracle.disruption_probability(nodes, start, end)

    def partition_disruption_probability(self, nodes: Any, start: int, end: int) -> float:
        return self.oracle.partition_disruption_probability(nodes, start, end)

    def first_disruption(self, node: int, start: int, end: int) -> int | None:
        return self.oracle.first_disruption(node, start, end)

    def next_predicted_recovery(self, time: int) -> int | None:
        return self.oracle.next_predicted_recovery(time)


def constant(case: Case) -> Case:
    hits = [(t, node, DOWNTIME, p) for t, node, _, p in case.failures]
    return Case(case.jobs, hits, case.nodes, case.overhead, case.interval, case.seed)


def both(
    case: Case, accuracy: float, python: dict[str, Any], **chosen: Any
) -> tuple[Outcome, Outcome]:
    """Return the outcome in compiled code and with the rules in Python. A predictor that knows of
    one downtime only meets no other; the rest meets each failure's own."""
    one = {"downtime": DOWNTIME} if python.get("predictor") is Wrapped else {}
    case = constant(case) if one else case
    common: dict[str, Any] = {
        "nodes": case.nodes, "checkpoint_overhead": case.overhead, **one,
        "checkpoint_interval": case.interval, "estimates": "requested", "log_events": True,
        **chosen,
    }  # fmt: skip
    jobs, failures = jobs_of(case.jobs), failures_of(case.failures)
    compiled = simulate(jobs, failures, accuracy=accuracy, **common)
    common |= python
    if "predictor" in python:
        log = prepare_failures(failures, compiled.outcome.parameters)
        common["predictor"] = python["predictor"](accuracy, log)
        if chosen.get("repeat_failures"):
            common["predictor"].oracle.repeat(log.span)
    return compiled.outcome, simulate(jobs, failures, accuracy=accuracy, **common).outcome


@settings(max_examples=60)
@given(cases(), SHARES, SHARES, st.sampled_from(["risk", "periodic", "none"]))
def test_a_predictor_in_python(case: Case, accuracy: float, risk: float, checkpoint: str) -> None:
    compiled, python = both(
        case, accuracy, {"predictor": Wrapped}, risk=risk, checkpoint=checkpoint
    )
    assert_equal_outcomes(compiled, python)
    mine, other = decisions_of(compiled), decisions_of(python)
    assert [(d.kind, d.reason, d.nodes, d.left_out) for d in mine] == [
        (d.kind, d.reason, d.nodes, d.left_out) for d in other
    ]


def assert_same_bytes(one: Outcome, other: Outcome, *told: object) -> None:
    assert_equal_outcomes(one, other, *told)
    assert one.promises.tobytes() == other.promises.tobytes(), told
    for mine, theirs in zip(one.log, other.log, strict=True):
        assert mine.tobytes() == theirs.tobytes(), told


@settings(max_examples=100)
@given(
    cases(), SHARES, SHARES, st.sampled_from(["risk", "periodic", "none"]),
    st.sampled_from(sorted(IN_PYTHON)), st.booleans(), st.booleans(),
)  # fmt: skip
def test_the_trace_predictor_in_python_is_the_compiled_one_to_the_byte(
    case: Case, accuracy: float, risk: float, checkpoint: str, placement: str, own: bool, ever: bool
) -> None:
    """With downtimes of each failure's own, repeated for ever or not, and with the rule of
    placement compiled or in Python too."""
    python = {"predictor": Knowing, **({"placement": IN_PYTHON[placement]} if own else {})}
    compiled, other = both(
        case.with_quiet_end(), accuracy, python, placement=placement, risk=risk,
        checkpoint=checkpoint, repeat_failures=ever and bool(case.failures),
    )  # fmt: skip
    assert_same_bytes(compiled, other)


def test_the_trace_predictor_in_python_on_larger_cases() -> None:
    for seed in range(12):
        case = loaded_case(seed, jobs=60) if seed % 3 == 0 else random_case(seed, 25, 300)
        assert_same_bytes(*both(case, 0.7, {"predictor": Knowing}, risk=0.9), seed)


@settings(max_examples=40)
@given(cases(), SHARES, SHARES)
def test_a_placement_in_python(case: Case, accuracy: float, risk: float) -> None:
    for rule, name in ((least_risky, "fault-aware"), (lowest, "first")):

        def mine(free: Any, size: int, risks: Any, start: int, end: int, rule: Any = rule) -> Any:
            return rule(free, size, risks, start, end).tolist()

        compiled, python = both(case, accuracy, {"placement": mine}, placement=name, risk=risk)
        assert_same_bytes(compiled, python, name)


def test_both_in_python_on_larger_cases() -> None:
    for seed in range(8):
        python = {"predictor": Wrapped, "placement": least_risky}
        compiled, other = both(random_case(seed, jobs=25, horizon=100), 0.7, python, risk=0.9)
        assert_equal_outcomes(compiled, other, seed)


def test_the_reasons_in_words_too() -> None:
    case = Case([(0, 1, 10, 10)], [(5, 0, DOWNTIME, 0.4)], 2)
    for predictor in (Wrapped, Knowing):
        for outcome in both(case, 0.5, {"predictor": predictor}):
            [reserve, _] = decisions_of(outcome)
            assert (reserve.left_out, str(reserve.nodes)) == (0, "1")
            assert "node 0 left out" in reserve.why
            assert "-1" not in reserve.why


def test_a_predictor_is_told_of_failures() -> None:
    case = Case([(0, 1, 30, 30)], [(5, 0, DOWNTIME, 0.4), (9, 1, DOWNTIME, 0.4)], 2)
    predictor = Wrapped(0.0, failures_of(case.failures))
    assert isinstance(predictor, Predictor)
    simulate(jobs_of(case.jobs), failures_of(case.failures), nodes=2, predictor=predictor)
    assert predictor.told == [(5, 0), (9, 1)]


def test_without_later_candidates_only_known_times_are_tried() -> None:
    class Blunt(Wrapped):
        next_predicted_failure = None  # type: ignore[assignment]

    case = Case([(0, 1, 10, 10)], [(5, 0, DOWNTIME, 0.4)], 1)
    predictor = Blunt(1.0, failures_of(case.failures))
    jobs, failures = jobs_of(case.jobs), failures_of(case.failures)
    found = simulate(jobs, failures, nodes=1, predictor=predictor, risk=0.9, downtime=DOWNTIME)
    assert found.jobs["promise"].to_list() == [0.6]
    assert simulate(jobs, failures, nodes=1, accuracy=1.0, risk=0.9, downtime=DOWNTIME).qos == 1.0


def test_a_repeated_log_and_a_placement_in_python() -> None:
    # The node fails every 10 s: no start is ever safe for 15 s of work; the search must end.
    failures = failures_of([(0, 0, 1, 0.8), (9, 0, 1, 0.9)])
    jobs = jobs_of([(3, 1, 15, 15)])
    chosen: dict[str, Any] = {
        "nodes": 1, "accuracy": 1.0, "risk": 1.0, "downtime": 1, "repeat_failures": True,
        "checkpoint_interval": 4, "checkpoint_overhead": 0,
    }  # fmt: skip
    compiled = simulate(jobs, failures, **chosen)
    python = simulate(jobs, failures, placement=least_risky, **chosen)
    assert_equal_outcomes(compiled.outcome, python.outcome)


# ------------------------------------------------------------------------------- wrong ones

CASE = Case([(0, 2, 30, 30)], [(50, 0, 5, 0.5)], 4, 1, 5)


def play(**chosen: Any) -> None:
    simulate(
        jobs_of(CASE.jobs), failures_of(CASE.failures), nodes=4, risk=0.5,
        checkpoint_overhead=1, checkpoint_interval=5, **chosen,
    )  # fmt: skip


class Answers:
    """A predictor that answers what it is told to, in its first window and thereafter."""

    def __init__(self, each: Any = 0.0, together: Any = 0.0, later: Any = None) -> None:
        self.each, self.together, self.later = each, together, later
        self.asked = 0

    def failure_probability(self, nodes: Any, start: int, end: int) -> Any:
        return self.each(nodes) if callable(self.each) else np.full(len(nodes), self.each)

    def partition_failure_probability(self, nodes: Any, start: int, end: int) -> Any:
        self.asked += 1
        return self.together if self.asked == 1 or self.later is None else self.later

    def time_to_failure(self, nodes: Any) -> Any:
        return np.full(len(nodes), np.inf)

    def fit(self, history: Any) -> None: ...

    def update(self, time: int, node: int) -> None: ...


def test_a_good_one_passes() -> None:
    play(predictor=Answers())
    play(predictor=Answers(0.5, 0.5, 1))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_answers_that_are_no_probabilities(value: float) -> None:
    for predictor in (
        Answers(together=value),
        Answers(later=value),  # at a checkpoint request
        Answers(each=value),
    ):
        with pytest.raises(ParameterError, match=r"predictor: .*probabilit"):
            play(predictor=predictor)


BAD_SHAPES: list[Callable[[Any], Any]] = [
    lambda nodes: np.zeros(len(nodes) + 1),
    lambda nodes: [0.0] * (len(nodes) - 1),
    lambda nodes: 0.5,
    lambda nodes: np.zeros((len(nodes), 1)),
    lambda nodes: None,
    lambda nodes: ["high"] * len(nodes),
]


@pytest.mark.parametrize("each", BAD_SHAPES)
def test_answers_of_a_wrong_shape(each: Callable[[Any], Any]) -> None:
    with pytest.raises(ParameterError, match="predictor"):
        play(predictor=Answers(each=each))


@pytest.mark.parametrize("together", [None, "high", [0.1, 0.2]])
def test_an_answer_that_is_no_number(together: Any) -> None:
    with pytest.raises(ParameterError, match="predictor"):
        play(predictor=Answers(together=together))


BAD_PLACES: list[Any] = [
    [0],
    [0, 0],
    [0, 4],
    [-1, 0],
    [0, 1, 2],
    [],
    [0.5, 1.5],
    None,
    ["a", "b"],
    [[0, 1]],
]


@pytest.mark.parametrize("nodes", BAD_PLACES)
def test_placements_that_are_none(nodes: Any) -> None:
    with pytest.raises(ParameterError, match=r"placement: .*2 of the free nodes"):
        play(placement=lambda free, size, risk, start, end: nodes)


def test_nodes_that_are_not_free() -> None:
    jobs = jobs_of([(0, 2, 30, 30), (0, 2, 30, 30)])
    with pytest.raises(ParameterError, match="placement"):
        simulate(jobs, nodes=4, placement=lambda free, size, risk, start, end: [0, 1])


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_only_promises_take_them(policy: str) -> None:
    with pytest.raises(ParameterError, match="promise"):
        play(policy=policy, predictor=Answers())
