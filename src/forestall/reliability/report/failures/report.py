"""The report on a failure log: sections of facts, tables and figures; and the folder it fills."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from forestall.core._lazy import lazily
from forestall.core.kit.study_folder import StudyFolder, options_told, table_of
from forestall.core.show import closing
from forestall.core.show.blocks import Block, Column, Prose, Table
from forestall.core.show.facts import Fact, flat
from forestall.core.show.report import Report, Section
from forestall.core.show.words import (
    NOTHING,
    Summary,
    between,
    chance,
    count,
    counted,
    figure,
    number,
    percent,
)
from forestall.reliability.report.failures import pictures, words
from forestall.reliability.report.failures.pictures import NAMES
from forestall.reliability.report.failures.words import TESTS, TRENDS, Row, hours
from forestall.reliability.report.fit.report import ranking_notes, ranking_tables

with lazily():
    import polars as pl

if TYPE_CHECKING:
    from forestall.reliability.report.failures.study import FailureStudy


By = Literal["year", "node", "cause"]

MOST_NODES: Final = 25
FEW_NODES: Final = 10
FEW_FAMILIES: Final = 5
LAWS_RULE: Final = (
    "Weibull distributions of gaps between failures of one node that begin in the year; gaps "
    "still open at its end are censored there. A dash: too few gaps ended, or the scale would "
    "lie far beyond the longest of them."
)
OWN_RULE: Final = (
    "A node's year 1 begins with its first failure, which counts; its time in service before that "
    "is in no year. A node that never failed counts from its start of service."
)
YEAR_TITLES: Final = {
    "calendar": "Years",
    "age": "Years of age",
    "own": "Years from each node's first failure",
}


def report_of(found: FailureStudy) -> Report:
    """Return all that the log tells as a report."""
    summary = found.summary
    sections = (
        _years(found),
        _trend(found),
        _gaps(found),
        _machine_gaps(summary),
        _causes(summary),
        _nodes(found),
        _bursts(found),
        _read(summary),
    )
    return Report(
        "How this machine fails",
        words.headline(summary),
        sections,
        verdict=(words.on_trend(summary), words.on_clustering(summary), words.on_nodes(summary)),
        top=measures(summary),
        closing=(closing.made_with(_made_with(summary)),),
    )


def in_brief(found: FailureStudy, by: By | None = None) -> Report:
    """Return the report as it is printed: with the best families, and one breakdown, of years and
    the worst nodes where none is asked for."""
    told = report_of(found)
    others = {"years": "year", "nodes": "node", "causes": "cause"}
    shown = [one for one in told.sections if by in (None, others.get(one.key, by))]
    if by is None:
        worse = found.summary["nodes_apart"]["worse"]
        shown = [one for one in shown if one.key != "causes" and (worse or one.key != "nodes")]
    elif by == "node":
        whole = (node_table(found.summary, None),)
        shown = [replace(one, body=whole) if one.key == "nodes" else one for one in shown]
    return replace(told, sections=tuple(_shortened(one, by) for one in shown))


def _shortened(part: Section, by: By | None) -> Section:
    """Return a section with the first rows of its ranked tables."""
    most = {"nodes": FEW_NODES if by is None else None}.get(part.key, FEW_FAMILIES)
    body = tuple(
        replace(one, rows=one.rows[:most], records=one.records[:most])
        if isinstance(one, Table) and one.ranked
        else one
        for one in part.body
    )
    return replace(part, body=body)


def measures(summary: Summary) -> tuple[Fact, ...]:
    """Return rate, MTBF, availability and repair, and the shape of a node's gaps."""
    rate, mtbf, law = summary["rate"], summary["mtbf"], summary["fits"]["node"]["weibull"]
    meaning = "failures per 1000 node-days"
    if rate["rate"] is not None:
        meaning += f" ({between((rate['low'], rate['high']))} if independent)"
    told = [
        _fact("rate", "Rate", rate["rate"], figure(rate["rate"], 3), meaning),
        _fact("mtbf_machine", "MTBF, machine", mtbf["system_hours"], hours(mtbf["system_hours"]),
              "from one failure to the next, anywhere", "hours"),
        _fact("mtbf_node", "MTBF, node", mtbf["node_hours"], hours(mtbf["node_hours"]),
              _exposure(summary), "hours"),
        *_repairs(summary),
    ]  # fmt: skip
    if law is not None:
        shape, ends = law["params"]["shape"], between(law["ci"]["shape"])
        meaning = f"of gaps of one node; 95 % interval {ends}"
        told.append(_fact("weibull_shape", "Weibull shape", shape, figure(shape, 3), meaning))
    return tuple(told)


