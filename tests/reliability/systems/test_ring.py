"""The ring of checkpoints against brute force, counts against the transfer matrix, and chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.reliability.systems import ring

NODES = st.integers(1, 10)
COPIES = st.integers(1, 6)


def recovery_probability(lost: float | Sequence[float], nodes: int, copies: int) -> float:
    """Return the probability that what independent losses leave can be recovered.

    Parameters
    ----------
    lost : each node's probability to be lost; one for all, or one each around the ring

    A transfer matrix walks around the ring: its state is how many nodes in a row were lost up to
    here, 0 to c - 1. A walk closes where it ends in the state in which it began, which every
    recoverable set does from exactly one state; so the answer is the trace of the product.
    """
    q = np.broadcast_to(np.asarray(lost, dtype=np.float64), (nodes,))
    states = min(copies, nodes)
    if bool(np.all(q == q[0])):
        return _trace(np.linalg.matrix_power(_transfer(float(q[0]), states), nodes))
    product = np.eye(states)
    for each in q.tolist():
        product = product @ _transfer(each, states)
    return _trace(product)


def _transfer(lost: float, states: int) -> np.ndarray:
    matrix = np.zeros((states, states))
    matrix[:, 0] = 1 - lost
    matrix[np.arange(states - 1), np.arange(1, states)] = lost
    return matrix


def _trace(product: np.ndarray) -> float:
    return min(1.0, float(np.trace(product)))


def by_definition(lost: set[int], nodes: int, copies: int) -> bool:
    """Return whether each node's checkpoint has a holder that is left."""
    return all(set(ring.holders(i, nodes, copies)) - lost for i in range(nodes))


def test_three_copies_are_a_node_and_both_neighbours() -> None:
    assert set(ring.holders(5, 20, 3)) == {4, 5, 6}
    assert set(ring.holders(0, 20, 5)) == {18, 19, 0, 1, 2}
    assert ring.holders(4, 20, 1) == (4,)


@given(NODES, COPIES)
def test_every_set_by_brute_force(nodes: int, copies: int) -> None:
    for lost in range(nodes + 1):
        sets = [set(s) for s in itertools.combinations(range(nodes), lost)]
        good = [ring.recoverable(s, nodes, copies) for s in sets]
        assert good == [by_definition(s, nodes, copies) for s in sets]
        assert ring.recoverable_sets(nodes, copies, lost) == sum(good)


@given(st.integers(1, 60), st.integers(1, 8), st.floats(0, 1))
def test_counts_and_transfer_matrix_agree(nodes: int, copies: int, q: float) -> None:
    by_counts = sum(
        ring.recoverable_sets(nodes, copies, m) * q**m * (1 - q) ** (nodes - m)
        for m in range(nodes + 1)
    )
    assert recovery_probability(q, nodes, copies) == pytest.approx(by_counts, abs=1e-10)
    assert ring.survival(q, nodes, copies, nodes) == pytest.approx(by_counts, abs=1e-10)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.integers(1, 4))
def test_unlike_losses_by_brute_force(q: list[float], copies: int) -> None:
    n = len(q)
    expected = sum(
        math.prod(q[i] if lost[i] else 1 - q[i] for i in range(n))
        for lost in itertools.product((False, True), repeat=n)
        if by_definition({i for i in range(n) if lost[i]}, n, copies)
    )
    assert recovery_probability(q, n, copies) == pytest.approx(expected, abs=1e-12)


def test_any_two_lost_nodes_come_back_from_three_copies() -> None:
    """Section 7.1: one lost node or two at once, neighbours too."""
    for nodes in (4, 256, 10_000):
        assert ring.recoverable_sets(nodes, 3, 2) == math.comb(nodes, 2)
        assert math.comb(nodes, 3) - ring.recoverable_sets(nodes, 3, 3) == (
            4 if nodes == 4 else nodes
        )


def test_losses_by_chance() -> None:
    rng, nodes, copies, q, draws = np.random.default_rng(1), 48, 3, 0.2, 20_000
    lost = rng.random((draws, nodes)) < q
    three = lost & np.roll(lost, 1, axis=1) & np.roll(lost, 2, axis=1)
    share = 1 - three.any(axis=1).mean()
    error = 4 * math.sqrt(share * (1 - share) / draws)
    assert recovery_probability(q, nodes, copies) == pytest.approx(share, abs=error)
    few = ~three.any(axis=1) & (lost.sum(axis=1) <= 9)
    assert ring.survival(q, nodes, copies, 9) == pytest.approx(few.mean(), abs=error + 0.01)


def test_a_large_ring_is_quick_and_a_probability() -> None:
    assert 0 <= recovery_probability(0.01, 100_000, 3) <= 1
    assert recovery_probability(0.0, 1000, 2) == 1
    assert recovery_probability(1.0, 1000, 2) == 0


def test_more_copies_recover_more() -> None:
    found = [recovery_probability(0.1, 100, c) for c in range(1, 8)]
    assert found == sorted(found)
    assert found[0] == pytest.approx(0.9**100)  # without neighbours every node must live


def simulated_loss(seed: int, nodes: int, copies: int, rate: float, rebuild: float) -> bool:
    """Return whether a run of `copies` nodes is ever down at once within time 1."""
    rng = np.random.default_rng(seed)
    count = rng.poisson(nodes * rate)
    times, places = np.sort(rng.random(count)), rng.integers(0, nodes, count)
    until = np.full(nodes, -1.0)
    for time, place in zip(times.tolist(), places.tolist(), strict=True):
        until[place] = time + rebuild
        if not ring.recoverable(np.flatnonzero(until > time).tolist(), nodes, copies):
            return True
    return False


def test_copies_made_again() -> None:
    nodes, rate, rebuild, runs = 24, 3.0, 0.002, 1000
    hit = np.mean([simulated_loss(seed, nodes, 2, rate, rebuild) for seed in range(runs)])
    error = 4 * math.sqrt(hit * (1 - hit) / runs)
    found = ring.loss_over_time(nodes, 2, rate, rebuild, 1.0)
    assert found >= hit - error
    assert found == pytest.approx(hit, abs=0.05 * hit + error)
    assert ring.loss_over_time(nodes, 3, rate, rebuild, 1.0) < found / 10


@pytest.mark.parametrize(
    "call",
    [
        lambda: ring.holders(0, 0, 3),
        lambda: ring.recoverable([9], 9, 3),
        lambda: ring.recoverable_sets(9, 0, 3),
        lambda: ring.recoverable_sets(9, 3, 10),
        lambda: ring.loss_over_time(9, 3, math.nan, 1.0, 1.0),
    ],
)
def test_what_cannot_be(call) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ParameterError):
        call()
