"""The paper's claims, each tested on the tables redone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from scipy.stats import binomtest

from studies.kit.claims import CONFIRMED, Asked, Claim, Finding, UntestableError
from studies.queues import paper, played
from studies.queues.tables import (
    AVERAGED,
    COST,
    GONE,
    LIMIT,
    MTTFS,
    OVER_MTTF,
    OVER_SHAPE,
    SHAPES,
    SMALLER_JOB,
    STRUCK,
    SWITCHED_OFF,
    TRUNCATED,
)
from studies.queues.values import Table, Value
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
)

YEARS: Final = range(1, len(paper.COUNTS) + 1)
PLOTTED: Final = (1, 5, 7)
"""Years whose P-P plots the paper shows."""
PEAK, LAST_RISE = 5, 6
"""Years in which the paper's shape is highest, and until which its scale rises."""
REJECTED: Final = 0.05
NEAR: Final = 0.05
"""How far a figure may be from the printed one in the last digit printed, in per cent points."""
ACCEPTABLE: Final = 10.0
"""AIC above the best from which a law has essentially no support; Burnham and Anderson, 2002."""
STABLE: Final = 0.1
"""A rate that changes by no more than this share from one year to the next is stable."""
LITTLE: Final = 10.0
"""Points of reliability that count as little."""
LOG: Final = "LANL's public log, system 2, 7,104 records"
FORMULA: Final = "the paper's formula, computed consistently"


class Values(dict[tuple[str, str], Value]):
    """Every number by its table and item; UntestableError where one is not there."""

    def __missing__(self, key: tuple[str, str]) -> Value:
        raise UntestableError(f"{key[0]} has no figure for: {key[1]}")


def values_of(tables: Sequence[Table]) -> Values:
    """Return the numbers of all tables."""
    return Values({(one.name, value.item): value for one in tables for value in one.values})


def every_claim(tables: Sequence[Table]) -> tuple[Claim, ...]:
    """Return the claims with what the tables say of them."""
    values = values_of(tables)
    return tuple(asked.of(values) for asked in ASKED)


def _whether(good: Sequence[bool], measured: str) -> Finding:
    return Finding(measured, CONFIRMED.of(good))


def _of_years(values: Values, what: str, years: Iterable[int] = YEARS) -> list[float]:
    return [values["Table 1", f"Year {k}: {what}"].ours for k in years]


def _listed(numbers: Sequence[float], digits: int) -> str:
    return " ".join(f"{one:,.{digits}f}" for one in numbers)


def _law(values: Values) -> Finding:
    place, above, p = (_of_years(values, what) for what in (PLACE, ABOVE, P_VALUE))
    good = [a <= ACCEPTABLE and c >= REJECTED for a, c in zip(above, p, strict=True)]
    return _whether(
        good, f"place by AIC {_listed(place, 0)}; AIC above the best {_listed(above, 0)}; p of the "
        f"fit {_listed(p, 3)}, year by year",
    )  # fmt: skip


def _closer(values: Values) -> Finding:
    above = _of_years(values, EXPONENTIAL)
    return _whether(
        [above[k - 1] > ACCEPTABLE for k in PLOTTED],
        f"AIC of the exponential law above the Weibull law's {_listed(above, 0)}, year by year",
    )


def _shapes(values: Values) -> Finding:
    shapes, ends = (_of_years(values, what) for what in ("shape", HIGH))
    return _whether(
        [end < 1 for end in ends],
        f"shapes {_listed(shapes, 2)}; upper ends of their 95 % intervals {_listed(ends, 2)}",
    )


def _range(values: Values) -> Finding:
    shapes = _of_years(values, "shape")
    low, high = min(paper.SHAPES), max(paper.SHAPES)
    peak = 1 + shapes.index(max(shapes))
    return _whether(
        [low <= round(min(shapes), 2), round(max(shapes), 2) <= high, peak == PEAK],
        f"from {min(shapes):.2f} to {max(shapes):.2f}, highest in year {peak}",
    )


def _scales(values: Values) -> Finding:
    scales = _of_years(values, "scale")
    steps = [later > earlier for earlier, later in pairwise(scales)]
    return _whether(
        [all(steps[: LAST_RISE - 1]), not any(steps[LAST_RISE - 1 :])],
        f"scales {_listed(scales, 0)} h",
    )


def _rates(values: Values) -> tuple[list[float], list[float]]:
    """Return failures and rates of all years; UntestableError where nothing failed."""
    counts = _of_years(values, "failures")
    if sum(counts) == 0:
        raise UntestableError("no node failed")
    return counts, _of_years(values, RATE)


