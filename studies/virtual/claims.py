"""The paper's claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from studies.kit.claims import Finding, UntestableError
from studies.kit.means import Mean, mean_of
from studies.kit.text import share
from studies.virtual.found import FAILS, HOLDS, Found, aware, gained, listed, near, points, times
from studies.virtual.study import (
    AWARE,
    BASELINES,
    BEST,
    FIRST,
    JOBS,
    MEASURES,
    NETWORK,
    PAPER,
    RANDOM,
    REAL,
    STAYS,
    TASKS,
    WIDE_LOADS,
    WIDTHS,
    WORDS,
    WORK,
    Cell,
)

CellOf = Callable[[str, float, float], Cell]
Gains = Mapping[float, Mean] | Mapping[str, Mean]
Key = TypeVar("Key", float, str)

AT_PAPER: Final = {JOBS: 0.802, TASKS: 0.825}
OVER: Final = {RANDOM: 0.213, FIRST: 0.122}
GAIN, LOG = 0.105, 0.697
TWICE: Final = (0.006, 0.075)
"""What the paper says: completion rates of best-fit at 76.5 % accuracy; its leads in tasks at 60 %;
points of jobs above those of the log; shares of the tasks and of the jobs hit by a failure that a
second one hit."""

GOOD: Final = 0.6
"""Accuracy from which on the error is below 40 %."""
CLOSE: Final = 0.01
"""A rate counts as the paper's where it is no further from it."""
FEW: Final = 0.02
"""A share of tasks hit again counts as small up to here."""
FEW_JOBS: Final = 0.1
"""A share of jobs hit again counts as the paper's up to here."""
NEGLIGIBLE: Final = 0.001
THIRD: Final = 2 / 3
"""A gain counts as of the paper's size from so much of it on, by the low end of its interval."""


# Section 3: failures and migrations --------------------------------------------------------------


def once(found: Found) -> Finding:
    """At most one failure in the life of a task, and few jobs with a second one."""
    words, good = [], []
    for rate in found.ends:
        rows = found.runs.rows(Cell(STAYS, rate=rate, study="checkpoints"))
        hit = [int(rows[name].sum()) for name in ("tasks_hit", "jobs_hit")]
        twice = [int(rows[f"{name}_hit_twice"].sum()) for name in ("tasks", "jobs")]
        if not all(hit):
            raise UntestableError(f"no failure hits a task at {times(rate)} the paper's failures")
        again = [two / one for one, two in zip(hit, twice, strict=True)]
        words.append(
            f"{times(rate)}: {share(again[0])} of {hit[0]:,} tasks hit were hit again, "
            f"{share(again[1])} of {hit[1]:,} jobs"
        )
        good += [rate] if again[0] <= FEW and again[1] <= FEW_JOBS else []
    return Finding("; ".join(words), HOLDS if len(good) == 2 else near(good))


def cheap(found: Found) -> Finding:
    """A migration's 12 s do not matter."""
    paper = aware(BEST, found.plan.rates[-1])
    words, most = [], 0.0
    for cost in (0, 600):
        other = paper.at(study="migration cost", cost=cost)
        gains = {measure: found.runs.gain(other, paper, measure) for measure in MEASURES}
        told = ", ".join(f"{WORDS[measure]} {gained(gain)}" for measure, gain in gains.items())
        words.append(f"{cost} s: {told}")
        if cost == 0:
            most = max(max(abs(gain.low), abs(gain.high)) for gain in gains.values())
    moved = found.runs.mean(paper, "migrations").mean
    told = f"best-fit at {times(paper.rate)}, {moved:,.0f} migrations; instead of 12 s "
    verdict = HOLDS if most < NEGLIGIBLE else FAILS
    return Finding(told + ", ".join(words), verdict, told + words[0])


# Section 5.2: which strategy ---------------------------------------------------------------------

MIGRATES: Final = {RANDOM: "random-select that migrates", STAYS: "one that stays"}
"""The baselines: the first is the paper's (Section 4.1), and decides."""


