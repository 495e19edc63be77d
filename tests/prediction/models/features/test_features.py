"""Features against plain Python at random moments of random nodes; causality."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forestall.core.model.failures import Failures
from forestall.core.model.metrics import Metrics
from forestall.core.model.observations import Observations
from forestall.core.model.ras import RasLog
from forestall.prediction.models.features.events import telling_kinds
from forestall.prediction.models.features.failures import service_of
from forestall.prediction.models.features.features import Features, Vocabulary, Walk, features

HOUR, DAY, WEEK = 3600, 86_400, 604_800
SPAN, NODES = 60 * DAY, 24
KINDS = ("cpu", "disk", "fan")


def observed(seed: int = 0, number: int = 300, **changes: object) -> Observations:
    """Failures in bursts with kinds and downtimes, records and samples, some nodes in service
    later than others or not to the end."""
    rng = np.random.default_rng(seed)
    time = rng.integers(0, SPAN, number)
    node = rng.integers(0, NODES - 1, number)  # the last one never fails
    burst = rng.random(number) < 0.4
    time[1:][burst[1:]] = np.minimum(time[:-1] + rng.integers(0, HOUR, number - 1), SPAN - 1)[
        burst[1:]
    ]
    down = np.where(rng.random(number) < 0.8, rng.integers(0, 2 * DAY, number), -1)
    start = np.where(np.arange(NODES) % 5 == 4, rng.integers(0, SPAN, NODES), -1000)
    stop = np.where(np.arange(NODES) % 7 == 6, (start + SPAN) // 2, SPAN)
    failures = replace(
        Failures.build(time, node, down),
        kind=tuple(rng.choice([*KINDS, ""], number).tolist()),
        span=SPAN,
        nodes=NODES,
        origin=1_000_000_000,
        service_start=start.astype(np.int64),
        service_end=stop.astype(np.int64),
        service_new=np.zeros(NODES, dtype=bool),
    )
    parts = {"events": records(rng), "metrics": samples(rng), **changes}
    return Observations.of(failures, begin=0, end=SPAN, **parts)


def records(rng: np.random.Generator, number: int = 2000) -> RasLog:
    return RasLog(
        time=np.sort(rng.integers(0, SPAN, number)),
        place=rng.integers(-1, NODES, number).astype(np.int32),
        severity=rng.integers(0, 9, number).astype(np.int8),
        kind=rng.integers(0, 4, number).astype(np.int32),
        places=tuple(f"n{k}" for k in range(NODES)),
        kinds=("a", "b", "c", "d"),
    )


def samples(rng: np.random.Generator, number: int = 3000) -> Metrics:
    place = np.unique(rng.integers(0, NODES * SPAN, number))
    value = np.column_stack((rng.normal(50, 5, len(place)), rng.normal(1e6, 10, len(place))))
    value[rng.random(value.shape) < 0.2] = np.nan
    return Metrics(place % SPAN, place // SPAN, value, ("load", "bytes"), NODES, period=HOUR)


WORDS = Vocabulary(KINDS, True, True, ("a", "c"), ("load", "bytes"), HOUR)


def in_full(count: float, window: int, covered: int) -> float:
    if covered >= window:
        return count
    return math.nan if 2 * covered < window else count * window / covered


def plain_failures(o: Observations, t: int, n: int) -> dict[str, float]:
    """The features of failures by their definitions."""
    f = o.failures
    rows = [i for i in range(len(f)) if f.time[i] < t]
    mine = [i for i in rows if f.node[i] == n]
    since, until = service_of(o)
    exposure = sum(max(min(t, u) - s, 0) for s, u in zip(since, until, strict=True))
    covered = max(min(t, until[n]) - since[n], 0)
    rate = (len(rows) + 0.5) / max(exposure, DAY)
    begun = sum(s < t for s, u in zip(since, until, strict=True) if s < u)
    ended = sum(u < t for s, u in zip(since, until, strict=True) if s < u)
    counts = np.bincount([f.node[i] for i in rows], minlength=NODES)
    spread = 1.0
    if begun and rows:
        mean = len(rows) / begun
        more = (counts**2).sum() / begun - mean**2 - mean
        spread = 100.0 if more <= 0 else min(max(mean**2 / more, 0.2), 100.0)
    got: dict[str, float] = {}
    widths = {"1h": HOUR, "6h": 6 * HOUR, "1d": DAY, "7d": WEEK, "30d": 30 * DAY, "1y": 365 * DAY}

    def within(i: int, w: str) -> bool:
        return bool(f.time[i] >= t - widths[w])

    for w, width in widths.items():
        got[f"failures_{w}"] = in_full(sum(within(i, w) for i in mine), width, covered)
    got["failures_ever"] = len(mine)
    got["frailty"] = (len(mine) + spread) / (rate * covered + spread)
    got["rate_per_day"] = got["frailty"] * rate * DAY
    got["observed_days"] = covered / DAY
    ages = [(t - f.time[i]) / HOUR for i in mine]
    got["hours_since_last"] = ages[-1] if mine else math.nan
    got["hours_since_second_last"] = ages[-2] if len(mine) > 1 else math.nan
    got["hours_quiet"] = ages[-1] if mine else (t - since[n]) / HOUR
    got["last_gap_hours"] = ages[-2] - ages[-1] if len(mine) > 1 else math.nan
    mean = (ages[0] - ages[-1]) / (len(mine) - 1) if len(mine) > 1 else math.nan
    got["mean_gap_hours"] = mean
    got["since_last_by_mean_gap"] = ages[-1] / mean if len(mine) > 1 and mean > 0 else math.nan
    got["burst_size"] = math.nan
    if mine:
        last = f.time[mine[-1]]
        got["burst_size"] = sum(last - 600 <= f.time[i] <= last for i in rows) - 1
    for d, width in (("hour", HOUR), ("day", DAY), ("week", WEEK), ("month", 30 * DAY)):
        got[f"decayed_{d}"] = sum(math.exp(-(t - f.time[i]) / width) for i in mine)
    for w in ("1h", "6h", "1d", "7d"):
        for r in (1, 4, 16):
            others = sum(within(i, w) and 0 < abs(f.node[i] - n) <= r for i in rows)
            got[f"neighbours_{r}_{w}"] = in_full(others, widths[w], t - o.begin)
    for w in ("1h", "6h", "1d", "7d", "30d"):
        count = in_full(sum(within(i, w) for i in rows), widths[w], t - o.begin)
        got[f"machine_{w}"] = (count + 1) / (rate * (begun - ended) * widths[w] + 1)
    got["machine_hours_since_last"] = (t - f.time[rows[-1]]) / HOUR if rows else math.nan
    return got | plain_told(f, t, mine)


def plain_told(f: Failures, t: int, mine: list[int]) -> dict[str, float]:
    assert f.kind is not None
    codes = [KINDS.index(k) if k else -1 for k in f.kind]
    got: dict[str, float] = {"last_kind": codes[mine[-1]] if mine else math.nan}
    for k, kind in enumerate(KINDS):
        got[f"kind_{kind}"] = sum(codes[i] == k for i in mine)
    got["down"], got["last_downtime_hours"] = 0.0, math.nan
    known = math.nan
    for i in mine:  # what was known of downtimes as the next failure came
        back = f.time[i] + f.downtime[i] if f.downtime[i] >= 0 else None
        if i == mine[-1]:
            over = back is not None and back < t
            got["down"] = math.nan if back is None else float(not over)
            got["last_downtime_hours"] = f.downtime[i] / HOUR if over else known
        elif back is not None and back <= f.time[mine[mine.index(i) + 1]]:
            known = f.downtime[i] / HOUR
    return got


def plain_calendar(o: Observations, t: int) -> dict[str, float]:
    assert o.origin is not None
    second = t + o.origin
    day, week = second % DAY / DAY, (second - 4 * DAY) % WEEK / WEEK
    return {
        "day_sin": math.sin(2 * math.pi * day),
        "day_cos": math.cos(2 * math.pi * day),
        "week_sin": math.sin(2 * math.pi * week),
        "week_cos": math.cos(2 * math.pi * week),
        "weekend": float(week * 7 >= 5),
    }


def plain_events(o: Observations, t: int, n: int) -> dict[str, float]:
    log = o.events
    assert log is not None
    classes = {"info": (0, 3), "warning": (4, 4), "error": (5, 5), "severe": (6, 6)}
    classes["fatal"] = (7, 8)
    got: dict[str, float] = {}
    for w, width in (("1h", HOUR), ("1d", DAY)):
        inside = (log.time < t) & (log.time >= t - width)
        of = {c: (log.severity >= a) & (log.severity <= b) for c, (a, b) in classes.items()}
        of |= {k: log.kind == log.kinds.index(k) for k in ("a", "c")}
        for name, mask in of.items():
            own, whole = inside & mask & (log.place == n), inside & mask
            got[f"node_events_{name}_{w}"] = in_full(own.sum(), width, t - o.begin)
            got[f"machine_events_{name}_{w}"] = in_full(whole.sum(), width, t - o.begin)
    return got


def plain_metrics(o: Observations, t: int, n: int) -> dict[str, float]:
    data = o.metrics
    assert data is not None
    recent = (data.node == n) & (data.time < t) & (data.time >= t - 28 * DAY)
    got = {"hours_since_sample": math.nan}
    if recent.any():
        got["hours_since_sample"] = (t - data.time[recent].max()) / HOUR
    for m, name in enumerate(data.names):
        value = data.value[:, m]
        there = recent & ~np.isnan(value)
        last = value[there][-1] if there.any() else math.nan
        got[f"{name}:last"] = last
        for w, width in (("1h", HOUR), ("1d", DAY), ("7d", WEEK), ("28d", 28 * DAY)):
            x = value[there & (data.time >= t - width)]
            mean = x.mean() if len(x) else math.nan
            sd = x.std(ddof=1) if len(x) > 1 else math.nan
            got |= {
                f"{name}:mean_{w}": mean,
                f"{name}:sd_{w}": sd,
                f"{name}:above_{w}": last - mean,
            }
        got[f"{name}:score_own"] = got[f"{name}:above_28d"] / got[f"{name}:sd_28d"]
        present = {}
        for k in range(NODES):
            rows = (data.node == k) & (data.time < t) & ~np.isnan(value)
            if rows.any() and data.time[rows][-1] + DAY >= t:
                present[k] = value[rows][-1]
        mine = present.pop(n, math.nan)
        rest = np.array(list(present.values()))
        sd = rest.std(ddof=1) if len(rest) > 1 else math.nan
        got[f"{name}:score_others"] = (mine - rest.mean()) / sd if len(rest) else math.nan
    return got


def plain(o: Observations, t: int, n: int) -> dict[str, float]:
    return (
        plain_failures(o, t, n)
        | plain_calendar(o, t)
        | plain_events(o, t, n)
        | plain_metrics(o, t, n)
    )


def close(made: Features, o: Observations, times: list[int], nodes: list[int]) -> None:
    for j, t in enumerate(times):
        for n in nodes:
            wanted = plain(o, t, n)
            row = made.values[j, n]
            for name, value in zip(made.names, row, strict=True):
                assert value == pytest.approx(wanted[name], rel=2e-4, abs=1e-5, nan_ok=True), (
                    f"{name} of node {n} at {t}"
                )


@pytest.mark.parametrize("seed", range(3))
def test_features_are_what_plain_python_counts(seed: int) -> None:
    o = observed(seed)
    rng = np.random.default_rng(100 + seed)
    times = np.sort(np.concatenate((rng.integers(0, SPAN, 12), o.failures.time[[40, 41]], [0, 1])))
    made = features(o, times, WORDS)
    assert made.values.shape == (len(times), NODES, len(made.names))
    close(made, o, times.tolist(), [0, 4, 6, 9, NODES - 1])


def test_at_a_failure_it_is_not_known_yet() -> None:
    o = observed()
    at = int(o.failures.time[100])
    node = int(o.failures.node[100])
    before, after = features(o, np.array([at, at + 1]), WORDS).values[:, node]
    ever = WORDS.names.index("failures_ever")
    assert after[ever] >= before[ever] + 1


def test_what_comes_later_changes_nothing() -> None:
    o = observed(1)
    cut = SPAN // 2
    times = np.arange(DAY, cut + 1, 7 * HOUR)
    later = observed(2).between(cut, SPAN)
    service = {
        name: getattr(o.failures, name) for name in ("service_start", "service_end", "service_new")
    }
    changed = o.until(cut).then(replace(later, failures=replace(later.failures, **service)))
    wanted = features(o, times, WORDS).values
    np.testing.assert_array_equal(features(changed, times, WORDS).values, wanted)
    np.testing.assert_array_equal(features(o.until(cut), times, WORDS).values, wanted)


def test_what_else_is_asked_changes_nothing() -> None:
    o = observed(1)
    times = np.sort(np.random.default_rng(5).integers(0, SPAN, 40))
    many = features(o, times, WORDS).values
    np.testing.assert_array_equal(features(o, times[7::9], WORDS).values, many[7::9])
    walk = Walk(o, WORDS)
    pairs = np.array([0, 3, 3, 10])
    rows = walk.rows(times[[3, 20]], np.array([0, 3, 4]), pairs)
    np.testing.assert_array_equal(rows[:3], many[3, pairs[:3]])
    np.testing.assert_array_equal(rows[3], many[20, 10])


def test_missing_sources_are_left_out_and_later_ones_are_nan() -> None:
    o = observed(events=None, metrics=None)
    bare = replace(
        o,
        failures=replace(o.failures, kind=None, origin=None, downtime=np.full(len(o.failures), -1)),
    )
    words = Vocabulary.of(bare)
    assert words == Vocabulary()
    assert not [n for n in words.names if n.startswith(("kind", "down", "day", "node_e", "load"))]
    made = features(bare, np.array([SPAN // 2]), WORDS)
    for name, column in zip(made.names, made.values[0].T, strict=True):
        told = name in words.names or name.startswith(("last_kind", "kind_", "down"))
        assert told or np.isnan(column).all(), name


def test_the_vocabulary_goes_through_json() -> None:
    words = Vocabulary.of(observed())
    assert words.kinds[0] in KINDS
    assert words.metrics == ("load", "bytes")
    assert Vocabulary.from_state(words.state()) == words


def test_telling_kinds_are_those_that_failures_follow() -> None:
    rng = np.random.default_rng(3)
    failures = Failures.build(np.arange(10, 60) * DAY, rng.integers(0, NODES, 50))
    told = np.full(50, 2)
    time = np.concatenate((failures.time - HOUR, np.sort(rng.integers(DAY, 59 * DAY, 500))))
    place = np.concatenate((failures.node, rng.integers(0, NODES, 500)))
    kind = np.concatenate((told, rng.choice([0, 1, 3], 500)))
    order = np.argsort(time, kind="stable")
    log = RasLog(
        time[order],
        place[order].astype(np.int32),
        np.full(550, 2, dtype=np.int8),
        kind[order].astype(np.int32),
        tuple(map(str, range(NODES))),
        ("a", "b", "c", "d"),
    )
    past = Observations.of(failures, begin=0, end=61 * DAY, nodes=NODES, events=log)
    assert telling_kinds(past)[0] == "c"
    assert telling_kinds(replace(past, events=None)) == ()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_next_to_nothing_seen(number: int) -> None:
    log = Failures.build(np.arange(number) * DAY, np.zeros(number, dtype=int))
    o = Observations.of(log, begin=0, end=10 * DAY, nodes=1)
    made = features(o, np.array([0, 5 * DAY, 20 * DAY]))
    assert made.values.shape == (3, 1, len(Vocabulary().names))
    assert features(o, np.empty(0, dtype=np.int64)).values.shape[0] == 0
    assert made.values[1, 0, made.names.index("failures_ever")] == number
