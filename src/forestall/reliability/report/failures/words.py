"""What a failure log tells, as sentences; everything from `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any, Final

from forestall.core.model.units import format_duration
from forestall.core.show import words
from forestall.core.show.words import Summary, between, chance, figure
from forestall.reliability.report.failures.change import SURE

Row = Mapping[str, Any]

HOURS_A_YEAR: Final = 8766
LONG: Final = 0.1
"""A year with less than this share of the longest exposure of a year is compared with none."""
CLUSTERED: Final = 0.95
"""A Weibull shape whose interval ends below this is told as failures that come in clusters."""
TRENDS: Final = {"fewer": "fewer", "more": "more", "steady": "no trend", "unknown": words.NOTHING}
TESTS: Final = {
    "laplace": "Laplace",
    "mil-hdbk-189": "MIL-HDBK-189",
    "lewis-robinson": "Lewis-Robinson",
    "mann": "Mann",
}


def headline(summary: Summary) -> str:
    """Return what was looked at, in one line."""
    window = summary["window"]
    when = f"{window['days']:,.0f} days"
    if window["from"] is not None:
        when = f"{window['from'][:10]} to {window['to'][:10]} ({when})"
    failed = (
        "all"
        if summary["nodes_failed"] == summary["nodes"]
        else words.count(summary["nodes_failed"])
    )
    return (
        f"{words.counted(summary['failures'], 'failure')} of "
        f"{words.counted(summary['nodes'], 'node')} ({failed} of them failed), {when}, "
        f"{figure(summary['node_years'])} node-years"
    )


def hours(value: object) -> str:
    """Return hours in the unit that suits them; long times in years."""
    number = words.number(value)
    if number is None:
        return words.NOTHING
    years = number / HOURS_A_YEAR
    return f"{years:,.1f} years" if years >= 2 else format_duration(number * 3600)


def gaps_line(fits: Summary, unit: str) -> str:
    """Return what gaps there are, in which unit of time."""
    parts = [
        f"{words.counted(fits['gaps'], 'gap')} (in {unit}), {fits['ended']:,} ended by a failure"
    ]
    if fits["censored"]:
        parts.append(f"{fits['censored']:,} still running when observation ended (censored)")
    if fits["zeros"]:
        parts.append(f"{fits['zeros']:,} of 0")
    return ", ".join(parts) + "."


def zeros_line(fits: Summary, unit: str) -> str:
    """Return what was done with gaps of 0; empty where there are none."""
    if fits["resolution"] is None:
        return ""
    least = f"{figure(fits['resolution'])} {unit}"
    what = "the shortest other gap"
    if fits["clock_step"] is not None:
        what = "half the step of the log's clock"
    return f"Gaps of 0 count as shorter than {what}, {least} (left-censored)."


def laws_note(summary: Summary) -> str:
    """Say why a Weibull law is shown without scale and mean; empty where none is."""
    laws = (summary["fits"][by]["weibull"] for by in ("node", "system"))
    if not any(law is not None and law["beyond"] for law in laws):
        return ""
    return (
        "A dash: the scale would lie far beyond the longest gap that was seen, so neither it nor "
        "the mean can be told."
    )


def on_clustering(summary: Summary) -> str:
    """Say what the Weibull shape of a node's gaps means."""
    law = summary["fits"]["node"]["weibull"]
    if law is None:
        return "Too few gaps of nodes ended with a failure to fit a distribution."
    shape, ends = law["params"]["shape"], law["ci"]["shape"]
    high, low = words.number(ends[1]), words.number(ends[0])
    told = f"The Weibull shape of a node's gaps is {figure(shape, 3)} ({between(ends)})"
    if high is not None and high < CLUSTERED:
        return (
            f"{told}: below 1, so a node that has just failed is more likely to fail again than "
            "one that has run for long. Differences between nodes or years have the same effect."
        )
    if low is not None and low > 1 / CLUSTERED:
        return f"{told}: above 1, so the longer a node has run, the more likely it is to fail."
    return f"{told}: close to 1, so a node's past says little about when it fails next."


def on_trend(summary: Summary) -> str:
    """Say whether failures became more or fewer, and what follows for laws."""
    change = summary["trend"]["node"]
    process = change["power_law"]
    way = change["direction"]
    if way == "unknown":
        return "There are too few failures to test for a trend."
    bold = {"fewer": "The failure rate fell", "more": "The failure rate rose"}
    if way == "steady":
        return _steady(change)
    text = f"{bold[way]} ({_ruling(change)}){_by_year(summary, way)}"
    text += " A single distribution over the whole span fits no year: look at the years."
    if process.get("shape") is not None:
        text += (
            f" As a power-law process the shape is {figure(process['shape'], 3)} "
            f"({between((process['shape_low'], process['shape_high']))}; 1 is steady)."
        )
    return text


def _by_year(summary: Summary, way: str) -> str:
    """Return how the rate went from the first to the last year that was watched for long enough,
    with what lies between, and whether that agrees with the tests."""
    most = max((row["node_years"] for row in summary["years"]), default=0)
    years = [row for row in summary["years"] if row["node_years"] >= LONG * most]
    if len(years) < 2:
        return "."
    first, last = years[0], years[-1]
    shown = {"fewer": last["rate"] < first["rate"], "more": last["rate"] > first["rate"]}[way]
    text = ": " if shown else ", though the first and the last year do not show it: "
    text += f"{figure(first['rate'], 3)} per 1000 node-days in {year_name(summary, first)}"
    for row in years[1:-1]:
        for pick, name in ((min, "lowest"), (max, "highest")):
            if row is pick(years, key=lambda one: one["rate"]):
                told = f"{figure(row['rate'], 3)}, the {name}, in {year_name(summary, row)}"
                text += f", {told}"
    return f"{text}, {figure(last['rate'], 3)} in {year_name(summary, last)}."