def twice(found: Found, test: Callable[[str], Finding]) -> Finding:
    """Return what a test finds beside each of the baselines, with the verdict of the one that
    migrates."""
    told = {base: test(base) for base in BASELINES}
    verdict = told[RANDOM].verdict
    if told[STAYS].verdict != verdict:
        verdict += f" (over {MIGRATES[STAYS]}: {told[STAYS].verdict})"
    words = (f"over {MIGRATES[base]}, {one.measured}" for base, one in told.items())
    brief = f"{told[RANDOM].brief}; over {MIGRATES[STAYS]} {told[STAYS].brief}"
    return Finding("; ".join(words), verdict, brief)


def above_random(found: Found, one: str, measure: str) -> Finding:
    """A strategy above random-select once the error is below 40 %."""
    return twice(found, lambda base: above(found, one, base, measure))


def above(found: Found, one: str, two: str, measure: str) -> Finding:
    """A strategy above another once the error is below 40 %."""
    ahead, behind = [], []
    for rate in found.every:
        gains = [found.gain(one, two, rate, measure, a) for a in found.played(rate, GOOD)]
        ahead += [rate] if all(gain.above for gain in gains) else []
        behind += [rate] if all(gain.below for gain in gains) else []
    shown = {rate: found.gain(one, two, rate, measure) for rate in found.every}
    verdict = found.where(ahead, behind, found.every)
    return Finding(f"points at {share(PAPER)}: {_told(shown)}", verdict, _told(_ends(found, shown)))


def _ends(found: Found, gains: Mapping[float, Mean]) -> dict[float, Mean]:
    """Return the gains at the least and the highest rate of the grid."""
    return {rate: gains[rate] for rate in found.ends}


def _last(words: str) -> str:
    """Return the last of several parts, of the highest rate."""
    return words.rsplit("; ", 1)[-1]


def _told(gains: Gains) -> str:
    """Return gains by rate, or by a name of the case, in words."""
    said = ((times(k) if isinstance(k, float) else k, gain) for k, gain in gains.items())
    return "; ".join(f"{name}: {gained(gain)}" for name, gain in said)


def sensitive(found: Found) -> Finding:
    """Best-fit depends most on the accuracy of predictions: more than first-fit, and than
    random-select that migrates."""
    early = _sensitive(found, found.cell, found.plan.rates)
    late = _sensitive(found, found.late, found.late_rates)
    return Finding(
        "rise from accuracy 0 to 1, points of jobs and of tasks, best-fit, and by how much it is "
        f"more than that of first-fit and of random-select: {early[0]}; with predictions that may "
        f"come late: {late[0]}",
        _early_or_late(found, early[1], late[1]),
        f"{_last(early[0])}; with predictions that may come late: {_last(late[0])}",
    )


def _sensitive(found: Found, cell: CellOf, rates: Sequence[float]) -> tuple[str, list[float]]:
    words, ahead = [], []
    for rate in rates:
        parts, above = [], []
        for measure in (JOBS, TASKS):
            best = _rise(found, cell, BEST, rate, measure)
            more = []
            for rival in (FIRST, RANDOM):
                other = _rise(found, cell, rival, rate, measure)
                more.append(mean_of([best[seed] - other[seed] for seed in best if seed in other]))
            above += [one.above for one in more]
            mean = points(mean_of(list(best.values())).mean)
            parts.append(f"{WORDS[measure]} {mean}, by {' and '.join(map(gained, more))}")
        words.append(f"{times(rate)} {', '.join(parts)}")
        ahead += [rate] if all(above) else []
    return "; ".join(words), ahead


def _rise(found: Found, cell: CellOf, strategy: str, rate: float, measure: str) -> dict[int, float]:
    """Return by how much a measure rises from the least accuracy to the highest, by seed."""
    low, high = min(found.plan.accuracies), max(found.plan.accuracies)
    above, below = (found.runs.values(cell(strategy, rate, a), measure) for a in (high, low))
    return {seed: above[seed] - below[seed] for seed in above if seed in below}


def _early_or_late(found: Found, early: list[float], late: list[float]) -> str:
    if len(early) == len(found.plan.rates):
        return HOLDS
    others = [f"at {listed(late)} with predictions that may come late"] if late else []
    return near(early, others)


def bad_predictions(found: Found) -> Finding:
    """Best-fit does not do well with bad predictions."""
    return twice(found, lambda base: _bad(found, base))