def _fact(
    key: str, label: str, value: object, shown: str, meaning: str, unit: str = "number"
) -> Fact:
    return Fact.measured(key, label, number(value), unit, meaning, shown)


def _exposure(summary: Summary) -> str:
    of = "up" if summary["clock"] == "uptime" else "in service"
    failures = counted(summary["failures"], "failure")
    return f"{figure(summary['node_years'])} node-years {of} over {failures}"


def _repairs(summary: Summary) -> tuple[Fact, ...]:
    repairs = summary["repairs"]
    if repairs is None:
        why = "the log has no repair times"
        return (_fact("availability", "Availability", None, NOTHING, why, "ratio"),)
    share, mean = repairs["availability"], repairs["mean_hours"]
    spread = (
        f"on average; half within {hours(repairs['median_hours'])}, 95 % within "
        f"{hours(repairs['p95_hours'])} ({repairs['known']:,} of {repairs['of']:,} known)"
    )
    return (
        _fact("availability", "Availability", share, percent(share),
              "of node time, by repair times", "ratio"),
        _fact("repair", "Repair", mean, hours(mean), spread, "hours"),
    )  # fmt: skip


def _years(found: FailureStudy) -> Section:
    """Return failures year by year."""
    drawn = pictures.per_year(found), pictures.per_node(found), pictures.by_year(found)
    rule = found.summary["years_are"]
    return Section(
        "years",
        YEAR_TITLES[rule],
        series=measures(found.summary),
        body=(
            year_table(found.summary),
            *((Prose(OWN_RULE),) if rule == "own" else ()),
            *filter(None, drawn),
        ),
        notes=(LAWS_RULE,),
    )


def _figure(value: object) -> str:
    return figure(value, 3)


def _ends(low: str, high: str) -> Callable[[Row], str]:
    """Return how an interval is written, of the names of its ends."""
    return lambda row: between((row.get(low), row.get(high)))


YEARS: Final[tuple[Column, ...]] = (
    ("Year", "year", str),
    ("Failures", "failures", count),
    ("Node-years", "node_years", figure),
    ("Rate", "rate", _figure),
    ("interval", _ends("low", "high")),
    ("Shape", "shape", _figure),
    ("interval", _ends("shape_low", "shape_high")),
    ("Scale", lambda row: NOTHING if row["beyond"] else _figure(row["scale"])),
    ("interval", lambda row: NOTHING if row["beyond"] else _ends("scale_low", "scale_high")(row)),
    ("Trend within", "trend", TRENDS.__getitem__),
)


CAUSES: Final[tuple[Column, ...]] = (
    ("Cause", "cause", str),
    ("Failures", "failures", count),
    ("Share", "share", percent),
    ("Rate", "rate", _figure),
    ("MTBF, node", lambda row: hours(row["node_years"] * words.HOURS_A_YEAR / row["failures"])),
    ("Shape", lambda row: _figure(row.get("shape"))),
    ("interval", _ends("shape_low", "shape_high")),
    ("Mean repair", "mean_repair_hours", hours),
)


NODES: Final[tuple[Column, ...]] = (
    ("Node", "node", str),
    ("Failures", "failures", count),
    ("Expected", "expected", _figure),
    ("Rate", "rate", _figure),
    ("95 % interval", _ends("low", "high")),
    ("q", "q", chance),
    ("", lambda row: "beyond the fleet" if row["beyond_fleet"] else "worse" * row["worse"]),
)


def year_table(summary: Summary) -> Table:
    """Return rates and Weibull laws of the years, with their intervals."""
    caption = (
        f"Rates are failures per 1000 node-days, scales are in {summary['unit']}; intervals are of "
        "95 %."
    )
    return Table.by("years", YEARS, summary["years"], right=(1, 2, 3, 5, 7), caption=caption)


def _trend(found: FailureStudy) -> Section:
    """Return whether failures became more or fewer."""
    bathtub = pictures.bathtub(found)
    body: tuple[Block, ...] = (trend_table(found.summary),)
    return Section(
        "trend", "More or fewer failures?", body=body if bathtub is None else (*body, bathtub)
    )