def _years(values: Values) -> Finding:
    counts, rates = _rates(values)
    return _whether(
        [min(one[:2]) > max(one[2:]) for one in (counts, rates)],
        f"failures {_listed(counts, 0)}; per 1,000 node-days {_listed(rates, 1)}",
    )


def _stable(values: Values) -> Finding:
    _, rates = _rates(values)
    steps = [later / earlier - 1 if earlier else 0.0 for earlier, later in pairwise(rates)]
    told = " ".join(f"{100 * step:+.1f}" for step in steps)
    return _whether(
        [max(map(abs, steps[2:4])) <= STABLE, max(steps[4:]) < 0],
        f"change of the rate from each year to the next {told} %",
    )


def _falls(values: Values) -> Finding:
    nodes, fewer, each = (round(values["Table 1", what].ours) for what in (SEVERAL, FEWER, EACH))
    if nodes == 0:
        raise UntestableError("no node that failed was in service for more than two years")
    chance = float(binomtest(fewer, nodes, 0.5, alternative="greater").pvalue)
    told = f"{fewer} of {nodes} nodes fail less often after their second year (half would by "
    told += f"chance), {each} in each year less often than in the one before"
    return _whether([fewer == nodes, chance < REJECTED], told)


def _regular(values: Values) -> Finding:
    last = range(LAST_RISE, len(paper.COUNTS) + 1)
    if not any(_of_years(values, "failures", last)):
        raise UntestableError("no node failed in the last years")
    shapes, rates = (_of_years(values, what, last) for what in ("shape", OF_FAILING))
    return _whether(
        [min(one[1:]) > one[0] for one in (shapes, rates)],
        f"years {LAST_RISE} to {len(paper.COUNTS)}: shapes {_listed(shapes, 2)}; failures per "
        f"1,000 node-days of nodes that fail {_listed(rates, 1)}",
    )


def _printed(rows: Iterable[Value]) -> list[Value]:
    """Return the figures that the paper prints; UntestableError where it prints none of them."""
    printed = [row for row in rows if row.paper is not None]
    if not printed:
        raise UntestableError("the paper prints no such figure")
    return printed


def _same(values: Values, table: str, items: Sequence[str], near: float) -> Finding:
    rows = _printed(values[table, item] for item in items)
    told = "; ".join(
        f"{row.item} {row.ours:,.{row.digits}f} (printed {row.paper:,.{row.digits}f})"
        for row in rows
    )
    return _whether([row.paper is not None and abs(row.ours - row.paper) <= near for row in rows],
                    told)  # fmt: skip


def _named(values: Values, table: str, words: str) -> list[str]:
    return [item for name, item in values if name == table and words in item]


def _lanl_weibull(values: Values) -> Finding:
    rows = _printed(values["Table 4", item] for item in _named(values, "Table 4", "h): Weibull"))
    theirs = [row.ours if row.paper_way is None else row.paper_way for row in rows]
    told = "; ".join(
        f"{row.item} {one:.1f} % by the law of the first (printed {row.paper:.1f})"
        for row, one in zip(rows, theirs, strict=True)
    )
    good = [row.paper is not None and abs(one - row.paper) <= NEAR
            for row, one in zip(rows, theirs, strict=True)]  # fmt: skip
    return _whether(good, told)


def _moved(values: Values) -> Finding:
    before, after, nothing = (
        values["Table 3", f"{name}: Weibull"].ours
        for name in ("all jobs", "388 interactive nodes moved", SWITCHED_OFF)
    )
    if before == 0:
        raise UntestableError("no job fails")
    told = f"F_job {before:.2f} % before, {after:.2f} % after; {nothing:.2f} % where no other "
    return _whether([after < before], f"{told}queue gets the nodes")


def _smaller(values: Values) -> Finding:
    rows = [
        values["Table 4", f"then jobs that succeed: {law}"] for law in ("Weibull", "exponential")
    ]
    before = values["Table 4", "jobs that succeed: exponential"].ours
    if before == 100:
        raise UntestableError("no job fails")
    told = f"jobs that succeed, exponential: {before:.1f} % before, {rows[1].ours:.1f} % after; "
    told += f"Weibull {rows[0].ours:.1f} % (printed {rows[0].paper:.1f})"
    return _whether([rows[1].ours > before, abs(rows[0].ours - (rows[0].paper or 0)) <= NEAR], told)