def _steady(change: Row) -> str:
    text = (
        f"No trend is detectable ({_ruling(change)}), so one distribution of gaps may describe "
        "the whole span."
    )
    found = [row for row in change["tests"] if row["p_value"] is not None and row["p_value"] < SURE]
    if found:
        others = " and ".join(f"{TESTS[row['test']]} ({TRENDS[row['direction']]})" for row in found)
        text += f" Other tests disagree, so look at the years: {others}."
    return text


def year_name(summary: Summary, row: Row) -> str:
    """Return a year as a sentence names it: ``2004``, ``year 3 of age``, ``year 3 after the first
    failure`` (of its node)."""
    ending = {"calendar": "", "age": " of age", "own": " after the first failure"}
    named = f"{row['year']}{ending[summary['years_are']]}"
    return named if summary["years_are"] == "calendar" else f"year {named}"


def _ruling(change: Row) -> str:
    for row in change["tests"]:
        if row["test"] == "lewis-robinson" and row["p_value"] is not None:
            return f"Lewis-Robinson test: p {chance(row['p_value'])}"
    return "by the tests of trend"


def on_age(summary: Summary) -> str:
    """Say when the failure rate was highest and lowest."""
    longest = max((row["node_days"] for row in summary["age"]["bins"]), default=0)
    bins = [row for row in summary["age"]["bins"] if row["node_days"] >= LONG * longest]
    if len(bins) < 2:
        return "The observation is too short to show how the rate changes with age."
    low, high = (pick(bins, key=lambda row: row["rate"]) for pick in (min, max))
    since = "of a node's age" if summary["age"]["is_age"] else "since observation began"
    return (
        f"The rate is highest, {figure(high['rate'], 3)} per 1000 node-days, from "
        f"{_age(high['begin'])} to {_age(high['end'])} {since}, and lowest, "
        f"{figure(low['rate'], 3)}, from {_age(low['begin'])} to {_age(low['end'])}. The band "
        "of the smoothed rate assumes independent failures; the power law is fitted to all "
        "ages."
    )


def _age(years: float) -> str:
    if years >= 1:
        return f"{years:.1f} years"
    return "0" if years == 0 else format_duration(years * HOURS_A_YEAR * 3600)


def on_nodes(summary: Summary) -> str:
    """Say whether nodes differ, and how many stand out."""
    apart = summary["nodes_apart"]
    if apart["why"]:
        return f"Nodes cannot be compared: {apart['why']}."
    if apart["dispersion_p"] is not None and apart["dispersion_p"] >= 0.05:
        alike = f"Nodes differ no more than chance allows (p {chance(apart['dispersion_p'])})"
        if not apart["worse"]:
            return f"{alike}, and none stands out."
        return f"{alike}, but {words.counted(apart['worse'], 'node')} {_stand(apart['worse'])} out."
    text = (
        f"Nodes differ: counts vary {figure(apart['dispersion'], 3)} times as much as chance "
        f"allows (p {chance(apart['dispersion_p'])})."
    )
    if not apart["worse"]:
        return text + " But no single node is significantly worse than the rest."
    verb = "fails" if apart["worse"] == 1 else "fail"
    text += (
        f" {words.counted(apart['worse'], 'node')} {verb} more often than a fleet with a single "
        f"rate explains (false discovery rate {100 * apart['false_discovery_rate']:.0f} %)"
    )
    beyond = apart["beyond_fleet"]
    if beyond:
        return f"{text}; {beyond:,} {_stand(beyond)} out even given how much nodes differ."
    return f"{text}; given how nodes differ anyway, none of them is an outlier."


def on_rates(summary: Summary) -> str:
    """Say which rates of nodes are shown."""
    if not summary["nodes_apart"]["nodes"]:
        return ""
    return (
        "Rates are the nodes' own, with exact intervals; the order is by the expected rate "
        "(rate_shrunk in nodes.csv), which is shrunk toward the fleet's, more so the less is "
        "known of a node, but not for nodes beyond the fleet."
    )


def _stand(count: int) -> str:
    return "stands" if count == 1 else "stand"


def on_bursts(summary: Summary) -> list[str]:
    """Say whether failures come together, in two or three lines."""
    found = summary["bursts"]
    if found["why"]:
        return [f"Bursts cannot be tested for: {found['why']}."]
    near = format_duration(found["threshold_s"])
    if not found["bursts"]:
        return [f"No failure came within {near} of another: there are no bursts."]
    alone, several = found["in_bursts"], found["on_several_nodes"]
    lines = [
        f"{words.percent(alone['share'])} of failures come within {near} of another, where "
        f"independent nodes would show {words.percent(alone['expected'])}: "
        + ("they come in bursts." if alone["p"] <= SURE else "no more than chance.")
    ]
    meaning = (
        "nodes fail together." if several["p"] <= SURE else "no sign of nodes failing together."
    )
    lines.append(
        f"{words.percent(several['share'])} are in bursts over several nodes (chance: "
        f"{words.percent(several['expected'])}): {meaning} The largest burst has "
        f"{found['largest']:,} failures."
    )
    gaps = found["gaps"]
    if gaps is not None:
        first = gaps["correlation"][0]
        after = "short gaps follow short gaps" if first > 0 else "short gaps follow long gaps"
        meaning = after if abs(first) > gaps["band"] else "the last gap says nothing about the next"
        digits = max(2, 1 - floor(log10(gaps["band"])))
        lines.append(
            f"Autocorrelation of the machine's gaps at lag 1 is {first:.{digits}f} (chance: within "
            f"{gaps['band']:.{digits}f}): {meaning}."
        )
    return lines
