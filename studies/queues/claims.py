"""The paper's claims, each tested on the tables redone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from studies.kit.claims import CONFIRMED, Asked, Claim, Finding
from studies.queues import paper
from studies.queues.tables import (
    ABOVE,
    AVERAGED,
    COST,
    LIMIT,
    P_VALUE,
    PLACE,
    TRUNCATED,
    Table,
    Value,
)

Values = dict[tuple[str, str], Value]
YEARS: Final = range(1, len(paper.COUNTS) + 1)
REJECTED: Final = 0.05
NEAR: Final = 0.05
"""How far a figure may be from the printed one in the last digit printed, in per cent points."""
ACCEPTABLE: Final = 10.0
"""AIC above the best from which a law has essentially no support; Burnham and Anderson, 2002."""
LOG: Final = "LANL's public log, system 2, 7,104 records"
FORMULA: Final = "the paper's formula, computed consistently"


def every_claim(tables: Sequence[Table]) -> tuple[Claim, ...]:
    """Return the claims with what the tables say of them."""
    values = {(one.name, value.item): value for one in tables for value in one.values}
    return tuple(asked.of(values) for asked in ASKED)


def _whether(good: Sequence[bool], measured: str) -> Finding:
    return Finding(measured, CONFIRMED.of(good))


def _of_year(values: Values, k: int, what: str) -> float:
    return values["Table 1", f"Year {k}: {what}"].ours


def _law(values: Values) -> Finding:
    place = [_of_year(values, k, PLACE) for k in YEARS]
    above = [_of_year(values, k, ABOVE) for k in YEARS]
    p = [_of_year(values, k, P_VALUE) for k in YEARS]
    told = " ".join(f"{one:.0f}" for one in place)
    far = " ".join(f"{one:.0f}" for one in above)
    chance = " ".join(f"{one:.3f}" for one in p)
    good = [a <= ACCEPTABLE and c >= REJECTED for a, c in zip(above, p, strict=True)]
    return _whether(
        good, f"place by AIC {told}; AIC above the best {far}; p of the fit {chance}, year by year"
    )


def _shapes(values: Values) -> Finding:
    shapes = [_of_year(values, k, "shape") for k in YEARS]
    return _whether(
        [shape < 1 for shape in shapes], f"shapes {' '.join(f'{one:.2f}' for one in shapes)}"
    )


def _years(values: Values) -> Finding:
    counts = [_of_year(values, k, "failures") for k in YEARS]
    told = " ".join(f"{one:,.0f}" for one in counts)
    return _whether([min(counts[:2]) > max(counts[2:])], f"failures {told}")


def _same(values: Values, table: str, items: Sequence[str], near: float) -> Finding:
    rows = [values[table, item] for item in items]
    told = "; ".join(
        f"{row.item} {row.ours:,.{row.digits}f} (printed {row.paper:,.{row.digits}f})"
        for row in rows
    )
    return _whether([row.paper is not None and abs(row.ours - row.paper) <= near for row in rows],
                    told)  # fmt: skip


def _named(values: Values, table: str, words: str) -> list[str]:
    return [item for name, item in values if name == table and words in item]


def _lanl_weibull(values: Values) -> Finding:
    rows = [values["Table 4", item] for item in _named(values, "Table 4", "h): Weibull")]
    theirs = [row.ours if row.paper_way is None else row.paper_way for row in rows]
    told = "; ".join(
        f"{row.item} {one:.1f} % by the law of the first (printed {row.paper:.1f})"
        for row, one in zip(rows, theirs, strict=True)
    )
    good = [row.paper is not None and abs(one - row.paper) <= NEAR
            for row, one in zip(rows, theirs, strict=True)]  # fmt: skip
    return _whether(good, told)


def _moved(values: Values) -> Finding:
    before, after = (
        values["Table 3", f"{name}: Weibull"].ours
        for name in ("all jobs", "388 interactive nodes moved")
    )
    return _whether([after < before], f"F_job {before:.2f} % before, {after:.2f} % after")


def _smaller(values: Values) -> Finding:
    rows = [
        values["Table 4", f"then jobs that succeed: {law}"] for law in ("Weibull", "exponential")
    ]
    before = values["Table 4", "jobs that succeed: exponential"].ours
    told = f"jobs that succeed, exponential: {before:.1f} % before, {rows[1].ours:.1f} % after; "
    told += f"Weibull {rows[0].ours:.1f} % (printed {rows[0].paper:.1f})"
    return _whether([rows[1].ours > before, abs(rows[0].ours - (rows[0].paper or 0)) <= NEAR], told)


def _averaged(values: Values) -> Finding:
    ways = [values["Section 5.2", f"all jobs, {way}"].ours for way in (LIMIT, AVERAGED, TRUNCATED)]
    told = f"F_job of Table 3 {ways[0]:.2f} % to the limit, {ways[1]:.2f} % averaged, "
    told += f"{ways[2]:.2f} % by the truncated law"
    return _whether([ways[1] < ways[0]], told)


def _half(values: Values) -> Finding:
    rows = [values["Section 4.4", f"{name}, 100 h"]
            for name in ("256 commodity nodes", "128 of them blades")]  # fmt: skip
    told = f"{rows[0].ours:.2f} and {rows[1].ours:.2f} % (printed {rows[0].paper:.1f} and "
    told += f"{rows[1].paper:.1f})"
    good = [abs(row.ours - (row.paper or 0)) <= NEAR for row in rows]
    return _whether(good, told)


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


def _played(values: Values, law: str) -> list[tuple[float, float]]:
    table = "Section 7 played"
    return [
        tuple(values[table, f"{m} spares, 3 copies, {law}: {way}"].ours  # type: ignore[misc]
              for way in ("computed", "played"))
        for m in range(len(paper.SPARES_WEIBULL))
    ]  # fmt: skip


def _spares(values: Values) -> Finding:
    none, _, two, *_ = _played(values, "Weibull, shape 0.75")
    told = f"0 spares {none[0]:.2f} % computed, {none[1]:.2f} % played; 2 spares {two[0]:.2f} and "
    return _whether([two[0] > none[0], two[1] > none[1]], told + f"{two[1]:.2f} %")


def _agree(values: Values) -> Finding:
    off = [abs(a - b) for law in ("exponential", "Weibull, shape 0.75")
           for a, b in _played(values, law)]  # fmt: skip
    told = f"largest difference of played and computed over 12 rows {max(off):.2f} points"
    return _whether([one <= 2.0 for one in off], told)


def _ring(values: Values) -> Finding:
    gone = values["Section 7 played", "jobs whose checkpoint was gone, 3 copies"].ours
    rows = {c: values["Section 7 played", f"5 spares, {c} copies, Weibull, shape 0.75: played"].ours
            for c in (1, 3)}  # fmt: skip
    told = f"{gone:.0f} jobs lost a checkpoint with 3 copies; with 5 spares {rows[3]:.2f} % meet "
    told += f"their deadline, with their own copy alone {rows[1]:.2f} %"
    return _whether([gone == 0, rows[3] > rows[1]], told)


def _both_laws(values: Values) -> Finding:
    names = [item.removesuffix(": Weibull") for item in _named(values, "Table 3", "h): Weibull")]
    pairs = [(values["Table 3", f"{name}: exponential"].ours,
              values["Table 3", f"{name}: Weibull"].ours) for name in names]  # fmt: skip
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
    Asked("shapes", "Section 3, Table 1", "Shapes are below 1 in each year", _shapes, rests=LOG,
          paper=" ".join(f"{one:.2f}" for one in paper.SHAPES)),
    Asked("years", "Sections 3 and 8, Figure 1", "The first two years are the worst", _years,
          rests=LOG, paper=" ".join(f"{one:,}" for one in paper.COUNTS)),
    Asked("node", "Section 4.3, Table 2", "A commodity node's MTTF, h",
          lambda values: _same(values, "Table 2", ["node, as in the text"], 0.5),
          rests="the printed components"),
    Asked("both-laws", "Sections 5 and 9",
          "The exponential law gives an upper bound of reliability, the Weibull law a lower one",
          _both_laws, rests="Table 3's queues, all nodes new; with old nodes the two are closer"),
    Asked("mixed", "Section 4.4", "Blades as half of 256 nodes raise reliability little at 100 h",
          _half, rests=FORMULA),
    Asked("cost", "Section 4.4", "At twice the price, half of blades raise the cost by 25 %", _cost,
          rests="arithmetic"),
    Asked("spent", "Section 4.4", "The expense is better spent on other things than blades", _spent,
          rests="prices of spares, checkpoints and waiting; shape 0.75, new nodes, repair in 48 h"),
    _table_3("Weibull", NEAR),
    _table_3("exponential", 0.01),
    Asked("moved", "Section 5.3",
          "Moving 388 nodes from the interactive queue to Huge and Big lowers F_job", _moved,
          paper="12.7 to 7.4 %", rests=FORMULA),
    Asked("averaged", "Section 5.2",
          "Averaging over a typical run time and the limit is less pessimistic", _averaged,
          rests="Equation 21 with its authors' constants, Table 3's queues"),
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
    _table_5("exponential", ": exponential"),
    _table_5("Weibull", "shape 0.75"),
    Asked("spares", "Section 7", "Two spares raise the reliability of a job considerably", _spares,
          rests="Equation 24, and 4,000 played jobs a row"),
    Asked("agree", "Section 7", "Equation 24 says how often jobs with spares succeed", _agree,
          rests="12 rows of 4,000 played jobs; confirmed within 2 points"),
    Asked("ring", "Section 7.1", "Copies on both neighbors let a job go on after a failure",
          _ring, rests="4,000 played jobs a row on a ring of the job's nodes"),
)  # fmt: skip
"""The claims, in the paper's order where one follows from another."""
