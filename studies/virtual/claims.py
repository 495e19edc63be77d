"""The paper's claims beside what was measured: each is a test that can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final

from studies.kit.claims import Claim
from studies.kit.means import Mean, mean_of
from studies.kit.text import share
from studies.virtual.cells import JOBS, TASKS, WORDS, WORK, Cell
from studies.virtual.found import (
    FAILS,
    HOLDS,
    Found,
    aware,
    gained,
    listed,
    near,
    points,
    times,
)
from studies.virtual.reasons import WHY
from studies.virtual.study import (
    AWARE,
    BEST,
    FIRST,
    NETWORK,
    PAPER,
    RANDOM,
    REAL,
    WIDE_LOADS,
    WIDTHS,
)

CellOf = Callable[[str, float, float], Cell]

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
NEGLIGIBLE: Final = 0.001
THIRD: Final = 2 / 3
"""A gain counts as of the paper's size from so much of it on, by the low end of its interval."""


def evaluate(found: Found) -> tuple[Claim, ...]:
    """Return all claims in the order of the paper."""
    return (
        once(found),
        cheap(found),
        *order(found),
        sensitive(found),
        bad_predictions(found),
        rising(found),
        *levels(found),
        above_the_log(found),
        *leads(found),
        unreliable(found),
        *network(found),
    )


# Section 3: failures and migrations --------------------------------------------------------------


def once(found: Found) -> Claim:
    """At most one failure in the life of a task."""
    words, good = [], []
    for rate in (found.rates[0], found.rates[-1]):
        rows = found.runs.rows(Cell(RANDOM, rate=rate, study="checkpoints"))
        hit = [int(rows[name].sum()) for name in ("tasks_hit", "jobs_hit")]
        twice = [int(rows[f"{name}_hit_twice"].sum()) for name in ("tasks", "jobs")]
        again = [two / max(one, 1) for one, two in zip(hit, twice, strict=True)]
        words.append(
            f"{times(rate)}: {share(again[0])} of {hit[0]:,} tasks hit were hit again, "
            f"{share(again[1])} of {hit[1]:,} jobs"
        )
        good += [rate] if again[0] <= FEW else []
    return Claim(
        "once",
        f"a task meets at most one failure in its life ({share(TWICE[0])} of the tasks hit met a "
        f"second one, {share(TWICE[1])} of the jobs)",
        "; ".join(words),
        HOLDS if len(good) == 2 else near(good),
        section="3",
        why=WHY["once"],
    )


def cheap(found: Found) -> Claim:
    """A migration's 12 s do not matter."""
    paper = aware(BEST, found.rates[-1])
    words, most = [], 0.0
    for cost in (0, 600):
        other = paper.at(study="migration cost", cost=cost)
        for measure in (JOBS, TASKS, WORK):
            gain = found.runs.gain(other, paper, measure)
            words.append(f"{WORDS[measure]} {gained(gain)}")
            most = max(most, abs(gain.low), abs(gain.high)) if cost == 0 else most
        words[-3] = f"{cost} s: {words[-3]}"
    moved = found.runs.mean(paper, "migrations").mean
    return Claim(
        "cheap",
        "the overhead of a migration (12 s) is negligible",
        f"best-fit at {times(paper.rate)}, {moved:,.0f} migrations; instead of 12 s "
        + ", ".join(words),
        HOLDS if most < NEGLIGIBLE else FAILS,
        section="3",
        why=WHY["cheap"],
    )


# Section 5.2: which strategy ---------------------------------------------------------------------


def order(found: Found) -> Iterator[Claim]:
    """Best-fit above first-fit above random once the error is below 40 %."""
    for one, two in ((BEST, FIRST), (FIRST, RANDOM), (BEST, RANDOM)):
        for measure in (JOBS, TASKS, WORK):
            yield _above(found, one, two, measure)