def _bad(found: Found, base: str) -> Finding:
    words, worse = [], []
    for cell, rates in ((found.cell, found.plan.rates), (found.late, found.late_rates)):
        parts, below = [], []
        for rate in rates:
            bad = cell(BEST, rate, min(found.plan.accuracies))
            gains = [found.runs.gain(bad, cell(base, rate, 0.0), m) for m in (JOBS, TASKS)]
            parts.append(f"{times(rate)} {', '.join(gained(gain) for gain in gains)}")
            below += [rate] if all(gain.below for gain in gains) else []
        words.append("; ".join(parts))
        worse.append(below)
    return Finding(
        f"points of jobs and of tasks at accuracy 0: {words[0]}; with predictions "
        f"that may come late: {words[1]}",
        _early_or_late(found, worse[0], worse[1]),
        f"jobs and tasks {_last(words[0])}; where predictions may come late {_last(words[1])}",
    )


def rising(found: Found) -> Finding:
    """Completion rates, of jobs and of tasks, rise with accuracy, whatever strategy asks."""
    words, good = [], []
    for rate in found.plan.rates:
        gains = [
            found.runs.gain(found.cell(one, rate, high), found.cell(one, rate, low), measure)
            for measure in (JOBS, TASKS)
            for one in (*AWARE, RANDOM)
            for low, high in pairwise(found.played(rate))
        ]
        up, down = sum(gain.above for gain in gains), sum(gain.below for gain in gains)
        words.append(f"{times(rate)}: {up} of {len(gains)} rise, {down} fall")
        good += [rate] if up > 0 and down == 0 else []
    return Finding(
        "steps by more than chance, in jobs and tasks, of best-fit, first-fit and random-select: "
        + "; ".join(words),
        HOLDS if len(good) == len(found.plan.rates) else near(good),
    )


# The levels --------------------------------------------------------------------------------------


def level(found: Found, measure: str) -> Finding:
    """80.2 % of the jobs and 82.5 % of the tasks at 76.5 % accuracy."""
    cells = {f"at {times(r)}": found.cell(BEST, r) for r in found.every}
    for load in found.plan.loads:
        name = f"without a failure at load {load:g}"
        cells[name] = Cell(STAYS, -1.0, 0.0, load, "loads")
    cells |= {_wide_name(*case): found.wide(BEST, *case) for case in _wide_cases(found)}
    cells |= {WITH_LOG: found.logged(BEST)} if found.runs.has(found.logged(BEST)) else {}
    rates = {name: found.runs.mean(cell, measure).mean for name, cell in cells.items()}
    hit = [name for name, rate in rates.items() if abs(rate - AT_PAPER[measure]) <= CLOSE]
    said = {name: f"{name}: {share(rate)}" for name, rate in rates.items()}
    kept = [said[name] for name in said if name in hit or "tasks of" not in name]
    return Finding("; ".join(said.values()), near([], hit), "; ".join(kept))


def _wide_cases(found: Found) -> list[tuple[float, float, float]]:
    """Return rate, width and load of the cases of tasks of other widths."""
    return [
        (rate, width, load)
        for width in WIDTHS
        for load in WIDE_LOADS
        for rate in (0.0, found.plan.rates[0])
        if found.runs.has(found.wide(BEST, rate, width, load))
    ]


def _wide_name(rate: float, width: float, load: float) -> str:
    failing = f"at {times(rate)}" if rate else "without a failure"
    return f"{failing}, tasks of {width:g} processors, load {load:g}"


WITH_LOG: Final = "on the real failures, with LANL's jobs"


def above_the_log(found: Found) -> Finding:
    """10.5 points above what the log has."""
    return twice(found, lambda base: _above_the_log(found, base))


def _above_the_log(found: Found, base: str) -> Finding:
    gains = {rate: found.gain(BEST, base, rate, JOBS) for rate in found.every}
    wide = {
        _wide_name(*case): found.runs.gain(found.wide(BEST, *case), found.wide(base, *case), JOBS)
        for case in _wide_cases(found)
    }
    best, other = (found.logged(one) for one in (BEST, base))
    wide |= {WITH_LOG: found.runs.gain(best, other, JOBS)} if found.runs.has(best) else {}
    return Finding(
        f"points of jobs: {'; '.join(filter(None, (_told(gains), _told(wide))))}",
        near(_large(gains, GAIN), _large(wide, GAIN)),
        "; ".join((_told(_ends(found, gains)), *_told(wide).split("; ")[-3:])),
    )