def trend_table(summary: Summary) -> Table:
    """Return the tests of trend, of nodes and of the machine."""
    rows: list[tuple[str, ...]] = []
    records = []
    for by, name in (("node", "Nodes"), ("system", "Machine")):
        trend = summary["trend"][by]
        for k, row in enumerate(trend["tests"]):
            told = (NOTHING, NOTHING, "too few failures", "")
            if row["p_value"] is not None:
                statistic, says = f"{row['statistic']:,.2f}", TRENDS[row["direction"]]
                told = (statistic, chance(row["p_value"]), says, row["null"])
            rows.append((name if k == 0 else "", TESTS[row["test"]], *told))
            records.append({"of": by, **flat(row)})
        process = trend["power_law"]
        if process.get("shape") is not None:
            says = "below 1: falling" if process["shape_high"] < 1 else "1 is steady"
            says = "above 1: rising" if process["shape_low"] > 1 else says
            ends = between((process["shape_low"], process["shape_high"]))
            rows.append(("", "power-law shape", figure(process["shape"], 3), NOTHING, says, ends))
            records.append({"of": by, "test": "power-law", **flat(process)})
    heads = ("", "Test", "Statistic", "p", "Says", "Against")
    return Table.of("trend", heads, rows, records, right=(2, 3))


def _gaps(found: FailureStudy) -> Section:
    """Return laws of the gaps between failures of one node."""
    summary = found.summary
    drawn = filter(None, (one(found) for one in pictures.OF_GAPS))
    body = (*_before(summary, "node"), *_laws(summary), *_ranking(summary, "node"), *drawn)
    return Section("gaps", "Gaps between failures of one node", body=body)


def _machine_gaps(summary: Summary) -> Section:
    """Return laws of the gaps between failures anywhere."""
    body = (*_before(summary, "system"), *_ranking(summary, "system"))
    return Section("machine_gaps", "Gaps between failures of the whole machine", body=body)


def _before(summary: Summary, by: str) -> tuple[Prose, ...]:
    """Return what gaps there are, and what must be known before their laws are used."""
    fits = summary["fits"][by]
    told = Prose(words.gaps_line(fits, summary["unit"]), soft=True)
    return (told, *(Prose(f"Warning: {note}") for note in fits["notes"]))


def _laws(summary: Summary) -> tuple[Block, ...]:
    """Return Weibull parameters of nodes and of the machine."""
    table = law_table(summary)
    note = "The mean of a fitted distribution depends on its tail; the MTBF above is observed. "
    note += words.laws_note(summary)
    return (table, Prose(note.strip(), soft=True)) if table.rows else ()


def law_table(summary: Summary) -> Table:
    """Return a row for the Weibull law of nodes and of the machine, where they have one."""
    rows, records = [], []
    for by, name in (("node", "One node"), ("system", "Whole machine")):
        law = summary["fits"][by]["weibull"]
        if law is None:
            continue
        cells = [name]
        for key in ("shape", "scale", "mean"):
            value = law["mean"] if key == "mean" else law["params"][key]
            hidden = law["beyond"] and key != "shape"
            told = (figure(value, 3), between(law["ci"].get(key)))
            cells += (NOTHING, NOTHING) if hidden else told
        rows.append(tuple(cells))
        records.append({"of": by, **flat(law), **law["params"]})
    unit = summary["unit"]
    heads = ("", "Shape", "95 % interval", f"Scale ({unit})", "95 % interval", "Mean", "95 % "
             "interval")  # fmt: skip
    caption = "Weibull distributions, with likelihood intervals."
    return Table.of("weibull", heads, rows, records, right=(1, 3, 5), caption=caption)


def _ranking(summary: Summary, by: str) -> tuple[Block, ...]:
    """Return the ranking of families, with those that could not be fitted."""
    fits = summary["fits"][by]
    families = fits["families"]
    caption = "Families ranked by AIC; the weight is the share of the evidence. "
    caption += words.zeros_line(fits, summary["unit"])
    tables = ranking_tables(families, by, caption.strip())
    why = (Prose(fits["why"]),) if fits["why"] else ()
    notes = (Prose(line, soft=True) for line in ranking_notes(families))
    return (tables[0], *why, *tables[1:], *notes)


def _causes(summary: Summary) -> Section:
    """Return failures by cause."""
    caption = (
        "Rates are failures per 1000 node-days; the Weibull shape is of the gaps of one node from "
        "one failure of that cause to the next."
    )
    right = (1, 2, 3, 4, 5, 7)
    table = Table.by("causes", CAUSES, summary["causes"], right=right, caption=caption)
    told = table if table.rows else Prose("The log has no causes.")
    return Section("causes", "Causes", body=(told,))