def _above(found: Found, one: str, two: str, measure: str) -> Claim:
    words, ahead, behind = [], [], []
    for rate in found.every:
        gains = [found.gain(one, two, rate, measure, a) for a in found.played(rate, GOOD)]
        words.append(f"{times(rate)}: {gained(found.gain(one, two, rate, measure))}")
        ahead += [rate] if all(gain.above for gain in gains) else []
        behind += [rate] if all(gain.below for gain in gains) else []
    section = {JOBS: "5.2, Figure 1", TASKS: "5.2, Figure 2", WORK: "abstract, 5.2"}[measure]
    what = f"more {WORDS[measure]}" if measure != WORK else "more of the work"
    return Claim(
        f"{one} over {two}, {WORDS[measure]}",
        f"{one} completes {what} than {two} once the error is below 40 %",
        f"points at {share(PAPER)}: " + "; ".join(words),
        found.where(ahead, behind, found.every),
        section=section,
        why=WHY[f"{one} over {two}"] if measure == JOBS else "",
    )


def sensitive(found: Found) -> Claim:
    """Best-fit depends most on the accuracy of predictions."""
    early, late = (
        _sensitive(found, found.cell, found.rates),
        _sensitive(found, found.late, found.late_rates),
    )
    return Claim(
        "sensitive",
        "best-fit is the most sensitive to the accuracy of predictions",
        f"rise in tasks from accuracy 0 to 1, points: {early[0]}; with predictions that may come "
        f"late: {late[0]}",
        _early_or_late(found, early[1], late[1]),
        section="5.2",
        why=WHY["sensitive"],
    )


def _sensitive(found: Found, cell: CellOf, rates: tuple[float, ...]) -> tuple[str, list[float]]:
    words, ahead = [], []
    for rate in rates:
        rises = {one: _rise(found, cell, one, rate) for one in AWARE}
        more = mean_of([rise - rises[FIRST][seed] for seed, rise in rises[BEST].items()])
        best, first = (mean_of(list(rises[one].values())).mean for one in (BEST, FIRST))
        words.append(
            f"{times(rate)} best-fit {points(best)}, first-fit {points(first)}, difference "
            f"{gained(more)}"
        )
        ahead += [rate] if more.above else []
    return "; ".join(words), ahead


def _rise(found: Found, cell: CellOf, strategy: str, rate: float) -> dict[int, float]:
    """Return by how much tasks rise from the least accuracy to the highest, by seed."""
    low, high = min(found.accuracies), max(found.accuracies)
    above, below = (found.runs.values(cell(strategy, rate, a), TASKS) for a in (high, low))
    return {seed: above[seed] - below[seed] for seed in above}


def _early_or_late(found: Found, early: list[float], late: list[float]) -> str:
    if len(early) == len(found.rates):
        return HOLDS
    others = [f"at {listed(late)} with predictions that may come late"] if late else []
    return near(early, others)


def bad_predictions(found: Found) -> Claim:
    """Best-fit does not do well with bad predictions."""
    words, worse = [], []
    for cell, rates in ((found.cell, found.rates), (found.late, found.late_rates)):
        parts, below = [], []
        for rate in rates:
            bad = cell(BEST, rate, min(found.accuracies))
            gains = [found.runs.gain(bad, cell(RANDOM, rate, 0.0), m) for m in (JOBS, TASKS)]
            parts.append(f"{times(rate)} {', '.join(gained(gain) for gain in gains)}")
            below += [rate] if all(gain.below for gain in gains) else []
        words.append("; ".join(parts))
        worse.append(below)
    return Claim(
        "bad predictions",
        "best-fit does not perform well with bad predictions",
        f"points of jobs and of tasks above random at accuracy 0: {words[0]}; with predictions "
        f"that may come late: {words[1]}",
        _early_or_late(found, worse[0], worse[1]),
        section="5.2",
        why=WHY["bad predictions"],
    )


