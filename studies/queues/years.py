"""Table 1, and what Section 3 says of the years of operation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import forestall as fs
from forestall import systems
from studies.queues import paper
from studies.queues.inputs import YearSample
from studies.queues.values import Table, Value

DRAWS = 999
"""Samples drawn for a test of goodness of fit."""


def year_fits(years: YearSample, family: str = "weibull") -> tuple[systems.Fitted | None, ...]:
    """Return the fit of each year's gaps; None where there are too few for one."""
    return tuple(fs.fit(gaps, family) if len(np.unique(gaps)) > 1 else None for gaps in years.gaps)


def years_table(rules: Sequence[YearSample]) -> Table:
    """Return Table 1: failures, shape and scale of years 1 to 8, by the first rule; the others are
    in the reasons."""
    first = rules[0]
    values = []
    for k, (fitted, count) in enumerate(
        zip(year_fits(first), first.counts.sum(axis=0), strict=True)
    ):
        if k >= len(paper.COUNTS):
            break
        year = f"Year {k + 1}"
        values.append(Value(f"{year}: failures", paper.COUNTS[k], float(count), digits=0))
        if fitted is not None:
            shape, scale = fitted.params["shape"], fitted.params["scale"]
            values.append(Value(f"{year}: shape", paper.SHAPES[k], shape))
            values.append(Value(f"{year}: scale", paper.SCALES[k], scale, unit="h", digits=1))
    values += [*weibull_values(first), *node_values(first)]
    return Table(
        "Table 1", "Weibull fits of the hours between failures of a node, by year of operation",
        tuple(values), tuple(_why_years(rules, values)),
    )  # fmt: skip


def _why_years(rules: Sequence[YearSample], values: Sequence[Value]) -> list[str]:
    zeros = sum(rules[0].zeros)
    why = [
        f"The paper does not say where a year begins. Here {rules[0].rule.text}. "
        "Agreement of the counts is therefore not evidence, but agreement of the scales is.",
        f"{zeros} gaps of 0 h (two records of one node in one minute) are left out: no Weibull law "
        "with a shape below 1 has a finite likelihood there. The censored last gap of each node is "
        "left out, as apparently in the paper; including it raises the scales of the last years.",
    ]
    why.append(_why_weibull(values))
    for sample in rules[1:]:
        counts = " ".join(f"{n:,.0f}" for n in sample.counts.sum(axis=0))
        pairs = [f.params if f is not None else None for f in year_fits(sample)]
        shapes = " ".join("-" if p is None else f"{p['shape']:.2f}" for p in pairs)
        scales = " ".join("-" if p is None else f"{p['scale']:.0f}" for p in pairs)
        why.append(
            f"{sample.rule.text.capitalize()}: failures {counts}; shapes {shapes}; "
            f"scales {scales} h."
        )
    return why


PLACE, ABOVE, P_VALUE = "place of the Weibull law by AIC", "AIC above the best", "p of the fit"
EXPONENTIAL = "exponential law, AIC above the Weibull law's"
LOW, HIGH = "shape, lower end", "shape, upper end"
RATE, OF_FAILING = "failures per 1,000 node-days", "the same of nodes that fail"
SEVERAL, FEWER, EACH = (
    "nodes that are in service after their second year",
    "of them nodes that fail less often after it",
    "nodes that fail less often in each year than in the one before",
)
SERVED = 90.0
"""Days in service for a node's rate of a year to count."""


def weibull_values(years: YearSample) -> list[Value]:
    """Return how good the Weibull law is among all laws that are fitted, year by year."""
    told = []
    for k, gaps in enumerate(years.gaps[: len(paper.COUNTS)], 1):
        ranking = fs.fit_all(gaps)
        fitted = ranking["weibull"]
        place = [row.name for row in ranking.rows].index("weibull") + 1
        above = fitted.aic - ranking.best.aic
        told += [
            Value(f"Year {k}: {PLACE}", None, place, unit=f"of {len(ranking)}", digits=0),
            Value(f"Year {k}: {ABOVE}", None, above, digits=0),
            Value(f"Year {k}: {P_VALUE}", None, fitted.goodness(DRAWS).ad_p, digits=3),
            Value(f"Year {k}: {EXPONENTIAL}", None, ranking["exponential"].aic - fitted.aic,
                  digits=0),
            *(Value(f"Year {k}: {name}", None, end)
              for name, end in zip((LOW, HIGH), fitted.ci()["shape"], strict=True)),
        ]  # fmt: skip
    return told


def node_values(years: YearSample) -> list[Value]:
    """Return rates by year, of all nodes and of those that fail, and how many nodes fail less often
    as they age."""
    counts, days = years.counts, years.node_days
    told = []
    for k in range(min(len(paper.COUNTS), counts.shape[1])):
        for name, mine in ((RATE, days[:, k] > 0), (OF_FAILING, counts[:, k] > 0)):
            served = float(days[mine, k].sum())
            if served > 0:
                rate = 1000 * float(counts[mine, k].sum()) / served
                told.append(Value(f"Year {k + 1}: {name}", None, rate, digits=1))
    first, later = (
        counts[:, part].sum(axis=1) / np.maximum(days[:, part].sum(axis=1), 1e-9)
        for part in (slice(2), slice(2, None))
    )
    several = (days[:, :2].sum(axis=1) >= SERVED) & (days[:, 2:].sum(axis=1) >= SERVED)
    failed = several & (counts.sum(axis=1) > 0)
    rates = np.where(days >= SERVED, counts / np.maximum(days, 1e-9), np.nan)
    each = [bool(np.all(np.diff(row[~np.isnan(row)]) < 0)) for row in rates]
    return [
        *told,
        Value(SEVERAL, None, int(failed.sum()), digits=0),
        Value(FEWER, None, int((failed & (later < first)).sum()), digits=0),
        Value(EACH, None, int((failed & np.array(each)).sum()), digits=0),
    ]


def _why_weibull(values: Sequence[Value]) -> str:
    told = {value.item: value for value in values}
    years = [k for k in range(1, len(paper.COUNTS) + 1) if f"Year {k}: {PLACE}" in told]
    each = [
        f"{told[f'Year {k}: {PLACE}'].ours:.0f} ({told[f'Year {k}: {ABOVE}'].ours:.0f}, "
        f"{told[f'Year {k}: {P_VALUE}'].ours:.3f})"
        for k in years
    ]
    laws = told[f"Year 1: {PLACE}"].unit.removeprefix("of ")
    return (
        "The paper tried 17 laws, and has the Weibull law as the best or an acceptable next in "
        f"each year. Its place by AIC among {laws} laws fitted to the same gaps, how far its AIC "
        "is above that of the best, and the p "
        f"of Anderson and Darling's test ({DRAWS} draws), in years 1 to {len(each)}: "
        f"{', '.join(each)}. Where p is small the gaps do not follow it."
    )