def _large(gains: Mapping[Key, Mean], size: float) -> list[Key]:
    """Return where gains are of the paper's size."""
    return [key for key, gain in gains.items() if gain.low >= size * THIRD]


def lead_over_random(found: Found) -> Finding:
    """At 60 % accuracy 21.3 points above random, in tasks."""
    return twice(found, lambda base: lead(found, base, OVER[RANDOM]))


def lead(found: Found, other: str, size: float = OVER[FIRST]) -> Finding:
    """At 60 % accuracy 12.2 points above first-fit, in tasks."""
    gains, work = (
        {rate: found.gain(BEST, other, rate, measure, GOOD) for rate in found.every}
        for measure in (TASKS, WORK)
    )
    low, load = found.plan.rates[0], WIDE_LOADS[0]
    wide = {}
    for width in WIDTHS:
        best, base = (found.wide(one, low, width, load, GOOD) for one in (BEST, other))
        wide[_wide_name(low, width, load)] = found.runs.gain(best, base, TASKS)
    in_work = "in work " + ", ".join(f"{times(r)} {gained(g)}" for r, g in work.items())
    others = _large(wide, size)
    if large := _large(work, size):
        others.append(f"in work, at {listed(large)}")
    words = "; ".join((_told(gains), _told(wide), in_work))
    high = found.ends[1]
    brief = f"{_told(_ends(found, gains))}; in work {times(high)} {gained(work[high])}"
    return Finding(f"points: {words}", near(_large(gains, size), others), brief)


def unreliable(found: Found) -> Finding:
    """More use of unreliable nodes."""
    return twice(found, lambda base: _unreliable(found, base))


def _unreliable(found: Found, other: str) -> Finding:
    words, more, less = [], [], []
    for rate in found.every:
        base = found.runs.mean(found.cell(other, rate), "quarter").mean
        best, first = (found.gain(one, other, rate, "quarter") for one in (BEST, FIRST))
        words.append(
            f"{times(rate)}: {share(base)} there, best-fit {gained(best)}, first-fit "
            f"{gained(first)}"
        )
        more += [rate] if best.above else []
        less += [rate] if best.below else []
    return Finding(
        "share of the completed work done on the quarter of the nodes with most failures, points: "
        + "; ".join(words),
        found.where(more, less, found.every),
        "; ".join(words[found.every.index(rate)] for rate in found.ends),
    )


# The network -------------------------------------------------------------------------------------


def network_accuracy(found: Found) -> Finding:
    """How right the paper's predictor is about the real failures."""
    assert found.foretold is not None
    right = found.foretold.accuracy
    return Finding(
        "forecasts of whole gaps; with gap g and forecast f, mean of 1 - abs(f - g) / g: "
        f"{share(right.plain)}; each at least 0: {share(right.floored)}; of forecasts that come "
        f"early: {share(right.early)}; "
        f"mean of min / max: {share(right.ratio)}; later than the failure {share(right.late)}; "
        f"failures without a forecast {share(right.unforeseen)}",
        HOLDS if max(right.plain, right.floored, right.ratio) >= PAPER - 0.05 else FAILS,
    )


def network_gain(found: Found) -> Finding:
    """What its predictions give on the real failures."""
    assert found.foretold is not None
    told = twice(found, lambda base: _network_gain(found, base))
    early, failures = found.foretold.early, found.foretold.failures
    asked = f"queried once a gap, it predicts {early} of {failures} failures early; points "
    return Finding(asked + told.measured, told.verdict, asked + told.brief)


def _network_gain(found: Found, other: str) -> Finding:
    words, good = [], []
    for measure in MEASURES:
        for strategy in AWARE:
            cell = Cell(strategy, failures=REAL, predictor=NETWORK, study="network")
            base = cell.at(strategy=other)
            if other == STAYS:
                base = Cell(STAYS, failures=REAL)
            gain = found.runs.gain(cell, base, measure)
            words.append(f"{strategy}, {WORDS[measure]} {gained(gain)}")
            good += [gain.above] if strategy == BEST else []
    mine = "; ".join(one for one in words if one.startswith(BEST))
    return Finding("; ".join(words), HOLDS if all(good) else FAILS, mine)