def rising(found: Found) -> Claim:
    """Completion rates rise with accuracy."""
    words, good = [], []
    for rate in found.rates:
        steps = list(pairwise(found.played(rate)))
        gains = [_step(found, one, rate, low, high) for one in AWARE for low, high in steps]
        up, down = sum(gain.above for gain in gains), sum(gain.below for gain in gains)
        words.append(f"{times(rate)}: {up} of {len(gains)} rise, {down} fall")
        good += [rate] if up > 0 and down == 0 else []
    return Claim(
        "rising",
        "completion rates rise with the accuracy of predictions",
        "steps in tasks by more than chance, best-fit and first-fit: " + "; ".join(words),
        HOLDS if len(good) == len(found.rates) else near(good),
        section="5.2, Figures 1 and 2",
        why=WHY["rising"],
    )


def _step(found: Found, one: str, rate: float, low: float, high: float) -> Mean:
    return found.runs.gain(found.cell(one, rate, high), found.cell(one, rate, low), TASKS)


# The levels --------------------------------------------------------------------------------------


def levels(found: Found) -> Iterator[Claim]:
    """80.2 % of the jobs and 82.5 % of the tasks at 76.5 % accuracy."""
    for measure, target in AT_PAPER.items():
        cells = [(f"at {times(r)}", found.cell(BEST, r)) for r in found.every]
        cells += [
            (f"without a failure at load {load:g}", Cell(RANDOM, -1.0, 0.0, load, "loads"))
            for load in found.loads
        ]
        cells += [
            (_wide_name(rate, width, load), found.wide(BEST, rate, width, load))
            for rate, width, load in _wide_cases(found)
        ]
        rates = {name: found.runs.mean(cell, measure).mean for name, cell in cells}
        hit = [name for name, level in rates.items() if abs(level - target) <= CLOSE]
        yield Claim(
            f"level, {WORDS[measure]}",
            f"best-fit completes {share(target)} of the {WORDS[measure]} at {share(PAPER)} "
            "accuracy",
            "; ".join(f"{name}: {share(level)}" for name, level in rates.items()),
            near([], hit),
            section="5.2",
            why=WHY["level"] if measure == JOBS else "",
        )


def _wide_cases(found: Found) -> list[tuple[float, float, float]]:
    """Return rate, width and load of the cases of tasks of other widths."""
    return [
        (rate, width, load)
        for width in WIDTHS
        for load in WIDE_LOADS
        for rate in (0.0, found.rates[0])
        if found.runs.has(found.wide(BEST, rate, width, load))
    ]


def _wide_name(rate: float, width: float, load: float) -> str:
    failing = f"at {times(rate)}" if rate else "without a failure"
    return f"{failing}, tasks of {width:g} processors, load {load:g}"


def above_the_log(found: Found) -> Claim:
    """10.5 points above what the log has."""
    gains = {rate: found.gain(BEST, RANDOM, rate, JOBS) for rate in found.every}
    wide = {
        _wide_name(*case): found.runs.gain(found.wide(BEST, *case), found.wide(RANDOM, *case), JOBS)
        for case in _wide_cases(found)
    }
    words = [f"{times(rate)}: {gained(gain)}" for rate, gain in gains.items()]
    words += [f"{name}: {gained(gain)}" for name, gain in wide.items()]
    return Claim(
        "above the log",
        f"best-fit completes {points(GAIN, 1)} points more of the jobs than the log has "
        f"({share(LOG)})",
        "points above random-select, which goes without predictions as the cluster did: "
        + "; ".join(words),
        near(
            [rate for rate, gain in gains.items() if gain.low >= GAIN * THIRD],
            [name for name, gain in wide.items() if gain.low >= GAIN * THIRD],
        ),
        section="abstract, 5.2",
        why=WHY["above the log"],
    )