def _averaged(values: Values) -> Finding:
    ways = [values["Section 5.2", f"all jobs, {way}"].ours for way in (LIMIT, AVERAGED, TRUNCATED)]
    if ways[0] == 0:
        raise UntestableError("no job fails")
    told = f"F_job of Table 3 {ways[0]:.2f} % to the limit, {ways[1]:.2f} % averaged, "
    told += f"{ways[2]:.2f} % by the truncated law"
    return _whether([ways[1] < ways[0]], told)


HALF: Final = ("256 commodity nodes, 100 h", "128 of them blades, 100 h", "256 blades, 100 h")


def _half(values: Values) -> Finding:
    none, half, every = (values["Section 4.4", item].ours for item in HALF)
    if none == 100:
        raise UntestableError("no machine fails")
    told = f"{none:.2f} to {half:.2f} %, {half - none:.2f} points; with blades alone {every:.2f} %"
    return _whether([0 < half - none <= LITTLE], told)


def _cost(values: Values) -> Finding:
    return _same(values, "Section 4.4", [f"{COST}, more for half of blades"], NEAR)


def _spent(values: Values) -> Finding:
    cost = {
        name: values["Section 4.4", f"job of 64 nodes, {name}: cost of 95 % success"].ours
        for name in ("half of each", "commodity", "blade")
    }
    told = ", ".join(f"{name} {one:,.0f}" for name, one in cost.items())
    return _whether(
        [cost["commodity"] < min(cost["half of each"], cost["blade"])],
        f"cheapest way to 95 % success of a job on 64 nodes for 100 h, commodity node-h: {told}",
    )


LAWS: Final = ("exponential", "Weibull, shape 0.75")


def _played(values: Values, law: str) -> list[tuple[float, float]]:
    table = "Section 7 played"
    return [
        tuple(values[table, f"{m} spares, 3 copies, {law}: {way}"].ours  # type: ignore[misc]
              for way in ("computed", "played"))
        for m in range(len(paper.SPARES_WEIBULL))
    ]  # fmt: skip


def _spares(values: Values) -> Finding:
    none, _, two, *_ = _played(values, LAWS[1])
    smaller = values["Table 5", f"{SMALLER_JOB}, {LAWS[1]}"].ours
    if min(none) == 100:
        raise UntestableError("no job fails without spares")
    told = f"0 spares {none[0]:.2f} % computed, {none[1]:.2f} % played; 2 spares {two[0]:.2f} and "
    told += f"{two[1]:.2f} %; the same job without spares on as many nodes less {smaller:.2f} %"
    halved = [100 - b <= (100 - a) / 2 for a, b in zip(none, two, strict=True)]
    return _whether([all(halved) and min(two) > smaller], told)


def _agree(values: Values) -> Finding:
    rows = [row for law in LAWS for row in _played(values, law)]
    if all(came == 100 for _, came in rows):
        raise UntestableError("every played job met its deadline")
    n = played.TRIALS
    chances = [
        float(binomtest(round(came / 100 * n), n, min(computed / 100, 1.0)).pvalue)
        for computed, came in rows
    ]
    off = max(abs(a - b) for a, b in rows)
    told = f"largest difference of played and computed over {len(rows)} rows {off:.2f} points; "
    told += f"least p {min(chances):.2f}"
    return _whether([min(chances) >= REJECTED / len(rows)], told)


def _ring(values: Values) -> Finding:
    gone = values["Section 7 played", f"{GONE}, 3 copies"].ours
    rows = {c: values["Section 7 played", f"5 spares, {c} copies, {LAWS[1]}: played"].ours
            for c in (1, 3)}  # fmt: skip
    if rows[1] == 100:
        raise UntestableError("no job lost a node")
    told = f"{gone:.0f} jobs lost a checkpoint with 3 copies; with 5 spares {rows[3]:.2f} % meet "
    told += f"their deadline, with their own copy alone {rows[1]:.2f} %"
    return _whether([gone == 0, rows[3] > rows[1]], told)


def _at_once(values: Values, pattern: str, copies: str = "3 copies") -> tuple[float, float]:
    """Return jobs whose checkpoint was gone, and failures that struck a job."""
    item, table = f"{pattern} at once, {copies}", "Section 7 played"
    struck = values[table, f"{item}: {STRUCK}"].ours
    if struck == 0:
        raise UntestableError("no failure struck a job")
    return values[table, f"{item}: {GONE}"].ours, struck