def _nodes(found: FailureStudy) -> Section:
    """Return the worst nodes."""
    table, drawn = node_table(found.summary, MOST_NODES), pictures.worst(found)
    body = (*((table,) if table.rows else ()), *((drawn,) if drawn is not None else ()))
    return Section("nodes", "Nodes", body=body)


def node_table(summary: Summary, most: int | None) -> Table:
    """Return so many of the nodes that fail most often; None: all."""
    nodes: Sequence[Row] = summary["nodes_apart"]["nodes"]
    kept = nodes[:most]
    more = len(nodes) - len(kept)
    rest = f" {counted(more, 'more node')} in nodes.csv." if more else ""
    caption = (
        "The worst nodes (rates per 1000 node-days); q: expected share of false alarms among "
        f"the nodes down to this row.{rest}"
    )
    return Table.by(
        "nodes", NODES, kept, right=(1, 2, 3, 5), caption=caption, ranked=True,
        note=words.on_rates(summary), most=0,
    )  # fmt: skip


def _bursts(found: FailureStudy) -> Section:
    """Return whether failures come together."""
    drawn = pictures.bursts(found)
    lines = tuple(Prose(line) for line in words.on_bursts(found.summary))
    return Section("bursts", "Bursts", body=lines if drawn is None else (*lines, drawn))


def _read(summary: Summary) -> Section:
    """Return what was odd about the log, counted, and what is to be minded."""
    rows = [(one["text"], one["action"]) for one in summary["remarks"]]
    rows += [(hint, "note") for hint in summary["hints"]]
    body: Block = Prose("Nothing: every record was used as is.")
    if rows:
        body = Table.of("odd", ("What", "How it was handled"), rows, right=(), most=0)
    return Section("read", "What was read, and what was odd", body=(body,))


def _made_with(summary: Summary) -> dict[str, object]:
    """Return the log, the options and the versions behind the report."""
    return {
        "Log": summary["source"],
        **options_told(summary["parameters"]),
        "clock": summary["clock"],
        "time in service": summary["service"],
        **summary["versions"],
    }


TABLES: Final = (
    "years.csv",
    "causes.csv",
    "nodes.csv",
    "node_years.csv",
    "gaps.csv",
    "system_gaps.csv",
    "fits.csv",
    "system_fits.csv",
    "trend.csv",
    "age.csv",
    "bursts.csv",
    "remarks.csv",
)


def tables(found: FailureStudy) -> list[pl.DataFrame]:
    """Return the tables of the folder, in their order."""
    summary = found.summary
    trend = [
        {"of": by, **row} for by in ("node", "system") for row in summary["trend"][by]["tests"]
    ]
    return [
        table_of(summary["years"]),
        table_of(summary["causes"]),
        table_of(summary["nodes_apart"]["nodes"]),
        found.node_years.table(),
        gaps_table(found, "node"),
        gaps_table(found, "system"),
        _fits(summary["fits"]["node"]["families"]),
        _fits(summary["fits"]["system"]["families"]),
        table_of(trend),
        table_of(summary["age"]["bins"]),
        _burst_table(found),
        table_of(summary["remarks"]),
    ]


def gaps_table(found: FailureStudy, by: str) -> pl.DataFrame:
    """Return ``gap,censored,resolution`` and what else is known, as `forestall fit` takes it."""
    gaps = found.history.gaps("node" if by == "node" else "system")
    sampled = found.node.sampled if by == "node" else found.system.sampled
    columns: dict[str, Any] = {"gap": sampled.gap, "censored": sampled.censored.astype("int8")}
    if sampled.resolution is not None:
        columns["resolution"] = sampled.resolution
    if by == "node":
        columns["node"] = gaps.node
    return pl.DataFrame({**columns, "begin": gaps.begin, "end": gaps.end})


def _fits(families: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the ranking with parameters as JSON in one column."""
    return table_of(
        [
            {
                "rank": k,
                **one,
                "params": None if one["params"] is None else json.dumps(one["params"]),
            }
            for k, one in enumerate(families, 1)
        ]
    )


def _burst_table(found: FailureStudy) -> pl.DataFrame:
    if found.bursting.bursts is None:
        return pl.DataFrame(schema={"begin": pl.Int64})
    table = found.bursting.bursts.table()
    begin = found.history.time[table["first"].to_numpy()]
    return table.with_columns(begin=pl.Series(begin)).select("begin", "duration", "size", "nodes")


FOLDER: Final = StudyFolder(
    keys=("nodes_apart", "fits", "versions"),
    tables=TABLES,
    figures=NAMES,
    report=report_of,
    rows=tables,
)
