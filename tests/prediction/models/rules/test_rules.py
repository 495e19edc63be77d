"""The rule miner and the predictor made of its rules."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from forestall.core.model.errors import ParameterError
from forestall.core.model.failures import Failures
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.prediction.models.linear.learners import outcomes
from forestall.prediction.models.registry import new_learner
from forestall.prediction.models.rules.items import (
    FailureLookup,
    Item,
    TypedRecords,
    holding,
    present,
)
from forestall.prediction.models.rules.mining import Limits, discoveries, fisher, mine, node_baskets
from forestall.prediction.models.rules.rules import EventRules

HOUR, DAY = 3600, 86_400


def log_of(time: Any, place: Any, kind: Any, nodes: int, kinds: int = 6) -> RasLog:
    order = np.lexsort((place, time))
    return RasLog(
        np.asarray(time, dtype=np.int64)[order],
        np.asarray(place, dtype=np.int32)[order],
        (2 + np.asarray(kind)[order] % 5).astype(np.int8),
        np.asarray(kind, dtype=np.int32)[order],
        tuple(f"n{k}" for k in range(nodes)),
        tuple(f"kind {k}" for k in range(kinds)),
    )


def planted(seed: int = 0, nodes: int = 40, days: int = 200, rate: float = 0.5) -> Observations:
    """Six kinds of events at random; kind 1 together with kind 2, on a node within an hour, is
    followed by a failure with probability 1/2."""
    rng = np.random.default_rng(seed)
    end = days * DAY
    number = int(nodes * days * rate)
    time, place = rng.integers(0, end, number), rng.integers(0, nodes, number)
    kind = rng.integers(0, 6, number)
    pairs = rng.integers(0, end - HOUR, nodes * days // 20)
    where = rng.integers(0, nodes, len(pairs))
    both = pairs // HOUR * HOUR
    time = np.r_[time, both + 100, both + 900]
    place, kind = (
        np.r_[place, where, where],
        np.r_[kind, np.full(len(pairs), 1), np.full(len(pairs), 2)],
    )
    hit = rng.random(len(pairs)) < 0.5
    failing = np.r_[both[hit] + HOUR + rng.integers(0, 1800, hit.sum()), rng.integers(0, end, 100)]
    failed = np.r_[where[hit], rng.integers(0, nodes, 100)]
    return Observations.of(
        Failures.build(failing, failed), begin=0, end=end, nodes=nodes,
        events=log_of(time, place, kind, nodes),
    )  # fmt: skip


def test_a_planted_rule_is_found_and_its_parts_are_not_taken_for_it() -> None:
    made = EventRules(windows=(HOUR,), repeats=(1,))
    made.fit(planted())
    rules = made.rules()
    best = max(rules, key=lambda rule: rule.confidence)
    assert set(best.items) == {"NOTICE kind 1", "WARNING kind 2"}
    assert best.window_s == HOUR
    assert best.confidence == pytest.approx(0.5, abs=0.1)
    assert 2700 < best.lead_s < 4500
    assert best.factor[0] > 10
    named = {"NOTICE kind 1", "WARNING kind 2", "a failure"}
    for rule in rules:
        assert {words.removesuffix(" (machine)") for words in rule.items} <= named


def test_shuffled_data_give_no_rules_beyond_the_false_discovery_rate() -> None:
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        seen = planted(seed, nodes=20, days=120)
        log = Failures.build(rng.integers(0, seen.end, 600), rng.integers(0, 20, 600))
        found += bool(mine(replace(seen, failures=log), (HOUR, DAY), Limits(3, 3, 0.05, (1, 3))))
    assert found <= 4  # of 48 families at 5 % each: 2.4 on average at most


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(0, 90)), max_size=8))
def test_fisher_is_the_hypergeometric_tail(cases: list[tuple[int, int, int]]) -> None:
    for a, n, good in cases:
        total = 100
        hits = min(a, n, good)
        got = fisher(np.array([hits]), np.array([n]), good, total)[0]
        tail = stats.hypergeom.sf(hits - 1, total, good, n)
        if hits * total > n * good:
            assert got == pytest.approx(tail, rel=1e-8)
        else:
            assert got == 1.0


def test_discoveries_are_those_of_benjamini_and_hochberg() -> None:
    rng = np.random.default_rng(0)
    p_values = np.r_[rng.random(60) ** 6, rng.random(60)]
    adjusted = stats.false_discovery_control(p_values)
    assert set(discoveries(p_values, 0.05, 120)) == set(np.flatnonzero(adjusted <= 0.05))
    assert len(discoveries(np.empty(0), 0.05, 10)) == 0


def slow_sets(seen: Observations, window: int, limits: Limits) -> dict[Any, tuple[int, int]]:
    """Support and hits of all sets of items of nodes, by going through all transactions."""
    records = TypedRecords.of(seen)
    counts: dict[Any, tuple[int, int]] = {}
    log = seen.failures
    for step in range(seen.end // window - 1):
        t = (step + 1) * window
        for node in range(seen.nodes):
            near = (records.time >= t - window) & (records.time < t) & (records.node == node)
            tally = np.bincount(records.kind[near], minlength=len(records.types))
            items = [
                Item("node", *records.types[k], repeat)
                for k in range(len(tally))
                for repeat in limits.repeats
                if tally[k] >= repeat
            ]
            hit = bool(np.any((log.time >= t) & (log.time < t + window) & (log.node == node)))
            for size in range(1, limits.size + 1):
                for members in combinations(sorted(items), size):
                    n, a = counts.get(members, (0, 0))
                    counts[members] = (n + 1, a + hit)
    return counts


def test_counts_are_those_of_going_through_everything() -> None:
    seen = planted(3, nodes=6, days=25, rate=2.0)
    limits = Limits(2, 2, 0.9, (1, 2))
    slow = slow_sets(seen, HOUR * 6, limits)
    found = mine(seen, (HOUR * 6,), limits)
    near = [one for one in found if all(item.scope == "node" for item in one.items)]
    assert near
    for one in near:
        assert (one.support, one.hits) == slow[tuple(sorted(one.items))]
    baskets = node_baskets(seen, TypedRecords.of(seen), FailureLookup.of(seen), HOUR * 6, (1, 2))
    for item, rows in zip(baskets.items, baskets.rows, strict=True):
        if item.scope == "node":
            assert (len(rows), int(baskets.positive[rows].sum())) == slow[(item,)]


def test_items_hold_where_a_slow_look_says_so() -> None:
    seen = planted(4, nodes=7, days=6, rate=3.0)
    records = TypedRecords.of(seen)
    times = np.sort(np.random.default_rng(0).integers(0, seen.end, 40))
    node = Item("node", "event", "kind 1", 3, 2)
    wide = Item("machine", "event", "kind 2", 4, 3)
    where = {item: present(records, item, times, DAY, 7) for item in (node, wide)}
    both = holding((node, wide), where, 7).cells
    cells = []
    for k, t in enumerate(times.tolist()):
        near = (records.time >= t - DAY) & (records.time < t)
        time_2 = near & (records.kind == records.types.index(wide[1:4]))
        for n in range(7):
            time_1 = near & (records.node == n) & (records.kind == records.types.index(node[1:4]))
            if time_1.sum() >= 2 and time_2.sum() >= 3:
                cells.append(k * 7 + n)
    assert cells
    assert both.tolist() == cells


@pytest.fixture(scope="module")
def trained() -> tuple[EventRules, Observations]:
    seen = planted(1)
    made = EventRules()
    made.fit(seen.until(150 * DAY))
    return made, seen


def test_what_comes_later_changes_nothing(trained: tuple[EventRules, Observations]) -> None:
    made, seen = trained
    times = np.arange(150 * DAY, 199 * DAY, 7777)
    whole = made.chances(seen, times)
    cut = 170 * DAY + 5
    assert seen.events is not None
    late = seen.between(cut, seen.end)
    assert late.events is not None
    changed = replace(
        late,
        failures=Failures.build(cut + np.arange(300) * 501, np.arange(300) % 40),
        events=replace(late.events, kind=(late.events.kind + 1) % 6),
    )
    other = seen.until(cut).then(changed)
    before = times <= cut
    assert np.array_equal(whole[before], made.chances(other, times)[before])
    assert not np.array_equal(whole, made.chances(other, times))
    assert np.array_equal(whole[:5], made.chances(seen, times[:5]))


def test_answers_are_better_and_calibrated(trained: tuple[EventRules, Observations]) -> None:
    made, seen = trained
    times = np.arange(150 * DAY, 199 * DAY, HOUR)
    failed, _ = outcomes(seen, times, HOUR)
    chance = made.chances(seen, times)[:, :, 0]
    constant = new_learner("constant")
    constant.fit(seen.until(150 * DAY))
    steady = constant.chances(seen, times)[:, :, 0]
    assert ((chance - failed) ** 2).mean() < 0.95 * ((steady - failed) ** 2).mean()
    assert chance.sum() == pytest.approx(failed.sum(), rel=0.25)
    high = chance > 0.05
    assert chance[high].mean() == pytest.approx(failed[high].mean(), rel=0.3)


def test_saved_and_restored_it_answers_alike(trained: tuple[EventRules, Observations]) -> None:
    made, _ = trained
    values, arrays = made.state()
    again = EventRules.from_state(json.loads(json.dumps(values)), arrays)
    assert np.array_equal(made.hazards(), again.hazards())
    assert again.rules() == made.rules()


def test_kinds_are_known_by_name_not_by_number(trained: tuple[EventRules, Observations]) -> None:
    made, seen = trained
    events = seen.events
    assert events is not None
    turned = replace(
        events, kind=(5 - events.kind).astype(np.int32), kinds=tuple(reversed(events.kinds))
    )
    times = np.arange(160 * DAY, 165 * DAY, HOUR)
    other = made.chances(replace(seen, events=turned), times)
    assert np.array_equal(other, made.chances(seen, times))


def test_failures_alone_and_next_to_nothing() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 300 * DAY, 200)
    node = rng.integers(0, 30, 200)
    again = rng.random(200) < 0.6
    log = Failures.build(
        np.r_[first, first[again] + rng.integers(HOUR, 20 * HOUR, again.sum())],
        np.r_[node, node[again]],
    )
    log = replace(log, kind=tuple("AB"[k % 2] for k in range(len(log))))
    made = EventRules()
    made.fit(Observations.of(log, begin=0, end=302 * DAY, nodes=30))
    assert ("a failure",) in [rule.items for rule in made.rules()]
    for failures, nodes, end in (
        (Failures.build([], []), 3, 10 * DAY),
        (Failures.build([5], [0]), 1, 10),
        (Failures.build([], []), 1, 0),
    ):
        made = EventRules()
        made.fit(Observations.of(failures, begin=0, end=end, nodes=nodes))
        assert made.rules() == []
        table = made.chances(made.seen, np.array([end]))
        assert np.all((table >= 0) & (table < 1))


def test_bad_settings_are_refused() -> None:
    for settings in (
        {"windows": ()}, {"windows": (5, 5)}, {"repeats": (0,)}, {"size": 4}, {"fdr": 1.0},
        {"hits": 0}, {"prior": float("nan")}, {"most": -1},
    ):  # fmt: skip
        with pytest.raises(ParameterError, match=next(iter(settings))):
            EventRules(**settings)  # type: ignore[arg-type]