def _neighbors(values: Values) -> Finding:
    gone, struck = _at_once(values, "two neighbors")
    alone, _ = _at_once(values, "two neighbors", "1 copy")
    told = f"{gone:.0f} jobs lost a checkpoint in {struck:.0f} failures of two neighbors at once; "
    return _whether([gone == 0 < alone], f"{told}{alone:.0f} with their own copy alone")


def _both_lost(values: Values) -> Finding:
    gone, struck = _at_once(values, "a node and both its neighbors")
    others = [_at_once(values, pattern)[0] for pattern in list(played.TOGETHER)[:3]]
    told = f"{gone:.0f} jobs lost a checkpoint in {struck:.0f} failures of a node and both its "
    told += f"neighbors at once; {sum(others):.0f} where one node or two were lost"
    return _whether([gone > 0 == sum(others)], told)


def _over(values: Values, words: str, over: Sequence[float], unit: str) -> Finding:
    nodes = [values["Section 6", f"{words} {x:,}{unit}"].ours for x in over]
    told = f"{_listed(nodes, 0)} nodes for {', '.join(f'{x:,}' for x in over)}{unit}"
    return _whether([all(a < b for a, b in pairwise(nodes))], told)


def _both_laws(values: Values) -> Finding:
    names = [item.removesuffix(": Weibull") for item in _named(values, "Table 3", "h): Weibull")]
    pairs = [(values["Table 3", f"{name}: exponential"].ours,
              values["Table 3", f"{name}: Weibull"].ours) for name in names]  # fmt: skip
    if not any(max(pair) for pair in pairs):
        raise UntestableError("no queue has failures")
    told = "; ".join(f"{one:.2f} and {other:.2f} %" for one, other in pairs)
    return _whether([one < other for one, other in pairs], f"F_q exponential and Weibull: {told}")


def _table_3(law: str, near: float) -> Asked:
    return Asked(
        f"table-3-{law.lower()}", "Section 5.1, Table 3", f"Failure rates of the queues, {law}",
        lambda values: _same(values, "Table 3", _named(values, "Table 3", f"h): {law}"), near),
        rests=FORMULA,
    )  # fmt: skip


def _table_5(law: str, words: str) -> Asked:
    return Asked(
        f"table-5-{law.lower()}", "Section 7, Table 5", f"Reliability with 0 to 5 spares, {law}",
        lambda values: _same(values, "Table 5", _named(values, "Table 5", words), NEAR),
        rests=FORMULA,
    )  # fmt: skip