def leads(found: Found) -> Iterator[Claim]:
    """At 60 % accuracy 21.3 points above random and 12.2 above first-fit, in tasks."""
    for other, target in OVER.items():
        gains = {rate: found.gain(BEST, other, rate, TASKS, GOOD) for rate in found.every}
        work = {rate: found.gain(BEST, other, rate, WORK, GOOD) for rate in found.every}
        low, load = found.rates[0], WIDE_LOADS[0]
        wide = {
            _wide_name(low, width, load): found.runs.gain(
                found.wide(BEST, low, width, load, GOOD),
                found.wide(other, low, width, load, GOOD),
                TASKS,
            )
            for width in WIDTHS
        }
        words = [f"{times(rate)}: {gained(gain)}" for rate, gain in gains.items()]
        words += [f"{name}: {gained(gain)}" for name, gain in wide.items()]
        words += ["in work " + ", ".join(f"{times(r)} {gained(g)}" for r, g in work.items())]
        large = [rate for rate, gain in work.items() if gain.low >= target * THIRD]
        others = [name for name, gain in wide.items() if gain.low >= target * THIRD]
        others += [f"in work, at {listed(large)}"] if large else []
        yield Claim(
            f"lead over {other}",
            f"at 60 % accuracy best-fit completes {points(target, 1)} points more of the tasks "
            f"than {other}",
            "points: " + "; ".join(words),
            near([rate for rate, gain in gains.items() if gain.low >= target * THIRD], others),
            section="5.2",
            why=WHY[f"lead over {other}"],
        )


def unreliable(found: Found) -> Claim:
    """More use of unreliable nodes."""
    words, more, less = [], [], []
    for rate in found.every:
        base = found.runs.mean(found.cell(RANDOM, rate), "quarter").mean
        best, first = (found.gain(one, RANDOM, rate, "quarter") for one in (BEST, FIRST))
        words.append(
            f"{times(rate)}: {share(base)} under random, best-fit {gained(best)}, first-fit "
            f"{gained(first)}"
        )
        more += [rate] if best.above else []
        less += [rate] if best.below else []
    return Claim(
        "unreliable nodes",
        "best-fit uses relatively unreliable nodes more",
        "share of the completed work done on the quarter of the nodes with most failures, points: "
        + "; ".join(words),
        found.where(more, less, found.every),
        section="abstract",
        why=WHY["unreliable nodes"],
    )


# The network -------------------------------------------------------------------------------------


def network(found: Found) -> Iterator[Claim]:
    """What the paper's predictor gives on the real failures."""
    if found.foretold is None:
        return
    right = found.foretold.accuracy
    yield Claim(
        "network, accuracy",
        "an order-8 neural network predicts the year with 76.5 % accuracy, 3.7 % false negatives",
        f"with gap g and forecast f, mean of 1 - abs(f - g) / g: {share(right.plain)}; each at "
        f"least 0: {share(right.floored)}; of forecasts that come early: {share(right.early)}; "
        f"mean of min / max: {share(right.ratio)}; later than the failure {share(right.late)}; "
        f"failures without a forecast {share(right.unforeseen)}",
        HOLDS if max(right.plain, right.floored, right.ratio) >= PAPER - 0.05 else FAILS,
        section="5.2",
        why=WHY["network, accuracy"],
    )
    words, good = [], []
    base = Cell(RANDOM, failures=REAL)
    for measure in (JOBS, TASKS, WORK):
        for strategy in AWARE:
            said = base.at(strategy=strategy, predictor=NETWORK, study="network")
            made = base.at(strategy=strategy, accuracy=PAPER)
            gains = [found.runs.gain(cell, base, measure) for cell in (said, made)]
            words.append(
                f"{strategy}, {WORDS[measure]} {gained(gains[0])}, synthetic {gained(gains[1])}"
            )
            good += [gains[0].above] if strategy == BEST else []
    yield Claim(
        "network, gain",
        "with the network's predictions best-fit completes more than the cluster did",
        f"points above random on the real failures, beside synthetic predictions of {share(PAPER)}"
        ": " + "; ".join(words),
        HOLDS if all(good) else FAILS,
        section="5.2",
        why=WHY["network, gain"],
    )
