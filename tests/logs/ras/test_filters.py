"""Filters beside plain slow ones on random logs, and on cases done by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forestall.core.model.errors import ParameterError
from forestall.core.model.ras import RasLog, Severity
from forestall.logs.ras import (
    CauseRules,
    FilterSettings,
    causal,
    clusters,
    labelled,
    mine_rules,
    pipeline,
    severe,
    spatial,
    temporal,
    to_failures,
)

PLACES = ("R00-M0-N0", "R00-M1-N0", "R01-M0-N0")


def log_of(rows: list[tuple[int, int, int, int]], span: int = 10_000) -> RasLog:
    """A log of (time, place, severity, kind)."""
    rows = sorted(rows, key=lambda row: row[0])
    columns = [np.array([row[k] for row in rows], dtype=np.int64) for k in range(4)]
    return RasLog(
        columns[0],
        columns[1].astype(np.int32),
        columns[2].astype(np.int8),
        columns[3].astype(np.int32),
        PLACES,
        ("a", "b", "c", "d"),
        alert=columns[3] % 2 == 1,
        span=span,
    )


ROWS = st.lists(
    st.tuples(
        st.integers(0, 120), st.integers(0, 2), st.sampled_from([2, 4, 7, 8]), st.integers(0, 3)
    ),
    max_size=60,
)
THRESHOLDS = st.integers(0, 20)
RULES = st.sampled_from(["seen", "kept"])


def slowly(log: RasLog, threshold: int, rule: str, group: Callable[[int], object]) -> list[bool]:
    last: dict[object, int] = {}
    keep = []
    for i, time in enumerate(log.time.tolist()):
        name = group(i)
        near = name in last and time - last[name] <= threshold
        keep.append(not near)
        if rule == "seen" or not near:
            last[name] = time
    return keep


@given(ROWS, THRESHOLDS, RULES)
def test_merging_is_that_of_the_slow_one(rows, threshold, rule) -> None:
    log = log_of(rows)
    rack = [place[:3] for place in PLACES]
    assert temporal(log, threshold, rule).tolist() == slowly(
        log, threshold, rule, lambda i: (log.place[i], log.kind[i])
    )
    assert spatial(log, threshold, rule).tolist() == slowly(
        log, threshold, rule, lambda i: log.kind[i]
    )
    assert spatial(log, threshold, rule, "rack").tolist() == slowly(
        log, threshold, rule, lambda i: (rack[log.place[i]], log.kind[i])
    )


@given(ROWS, THRESHOLDS, RULES, st.sampled_from(["system", "rack"]))
def test_clusters_are_those_of_the_slow_one(rows, threshold, rule, within) -> None:
    log = log_of(rows)
    part = [place[:3] if within == "rack" else "" for place in PLACES]
    first = slowly(log, threshold, rule, lambda i: part[log.place[i]])
    current: dict[str, int] = {}
    wanted = []
    for i, begins in enumerate(first):
        name = part[log.place[i]]
        if begins:
            current[name] = sum(first[:i])
        wanted.append(current[name])
    assert clusters(log, threshold, rule, within).tolist() == wanted


def slow_pairs(log: RasLog, threshold: int) -> tuple[np.ndarray, np.ndarray]:
    """Occurrences of each kind, and those of one that another follows."""
    kept = slowly(log, threshold, "kept", lambda i: log.kind[i])
    some = [(int(log.time[i]), int(log.kind[i])) for i in range(len(log)) if kept[i]]
    counts, pairs = np.zeros(4, dtype=int), np.zeros((4, 4), dtype=int)
    for i, (time, kind) in enumerate(some):
        counts[kind] += 1
        for other in {k for t, k in some[i + 1 :] if t - time <= threshold}:
            pairs[kind, other] += 1
    return counts, pairs


@given(ROWS, THRESHOLDS)
def test_rules_are_those_of_the_slow_one(rows, threshold) -> None:
    log = log_of(rows)
    counts, pairs = slow_pairs(log, threshold)
    rules = mine_rules(log, threshold, support=2, confidence=0.3, lift=0)
    wanted = {
        (a, b): (pairs[a, b], pairs[a, b] / counts[a])
        for a in range(4) for b in range(4)
        if pairs[a, b] >= 2 and pairs[a, b] >= 0.3 * counts[a]
    }  # fmt: skip
    found = {
        (a, b): (n, share)
        for a, b, n, share in zip(
            rules.cause.tolist(), rules.effect.tolist(), rules.support, rules.confidence,
            strict=True,
        )
    }  # fmt: skip
    assert found == wanted
    assert sorted(rules.confidence, reverse=True) == rules.confidence.tolist()


def rules_of(*pairs: tuple[int, int]) -> CauseRules:
    cause, effect = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    ones = np.ones(len(cause))
    return CauseRules(cause, effect, ones.astype(np.int64), ones, ones)


@given(ROWS, THRESHOLDS, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
def test_effects_go_as_in_the_slow_one(rows, threshold, pairs) -> None:
    log = log_of(rows)
    pairs = [(a, b) for a, b in pairs if a != b]
    wanted = [
        not any(
            log.time[i] - log.time[j] <= threshold and (int(log.kind[j]), int(log.kind[i])) in pairs
            for j in range(i)
        )
        for i in range(len(log))
    ]
    assert causal(log, rules_of(*pairs), threshold).tolist() == wanted


def test_a_chain_is_one_by_the_record_before_and_several_by_the_one_kept() -> None:
    log = log_of([(time, 0, 7, 0) for time in range(0, 1001, 100)])
    assert np.flatnonzero(temporal(log, 300)).tolist() == [0]
    assert np.flatnonzero(temporal(log, 300, "kept")).tolist() == [0, 4, 8]
    assert np.flatnonzero(temporal(log, 99)).tolist() == list(range(11))
    assert np.flatnonzero(temporal(log, 100)).tolist() == [0]


def test_chance_is_no_cause() -> None:
    # b comes all day long, so that it follows every a; c follows a only.
    rows = [(time, 0, 7, 1) for time in range(0, 100_000, 400)]
    rows += [(time, 1, 7, 0) for time in range(3_050, 100_000, 7_001)]
    rows += [(time + 20, 1, 7, 2) for time in range(3_050, 100_000, 7_001)]
    log = log_of(rows, span=100_000)
    sure = mine_rules(log, 300, lift=2)
    assert list(zip(sure.cause.tolist(), sure.effect.tolist(), strict=True)) == [(0, 2)]
    loose = mine_rules(log, 300, lift=0)
    assert (0, 1) in set(zip(loose.cause.tolist(), loose.effect.tolist(), strict=True))
    assert sure.support.tolist() == [14]
    assert sure.lift[0] > 20


def test_empty_and_single() -> None:
    for rows in ([], [(5, 0, 7, 0)]):
        log = log_of(rows)
        assert temporal(log).tolist() == [True] * len(rows)
        assert clusters(log).tolist() == [0] * len(rows)
        done = pipeline(log)
        assert len(done.log) == len(rows)
        assert len(done.failures()) == len(rows)
        assert all(step.ratio == 1 and step.share == 0 for step in done.steps)


def test_bad_parameters() -> None:
    log = log_of([(5, 0, 7, 0)])
    for name, call in (
        ("threshold", lambda: temporal(log, -1)),
        ("rule", lambda: spatial(log, 5, "any")),  # type: ignore[arg-type]
        ("level", lambda: spatial(log, 5, within="aisle")),
        ("support", lambda: mine_rules(log, support=0)),
        ("confidence", lambda: mine_rules(log, confidence=0)),
        ("lift", lambda: mine_rules(log, lift=float("nan"))),
        ("steps", lambda: FilterSettings(steps=("temporal", "magic"))),
        ("steps", lambda: FilterSettings(steps=("temporal", "temporal"))),
    ):
        with pytest.raises(ParameterError, match=f"^{name}: "):
            call()


@given(ROWS, THRESHOLDS)
def test_the_pipeline_adds_up(rows, threshold) -> None:
    log = log_of(rows)
    steps = ("severity", "alerts", "temporal", "spatial", "causal", "clusters")
    how = FilterSettings(steps, None, threshold, threshold, threshold, threshold, support=1)
    done = pipeline(log, how)
    left = len(log)
    for step in done.steps:
        assert step.before == left
        assert step.removed.sum() == step.before - step.after
        left = step.after
    assert left == len(done.kept) == len(done.log)
    assert done.log.time.tolist() == log.time[done.kept].tolist()
    assert bool(np.all(severe(log)[done.kept] & labelled(log)[done.kept]))
    by_hand = log.take(severe(log))
    by_hand = by_hand.take(labelled(by_hand))
    by_hand = by_hand.take(temporal(by_hand, threshold))
    by_hand = by_hand.take(spatial(by_hand, threshold))
    by_hand = by_hand.take(causal(by_hand, mine_rules(by_hand, threshold, support=1), threshold))
    firsts = np.unique(clusters(by_hand, threshold), return_index=True)[1]
    assert done.log.time.tolist() == by_hand.time[firsts].tolist()


def test_default_steps_are_those_that_a_log_can_bear() -> None:
    log = log_of([(1, 0, 7, 1), (2, 0, 2, 0)])
    blank = log_of([(1, 0, 0, 1), (2, 0, 0, 0)])
    names = [step.name for step in pipeline(log).steps]
    assert names == ["severity", "temporal", "spatial", "causal"]
    done = pipeline(blank)
    assert [step.name for step in done.steps] == ["alerts", "temporal", "spatial", "causal"]
    assert done.kept.tolist() == [0]
    lowered = pipeline(log, FilterSettings(severity=Severity.INFO))
    assert lowered.kept.tolist() == [0, 1]


def test_failures_by_level() -> None:
    log = log_of([(7, 2, 7, 0), (7, 0, 7, 1), (9, 1, 7, 0)])
    nodes = to_failures(log)
    assert (nodes.time.tolist(), nodes.node.tolist()) == ([7, 7, 9], [0, 2, 1])
    assert (nodes.kind, nodes.names, nodes.nodes) == (("b", "a", "a"), PLACES, 3)
    racks = to_failures(log, "rack")
    assert (racks.node.tolist(), racks.names) == ([0, 1, 0], ("R00", "R01"))
    assert racks.downtime.tolist() == [-1] * 3
    assert racks.span == log.span
