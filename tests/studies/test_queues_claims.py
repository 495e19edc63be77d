"""Every claim of the study of queues can hold, can fail, and says where nothing can test it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import pytest

from studies.kit.claims import CONFIRMED, FOLLOWS, UNTESTED
from studies.queues import claims, paper, played, tables
from studies.queues.claims import HALF, LAWS, Values
from studies.queues.values import Value
from studies.queues.years import (
    ABOVE,
    EACH,
    EXPONENTIAL,
    FEWER,
    HIGH,
    OF_FAILING,
    P_VALUE,
    PLACE,
    RATE,
    SEVERAL,
)  # fmt: skip

Key = tuple[str, str]
Changes = Mapping[Key, float | None]
"""Other figures, and None for those that are not there."""
ONE, SPARES = "Table 1", "Section 7 played"
PAIR = "two neighbors at once"
BY_YEAR: dict[str, tuple[float, ...]] = {
    "failures": (2000, 1600, 750, 720, 700, 600, 400, 100),
    RATE: (110, 90, 42, 40, 39, 34, 25, 20),
    OF_FAILING: (110, 90, 42, 40, 39, 34, 36, 40),
    "shape": (0.60, 0.62, 0.65, 0.70, 0.75, 0.60, 0.65, 0.66),
    HIGH: (0.65, 0.67, 0.70, 0.75, 0.80, 0.65, 0.70, 0.80),
    "scale": (80, 185, 416, 494, 514, 542, 478, 332),
    PLACE: (1,) * 8,
    ABOVE: (0,) * 8,
    P_VALUE: (0.5,) * 8,
    EXPONENTIAL: (90,) * 8,
}


def made() -> Values:
    """Return made-up figures of years and played jobs, and the formulas' own as if the paper had
    printed them: every claim holds."""
    return Values(_made())


@cache
def _made() -> Values:
    found = Values()
    for what, numbers in BY_YEAR.items():
        for k, number in enumerate(numbers, 1):
            found[ONE, f"Year {k}: {what}"] = Value(what, None, number)
    for what, number in ((SEVERAL, 40), (FEWER, 40), (EACH, 12)):
        found[ONE, what] = Value(what, None, number)
    for table in (
        tables.components_table(), tables.queues_table(), tables.runtimes_table(),
        tables.lanl_queues_table(), tables.mixed_table(), tables.interval_table(),
        tables.spares_table(),
    ):  # fmt: skip
        for one in table.values:
            printed = None if one.paper is None else one.ours
            found[table.name, one.item] = replace(one, paper=printed, paper_way=None)
    for law in LAWS:
        for m, share in enumerate((20.0, 60.0, 90.0, 97.0, 99.5, 100.0)):
            for way in ("computed", "played"):
                item = f"{m} spares, 3 copies, {law}: {way}"
                found[SPARES, item] = Value(item, None, share)
        found[SPARES, f"5 spares, 1 copies, {law}: played"] = Value("", None, 20.0)
    found[SPARES, f"{tables.GONE}, 3 copies"] = Value("", None, 0)
    for pattern, copies, gone in (
        *((pattern, "3 copies", 0) for pattern in list(played.TOGETHER)[:3]),
        ("a node and both its neighbors", "3 copies", 200), ("two neighbors", "1 copy", 200),
    ):  # fmt: skip
        item = f"{pattern} at once, {copies}"
        found[SPARES, f"{item}: {tables.GONE}"] = Value(item, None, gone)
        found[SPARES, f"{item}: {tables.STRUCK}"] = Value(item, None, 400)
    return found


def changed(changes: Changes) -> Values:
    """Return those figures with changes."""
    found = made()
    for key, number in changes.items():
        if number is None:
            del found[key]
        else:
            found[key] = replace(found[key], ours=number)
    return found


def year(k: int, what: str) -> Key:
    return ONE, f"Year {k}: {what}"


def every(what: str, number: float | None) -> Changes:
    return {year(k, what): number for k in claims.YEARS}


def all_of(table: str, words: str, number: float) -> Changes:
    return {key: number for key in made() if key[0] == table and words in key[1]}


def unprinted(table: str, words: str) -> Values:
    """Return the figures as if the paper printed none of these."""
    found = made()
    for key, value in found.items():
        if key[0] == table and words in key[1]:
            found[key] = replace(value, paper=None)
    return found


def off(table: str, words: str) -> Changes:
    """Return every such figure far from the printed one."""
    return {key: value.ours + 9 for key, value in made().items()
            if key[0] == table and words in key[1]}  # fmt: skip


NO_FAILURES: Changes = {**every("failures", 0), **every(RATE, 0)}
ALL_MET: Changes = {**all_of(SPARES, "played", 100), **all_of(SPARES, "computed", 100)}
FALSE: dict[str, Changes] = {
    "weibull": every(ABOVE, 50),
    "closer": every(EXPONENTIAL, 2),
    "shapes": every(HIGH, 1.2),
    "range": {**every("shape", 0.9), year(2, "shape"): 0.3},
    "scales": {year(k, "scale"): number for k, number in enumerate(reversed(range(1, 9)), 1)}
    | {year(8, "scale"): 900},
    "years": {year(2, "failures"): 10, year(2, RATE): 1},
    "stable": {year(4, RATE): 90, year(8, RATE): 99},
    "falls": {(ONE, FEWER): 21},
    "regular": {year(7, "shape"): 0.5, year(8, OF_FAILING): 1},
    "node": off("Table 2", "as in the text"),
    "both-laws": all_of("Table 3", "h): Weibull", 0.01),
    "mixed": {("Section 4.4", HALF[1]): 40.0},
    "mixed-printed": {("Section 4.4", item): 40.0 for item in HALF},
    "cost": off("Section 4.4", tables.COST),
    "spent": {("Section 4.4", "job of 64 nodes, blade: cost of 95 % success"): 1.0},
    "table-3-weibull": off("Table 3", "h): Weibull"),
    "table-3-exponential": off("Table 3", "h): exponential"),
    "moved": {("Table 3", "388 interactive nodes moved: Weibull"): 90.0},
    "averaged": {("Section 5.2", f"all jobs, {tables.AVERAGED}"): 99.0},
    "runtimes": off("Section 5.2", "exp of the mean ln"),
    "lanl": off("Table 4", "h): Weibull"),
    "smaller": {**off("Table 4", "then jobs that succeed: Weibull"),
                ("Table 4", "then jobs that succeed: exponential"): 1.0},
    "interval": off("Section 6", "nodes"),
    "interval-mttf": {("Section 6", f"{tables.OVER_MTTF} 100,000 h"): 1.0},
    "interval-shape": {("Section 6", f"{tables.OVER_SHAPE} 1.0"): 1.0},
    "table-5-exponential": off("Table 5", ": exponential"),
    "table-5-weibull": off("Table 5", "shape 0.75"),
    "spares": {(SPARES, f"2 spares, 3 copies, {LAWS[1]}: {way}"): 25.0
               for way in ("computed", "played")},
    "agree": {(SPARES, f"1 spares, 3 copies, {LAWS[0]}: played"): 57.0},
    "ring": {(SPARES, f"{tables.GONE}, 3 copies"): 3,
             (SPARES, f"5 spares, 3 copies, {LAWS[1]}: played"): 19.0},
    "neighbors": {(SPARES, f"{PAIR}, 3 copies: {tables.GONE}"): 1},
    "both-lost": {(SPARES, f"a node and both its neighbors at once, 3 copies: {tables.GONE}"): 0},
}  # fmt: skip
EMPTY: dict[str, Values] = {
    **{name: changed(every(what, None)) for name, what in (
        ("weibull", PLACE), ("closer", EXPONENTIAL), ("shapes", HIGH), ("range", "shape"),
        ("scales", "scale"),
    )},
    "years": changed(NO_FAILURES),
    "stable": changed(NO_FAILURES),
    "falls": changed({(ONE, what): 0 for what in (SEVERAL, FEWER, EACH)}),
    "regular": changed(NO_FAILURES),
    "both-laws": changed(all_of("Table 3", "h): ", 0.0)),
    "mixed": changed({("Section 4.4", item): 100.0 for item in HALF}),
    "spent": changed({("Section 4.4", "job of 64 nodes, blade: cost of 95 % success"): None}),
    "moved": changed(all_of("Table 3", ": Weibull", 0.0)),
    "averaged": changed(all_of("Section 5.2", "all jobs", 0.0)),
    "smaller": changed(all_of("Table 4", "jobs that succeed", 100.0)),
    "interval-mttf": changed({("Section 6", f"{tables.OVER_MTTF} 100,000 h"): None}),
    "interval-shape": changed({("Section 6", f"{tables.OVER_SHAPE} 1.0"): None}),
    "spares": changed(ALL_MET),
    "agree": changed(ALL_MET),
    "ring": changed(ALL_MET),
    "neighbors": changed({(SPARES, f"{PAIR}, 3 copies: {tables.STRUCK}"): 0}),
    "both-lost": changed(
        {(SPARES, f"a node and both its neighbors at once, 3 copies: {tables.STRUCK}"): 0}
    ),
    **{name: unprinted(table, words) for name, table, words in (
        ("node", "Table 2", "as in the text"), ("mixed-printed", "Section 4.4", "100 h"),
        ("cost", "Section 4.4", tables.COST), ("table-3-weibull", "Table 3", "Weibull"),
        ("table-3-exponential", "Table 3", "exponential"),
        ("runtimes", "Section 5.2", "exp of the mean ln"), ("lanl", "Table 4", "Weibull"),
        ("interval", "Section 6", "nodes"), ("table-5-exponential", "Table 5", "exponential"),
        ("table-5-weibull", "Table 5", "Weibull"),
    )},
}  # fmt: skip
ASKED = {one.name: one for one in claims.ASKED}


def test_every_claim_has_its_counterexample_and_its_empty_data() -> None:
    assert set(FALSE) == set(EMPTY) == set(ASKED)


@pytest.mark.parametrize("name", ASKED)
def test_a_claim_holds_fails_and_cannot_be_tested(name: str) -> None:
    one = ASKED[name]
    holds = FOLLOWS if one.follows else CONFIRMED.holds
    assert one.of(made()).verdict == holds, one.of(made()).measured
    found = one.of(changed(FALSE[name]))
    assert found.verdict == CONFIRMED.fails, found.measured
    found = one.of(EMPTY[name])
    assert found.verdict == UNTESTED, found.measured
    assert found.measured


def test_claims_of_several_parts_can_hold_in_part() -> None:
    part: dict[str, Changes] = {
        "weibull": {year(1, P_VALUE): 0.01},
        "shapes": {year(8, HIGH): 1.01},
        "closer": {year(7, EXPONENTIAL): 3},
        "falls": {(ONE, FEWER): 35},
        "lanl": {("Table 4", "Smallq (14 nodes, 24 h): Weibull"): 9.0},
        "table-5-weibull": {("Table 5", "5 spares: Weibull, shape 0.75"): 9.0},
    }
    for claim, changes in part.items():
        assert ASKED[claim].of(changed(changes)).verdict == CONFIRMED.partly, claim


def test_chance_and_the_trivial_rivals_decide() -> None:
    rows = {(SPARES, f"{m} spares, 3 copies, {LAWS[0]}: played"): share
            for m, share in ((0, 21.0), (1, 59.0))}  # fmt: skip
    assert ASKED["agree"].of(changed(rows)).verdict == CONFIRMED.holds  # 1 point is chance
    smaller = {("Table 5", f"{tables.SMALLER_JOB}, {LAWS[1]}"): 95.0}
    assert ASKED["spares"].of(changed(smaller)).verdict == CONFIRMED.fails
    alone = {(SPARES, f"{PAIR}, 1 copy: {tables.GONE}"): 0}
    assert ASKED["neighbors"].of(changed(alone)).verdict == CONFIRMED.fails
    by_chance = {(ONE, FEWER): 24}
    assert ASKED["falls"].of(changed(by_chance)).verdict == CONFIRMED.fails


def test_without_any_figure_nothing_is_confirmed() -> None:
    assert {one.verdict for one in claims.every_claim(())} == {UNTESTED}


def test_the_figures_of_the_formulas() -> None:
    by_shape = [v.ours for v in tables.interval_values() if tables.OVER_SHAPE in v.item]
    m = (paper.INTERVAL + paper.COST) ** 2 / (2 * paper.COST)
    assert by_shape == pytest.approx([(paper.INTERVAL_MTTF / m) ** s for s in tables.SHAPES])
