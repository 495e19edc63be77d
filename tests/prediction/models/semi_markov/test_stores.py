"""Storage hosts' states, and what is learned of them."""

from __future__ import annotations

import numpy as np
import pytest

from forestall.core.model.errors import ParameterError
from forestall.prediction.models.semi_markov.stores import (
    PRIOR,
    availability,
    reliability,
    store_history,
    store_states,
)

NAN = float("nan")


def states(answered: str, load: dict[int, float] | None = None, **more: int) -> str:
    """Return states as digits; of looks: 1 answered, 0 silent, . nobody looked."""
    told = np.array([{"1": 1.0, "0": 0.0, ".": NAN}[one] for one in answered])
    loads = np.full(len(told), NAN)
    for at, value in (load or {}).items():
        loads[at] = value
    return "".join(map(str, store_states(told, loads, 60, **more).tolist()))


@pytest.mark.parametrize(
    ("answered", "expected"),
    [
        ("1111", "0000"),
        ("11011", "00000"),  # silent once, for no longer than the hold time
        ("110011", "002200"),
        ("1100000001", "0033333330"),  # longer than `away`
        ("1...1", "00000"),
        ("..1.0", "00002"),  # silent at the end is not up, however short
        ("10..1", "02220"),  # as it was at the look before
        ("....", "0000"),
    ],
)
def test_silence(answered: str, expected: str) -> None:
    if answered == "....":
        assert len(states(answered)) == 4
        return
    assert states(answered, away=300) == expected


def test_load() -> None:
    assert states("111111", {1: 0.95, 3: 0.95, 4: 1.0}) == "000110"
    assert states("111111", dict.fromkeys(range(6), 0.5)) == "000000"
    assert states("110011", {1: 1.0}) == "002200"  # loaded for no longer than the hold time
    assert states("111001", {1: 1.0, 2: 1.0}) == "011220"


def test_shapes() -> None:
    with pytest.raises(ParameterError, match="load"):
        store_states(np.ones(3), np.ones(4), 60)


def drawn(seed: int, days: int, up: float, down: float) -> np.ndarray:
    """Return looks, each minute, at a host up and down for so many minutes on average."""
    chance = np.random.default_rng(seed)
    made: list[float] = []
    while len(made) < days * 1440:
        made += [1.0] * (1 + int(chance.exponential(up)))
        made += [0.0] * (3 + int(chance.exponential(down)))
    return np.array([*made[: days * 1440], 1.0])


def test_reliability_and_availability_are_those_of_the_process() -> None:
    """Up for 600 min and down for 60 on average: an hour without a break e^-0.1, up later 10/11."""
    looks = drawn(3, 20, 600.0, 57.0)
    past = store_history(store_states(looks, np.full(len(looks), NAN), 60), 60, 0)
    lasting = reliability(past, past.end, 3600)
    assert lasting == pytest.approx(np.exp(-0.1), abs=0.06)
    assert lasting < availability(past, past.end, 3600) < 1
    assert availability(past, past.end, 3 * 86_400) == pytest.approx(10 / 11, abs=0.05)


def test_what_little_was_seen_counts_for_little() -> None:
    past = store_history(np.zeros(10, np.int8), 60, 0)
    assert reliability(past, past.end, 3600) == pytest.approx(PRIOR, abs=0.001)
    down = store_history(np.array([0, 0, 2], np.int8), 60, 0)
    assert reliability(down, down.end, 3600) == 0.0
    assert availability(down, down.end, 3600) == pytest.approx(PRIOR, abs=0.01)