ASKED: Final = (
    Asked("weibull", "Section 3",
          "Of 17 laws the Weibull law is the best or an acceptable next in each year", _law,
          rests=f"{LOG}; 18 laws; 999 draws a year"),
    Asked("closer", "Section 3, Figures 3 to 5",
          "The Weibull law is a much closer fit than the exponential law in years 1, 5 and 7",
          _closer, rests=f"{LOG}; much closer: by more than {ACCEPTABLE:.0f} of AIC"),
    Asked("shapes", "Section 3, Table 1", "Shapes are below 1 in each year", _shapes,
          rests=f"{LOG}; 95 % likelihood intervals",
          paper=" ".join(f"{one:.2f}" for one in paper.SHAPES)),
    Asked("range", "Section 3, Table 1",
          "The shape stays within 0.57 to 0.75 and is highest in the fifth year", _range, rests=LOG,
          paper=" ".join(f"{one:.2f}" for one in paper.SHAPES)),
    Asked("scales", "Section 3, Table 1",
          "The scale rises until the sixth year and falls after it", _scales, rests=LOG,
          paper=" ".join(f"{one:.1f}" for one in paper.SCALES)),
    Asked("years", "Sections 3 and 8, Figure 1", "The first two years are the worst", _years,
          rests=LOG, paper=" ".join(f"{one:,}" for one in paper.COUNTS)),
    Asked("stable", "Section 3",
          "Failures stabilize in the third year and decrease in the last years", _stable,
          rests=f"{LOG}; stable: changes of at most {100 * STABLE:.0f} % to the fourth and the "
                "fifth year; decrease: in each year after that"),
    Asked("falls", "Section 3, Figure 2", "The failures of every node drop over time", _falls,
          rests=f"{LOG}; nodes in service for 90 days of both parts"),
    Asked("regular", "Section 3",
          "In the last years the nodes that continue to fail do so with increasing regularity",
          _regular, rests=f"{LOG}; regularity: a higher shape, and more failures"),
    Asked("node", "Section 4.3, Table 2", "A commodity node's MTTF, h",
          lambda values: _same(values, "Table 2", ["node, as in the text"], 0.5),
          rests="the printed components"),
    Asked("both-laws", "Sections 5 and 9",
          "The exponential law gives an upper bound of reliability, the Weibull law a lower one",
          _both_laws, follows=CONFIRMED.holds,
          rests="Table 3's queues, all nodes new: a shape of 0.75 leaves it no other way; with old "
                "nodes the two are closer"),
    Asked("mixed", "Section 4.4", "Blades as half of 256 nodes raise reliability little at 100 h",
          _half, rests=f"{FORMULA}; little: by at most {LITTLE:.0f} points"),
    Asked("mixed-printed", "Section 4.4",
          "Reliability of 256 commodity nodes at 100 h, and with half of them blades",
          lambda values: _same(values, "Section 4.4", HALF[:2], NEAR), rests=FORMULA),
    Asked("cost", "Section 4.4", "At twice the price, half of blades raise the cost by 25 %", _cost,
          rests="arithmetic"),
    Asked("spent", "Section 4.4", "The expense is better spent on other things than blades", _spent,
          rests="prices of spares, checkpoints and waiting; shape 0.75, new nodes, repair in 48 h"),
    _table_3("Weibull", NEAR),
    _table_3("exponential", 0.01),
    Asked("moved", "Section 5.3",
          "Moving 388 nodes from the interactive queue to Huge and Big lowers F_job", _moved,
          paper="12.7 to 7.4 %", rests=f"{FORMULA}; beside it: nodes that no queue gets"),
    Asked("averaged", "Section 5.2",
          "Averaging over a typical run time and the limit is less pessimistic", _averaged,
          follows=CONFIRMED.holds,
          rests="Equation 21 with its authors' constants, Table 3's queues: typical run times "
                "below the limit leave it no other way"),
    Asked("runtimes", "Section 5.2", "The mean run time of jobs of 2 to 256 nodes, h",
          lambda values: _same(values, "Section 5.2",
                               ["2 nodes: exp of the mean ln", "256 nodes: exp of the mean ln"],
                               NEAR), rests="Equation 21 with its authors' constants"),
    Asked("lanl", "Section 5.1, Table 4", "Failure rates of LANL's queues, Weibull", _lanl_weibull,
          rests="one law for all queues, its scale chosen for the first"),
    Asked("smaller", "Section 5.3", "A smaller Largeq raises the share of jobs that succeed",
          _smaller, paper="54.5 to 72.8 %, Weibull 42 %", rests=FORMULA),
    Asked("interval", "Section 6", "Nodes for which 10 h is the best checkpoint interval",
          lambda values: _same(values, "Section 6", ["nodes"], 0.5), rests="Equation 22"),
    Asked("interval-mttf", "Section 6", "The higher the MTTF of a node, the more nodes can be used",
          lambda values: _over(values, OVER_MTTF, MTTFS, " h"), follows=CONFIRMED.holds,
          rests="Equation 22, shape 0.7, 10 h between checkpoints: the formula leaves it no other "
                "way"),
    Asked("interval-shape", "Section 6", "The lower the shape, the fewer nodes can be used",
          lambda values: _over(values, OVER_SHAPE, SHAPES, ""), follows=CONFIRMED.holds,
          rests="Equation 22, MTTF of a node 100,000 h, 10 h between checkpoints, all nodes new: "
                "the formula leaves it no other way"),
    _table_5("exponential", ": exponential"),
    _table_5("Weibull", ": Weibull, shape 0.75"),
    Asked("spares", "Section 7", "Two spares raise the reliability of a job considerably", _spares,
          rests="Equation 24, and 4,000 played jobs a row; considerably: at most half as many jobs "
                "fail, and fewer than of a smaller job without spares"),
    Asked("agree", "Section 7", "Equation 24 says how often jobs with spares succeed", _agree,
          rests="12 rows of 4,000 played jobs; confirmed where no row differs by more than chance "
                "(5 % over all rows)"),
    Asked("ring", "Section 7.1", "Copies on both neighbors let a job go on after a failure",
          _ring, rests="4,000 played jobs a row on a ring of the job's nodes"),
    Asked("neighbors", "Section 7.1",
          "If two neighbors fail at once, each one's checkpoint is found at its other neighbor",
          _neighbors, rests="200 played jobs on a ring of the job's nodes, 3 copies and 1"),
    Asked("both-lost", "Section 7.1",
          "A checkpoint is lost only with its node and both neighbors (implied)", _both_lost,
          rests="200 played jobs for each of four patterns"),
)  # fmt: skip
"""The claims, in the paper's order where one follows from another."""
