"""Runs from a table of a learner's answers: compiled and in Python the same to the byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.world.failures import expected_downtime
from forestall.prediction.models.tabulated import Tabulated
from forestall.scheduling.engine.engine import Engine
from forestall.scheduling.engine.plugin import Placement
from forestall.scheduling.learned import plugin_of
from forestall.scheduling.simulation.parameters import Parameters
from forestall.scheduling.simulation.prepare import foreseen_by, rules_of
from forestall.scheduling.simulation.run import Outcome, play
from scheduling.simulation.cases import Case, assert_equal_outcomes, cases, loaded_case, prepared
from scheduling.simulation.rules_in_python import least_risky, lowest

IN_PYTHON: dict[str, Placement] = {"fault-aware": least_risky, "first": lowest}


def drawn_table(case: Case, scale: float = 0.02) -> Tabulated:
    """A table as a learner might give it: some nodes and moments worse than others, some without
    any risk, and horizons that windows reach beyond."""
    rng = np.random.default_rng(case.seed + 2)
    times = np.unique(np.concatenate(([-5], rng.integers(0, 500, 40))))
    horizons = (10, 40, 200)
    rates = rng.exponential(scale, (len(times), case.nodes, 3)) * rng.integers(
        0, 2, (len(times), case.nodes, 1)
    )
    hazard = np.cumsum(rates, axis=2).astype(np.float32)
    return Tabulated(times, hazard, horizons)


def outcomes(case: Case, **chosen: Any) -> list[Outcome]:
    """Return the outcome from the compiled table, the same with the placement in Python, and both
    with the table asked in Python."""
    workload, failures, parameters, _ = prepared(case, **chosen)
    table, blind = drawn_table(case), foreseen_by(None, failures, 0)
    rule = IN_PYTHON[str(parameters.placement)]
    arrays = table.arrays(expected_downtime(parameters))
    runs = [play(workload, failures, parameters, arrays, log_events=True)]
    for predictor, placement in ((None, rule), (table, None), (table, rule)):
        mine = None if predictor is None else predictor.copy()
        plugin = plugin_of(mine, placement, parameters)
        known = table.arrays(expected_downtime(parameters)) if mine is None else blind
        runs.append(play(workload, failures, parameters, known, plugin=plugin, log_events=True))
    return runs


def assert_same_bytes(runs: list[Outcome], *told: object) -> None:
    one, *others = runs
    for other in others:
        assert_equal_outcomes(one, other, *told)
        assert one.promises.tobytes() == other.promises.tobytes(), told
        for mine, theirs in zip(one.log, other.log, strict=True):
            assert mine.tobytes() == theirs.tobytes(), told


@settings(max_examples=60)
@given(
    cases(), st.sampled_from([0.0, 0.3, 0.9, 1.0]), st.sampled_from(["risk", "periodic", "none"]),
    st.sampled_from(sorted(IN_PYTHON)), st.sampled_from([1, 7, 120, None]),
)  # fmt: skip
def test_compiled_and_in_python(
    case: Case, risk: float, checkpoint: str, placement: str, downtime: int | None
) -> None:
    assert_same_bytes(
        outcomes(case, risk=risk, checkpoint=checkpoint, placement=placement, downtime=downtime)
    )


def test_compiled_and_in_python_on_larger_cases() -> None:
    for seed in range(3):  # of up to 200 nodes
        assert_same_bytes(outcomes(loaded_case(seed, jobs=60), risk=0.5), seed)


def test_only_promises_are_made_from_a_table() -> None:
    case = Case([(0, 1, 5, 5)], [])
    rules = rules_of(Parameters(nodes=case.nodes, policy="easy"))
    with pytest.raises(ParameterError, match="promise"):
        Engine(case.nodes, rules, drawn_table(case).arrays(120))


def test_a_quote_from_a_table() -> None:
    case = Case([(0, 1, 5, 5)], [], nodes=3)
    table = drawn_table(case)
    rules = rules_of(Parameters(nodes=3, risk=0.0))
    quote = Engine(3, rules, table.arrays(1), -5).quote(2, 60, 3600, 50)
    table.advance(50)
    nodes = np.array(list(quote.nodes))
    assert quote.probability == 1 - table.partition_failure_probability(nodes, 50, 110)
